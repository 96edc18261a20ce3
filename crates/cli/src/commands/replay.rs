//! `tablemate replay`: real games from files through the API.

use crate::exit::Exit;
use crate::i18n::Lang;

/// Arguments of `tablemate replay`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _lang: Lang) -> anyhow::Result<Exit> {
    anyhow::bail!("`tablemate replay` is not there yet")
}
