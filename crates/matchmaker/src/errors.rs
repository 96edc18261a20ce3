//! What goes wrong inside, as callers may hear it. What only the log may say is logged here.

use std::time::Duration;

use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_store::StoreError;

/// How long a caller waits before it tries again where waiting helps.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// What the store did not answer.
pub(crate) fn store(error: StoreError) -> Refusal {
    match error {
        StoreError::Unavailable { why } | StoreError::Full { why } => {
            tracing::warn!(%why, "store unavailable");
            Refusal::new(Reason::StoreUnavailable, "the store cannot be reached").retry_after(RETRY_AFTER)
        }
        StoreError::OutcomeUnknown { why } => {
            tracing::warn!(%why, "store did not answer a change");
            unknown("the store did not answer")
        }
        StoreError::Corrupt { .. } | StoreError::WrongType { .. } => {
            tracing::error!(%error, "the store holds what cannot be read");
            Refusal::new(Reason::Corrupt, "the ticket's record cannot be read")
        }
        StoreError::Denied { .. }
        | StoreError::Incompatible { .. }
        | StoreError::NoSuchShard { .. }
        | StoreError::BadArgument { .. }
        | StoreError::BadUrl { .. } => {
            tracing::error!(%error, "store refused an operation");
            Refusal::new(Reason::Internal, "internal error")
        }
    }
}

/// The caller cannot know what became of the call.
pub(crate) fn unknown(what: &str) -> Refusal {
    let advice = "repeat the call with the same request id to learn what became of it";
    Refusal::new(Reason::OutcomeUnknown, format!("{what}: {advice}")).retry_after(RETRY_AFTER)
}

/// The caller's time ran out.
pub(crate) fn too_late() -> Refusal {
    Refusal::new(
        Reason::DeadlineExceeded,
        "the call's time ran out: repeat it with the same request id to learn what became of it",
    )
}

/// No ticket has this id, or it is another player's: the answer does not tell which (S-24).
pub(crate) fn no_ticket() -> Refusal {
    Refusal::new(Reason::TicketNotFound, "no ticket of this player has this id")
}

/// Others changed the player's claim each time.
pub(crate) fn contended() -> Refusal {
    Refusal::new(
        Reason::Contended,
        "the player's ticket or session changed each time",
    )
    .retry_after(RETRY_AFTER)
}

/// As many as we can serve are served.
pub(crate) fn overloaded() -> Refusal {
    Refusal::new(Reason::Overloaded, "too much at once, nothing was done").retry_after(RETRY_AFTER)
}

/// The connection has served its time.
pub(crate) fn connection_ends() -> Refusal {
    Refusal::new(
        Reason::ShuttingDown,
        "this connection has served its time: go on over another one",
    )
    .retry_after(Duration::from_millis(10))
}

/// This replica stops.
pub(crate) fn shutting_down() -> Refusal {
    Refusal::new(
        Reason::ShuttingDown,
        "this replica is going away: another one answers",
    )
    .retry_after(Duration::from_millis(10))
}
