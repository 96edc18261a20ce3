//! What can go wrong between a caller and the store.

use thiserror::Error;

/// Why the store gave no answer. Answers that a caller has to act on (a conflict, a busy player) are not errors: each
/// operation has its own type for them.
///
/// No variant carries payload bytes: what a caller may not see must not reach a log either (S-24).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The store could not be reached, or refused before it did anything. Nothing was changed; trying again is safe.
    #[error("store unavailable: {why}")]
    Unavailable {
        /// What the connection or the server said.
        why: String,
    },
    /// The change was sent and no answer came: it may or may not have been made. Repeating it with the same
    /// expectation or id tells.
    #[error("store did not answer, the change may have been made: {why}")]
    OutcomeUnknown {
        /// What the connection said.
        why: String,
    },
    /// What the store holds cannot be read as what it should be.
    #[error("{what} in the store is corrupt: {why}")]
    Corrupt {
        /// The kind of value ("log entry", "match record", …).
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A key holds another type than this store writes there. Nothing was changed.
    #[error("{what} holds a value of the wrong type")]
    WrongType {
        /// The operation that met it.
        what: &'static str,
    },
    /// The store's account lacks a right that the operation needs. Nothing was changed.
    #[error("the store denied {what}: {why}")]
    Denied {
        /// The operation that was denied.
        what: &'static str,
        /// What the server said.
        why: String,
    },
    /// The store is full (its memory limit is reached). Nothing was changed.
    #[error("the store is full: {why}")]
    Full {
        /// What the server said.
        why: String,
    },
    /// The store was born with other settings than this process was started with, or by an incompatible version.
    #[error("the store's {setting} is {stored}, this process wants {wanted}")]
    Incompatible {
        /// Which setting.
        setting: &'static str,
        /// The value kept in the store.
        stored: String,
        /// The value asked for.
        wanted: String,
    },
    /// The shard is none of this deployment.
    #[error("shard {shard} does not exist, there are {shards}")]
    NoSuchShard {
        /// The shard that was named.
        shard: u16,
        /// How many there are, numbered from 0.
        shards: u16,
    },
    /// The caller broke the operation's contract: a defect of the program.
    #[error("bad argument: {why}")]
    BadArgument {
        /// Which part of the contract.
        why: &'static str,
    },
    /// The URL names no store that this program knows.
    #[error("cannot use the store URL: {why}")]
    BadUrl {
        /// What is wrong with it.
        why: String,
    },
}

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;
