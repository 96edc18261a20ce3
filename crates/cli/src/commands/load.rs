//! `tablemate load`: simulated players.

use crate::exit::Exit;
use crate::i18n::Lang;

/// Arguments of `tablemate load`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _lang: Lang) -> anyhow::Result<Exit> {
    anyhow::bail!("`tablemate load` is not there yet")
}
