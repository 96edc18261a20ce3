//! What tests do to the embedded store behind its back.

use async_trait::async_trait;
use tablemate_session::{Instant, Millis, SessionId};

use super::EmbeddedStore;
use crate::testing::Tamper;

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
