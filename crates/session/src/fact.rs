//! Facts: the entries of a session's log. Fact = event = one sequence number (S-22).
//!
//! A decision once taken is a fact even when it could be derived (a pass, an end, an auto-ready, a lapsed offer): a
//! record must not depend on the version of the rules code. What is only presentation (turned discs, counts, notices)
//! is derived when read, by [`EventView`](crate::event::EventView).

use std::fmt;
use std::sync::Arc;

use tablemate_engine::Colour;
use tablemate_engine::game::{EndReason, Move};
use tablemate_engine::policy::Policy;

use crate::ids::SessionId;
use crate::player::Player;
use crate::seat::{PerSeat, Seat};
use crate::secret::{GuessNumber, RequestHash, Secret};
use crate::settings::Settings;
use crate::time::Instant;

/// One entry of a session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// When it took effect; never before the fact before it.
    pub at: Instant,
    /// Who acted.
    pub by: Actor,
    /// On the first fact of a command with a request id: the id's hash (S-25).
    pub request: Option<RequestHash>,
    /// On the first fact of a command: how many facts the command made, itself included. Otherwise 0.
    pub count: u8,
    /// What happened.
    pub kind: FactKind,
}

/// Who acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The server on its own account: deadlines and what follows from an action.
    Server,
    /// The player of a seat.
    Player(Seat),
    /// A backend acting for the player of a seat (S-27).
    Backend(Seat),
    /// An operator.
    Operator,
}

impl Actor {
    /// The seat that acted or was acted for.
    #[must_use]
    pub const fn seat(self) -> Option<Seat> {
        match self {
            Self::Player(seat) | Self::Backend(seat) => Some(seat),
            Self::Server | Self::Operator => None,
        }
    }
}

/// An offer's number within its session, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferId(pub u32);

impl fmt::Display for OfferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Kinds of offers (S-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OfferKind {
    /// To end the game without a result (S-14).
    Exit,
    /// To end the game as a draw, where the game allows that (S-15).
    Draw,
    /// To play again after the session has ended (S-5).
    Rematch,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// The session was created: always the first fact, and only the first.
    Created(Arc<Creation>),
    /// A player took the open seat 2 (S-27).
    Joined {
        /// Who joined.
        player: Arc<Player>,
        /// Whether the player is ready at once.
        ready: bool,
    },
    /// A player got ready or was made ready.
    Readied {
        /// Whose flag it is.
        seat: Seat,
        /// The number of 猜先, if one was given (S-29). Nobody may see it, or whether it is there, before the start.
        number: GuessNumber,
        /// Whether the server did it because the countdown had ended (S-2).
        auto: bool,
    },
    /// A player took the ready flag back (S-3).
    Unreadied {
        /// Whose flag it is.
        seat: Seat,
    },
    /// A game started.
    Started {
        /// Which game of the series, from 1.
        game: u8,
        /// Who is the first to act.
        opener: Seat,
        /// How that was found (S-29).
        found: OpenerFound,
    },
    /// The player to act moved, or the server did so for the player.
    Moved {
        /// The move; never a pass.
        mv: Move,
        /// The policy by which the server moved (S-9); `None`: the player did.
        auto: Option<Policy>,
    },
    /// The player to act had no legal move.
    Passed {
        /// Who passed.
        seat: Seat,
    },
    /// The acting player made an offer (S-14).
    Offered {
        /// Its id.
        offer: OfferId,
        /// What is offered.
        kind: OfferKind,
    },
    /// The acting player accepted the other's offer.
    OfferAccepted {
        /// The offer.
        offer: OfferId,
        /// What was offered.
        kind: OfferKind,
        /// Whether by making an opposite offer of the same kind (S-14).
        by_offer: bool,
    },
    /// The acting player declined the other's offer.
    OfferDeclined {
        /// The offer.
        offer: OfferId,
    },
    /// The acting player took an own offer back.
    OfferWithdrawn {
        /// The offer.
        offer: OfferId,
    },
    /// An offer lapsed: its maker moved, the game ended, or the time for a rematch did.
    OfferLapsed {
        /// The offer.
        offer: OfferId,
    },
    /// A game ended.
    GameEnded(GameResult),
    /// A player left for good (S-16).
    Left {
        /// Who left.
        seat: Seat,
        /// Whether the server did it because of a continuous absence (S-17).
        absent: bool,
    },
    /// The session ended.
    SessionEnded {
        /// How (S-18).
        ending: SessionEnding,
        /// The result of a scored series.
        series: Option<SeriesResult>,
    },
    /// Running clocks were moved by an outage (S-12). Its instant is the outage's `to`.
    ClockCompensated(Outage),
    /// A player's absence was noticed (S-17).
    AbsenceBegun {
        /// Who is absent.
        seat: Seat,
    },
    /// An absent player is back (S-17).
    AbsenceEnded {
        /// Who is back.
        seat: Seat,
    },
    /// A rematch was agreed on (S-5).
    Rematched {
        /// The new session.
        next: SessionId,
    },
}

/// An outage of a shard: no game service could write to it between `from` and `to` (S-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outage {
    /// Its number on the shard, from 1 in order of time.
    pub id: u64,
    /// When writing was last possible before it.
    pub from: Instant,
    /// When writing was possible again; after `from`.
    pub to: Instant,
}

/// Everything a session is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The session's id.
    pub id: SessionId,
    /// The session's entropy. Never leaves the server.
    pub secret: Secret,
    /// The settings, valid.
    pub settings: Settings,
    /// The player of seat 1.
    pub player_one: Player,
    /// The player of seat 2; `None`: the seat is open.
    pub player_two: Option<Player>,
    /// Whether each seat is ready from the start (S-1); an open seat is not.
    pub ready: PerSeat<bool>,
    /// With seat 2 open: the hash of the invitation token (S-27).
    pub invitation: Option<InvitationHash>,
    /// The session that this one is the rematch of (S-5).
    pub previous: Option<Previous>,
    /// The last outage of the shard that was known at creation; it and those before it are not applied (S-12). 0: none.
    pub outages_known: u64,
}

impl Creation {
    /// Whether both ask for the same session: everything a caller chooses, and nothing that the server adds (secret,
    /// ratings, histories, known outages), which a repeated creation reads anew.
    #[must_use]
    pub fn same_request(&self, other: &Self) -> bool {
        self.id == other.id
            && self.settings == other.settings
            && self.player_one.id == other.player_one.id
            && self.player_two.as_ref().map(|player| &player.id)
                == other.player_two.as_ref().map(|player| &player.id)
            && self.ready == other.ready
            && self.invitation.is_some() == other.invitation.is_some()
            && self.previous == other.previous
    }
}

/// The session before a rematch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Previous {
    /// Its id.
    pub session: SessionId,
    /// Who opens the first game of this session: not who opened the last game of that one.
    pub opener: Seat,
}

/// A hash of an invitation token; the token itself is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InvitationHash(pub [u8; 16]);

impl InvitationHash {
    /// The hash of a token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        let mut bytes = [0; 16];
        blake3::Hasher::new_derive_key("tablemate 2026 invitation token")
            .update(token.as_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        Self(bytes)
    }
}

impl fmt::Debug for InvitationHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InvitationHash(…)")
    }
}

/// How the opener of a game was found (S-29).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenerFound {
    /// Seat 1, by the setting `AS_SEATED`.
    AsSeated,
    /// Drawn, by the setting `DRAW`.
    Drawn,
    /// 猜先: an odd difference of the numbers swaps the seats' roles.
    Guess {
        /// The number of each seat, now known to both.
        numbers: PerSeat<u8>,
        /// Which of them the server drew.
        drawn: PerSeat<bool>,
    },
    /// Whoever opened less often lately.
    Balanced {
        /// Games opened less games not opened, of each seat.
        balances: PerSeat<i16>,
        /// Whether they were equal, so that the server drew.
        drawn: bool,
    },
    /// The other than in the game before, in this session or in the one it is the rematch of (S-5).
    Alternated,
}

/// Why a game ended (S-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameEndReason {
    /// The game's own rules ended it.
    Board(EndReason),
    /// A player resigned (S-13).
    Resignation,
    /// Both agreed to a draw (S-15).
    AgreedDraw,
    /// Both agreed to stop, without a result (S-14).
    AgreedExit,
    /// A player left for good (S-16).
    ForcedExit,
    /// A player's total time ran out (S-10).
    TotalTime,
    /// A player let the per-move time run out too often (S-9).
    TimeoutCount,
    /// An operator ended it.
    Aborted,
}

impl GameEndReason {
    /// The name of S-18: `NO_MOVES`, `RESIGNATION`, ….
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Board(reason) => reason.as_str(),
            Self::Resignation => "RESIGNATION",
            Self::AgreedDraw => "AGREED_DRAW",
            Self::AgreedExit => "AGREED_EXIT",
            Self::ForcedExit => "FORCED_EXIT",
            Self::TotalTime => "TOTAL_TIME",
            Self::TimeoutCount => "TIMEOUT_COUNT",
            Self::Aborted => "ABORTED",
        }
    }
}

/// Who won a game or a scored series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The player of this seat.
    Wins(Seat),
    /// Nobody.
    Draw,
    /// There is no result.
    NotSettled,
}

impl Outcome {
    /// The winning seat.
    #[must_use]
    pub const fn winner(self) -> Option<Seat> {
        match self {
            Self::Wins(seat) => Some(seat),
            Self::Draw | Self::NotSettled => None,
        }
    }
}

/// The result of one game (S-18, S-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GameResult {
    /// Which game of the series, from 1.
    pub game: u8,
    /// Why it ended.
    pub reason: GameEndReason,
    /// Who won.
    pub outcome: Outcome,
    /// The colour of seat 1 in this game.
    pub colour_one: Colour,
    /// What each colour has on the board at the end (`[black, white]`, discs in Reversi).
    pub counts: [u8; 2],
    /// The winner's margin in half discs by the session's method; 0 for a draw or without a result. Without a
    /// board result: what the position gives the winner, in a scored series at least two discs.
    pub margin_half_discs: u16,
    /// Points of each seat, may be negative (S-19).
    pub points: PerSeat<i32>,
    /// Whose escape count rises by one (S-16).
    pub escape: Option<Seat>,
    /// Whether an outage was compensated during the game (S-12).
    pub touched_by_outage: bool,
}

impl GameResult {
    /// Whether the result is settled: applied to the players' records of a rated session (S-20).
    #[must_use]
    pub const fn settled(&self) -> bool {
        !matches!(self.outcome, Outcome::NotSettled)
    }

    /// The colour of a seat in this game.
    #[must_use]
    pub const fn colour(&self, seat: Seat) -> Colour {
        match seat {
            Seat::One => self.colour_one,
            Seat::Two => self.colour_one.other(),
        }
    }
}

/// How a session ended (S-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionEnding {
    /// The last game of the series ended.
    SeriesComplete,
    /// Nobody got ready (S-4).
    Idle,
    /// A player left (S-16).
    Left,
    /// Both agreed to stop (S-14).
    AgreedExit,
    /// The ready countdown ended under `CANCEL` (S-2).
    Cancelled,
    /// An operator or a void match ended it.
    Aborted,
}

impl SessionEnding {
    /// The name of S-18: `SERIES_COMPLETE`, `IDLE`, ….
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SeriesComplete => "SERIES_COMPLETE",
            Self::Idle => "IDLE",
            Self::Left => "LEFT",
            Self::AgreedExit => "AGREED_EXIT",
            Self::Cancelled => "CANCELLED",
            Self::Aborted => "ABORTED",
        }
    }
}

/// The result of a scored series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesResult {
    /// Who won; a series that an agreed exit, an operator or idleness ended is not settled.
    pub outcome: Outcome,
    /// Half points: a win is 2, a draw 1.
    pub half_points: PerSeat<u32>,
    /// The sum of margins in half discs from seat 1's side.
    pub margin_half_discs: i32,
}
