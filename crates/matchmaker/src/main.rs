//! The binary `tablemate-matchmaker`: configuration, telemetry, and [`tablemate_matchmaker::run`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser as _;
use tablemate_matchmaker::{Args, Config, run};
use tablemate_serve::signals;
use tokio::net::TcpListener;

/// glibc's allocator took a sixth of the time of a move.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit code of a bad command line or environment (`EX_USAGE`).
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are printed, not refused. Nobody is there to hear that printing failed.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    let config = match args.config() {
        Ok(config) => config,
        Err(bad) => {
            bad.iter()
                .for_each(|line| eprintln!("tablemate-matchmaker: {line}"));
            return ExitCode::from(USAGE);
        }
    };
    let telemetry = args.telemetry.config("tablemate-matchmaker");
    match tablemate_telemetry::run(telemetry, || serve(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tablemate-matchmaker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let told_to_stop = signals()?;
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|error| anyhow::anyhow!("cannot listen on {}: {error}", config.listen))?;
    Ok(run(config, listener, told_to_stop).await?)
}
