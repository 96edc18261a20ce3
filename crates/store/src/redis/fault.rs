//! What a failed try means: certainly not carried out, perhaps carried out, or answered for good.

use redis::{RedisError, Value};

use super::dial::NoConnection;
use super::url::Address;
use crate::error::StoreError;

/// What an operation does, for what a missing answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It only reads.
    Reads,
    /// A sign of life, a hint, a step: it changes something that nobody is told of as done.
    Signs,
    /// It changes something and its answer acknowledges that. It can be repeated: it tells when it was done before.
    Writes,
}

impl Effect {
    /// What no answer means.
    pub(super) fn unanswered(self, why: String) -> StoreError {
        match self {
            Self::Reads => StoreError::Unavailable { why },
            Self::Signs | Self::Writes => StoreError::OutcomeUnknown { why },
        }
    }
}

/// Why a try gave no answer to hand on.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// There is no connection; nothing was sent.
    NoConnection(NoConnection),
    /// The server does not serve the slot: another one does (`ask`: for this one command).
    Elsewhere { ask: bool, slot: u16, address: Address },
    /// The server is no master any more.
    ReadOnly(String),
    /// The server refused for now, before it did anything: it loads, its cluster is down, a slot is on the move.
    NotNow(String),
    /// The server does not know the script.
    NoScript,
    /// It was sent, and no answer came.
    Lost(String),
    /// It was done, but too few replicas said that they have it.
    Unconfirmed(String),
    /// The server's last word.
    Answered(StoreError),
}

impl Fault {
    /// Of an error that came for a command that may have been sent.
    pub(super) fn of(what: &'static str, error: &RedisError) -> Self {
        let why = || format!("{what}: {error}");
        match error.code() {
            None => Self::Lost(why()),
            Some("NOSCRIPT") => Self::NoScript,
            Some("READONLY") => Self::ReadOnly(why()),
            Some("LOADING" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "BUSY") => Self::NotNow(why()),
            Some(code @ ("MOVED" | "ASK")) => match redirection(error) {
                Some((slot, address)) => Self::Elsewhere {
                    ask: code == "ASK",
                    slot,
                    address,
                },
                None => Self::NotNow(why()),
            },
            Some(_) => Self::Answered(failure(what, error)),
        }
    }

    /// Whether the command may have been carried out.
    pub(super) fn may_be_done(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Unconfirmed(_))
    }
}

fn redirection(error: &RedisError) -> Option<(u16, Address)> {
    let (address, slot) = error.redirect_node()?;
    Some((slot, Address::parse(address)?))
}

/// Makes an error of what the server calls one.
pub(super) fn answer(answer: redis::RedisResult<Value>) -> redis::RedisResult<Value> {
    answer.and_then(|value| value.extract_error())
}

/// What the server's refusal means. All of these come before anything was done.
pub(super) fn failure(what: &'static str, error: &RedisError) -> StoreError {
    let detail = error.detail().unwrap_or_default().to_owned();
    let denied = "The user executing the script";
    match error.code() {
        Some("WRONGTYPE") => StoreError::WrongType { what },
        Some("NOPERM" | "NOAUTH" | "WRONGPASS") => StoreError::Denied { what, why: detail },
        Some("OOM") => StoreError::Full { why: detail },
        Some("ERR") if detail.contains(denied) => StoreError::Denied { what, why: detail },
        Some("ERR") => StoreError::Corrupt { what, why: detail },
        _ => StoreError::Unavailable {
            why: format!("{what}: {error}"),
        },
    }
}
