//! The store: its traits, the Redis one, the embedded one, and the contract suite that both must pass.
//!
//! To the store, facts, results, tickets and records are bytes. What it knows is order, time and uniqueness: a log is
//! appended to only where it ends (compared by chained tags), only at a time that the shard's own clock confirms, and
//! never past a deadline that the caller did not know to have passed.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod args;
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
pub use redis::{RedisSettings, RedisStore, RedisUrl};
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

/// Which store, from its URL. It shows itself without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`: in this process, not shared.
    Memory,
    /// A Redis: `redis://host:port/`, `redis+sentinel://host:port,host:port/service`,
    /// `redis+cluster://host:port,host:port/`, and the same with `rediss` for TLS.
    Redis(Box<RedisUrl>),
}

impl std::str::FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self> {
        match url {
            "memory:" | "memory" => Ok(Self::Memory),
            url if RedisUrl::knows(url) => Ok(Self::Redis(Box::new(url.parse()?))),
            _ => Err(StoreError::BadUrl {
                why:
                    "it begins with none of memory:, redis://, rediss://, redis+sentinel://, redis+cluster://"
                        .to_owned(),
            }),
        }
    }
}

impl std::fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Redis(url) => url.fmt(f),
        }
    }
}

/// Opens the store that `url` names, see [`StoreUrl`].
///
/// # Errors
/// [`StoreError::BadUrl`], [`StoreError::Unavailable`], or [`StoreError::Incompatible`] when the deployment was born
/// with other settings than wished for or the server is unfit to keep games.
pub async fn connect(url: &str, wish: DeploymentWish) -> Result<Stores> {
    open(&url.parse()?, wish).await
}

/// Opens a store.
///
/// # Errors
/// As [`connect`].
pub async fn open(url: &StoreUrl, wish: DeploymentWish) -> Result<Stores> {
    match url {
        StoreUrl::Memory => Ok(Stores::of(&Arc::new(EmbeddedStore::open(wish)?))),
        StoreUrl::Redis(url) => Ok(Stores::of(&Arc::new(RedisStore::open_at(url, wish).await?))),
    }
}
