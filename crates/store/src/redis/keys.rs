//! The keys. Short, because every session pays for its own; each with the hash tag of its slot, and of what callers
//! choose nothing but hashes.
//!
//! | key                   | type   | what                                                       |
//! | --------------------- | ------ | ---------------------------------------------------------- |
//! | `{tag}s` hash         | list   | a session's log; also its channel                          |
//! | `{tag}i`              | zset   | the deadline index: hash of the id by deadline             |
//! | `{tag}p`              | string | the pulse                                                  |
//! | `{tag}u`              | list   | the outages: "id from to"                                  |
//! | `{tag}o`              | stream | the outbox; also the channel that tells of new entries     |
//! | `{tag}d`              | hash   | settled sessions: tag ‖ sequence                           |
//! | `{tag}f`              | hash   | failing sessions: "count retry-at"                         |
//! | `{tag}r`              | hash   | how far each receiver has read the outbox                  |
//! | `{tag}l` hash seat    | string | presence lease                                             |
//! | `{h:name}t` …         |        | a hall, see `scripts/hall.lua`                             |
//! | `{p:hash}` kind …     |        | a player's record `r`, applied results `a` and `o`, games `g` |
//! | `tablemate:deployment`, `tablemate:workers` |  | what their names say                   |

use tablemate_session::{PlayerId, SessionId, TicketId};

use crate::hall_store::{HallId, Kind};

pub(super) const DEPLOYMENT: &[u8] = b"tablemate:deployment";
pub(super) const WORKERS: &[u8] = b"tablemate:workers";

/// Bytes of a session id that its key and index entry hold: without the shard, which the hash tag says.
pub(super) const MEMBER_BYTES: usize = 10;

/// The keys of a deployment's shards.
pub(super) struct ShardKeys {
    tags: Vec<[u8; 3]>,
}

impl ShardKeys {
    pub(super) fn new(shards: u16) -> Self {
        Self {
            tags: crate::shards::hash_tags(shards),
        }
    }

    fn key(&self, shard: u16, kind: u8, rest: &[u8]) -> Vec<u8> {
        // Callers have checked the shard; a tag of zeros would still be a slot of its own.
        let tag = self.tags.get(usize::from(shard)).copied().unwrap_or_default();
        let mut key = Vec::with_capacity(6 + rest.len());
        key.push(b'{');
        key.extend_from_slice(&tag);
        key.extend_from_slice(&[b'}', kind]);
        key.extend_from_slice(rest);
        key
    }

    /// The slot of all keys of a shard.
    pub(super) fn slot(&self, shard: u16) -> u16 {
        crate::shards::slot(&self.tags.get(usize::from(shard)).copied().unwrap_or_default())
    }

    pub(super) fn log(&self, session: SessionId) -> Vec<u8> {
        self.key(session.shard(), b's', member(&session))
    }

    pub(super) fn index(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'i', &[])
    }

    pub(super) fn pulse(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'p', &[])
    }

    pub(super) fn outages(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'u', &[])
    }

    pub(super) fn outbox(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'o', &[])
    }

    pub(super) fn settled(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'd', &[])
    }

    pub(super) fn failing(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'f', &[])
    }

    pub(super) fn positions(&self, shard: u16) -> Vec<u8> {
        self.key(shard, b'r', &[])
    }

    pub(super) fn lease(&self, session: SessionId, seat: u8) -> Vec<u8> {
        let mut rest = member(&session).to_vec();
        rest.push(b'0'.saturating_add(seat));
        self.key(session.shard(), b'l', &rest)
    }

    /// The session whose log has this key.
    pub(super) fn session_of_log(&self, key: &[u8]) -> Option<SessionId> {
        let tag: [u8; 3] = key.get(1..4)?.try_into().ok()?;
        let shard = self.tags.iter().position(|known| *known == tag)?;
        let session = session(u16::try_from(shard).ok()?, key.get(6..)?)?;
        (self.log(session) == key).then_some(session)
    }
}

/// The session's entry in the index.
pub(super) fn member(session: &SessionId) -> &[u8] {
    &session.as_bytes()[2..]
}

/// The session of an index entry.
pub(super) fn session(shard: u16, member: &[u8]) -> Option<SessionId> {
    let hash: [u8; MEMBER_BYTES] = member.try_into().ok()?;
    Some(SessionId::new(shard, hash))
}

/// The keys of a hall, in the order that its scripts expect.
pub(super) fn hall(hall: &HallId) -> Vec<Vec<u8>> {
    [b't', b'q', b'e', b'c', b'm', b'u', b'f']
        .iter()
        .map(|kind| hall_key(hall, *kind))
        .collect()
}

fn hall_key(hall: &HallId, kind: u8) -> Vec<u8> {
    let mut key = format!("{{h:{}}}", hall.as_str()).into_bytes();
    key.push(kind);
    key
}

/// The channel of a ticket.
pub(super) fn ticket_channel(hall: &HallId, ticket: TicketId) -> Vec<u8> {
    let mut key = hall_key(hall, b't');
    key.extend_from_slice(ticket.as_bytes());
    key
}

/// A player's claim in a hall: the kind and a hash of the player.
pub(super) fn claim(kind: Kind, player: &PlayerId) -> Vec<u8> {
    let mut claim = vec![kind.0];
    claim.extend_from_slice(&blake3::hash(player.as_str().as_bytes()).as_bytes()[..15]);
    claim
}

/// A player's keys of one game kind: record, applied, order, games.
pub(super) fn player(player: &PlayerId, kind: Kind) -> [Vec<u8>; 4] {
    [b'r', b'a', b'o', b'g'].map(|part| {
        let mut key = format!("{{p:{}}}", player.key()).into_bytes();
        key.extend_from_slice(&[kind.0, part]);
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_session_lie_in_its_shards_slot() {
        let keys = ShardKeys::new(64);
        let session = SessionId::new(5, *b"}{}{}{}{}{");
        let slot_of = |key: &[u8]| {
            let open = key.iter().position(|b| *b == b'{').unwrap();
            let close = open + key[open..].iter().position(|b| *b == b'}').unwrap();
            crate::shards::slot(&key[open + 1..close])
        };
        let slot = slot_of(&keys.index(5));
        for key in [
            keys.log(session),
            keys.pulse(5),
            keys.outages(5),
            keys.outbox(5),
            keys.lease(session, 2),
        ] {
            assert_eq!(slot_of(&key), slot);
        }
        assert_ne!(slot_of(&keys.index(6)), slot);
        assert_eq!(keys.session_of_log(&keys.log(session)), Some(session));
        assert_eq!(keys.session_of_log(&keys.lease(session, 2)), None);
        assert_eq!(keys.session_of_log(b"{zzz}s1234567890"), None);
    }
}
