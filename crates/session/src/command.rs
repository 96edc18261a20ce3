//! Commands: what callers ask of a session, and what comes of it.

use std::fmt;

use crate::fact::{Actor, Fact, InvitationHash, OfferId, OfferKind};
use crate::ids::{RequestId, SessionId};
use crate::player::Player;
use crate::reason::Reason;
use crate::seat::Seat;
use crate::time::Instant;

/// A command with what belongs to every command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who acts. A player's commands need [`Actor::Player`] or [`Actor::Backend`]; for [`Command::Join`] the seat is 2.
    pub by: Actor,
    /// The caller's id of this command (S-25); the server's own commands have none.
    pub id: Option<RequestId>,
    /// The sequence that the command acts on (S-26); `None`: any.
    pub expected_sequence: Option<u64>,
    /// The command.
    pub command: Command,
}

impl Request {
    /// A command of the player of `seat`.
    #[must_use]
    pub const fn player(seat: Seat, id: RequestId, command: Command) -> Self {
        Self {
            by: Actor::Player(seat),
            id: Some(id),
            expected_sequence: None,
            command,
        }
    }

    /// A command of the server.
    #[must_use]
    pub const fn server(command: Command) -> Self {
        Self {
            by: Actor::Server,
            id: None,
            expected_sequence: None,
            command,
        }
    }
}

/// What is asked.
#[derive(Clone, PartialEq, Eq)]
pub enum Command {
    /// Take the open seat 2 (S-27).
    Join {
        /// Who joins.
        player: Player,
        /// Whether the player is ready at once.
        ready: bool,
        /// The hash of the token that was shown.
        invitation: InvitationHash,
    },
    /// Get ready, or take that back (S-1 to S-3).
    SetReady {
        /// Ready, or not any more.
        ready: bool,
        /// With 猜先, a number from 0 to 99 (S-29).
        number: Option<u8>,
    },
    /// Make a move.
    Play {
        /// The ply that it is for, from 1 (S-26).
        ply: u32,
        /// The move in the game's own notation.
        mv: Box<str>,
    },
    /// Give the game up (S-13).
    Resign,
    /// Make an offer; with an opposite offer of the kind open, accept that (S-14).
    MakeOffer {
        /// What is offered.
        kind: OfferKind,
        /// For a rematch: the id of the session that it would be, computed by the service.
        next: Option<SessionId>,
    },
    /// Accept or decline the other's offer (S-14).
    AnswerOffer {
        /// The offer.
        offer: OfferId,
        /// Accept, or decline.
        accept: bool,
        /// For a rematch: the id of the session that it would be, computed by the service.
        next: Option<SessionId>,
    },
    /// Take an own offer back (S-14).
    WithdrawOffer {
        /// The offer.
        offer: OfferId,
    },
    /// Leave for good (S-16).
    Leave,
    /// By the server: the player of the seat has been away (S-17). Refused unless the session's settings limit absence.
    Absent {
        /// Who is absent.
        seat: Seat,
    },
    /// By the server: an absent player is back (S-17).
    Present {
        /// Who is back.
        seat: Seat,
    },
    /// By the server: a player has started another session of the kind, so open offers of a rematch die and no new one
    /// can be made (S-5).
    CloseRematch,
    /// By an operator: end the session at once, without a result.
    Abort,
}

impl fmt::Debug for Command {
    /// By hand for the one thing that may not be printed: a number of 猜先, or whether one was given (S-29).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join { player, ready, .. } => write!(f, "Join({}, ready: {ready})", player.id),
            Self::SetReady { ready, number: _ } => write!(f, "SetReady({ready})"),
            Self::Play { ply, mv } => write!(f, "Play({ply}, {mv:?})"),
            Self::Resign => f.write_str("Resign"),
            Self::MakeOffer { kind, .. } => write!(f, "MakeOffer({kind:?})"),
            Self::AnswerOffer { offer, accept, .. } => write!(f, "AnswerOffer({offer}, accept: {accept})"),
            Self::WithdrawOffer { offer } => write!(f, "WithdrawOffer({offer})"),
            Self::Leave => f.write_str("Leave"),
            Self::Absent { seat } => write!(f, "Absent({seat})"),
            Self::Present { seat } => write!(f, "Present({seat})"),
            Self::CloseRematch => f.write_str("CloseRematch"),
            Self::Abort => f.write_str("Abort"),
        }
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What fired before the command was judged. To be committed also when the command was refused (S-11).
    pub fired: Vec<Fact>,
    /// What came of the command.
    pub outcome: Outcome,
    /// The instant at which the command was judged: the `now` given, or the session's last instant where that is later.
    pub at: Instant,
    /// The deadline in force when the command was judged, after what had fired: the command must not be committed
    /// later than that. `None`: there was none, or nothing was judged.
    pub judged_before: Option<Instant>,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted; these facts are to be committed, after those that fired.
    Accepted(Vec<Fact>),
    /// The same request was accepted before (S-25): its facts have these sequence numbers. Nothing changed.
    Replayed {
        /// The sequence of its first fact.
        first: u64,
        /// The sequence of its last fact.
        last: u64,
    },
    /// More deadlines have passed than one call fires: commit `fired` and apply again. Nothing was judged.
    MoreDue,
    /// Refused.
    Rejected(Reason),
}
