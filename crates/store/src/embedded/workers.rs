//! Heartbeats in this process.

use async_trait::async_trait;
use tablemate_session::Millis;

use super::EmbeddedStore;
use crate::error::Result;
use crate::hub::lock;
use crate::worker_store::{WorkerId, WorkerStore};

#[async_trait]
impl WorkerStore for EmbeddedStore {
    async fn heartbeat(&self, worker: &WorkerId, lease: Millis) -> Result<Vec<WorkerId>> {
        let now = self.clock_now();
        let mut workers = lock(&self.workers);
        workers.insert(worker.clone(), now.after(lease));
        workers.retain(|_, until| *until > now);
        let mut alive: Vec<WorkerId> = workers.keys().cloned().collect();
        alive.sort_unstable();
        Ok(alive)
    }

    async fn leave(&self, worker: &WorkerId) -> Result<()> {
        lock(&self.workers).remove(worker);
        Ok(())
    }
}
