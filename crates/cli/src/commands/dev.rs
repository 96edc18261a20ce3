//! `tablemate dev`: game service and matchmaker in one process.

use crate::exit::Exit;
use crate::i18n::Lang;

/// Arguments of `tablemate dev`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _lang: Lang) -> anyhow::Result<Exit> {
    anyhow::bail!("`tablemate dev` is not there yet")
}
