//! Sessions in the store: logs, the commit, deadlines, pulses and outages, the outbox of results, presence.

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures::Stream;
use tablemate_session::{Instant, Millis, SessionId};

use crate::cursor::Cursor;
use crate::deployment::Deployment;
use crate::error::{Result, StoreError};
use crate::tag::{Entry, is_chain};

/// How far behind the shard's clock the `now` of a commit may be.
pub const NOW_WINDOW: Millis = Millis(250);
/// How long a failing session is left alone at most.
pub const RETRY_DELAY_MAX: Millis = Millis::minutes(5);
/// The most entries of one commit.
pub const ENTRIES_MAX: usize = 1_000;
/// How many of a shard's outages are kept, the newest.
pub const OUTAGES_MAX: usize = 1_024;

/// A time in which no game service could write to a shard (S-12), or a step of its clock forward (S-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outage {
    /// Its number on its shard: 1, 2, 3, …
    pub id: u64,
    /// When the last sign of life was.
    pub from: Instant,
    /// When the next one came; later than `from`. Outages of a shard do not overlap.
    pub to: Instant,
}

/// One change of one session: append these entries if the log still ends where the caller thinks it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The session. With `expected` = [`Cursor::START`] it is created.
    pub session: SessionId,
    /// Where the log ended when the caller judged.
    pub expected: Cursor,
    /// The instant of the last fact before these; [`Instant::ZERO`] for a new session. It is always accepted as `now`:
    /// a clock that was set back stalls, it does not stop the game.
    pub last_instant: Instant,
    /// The instant of judgement: max([`SessionStore::now`], `last_instant`), taken anew on every try.
    pub now: Instant,
    /// The deadline in force when the command was judged, after what was fired. `None` for commits that only fire.
    pub judged_before: Option<Instant>,
    /// The id of the newest outage of the shard that the caller took into account; 0 for none.
    pub known_outage: u64,
    /// At least one entry, chained from `expected`.
    pub entries: Vec<Entry>,
    /// When the session has to be looked at next; for a finished session the end of its retention.
    pub next_deadline: Instant,
    /// Results and endings to append to the shard's outbox in the same step, in order.
    pub outbox: Vec<Bytes>,
}

impl Commit {
    /// Where the log ends when this is committed.
    #[must_use]
    pub fn after(&self) -> Cursor {
        self.expected.after(&self.entries)
    }

    /// Checks what the store relies on.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |why| Err(StoreError::BadArgument { why });
        if self.entries.is_empty() || self.entries.len() > ENTRIES_MAX {
            return bad("a commit has 1 to 1,000 entries");
        }
        if self.expected.sequence == 0 && self.expected != Cursor::START {
            return bad("an empty log has the start's tag");
        }
        if !is_chain(self.expected.tag, &self.entries) {
            return bad("the entries of a commit are chained from the expected tag");
        }
        if self.now < self.last_instant {
            return bad("now is not before the log's last instant");
        }
        Ok(())
    }
}

/// The answer to a [`Commit`], by checks in this order: the log's end, outages, the pulse, the window of `now`, the
/// deadline. Only [`Committed`](Self::Committed) changed anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitAnswer {
    /// The entries are in the log: by this call, or (a lost reply, a doubled request) byte for byte by an earlier one.
    Committed {
        /// The shard's clock.
        now: Instant,
    },
    /// The log goes on after `expected`, by other entries.
    Conflict {
        /// All entries after `expected`: exactly what the caller missed.
        entries: Vec<Entry>,
    },
    /// The log is not the one that the caller knows (a fail-over lost a tail, or the session was deleted): drop the
    /// copy and read anew.
    Diverged,
    /// There are outages that the caller did not take into account.
    OutageChanged {
        /// All outages with ids after the known one, in order. Empty when the caller knew of more than there are.
        outages: Vec<Outage>,
    },
    /// Nobody wrote to the shard for longer than the threshold, or nobody ever did: [`SessionStore::pulse`] it, then
    /// try again.
    PulseTooOld,
    /// `now` is not in [clock − 250 ms, clock]. The estimate behind [`SessionStore::now`] has been corrected.
    NowRefused {
        /// The shard's clock.
        now: Instant,
    },
    /// The deadline in force passed while the command was on its way: now ≤ `judged_before` < clock.
    DeadlinePassed {
        /// The shard's clock.
        now: Instant,
    },
}

/// What [`SessionStore::read`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The log holds the known cursor.
    Found(Tail),
    /// The log does not hold the known cursor: drop the copy and read from [`Cursor::START`].
    Diverged,
    /// There is no such session.
    Missing {
        /// The outages with ids after the known one, for a creation.
        outages: Vec<Outage>,
        /// The shard's clock.
        now: Instant,
    },
}

/// The end of a log after a known cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The entries after the known cursor; none when the caller's copy is current.
    pub entries: Vec<Entry>,
    /// The shard's outages with ids after the known one, at most [`OUTAGES_MAX`].
    pub outages: Vec<Outage>,
    /// The shard's clock when the log was read.
    pub now: Instant,
}

/// What a pulse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The shard.
    pub shard: u16,
    /// Its clock.
    pub now: Instant,
    /// The outage that this pulse found and wrote down.
    pub outage: Option<Outage>,
}

/// The sessions of a shard whose deadline has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The shard's clock when the index was read.
    pub now: Instant,
    /// The sessions, the most overdue first.
    pub sessions: Vec<DueSession>,
}

/// A session whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueSession {
    /// The session.
    pub session: SessionId,
    /// Its entry in the index. A hint: what the log says counts.
    pub deadline: Instant,
    /// How often firing it has failed ([`SessionStore::mark_failing`]); 0 usually.
    pub failures: u32,
}

/// How long a session that failed to fire `failures` times in a row is left alone: 1 s, 2 s, 4 s, … at most 5 min.
#[must_use]
pub fn retry_delay(failures: u32) -> Millis {
    let doublings = failures.saturating_sub(1).min(9);
    Millis(1_000 << doublings).min(RETRY_DELAY_MAX)
}

/// A place in a list that is read page by page. Opaque.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageToken(pub Vec<u8>);

/// A page of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// About as many as were asked for, possibly none although there is a next page. A session may be listed twice;
    /// one that is there during the whole listing is listed.
    pub sessions: Vec<SessionId>,
    /// Where the list goes on; `None` at its end.
    pub next: Option<PageToken>,
}

/// A place in a shard's outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutboxCursor {
    /// Milliseconds of the shard's clock.
    pub millis: u64,
    /// The number within that millisecond.
    pub number: u64,
}

impl OutboxCursor {
    /// Before the first entry.
    pub const START: Self = Self { millis: 0, number: 0 };
}

impl OutboxCursor {
    /// The first place after this one.
    pub(crate) fn next(self) -> Self {
        match self.number.checked_add(1) {
            Some(number) => Self { number, ..self },
            None => Self {
                millis: self.millis.saturating_add(1),
                number: 0,
            },
        }
    }
}

/// One entry of a shard's outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEntry {
    /// Its place.
    pub cursor: OutboxCursor,
    /// What the commit gave.
    pub payload: Bytes,
}

/// The answer to [`SessionStore::mark_settled`] and [`SessionStore::repair_index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAnswer {
    /// Done, or done before.
    Marked,
    /// The log does not hold this cursor.
    Diverged,
    /// There is no such session.
    Missing,
}

/// The answer to [`SessionStore::delete`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteAnswer {
    /// Gone, or gone before.
    Deleted,
    /// Settlement has not marked the session done, or marked another cursor than the log now holds.
    NotSettled,
    /// The log does not end at the given cursor.
    Diverged,
}

/// What was published about a session just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// Entries were committed.
    Entries {
        /// Where the log ended before; the first entry has the sequence number after this.
        before: Cursor,
        /// The new entries.
        entries: Vec<Entry>,
    },
    /// A seat's presence changed (S-17).
    Presence {
        /// The seat, 1 or 2.
        seat: u8,
        /// Whether it is there now.
        present: bool,
    },
    /// Something may have been missed (a connection was lost, or the reader was slow): read the log.
    Gap,
}

/// A stream of what is published. Lost messages delay, they never lose: readers catch up from the log.
pub type Subscription<T> = Pin<Box<dyn Stream<Item = T> + Send>>;

/// Sessions. Object safe: services hold an `Arc<dyn SessionStore>`.
///
/// Every method can fail with [`StoreError::Unavailable`] (nothing was changed), [`StoreError::Corrupt`],
/// [`StoreError::WrongType`], [`StoreError::Denied`] or [`StoreError::NoSuchShard`]; those that write also with
/// [`StoreError::OutcomeUnknown`] and [`StoreError::Full`]. All writes can be repeated: a repetition changes nothing and gets the first answer, or
/// one that tells what has happened since.
///
/// A store call may take as long as the connection's time-outs let it; callers wrap it in their own deadline. Dropping
/// the future does not undo what was sent.
#[async_trait]
pub trait SessionStore: Send + Sync + 'static {
    /// What the deployment was born with.
    fn deployment(&self) -> &Deployment;

    /// The shard's clock as this process estimates it, without asking. Never ahead of the shard's own clock, unless
    /// that was set back since the last answer (then commits say [`CommitAnswer::NowRefused`] and correct it).
    fn now(&self, shard: u16) -> Instant;

    /// Appends to a session's log if it is as expected. One round trip.
    async fn commit(&self, commit: &Commit) -> Result<CommitAnswer>;

    /// What came after `known` ([`Cursor::START`] for everything), and the outages after `known_outage`. One round
    /// trip; the answer is what every other process has seen committed.
    async fn read(&self, session: SessionId, known: Cursor, known_outage: u64) -> Result<Read>;

    /// Waits until what this session's log holds now is as durable as the acknowledgement of a commit says; nothing to do
    /// where commits wait for nothing. Who answers from the log that something was done before asks for this first, and
    /// reads the log after it.
    async fn confirm(&self, session: SessionId) -> Result<()> {
        let _ = session;
        Ok(())
    }

    /// Says that a game service can write to these shards; appends an outage where nobody could for longer than the
    /// threshold. Game services pulse every shard once a second.
    ///
    /// Shards that could not be reached are left out of the answer; it is an error when none could.
    async fn pulse(&self, shards: &[u16]) -> Result<Vec<Pulse>>;

    /// The sessions whose deadline has passed (deadline < now), at most `limit`, without those that wait for their
    /// next try after failures.
    async fn due(&self, shard: u16, limit: usize) -> Result<Due>;

    /// The earliest deadline of the shard's index, passed or not.
    async fn next_due(&self, shard: u16) -> Result<Option<Instant>>;

    /// Notes that firing this session's deadline failed: [`due`](Self::due) leaves it out for 1 s, then 2 s, 4 s, … at
    /// most 5 min. Gives the number of failures so far.
    async fn mark_failing(&self, session: SessionId) -> Result<u32>;

    /// Takes the session out of the failing ones.
    async fn clear_failing(&self, session: SessionId) -> Result<()>;

    /// How many sessions of the shard are failing.
    async fn failing(&self, shard: u16) -> Result<u64>;

    /// The shard's sessions, page by page, about `limit` a page, in no order.
    async fn list(&self, shard: u16, page: Option<PageToken>, limit: usize) -> Result<Page>;

    /// The settlement of this session is done; `cursor` is the place of its ending, which the log must hold.
    async fn mark_settled(&self, session: SessionId, cursor: Cursor) -> Result<MarkAnswer>;

    /// Deletes a session whose log ends at `cursor`, if settlement marked it done and the log still holds the place
    /// that was marked.
    async fn delete(&self, session: SessionId, cursor: Cursor) -> Result<DeleteAnswer>;

    /// Sessions that have a log but no entry in the index, found by walking over all keys, a part a call. For the
    /// janitor, which puts them back by [`repair_index`](Self::repair_index).
    async fn orphans(&self, page: Option<PageToken>, limit: usize) -> Result<Page>;

    /// Sets the session's entry in the index if its log ends at `cursor`.
    async fn repair_index(
        &self,
        session: SessionId,
        cursor: Cursor,
        next_deadline: Instant,
    ) -> Result<MarkAnswer>;

    /// The outbox entries after a place, in order, at most `limit`.
    async fn outbox_read(&self, shard: u16, after: OutboxCursor, limit: usize) -> Result<Vec<OutboxEntry>>;

    /// Drops outbox entries older than `keep`, none that a receiver with a noted place has still to read. Gives how
    /// many were dropped.
    async fn outbox_trim(&self, shard: u16, keep: Millis) -> Result<u64>;

    /// How far `receiver` has read; [`OutboxCursor::START`] when nothing is noted.
    async fn outbox_position(&self, shard: u16, receiver: &str) -> Result<OutboxCursor>;

    /// Notes how far `receiver` (a short fixed name) has read; never moves back.
    async fn set_outbox_position(&self, shard: u16, receiver: &str, cursor: OutboxCursor) -> Result<()>;

    /// Wakes up when something was appended to one of the shards' outboxes (item: the shard), or something may have
    /// been missed (item: `None`).
    async fn subscribe_outbox(&self, shards: &[u16]) -> Result<Subscription<Option<u16>>>;

    /// What is published about a session from now on: subscribed when this returns, so reading the log after that
    /// leaves no gap.
    async fn subscribe(&self, session: SessionId) -> Result<Subscription<Live>>;

    /// The seat's player is connected, for at least `lease` more (S-17). Publishes the change when they were not.
    /// Gives whether they were.
    async fn set_present(&self, session: SessionId, seat: u8, lease: Millis) -> Result<bool>;

    /// Which seats have a lease now: seat 1, seat 2.
    async fn present(&self, session: SessionId) -> Result<[bool; 2]>;
}
