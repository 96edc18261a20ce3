//! What goes wrong inside, as callers may hear it. What only the log may say is logged here.

use std::time::Duration;

use tablemate_protocol::convert::{Reason, Refusal, rejected_to_refusal};
use tablemate_session::session::FoldError;
use tablemate_store::StoreError;

/// How long a caller waits before it tries again where waiting helps.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// What the store did not answer.
pub(crate) fn store(error: StoreError) -> Refusal {
    match error {
        StoreError::Unavailable { why } => {
            tracing::warn!(%why, "store unavailable");
            Refusal::new(Reason::StoreUnavailable, "the store cannot be reached").retry_after(RETRY_AFTER)
        }
        StoreError::Full { why } => {
            tracing::error!(%why, "store full");
            Refusal::new(Reason::StoreUnavailable, "the store takes nothing now").retry_after(RETRY_AFTER)
        }
        StoreError::OutcomeUnknown { why } => {
            tracing::warn!(%why, "store did not answer a change");
            Refusal::new(
                Reason::OutcomeUnknown,
                "the store did not answer: repeat the call with the same request id to learn what became of it",
            )
            .retry_after(RETRY_AFTER)
        }
        StoreError::Corrupt { .. } | StoreError::WrongType { .. } => {
            tracing::error!(%error, "the store holds what cannot be read");
            corrupt()
        }
        StoreError::Denied { .. }
        | StoreError::Incompatible { .. }
        | StoreError::BadArgument { .. }
        | StoreError::BadUrl { .. } => {
            tracing::error!(%error, "store refused an operation");
            Refusal::new(Reason::Internal, "internal error")
        }
        // Ids that name a shard outside the deployment were never given by this server.
        StoreError::NoSuchShard { .. } => no_session(),
    }
}

/// A log that is no session's log.
pub(crate) fn fold(error: FoldError) -> Refusal {
    tracing::error!(%error, "a log cannot be folded");
    corrupt()
}

/// What is stored cannot be read.
pub(crate) fn corrupt() -> Refusal {
    Refusal::new(Reason::Corrupt, "the session's record cannot be read")
}

/// The session refused the command.
pub(crate) fn rejected(reason: tablemate_session::reason::Reason) -> Refusal {
    rejected_to_refusal(&reason)
}

/// No session has the id.
pub(crate) fn no_session() -> Refusal {
    Refusal::new(Reason::SessionNotFound, "no session has this id")
}

/// Others changed the session each time.
pub(crate) fn contended() -> Refusal {
    Refusal::new(
        Reason::Contended,
        "others changed the session at the same time, each time",
    )
    .retry_after(RETRY_AFTER)
}

/// This replica stops.
pub(crate) fn shutting_down() -> Refusal {
    Refusal::new(
        Reason::ShuttingDown,
        "this replica is going away: another one answers",
    )
    .retry_after(Duration::from_millis(10))
}

/// The connection has served its time.
pub(crate) fn connection_ends() -> Refusal {
    Refusal::new(
        Reason::ShuttingDown,
        "this connection has served its time: go on over another one",
    )
    .retry_after(Duration::from_millis(10))
}

/// Too many streams are open.
pub(crate) fn too_many_streams() -> Refusal {
    Refusal::new(Reason::Overloaded, "too many streams are open").retry_after(Duration::from_secs(1))
}
