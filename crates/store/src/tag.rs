//! Log entries and the chain of tags through them.
//!
//! After a fail-over that lost a tail, equal length or an equal last fact prove nothing. Every entry therefore starts
//! with four bytes that depend on all facts before it: equal (sequence, tag) means an equal log.

use std::fmt;

use bytes::Bytes;

use crate::error::StoreError;

/// How many bytes of an entry are its tag.
pub const TAG_BYTES: usize = 4;

/// The first four bytes of blake3(tag before ‖ payload): stands for the whole log up to and with its entry.
///
/// A tag must not be shown to clients as it is: who knows two neighbours can try out what was between them. See
/// [`Deployment::cursor_text`](crate::Deployment::cursor_text).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub [u8; TAG_BYTES]);

impl Tag {
    /// The tag before the first entry.
    pub const START: Self = Self([0; TAG_BYTES]);

    /// The tag of an entry with this payload that comes after this tag.
    #[must_use]
    pub fn next(self, payload: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(payload);
        Self::of(&hasher.finalize())
    }

    fn of(hash: &blake3::Hash) -> Self {
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&hash.as_bytes()[..TAG_BYTES]);
        Self(tag)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({:08x})", u32::from_be_bytes(self.0))
    }
}

/// One entry of a session's log: tag ‖ payload, as it is stored. The payload is the caller's (one fact).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Entry(Bytes);

impl Entry {
    /// The entry of `payload` after `before`.
    #[must_use]
    pub fn new(before: Tag, payload: &[u8]) -> Self {
        // What is hashed is as long as what is stored: only the tags differ.
        let mut bytes = Vec::with_capacity(TAG_BYTES + payload.len());
        bytes.extend_from_slice(&before.0);
        bytes.extend_from_slice(payload);
        let tag = Tag::of(&blake3::hash(&bytes));
        bytes[..TAG_BYTES].copy_from_slice(&tag.0);
        Self(bytes.into())
    }

    /// The entry with these stored bytes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when they are too few to hold a tag.
    pub fn from_stored(bytes: Bytes) -> Result<Self, StoreError> {
        if bytes.len() < TAG_BYTES {
            let why = format!("has {} bytes", bytes.len());
            return Err(StoreError::Corrupt {
                what: "log entry",
                why,
            });
        }
        Ok(Self(bytes))
    }

    /// The entry's tag.
    #[must_use]
    pub fn tag(&self) -> Tag {
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&self.0[..TAG_BYTES]);
        Tag(tag)
    }

    /// The fact, as the caller encoded it.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        self.0.slice(TAG_BYTES..)
    }

    /// Tag and payload, as stored.
    #[must_use]
    pub fn stored(&self) -> &Bytes {
        &self.0
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The payload may hold what nobody may see (S-24).
        write!(f, "Entry({:?}, {} bytes)", self.tag(), self.0.len() - TAG_BYTES)
    }
}

/// The entries of these payloads, chained one to the next, the first after `before`.
pub fn chain<P: AsRef<[u8]>>(before: Tag, payloads: impl IntoIterator<Item = P>) -> Vec<Entry> {
    let mut tag = before;
    payloads
        .into_iter()
        .map(|payload| {
            let entry = Entry::new(tag, payload.as_ref());
            tag = entry.tag();
            entry
        })
        .collect()
}

/// Whether each entry's tag follows from the one before, the first from `before`.
#[must_use]
pub fn is_chain(before: Tag, entries: &[Entry]) -> bool {
    let mut tag = before;
    entries.iter().all(|entry| {
        let follows = tag.next(&entry.stored()[TAG_BYTES..]) == entry.tag();
        tag = entry.tag();
        follows
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tags_mean_equal_logs() {
        let one = chain(Tag::START, ["a", "b", "c"]);
        let other = chain(Tag::START, ["a", "x", "c"]);
        assert_eq!(one[0], other[0]);
        // Same length and same last fact, but not the same log.
        assert_eq!(one[2].payload(), other[2].payload());
        assert_ne!(one[2].tag(), other[2].tag());
        assert!(is_chain(Tag::START, &one));
        assert!(is_chain(one[0].tag(), &one[1..]));
        assert!(!is_chain(Tag::START, &one[1..]));
    }

    #[test]
    fn the_chain_is_pinned_because_logs_outlive_versions() {
        let tag = Tag::START.next(b"created");
        let expected = blake3::hash(b"\0\0\0\0created");
        assert_eq!(tag.0, expected.as_bytes()[..4]);
    }

    #[test]
    fn an_entry_too_short_for_a_tag_is_corrupt() {
        assert!(matches!(
            Entry::from_stored(Bytes::from_static(b"abc")),
            Err(StoreError::Corrupt { .. })
        ));
    }

    #[test]
    fn debug_output_never_shows_a_payload() {
        let entry = Entry::new(Tag::START, b"secret");
        assert!(!format!("{entry:?}").contains("secret"));
    }
}
