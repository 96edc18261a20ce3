//! Commits that count only when replicas have them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use tablemate_session::Millis;
use tablemate_store::contract::{SHARDS, Writer, log, session};
use tablemate_store::testing::RedisServer;
use tablemate_store::{CommitAnswer, DeploymentWish, RedisStore, StoreError, Stores};

fn wish() -> DeploymentWish {
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

/// A master and its replica.
fn pair() -> (RedisServer, RedisServer) {
    let master = RedisServer::start();
    let of = master.port().to_string();
    let replica =
        RedisServer::start_with(&["--replicaof", "127.0.0.1", &of, "--repl-diskless-sync-delay", "0"]);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !master.say("INFO replication").contains("state=online") {
        assert!(Instant::now() < deadline, "the replica is there");
        std::thread::sleep(Duration::from_millis(10));
    }
    (master, replica)
}

/// How long replicas are waited for: long enough for a busy machine.
const WAIT: Duration = Duration::from_millis(1_000);

async fn open(master: &RedisServer) -> Stores {
    let url = format!("{}?min_replicas=1&wait_ms={}", master.url(), WAIT.as_millis());
    tablemate_store::connect(&url, wish()).await.unwrap()
}

/// How often a command was called on its own.
fn calls(server: &RedisServer, command: &str) -> u64 {
    let stats = server.say("INFO commandstats");
    let name = format!("cmdstat_{command}:calls=");
    let line = stats.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// kill -9 of the master right after an acknowledgement: the replica has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_is_on_the_replica() {
    let (mut master, replica) = pair();
    let stores = open(&master).await;
    let mut writer = Writer::new(&stores, session(0, 1));
    for number in 0..50 {
        writer.write(&[&format!("fact {number}")]).await;
    }
    master.stop();
    assert_eq!(replica.say("REPLICAOF NO ONE"), "OK");
    let left = tablemate_store::connect(&replica.url(), wish()).await.unwrap();
    assert_eq!(log(&left, session(0, 1)).await.len(), 50);
}

/// A replica that hangs: nothing is acknowledged, and asking again tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_few_replicas_leave_an_unknown_outcome() {
    let (master, replica) = pair();
    let stores = open(&master).await;
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["created"]).await;
    replica.pause();
    let commit = writer.commit(&["b"]);
    let started = Instant::now();
    let error = stores.sessions.commit(&commit).await.unwrap_err();
    let took = started.elapsed();
    let StoreError::OutcomeUnknown { why } = &error else {
        panic!("{error}")
    };
    assert!(why.contains("0 of 1 replicas"), "{why}");
    assert!(took >= WAIT && took < 3 * WAIT, "{took:?}");
    // It is on the master, others see it, and still nobody is told that it counts: neither by a repetition (which writes
    // nothing any more) nor by one who read it.
    assert_eq!(log(&stores, session(0, 1)).await, ["created", "b"]);
    let again = stores.sessions.commit(&commit).await.unwrap_err();
    assert!(matches!(again, StoreError::OutcomeUnknown { .. }), "{again}");
    let other = open(&master).await;
    let confirmed = other.sessions.confirm(session(0, 1)).await.unwrap_err();
    assert!(
        matches!(confirmed, StoreError::OutcomeUnknown { .. }),
        "{confirmed}"
    );
    // Signs of life are not waited for.
    let started = Instant::now();
    assert_eq!(stores.sessions.pulse(&[0, 1, 2, 3]).await.unwrap().len(), 4);
    assert!(started.elapsed() < WAIT);

    replica.resume();
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(error) = other.sessions.confirm(session(0, 1)).await {
        assert!(Instant::now() < deadline, "{error}");
    }
    let answer = stores.sessions.commit(&commit).await.unwrap();
    assert!(matches!(answer, CommitAnswer::Committed { .. }), "{answer:?}");
    assert_eq!(log(&stores, session(0, 1)).await, ["created", "b"], "once");
}

/// Many commits share one WAIT; without replicas to wait for there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_are_confirmed_together() {
    const SESSIONS: u8 = 100;
    let (master, _replica) = pair();
    let stores = open(&master).await;
    let before = calls(&master, "wait");
    let tasks: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let stores = stores.clone();
            tokio::spawn(async move {
                let mut writer = Writer::new(&stores, session(u16::from(number) % SHARDS, number));
                for _ in 0..10 {
                    writer.write(&["fact"]).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let waits = calls(&master, "wait") - before;
    println!("1000 commits, {waits} WAITs");
    assert!((10..500).contains(&waits), "{waits}");

    let plain = RedisStore::open(&master.url(), wish()).await.unwrap();
    let plain = Stores::of(&std::sync::Arc::new(plain));
    let before = calls(&master, "wait");
    Writer::new(&plain, session(0, 250)).write(&["fact"]).await;
    plain.sessions.confirm(session(0, 250)).await.unwrap();
    assert_eq!(calls(&master, "wait"), before);
}

/// The connection breaks while the replicas are waited for: the commit is not sent blindly a second time, and asking
/// again finds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_in_a_wait_doubles_nothing() {
    let (master, replica) = pair();
    let url = format!("{}?min_replicas=1&wait_ms=5000&total_ms=700", master.url());
    let stores = tablemate_store::connect(&url, wish()).await.unwrap();
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["created"]).await;
    replica.pause();
    let commit = writer.commit(&["b"]);
    let store = stores.clone();
    let sent = commit.clone();
    let committing = tokio::spawn(async move { store.sessions.commit(&sent).await });
    let deadline = Instant::now() + Duration::from_secs(5);
    while !master.say("INFO clients").contains("blocked_clients:1") {
        assert!(Instant::now() < deadline, "somebody waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = master.run(&[b"CLIENT", b"KILL", b"TYPE", b"normal"]);
    let error = committing.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::OutcomeUnknown { .. }), "{error}");
    replica.resume();
    let deadline = Instant::now() + Duration::from_secs(10);
    let answer = loop {
        match stores.sessions.commit(&commit).await {
            Ok(answer) => break answer,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    assert!(matches!(answer, CommitAnswer::Committed { .. }), "{answer:?}");
    assert_eq!(log(&stores, session(0, 1)).await, ["created", "b"]);
}
