//! Players' records in the store: each player in a slot of their own, each result applied exactly once (S-20).

use async_trait::async_trait;
use bytes::Bytes;
use tablemate_session::{Millis, PlayerId, SessionId};

use crate::error::Result;
use crate::hall_store::Kind;
use crate::tag::Tag;

/// How long applied ids are remembered, when nothing is said: twice as long as an outbox lives.
pub const APPLIED_KEPT_DEFAULT: Millis = Millis::hours(14 * 24);
/// How many finished games are listed for a player and kind, the newest.
pub const GAMES_LISTED_MAX: usize = 200;

/// A player's record of one game kind. The store does not look into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerRecord {
    /// Counts its changes; 0 when there is none yet.
    pub version: u64,
    /// The record; `None` when there is none yet.
    pub bytes: Option<Bytes>,
}

/// Names one result: what is applied to a player's record once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultId {
    /// The session.
    pub session: SessionId,
    /// The game of the session, from 1.
    pub game: u16,
    /// 0 for the game's result itself; other numbers for what compensates it (a void, an adjustment, S-21).
    pub correction: u16,
}

/// A result to apply to one player's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyResult {
    /// The player.
    pub player: PlayerId,
    /// The game kind.
    pub kind: Kind,
    /// Names the result.
    pub result: ResultId,
    /// The tag of the log where the result was reached: the same result has the same tag.
    pub tag: Tag,
    /// The version of the record that `record` was computed from.
    pub expected_version: u64,
    /// The new record; `None` leaves it as it is (an unrated game is only listed).
    pub record: Option<Bytes>,
    /// What was changed, so that it can be taken back.
    pub change: Bytes,
    /// The game's line for [`PlayerStore::games`]; `None` lists nothing.
    pub listing: Option<Bytes>,
}

/// The answer to [`PlayerStore::apply_result`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyAnswer {
    /// Applied by this call.
    Applied,
    /// This result was applied before; nothing was changed.
    AlreadyApplied,
    /// Another outcome was applied under this id (a fail-over lost the log's tail): publish the conflict, apply nothing.
    Contradiction {
        /// The tag of what was applied.
        tag: Tag,
    },
    /// The record changed meanwhile: compute anew from this one.
    VersionMismatch {
        /// The record as it is.
        current: PlayerRecord,
    },
}

/// A result that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedResult {
    /// The tag it came with.
    pub tag: Tag,
    /// What it changed.
    pub change: Bytes,
}

/// Players' records. Object safe. Errors as of [`SessionStore`](crate::SessionStore); every write can be repeated.
#[async_trait]
pub trait PlayerStore: Send + Sync + 'static {
    /// The player's record of this kind.
    async fn record(&self, player: &PlayerId, kind: Kind) -> Result<PlayerRecord>;

    /// Applies a result once.
    async fn apply_result(&self, apply: &ApplyResult) -> Result<ApplyAnswer>;

    /// Whether and how a result was applied; `None` also when that was forgotten after its time.
    async fn applied(&self, player: &PlayerId, kind: Kind, result: ResultId)
    -> Result<Option<AppliedResult>>;

    /// The player's finished games of this kind, the newest first: `limit` after leaving out the first `offset`.
    async fn games(&self, player: &PlayerId, kind: Kind, offset: usize, limit: usize) -> Result<Vec<Bytes>>;
}
