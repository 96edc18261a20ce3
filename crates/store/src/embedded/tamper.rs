//! What tests do to the embedded store behind its back.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use tablemate_session::{Instant, Millis, SessionId};

use super::{Clock, EmbeddedStore};
use crate::hub::{Hub, lock};
use crate::testing::Tamper;

impl EmbeddedStore {
    /// Another store that holds what this one holds now, on the same clock: a replica of it, or what a fail-over
    /// leaves. What is published in one is not heard in the other.
    #[must_use]
    pub fn fork(&self) -> Self {
        let shard = |shard: &Mutex<super::sessions::Shard>| Mutex::new(lock(shard).fork());
        let halls: HashMap<_, _> = lock(&self.halls).clone();
        Self {
            deployment: self.deployment.clone(),
            clock: Clock::new(self.clock.source()),
            shards: self.shards.iter().map(shard).collect(),
            halls: Mutex::new(halls),
            players: Mutex::new(lock(&self.players).clone()),
            workers: Mutex::new(lock(&self.workers).clone()),
            applied_kept: self.applied_kept,
            live: Hub::new(|_| ()),
            outboxes: Hub::new(|_| ()),
            tickets: Hub::new(|_| ()),
        }
    }
}

#[async_trait]
impl Tamper for EmbeddedStore {
    async fn age_pulse(&self, shard: u16, by: Millis) {
        if let Ok((mut shard, _)) = self.shard(shard) {
            shard.pulse = shard.pulse.map(|pulse| Instant(pulse.0.saturating_sub(by.0)));
        }
    }

    async fn lose_tail(&self, session: SessionId, kept: usize) {
        if let Ok((mut shard, _)) = self.shard(session.shard())
            && let Some(log) = shard.logs.get_mut(&session)
        {
            log.entries.truncate(kept);
        }
    }
}
