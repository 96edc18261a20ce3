//! Heartbeats in Redis.

use async_trait::async_trait;
use tablemate_session::Millis;

use super::fault::Effect;
use super::link::Call;
use super::scripts::SCRIPTS;
use super::{RedisStore, keys};
use crate::error::Result;
use crate::worker_store::{WorkerId, WorkerStore};

#[async_trait]
impl WorkerStore for RedisStore {
    async fn heartbeat(&self, worker: &WorkerId, lease: Millis) -> Result<Vec<WorkerId>> {
        let call = Call::new(&SCRIPTS.heartbeat, [keys::WORKERS.to_vec()])
            .bytes(worker.as_str().as_bytes())
            .number(lease.0);
        let (_, mut reply, _) = self.run(&call, "heartbeat", Effect::Signs).await?;
        let mut alive = reply.list()?.each(|reply| {
            let name = reply.text()?;
            WorkerId::new(&name).ok_or_else(|| reply.bad("holds no worker's name"))
        })?;
        alive.sort_unstable();
        Ok(alive)
    }

    async fn leave(&self, worker: &WorkerId) -> Result<()> {
        let mut command = redis::cmd("ZREM");
        command.arg(keys::WORKERS).arg(worker.as_str());
        self.link
            .command("workers", keys::WORKERS, &command, Effect::Signs)
            .await?;
        Ok(())
    }
}
