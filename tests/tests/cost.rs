//! What a move and a session cost in Redis, by Redis' own figures.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use redis::Commands;
use tablemate_client::{WatchFrom, v1};
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
    let deployment = Deployment::start(Shape::of(1, 0))?;
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
    // Each commit looks once at the log's end; pulses look at the outages.
    assert_eq!(grown("lrange"), moves + pulses, "a move reads no log: {others:?}");
    for name in ["hget", "hgetall", "exists", "multi", "xrange", "zrangebyscore"] {
        assert_eq!(grown(name), 0, "{name} belongs to no move");
    }
    Ok(())
}

/// Four game services, each move through another one, two watchers a game: a move costs one round trip when the replica's
/// copy is current and two when another replica moved in between, and never more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_through_any_of_four_replicas_is_at_most_two_round_trips() -> Result<()> {
    const GAMES: usize = 5;
    let deployment = Deployment::start(Shape::of(4, 0))?;
    let clients = (0..4)
        .map(|number| deployment.client_of(&[number]))
        .collect::<Result<Vec<_>>>()?;
    let mut tables = Vec::new();
    let mut watchers = Vec::new();
    for game in 0..GAMES {
        let table = Table::open(&clients[game % 4], &format!("routed-{game}"), unrated()).await?;
        for (seat, player) in table.players.iter().enumerate() {
            let mut watch = clients[(game + seat) % 4].watch(
                table.session.as_str(),
                player.as_str(),
                WatchFrom::Snapshot,
            );
            watch.next().await.context("a stream begins")??;
            watchers.push(tokio::spawn(async move { while watch.next().await.is_some() {} }));
        }
        tables.push(table);
    }
    let before = calls(&deployment.redis)?;
    let mut moves = 0;
    for (game, table) in tables.iter().enumerate() {
        // A fixed walk over the replicas that repeats none of its steps soon: random enough, the same each time.
        let routed: Vec<_> = (0..64)
            .map(|ply: usize| clients[(ply * ply / 3 + game) % 4].clone())
            .collect();
        moves += play_out(table, &routed).await?.1;
    }
    let after = calls(&deployment.redis)?;
    let grown = |name: &str| after.get(name).unwrap_or(&0) - before.get(name).unwrap_or(&0);
    watchers.iter().for_each(tokio::task::JoinHandle::abort);
    let moves = u64::try_from(moves)?;
    assert_eq!(grown("rpush"), moves, "one append a move");
    // A commit that is accepted and a pulse read the pulse's key; nothing else does.
    let pulses = grown("get") - moves;
    let trips = grown("evalsha") - pulses;
    let trips_each = f64::from(u32::try_from(trips)?) / f64::from(u32::try_from(moves)?);
    println!("{trips_each:.2} round trips a move with 4 game services, any of them, and 2 watchers a game");
    assert!(trips_each <= 2.1, "{trips} round trips for {moves} moves");
    Ok(())
}

/// A finished game of 60 moves costs at most 2.5 KiB, everything counted: its log, its entry in the index, its results in
/// the outbox, its mark of settlement, its match record. One shard and many sessions, so that what a deployment has
/// once is shared as it is in a real one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_session_costs_at_most_two_and_a_half_kib() -> Result<()> {
    // More than the 128 up to which Redis packs small sets: a real index has outgrown that.
    const SESSIONS: usize = 200;
    const BYTES_MAX: u64 = 2_560;
    let shape = Shape {
        shards: Some(1),
        ..Shape::of(1, 1)
    };
    let deployment = Deployment::start(shape)?;
    let client = deployment.client()?;
    let mut connection = redis::Client::open(deployment.redis.url())?.get_connection()?;
    let mut moves_of_all = 0;
    for number in 0..SESSIONS {
        let table = Table::open(&client, &format!("player-{number:04}"), unrated()).await?;
        moves_of_all += play_out(&table, std::slice::from_ref(&client)).await?.1;
    }
    let moves_each = moves_of_all / SESSIONS;
    eventually("all sessions are settled", || async {
        let asked = v1::GetPlayerRequest {
            player_id: format!("player-{:04}-1", SESSIONS - 1),
            game_kind: v1::GameKind::Reversi.into(),
        };
        let player = client.get_player(asked).await.ok()?.player?;
        player.live_session_id.is_empty().then_some(())
    })
    .await;
    let keys = memory(&mut connection)?;
    let each = keys.values().sum::<u64>() / SESSIONS as u64;
    println!("a finished session of {moves_each} moves costs {each} bytes: {keys:#?}");
    assert!(
        each <= BYTES_MAX,
        "{each} bytes for a session of {moves_each} moves: {keys:#?}"
    );
    Ok(())
}

/// `MEMORY USAGE` of every key, exactly (no samples), summed up by the kind of key.
fn memory(connection: &mut redis::Connection) -> Result<BTreeMap<String, u64>> {
    let keys: Vec<Vec<u8>> = connection.keys("*")?;
    let mut bytes = BTreeMap::new();
    for key in keys {
        let used: Option<u64> = redis::cmd("MEMORY")
            .arg("USAGE")
            .arg(&key)
            .arg("SAMPLES")
            .arg(0)
            .query(connection)?;
        // `{tag}` and the letter after it say what a key is for.
        let end = key
            .iter()
            .position(|&byte| byte == b'}')
            .map_or(key.len(), |at| (at + 2).min(key.len()));
        let kind = String::from_utf8_lossy(&key[..end]).into_owned();
        *bytes.entry(kind).or_default() += used.unwrap_or(0);
    }
    Ok(bytes)
}
