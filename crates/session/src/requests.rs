//! The requests that were accepted, for the session's whole life (S-25).
//!
//! A session is copied before each command, so the index is a chain of shared chunks with a small tail by value:
//! copying it costs one reference count, finding in it a scan of at most a few thousand numbers.

use std::fmt;
use std::sync::Arc;

use crate::secret::RequestHash;

const CHUNK: usize = 16;

/// A command's kind and arguments, in short: equal for equal commands and, joins by different players aside, for no
/// others. Kept in memory only. Shows nothing when printed, because a number of 猜先 may be in it (S-29).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    kind: u8,
    arguments: [u32; 2],
}

impl Digest {
    /// The digest of a command of this kind.
    pub const fn new(kind: u8, one: u32, two: u32) -> Self {
        Self {
            kind,
            arguments: [one, two],
        }
    }

    /// The digest of a command of this kind with arguments that only a hash can stand for.
    pub const fn of_hash(kind: u8, hash: u64) -> Self {
        Self::new(kind, hash as u32, (hash >> 32) as u32)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// An accepted request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    hash: u64,
    /// Stands for the command's arguments.
    pub digest: Digest,
    /// The sequence of its first fact.
    pub first: u64,
    /// How many facts it made.
    pub count: u8,
}

#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    entries: [Entry; CHUNK],
    older: Option<Arc<Self>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    tail: [Entry; CHUNK],
    tail_len: u8,
    older: Option<Arc<Chunk>>,
}

impl Requests {
    pub fn insert(&mut self, hash: RequestHash, digest: Digest, first: u64, count: u8) {
        if usize::from(self.tail_len) == CHUNK {
            self.older = Some(Arc::new(Chunk {
                entries: self.tail,
                older: self.older.take(),
            }));
            self.tail = Default::default();
            self.tail_len = 0;
        }
        if let Some(entry) = self.tail.get_mut(usize::from(self.tail_len)) {
            *entry = Entry {
                hash: hash.0,
                digest,
                first,
                count,
            };
            self.tail_len += 1;
        }
    }

    /// Says how many facts the last inserted request made, once that is known.
    pub fn set_last_count(&mut self, count: u8) {
        if let Some(entry) = usize::from(self.tail_len)
            .checked_sub(1)
            .and_then(|last| self.tail.get_mut(last))
        {
            entry.count = count;
        }
    }

    pub fn find(&self, hash: RequestHash) -> Option<Entry> {
        let tail = self.tail.get(..usize::from(self.tail_len)).unwrap_or_default();
        let mut chunk = self.older.as_deref();
        if let Some(found) = tail.iter().find(|entry| entry.hash == hash.0) {
            return Some(*found);
        }
        while let Some(Chunk { entries, older }) = chunk {
            if let Some(found) = entries.iter().find(|entry| entry.hash == hash.0) {
                return Some(*found);
            }
            chunk = older.as_deref();
        }
        None
    }
}
