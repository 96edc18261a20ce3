//! Why a session refused a command, as a refusal on the wire.

use tablemate_session::reason::{IllegalWhy, Reason as Rejected};

use super::{Reason, Refusal};

/// The session's reason with its status code and metadata. Exhaustive: a new reason must be given its place here.
#[must_use]
pub fn rejected_to_refusal(rejected: &Rejected) -> Refusal {
    let reason = match rejected {
        Rejected::NotSeated => Reason::NotSeated,
        Rejected::BadInvitation => Reason::BadInvitation,
        Rejected::SeatTaken => Reason::SeatTaken,
        Rejected::SamePlayer => Reason::SamePlayer,
        Rejected::SessionEnded => Reason::SessionEnded,
        Rejected::GameOn => Reason::GameOn,
        Rejected::GameNotOn => Reason::GameNotOn,
        Rejected::NoChange | Rejected::AlreadyReady => Reason::NoChange,
        Rejected::ReadyLimit => Reason::ReadyLimit,
        Rejected::NumberNotAllowed | Rejected::NumberOutOfRange { .. } => Reason::BadValue,
        Rejected::NotYourTurn => Reason::NotYourTurn,
        Rejected::IllegalMove {
            why: IllegalWhy::Malformed,
            ..
        } => Reason::NotAMove,
        Rejected::IllegalMove { .. } => Reason::IllegalMove,
        Rejected::MoveTooLate { .. } => Reason::MoveTooLate,
        Rejected::Stale { .. } => Reason::Stale,
        Rejected::ResignTooEarly { .. } => Reason::ResignTooEarly,
        Rejected::OfferNotAllowed { .. } => Reason::OfferNotAllowed,
        Rejected::OfferTooSoon { .. } => Reason::OfferTooSoon,
        Rejected::OfferLimit => Reason::OfferLimit,
        Rejected::OfferGone => Reason::OfferGone,
        Rejected::RequestIdReused => Reason::RequestIdReused,
    };
    let mut refusal = Refusal::new(reason, rejected.to_string());
    refusal.metadata = rejected.metadata();
    refusal
}
