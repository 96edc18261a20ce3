//! What a move and a session cost in Redis, by Redis' own figures.

use std::collections::HashMap;

use anyhow::{Context, Result};
use redis::Commands;
use tablemate_store::testing::RedisServer;
use tablemate_tests::{Deployment, Shape, Table, eventually, play_out, unrated};

/// How often each command was called, by `INFO commandstats`. Commands inside scripts are counted too.
fn calls(redis: &RedisServer) -> Result<HashMap<String, u64>> {
    let mut connection = redis::Client::open(redis.url())?.get_connection()?;
    let text: String = redis::cmd("INFO").arg("commandstats").query(&mut connection)?;
    let mut calls = HashMap::new();
    for line in text.lines() {
        let Some((name, figures)) = line
            .strip_prefix("cmdstat_")
            .and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let number = figures
            .split(',')
            .find_map(|figure| figure.strip_prefix("calls="))
            .context("calls=")?;
        calls.insert(name.to_owned(), number.parse()?);
    }
    Ok(calls)
}

/// A warm Play is one round trip: as many scripts are called as moves are made and pulses are given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_move_is_one_round_trip() -> Result<()> {
    // No matchmaker: it asks Redis for deadlines all the time.
    let deployment = Deployment::start(Shape {
        game_services: 1,
        matchmakers: 0,
    })?;
    let client = deployment.client()?;
    let table = Table::open(&client, "warm", unrated()).await?;
    let before = calls(&deployment.redis)?;
    let (_, moves) = play_out(&table, std::slice::from_ref(&client)).await?;
    let after = calls(&deployment.redis)?;
    let grown = |name: &str| after.get(name).unwrap_or(&0) - before.get(name).unwrap_or(&0);
    let moves = u64::try_from(moves)?;

    assert_eq!(grown("rpush"), moves, "one append a move");
    assert_eq!(grown("eval"), 0, "no script travels again");
    // Only commits publish; what else is called are the pulses of the 64 shards, once a second.
    let scripts = grown("evalsha");
    let pulses = scripts - moves;
    assert_eq!(pulses % 64, 0, "{scripts} scripts for {moves} moves");
    let others = ["get", "lrange", "lindex", "llen"].map(|name| (name, grown(name)));
    assert_eq!(grown("lrange"), pulses, "a move reads no log: {others:?}");
    for name in ["hget", "hgetall", "exists", "multi", "xrange", "zrangebyscore"] {
        assert_eq!(grown(name), 0, "{name} belongs to no move");
    }
    Ok(())
}

/// A finished game of 60 moves costs at most 2.5 KiB, everything counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_session_costs_at_most_two_and_a_half_kib() -> Result<()> {
    const SESSIONS: usize = 50;
    const BYTES_MAX: u64 = 2_560;
    let deployment = Deployment::start(Shape {
        game_services: 1,
        matchmakers: 1,
    })?;
    let client = deployment.client()?;
    let mut connection = redis::Client::open(deployment.redis.url())?.get_connection()?;
    // What a deployment has before its first session belongs to no session.
    let empty = memory(&mut connection)?;
    let mut moves_of_all = 0;
    for number in 0..SESSIONS {
        let table = Table::open(&client, &format!("player-{number:04}"), unrated()).await?;
        moves_of_all += play_out(&table, std::slice::from_ref(&client)).await?.1;
    }
    eventually("all sessions are settled and their claims released", || async {
        let mut connection = redis::Client::open(deployment.redis.url())
            .ok()?
            .get_connection()
            .ok()?;
        let text: String = redis::cmd("INFO").arg("keyspace").query(&mut connection).ok()?;
        let _ = text;
        let players: Vec<Vec<u8>> = connection.keys("*claim*").ok()?;
        players.is_empty().then_some(())
    })
    .await;
    let full = memory(&mut connection)?;
    let each = (full - empty) / SESSIONS as u64;
    println!(
        "a finished session of {} moves costs {each} bytes",
        moves_of_all / SESSIONS
    );
    assert!(
        each <= BYTES_MAX,
        "{each} bytes for a session of {} moves",
        moves_of_all / SESSIONS
    );
    Ok(())
}

/// `MEMORY USAGE` of every key, exactly (no samples).
fn memory(connection: &mut redis::Connection) -> Result<u64> {
    let keys: Vec<Vec<u8>> = connection.keys("*")?;
    let mut bytes = 0;
    for key in keys {
        let used: Option<u64> = redis::cmd("MEMORY")
            .arg("USAGE")
            .arg(&key)
            .arg("SAMPLES")
            .arg(0)
            .query(connection)?;
        bytes += used.unwrap_or(0);
    }
    Ok(bytes)
}
