//! What a deployment is born with and keeps for life: its number of shards, its key, its outage threshold.

use std::fmt;

use data_encoding::BASE32HEX_NOPAD;
use tablemate_session::{Millis, PlayerId, RequestId, SessionId, TicketId};

use crate::cursor::Cursor;
use crate::error::{Result, StoreError};
use crate::tag::{TAG_BYTES, Tag};

/// How many shards a deployment has when nothing is said.
pub const SHARDS_DEFAULT: u16 = 64;
/// The most shards that a deployment can have.
pub const SHARDS_MAX: u16 = 1_024;
/// How long nobody may have written to a shard before that counts as an outage (S-12), when nothing is said.
pub const OUTAGE_THRESHOLD_DEFAULT: Millis = Millis(5_000);

/// What a process expects of the deployment it joins. A `None` takes what the store has; the first process of all
/// writes the defaults. A value that differs from the stored one is
/// [`StoreError::Incompatible`](crate::StoreError::Incompatible) at start.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeploymentWish {
    /// The number of shards, 1 to [`SHARDS_MAX`].
    pub shards: Option<u16>,
    /// The outage threshold (S-12), at least 1 s.
    pub outage_threshold: Option<Millis>,
    /// How long players' stores remember which results they applied,
    /// [`APPLIED_KEPT_DEFAULT`](crate::player_store::APPLIED_KEPT_DEFAULT) when nothing is said. This process's own
    /// wish, not kept in the store.
    pub applied_kept: Option<Millis>,
}

impl DeploymentWish {
    /// Checks the bounds.
    pub(crate) fn check(&self) -> Result<()> {
        if self
            .shards
            .is_some_and(|shards| shards == 0 || shards > SHARDS_MAX)
        {
            return Err(StoreError::BadArgument {
                why: "there are 1 to 1024 shards",
            });
        }
        if self
            .outage_threshold
            .is_some_and(|threshold| threshold < Millis::seconds(1))
        {
            return Err(StoreError::BadArgument {
                why: "the outage threshold is at least 1 s",
            });
        }
        Ok(())
    }
}

/// The settings kept in the store, the same for every process.
#[derive(Clone)]
pub struct Deployment {
    /// How many shards there are; a shard is a number below this.
    pub shards: u16,
    /// A shard nobody wrote to for longer than this had an outage (S-12).
    pub outage_threshold: Millis,
    /// Drawn from the operating system when the deployment was born. Never leaves the servers.
    pub(crate) id_key: [u8; 32],
}

impl Deployment {
    /// A new deployment as wished for, with a key of its own.
    pub(crate) fn born(wish: &DeploymentWish) -> Result<Self> {
        wish.check()?;
        let mut id_key = [0; 32];
        crate::entropy::fill(&mut id_key)?;
        Ok(Self {
            shards: wish.shards.unwrap_or(SHARDS_DEFAULT),
            outage_threshold: wish.outage_threshold.unwrap_or(OUTAGE_THRESHOLD_DEFAULT),
            id_key,
        })
    }

    /// The id of the session that `caller` creates by `request` (S-25): the same pair names the same session, on any
    /// replica; nobody without the deployment's key can guess it.
    ///
    /// `caller` is who is authenticated, or the first named player where nobody is.
    #[must_use]
    pub fn session_id(&self, caller: &str, request: &RequestId) -> SessionId {
        let hash = self.keyed("session id", &[caller.as_bytes(), request.as_str().as_bytes()]);
        self.session_from_hash(&hash)
    }

    /// The id of the session that a match started by `ticket` becomes.
    #[must_use]
    pub fn session_id_of_ticket(&self, ticket: TicketId) -> SessionId {
        self.session_from_hash(&self.keyed("session of ticket", &[ticket.as_bytes()]))
    }

    /// The id of the session that a rematch of `session` becomes, the `offer`-th of its offers.
    #[must_use]
    pub fn session_id_of_rematch(&self, session: SessionId, offer: u64) -> SessionId {
        self.session_from_hash(&self.keyed("rematch", &[session.as_bytes(), &offer.to_be_bytes()]))
    }

    /// The id of the ticket that `player` creates by `request`.
    #[must_use]
    pub fn ticket_id(&self, player: &PlayerId, request: &RequestId) -> TicketId {
        let hash = self.keyed(
            "ticket id",
            &[player.as_str().as_bytes(), request.as_str().as_bytes()],
        );
        TicketId::new(0, first_ten(&hash))
    }

    /// The opaque text by which clients hold `cursor`. The tag is masked under the deployment's key: a client that
    /// knew bare tags could try out which hidden fact (a guess, a seed) leads from one to the next (S-24).
    #[must_use]
    pub fn cursor_text(&self, session: SessionId, cursor: Cursor) -> String {
        let mut bytes = [0; 8 + TAG_BYTES];
        bytes[..8].copy_from_slice(&cursor.sequence.to_be_bytes());
        bytes[8..].copy_from_slice(&self.masked(session, cursor.sequence, cursor.tag).0);
        // Sequences are small: leave out leading zero bytes.
        let zeros = bytes[..7].iter().take_while(|byte| **byte == 0).count();
        let mut text = BASE32HEX_NOPAD.encode(&bytes[zeros..]);
        text.make_ascii_lowercase();
        text
    }

    /// The cursor that [`cursor_text`](Self::cursor_text) wrote; `None` when the text was not written so. A text that
    /// was made up, or belongs to another session, gives a cursor that the store calls diverged.
    #[must_use]
    pub fn cursor_from_text(&self, session: SessionId, text: &str) -> Option<Cursor> {
        let short = BASE32HEX_NOPAD
            .decode(text.to_ascii_uppercase().as_bytes())
            .ok()?;
        let zeros = (8 + TAG_BYTES)
            .checked_sub(short.len())
            .filter(|zeros| *zeros <= 7)?;
        let mut bytes = [0; 8 + TAG_BYTES];
        bytes[zeros..].copy_from_slice(&short);
        let (sequence, tag) = bytes.split_at(8);
        let sequence = u64::from_be_bytes(sequence.try_into().ok()?);
        let tag = self.masked(session, sequence, Tag(tag.try_into().ok()?));
        let cursor = Cursor { sequence, tag };
        (self.cursor_text(session, cursor) == text).then_some(cursor)
    }

    /// A keyed hash for `purpose` of these parts, each with its length, so that no two lists of parts are alike.
    #[must_use]
    pub fn keyed(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        // In one piece, which costs far less than a hasher.
        let mut input = Vec::with_capacity(128);
        for part in std::iter::once(&purpose.as_bytes()).chain(parts) {
            input.extend_from_slice(&(part.len() as u64).to_be_bytes());
            input.extend_from_slice(part);
        }
        *blake3::keyed_hash(&self.id_key, &input).as_bytes()
    }

    fn session_from_hash(&self, hash: &[u8; 32]) -> SessionId {
        // Other bytes than the ten of the id decide the shard, so that ids of one shard have nothing in common.
        let spread = u32::from_be_bytes([hash[28], hash[29], hash[30], hash[31]]);
        let shard = spread % u32::from(self.shards.max(1));
        SessionId::new(u16::try_from(shard).unwrap_or_default(), first_ten(hash))
    }

    /// Masks and unmasks.
    fn masked(&self, session: SessionId, sequence: u64, tag: Tag) -> Tag {
        let mask = self.keyed("cursor", &[session.as_bytes(), &sequence.to_be_bytes()]);
        let mut masked = tag.0;
        masked.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        Tag(masked)
    }
}

impl fmt::Debug for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deployment")
            .field("shards", &self.shards)
            .field("outage_threshold", &self.outage_threshold)
            .finish_non_exhaustive()
    }
}

fn first_ten(hash: &[u8; 32]) -> [u8; 10] {
    let mut ten = [0; 10];
    ten.copy_from_slice(&hash[..10]);
    ten
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::chain;

    fn deployment(key: u8) -> Deployment {
        Deployment {
            shards: 64,
            outage_threshold: OUTAGE_THRESHOLD_DEFAULT,
            id_key: [key; 32],
        }
    }

    #[test]
    fn the_same_request_names_the_same_session_and_spreads_over_shards() {
        let ours = deployment(1);
        let request = RequestId::new("r1").unwrap();
        assert_eq!(ours.session_id("ann", &request), ours.session_id("ann", &request));
        assert_ne!(ours.session_id("ann", &request), ours.session_id("bob", &request));
        assert_ne!(
            ours.session_id("ann", &request),
            deployment(2).session_id("ann", &request)
        );
        let mut seen = [false; 64];
        for i in 0..2_000 {
            let request = RequestId::new(&i.to_string()).unwrap();
            seen[usize::from(ours.session_id("ann", &request).shard())] = true;
        }
        assert!(seen.iter().all(|hit| *hit));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let ours = deployment(1);
        assert_ne!(ours.keyed("p", &[b"ab", b"c"]), ours.keyed("p", &[b"a", b"bc"]));
    }

    #[test]
    fn cursors_survive_the_wire_and_hide_their_tags() {
        let ours = deployment(1);
        let session = SessionId::new(3, [9; 10]);
        for sequence in [0, 1, 255, 256, u64::MAX] {
            let cursor = Cursor {
                sequence,
                tag: Tag([1, 2, 3, 4]),
            };
            let text = ours.cursor_text(session, cursor);
            assert_eq!(ours.cursor_from_text(session, &text), Some(cursor));
            let elsewhere = ours.cursor_from_text(SessionId::new(3, [8; 10]), &text);
            assert_ne!(elsewhere, Some(cursor));
        }
        let first = chain(Tag::START, ["created"]);
        let text = ours.cursor_text(session, Cursor::START.after(&first));
        let bytes = BASE32HEX_NOPAD
            .decode(text.to_ascii_uppercase().as_bytes())
            .unwrap();
        assert!(!bytes.ends_with(&first[0].tag().0));
    }

    #[test]
    fn texts_that_are_no_cursors_are_refused() {
        let ours = deployment(1);
        let session = SessionId::new(3, [9; 10]);
        for text in ["", "0", "zz", "0000000000000000000000000000", "黑", "AAAAAAAA"] {
            assert_eq!(ours.cursor_from_text(session, text), None, "{text}");
        }
    }
}
