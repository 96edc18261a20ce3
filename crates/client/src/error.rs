//! What can go wrong with a call, typed.

use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use tablemate_protocol::convert::Reason;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Why a call or a stream failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No address was given.
    #[error("no address of a service is given")]
    NoAddress,
    /// An address that is none.
    #[error("{address:?} is not an address: {reason}")]
    Address {
        /// As given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The service said no. It would say the same again, so nothing was retried.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// Nobody answered within the budget.
    #[error("no service answered after {attempts} attempts in {} ms, last: {last}", elapsed.as_millis())]
    Unavailable {
        /// How often it was tried.
        attempts: u32,
        /// Over how much time.
        elapsed: Duration,
        /// Whether an attempt may have taken effect. Sending the same request with the same request id again is
        /// harmless and tells.
        outcome_unknown: bool,
        /// What the last attempt said.
        last: Box<Refusal>,
    },
    /// An answer that the API does not allow; a defect of the service.
    #[error("the service broke its contract: {0}")]
    Contract(String),
}

impl Error {
    /// What the service said, if it said anything.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Refused(refusal) => Some(refusal),
            Error::Unavailable { last, .. } => Some(last),
            _ => None,
        }
    }

    /// The stable reason of a refusal, such as `NOT_YOUR_TURN`; empty when there is none.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.refusal().map_or("", |refusal| refusal.reason.as_str())
    }

    /// Whether this is a refusal with this reason.
    #[must_use]
    pub fn is(&self, reason: Reason) -> bool {
        matches!(self, Error::Refused(refusal) if refusal.is(reason))
    }
}

/// A service's "no".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code.
    pub code: Code,
    /// The stable reason of `google.rpc.ErrorInfo`; empty when there is none. A text, because a newer service may have
    /// reasons that this client does not know; [`is`](Self::is) compares with a known one.
    pub reason: String,
    /// Words for a developer.
    pub message: String,
    /// What a client can use, such as the current ply of `STALE`.
    pub metadata: HashMap<String, String>,
    /// After how long it may be tried again, when waiting helps.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads a status.
    #[must_use]
    pub fn of(status: &Status) -> Refusal {
        let (reason, metadata, retry_after) = if status.details().is_empty() {
            Default::default()
        } else {
            let info = status.get_details_error_info();
            let retry = status
                .get_details_retry_info()
                .and_then(|retry| retry.retry_delay);
            let (reason, metadata) = info.map(|info| (info.reason, info.metadata)).unwrap_or_default();
            (reason, metadata, retry)
        };
        Refusal {
            code: status.code(),
            reason,
            message: status.message().to_owned(),
            metadata,
            retry_after,
        }
    }

    /// Whether the reason is this one.
    #[must_use]
    pub fn is(&self, reason: Reason) -> bool {
        self.reason == reason.as_str()
    }

    /// A number from the metadata.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.metadata.get(key)?.parse().ok()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.code)?;
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// What a failed attempt means for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The service decided: trying again is of no use.
    Final,
    /// It was not done.
    NotDone,
    /// Nobody can say whether it was done.
    Unknown,
}

/// Judges a failed attempt. A status that has a source was made on this side: the connection failed or the attempt took
/// too long, and unless nothing was sent, the command may have been done.
pub(crate) fn judge(status: &Status, refusal: &Refusal) -> Failure {
    match (status.code(), status.source().is_some()) {
        (Code::Unavailable, _) if refusal.is(Reason::OutcomeUnknown) => Failure::Unknown,
        (Code::Unavailable, _) => Failure::NotDone,
        (Code::Unknown | Code::Cancelled | Code::Internal, true) => Failure::Unknown,
        _ => Failure::Final,
    }
}
