//! A real Redis that goes away, forgets, loses replies, or has its clock set.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use bytes::Bytes;
use redis::Value;
use tablemate_session::{Instant, Millis};
use tablemate_store::contract::{SHARDS, Writer, heard, log, outages, player, session};
use tablemate_store::hall_store::Kind;
use tablemate_store::player_store::{ApplyAnswer, ApplyResult, ResultId};
use tablemate_store::session_store::Live;
use tablemate_store::testing::{Proxy, RedisServer, Tamper};
use tablemate_store::{
    CommitAnswer, Cursor, DeploymentWish, PlayerStore, Read, RedisStore, SessionStore, StoreError, Stores,
    Tag,
};

fn wish() -> DeploymentWish {
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

async fn open(server: &RedisServer) -> Stores {
    tablemate_store::connect(&server.url(), wish()).await.unwrap()
}

async fn through(proxy: &Proxy) -> RedisStore {
    RedisStore::open(&format!("redis://127.0.0.1:{}/", proxy.port()), wish())
        .await
        .unwrap()
}

/// Nothing acknowledged is lost and nothing is applied twice, although nobody heard the first answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_is_found_out_by_asking_again() {
    let server = RedisServer::start();
    let lossy = Proxy::to(server.port()).await;
    let store = Arc::new(through(&lossy).await);
    let stores = Stores::of(&store);
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["created"]).await;
    for round in 1..=5 {
        let mut commit = writer.commit(&[&format!("fact {round}")]);
        commit.outbox = vec![Bytes::from_static(b"result")];
        lossy.lose_next_reply();
        let answer = store.commit(&commit).await.unwrap();
        assert!(matches!(answer, CommitAnswer::Committed { .. }), "{answer:?}");
        assert_eq!(lossy.lost(), round);
        writer.cursor = commit.after();
    }
    assert_eq!(log(&stores, session(0, 1)).await.len(), 6);
    let results = store
        .outbox_read(0, tablemate_store::session_store::OutboxCursor::START, 99)
        .await
        .unwrap();
    assert_eq!(results.len(), 5);

    // S-20.
    let apply = ApplyResult {
        player: player("ann"),
        kind: Kind(1),
        result: ResultId {
            session: session(0, 1),
            game: 1,
            correction: 0,
        },
        tag: Tag([1; 4]),
        expected_version: 0,
        record: Some(Bytes::from_static(b"+2")),
        change: Bytes::new(),
        listing: Some(Bytes::from_static(b"game")),
    };
    lossy.lose_next_reply();
    assert_eq!(
        store.apply_result(&apply).await.unwrap(),
        ApplyAnswer::AlreadyApplied
    );
    assert_eq!(store.record(&player("ann"), Kind(1)).await.unwrap().version, 1);
    assert_eq!(store.games(&player("ann"), Kind(1), 0, 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_told_and_comes_back() {
    let mut server = RedisServer::start();
    let stores = open(&server).await;
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["a"]).await;
    let mut watch = stores.sessions.subscribe(session(0, 1)).await.unwrap();

    server.stop();
    let started = std::time::Instant::now();
    let read = stores.sessions.read(session(0, 1), Cursor::START, 0).await;
    assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{read:?}");
    let commit = stores.sessions.commit(&writer.commit(&["b"])).await;
    assert!(
        matches!(
            commit,
            Err(StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. })
        ),
        "{commit:?}"
    );
    assert!(started.elapsed().as_secs() < 6, "waits are bounded");
    // A watcher learns that it may miss something.
    assert_eq!(heard(&mut watch).await, Live::Gap);

    // It comes back empty, without the scripts: a fail-over that lost everything.
    server.start_again();
    let read = loop {
        match stores.sessions.read(session(0, 1), writer.cursor, 0).await {
            Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
            other => break other.unwrap(),
        }
    };
    assert!(matches!(read, Read::Missing { .. }), "{read:?}");
    assert_eq!(writer.send(&writer.commit(&["b"])).await, CommitAnswer::Diverged);
    assert_eq!(stores.sessions.pulse(&[0, 1, 2, 3]).await.unwrap().len(), 4);
    let mut again = Writer::new(&stores, session(0, 1));
    // Until the subscriptions are back, watchers hear nothing; then they are told, and hear what is new.
    loop {
        again.write(&["again"]).await;
        let soon = tokio::time::timeout(std::time::Duration::from_millis(20), heard(&mut watch));
        if matches!(soon.await, Ok(Live::Entries { .. })) {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_whose_connection_was_cut_is_told_and_hears_on() {
    let server = RedisServer::start();
    let stores = open(&server).await;
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["a"]).await;
    let mut watch = stores.sessions.subscribe(session(0, 1)).await.unwrap();
    assert!(matches!(
        server.run(&[b"CLIENT", b"KILL", b"TYPE", b"pubsub"]),
        Value::Int(1..)
    ));
    assert_eq!(heard(&mut watch).await, Live::Gap);
    // The second gap says that it is subscribed again: from here on nothing is missed.
    assert_eq!(heard(&mut watch).await, Live::Gap);
    let before = writer.cursor;
    writer.write(&["b"]).await;
    let Live::Entries {
        before: heard_before, ..
    } = heard(&mut watch).await
    else {
        panic!("entries")
    };
    assert_eq!(heard_before, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_listens_nobody_is_subscribed() {
    let server = RedisServer::start();
    let stores = open(&server).await;
    let channels = || match server.run(&[b"PUBSUB", b"SHARDCHANNELS"]) {
        Value::Array(channels) => channels.len(),
        other => panic!("{other:?}"),
    };
    let watches = [
        stores.sessions.subscribe(session(0, 1)).await.unwrap(),
        stores.sessions.subscribe(session(0, 1)).await.unwrap(),
        stores.sessions.subscribe(session(0, 2)).await.unwrap(),
    ];
    assert_eq!(channels(), 2);
    let [one, two, three] = watches;
    drop((one, three));
    while channels() > 1 {
        tokio::task::yield_now().await;
    }
    drop(two);
    while channels() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_born_once() {
    let server = RedisServer::start();
    let one = open(&server).await;
    let other = open(&server).await;
    let request = tablemate_session::RequestId::new("r").unwrap();
    let id = |stores: &Stores| stores.sessions.deployment().session_id("ann", &request);
    assert_eq!(id(&one), id(&other), "every process has the same key");
    let anything = DeploymentWish::default();
    let third = tablemate_store::connect(&server.url(), anything).await.unwrap();
    assert_eq!(third.sessions.deployment().shards, SHARDS);
    assert_eq!(third.sessions.deployment().outage_threshold, Millis::seconds(60));

    let refused = |wish| async move { tablemate_store::connect(&server.url(), wish).await.err().unwrap() };
    let wrong = [
        DeploymentWish {
            shards: Some(SHARDS + 1),
            ..anything
        },
        DeploymentWish {
            outage_threshold: Some(Millis::seconds(5)),
            ..anything
        },
    ];
    let [shards, threshold] = wrong;
    let error = refused(shards).await;
    assert!(matches!(error, StoreError::Incompatible { .. }), "{error}");
    let server = RedisServer::start();
    open(&server).await;
    let error = tablemate_store::connect(&server.url(), threshold)
        .await
        .err()
        .unwrap();
    assert!(matches!(error, StoreError::Incompatible { .. }), "{error}");
    let _ = server.run(&[b"HSET", b"tablemate:deployment", b"format", b"2"]);
    let error = tablemate_store::connect(&server.url(), anything)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(
            error,
            StoreError::Incompatible {
                setting: "format",
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn urls_that_name_no_store_are_refused() {
    for url in [
        "",
        "redis:",
        "redis://",
        "redis://:x:y/",
        "http://localhost/",
        "memories:",
    ] {
        let error = tablemate_store::connect(url, DeploymentWish::default())
            .await
            .err()
            .unwrap();
        assert!(matches!(error, StoreError::BadUrl { .. }), "{url}: {error}");
    }
    for wish in [
        DeploymentWish {
            shards: Some(0),
            ..DeploymentWish::default()
        },
        DeploymentWish {
            shards: Some(1_025),
            ..DeploymentWish::default()
        },
        DeploymentWish {
            outage_threshold: Some(Millis(999)),
            ..DeploymentWish::default()
        },
    ] {
        let error = tablemate_store::connect("memory:", wish).await.err().unwrap();
        assert!(matches!(error, StoreError::BadArgument { .. }), "{error}");
    }
}

/// S-7: a step of the store's clock forward is noted as an outage, once, before anybody acts on the new time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_forward_is_an_outage_noted_once() {
    let server = RedisServer::start();
    let one = RedisStore::open(&server.url(), wish()).await.unwrap();
    let other = RedisStore::open(&server.url(), wish()).await.unwrap();
    let stores = open(&server).await;
    Writer::new(&stores, session(0, 1)).write(&["a"]).await;
    one.pulse(&[0, 1, 2, 3]).await.unwrap();

    // As after a step of 3 s: the last signs of life were 3 s ago, and both processes believe it is still then.
    let step = Millis::seconds(3);
    for shard in 0..SHARDS {
        one.age_pulse(shard, step).await;
    }
    one.set_estimate_back(step);
    other.set_estimate_back(step);
    let before = one.now(0);
    let (first, second) = tokio::join!(
        one.read(session(0, 1), Cursor::START, 0),
        other.read(session(0, 1), Cursor::START, 0),
    );
    for read in [first.unwrap(), second.unwrap()] {
        let Read::Found(tail) = read else { panic!("found") };
        assert_eq!(tail.outages.len(), 1, "who sees the new time sees the outage");
        let outage = tail.outages[0];
        assert!(
            outage.from.since(before) < Millis(250) && outage.to <= tail.now,
            "{outage:?}"
        );
        assert!(outage.to.since(outage.from) >= Millis(2_750), "{outage:?}");
    }
    for shard in 0..SHARDS {
        assert_eq!(outages(&stores, shard).await.len(), 1, "on every shard, once");
    }
    assert!(one.now(0).since(before) >= Millis(2_750));
}

/// A process that slept while others gave signs of life notes nothing, and gives no sign of life on a time it does not
/// believe in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_slept_notes_nothing() {
    let server = RedisServer::start();
    let one = RedisStore::open(&server.url(), wish()).await.unwrap();
    let stores = open(&server).await;
    stores.sessions.pulse(&[0, 1, 2, 3]).await.unwrap();
    one.set_estimate_back(Millis::seconds(3));
    let slept = one.now(0);
    let pulses = one.pulse(&[0, 1]).await.unwrap();
    assert_eq!(pulses.iter().filter_map(|pulse| pulse.outage).count(), 0);
    assert!(one.now(0).since(slept) >= Millis(2_750), "it has learnt the time");
    assert_eq!(outages(&stores, 0).await, []);
}

/// S-7: a step back stalls; games go on at their last instant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_back_is_learnt_from_the_first_refusal() {
    let server = RedisServer::start();
    let one = Arc::new(RedisStore::open(&server.url(), wish()).await.unwrap());
    let stores = Stores::of(&one);
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["a"]).await;
    one.set_estimate_ahead(Millis::seconds(3));
    let ahead = one.now(0);
    let commit = writer.commit(&["b"]);
    assert!(matches!(
        writer.send(&commit).await,
        CommitAnswer::NowRefused { .. }
    ));
    assert!(one.now(0) < Instant(ahead.0 - 2_000));
    assert!(matches!(
        writer.write(&["b"]).await,
        CommitAnswer::Committed { .. }
    ));
    assert_eq!(outages(&stores, 0).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_lost_its_index_entry_is_found() {
    let server = RedisServer::start();
    let store = Arc::new(RedisStore::open(&server.url(), wish()).await.unwrap());
    let stores = Stores::of(&store);
    let mut cursors = Vec::new();
    for number in 0..40 {
        let mut writer = Writer::new(&stores, session(u16::from(number) % SHARDS, number));
        writer.write(&["a"]).await;
        cursors.push(writer.cursor);
    }
    let lost = [session(1, 1), session(2, 6)];
    for id in lost {
        let index = store.session_keys(id).index;
        assert_eq!(server.run(&[b"ZREM", &index, &id.as_bytes()[2..]]), Value::Int(1));
    }
    let (mut found, mut page) = (Vec::new(), None);
    loop {
        let part = store.orphans(page, 5).await.unwrap();
        found.extend(part.sessions);
        page = part.next;
        if page.is_none() {
            break;
        }
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, lost);
    store.repair_index(lost[0], cursors[1], Instant(5)).await.unwrap();
    assert_eq!(store.due(1, 9).await.unwrap().sessions[0].session, lost[0]);
}
