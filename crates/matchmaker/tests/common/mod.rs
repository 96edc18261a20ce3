//! What the tests of this crate share.
#![allow(clippy::unwrap_used, clippy::panic)] // Tests may.
#![allow(dead_code)] // Each test file uses its own part of it.

use std::time::Duration;

use prost::Message as _;
use tablemate_protocol::storage::v1::outbox_entry::What;
use tablemate_protocol::storage::v1::{
    GameOutcome, OutboxEntry, PlayerAtCreation, PlayerRecord, SessionOutcome,
};
use tablemate_protocol::v1;
use tablemate_session::{Instant, Millis, PlayerId, SessionId};
use tablemate_store::hall_store::Kind;
use tablemate_store::{Commit, CommitAnswer, Cursor, DeploymentWish, EmbeddedStore, Stores, Tag, chain};

pub mod games;
pub mod service;
pub mod whole;

/// Reversi's number in the store.
pub const REVERSI: Kind = Kind(1);

/// An empty embedded store.
pub fn stores() -> Stores {
    EmbeddedStore::open(DeploymentWish::default()).unwrap().into()
}

pub fn player(name: &str) -> PlayerId {
    PlayerId::new(name).unwrap()
}

/// Waits until `done` says so; fails the test after ten seconds.
pub async fn until<F: Future<Output = bool>>(what: &str, mut done: impl FnMut() -> F) {
    for _ in 0..2_000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("did not happen in ten seconds: {what}");
}

/// A game between newcomers on shard 0, won by seat 1.
pub fn game(one: &str, two: &str) -> GameOutcome {
    GameOutcome {
        number: 1,
        reason: v1::GameEndReason::NoMoves as u32,
        outcome: v1::Outcome::Seat1Wins as u32,
        seat_1_points: 2,
        seat_2_points: -2,
        seat_1: Some(frozen(one)),
        seat_2: Some(frozen(two)),
        game_kind: v1::GameKind::Reversi as u32,
        opener_seat: 1,
        ..GameOutcome::default()
    }
}

pub fn frozen(name: &str) -> PlayerAtCreation {
    PlayerAtCreation {
        player: name.into(),
        rating_centi: 150_000,
        deviation_centi: 35_000,
        volatility_micro: 60_000,
    }
}

pub fn ending(one: &str, two: &str) -> SessionOutcome {
    SessionOutcome {
        ending: v1::SessionEnding::SeriesComplete as u32,
        seat_1: one.into(),
        seat_2: two.into(),
        game_kind: v1::GameKind::Reversi as u32,
        ..SessionOutcome::default()
    }
}

/// A session on shard 0.
pub fn session(number: u8) -> SessionId {
    SessionId::new(0, [number; 10])
}

/// Commits a session whose log is as many entries as there are things that ended, with these in the outbox. `flavour`
/// makes another log, and so other tags, of the same results.
pub async fn commit(stores: &Stores, id: SessionId, flavour: &str, ended: Vec<What>) -> Cursor {
    let sessions = &stores.sessions;
    sessions.pulse(&[id.shard()]).await.unwrap();
    let payloads: Vec<String> = (0..ended.len())
        .map(|index| format!("{flavour} {index}"))
        .collect();
    let entries = chain(Tag::START, &payloads);
    let outbox = ended
        .into_iter()
        .zip(&entries)
        .zip(1..)
        .map(|((what, entry), sequence)| {
            let stored = OutboxEntry {
                session: id.as_bytes().to_vec(),
                sequence,
                at_ms: 1_000 + sequence,
                tag: entry.tag().0.to_vec(),
                what: Some(what),
            };
            stored.encode_to_vec().into()
        });
    let now = sessions.now(id.shard());
    let commit = Commit {
        session: id,
        expected: Cursor::START,
        last_instant: Instant::ZERO,
        now,
        judged_before: None,
        known_outage: 0,
        outbox: outbox.collect(),
        entries,
        next_deadline: now.after(Millis::hours(24)),
    };
    let answer = sessions.commit(&commit).await.unwrap();
    assert!(matches!(answer, CommitAnswer::Committed { .. }), "{answer:?}");
    commit.after()
}

/// A player's record as settlement wrote it.
pub async fn record(stores: &Stores, name: &str) -> PlayerRecord {
    let stored = stores.players.record(&player(name), REVERSI).await.unwrap();
    stored
        .bytes
        .map(|bytes| PlayerRecord::decode(bytes).unwrap())
        .unwrap_or_default()
}
