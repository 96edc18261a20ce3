//! How many commits and reads a second, and what each costs Redis:
//! `cargo run --release -p tablemate-store --example commits [CALLERS] [SECONDS] [URL]`
//!
//! Each caller plays games of its own: 64 facts of 18 bytes, one a commit, the last with two results. Without a URL it
//! starts a `redis-server` of its own; `memory:` measures the embedded store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant as Moment};

use bytes::Bytes;
use tablemate_session::{Instant, RequestId};
use tablemate_store::testing::RedisServer;
use tablemate_store::{Commit, CommitAnswer, Cursor, DeploymentWish, Stores, chain, connect};

const FACTS: u8 = 64;

#[derive(Default)]
struct Counts {
    commits: AtomicU64,
    refused: AtomicU64,
    stop: AtomicBool,
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let callers: usize = args
        .next()
        .map_or(50, |text| text.parse().expect("a number of callers"));
    let seconds: u64 = args
        .next()
        .map_or(5, |text| text.parse().expect("a number of seconds"));
    let url = args.next();
    let server = url.is_none().then(RedisServer::start);
    let url = url.or(server.as_ref().map(RedisServer::url)).expect("a URL");
    let stores = connect(&url, DeploymentWish::default()).await.expect("a store");
    let shards: Vec<u16> = (0..stores.sessions.deployment().shards).collect();
    stores.sessions.pulse(&shards).await.unwrap();

    let counts = Arc::new(Counts::default());
    let tasks: Vec<_> = (0..callers)
        .map(|caller| tokio::spawn(play(stores.clone(), caller, Arc::clone(&counts))))
        .collect();
    let started = Moment::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stores.sessions.pulse(&shards).await.unwrap();
    }
    counts.stop.store(true, Ordering::Relaxed);
    let mut latencies: Vec<Duration> = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let spent = started.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize];
    let commits = counts.commits.load(Ordering::Relaxed);
    println!(
        "{callers} callers: {:.0} commits/s, p50 {:?}, p99 {:?}",
        commits as f64 / spent,
        at(0.5),
        at(0.99)
    );
    println!(
        "refused (a now that was too old): {}",
        counts.refused.load(Ordering::Relaxed)
    );
    if let Some(server) = server {
        for line in stats(&server) {
            println!("{line}");
        }
    }
}

/// Redis' own count: the scripts as a whole, and the commands in them.
fn stats(server: &RedisServer) -> Vec<String> {
    let info = match server.run(&[b"INFO", b"commandstats"]) {
        redis::Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        redis::Value::VerbatimString { text, .. } => text,
        other => panic!("{other:?}"),
    };
    info.lines()
        .filter(|line| line.starts_with("cmdstat_"))
        .map(str::to_owned)
        .collect()
}

async fn play(stores: Stores, caller: usize, counts: Arc<Counts>) -> Vec<Duration> {
    let store = &stores.sessions;
    let mut latencies = Vec::new();
    for game in 0_u64.. {
        let request = RequestId::new(&format!("{caller}-{game}")).unwrap();
        let session = store.deployment().session_id("bench", &request);
        let mut cursor = Cursor::START;
        for fact in 0..FACTS {
            loop {
                if counts.stop.load(Ordering::Relaxed) {
                    return latencies;
                }
                // The embedded store answers at once: let the others, and the time, have their turn.
                tokio::task::yield_now().await;
                let now = store.now(session.shard());
                let is_last = fact + 1 == FACTS;
                let commit = Commit {
                    session,
                    expected: cursor,
                    last_instant: Instant::ZERO,
                    now,
                    judged_before: Some(Instant(now.0 + 30_000)),
                    known_outage: 0,
                    entries: chain(cursor.tag, [[fact; 18]]),
                    next_deadline: Instant(now.0 + 30_000),
                    outbox: if is_last {
                        vec![Bytes::from(vec![1; 40]), Bytes::from(vec![2; 24])]
                    } else {
                        vec![]
                    },
                };
                let asked = Moment::now();
                match store.commit(&commit).await.unwrap() {
                    CommitAnswer::Committed { .. } => {
                        latencies.push(asked.elapsed());
                        counts.commits.fetch_add(1, Ordering::Relaxed);
                        cursor = commit.after();
                        break;
                    }
                    CommitAnswer::NowRefused { .. } => {
                        counts.refused.fetch_add(1, Ordering::Relaxed);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    latencies
}
