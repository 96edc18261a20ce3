//! The game service: reads its configuration, sets up telemetry, and runs.

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use tablemate_game_service::{Args, Config, Listeners, run};
use tablemate_serve::signals;

/// glibc's allocator took a sixth of the time of a move.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a wrong use of the command line ends with (sysexits' EX_USAGE).
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // `--help` and `--version` are no errors.
            let code = if error.use_stderr() { USAGE } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let config = match args.config() {
        Ok(config) => config,
        Err(bad) => {
            for line in bad {
                eprintln!("error: {line}");
            }
            return ExitCode::from(USAGE);
        }
    };
    let telemetry = args.telemetry.config("tablemate-game");
    match tablemate_telemetry::run(telemetry, || serve(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let told_to_stop = signals()?;
    let listeners = Listeners::bind(&config).await.context("cannot listen")?;
    run(config, listeners, told_to_stop).await?;
    Ok(())
}
