//! Which shards and which hall this worker looks after.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tablemate_session::Millis;
use tablemate_store::hall_store::HallId;
use tablemate_store::worker_store::{WorkerId, owner};
use tablemate_store::{Result, StoreError};
use tracing::info;

use super::Tools;
use super::trouble::Trouble;

/// A lease is this many heartbeats long.
const LEASE_HEARTBEATS: u32 = 3;
/// The number by which a hall's owner is found; no shard has it.
const HALL: u16 = u16::MAX;

/// This worker among those that are alive. Cheap to clone; all clones see the same list.
#[derive(Clone, Debug)]
pub struct Ownership {
    me: WorkerId,
    list: Arc<RwLock<List>>,
}

#[derive(Debug)]
struct List {
    workers: Vec<WorkerId>,
    /// Those of this worker's hall.
    of_hall: Vec<WorkerId>,
}

impl Ownership {
    /// `me` with nobody else: until the first heartbeat is answered.
    #[must_use]
    pub fn alone(me: WorkerId) -> Self {
        let ownership = Self {
            list: Arc::new(RwLock::new(List {
                workers: Vec::new(),
                of_hall: Vec::new(),
            })),
            me: me.clone(),
        };
        ownership.set(vec![me]);
        ownership
    }

    /// Those who are alive now. Gives whether that is news.
    pub fn set(&self, workers: Vec<WorkerId>) -> bool {
        let of_hall = workers
            .iter()
            .filter(|worker| hall_of(worker) == hall_of(&self.me));
        let of_hall = of_hall.cloned().collect();
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let news = list.workers != workers;
        *list = List { workers, of_hall };
        news
    }

    /// Whether no other worker is known.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        list.workers.iter().all(|worker| *worker == self.me)
    }

    /// Whether this worker looks after the shard.
    #[must_use]
    pub fn owns(&self, shard: u16) -> bool {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        owner(shard, &list.workers).is_none_or(|owner| *owner == self.me)
    }

    /// Whether this worker looks after the shard's endings for its hall: one worker of each hall does.
    #[must_use]
    pub fn owns_for_hall(&self, shard: u16) -> bool {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        owner(shard, &list.of_hall).is_none_or(|owner| *owner == self.me)
    }

    /// Whether this worker looks after its hall.
    #[must_use]
    pub fn owns_hall(&self) -> bool {
        self.owns_for_hall(HALL)
    }
}

/// A name for a worker of this hall: `main/…`.
pub(super) fn worker_id(hall: &HallId) -> Result<WorkerId> {
    let name = format!("{}/{}", hall.as_str(), WorkerId::random()?.as_str());
    WorkerId::new(&name).ok_or(StoreError::BadArgument {
        why: "the hall's name fits into a worker's",
    })
}

fn hall_of(worker: &WorkerId) -> &str {
    worker.as_str().split_once('/').map_or("", |(hall, _)| hall)
}

/// Heartbeats until this worker leaves.
pub(super) async fn run(tools: Tools, ownership: Ownership) {
    let mut trouble = Trouble::with("heartbeat of this worker");
    let lease = tools.config.heartbeat.saturating_mul(LEASE_HEARTBEATS);
    let lease = Millis(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
    loop {
        let alive = tools.stores.workers.heartbeat(&ownership.me, lease).await;
        // Without an answer the old list is as good as any: to look after too much is harmless.
        if let Some(workers) = trouble.note(alive)
            && !tools.leave.is_cancelled()
            && ownership.set(workers.clone())
        {
            info!(
                worker = ownership.me.as_str(),
                workers = workers.len(),
                "workers alive"
            );
        }
        tokio::select! {
            biased;
            () = tools.leave.cancelled() => {
                // A heartbeat may have been on its way when this worker left.
                let _ = tools.stores.workers.leave(&ownership.me).await;
                return;
            }
            () = tokio::time::sleep(jittered(tools.config.heartbeat)) => {}
        }
    }
}

/// A little less than `time`, so that heartbeats of many workers do not come together for ever.
fn jittered(time: Duration) -> Duration {
    let mut byte = [0; 1];
    // Without random bytes there is no jitter, which is no harm.
    let _ = tablemate_store::entropy::fill(&mut byte);
    time.mul_f64(1.0 - f64::from(byte[0]) / 2_560.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str) -> WorkerId {
        WorkerId::new(name).unwrap()
    }

    #[test]
    fn every_shard_has_one_owner_and_every_hall_one_of_its_own() {
        let all = vec![worker("a/1"), worker("a/2"), worker("b/1")];
        let views: Vec<_> = all
            .iter()
            .map(|me| {
                let view = Ownership::alone(me.clone());
                assert!(view.owns(0) && view.owns_hall());
                assert!(view.set(all.clone()) && !view.set(all.clone()));
                view
            })
            .collect();
        for shard in 0..64 {
            assert_eq!(views.iter().filter(|view| view.owns(shard)).count(), 1);
            assert_eq!(
                views[..2].iter().filter(|view| view.owns_for_hall(shard)).count(),
                1
            );
            assert!(views[2].owns_for_hall(shard));
        }
        assert_eq!(views[..2].iter().filter(|view| view.owns_hall()).count(), 1);
        assert!(views[2].owns_hall());
    }

    #[test]
    fn the_longest_hall_name_fits_into_a_workers() {
        let hall = HallId::new(&"h".repeat(32)).unwrap();
        assert!(worker_id(&hall).is_ok());
    }
}
