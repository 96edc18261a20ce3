//! `tablemate replay`: real games from files, played through the API, their scores compared.
//!
//! Every file is read and every game validated before the first one is played. When one is bad, all that are bad are
//! named and nothing is played; `--keep-going` plays the good ones all the same.

mod game;
mod input;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tablemate_client::{Client, Config, request_id};

use crate::commands::replay::game::{Disagreement, Played};
use crate::commands::replay::input::Game;
use crate::exit::Exit;
use crate::i18n::Lang;
use crate::i18n::replay as words;
use crate::target::Target;

/// Arguments of `tablemate replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files of games: WTHOR (`.wtb`), GGF, or lines of transcripts such as `F5D6C3…`, alone or in columns (`.tsv`,
    /// `.txt`). `-` reads the standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    target: Target,
    /// How many sessions are played at once.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    concurrency: u32,
    /// Connections to each address.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    connections: u32,
    /// Play the good games even when others are bad. The exit code is 2 all the same.
    #[arg(long)]
    keep_going: bool,
}

/// How many bad games or mismatches are named one by one.
const NAMED_MAX: usize = 100;

/// Runs the command.
pub async fn run(args: Args, lang: Lang) -> anyhow::Result<Exit> {
    let mut games = Vec::new();
    let mut bad = Vec::new();
    for path in &args.files {
        input::read(path, &mut games, &mut bad);
    }
    for error in bad.iter().take(NAMED_MAX) {
        eprintln!("{error}");
    }
    if !bad.is_empty() {
        eprintln!(
            "{}",
            words::bad(lang, bad.len(), bad.len().saturating_sub(NAMED_MAX))
        );
        if !args.keep_going || games.is_empty() {
            return Ok(Exit::BadInput);
        }
    }

    let config = Config {
        connections: args.connections as usize,
        ..Config::default()
    };
    let connected = args.target.connect(config, lang).await?;
    let outcome = play_all(
        &connected.client,
        Arc::new(games),
        args.concurrency as usize,
        lang,
    )
    .await;
    connected.close().await?;
    let report = outcome?;
    print!("{}", words::report(lang, &report));
    std::io::stdout().flush()?;
    Ok(match (bad.is_empty(), report.mismatches) {
        (false, _) => Exit::BadInput,
        (true, 0) => Exit::Success,
        (true, _) => Exit::Failure,
    })
}

/// What was played.
#[derive(Debug, Default)]
pub struct Report {
    /// Games played.
    pub games: u64,
    /// Moves made.
    pub moves: u64,
    /// Passes that the service told.
    pub passes: u64,
    /// Games whose record stops before the end.
    pub unfinished: u64,
    /// Final scores compared.
    pub compared: u64,
    /// Games in which the service and the record disagree.
    pub mismatches: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl Report {
    fn add(&mut self, played: &Played) {
        self.games += 1;
        self.moves += played.moves;
        self.passes += played.passes;
        self.unfinished += u64::from(played.unfinished);
        self.compared += u64::from(played.compared);
    }

    /// Moves per second.
    pub fn moves_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.moves as f64 / seconds
        } else {
            0.0
        }
    }
}

async fn play_all(
    client: &Client,
    games: Arc<Vec<Game>>,
    concurrency: usize,
    lang: Lang,
) -> anyhow::Result<Report> {
    // Hides itself when the standard error is no terminal.
    let bar = ProgressBar::new(games.len() as u64);
    if let Ok(style) = ProgressStyle::with_template(words::progress(lang)) {
        bar.set_style(style);
    }
    let run = request_id();
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..concurrency.min(games.len()) {
        let (client, games, next) = (client.clone(), games.clone(), next.clone());
        let (bar, run) = (bar.clone(), run.clone());
        workers.spawn(async move {
            let mut report = Report::default();
            let mut disagreements: Vec<(usize, Disagreement)> = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(game) = games.get(index) else { break };
                let mut played = Played::default();
                let outcome = game::play(
                    &client,
                    &game.record,
                    &format!("replay-{run}-{index}"),
                    &mut played,
                )
                .await;
                report.add(&played);
                bar.inc(1);
                match outcome {
                    Ok(()) => {}
                    Err(game::Failure::Disagreement(disagreement)) => {
                        disagreements.push((index, disagreement))
                    }
                    Err(game::Failure::Service(error)) => {
                        // Nobody goes on with the rest: the service is not there.
                        next.store(games.len(), Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            Ok((report, disagreements))
        });
    }
    let mut total = Report::default();
    let mut disagreements = Vec::new();
    let mut failed = None;
    while let Some(worker) = workers.join_next().await {
        match worker? {
            Ok((report, found)) => {
                total.games += report.games;
                total.moves += report.moves;
                total.passes += report.passes;
                total.unfinished += report.unfinished;
                total.compared += report.compared;
                disagreements.extend(found);
            }
            Err(error) => failed = Some(error),
        }
    }
    total.elapsed = began.elapsed();
    total.mismatches = disagreements.len() as u64;
    bar.finish_and_clear();
    disagreements.sort_by_key(|(index, _)| *index);
    for (index, disagreement) in disagreements.iter().take(NAMED_MAX) {
        if let Some(game) = games.get(*index) {
            eprintln!(
                "{}: {}: {disagreement}",
                game.file.display(),
                game.record.location
            );
        }
    }
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(total),
    }
}
