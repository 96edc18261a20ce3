//! The store: its traits, the Redis one, the embedded one, and the contract suite that both must pass.
//!
//! To the store, facts, results, tickets and records are bytes. What it knows is order, time and uniqueness: a log is
//! appended to only where it ends (compared by chained tags), only at a time that the shard's own clock confirms, and
//! never past a deadline that the caller did not know to have passed.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "contract")]
pub mod contract;
pub mod cursor;
pub mod deployment;
pub mod embedded;
pub mod entropy;
pub mod error;
pub mod hall_store;
mod hub;
pub mod player_store;
pub mod redis;
pub mod session_store;
pub mod shards;
pub mod tag;
#[cfg(feature = "testing")]
pub mod testing;
pub mod worker_store;

use std::sync::Arc;

pub use cursor::Cursor;
pub use deployment::{Deployment, DeploymentWish};
pub use embedded::EmbeddedStore;
pub use error::{Result, StoreError};
pub use hall_store::HallStore;
pub use player_store::PlayerStore;
pub use redis::RedisStore;
pub use session_store::{Commit, CommitAnswer, Outage, Read, SessionStore};
pub use tag::{Entry, Tag, chain};
pub use worker_store::WorkerStore;

/// All that a service needs of the store. Cheap to clone.
#[derive(Clone)]
pub struct Stores {
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Tickets, claims, matches.
    pub halls: Arc<dyn HallStore>,
    /// Players' records.
    pub players: Arc<dyn PlayerStore>,
    /// Heartbeats of workers.
    pub workers: Arc<dyn WorkerStore>,
}

impl<S: SessionStore + HallStore + PlayerStore + WorkerStore> From<S> for Stores {
    fn from(store: S) -> Self {
        Self::of(&Arc::new(store))
    }
}

impl Stores {
    /// All parts of one store.
    #[must_use]
    pub fn of<S: SessionStore + HallStore + PlayerStore + WorkerStore>(store: &Arc<S>) -> Self {
        Self {
            sessions: store.clone(),
            halls: store.clone(),
            players: store.clone(),
            workers: store.clone(),
        }
    }
}

/// Opens the store that `url` names: `memory:` (in this process, not shared) or `redis://host:port/`.
///
/// # Errors
/// [`StoreError::BadUrl`], [`StoreError::Unavailable`], or [`StoreError::Incompatible`] when the deployment was born
/// with other settings than wished for.
pub async fn connect(url: &str, wish: DeploymentWish) -> Result<Stores> {
    if url == "memory:" {
        Ok(Stores::of(&Arc::new(EmbeddedStore::open(wish)?)))
    } else if url.starts_with("redis://") {
        Ok(Stores::of(&Arc::new(RedisStore::open(url, wish).await?)))
    } else {
        let why = "it begins with neither memory: nor redis://".to_owned();
        Err(StoreError::BadUrl { why })
    }
}
