//! Redis behind Sentinels: the contract, and masters that are replaced, killed, or come back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tablemate_session::{Millis, SessionId};
use tablemate_store::contract::{SHARDS, Subject, Writer, log, session};
use tablemate_store::session_store::{Live, Subscription};
use tablemate_store::testing::SentinelSet;
use tablemate_store::{CommitAnswer, Cursor, DeploymentWish, Read, RedisStore, StoreError, Stores};

fn wish() -> DeploymentWish {
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

mod contract {
    use super::*;

    async fn open() -> Subject {
        let set = SentinelSet::start(0, 1);
        let store = Arc::new(RedisStore::open(&set.url(), wish()).await.unwrap());
        let other = Arc::new(RedisStore::open(&set.url(), wish()).await.unwrap());
        Subject {
            stores: Stores::of(&store),
            other: Stores::of(&other),
            hands: store,
            keep: Box::new(set),
        }
    }

    tablemate_store::contract_tests!(open);
}

async fn open(set: &SentinelSet) -> Stores {
    tablemate_store::connect(&set.url(), wish()).await.unwrap()
}

/// Writes until the store takes it; counts what it does not take.
async fn write_on(writer: &mut Writer, fact: &str) -> (Instant, usize) {
    let mut refused = 0;
    loop {
        let commit = writer.commit(&[fact]);
        match writer.store.commit(&commit).await {
            Ok(CommitAnswer::Committed { .. }) => {
                writer.cursor = commit.after();
                writer.last_instant = commit.now;
                return (Instant::now(), refused);
            }
            Ok(CommitAnswer::PulseTooOld) => {
                let _ = writer.store.pulse(&[writer.session.shard()]).await;
            }
            Ok(CommitAnswer::NowRefused { .. } | CommitAnswer::OutageChanged { .. }) => {}
            // The tail was lost with the old master: resynchronise, as a service does.
            Ok(CommitAnswer::Diverged) => {
                let Read::Found(tail) = read(writer).await else {
                    continue;
                };
                writer.cursor = Cursor {
                    sequence: tail.entries.len() as u64,
                    tag: tail.entries.last().unwrap().tag(),
                };
            }
            Ok(other) => panic!("{other:?}"),
            Err(StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn read(writer: &Writer) -> Read {
    loop {
        match writer.store.read(writer.session, Cursor::START, 0).await {
            Ok(read) => return read,
            Err(StoreError::Unavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Waits for a gap, then for what is written after it: the subscription has followed.
async fn follows(watch: &mut Subscription<Live>, writer: &mut Writer) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut gap = false;
    loop {
        assert!(
            Instant::now() < deadline,
            "the watcher hears nothing (gap: {gap})"
        );
        write_on(writer, "on").await;
        let soon = Instant::now() + Duration::from_millis(50);
        while let Ok(Some(live)) = tokio::time::timeout_at(soon.into(), futures::StreamExt::next(watch)).await
        {
            match live {
                Live::Gap => gap = true,
                Live::Entries { before, .. } if gap && before.sequence + 1 == writer.cursor.sequence => {
                    return;
                }
                _ => {}
            }
        }
    }
}

fn length(set: &SentinelSet, number: usize, key: &[u8]) -> i64 {
    match set.servers[number].run(&[b"LLEN", key]) {
        redis::Value::Int(length) => length,
        other => panic!("{other:?}"),
    }
}

const ID: fn() -> SessionId = || session(0, 1);

/// The Redis crate's own manager stays with the old master and gets READONLY for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_was_replaced_is_left() {
    let set = SentinelSet::start(1, 3);
    let stores = open(&set).await;
    let mut writer = Writer::new(&stores, ID());
    writer.write(&["created"]).await;
    let mut watch = stores.sessions.subscribe(ID()).await.unwrap();

    set.fail_over();
    let next = tokio::task::block_in_place(|| set.master_after(0));
    let chosen = Instant::now();
    let (written, _) = write_on(&mut writer, "after").await;
    assert!(
        written - chosen < Duration::from_secs(5),
        "{:?}",
        written - chosen
    );
    follows(&mut watch, &mut writer).await;
    let key = RedisStore::open(&set.url(), wish())
        .await
        .unwrap()
        .session_keys(ID())
        .log;
    assert_eq!(
        length(&set, next, &key),
        i64::try_from(writer.cursor.sequence).unwrap(),
        "it is the new master that has it all"
    );
}

/// kill -9: nobody says good-bye.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_was_killed_is_left() {
    let mut set = SentinelSet::start(1, 3);
    let stores = open(&set).await;
    let mut writer = Writer::new(&stores, ID());
    for fact in ["created", "one", "two"] {
        writer.write(&[fact]).await;
    }
    let mut watch = stores.sessions.subscribe(ID()).await.unwrap();
    // What is acknowledged is on the replica before the master dies.
    let _ = set.servers[0].run(&[b"WAIT", b"1", b"2000"]);
    set.servers[0].stop();
    let refused = stores.sessions.read(ID(), Cursor::START, 0).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable { .. }) | Ok(Read::Found(_))),
        "{refused:?}"
    );
    tokio::task::block_in_place(|| set.master_after(0));
    let chosen = Instant::now();
    let (written, _) = write_on(&mut writer, "three").await;
    assert!(
        written - chosen < Duration::from_secs(5),
        "{:?}",
        written - chosen
    );
    assert_eq!(log(&stores, ID()).await, ["created", "one", "two", "three"]);
    follows(&mut watch, &mut writer).await;
}

/// The old master answers again, and still thinks that it is one: a connection to it that works is no reason to stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_comes_back_gets_nothing() {
    let set = SentinelSet::start(1, 3);
    let stores = open(&set).await;
    let mut writer = Writer::new(&stores, ID());
    writer.write(&["created"]).await;
    let _ = set.servers[0].run(&[b"WAIT", b"1", b"2000"]);
    let key = RedisStore::open(&set.url(), wish())
        .await
        .unwrap()
        .session_keys(ID())
        .log;

    set.servers[0].pause();
    let next = tokio::task::block_in_place(|| set.master_after(0));
    // Not a command since: the Sentinels' word alone must make us leave.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    set.servers[0].resume();
    for fact in 0..20 {
        let (_, refused) = write_on(&mut writer, &format!("fact {fact}")).await;
        assert_eq!(refused, 0, "the way is known already");
    }
    assert_eq!(length(&set, next, &key), 21);
    assert_eq!(
        writer.cursor.sequence, 21,
        "nothing was written elsewhere and lost"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_service_is_told() {
    let set = SentinelSet::start(0, 1);
    let url = set.url().replace("/games", "/chess");
    let error = tablemate_store::connect(&url, wish()).await.err().unwrap();
    let StoreError::Unavailable { why } = &error else {
        panic!("{error}")
    };
    assert!(why.contains("chess"), "{why}");
}
