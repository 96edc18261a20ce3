//! What is written to the store: messages generated from `proto/tablemate/storage/v1`.

/// The generated messages.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/tablemate.storage.v1.rs"));
}

/// Facts as bytes: the entries of a session's log.
pub mod fact;
