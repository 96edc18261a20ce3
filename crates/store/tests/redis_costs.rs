//! What a commit and a session cost in Redis.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use bytes::Bytes;
use redis::Value;
use tablemate_session::{Instant, SessionId};
use tablemate_store::contract::{Writer, session};
use tablemate_store::testing::RedisServer;
use tablemate_store::{
    Commit, CommitAnswer, Cursor, DeploymentWish, RedisStore, SessionStore, Stores, Tag, chain,
};

fn stores(store: &Arc<RedisStore>) -> Stores {
    Stores::of(store)
}

/// Calls from the outside, by command; what scripts call within is left out.
fn calls(server: &RedisServer, command: &str) -> u64 {
    let info = match server.run(&[b"INFO", b"commandstats"]) {
        Value::BulkString(bytes) => String::from_utf8(bytes).unwrap(),
        Value::VerbatimString { text, .. } => text,
        other => panic!("{other:?}"),
    };
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// A move costs one round trip.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_is_one_round_trip() {
    let server = RedisServer::start();
    let store = Arc::new(
        RedisStore::open(&server.url(), DeploymentWish::default())
            .await
            .unwrap(),
    );
    let mut writer = Writer::new(&stores(&store), session(0, 1));
    writer.write(&["created"]).await;
    let _ = server.run(&[b"CONFIG", b"RESETSTAT"]);
    for round in 0..10 {
        let mut commit = writer.commit(&["fact", "another"]);
        commit.outbox = vec![Bytes::from_static(b"result")];
        assert!(matches!(
            writer.send(&commit).await,
            CommitAnswer::Committed { .. }
        ));
        writer.cursor = commit.after();
        assert_eq!(calls(&server, "evalsha"), round + 1);
    }
    writer.read().await;
    assert_eq!(calls(&server, "evalsha"), 11, "a read is one as well");
    for other in ["eval", "script|load", "time", "multi"] {
        let expected = if other == "time" { 11 } else { 0 };
        assert_eq!(calls(&server, other), expected, "{other}: only the scripts' own");
    }
}

/// What Redis says that all keys take, with everything in them.
fn memory(server: &RedisServer) -> u64 {
    let Value::Array(keys) = server.run(&[b"KEYS", b"*"]) else {
        panic!("keys")
    };
    let of_key = |key: &Value| {
        let Value::BulkString(key) = key else {
            panic!("a key")
        };
        match server.run(&[b"MEMORY", b"USAGE", key, b"SAMPLES", b"0"]) {
            Value::Int(bytes) => u64::try_from(bytes).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    keys.iter().map(of_key).sum()
}

/// A finished 60-move Reversi session: Created of 200 bytes, 63 facts of 18 bytes, a result and an ending in the outbox,
/// its index entry, its settled mark. Everything counted, at most 2.5 KiB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_session_fits_into_its_budget() {
    /// Enough that no hash or sorted set is in the compact form of small ones.
    const SESSIONS: u32 = 640;
    const AT_ONCE: u32 = 32;
    let server = RedisServer::start();
    let store = Arc::new(
        RedisStore::open(&server.url(), DeploymentWish::default())
            .await
            .unwrap(),
    );
    let all: Vec<u16> = (0..store.deployment().shards).collect();
    store.pulse(&all).await.unwrap();
    let before = memory(&server);
    let mut tasks = Vec::new();
    for task in 0..AT_ONCE {
        let store = Arc::clone(&store);
        tasks.push(tokio::spawn(async move {
            for number in (task..SESSIONS).step_by(AT_ONCE as usize) {
                write_session(&store, number).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let each = (memory(&server) - before) / u64::from(SESSIONS);
    println!("a finished session: {each} bytes");
    assert!(each <= 2_560, "{each} bytes");
    assert!(
        each >= 1_400,
        "{each} bytes: less than its own facts, so something is not counted"
    );
}

/// Writes a whole session, commit by commit.
async fn write_session(store: &RedisStore, number: u32) {
    let hash = blake3::hash(&number.to_be_bytes());
    let mut ten = [0; 10];
    ten.copy_from_slice(&hash.as_bytes()[..10]);
    // All of one shard, as in a store that is full.
    let id = SessionId::new(0, ten);
    let mut payloads = vec![vec![7; 200]];
    payloads.extend((0..63).map(|fact| vec![fact; 18]));
    let mut cursor = Cursor::START;
    for (at, payload) in payloads.iter().enumerate() {
        let ends = at + 1 == payloads.len();
        let commit = Commit {
            session: id,
            expected: cursor,
            last_instant: Instant::ZERO,
            now: store.now(0),
            judged_before: None,
            known_outage: 0,
            entries: chain(cursor.tag, [payload]),
            next_deadline: Instant(1_796_000_000_000 + u64::from(number)),
            outbox: if ends {
                vec![vec![1; 40].into(), vec![2; 24].into()]
            } else {
                vec![]
            },
        };
        let answer = store.commit(&commit).await.unwrap();
        assert!(matches!(answer, CommitAnswer::Committed { .. }), "{answer:?}");
        cursor = commit.after();
    }
    store.mark_settled(id, cursor).await.unwrap();
    assert_ne!(cursor.tag, Tag::START);
}
