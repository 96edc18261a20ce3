//! Facts as entries of a log. An entry's instant is written as the distance from the one before it.

use tablemate_protocol::convert::Refusal;
use tablemate_protocol::storage::fact;
use tablemate_session::Instant;
use tablemate_session::fact::Fact;
use tablemate_store::Entry;

use super::errors;

/// Facts as they are stored after a fact at `previous` ([`Instant::ZERO`] before the first).
pub(crate) fn encode(previous: Instant, facts: &[Fact]) -> Vec<Vec<u8>> {
    let mut previous = previous;
    facts
        .iter()
        .map(|fact| {
            let bytes = fact::encode(previous, fact);
            previous = fact.at;
            bytes
        })
        .collect()
}

/// The facts of entries that come after a fact at `previous`.
pub(crate) fn decode(previous: Instant, entries: &[Entry]) -> Result<Vec<Fact>, Refusal> {
    let mut previous = previous;
    entries
        .iter()
        .map(|entry| {
            let fact = fact::decode(previous, &entry.payload()).map_err(|error| {
                tracing::error!(%error, "a fact cannot be read");
                errors::corrupt()
            })?;
            previous = fact.at;
            Ok(fact)
        })
        .collect()
}
