//! `tablemate watch`: a session in this terminal.

use crate::exit::Exit;
use crate::i18n::Lang;

/// Arguments of `tablemate watch`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _lang: Lang) -> anyhow::Result<Exit> {
    anyhow::bail!("`tablemate watch` is not there yet")
}
