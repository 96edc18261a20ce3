//! `tablemate dev`: game service and matchmaker in one process.

use crate::embedded::{Embedded, StoreChoice};
use crate::exit::Exit;
use crate::i18n::{Lang, dev as words};

/// Arguments of `tablemate dev`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where all services listen.
    #[arg(
        long,
        env = "TABLEMATE_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:7400"
    )]
    listen: String,
    /// The store: `memory:` (in this process, gone when it ends) or `redis://HOST:PORT/`.
    #[arg(long, env = "TABLEMATE_STORE", value_name = "URL", default_value = "memory:")]
    store: StoreChoice,
}

/// Runs the command: serves until Ctrl-C or SIGTERM.
pub async fn run(args: Args, lang: Lang) -> anyhow::Result<Exit> {
    // Heard from the start, so that a signal during the start is not lost.
    let signals = tablemate_serve::signals()?;
    let mut embedded = Embedded::start(&args.store, &args.listen).await?;
    println!("{}", words::started(lang, embedded.address(), &args.store));
    tokio::select! {
        () = signals => {}
        error = embedded.failed() => return Err(error),
    }
    println!("{}", words::stopping(lang));
    embedded.stop().await?;
    Ok(Exit::Success)
}
