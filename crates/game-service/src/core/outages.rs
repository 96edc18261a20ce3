//! The outages of each shard that this replica knows of (S-12). The store says when there are others.

use std::sync::{Arc, PoisonError, RwLock};

use tablemate_session::fact::Outage;

/// The known outages of a shard in order of their ids.
pub(crate) type Known = Arc<[Outage]>;

/// The known outages, by shard.
pub(crate) struct Outages(Vec<RwLock<Known>>);

impl Outages {
    /// None known for any of so many shards.
    pub fn new(shards: u16) -> Self {
        Self((0..shards).map(|_| RwLock::new(Known::from([]))).collect())
    }

    /// Those of a shard.
    pub fn known(&self, shard: u16) -> Known {
        self.0
            .get(usize::from(shard))
            .map(|known| Arc::clone(&known.read().unwrap_or_else(PoisonError::into_inner)))
            .unwrap_or_else(|| Known::from([]))
    }

    /// Adds what the store has told beyond the known ones.
    pub fn learn(&self, shard: u16, told: &[tablemate_store::Outage]) {
        if told.is_empty() {
            return;
        }
        let Some(known) = self.0.get(usize::from(shard)) else {
            return;
        };
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        let last = known.last().map_or(0, |outage| outage.id);
        let new: Vec<Outage> = told
            .iter()
            .map(convert)
            .filter(|outage| outage.id > last)
            .collect();
        if !new.is_empty() {
            *known = known.iter().copied().chain(new).collect();
        }
    }

    /// Forgets a shard's outages: the store knows fewer than this replica does (it lost some in a fail-over).
    pub fn forget(&self, shard: u16) {
        if let Some(known) = self.0.get(usize::from(shard)) {
            *known.write().unwrap_or_else(PoisonError::into_inner) = Known::from([]);
        }
    }
}

/// The id of the newest of them; 0 for none.
pub(crate) fn newest(known: &Known) -> u64 {
    known.last().map_or(0, |outage| outage.id)
}

fn convert(outage: &tablemate_store::Outage) -> Outage {
    Outage {
        id: outage.id,
        from: outage.from,
        to: outage.to,
    }
}
