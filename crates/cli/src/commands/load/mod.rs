//! `tablemate load`: simulated players, what they see checked, and how long all of it took.

mod context;
mod direct;
mod idle;
mod journal;
mod plan;
mod player;
mod records;
mod report;
mod stats;
mod watching;
mod witness;

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tablemate_client::Config;
use tokio::task::JoinSet;

use crate::commands::load::context::Context;
use crate::commands::load::idle::Idle;
use crate::commands::load::player::Tally;
use crate::commands::load::report::Summary;
use crate::commands::load::stats::Broken;
use crate::exit::Exit;
use crate::i18n::{Lang, grouped};

pub use plan::Args;

/// Runs the command.
pub async fn run(args: Args, lang: Lang) -> anyhow::Result<Exit> {
    let config = Config {
        connections: args.connections as usize,
        budget: args.patience.0,
        stream_budget: args.patience.0,
        ..Config::default()
    };
    let connected = args.target.connect(config, lang).await?;
    let context = Arc::new(Context::new(connected.client.clone(), &args)?);
    let began = Instant::now();
    let (mode, tallies) = load(&context, &args).await?;
    let elapsed = began.elapsed();
    let waiting = context.testimonies_waiting();
    if waiting > 0 {
        context.stats.violation(Broken::Unfinished.because(format!(
            "{waiting} sessions were seen to their end by one player only"
        )));
    }
    let records = if context.settings.unrated {
        None
    } else {
        Some(records::check(&context, tallies).await)
    };
    let summary = Summary {
        mode,
        elapsed,
        records,
        seed: context.seed,
    };
    context.journal.close()?;
    if args.json {
        println!("{}", report::json(&context.stats, &summary));
    } else {
        print!("{}", report::report(&context.stats, &summary));
    }
    std::io::stdout().flush()?;
    connected.close().await?;
    let counters = &context.stats.counters;
    let clean = counters.violations.load(Relaxed) == 0;
    // A load that no service took proves nothing.
    let nothing = args.idle_sessions.is_none()
        && counters.moves.load(Relaxed) == 0
        && !context.stats.refusals().is_empty();
    if nothing {
        eprintln!("nothing was played: no move was acknowledged");
    }
    Ok(if clean && !nothing {
        Exit::Success
    } else {
        Exit::Failure
    })
}

/// Starts all simulated players and waits until they are done.
async fn load(context: &Arc<Context>, args: &Args) -> anyhow::Result<(String, Vec<(String, Tally)>)> {
    let mut tasks: JoinSet<Option<(String, Tally)>> = JoinSet::new();
    let mut limit = args.limit();
    let mode = if let Some(sessions) = args.idle_sessions {
        let move_time = args.move_time();
        // The deadlines of all are spread over one move's time; the time of the load counts from the last beginning.
        limit = limit.map(|limit| limit.saturating_add(move_time));
        for number in 0..sessions {
            let idle = Idle {
                wait: move_time.mul_f64(f64::from(number) / f64::from(sessions)),
                watched: number < args.watched,
                move_time,
            };
            let context = context.clone();
            tasks.spawn(async move {
                idle::keep(&context, number, idle).await;
                None
            });
        }
        format!(
            "{sessions} idle sessions, {} watched, {} ms a move",
            args.watched.min(sessions),
            move_time.as_millis()
        )
    } else if args.direct {
        let pairs = args.players / 2;
        for number in 0..pairs {
            let context = context.clone();
            tasks.spawn(async move {
                direct::play(&context, number).await;
                None
            });
        }
        format!("{pairs} sessions at once without matchmaking and streams")
    } else {
        for number in 0..args.players {
            let context = context.clone();
            tasks.spawn(async move { Some(player::play(&context, number).await) });
        }
        format!("{} players", args.players)
    };

    let timer = stop_after(context.clone(), limit);
    let progress = tokio::spawn(show_progress(context.clone()));
    let mut tallies = Vec::new();
    while let Some(done) = tasks.join_next().await {
        tallies.extend(done?);
    }
    timer.abort();
    progress.abort();
    Ok((mode, tallies))
}

/// Says stop after the time, if there is a limit, or when interrupted.
fn stop_after(context: Arc<Context>, limit: Option<Duration>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let limit = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = limit => {}
            interrupted = tokio::signal::ctrl_c() => if interrupted.is_err() {
                return;
            },
        }
        context.stop.cancel();
    })
}

/// Shows what is going on, on a terminal only.
async fn show_progress(context: Arc<Context>) {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    let counters = &context.stats.counters;
    let mut before = 0;
    loop {
        let moves = counters.moves.load(Relaxed) + counters.auto_moves.load(Relaxed);
        bar.set_message(format!(
            "{} games, {} moves, {}/s, {} violations",
            grouped(counters.games.load(Relaxed)),
            grouped(moves),
            grouped(moves.saturating_sub(before).saturating_mul(2)),
            counters.violations.load(Relaxed),
        ));
        bar.tick();
        before = moves;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
