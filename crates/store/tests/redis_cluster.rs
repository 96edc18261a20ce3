//! A Redis Cluster: the contract, slots that move, nodes that fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use tablemate_session::{Millis, SessionId};
use tablemate_store::contract::{SHARDS, Subject, Writer, log, session};
use tablemate_store::session_store::Live;
use tablemate_store::testing::RedisCluster;
use tablemate_store::{
    CommitAnswer, Cursor, DeploymentWish, Read, RedisStore, SessionStore, StoreError, Stores, shards,
};

fn wish() -> DeploymentWish {
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

mod contract {
    use tokio::sync::{Mutex, OnceCell};

    use super::*;

    /// One for all tests of the contract, emptied for each: to come together takes a cluster seconds.
    static SHARED: OnceCell<Arc<Mutex<RedisCluster>>> = OnceCell::const_new();

    async fn open() -> Subject {
        let shared = SHARED.get_or_init(async || {
            let started = tokio::task::spawn_blocking(|| RedisCluster::start(3, 0));
            Arc::new(Mutex::new(started.await.unwrap()))
        });
        let cluster = Arc::clone(shared.await).lock_owned().await;
        cluster.flush();
        let store = Arc::new(RedisStore::open(&cluster.url(), wish()).await.unwrap());
        let other = Arc::new(RedisStore::open(&cluster.url(), wish()).await.unwrap());
        Subject {
            stores: Stores::of(&store),
            other: Stores::of(&other),
            hands: store,
            keep: Box::new(cluster),
        }
    }

    tablemate_store::contract_tests!(open);
}

async fn start(masters: usize, replicas: usize) -> RedisCluster {
    let started = tokio::task::spawn_blocking(move || RedisCluster::start(masters, replicas));
    started.await.unwrap()
}

fn slot(shard: u16) -> u16 {
    shards::slot(&shards::hash_tags(SHARDS)[usize::from(shard)])
}

/// Writes until the store takes it; counts what it does not take.
async fn write_on(writer: &mut Writer, fact: &str) -> usize {
    let mut refused = 0;
    loop {
        let commit = writer.commit(&[fact]);
        match writer.store.commit(&commit).await {
            Ok(CommitAnswer::Committed { .. }) => {
                writer.cursor = commit.after();
                writer.last_instant = commit.now;
                return refused;
            }
            Ok(CommitAnswer::PulseTooOld) => {
                let _ = writer.store.pulse(&[writer.session.shard()]).await;
            }
            Ok(CommitAnswer::OutageChanged { outages }) => writer.known_outage = outages.last().unwrap().id,
            Ok(CommitAnswer::NowRefused { .. }) => {}
            // An earlier try, whose outcome was unknown, was done.
            Ok(CommitAnswer::Conflict { entries }) => {
                assert!(refused > 0);
                assert_eq!(entries.len(), 1);
                assert_eq!(&entries[0].payload()[..], fact.as_bytes());
                writer.cursor = Cursor {
                    sequence: writer.cursor.sequence + 1,
                    tag: entries[0].tag(),
                };
                return refused;
            }
            Ok(other) => panic!("{other:?}"),
            Err(StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The sessions' shards lie on several nodes, and each is found there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shards_lie_on_all_nodes_and_a_moved_slot_is_followed() {
    let cluster = start(3, 0).await;
    let stores = tablemate_store::connect(&cluster.url(), wish()).await.unwrap();
    let owners: Vec<usize> = (0..SHARDS).map(|shard| cluster.owner(slot(shard))).collect();
    assert!((0..3).all(|node| owners.contains(&node)), "{owners:?}");
    let mut writers: Vec<Writer> = (0..SHARDS)
        .map(|shard| Writer::new(&stores, session(shard, 1)))
        .collect();
    for writer in &mut writers {
        writer.write(&["created"]).await;
    }

    // Moved between two commands: the old node says MOVED.
    let (from, to) = (owners[0], (owners[0] + 1) % 3);
    tokio::task::block_in_place(|| {
        cluster.begin_move(slot(0), from, to);
        while cluster.move_keys(slot(0), from, to, 100) {}
        cluster.end_move(slot(0), to);
    });
    assert_eq!(
        write_on(&mut writers[0], "moved").await,
        0,
        "the redirection is followed"
    );
    let key = RedisStore::open(&cluster.url(), wish()).await.unwrap();
    let key = key.session_keys(session(0, 1)).log;
    assert_eq!(cluster.nodes[to].run(&[b"LLEN", &key]), redis::Value::Int(2));
}

/// A shard's slot moves key by key while it is written, read and watched: TRYAGAIN, ASK, MOVED, and nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_on_the_move_loses_nothing() {
    let cluster = start(3, 0).await;
    let url = format!("{}?total_ms=300", cluster.url());
    let stores = tablemate_store::connect(&url, wish()).await.unwrap();
    let mut old = Writer::new(&stores, session(0, 200));
    old.write(&["old"]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::new();
    for number in 0..8 {
        let (stores, stop) = (stores.clone(), Arc::clone(&stop));
        tasks.push(tokio::spawn(async move {
            let id = session(0, number);
            let mut writer = Writer::new(&stores, id);
            write_on(&mut writer, "created").await;
            let mut watch = stores.sessions.subscribe(id).await.unwrap();
            let (mut facts, mut refused) = (vec!["created".to_owned()], 0);
            while !stop.load(Ordering::SeqCst) {
                let fact = format!("fact {}", facts.len());
                refused += write_on(&mut writer, &fact).await;
                facts.push(fact);
            }
            // The subscription has followed: what is written now is heard, after a gap.
            let (mut gap, deadline) = (false, Instant::now() + Duration::from_secs(10));
            'heard: loop {
                assert!(Instant::now() < deadline, "not heard (gap: {gap})");
                facts.push(format!("fact {}", facts.len()));
                write_on(&mut writer, facts.last().unwrap()).await;
                let soon = Instant::now() + Duration::from_millis(50);
                while let Ok(Some(live)) = tokio::time::timeout_at(soon.into(), watch.next()).await {
                    match live {
                        Live::Gap => gap = true,
                        Live::Entries { before, .. }
                            if gap && before.sequence + 1 == writer.cursor.sequence =>
                        {
                            break 'heard;
                        }
                        _ => {}
                    }
                }
            }
            (id, facts, refused)
        }));
    }
    let owner = cluster.owner(slot(0));
    let mut unavailable = 0;
    for round in 0..3 {
        let (from, to) = ((owner + round) % 3, (owner + round + 1) % 3);
        tokio::time::sleep(Duration::from_millis(200)).await;
        tokio::task::block_in_place(|| cluster.begin_move(slot(0), from, to));
        // With keys on both sides: some commands meet TRYAGAIN, some are sent on by ASK.
        while tokio::task::block_in_place(|| cluster.move_keys(slot(0), from, to, 2)) {
            // One key is enough: it is found wherever it lies.
            let index = stores.sessions.next_due(0).await;
            unavailable += usize::from(index.is_err());
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        tokio::task::block_in_place(|| cluster.end_move(slot(0), to));
    }
    assert_eq!(unavailable, 0, "ASK is followed");
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Ordering::SeqCst);
    let mut refused = 0;
    for task in tasks {
        let (id, facts, refusals) = task.await.unwrap();
        assert_eq!(log(&stores, id).await, facts, "each once, in order");
        assert!(facts.len() > 20, "{}", facts.len());
        refused += refusals;
    }
    println!("refused while the slot was on the move: {refused}");
    assert_eq!(log(&stores, session(0, 200)).await, ["old"]);
}

/// A process that only listens follows the slot too: the node that gives it away says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_alone_follows_its_slot() {
    let cluster = start(3, 0).await;
    let listener = tablemate_store::connect(&cluster.url(), wish()).await.unwrap();
    let writing = tablemate_store::connect(&cluster.url(), wish()).await.unwrap();
    let mut writer = Writer::new(&writing, session(0, 1));
    writer.write(&["created"]).await;
    let mut watch = listener.sessions.subscribe(session(0, 1)).await.unwrap();
    let mut other = listener.sessions.subscribe(session(1, 1)).await.unwrap();
    let from = cluster.owner(slot(0));
    let to = (from + 1) % 3;
    tokio::task::block_in_place(|| {
        cluster.begin_move(slot(0), from, to);
        while cluster.move_keys(slot(0), from, to, 100) {}
        cluster.end_move(slot(0), to);
    });
    // Long before anybody asks who serves what when nothing seems wrong.
    let deadline = Instant::now() + Duration::from_secs(5);
    assert_eq!(tablemate_store::contract::heard(&mut watch).await, Live::Gap);
    'heard: loop {
        assert!(Instant::now() < deadline, "the listener follows");
        write_on(&mut writer, "moved").await;
        let soon = Instant::now() + Duration::from_millis(50);
        while let Ok(Some(live)) = tokio::time::timeout_at(soon.into(), watch.next()).await {
            if matches!(live, Live::Entries { before, .. } if before.sequence + 1 == writer.cursor.sequence) {
                break 'heard;
            }
        }
    }
    // Other channels go on.
    Writer::new(&writing, session(1, 1)).write(&["created"]).await;
    let deadline = Instant::now() + Duration::from_secs(5);
    while !matches!(
        tablemate_store::contract::heard(&mut other).await,
        Live::Entries { .. }
    ) {
        assert!(Instant::now() < deadline);
    }
}

/// kill -9 of a master with a replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_takes_over() {
    let mut cluster = start(3, 1).await;
    let stores = tablemate_store::connect(&cluster.url(), wish()).await.unwrap();
    let owner = cluster.owner(slot(0));
    let other = (1..SHARDS)
        .find(|shard| cluster.owner(slot(*shard)) != owner)
        .unwrap();
    let mut writers = [
        Writer::new(&stores, session(0, 1)),
        Writer::new(&stores, session(other, 1)),
    ];
    for writer in &mut writers {
        writer.write(&["created"]).await;
    }
    let mut watch = stores.sessions.subscribe(session(0, 1)).await.unwrap();
    let _ = cluster.nodes[owner].run(&[b"WAIT", b"1", b"2000"]);
    let replica = 3 + owner;
    cluster.nodes[owner].stop();

    // What other nodes serve goes on meanwhile, pulses too.
    let all: Vec<u16> = (0..SHARDS).collect();
    let pulses = stores.sessions.pulse(&all).await.unwrap();
    assert!(pulses.iter().any(|pulse| pulse.shard == other));
    assert_eq!(write_on(&mut writers[1], "goes on").await, 0);

    let promoted = || {
        cluster.nodes[replica]
            .say("INFO replication")
            .contains("role:master")
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !tokio::task::block_in_place(promoted) {
        assert!(Instant::now() < deadline, "the replica takes over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let taken_over = Instant::now();
    write_on(&mut writers[0], "after").await;
    let took = taken_over.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(log(&stores, session(0, 1)).await, ["created", "after"]);
    // The watcher is told, and hears on.
    let deadline = Instant::now() + Duration::from_secs(10);
    'heard: loop {
        assert!(Instant::now() < deadline, "the watcher hears nothing");
        write_on(&mut writers[0], "on").await;
        let soon = Instant::now() + Duration::from_millis(50);
        while let Ok(Some(live)) = tokio::time::timeout_at(soon.into(), watch.next()).await {
            if matches!(live, Live::Entries { before, .. } if before.sequence + 1 == writers[0].cursor.sequence)
            {
                break 'heard;
            }
        }
    }
}

/// Nodes without a replica: their shards are unavailable, the others are not, and they come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_away_takes_only_its_shards_along() {
    let mut cluster = start(3, 0).await;
    let url = format!("{}?total_ms=300", cluster.url());
    let stores = tablemate_store::connect(&url, wish()).await.unwrap();
    let owner = cluster.owner(slot(0));
    cluster.nodes[owner].stop();
    for shard in 0..SHARDS {
        let read = stores.sessions.read(session(shard, 1), Cursor::START, 0).await;
        if cluster.owner(slot(shard)) == owner {
            assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{read:?}");
        } else {
            assert!(matches!(read, Ok(Read::Missing { .. })), "{read:?}");
        }
    }
    cluster.nodes[owner].start_again();
    let deadline = Instant::now() + Duration::from_secs(10);
    while stores
        .sessions
        .read(session(0, 1), Cursor::START, 0)
        .await
        .is_err()
    {
        assert!(Instant::now() < deadline, "it comes back");
    }
}

/// A walk over all keys visits all nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_lost_their_index_entry_are_found_on_every_node() {
    let cluster = start(3, 0).await;
    let store = Arc::new(RedisStore::open(&cluster.url(), wish()).await.unwrap());
    let stores = Stores::of(&store);
    let mut lost: Vec<SessionId> = Vec::new();
    for shard in 0..SHARDS {
        for number in 0..5 {
            Writer::new(&stores, session(shard, number)).write(&["a"]).await;
        }
        let id = session(shard, 3);
        let node = &cluster.nodes[cluster.owner(slot(shard))];
        let _ = node.run(&[b"ZREM", &store.session_keys(id).index, &id.as_bytes()[2..]]);
        lost.push(id);
    }
    let (mut found, mut page) = (Vec::new(), None);
    loop {
        let part = store.orphans(page, 3).await.unwrap();
        found.extend(part.sessions);
        page = part.next;
        if page.is_none() {
            break;
        }
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, lost);
}

/// The URL must say what is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_url_of_the_wrong_shape_is_refused() {
    let cluster = start(3, 0).await;
    let error = tablemate_store::connect(&cluster.nodes[0].url(), wish())
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("redis+cluster://"), "{error}");
    let server = tablemate_store::testing::RedisServer::start();
    let url = format!("redis+cluster://127.0.0.1:{}/", server.port());
    let error = tablemate_store::connect(&url, wish()).await.err().unwrap();
    assert!(error.to_string().contains("cluster"), "{error}");
}
