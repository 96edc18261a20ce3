//! A script that fails half way is not rolled back. So: a key of the wrong type or a missing right at any command of any
//! script, a full or a read-only server, and nothing may have changed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use redis::Value;
use tablemate_session::{Instant, Millis};
use tablemate_store::contract::{SHARDS, Writer, heard, pass, player, session, ticket};
use tablemate_store::hall_store::{HallId, Kind, MatchId, NewMatch, NewTicket, PoolId};
use tablemate_store::player_store::{ApplyResult, ResultId};
use tablemate_store::session_store::{Live, OutboxCursor};
use tablemate_store::testing::{RedisServer, Tamper};
use tablemate_store::worker_store::WorkerId;
use tablemate_store::{
    Cursor, DeploymentWish, HallStore, PlayerStore, RedisStore, SessionStore, StoreError, Stores, Tag,
    WorkerStore,
};

const KIND: Kind = Kind(1);
const POOL: PoolId = PoolId([1; 12]);

/// Everything in the database, each key's content in an order that does not depend on how it is stored.
fn snapshot(server: &RedisServer) -> BTreeMap<Vec<u8>, Vec<String>> {
    let Value::Array(keys) = server.run(&[b"KEYS", b"*"]) else {
        panic!("keys")
    };
    keys.into_iter()
        .map(|key| {
            let Value::BulkString(key) = key else {
                panic!("a key")
            };
            let Value::SimpleString(kind) = server.run(&[b"TYPE", &key]) else {
                panic!("a type")
            };
            let content = match kind.as_str() {
                "string" => server.run(&[b"GET", &key]),
                "list" => server.run(&[b"LRANGE", &key, b"0", b"-1"]),
                "zset" => server.run(&[b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"]),
                "stream" => server.run(&[b"XRANGE", &key, b"-", b"+"]),
                "hash" => server.run(&[b"HGETALL", &key]),
                "set" => server.run(&[b"SMEMBERS", &key]),
                other => panic!("{other}"),
            };
            let mut lines: Vec<String> = match content {
                Value::Map(pairs) => pairs.iter().map(|pair| format!("{pair:?}")).collect(),
                // Over RESP2, which this plain connection speaks, a hash is a flat list.
                Value::Array(flat) if kind == "hash" => {
                    flat.chunks(2).map(|pair| format!("{pair:?}")).collect()
                }
                Value::Array(items) => items.iter().map(|item| format!("{item:?}")).collect(),
                other => vec![format!("{other:?}")],
            };
            if kind == "hash" {
                lines.sort_unstable();
            }
            (key, lines)
        })
        .collect()
}

/// A store with something of everything in it, and what is known of it.
struct Scene {
    server: RedisServer,
    /// Sets the scene, with all rights.
    admin: Stores,
    hands: RedisStore,
    /// Under test, with the rights of the user `limited`.
    limited: RedisStore,
}

const LIMITED: &[u8] = b"limited";

/// Every writing operation, by name. Each changes something in the scene.
const OPERATIONS: [&str; 20] = [
    "commit",
    "commit without results",
    "pulse",
    "step",
    "mark_failing",
    "mark_settled",
    "delete",
    "repair_index",
    "outbox_trim",
    "set_position",
    "set_present",
    "create_ticket",
    "cancel_ticket",
    "expire_tickets",
    "pair",
    "take",
    "finish_match",
    "void_match",
    "release",
    "apply_result",
];

impl Scene {
    async fn new() -> Self {
        let server = RedisServer::start();
        let wish = DeploymentWish {
            shards: Some(SHARDS),
            ..DeploymentWish::default()
        };
        let hands = RedisStore::open(&server.url(), wish).await.unwrap();
        let admin = tablemate_store::connect(&server.url(), wish).await.unwrap();
        let _ = server.run(&[
            b"ACL", b"SETUSER", LIMITED, b"on", b">secret", b"~*", b"&*", b"+@all",
        ]);
        let url = format!("redis://limited:secret@127.0.0.1:{}/", server.port());
        let limited = RedisStore::open(&url, wish).await.unwrap();
        Self {
            server,
            admin,
            hands,
            limited,
        }
    }

    fn hall() -> HallId {
        HallId::default()
    }

    fn new_ticket(number: u8, name: &str) -> NewTicket {
        NewTicket {
            id: ticket(number),
            player: player(name),
            kind: KIND,
            pool: POOL,
            lifetime: Millis::hours(1),
            waiting_since: Some(Instant(u64::from(number))),
            session: session(0, number),
            payload: Bytes::from_static(b"p"),
        }
    }

    fn apply(game: u16) -> ApplyResult {
        ApplyResult {
            player: player("ann"),
            kind: KIND,
            result: ResultId {
                session: session(0, 1),
                game,
                correction: 0,
            },
            tag: Tag([1; 4]),
            expected_version: u64::from(game) - 1,
            record: Some(Bytes::from_static(b"r")),
            change: Bytes::from_static(b"c"),
            listing: Some(Bytes::from_static(b"l")),
        }
    }

    /// The same scene again; gives the cursors of session 1 (not settled) and session 2 (settled).
    async fn set(&self) -> [Cursor; 2] {
        let _ = self.server.run(&[b"FLUSHALL"]);
        let mut cursors = Vec::new();
        for number in [1, 2] {
            let mut writer = Writer::new(&self.admin, session(0, number));
            writer.write_with(&["created", "ended"], &["result"]).await;
            cursors.push(writer.cursor);
        }
        let sessions = &self.admin.sessions;
        sessions.mark_settled(session(0, 2), cursors[1]).await.unwrap();
        sessions.mark_failing(session(0, 2)).await.unwrap();
        sessions
            .set_outbox_position(
                0,
                "r",
                OutboxCursor {
                    millis: u64::MAX >> 12,
                    number: 0,
                },
            )
            .await
            .unwrap();
        let halls = &self.admin.halls;
        // Three wait in one pool, one of them for too long; one match is unfinished, with tickets.
        for (number, name) in [(11, "zoe"), (12, "yan")] {
            halls
                .create_ticket(&Self::hall(), &Self::new_ticket(number, name))
                .await
                .unwrap();
        }
        for (number, name) in [(1, "ann"), (2, "bob"), (3, "cat")] {
            let id = MatchId::Creation(session(0, number));
            let blocker = NewMatch {
                id,
                kind: Kind(2),
                players: vec![player(name)],
                payload: Bytes::new(),
            };
            halls.take(&Self::hall(), &blocker).await.unwrap();
            let brief = if number == 3 {
                Millis::ZERO
            } else {
                Millis::hours(1)
            };
            let waiting = NewTicket {
                lifetime: brief,
                ..Self::new_ticket(number, name)
            };
            halls.create_ticket(&Self::hall(), &waiting).await.unwrap();
        }
        self.admin.players.apply_result(&Self::apply(1)).await.unwrap();
        pass(Millis(3)).await;
        [cursors[0], cursors[1]]
    }

    /// The keys of the scene, and those that operations on it may make.
    fn keys(&self) -> BTreeSet<Vec<u8>> {
        let mut keys: BTreeSet<Vec<u8>> = RedisStore::hall_keys(&Self::hall()).into_iter().collect();
        keys.extend(RedisStore::player_keys(&player("ann"), KIND));
        for number in [1, 2] {
            let of = self.hands.session_keys(session(0, number));
            keys.extend([
                of.log,
                of.index,
                of.pulse,
                of.outages,
                of.outbox,
                of.settled,
                of.failing,
                of.positions,
            ]);
        }
        keys
    }

    /// Prepares what an operation needs besides the scene.
    async fn prepare(&self, operation: &str) {
        if matches!(operation, "pulse" | "step") {
            let by = if operation == "pulse" {
                Millis::seconds(60)
            } else {
                Millis::seconds(3)
            };
            self.hands.age_pulse(0, by).await;
        }
    }

    async fn run(&self, operation: &str, cursors: [Cursor; 2]) -> Result<(), StoreError> {
        let (store, hall) = (&self.limited, Self::hall());
        let creation = |number| MatchId::Creation(session(0, number));
        match operation {
            "commit" | "commit without results" => {
                let mut writer = Writer::new(&self.admin, session(0, 1));
                writer.cursor = cursors[0];
                let mut commit = writer.commit(&["more"]);
                if operation == "commit" {
                    commit.outbox = vec![Bytes::from_static(b"another")];
                }
                store.commit(&commit).await.map(drop)
            }
            "pulse" => store.pulse(&[0]).await.map(drop),
            "step" => {
                store.set_estimate_back(Millis::seconds(3));
                store.read(session(0, 1), Cursor::START, 0).await.map(drop)
            }
            "mark_failing" => store.mark_failing(session(0, 1)).await.map(drop),
            "mark_settled" => store.mark_settled(session(0, 1), cursors[0]).await.map(drop),
            "delete" => store.delete(session(0, 2), cursors[1]).await.map(drop),
            "repair_index" => store
                .repair_index(session(0, 1), cursors[0], Instant(7))
                .await
                .map(drop),
            "outbox_trim" => store.outbox_trim(0, Millis::ZERO).await.map(drop),
            "set_position" => {
                let cursor = OutboxCursor {
                    millis: u64::MAX >> 12,
                    number: 1,
                };
                store.set_outbox_position(0, "r", cursor).await.map(drop)
            }
            "set_present" => store
                .set_present(session(0, 1), 1, Millis::seconds(9))
                .await
                .map(drop),
            "create_ticket" => store
                .create_ticket(&hall, &Self::new_ticket(4, "dan"))
                .await
                .map(drop),
            "cancel_ticket" => store.cancel_ticket(&hall, ticket(1)).await.map(drop),
            "expire_tickets" => store.expire_tickets(&hall, 9).await.map(drop),
            "pair" => store
                .pair(&hall, POOL, [ticket(1), ticket(2)], session(0, 8))
                .await
                .map(drop),
            "take" => {
                let players = vec![player("eve"), player("fay")];
                let new = NewMatch {
                    id: creation(9),
                    kind: KIND,
                    players,
                    payload: Bytes::new(),
                };
                store.take(&hall, &new).await.map(drop)
            }
            "finish_match" => store.finish_match(&hall, &creation(12)).await.map(drop),
            "void_match" => store.void_match(&hall, &creation(12)).await.map(drop),
            "release" => store
                .release(&hall, KIND, session(0, 12), &[player("zoe")])
                .await
                .map(drop),
            "apply_result" => store.apply_result(&Self::apply(2)).await.map(drop),
            other => panic!("{other}"),
        }
    }

    /// Runs an operation on a spoilt scene: it fails and changes nothing, or what was spoilt is nothing to it.
    async fn try_spoilt(&self, operation: &str, how: &str, cursors: [Cursor; 2]) -> Option<StoreError> {
        let before = snapshot(&self.server);
        let outcome = self.run(operation, cursors).await;
        self.limited.set_estimate_ahead(Millis::ZERO);
        let error = outcome.err()?;
        assert_eq!(
            snapshot(&self.server),
            before,
            "{operation} with {how} failed half way: {error}"
        );
        Some(error)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_of_the_scene_changes_something() {
    let scene = Scene::new().await;
    for operation in OPERATIONS {
        let cursors = scene.set().await;
        scene.prepare(operation).await;
        let before = snapshot(&scene.server);
        scene.run(operation, cursors).await.unwrap();
        assert_ne!(snapshot(&scene.server), before, "{operation}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_the_wrong_type_changes_nothing() {
    let scene = Scene::new().await;
    let keys = scene.keys();
    let mut failures = BTreeMap::new();
    for operation in OPERATIONS {
        for key in &keys {
            let cursors = scene.set().await;
            scene.prepare(operation).await;
            let was = scene.server.run(&[b"TYPE", key]);
            let _ = scene.server.run(&[b"DEL", key]);
            if was == Value::SimpleString("string".to_owned()) {
                let _ = scene.server.run(&[b"SADD", key, b"wrong"]);
            } else {
                let _ = scene.server.run(&[b"SET", key, b"wrong"]);
            }
            let how = format!("a wrong {}", String::from_utf8_lossy(key));
            if let Some(error) = scene.try_spoilt(operation, &how, cursors).await {
                assert!(
                    matches!(error, StoreError::WrongType { .. }),
                    "{operation} with {how}: {error}"
                );
                *failures.entry(operation).or_insert(0) += 1;
            }
        }
    }
    // Log, index, pulse, outages, outbox of session 1.
    assert_eq!(failures.get("commit"), Some(&5), "{failures:?}");
    assert_eq!(failures.get("create_ticket"), Some(&7), "{failures:?}");
    assert_eq!(failures.get("apply_result"), Some(&4), "{failures:?}");
    // A lease is only set, whatever was there.
    assert_eq!(failures.len(), OPERATIONS.len() - 1, "{failures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_right_changes_nothing() {
    let scene = Scene::new().await;
    let server = &scene.server;
    let keys = scene.keys();
    let mut failures: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let commands = [
        "rpush", "ltrim", "zadd", "zrem", "set", "spublish", "xadd", "xtrim", "hset", "hdel", "del", "lpush",
        "lpop", "pexpire",
    ];
    for operation in OPERATIONS {
        for command in commands {
            let cursors = scene.set().await;
            scene.prepare(operation).await;
            let _ = server.run(&[b"ACL", b"SETUSER", LIMITED, format!("-{command}").as_bytes()]);
            let error = scene
                .try_spoilt(operation, &format!("no right to {command}"), cursors)
                .await;
            let _ = server.run(&[b"ACL", b"SETUSER", LIMITED, b"+@all"]);
            if let Some(error) = error {
                assert!(
                    matches!(error, StoreError::Denied { .. }),
                    "{operation} without {command}: {error}"
                );
                failures.entry(operation).or_default().insert(command.to_owned());
            }
        }
        for spoilt in &keys {
            let cursors = scene.set().await;
            scene.prepare(operation).await;
            let mut rights: Vec<Vec<u8>> = vec![b"resetkeys".to_vec()];
            for key in &keys {
                let right: &[u8] = if key == spoilt { b"%R~" } else { b"~" };
                rights.push([right, key.as_slice()].concat());
            }
            // Presence leases, and the shards that a step is noted on besides.
            rights.push(b"~*}l*".to_vec());
            for shard in 1..SHARDS {
                let of = scene.hands.session_keys(session(shard, 1));
                rights.extend([of.pulse, of.outages].map(|key| [b"~".as_slice(), &key].concat()));
            }
            let command: Vec<&[u8]> = [b"ACL".as_slice(), b"SETUSER", LIMITED]
                .into_iter()
                .chain(rights.iter().map(Vec::as_slice))
                .collect();
            let _ = server.run(&command);
            let how = format!("no right to write {}", String::from_utf8_lossy(spoilt));
            let error = scene.try_spoilt(operation, &how, cursors).await;
            let _ = server.run(&[b"ACL", b"SETUSER", LIMITED, b"resetkeys", b"~*"]);
            if let Some(error) = error {
                assert!(
                    matches!(error, StoreError::Denied { .. }),
                    "{operation} with {how}: {error}"
                );
            }
        }
        let cursors = scene.set().await;
        scene.prepare(operation).await;
        let _ = server.run(&[b"ACL", b"SETUSER", LIMITED, b"resetchannels"]);
        let error = scene.try_spoilt(operation, "no channel", cursors).await;
        let _ = server.run(&[b"ACL", b"SETUSER", LIMITED, b"&*"]);
        assert!(
            error.is_none_or(|error| matches!(error, StoreError::Denied { .. })),
            "{operation}"
        );
    }
    let needs = |operation: &str| failures[operation].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(needs("commit"), ["rpush", "set", "spublish", "xadd", "zadd"]);
    assert_eq!(
        needs("commit without results"),
        ["rpush", "set", "spublish", "zadd"]
    );
    assert_eq!(needs("delete"), ["del", "hdel", "zrem"]);
    assert_eq!(
        needs("create_ticket"),
        ["hdel", "hset", "spublish", "zadd", "zrem"]
    );
    assert_eq!(failures.len(), OPERATIONS.len(), "{failures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_or_read_only_server_changes_nothing() {
    let scene = Scene::new().await;
    for operation in OPERATIONS {
        let cursors = scene.set().await;
        scene.prepare(operation).await;
        let _ = scene.server.run(&[b"CONFIG", b"SET", b"maxmemory", b"1"]);
        let error = scene.try_spoilt(operation, "a full server", cursors).await;
        let _ = scene.server.run(&[b"CONFIG", b"SET", b"maxmemory", b"0"]);
        assert!(
            matches!(error, Some(StoreError::Full { .. })),
            "{operation}: {error:?}"
        );

        let _ = scene.server.run(&[b"REPLICAOF", b"127.0.0.1", b"1"]);
        let error = scene.try_spoilt(operation, "a replica", cursors).await;
        let _ = scene.server.run(&[b"REPLICAOF", b"NO", b"ONE"]);
        assert!(
            matches!(error, Some(StoreError::Unavailable { .. })),
            "{operation}: {error:?}"
        );
    }
    let worker = WorkerId::new("w").unwrap();
    assert!(scene.limited.heartbeat(&worker, Millis(1)).await.is_ok());
}

/// The publish comes before the writes, and after all that can fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_commit_is_not_published() {
    let scene = Scene::new().await;
    let cursors = scene.set().await;
    let mut watch = scene.admin.sessions.subscribe(session(0, 1)).await.unwrap();
    for command in ["rpush", "zadd", "set", "xadd"] {
        let _ = scene
            .server
            .run(&[b"ACL", b"SETUSER", LIMITED, format!("-{command}").as_bytes()]);
        assert!(scene.run("commit", cursors).await.is_err());
        let _ = scene.server.run(&[b"ACL", b"SETUSER", LIMITED, b"+@all"]);
    }
    let keys = scene.hands.session_keys(session(0, 1));
    for key in [keys.index, keys.outbox] {
        let _ = scene.server.run(&[b"RENAME", &key, b"aside"]);
        let _ = scene.server.run(&[b"SET", &key, b"wrong"]);
        assert!(scene.run("commit", cursors).await.is_err());
        let _ = scene.server.run(&[b"RENAME", b"aside", &key]);
    }
    let mut writer = Writer::new(&scene.admin, session(0, 1));
    writer.cursor = cursors[0];
    writer.write(&["good"]).await;
    let Live::Entries { before, entries } = heard(&mut watch).await else {
        panic!("entries")
    };
    assert_eq!(
        (before, entries[0].payload()),
        (cursors[0], Bytes::from_static(b"good"))
    );
}
