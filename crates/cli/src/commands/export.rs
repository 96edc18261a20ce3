//! `tablemate export`: the transcript of a game.

use crate::exit::Exit;
use crate::i18n::Lang;

/// Arguments of `tablemate export`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _lang: Lang) -> anyhow::Result<Exit> {
    anyhow::bail!("`tablemate export` is not there yet")
}
