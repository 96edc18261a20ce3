//! `tablemate dev`: game service and matchmaker in one process.

use tablemate_store::StoreUrl;
use tablemate_store::args::StoreUrlParser;

use crate::embedded::Embedded;
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
    /// The store: `memory:` (in this process, gone when it ends), or a Redis: `redis://HOST:PORT/`,
    /// `redis+sentinel://HOST:PORT/SERVICE`, `redis+cluster://HOST:PORT/`.
    #[arg(
        long,
        env = "TABLEMATE_STORE",
        hide_env_values = true,
        value_name = "URL",
        value_parser = StoreUrlParser,
        default_value = "memory:"
    )]
    store: StoreUrl,
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
