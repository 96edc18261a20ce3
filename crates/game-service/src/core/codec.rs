//! Facts as entries of a log.

use tablemate_protocol::convert::Refusal;
use tablemate_session::fact::Fact;
use tablemate_store::Entry;

use super::errors;

/// A fact as it is stored.
pub(crate) fn encode(fact: &Fact) -> Vec<u8> {
    tablemate_protocol::storage::encode_fact(fact)
}

/// The fact of an entry.
pub(crate) fn decode(entry: &Entry) -> Result<Fact, Refusal> {
    tablemate_protocol::storage::decode_fact(&entry.payload()).map_err(|error| {
        tracing::error!(%error, "a fact cannot be read");
        errors::corrupt()
    })
}
