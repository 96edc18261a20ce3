//! The command line tool `tablemate`: a development server, a terminal client, and tools that replay real games and
//! make load, all of them over the public API.
#![forbid(unsafe_code)]

mod board;
mod bot;
mod commands;
mod embedded;
mod exit;
mod i18n;
mod json;
mod reach;
mod stage;
mod stop;
mod target;
mod terminal;
mod typing;
mod wire;

use std::process::ExitCode;

use clap::Parser;
use tablemate_telemetry::TelemetryArgs;

use crate::commands::Command;
use crate::exit::Exit;
use crate::i18n::Lang;

/// glibc's allocator took a sixth of the time of a move.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Two-player board games over gRPC.
#[derive(Debug, Parser)]
#[command(name = "tablemate", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    telemetry: TelemetryArgs,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are printed to stdout and are no failure; 2 is kept for bad input files.
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Success
            };
            // Nothing can be done when even this cannot be printed.
            let _ = error.print();
            return exit.into();
        }
    };
    let lang = Lang::from_env();
    let telemetry = cli
        .telemetry
        .config_with_log("tablemate", cli.command.usual_log());
    match tablemate_telemetry::run(telemetry, || cli.command.run(lang)) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("tablemate: {error:#}");
            Exit::Failure.into()
        }
    }
}
