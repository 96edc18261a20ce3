//! The commands, a module each: its arguments and `run`.

mod dev;
mod export;
mod load;
mod play;
pub mod replay;
mod watch;

use clap::Subcommand;

use crate::exit::Exit;
use crate::i18n::Lang;

/// What the tool can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run game service and matchmaker in one process on one port, for development.
    Dev(dev::Args),
    /// Play in this terminal against a bot or another person.
    Play(play::Args),
    /// Watch a session in this terminal.
    Watch(watch::Args),
    /// Print the transcript of a game.
    Export(export::Args),
    /// Play real games from files through the API and compare their scores.
    Replay(replay::Args),
    /// Make load with simulated players and check what they see.
    Load(load::Args),
}

impl Command {
    /// Which log lines are written when the user does not say: a terminal that is drawn on wants few.
    pub fn usual_log(&self) -> &'static str {
        match self {
            Command::Dev(_) => "info",
            // That the store of an embedded service ends with the process is no news to who starts one.
            _ => "warn,tablemate_store::embedded=error",
        }
    }

    /// Runs the command to its end.
    pub async fn run(self, lang: Lang) -> anyhow::Result<Exit> {
        match self {
            Command::Dev(args) => dev::run(args, lang).await,
            Command::Play(args) => play::run(args, lang).await,
            Command::Watch(args) => watch::run(args, lang).await,
            Command::Export(args) => export::run(args, lang).await,
            Command::Replay(args) => replay::run(args, lang).await,
            Command::Load(args) => load::run(args, lang).await,
        }
    }
}
