//! `tablemate play`: a game in this terminal.

use crate::exit::Exit;
use crate::i18n::Lang;

/// Arguments of `tablemate play`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _lang: Lang) -> anyhow::Result<Exit> {
    anyhow::bail!("`tablemate play` is not there yet")
}
