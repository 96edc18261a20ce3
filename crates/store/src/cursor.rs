//! Where somebody is in a session's log: (sequence, tag).

use crate::tag::{Entry, Tag};

/// A place in a session's log: how many entries come before or at it, and the tag of the last of them.
///
/// Clients hold it as the opaque text of [`Deployment::cursor_text`](crate::Deployment::cursor_text).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The sequence number of the last entry seen; 0 before the first.
    pub sequence: u64,
    /// The tag of that entry; [`Tag::START`] before the first.
    pub tag: Tag,
}

impl Cursor {
    /// Before the first entry.
    pub const START: Self = Self {
        sequence: 0,
        tag: Tag::START,
    };

    /// The cursor after these entries, which follow it.
    #[must_use]
    pub fn after(self, entries: &[Entry]) -> Self {
        match entries.last() {
            None => self,
            Some(last) => Self {
                sequence: self.sequence.saturating_add(entries.len() as u64),
                tag: last.tag(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::chain;

    #[test]
    fn a_cursor_moves_by_the_entries_after_it() {
        let entries = chain(Tag::START, ["a", "b"]);
        let cursor = Cursor::START.after(&entries);
        assert_eq!((cursor.sequence, cursor.tag), (2, entries[1].tag()));
        assert_eq!(cursor.after(&[]), cursor);
    }
}
