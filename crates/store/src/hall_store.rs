//! A hall in the store: tickets, pools, claims of players, match records. All of a hall lies in one hash slot, so each
//! operation is one script.

use async_trait::async_trait;
use bytes::Bytes;
use tablemate_session::{Instant, Millis, PlayerId, SessionId, TicketId};

use crate::error::{Result, StoreError};
use crate::session_store::Subscription;

/// The most tickets that one script looks at.
pub const TICKETS_VISITED_MAX: usize = 64;
/// How long an ended ticket and a finished match can still be asked for.
pub const HALL_RETENTION: Millis = Millis::minutes(10);

/// The scope in which a player is one player: 1 to 32 of `a`–`z`, `0`–`9`, `-`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HallId(String);

impl HallId {
    /// The hall of this name; `None` when it is no name for a hall.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = (1..=32).contains(&name.len());
        let clean = name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        (fits && clean).then(|| Self(name.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for HallId {
    /// The only hall where nothing is said.
    fn default() -> Self {
        Self("main".to_owned())
    }
}

/// A game kind's number for storage (`GameKind::code`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u8);

/// A pool: tickets of one pool can be paired. A fingerprint of the game kind and all settings that must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub [u8; 12]);

impl PoolId {
    /// The pool of this kind and these settings, canonically encoded by the caller.
    #[must_use]
    pub fn of(kind: Kind, settings: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("tablemate pool");
        hasher.update(&[kind.0]).update(settings);
        let mut id = [0; 12];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..12]);
        Self(id)
    }
}

/// A ticket to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTicket {
    /// Its id, [`Deployment::ticket_id`](crate::Deployment::ticket_id).
    pub id: TicketId,
    /// Whose it is.
    pub player: PlayerId,
    /// The game kind: a player has one ticket or one session of a kind (S-28).
    pub kind: Kind,
    /// Where it waits.
    pub pool: PoolId,
    /// How long it waits before it expires.
    pub lifetime: Millis,
    /// Since when it has waited: of a re-entry, the first ticket's; else `None` for now.
    pub waiting_since: Option<Instant>,
    /// The session that a match becomes if another ticket already waits,
    /// [`Deployment::session_id_of_ticket`](crate::Deployment::session_id_of_ticket).
    pub session: SessionId,
    /// What the caller wants to find again in the ticket and in its match (settings, ready flag, links).
    pub payload: Bytes,
}

/// A ticket as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its id.
    pub id: TicketId,
    /// Whose it is.
    pub player: PlayerId,
    /// Its game kind.
    pub kind: Kind,
    /// Its pool.
    pub pool: PoolId,
    /// What became of it.
    pub state: TicketState,
    /// When it was created, on the hall's clock.
    pub created_at: Instant,
    /// Since when its player has waited.
    pub waiting_since: Instant,
    /// When it expires if it still waits.
    pub expires_at: Instant,
    /// The caller's own.
    pub payload: Bytes,
}

impl Ticket {
    /// The ticket as who asks at `now` sees it: one that waited too long has expired, noted or not.
    pub(crate) fn seen_at(&self, now: Instant) -> Self {
        let passed = self.state == TicketState::Searching && self.expires_at < now;
        let state = if passed { TicketState::Expired } else { self.state };
        Self {
            state,
            ..self.clone()
        }
    }
}

/// What became of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketState {
    /// It waits.
    Searching,
    /// It was taken into a match whose session is not known to be committed yet. To players this is SEARCHING; who
    /// asks may help to finish the match.
    Paired {
        /// The match's session.
        session: SessionId,
    },
    /// Its session exists.
    Matched {
        /// The session.
        session: SessionId,
    },
    /// Its player took it back.
    Cancelled,
    /// Its player created another one of the kind.
    Replaced {
        /// The other one.
        by: TicketId,
    },
    /// It waited too long.
    Expired,
    /// Its match became void; the caller may re-enter it as a new ticket.
    Void {
        /// The session that was not to be.
        session: SessionId,
    },
}

/// What a player is taken by, per game kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A ticket that waits.
    Ticket(TicketId),
    /// A session, or a match that is to become it.
    Session(SessionId),
}

/// The answer to [`HallStore::create_ticket`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CreateTicketAnswer {
    /// Created.
    Created {
        /// The ticket, [`TicketState::Paired`] when another one waited.
        ticket: Ticket,
        /// The match that it made on arrival: to be finished by the caller.
        paired: Option<MatchRecord>,
        /// The ticket of the same player and kind that it replaced.
        replaced: Option<TicketId>,
    },
    /// There is a ticket of this id: the request was repeated.
    Existing {
        /// The ticket as it is now.
        ticket: Ticket,
    },
    /// The player is taken by a session of this kind (S-28). If that has ended, [`HallStore::release`] it and repeat.
    Busy {
        /// The session.
        session: SessionId,
    },
}

/// The answer to [`HallStore::cancel_ticket`]: cancel and pairing are one order for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// It will never be matched. Also when it was cancelled before, has expired, was replaced or void.
    Cancelled,
    /// It was taken into a match before.
    AlreadyMatched {
        /// The session.
        session: SessionId,
        /// Whether the match is finished, so that the session exists.
        finished: bool,
    },
    /// There is no such ticket (any more).
    Missing,
}

/// The answer to [`HallStore::pair`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairAnswer {
    /// Both tickets were taken (or had been by the same call before).
    Paired(MatchRecord),
    /// This ticket does not wait (any more) in that pool; nothing was changed.
    NotWaiting(TicketId),
}

/// Names a match record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchId {
    /// The creation of a session.
    Creation(SessionId),
    /// A player joining a session that exists.
    Join(SessionId, PlayerId),
}

impl MatchId {
    /// The session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        match self {
            Self::Creation(session) | Self::Join(session, _) => *session,
        }
    }

    /// Its place in keys: the session's bytes, and a hash of the joining player's id.
    pub(crate) fn to_key(&self) -> Vec<u8> {
        let mut key = self.session().as_bytes().to_vec();
        if let Self::Join(_, player) = self {
            key.extend_from_slice(&blake3::hash(player.as_str().as_bytes()).as_bytes()[..15]);
        }
        key
    }
}

/// A match to be written before anything else is done about its session ("take").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMatch {
    /// Names it; a repeated one finds the first.
    pub id: MatchId,
    /// The game kind.
    pub kind: Kind,
    /// The players to claim, one or two, distinct.
    pub players: Vec<PlayerId>,
    /// The whole request, so that anybody can finish it.
    pub payload: Bytes,
}

impl NewMatch {
    /// Checks what the store relies on.
    pub(crate) fn check(&self) -> Result<()> {
        match self.players.as_slice() {
            [_] => Ok(()),
            [one, other] if one != other => Ok(()),
            _ => Err(StoreError::BadArgument {
                why: "a match has one or two distinct players",
            }),
        }
    }
}

/// A player of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPlayer {
    /// The player.
    pub player: PlayerId,
    /// The ticket, if one brought them here.
    pub ticket: Option<MatchTicket>,
}

/// The ticket of a match's player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchTicket {
    /// Its id.
    pub id: TicketId,
    /// Since when its player had waited.
    pub waiting_since: Instant,
    /// Its payload.
    pub payload: Bytes,
}

/// A match record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchRecord {
    /// Names it.
    pub id: MatchId,
    /// The game kind.
    pub kind: Kind,
    /// Its players; of a pair, who waited longer comes first.
    pub players: Vec<MatchPlayer>,
    /// When it was written, on the hall's clock.
    pub created_at: Instant,
    /// What became of it.
    pub state: MatchState,
    /// Of [`NewMatch`]: the request. Of a pair: empty, the tickets' payloads say all. Once it is finished all payloads are
    /// empty: the session's log says what was created.
    pub payload: Bytes,
}

/// What became of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchState {
    /// Its session may not be committed yet: whoever finds it finishes it.
    Unfinished,
    /// Its session is committed.
    Finished,
    /// Its session will never be.
    Void,
}

/// The answer to [`HallStore::take`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeAnswer {
    /// The record is written and the players are claimed for the session.
    Taken(MatchRecord),
    /// There is a record of this id: the request was repeated.
    Known(MatchRecord),
    /// A player is taken; nothing was changed. A claim of an ended session can be [released](HallStore::release).
    Busy {
        /// Who.
        player: PlayerId,
        /// By what.
        holder: Holder,
    },
}

/// The unfinished matches that are old enough to be looked after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The hall's clock.
    pub now: Instant,
    /// The oldest first.
    pub matches: Vec<MatchRecord>,
}

/// Halls. Object safe. Errors as of [`SessionStore`](crate::SessionStore); every write can be repeated.
#[async_trait]
pub trait HallStore: Send + Sync + 'static {
    /// Creates a ticket, in place of one of the same player and kind that still waits, and pairs it with the one that
    /// has waited longest in its pool, if any.
    async fn create_ticket(&self, hall: &HallId, ticket: &NewTicket) -> Result<CreateTicketAnswer>;

    /// The ticket; `None` when there is none, or not any more.
    async fn ticket(&self, hall: &HallId, id: TicketId) -> Result<Option<Ticket>>;

    /// Takes a ticket back if it still waits.
    async fn cancel_ticket(&self, hall: &HallId, id: TicketId) -> Result<CancelAnswer>;

    /// Ends tickets that waited too long, at most `limit`; gives them.
    async fn expire_tickets(&self, hall: &HallId, limit: usize) -> Result<Vec<TicketId>>;

    /// The pools in which somebody waits.
    async fn pools(&self, hall: &HallId) -> Result<Vec<PoolId>>;

    /// Who waits in a pool, the longest first, at most `limit` (and [`TICKETS_VISITED_MAX`]).
    async fn waiting(&self, hall: &HallId, pool: PoolId, limit: usize) -> Result<Vec<TicketId>>;

    /// Pairs two tickets of a pool that were found outside: takes both or none.
    async fn pair(
        &self,
        hall: &HallId,
        pool: PoolId,
        tickets: [TicketId; 2],
        session: SessionId,
    ) -> Result<PairAnswer>;

    /// Wakes up when the ticket's state changed, or may have.
    async fn subscribe_ticket(&self, hall: &HallId, id: TicketId) -> Result<Subscription<()>>;

    /// Writes a match record and claims its players, all or nothing.
    async fn take(&self, hall: &HallId, new: &NewMatch) -> Result<TakeAnswer>;

    /// The match record; `None` when there is none, or not any more.
    async fn match_record(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>>;

    /// Unfinished matches at least `older_than` old, at most `limit` (and [`TICKETS_VISITED_MAX`]).
    async fn unfinished(&self, hall: &HallId, older_than: Millis, limit: usize) -> Result<Unfinished>;

    /// The match's session is committed: its tickets show [`TicketState::Matched`]. Gives the record as it is now;
    /// a void one stays void.
    async fn finish_match(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>>;

    /// The match's session will never be (a tombstone is committed under its id): its tickets show
    /// [`TicketState::Void`], claims that name its session are released. Gives the record as it is now; a finished one
    /// stays finished.
    async fn void_match(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>>;

    /// What the player is taken by, for this kind.
    async fn holder(&self, hall: &HallId, kind: Kind, player: &PlayerId) -> Result<Option<Holder>>;

    /// Releases those of these players' claims that name the session. Gives how many did.
    async fn release(
        &self,
        hall: &HallId,
        kind: Kind,
        session: SessionId,
        players: &[PlayerId],
    ) -> Result<u64>;
}
