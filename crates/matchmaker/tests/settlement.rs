//! Settlement on a store: exactly once, whatever crashes in between (S-20), and the claims of ended sessions (S-28).
#![allow(clippy::unwrap_used, clippy::panic)] // Tests may.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use common::{REVERSI, commit, ending, game, player, record, session, stores};
use proptest::prelude::*;
use tablemate_matchmaker::metrics::Metrics;
use tablemate_matchmaker::settlement::{Progress, Releaser, Settler};
use tablemate_protocol::storage::v1::outbox_entry::What;
use tablemate_protocol::storage::v1::{GameOutcome, PlayerChange, PlayerGameEntry};
use tablemate_protocol::v1;
use tablemate_session::PlayerId;
use tablemate_store::hall_store::{HallId, Holder, Kind, MatchId, NewMatch};
use tablemate_store::player_store::{AppliedResult, ApplyAnswer, ApplyResult, PlayerRecord, ResultId};
use tablemate_store::session_store::{DeleteAnswer, OutboxCursor};
use tablemate_store::{PlayerStore, Result, StoreError, Stores};

fn settler(stores: &Stores) -> Settler {
    Settler::new(stores, Metrics::new())
}

async fn settle_all(stores: &Stores) -> Progress {
    let (progress, _) = settler(stores)
        .settle_after(0, OutboxCursor::START)
        .await
        .unwrap();
    progress
}

fn decode<M: prost::Message + Default>(bytes: Bytes) -> M {
    M::decode(bytes).unwrap()
}

#[tokio::test]
async fn s20_a_game_is_applied_once_however_often_it_is_settled() {
    let stores = stores();
    let whole = vec![What::Game(game("ann", "bob")), What::Ending(ending("ann", "bob"))];
    let cursor = commit(&stores, session(1), "log", whole).await;
    let first = settler(&stores).settle_noted(0).await.unwrap();
    assert_eq!((first.applied, first.repeated, first.sessions_settled), (2, 0, 1));
    // The place is noted: nothing is left.
    assert_eq!(
        settler(&stores).settle_noted(0).await.unwrap(),
        Progress::default()
    );
    // A worker that crashed before it noted the place begins anew.
    for _ in 0..3 {
        let again = settle_all(&stores).await;
        assert_eq!((again.applied, again.repeated), (0, 2));
    }
    let (ann, bob) = (record(&stores, "ann").await, record(&stores, "bob").await);
    assert_eq!((ann.points, ann.wins, ann.current_streak), (2, 1, 1));
    assert_eq!((bob.points, bob.losses, bob.current_streak), (-2, 1, 0));
    assert_eq!(ann.rating.round(), 1662.0);

    let games = stores
        .players
        .games(&player("ann"), REVERSI, 0, 10)
        .await
        .unwrap();
    assert_eq!(games.len(), 1);
    let line: PlayerGameEntry = decode(games[0].clone());
    assert_eq!((line.opponent.as_str(), line.seat), ("bob", 1));
    assert_eq!(line.rating_after, ann.rating);
    let result: v1::GameResult = decode(line.result.into());
    assert_eq!(result.reason(), v1::GameEndReason::NoMoves);
    assert_eq!((result.seat_1_points, result.seat_2_points), (2, -2));

    // The change is kept, so that a void can take it back.
    let id = ResultId {
        session: session(1),
        game: 1,
        correction: 0,
    };
    let applied = stores
        .players
        .applied(&player("ann"), REVERSI, id)
        .await
        .unwrap()
        .unwrap();
    let change: PlayerChange = decode(applied.change);
    assert_eq!((change.points, change.outcome), (2, 1));
    assert!((change.rating - (ann.rating - 1500.0)).abs() < 1e-9);

    // Settled, the session can be deleted when its retention ends.
    let deleted = stores.sessions.delete(session(1), cursor).await.unwrap();
    assert_eq!(deleted, DeleteAnswer::Deleted);
}

#[tokio::test]
async fn s20_workers_that_settle_at_the_same_time_apply_a_game_once() {
    let stores = stores();
    for number in 1..=20 {
        let whole = vec![What::Game(game("ann", "bob")), What::Ending(ending("ann", "bob"))];
        commit(&stores, session(number), "log", whole).await;
    }
    let workers = (0..4).map(|_| {
        let settler = settler(&stores);
        tokio::spawn(async move { settler.settle_after(0, OutboxCursor::START).await.unwrap().0 })
    });
    let progress = futures::future::join_all(workers).await;
    let applied: u64 = progress
        .iter()
        .map(|progress| progress.as_ref().unwrap().applied)
        .sum();
    assert_eq!(applied, 40);
    let (ann, bob) = (record(&stores, "ann").await, record(&stores, "bob").await);
    assert_eq!((ann.points, ann.wins, ann.longest_streak), (40, 20, 20));
    assert_eq!((bob.points, bob.losses), (-40, 20));
}

/// A store of players that fails for one of them while it is told to.
struct Flaky {
    inner: Arc<dyn PlayerStore>,
    fails_for: PlayerId,
    fails: AtomicBool,
    /// Whether the change is made all the same, and only the answer is lost.
    loses_answer: bool,
}

#[async_trait]
impl PlayerStore for Flaky {
    async fn record(&self, player: &PlayerId, kind: Kind) -> Result<PlayerRecord> {
        self.inner.record(player, kind).await
    }

    async fn apply_result(&self, apply: &ApplyResult) -> Result<ApplyAnswer> {
        let fails = apply.player == self.fails_for && self.fails.load(Ordering::SeqCst);
        if fails && !self.loses_answer {
            return Err(StoreError::Unavailable { why: "test".into() });
        }
        let answer = self.inner.apply_result(apply).await?;
        if fails {
            return Err(StoreError::OutcomeUnknown { why: "test".into() });
        }
        Ok(answer)
    }

    async fn applied(&self, player: &PlayerId, kind: Kind, id: ResultId) -> Result<Option<AppliedResult>> {
        self.inner.applied(player, kind, id).await
    }

    async fn games(&self, player: &PlayerId, kind: Kind, offset: usize, limit: usize) -> Result<Vec<Bytes>> {
        self.inner.games(player, kind, offset, limit).await
    }
}

#[tokio::test]
async fn s20_what_crashes_between_both_players_is_resumed_and_done_once() {
    for (fails_for, loses_answer) in [("ann", false), ("ann", true), ("bob", false), ("bob", true)] {
        let stores = stores();
        let whole = vec![What::Game(game("ann", "bob")), What::Ending(ending("ann", "bob"))];
        commit(&stores, session(1), "log", whole).await;
        commit(&stores, session(2), "log", vec![What::Game(game("bob", "cem"))]).await;
        let flaky = Arc::new(Flaky {
            inner: stores.players.clone(),
            fails_for: player(fails_for),
            fails: AtomicBool::new(true),
            loses_answer,
        });
        let broken = Stores {
            players: flaky.clone(),
            ..stores.clone()
        };
        assert!(settler(&broken).settle_noted(0).await.is_err());
        // Nothing behind the entry that failed was touched, and its session is not settled.
        assert_eq!(record(&stores, "cem").await.losses, 0);
        flaky.fails.store(false, Ordering::SeqCst);
        let progress = settler(&broken).settle_noted(0).await.unwrap();
        let done_before = 1 + u64::from(loses_answer);
        assert_eq!(
            (progress.repeated, progress.applied),
            (done_before, 4 - done_before)
        );
        assert_eq!(progress.sessions_settled, 1);
        assert_eq!(record(&stores, "ann").await.wins, 1);
        let bob = record(&stores, "bob").await;
        assert_eq!((bob.wins, bob.losses, bob.points), (1, 1, 0));
        assert_eq!(record(&stores, "cem").await.losses, 1);
    }
}

#[tokio::test]
async fn s20_a_result_that_contradicts_an_applied_one_is_never_applied() {
    let stores = stores();
    commit(
        &stores,
        session(1),
        "the log that was lost",
        vec![What::Game(game("ann", "bob"))],
    )
    .await;
    settle_all(&stores).await;
    // The store lost the log in a fail-over; the game was played on and ended otherwise.
    let mut other = game("ann", "bob");
    other.outcome = v1::Outcome::Seat2Wins as u32;
    (other.seat_1_points, other.seat_2_points) = (-2, 2);
    let players = Stores {
        players: stores.players.clone(),
        ..common::stores()
    };
    commit(
        &players,
        session(1),
        "the log that came after it",
        vec![What::Game(other)],
    )
    .await;
    let progress = settle_all(&players).await;
    assert_eq!((progress.contradictions, progress.applied), (2, 0));
    let ann = record(&stores, "ann").await;
    assert_eq!((ann.points, ann.wins, ann.losses), (2, 1, 0));
}

#[tokio::test]
async fn s20_unrated_games_and_games_without_a_result_touch_no_record() {
    let stores = stores();
    let unrated = GameOutcome {
        unrated: true,
        ..game("ann", "bob")
    };
    let agreed_exit = GameOutcome {
        number: 2,
        outcome: v1::Outcome::NotSettled as u32,
        reason: v1::GameEndReason::AgreedExit as u32,
        seat_1_points: 0,
        seat_2_points: 0,
        ..game("ann", "bob")
    };
    let whole = vec![
        What::Game(unrated),
        What::Game(agreed_exit),
        What::Ending(ending("ann", "bob")),
    ];
    commit(&stores, session(1), "log", whole).await;
    let progress = settle_all(&stores).await;
    assert_eq!(
        (progress.untouched, progress.applied, progress.sessions_settled),
        (2, 0, 1)
    );
    for name in ["ann", "bob"] {
        let stored = stores.players.record(&player(name), REVERSI).await.unwrap();
        assert_eq!(stored, PlayerRecord::default());
        assert!(
            stores
                .players
                .games(&player(name), REVERSI, 0, 10)
                .await
                .unwrap()
                .is_empty()
        );
    }
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_counted_and_holds_nothing_up() {
    let stores = stores();
    let nobody = GameOutcome {
        seat_2: None,
        ..game("ann", "bob")
    };
    commit(&stores, session(1), "log", vec![What::Game(nobody)]).await;
    let future = GameOutcome {
        outcome: 99,
        ..game("ann", "bob")
    };
    commit(&stores, session(2), "log", vec![What::Game(future)]).await;
    commit(&stores, session(3), "log", vec![What::Game(game("ann", "bob"))]).await;
    let progress = settler(&stores).settle_noted(0).await.unwrap();
    assert_eq!(
        (progress.unreadable, progress.applied, progress.entries),
        (2, 2, 3)
    );
}

#[tokio::test]
async fn s28_the_end_of_a_session_frees_its_players_and_nobody_else() {
    let stores = stores();
    let hall = HallId::default();
    let releaser = Releaser::new(&stores, hall.clone(), Metrics::new());
    let claim = async |number: u8, names: &[&str]| {
        let new = NewMatch {
            id: MatchId::Creation(session(number)),
            kind: REVERSI,
            players: names.iter().map(|name| player(name)).collect(),
            payload: Bytes::from_static(b"request"),
        };
        stores.halls.take(&hall, &new).await.unwrap();
    };
    let holder = async |name: &str| stores.halls.holder(&hall, REVERSI, &player(name)).await.unwrap();
    claim(1, &["ann", "bob"]).await;
    commit(
        &stores,
        session(1),
        "log",
        vec![What::Ending(ending("ann", "bob"))],
    )
    .await;
    assert_eq!(releaser.release_noted(0).await.unwrap().released, 2);
    assert_eq!((holder("ann").await, holder("bob").await), (None, None));
    // Ann plays again; the old ending comes by once more.
    claim(2, &["ann"]).await;
    let (again, _) = releaser.release_after(0, OutboxCursor::START).await.unwrap();
    assert_eq!(again.released, 0);
    assert_eq!(holder("ann").await, Some(Holder::Session(session(2))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever places settlement begins at, in whatever order and how often: each game is applied once.
    #[test]
    fn s20_any_order_and_repetition_of_settling_gives_one_application(
        outcomes in prop::collection::vec((1_u32..=3, 0_usize..3, any::<bool>()), 1..12),
        starts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let stores = stores();
            let pairs = [("ann", "bob"), ("bob", "cem"), ("cem", "ann")];
            for (number, (outcome, pair, unrated)) in (1..).zip(&outcomes) {
                let (one, two) = pairs[*pair];
                let played = GameOutcome { outcome: *outcome, unrated: *unrated, ..game(one, two) };
                commit(&stores, session(number), "log", vec![What::Game(played)]).await;
            }
            let entries = stores.sessions.outbox_read(0, OutboxCursor::START, 100).await.unwrap();
            for start in &starts {
                let after = entries[start.index(entries.len())].cursor;
                settler(&stores).settle_after(0, after).await.unwrap();
            }
            settle_all(&stores).await;
            for name in ["ann", "bob", "cem"] {
                let mut expected = (0, 0, 0);
                for (outcome, pair, unrated) in &outcomes {
                    let (one, two) = pairs[*pair];
                    let won = if name == one { 1 } else { 2 };
                    if *unrated || (name != one && name != two) {
                        continue;
                    }
                    match *outcome {
                        3 => expected.1 += 1,
                        winner if winner == won => expected.0 += 1,
                        _ => expected.2 += 1,
                    }
                }
                let record = record(&stores, name).await;
                assert_eq!((record.wins, record.draws, record.losses), expected);
                let listed = stores.players.games(&player(name), REVERSI, 0, 100).await.unwrap();
                assert_eq!(listed.len() as u64, expected.0 + expected.1 + expected.2);
            }
        });
    }
}
