//! Who is at work: heartbeats, and which worker owns which shard.

use async_trait::async_trait;
use tablemate_session::Millis;

use crate::error::Result;

/// Names a worker process: 1 to 64 printable ASCII characters, drawn anew at every start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(String);

impl WorkerId {
    /// The worker of this name; `None` when it is no name for a worker.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = (1..=64).contains(&name.len());
        (fits && name.bytes().all(|b| b.is_ascii_graphic())).then(|| Self(name.to_owned()))
    }

    /// A name that no other process has.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) when the operating system gives no random bytes.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 10];
        crate::entropy::fill(&mut bytes)?;
        Ok(Self(
            data_encoding::BASE32HEX_NOPAD.encode(&bytes).to_ascii_lowercase(),
        ))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Heartbeats. Object safe. Errors as of [`SessionStore`](crate::SessionStore).
#[async_trait]
pub trait WorkerStore: Send + Sync + 'static {
    /// This worker is alive for `lease` more. Gives everybody who is, this one included, in order of names.
    async fn heartbeat(&self, worker: &WorkerId, lease: Millis) -> Result<Vec<WorkerId>>;

    /// This worker stops.
    async fn leave(&self, worker: &WorkerId) -> Result<()>;
}

/// The worker that owns a shard, by rendezvous hashing: when a worker comes or goes only its own shards move. Two
/// workers with different lists may both own one; that must be harmless.
#[must_use]
pub fn owner(shard: u16, workers: &[WorkerId]) -> Option<&WorkerId> {
    workers.iter().max_by_key(|worker| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&shard.to_be_bytes()).update(worker.0.as_bytes());
        let hash = hasher.finalize();
        let mut weight = [0; 8];
        weight.copy_from_slice(&hash.as_bytes()[..8]);
        (u64::from_be_bytes(weight), *worker)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(names: &[&str]) -> Vec<WorkerId> {
        names.iter().map(|name| WorkerId::new(name).unwrap()).collect()
    }

    #[test]
    fn a_leaving_worker_moves_only_its_own_shards() {
        let three = workers(&["a", "b", "c"]);
        let two = workers(&["a", "c"]);
        let mut owned = [0; 3];
        for shard in 0..64 {
            let before = owner(shard, &three).unwrap();
            owned[three.iter().position(|w| w == before).unwrap()] += 1;
            if before.as_str() != "b" {
                assert_eq!(owner(shard, &two), Some(before));
            }
        }
        assert!(owned.iter().all(|count| *count >= 10), "{owned:?}");
        assert_eq!(owner(1, &[]), None);
    }
}
