//! `tablemate export`: the transcript of a game.

use std::io::{self, Write as _};

use clap::ValueEnum;
use tablemate_client::v1;

use crate::exit::Exit;
use crate::i18n::Lang;
use crate::reach::Reach;

/// Arguments of `tablemate export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    #[command(flatten)]
    reach: Reach,
    /// The game of the series, from 1; without it, the current or last one
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    game: u32,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "moves")]
    format: Format,
    /// Who asks, where not everybody may: a player id
    #[arg(long, value_name = "PLAYER", default_value = "", hide_default_value = true)]
    viewer: String,
}

/// A format of transcripts.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// f5d6c3…, passes implicit
    Moves,
    /// One GGF game
    Ggf,
}

/// Runs the command.
pub async fn run(args: Args, lang: Lang) -> anyhow::Result<Exit> {
    let client = args.reach.client(lang).await?;
    let format = match args.format {
        Format::Moves => v1::TranscriptFormat::Moves,
        Format::Ggf => v1::TranscriptFormat::Ggf,
    };
    let request = v1::ExportGameRequest {
        session_id: args.session,
        game_number: args.game,
        format: format.into(),
        viewer_id: args.viewer,
    };
    match client.export_game(request).await {
        Ok(answer) => {
            writeln!(io::stdout().lock(), "{}", answer.transcript.trim_end())?;
            Ok(Exit::Success)
        }
        Err(error) => anyhow::bail!("{}", lang.refused(&error, 0)),
    }
}
