//! Why a command is refused: stable names with data.

use tablemate_engine::game::IllegalMove;
use tablemate_engine::game::MoveError;
use tablemate_engine::reversi;
use thiserror::Error;

use crate::fact::OfferKind;
use crate::limits;
use crate::time::Instant;

/// Why a command is refused. Nothing that the caller may not see is in it (S-24).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The caller has no seat, or not the standing for this command (S-27).
    #[error("only a seated player may do this")]
    NotSeated,
    /// The invitation token does not fit (S-27).
    #[error("the invitation token does not fit this session")]
    BadInvitation,
    /// Seat 2 is taken (S-27).
    #[error("seat 2 is taken")]
    SeatTaken,
    /// The player has a seat already and cannot take both (S-27).
    #[error("a player cannot take both seats")]
    SamePlayer,
    /// The session has ended.
    #[error("the session has ended")]
    SessionEnded,
    /// A game is on.
    #[error("a game is on")]
    GameOn,
    /// No game is on.
    #[error("no game is on")]
    GameNotOn,
    /// The command would change nothing (S-25).
    #[error("this would change nothing")]
    NoChange,
    /// Another number while ready: take the ready flag back first, so that nobody learns of the number (S-29).
    #[error("ready already: take that back first to give another number")]
    AlreadyReady,
    /// The ready flag was taken back too often in this game (S-3).
    #[error(
        "the ready flag was taken back {} times in this game already",
        limits::UNREADIES_MAX
    )]
    ReadyLimit,
    /// A number where none is asked for (S-29).
    #[error("no number is asked for here")]
    NumberNotAllowed,
    /// A number over 99 (S-29).
    #[error("the number is {number}, allowed is 0 to {}", limits::NUMBER_MAX)]
    NumberOutOfRange {
        /// The number given.
        number: u8,
    },
    /// It is the other's turn.
    #[error("it is the other player's turn")]
    NotYourTurn,
    /// The move is against the rules of the game.
    #[error("illegal move {mv}: {why}")]
    IllegalMove {
        /// The move as given, cut to 16 characters.
        mv: String,
        /// What is wrong with it.
        why: IllegalWhy,
    },
    /// A deadline took the move (S-11).
    #[error("the time for this move ended at {deadline}, now is {now}")]
    MoveTooLate {
        /// When the time for the move ended.
        deadline: Instant,
        /// The shard's clock when the command was judged.
        now: Instant,
    },
    /// The state that the command was for has changed (S-26).
    #[error("the state has changed: sequence {sequence}, ply {ply}")]
    Stale {
        /// The session's sequence now.
        sequence: u64,
        /// The ply to be made next; 0 when no game is on.
        ply: u32,
    },
    /// Resigning is not allowed yet (S-13).
    #[error("resigning is allowed from {allowed_from}")]
    ResignTooEarly {
        /// From when it is.
        allowed_from: Instant,
    },
    /// An offer of this kind cannot be made here (S-15, S-5).
    #[error("an offer of this kind is not possible here")]
    OfferNotAllowed {
        /// The kind.
        kind: OfferKind,
    },
    /// The wait after the player's last offer of the kind is not over (S-14).
    #[error("the next offer of this kind is allowed from {allowed_from}")]
    OfferTooSoon {
        /// When it is over.
        allowed_from: Instant,
    },
    /// The player has made all offers of the kind for this game (S-14).
    #[error("{} offers of this kind were made in this game already", limits::OFFERS_MAX)]
    OfferLimit,
    /// The offer is not open, or is not the caller's to answer or withdraw (S-14).
    #[error("the offer is gone")]
    OfferGone,
    /// The request id was used for another command (S-25).
    #[error("the request id was used for another command")]
    RequestIdReused,
}

/// What is wrong with a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IllegalWhy {
    /// The text is no move of the game.
    Malformed,
    /// The square is off the board.
    OffBoard,
    /// The square is occupied.
    Occupied,
    /// The move would turn nothing.
    TurnsNothing,
    /// A pass while there is a legal move.
    MustMove,
    /// The game is over.
    GameOver,
}

impl IllegalWhy {
    /// The stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "MALFORMED",
            Self::OffBoard => "OFF_BOARD",
            Self::Occupied => "OCCUPIED",
            Self::TurnsNothing => "TURNS_NOTHING",
            Self::MustMove => "MUST_MOVE",
            Self::GameOver => "GAME_OVER",
        }
    }
}

impl std::fmt::Display for IllegalWhy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a move of this game",
            Self::OffBoard => "off the board",
            Self::Occupied => "the square is occupied",
            Self::TurnsNothing => "it would turn nothing",
            Self::MustMove => "a player with a legal move must move",
            Self::GameOver => "the game is over",
        })
    }
}

impl From<&IllegalMove> for IllegalWhy {
    fn from(illegal: &IllegalMove) -> Self {
        match illegal {
            IllegalMove::Reversi(reversi::IllegalMove::GameOver) => Self::GameOver,
            IllegalMove::Reversi(reversi::IllegalMove::Occupied { .. }) => Self::Occupied,
            IllegalMove::Reversi(reversi::IllegalMove::TurnsNothing { .. }) => Self::TurnsNothing,
            IllegalMove::Reversi(reversi::IllegalMove::MustMove) => Self::MustMove,
        }
    }
}

impl From<&MoveError> for IllegalWhy {
    fn from(error: &MoveError) -> Self {
        match error {
            MoveError::Reversi(reversi::MoveError::OffBoard) => Self::OffBoard,
            MoveError::Reversi(_) => Self::Malformed,
        }
    }
}

impl Reason {
    /// The stable name on the wire (`google.rpc.ErrorInfo.reason`).
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotSeated => "NOT_SEATED",
            Self::BadInvitation => "BAD_INVITATION",
            Self::SeatTaken => "SEAT_TAKEN",
            Self::SamePlayer => "SAME_PLAYER",
            Self::SessionEnded => "SESSION_ENDED",
            Self::GameOn => "GAME_ON",
            Self::GameNotOn => "GAME_NOT_ON",
            Self::NoChange | Self::AlreadyReady => "NO_CHANGE",
            Self::ReadyLimit => "READY_LIMIT",
            Self::NumberNotAllowed | Self::NumberOutOfRange { .. } => "BAD_VALUE",
            Self::NotYourTurn => "NOT_YOUR_TURN",
            Self::IllegalMove {
                why: IllegalWhy::Malformed,
                ..
            } => "NOT_A_MOVE",
            Self::IllegalMove { .. } => "ILLEGAL_MOVE",
            Self::MoveTooLate { .. } => "MOVE_TOO_LATE",
            Self::Stale { .. } => "STALE",
            Self::ResignTooEarly { .. } => "RESIGN_TOO_EARLY",
            Self::OfferNotAllowed { .. } => "OFFER_NOT_ALLOWED",
            Self::OfferTooSoon { .. } => "OFFER_TOO_SOON",
            Self::OfferLimit => "OFFER_LIMIT",
            Self::OfferGone => "OFFER_GONE",
            Self::RequestIdReused => "REQUEST_ID_REUSED",
        }
    }

    /// What a client can use, as names and values (`google.rpc.ErrorInfo.metadata`). Instants are milliseconds since the
    /// Unix epoch.
    #[must_use]
    pub fn metadata(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::NumberOutOfRange { number } => vec![("number", number.to_string())],
            Self::IllegalMove { mv, why } => vec![("move", mv.clone()), ("why", why.as_str().into())],
            Self::MoveTooLate { deadline, now } => {
                vec![("deadline_ms", deadline.to_string()), ("now_ms", now.to_string())]
            }
            Self::Stale { sequence, ply } => {
                vec![("sequence", sequence.to_string()), ("ply", ply.to_string())]
            }
            Self::ResignTooEarly { allowed_from } | Self::OfferTooSoon { allowed_from } => {
                vec![("allowed_from_ms", allowed_from.to_string())]
            }
            _ => Vec::new(),
        }
    }
}
