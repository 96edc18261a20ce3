//! The suite that every store must pass: the same tests, run against the embedded store and against a real Redis.
//!
//! [`contract_tests!`](crate::contract_tests) makes a `#[tokio::test]` of each, for a function that opens a store.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod halls;
mod players;
mod sessions;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tablemate_session::{Instant, Millis, PlayerId, SessionId, TicketId};

pub use halls::*;
pub use players::*;
pub use sessions::*;
pub use workers::*;

use crate::testing::Tamper;
use crate::{Commit, CommitAnswer, Cursor, Outage, Read, SessionStore, Stores, chain};

/// A store under test, and what holds it up.
pub struct Subject {
    /// The store.
    pub stores: Stores,
    /// A second process on the same store; the same one where nothing is shared.
    pub other: Stores,
    /// What a test may do behind the store's back.
    pub hands: Arc<dyn Tamper>,
    /// A server that must live as long as the test.
    pub keep: Box<dyn std::any::Any + Send>,
}

/// The number of shards of the stores under test.
pub const SHARDS: u16 = 4;

/// Makes a test of every part of the contract, against the store that `$open` opens (an async function that gives a
/// [`Subject`]).
#[macro_export]
macro_rules! contract_tests {
    ($open:path) => {
        $crate::contract_tests! { @each $open:
            a_session_is_created_once, a_log_grows_only_where_it_ends, a_conflict_hands_over_what_was_missed,
            a_repeated_commit_is_its_own_answer, equal_length_after_a_lost_tail_is_divergence,
            a_reader_gets_what_it_missed, an_unknown_outage_is_told_first, an_old_pulse_stops_commits,
            outages_do_not_overlap, a_now_out_of_the_window_is_refused, nobody_acts_after_a_passed_deadline,
            the_checks_come_in_their_order, broken_commits_are_refused, shards_that_do_not_exist_are_named,
            due_sessions_come_in_order, a_failing_session_backs_off, sessions_are_listed,
            a_settled_session_is_deleted, an_unsettled_session_stays, the_index_is_repaired,
            an_outbox_is_read_in_order, an_outbox_is_trimmed_behind_its_readers, watchers_hear_commits_in_order,
            watchers_of_the_outbox_wake_up, presence_is_a_lease, concurrent_commits_have_one_winner,
            two_tickets_pair_on_arrival, a_pool_is_first_come_first_served, pools_do_not_mix,
            a_repeated_ticket_is_the_same, a_newer_ticket_replaces, a_player_in_a_session_gets_no_ticket,
            cancel_and_pairing_are_one_order, a_paired_ticket_is_matched_when_finished, a_void_match_frees_its_players,
            tickets_expire, pairs_found_outside_are_taken_inside, a_take_is_all_or_nothing, a_take_is_repeatable,
            unfinished_matches_are_found, claims_are_released_by_session, ticket_watchers_wake_up, halls_do_not_mix,
            a_result_is_applied_once, a_contradiction_is_told, a_stale_record_is_not_overwritten,
            an_unrated_game_is_only_listed, games_are_listed_newest_first, concurrent_results_all_count,
            workers_know_each_other
        }
    };
    (@each $open:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let subject = $open().await;
                $crate::contract::$name(&subject).await;
            }
        )*
    };
}

/// A session of a shard.
#[must_use]
pub fn session(shard: u16, number: u8) -> SessionId {
    SessionId::new(shard, [number; 10])
}

/// A ticket.
#[must_use]
pub fn ticket(number: u8) -> TicketId {
    TicketId::new(0, [number; 10])
}

/// A player.
#[must_use]
pub fn player(name: &str) -> PlayerId {
    PlayerId::new(name).unwrap()
}

/// Waits until the clocks of both processes have moved on by `length`.
pub async fn pass(length: Millis) {
    tokio::time::sleep(Duration::from_millis(length.0)).await;
}

/// The next item of a subscription, within a time that only a defect needs.
pub async fn heard<T>(subscription: &mut crate::session_store::Subscription<T>) -> T {
    let next = futures::StreamExt::next(subscription);
    tokio::time::timeout(Duration::from_secs(5), next)
        .await
        .expect("something is heard")
        .expect("an open stream")
}

/// One that writes a session, as a game service does: takes a new now on every try, pulses, takes outages into account.
pub struct Writer {
    pub store: Arc<dyn SessionStore>,
    pub session: SessionId,
    pub cursor: Cursor,
    pub last_instant: Instant,
    pub known_outage: u64,
    pub next_deadline: Instant,
}

impl Writer {
    /// One that thinks the log is empty.
    #[must_use]
    pub fn new(stores: &Stores, session: SessionId) -> Self {
        Self {
            store: Arc::clone(&stores.sessions),
            session,
            cursor: Cursor::START,
            last_instant: Instant::ZERO,
            known_outage: 0,
            next_deadline: Instant(1 << 50),
        }
    }

    /// A commit of these facts here and now.
    #[must_use]
    pub fn commit(&self, facts: &[&str]) -> Commit {
        Commit {
            session: self.session,
            expected: self.cursor,
            last_instant: self.last_instant,
            now: self.store.now(self.session.shard()).max(self.last_instant),
            judged_before: None,
            known_outage: self.known_outage,
            entries: chain(self.cursor.tag, facts),
            next_deadline: self.next_deadline,
            outbox: Vec::new(),
        }
    }

    /// Sends a commit once.
    pub async fn send(&self, commit: &Commit) -> CommitAnswer {
        self.store.commit(commit).await.unwrap()
    }

    /// Commits these facts, with what a caller must do for it; gives the last answer.
    pub async fn write(&mut self, facts: &[&str]) -> CommitAnswer {
        self.write_with(facts, &[]).await
    }

    /// Commits these facts and results.
    pub async fn write_with(&mut self, facts: &[&str], outbox: &[&'static str]) -> CommitAnswer {
        loop {
            let mut commit = self.commit(facts);
            commit.outbox = outbox
                .iter()
                .map(|result| Bytes::from_static(result.as_bytes()))
                .collect();
            let answer = self.send(&commit).await;
            match &answer {
                CommitAnswer::PulseTooOld => {
                    self.store.pulse(&[self.session.shard()]).await.unwrap();
                }
                CommitAnswer::OutageChanged { outages } => {
                    self.known_outage = outages.last().expect("an outage that is new").id;
                }
                CommitAnswer::NowRefused { .. } => {}
                CommitAnswer::Committed { .. } => {
                    self.cursor = commit.after();
                    self.last_instant = commit.now;
                    return answer;
                }
                _ => return answer,
            }
        }
    }

    /// Reads what came after the writer's cursor.
    pub async fn read(&self) -> Read {
        self.store
            .read(self.session, self.cursor, self.known_outage)
            .await
            .unwrap()
    }
}

/// The payloads of a log, from its start.
pub async fn log(stores: &Stores, session: SessionId) -> Vec<String> {
    match stores.sessions.read(session, Cursor::START, 0).await.unwrap() {
        Read::Found(tail) => tail
            .entries
            .iter()
            .map(|entry| String::from_utf8(entry.payload().to_vec()).unwrap())
            .collect(),
        Read::Missing { .. } => Vec::new(),
        Read::Diverged => panic!("the start is in every log"),
    }
}

/// The shard's outages.
pub async fn outages(stores: &Stores, shard: u16) -> Vec<Outage> {
    match stores
        .sessions
        .read(session(shard, 255), Cursor::START, 0)
        .await
        .unwrap()
    {
        Read::Missing { outages, .. } => outages,
        other => panic!("no such session, but {other:?}"),
    }
}
