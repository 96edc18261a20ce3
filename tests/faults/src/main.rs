//! The fault suite: real processes under load, broken on purpose, and a table of what came of it.
//!
//! `cargo run --release -p tablemate-faults` plays all scenarios, with names only those; see `docs/faults.md`.
#![forbid(unsafe_code)]

mod audit;
mod load;
mod proxy;
mod scenario;
mod stage;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use comfy_table::{Table, presets};

use crate::audit::Audit;
use crate::load::{Load, Report};
use crate::scenario::{ALL, Promise, Scenario};
use crate::stage::Stage;

/// How long the load is on before anything is broken.
const WARM_UP: Duration = Duration::from_secs(5);
/// How often nobody may be lost before the slowest players have given up: how long players wait for an answer.
const PATIENCE_SECONDS: u64 = 90;

/// Breaks a deployment under load and counts what was lost, doubled, missed or stuck.
#[derive(Debug, Parser)]
struct Args {
    /// Scenarios to play; all when none is named.
    scenarios: Vec<String>,
    /// Print the scenarios and what they promise.
    #[arg(long)]
    list: bool,
    /// Simulated players; two make a game.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(2..=20_000))]
    players: u32,
    /// How long each scenario's players begin games, in seconds.
    #[arg(long, default_value_t = 45, value_parser = clap::value_parser!(u64).range(20..=3_600))]
    seconds: u64,
    /// How long players think on the average, in ms.
    #[arg(long, default_value_t = 800)]
    think: u64,
}

/// What came of a scenario.
struct Outcome {
    report: Report,
    audit: Audit,
}

impl Outcome {
    fn lost(&self) -> u64 {
        self.audit.lost.max(self.report.broken("lost_command"))
    }

    fn doubled_results(&self) -> u64 {
        self.audit
            .doubled_results
            .max(self.report.broken("doubled_result"))
    }

    fn gaps(&self) -> u64 {
        self.report.broken("stream_gap")
    }

    fn stuck(&self) -> u64 {
        self.audit.stuck.max(self.report.broken("unfinished"))
    }

    fn kept(&self, promise: Promise) -> bool {
        let sound =
            self.audit.doubled_results == 0 && self.audit.doubled_sessions == 0 && self.audit.stuck == 0;
        match promise {
            Promise::Everything => {
                sound && self.lost() == 0 && self.gaps() == 0 && self.report.violations.is_empty()
            }
            Promise::TailMayBeLost => sound && self.gaps() == 0,
        }
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let chosen = choose(&args.scenarios)?;
    if args.list {
        for scenario in chosen {
            println!("{:24} {:?}: {}", scenario.name, scenario.promise, scenario.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "scenario",
        "games",
        "moves",
        "lost",
        "doubled results",
        "doubled sessions",
        "gaps",
        "stuck",
        "resyncs",
        "longest silence s",
        "slowest Play s",
        "promise",
    ]);
    let mut all_kept = true;
    for scenario in chosen {
        eprintln!("{}: {}", scenario.name, scenario.what);
        match play(scenario, &args).await {
            Ok(outcome) => {
                let kept = outcome.kept(scenario.promise);
                all_kept &= kept;
                explain(&outcome);
                table.add_row(row(scenario, &outcome, kept));
            }
            Err(error) => {
                all_kept = false;
                eprintln!("  could not be played: {error:#}");
                table.add_row([scenario.name, "could not be played"]);
            }
        }
    }
    println!("{table}");
    Ok(if all_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn choose(names: &[String]) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            let found = ALL.iter().find(|scenario| scenario.name == name);
            found.with_context(|| format!("there is no scenario {name:?}; --list names them"))
        })
        .collect()
}

async fn play(scenario: &Scenario, args: &Args) -> Result<Outcome> {
    let mut stage = Stage::set(scenario.store, scenario.flags).await?;
    let folder = tempfile::TempDir::new()?;
    let journal = folder.path().join("journal");
    let load = Load {
        players: args.players,
        seconds: args.seconds,
        think_ms: args.think,
        patience: PATIENCE_SECONDS,
    };
    let running = load.start(&stage.services, &journal)?;
    tokio::time::sleep(WARM_UP).await;
    scenario.fault.inject(&mut stage).await?;
    let report = running.finish().await?;
    if report.moves == 0 {
        bail!("no move was acknowledged");
    }
    let audit = Audit::of(&stage.services.client()?, &journal).await?;
    Ok(Outcome { report, audit })
}

fn explain(outcome: &Outcome) {
    for violation in outcome.report.violations.iter().take(10) {
        eprintln!("  {}: {}", violation.broken, violation.text);
    }
    for finding in &outcome.audit.findings {
        eprintln!("  audit: {finding}");
    }
}

fn row(scenario: &Scenario, outcome: &Outcome, kept: bool) -> Vec<String> {
    let report = &outcome.report;
    let slowest = report.calls.get("Play").map_or(0.0, |times| times.max);
    let promise = match (scenario.promise, kept) {
        (_, false) => "BROKEN",
        (Promise::Everything, true) => "kept",
        (Promise::TailMayBeLost, true) => "kept (tail may be lost)",
    };
    vec![
        scenario.name.to_owned(),
        report.games.to_string(),
        report.moves.to_string(),
        outcome.lost().to_string(),
        outcome.doubled_results().to_string(),
        outcome.audit.doubled_sessions.to_string(),
        outcome.gaps().to_string(),
        outcome.stuck().to_string(),
        report.resynchronised.to_string(),
        format!("{:.1}", report.longest_silence_ms / 1_000.0),
        format!("{:.1}", slowest / 1_000.0),
        promise.to_owned(),
    ]
}
