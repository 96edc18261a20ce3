//! Warm copies of sessions: folds of logs that this replica has seen lately. A warm copy is never an answer; it saves
//! reading the log again, because the store confirms it with every commit and every read.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tablemate_session::SessionId;
use tablemate_session::session::Session;
use tablemate_store::Cursor;

/// A session and where in its log this copy stands.
#[derive(Clone, Debug)]
pub(crate) struct Warm {
    /// The fold of the log up to `cursor`; shared with those who only read it.
    pub session: Arc<Session>,
    /// Where the copy stands.
    pub cursor: Cursor,
}

/// The place of a session's copy. Whoever holds the lock works on the session; others of this replica wait, so that
/// they do not conflict with each other in the store.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Option<Warm>>>;

const PARTS: usize = 64;

struct Place {
    slot: Slot,
    used: u64,
}

/// All copies of this replica, bounded by number.
pub(crate) struct WarmCopies {
    parts: Vec<Mutex<HashMap<SessionId, Place>>>,
    part_max: usize,
    hasher: RandomState,
    uses: AtomicU64,
}

impl WarmCopies {
    /// Keeps about `copies_max` copies.
    pub fn new(copies_max: usize) -> Self {
        Self {
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            part_max: (copies_max / PARTS).max(2),
            hasher: RandomState::new(),
            uses: AtomicU64::new(0),
        }
    }

    fn part(&self, id: SessionId) -> std::sync::MutexGuard<'_, HashMap<SessionId, Place>> {
        // The hash is below PARTS, and nothing panics while a part is locked.
        let index = usize::try_from(self.hasher.hash_one(id) % PARTS as u64).unwrap_or(0);
        self.parts[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a session's copy, empty when there is none.
    pub fn slot(&self, id: SessionId) -> Slot {
        let used = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut part = self.part(id);
        if let Some(place) = part.get_mut(&id) {
            place.used = used;
            return Arc::clone(&place.slot);
        }
        if part.len() >= self.part_max {
            evict(&mut part);
        }
        let slot = Slot::default();
        part.insert(
            id,
            Place {
                slot: Arc::clone(&slot),
                used,
            },
        );
        slot
    }

    /// Drops a session's copy, if nobody works on it.
    pub fn forget(&self, id: SessionId) {
        let mut part = self.part(id);
        if part
            .get(&id)
            .is_some_and(|place| Arc::strong_count(&place.slot) <= 2)
        {
            part.remove(&id);
        }
    }
}

/// Drops the half that was not used for longest; what is being worked on stays.
fn evict(part: &mut HashMap<SessionId, Place>) {
    let mut uses: Vec<u64> = part.values().map(|place| place.used).collect();
    let middle = uses.len() / 2;
    let (_, median, _) = uses.select_nth_unstable(middle);
    let median = *median;
    part.retain(|_, place| place.used > median || Arc::strong_count(&place.slot) > 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> SessionId {
        SessionId::new(0, [n; 10])
    }

    #[test]
    fn a_slot_is_found_again_and_the_oldest_idle_ones_go() {
        let copies = WarmCopies::new(0);
        let first = copies.slot(id(0));
        assert!(Arc::ptr_eq(&first, &copies.slot(id(0))));
        for n in 1..=255 {
            copies.slot(id(n));
        }
        // Held ones stay whatever comes.
        assert!(Arc::ptr_eq(&first, &copies.slot(id(0))));
        let kept: usize = copies.parts.iter().map(|part| part.lock().unwrap().len()).sum();
        assert!(kept <= 2 * PARTS + 1, "{kept}");
    }
}
