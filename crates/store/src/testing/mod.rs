//! For tests, of this crate and of others: real Redis servers of every shape on free ports, and what a test may do to a store behind its
//! back. Panics are the tests' own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod proxy;
mod redis;
mod sentinel;

use async_trait::async_trait;
use tablemate_session::{Millis, SessionId};

pub use self::cluster::RedisCluster;
pub use self::proxy::Proxy;
pub use self::redis::RedisServer;
pub use self::sentinel::SentinelSet;
pub use crate::embedded::ManualTime;

/// What a test does to a store behind its back.
#[async_trait]
pub trait Tamper: Send + Sync {
    /// Sets a shard's last sign of life back by this much; nothing when there was none.
    async fn age_pulse(&self, shard: u16, by: Millis);

    /// A fail-over lost the log's tail: only its first `kept` entries are left.
    async fn lose_tail(&self, session: SessionId, kept: usize);
}

/// From now on this thread draws what would be the operating system's random bytes from `seed`, so that a run on one
/// thread can be repeated.
pub fn seed_entropy(seed: u64) {
    crate::entropy::seeded::set(seed);
}
