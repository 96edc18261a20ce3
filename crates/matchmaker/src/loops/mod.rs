//! The worker loops: what has to happen although nobody calls.
//!
//! Each shard, and each hall, has one worker that looks after it, found by rendezvous hashing over the list of
//! heartbeats. Nothing depends on there being exactly one: all work can be done twice, and what its owner leaves lying is
//! taken by others.

mod deadlines;
mod hall;
mod janitor;
mod ownership;
mod settlement;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use tablemate_session::Millis;
use tablemate_store::hall_store::HallId;
use tablemate_store::worker_store::WorkerId;
use tablemate_store::{Result, Stores};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::games::GameServices;
use crate::matches::Matches;
use crate::metrics::Metrics;
use crate::settlement::{Releaser, Settler};
pub use ownership::Ownership;

/// How long after the others' next heartbeat a leaving worker still works: until they have begun.
const HANDED_OVER: Duration = Duration::from_millis(100);

/// How the loops run. The defaults suit everything that is not a test.
#[derive(Clone, Debug)]
pub struct LoopConfig {
    /// How often a worker shows that it is alive. It counts as gone after three of them.
    pub heartbeat: Duration,
    /// How often a shard's earliest deadline is asked for; what is known to come sooner is waited for exactly.
    pub deadline_poll: Duration,
    /// How long after a deadline anybody fires it, not only the shard's owner.
    pub overdue: Millis,
    /// How many sessions of a shard are fired in one call.
    pub fire_limit: u32,
    /// How many shards are fired at once.
    pub fire_parallel: usize,
    /// How often an outbox is read when nothing wakes the reader.
    pub settle_poll: Duration,
    /// How old an unfinished match is before a worker finishes it.
    pub match_age: Millis,
    /// How often the hall is looked over: unfinished matches, expired tickets, pairs that nobody made.
    pub hall_poll: Duration,
    /// How long results stay in an outbox after settlement.
    pub outbox_kept: Millis,
    /// How often outboxes are trimmed and lost sessions looked for.
    pub janitor_poll: Duration,
}

impl Default for LoopConfig {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(1),
            deadline_poll: Duration::from_millis(100),
            overdue: Millis(250),
            fire_limit: 256,
            fire_parallel: 16,
            settle_poll: Duration::from_secs(1),
            match_age: Millis(250),
            hall_poll: Duration::from_millis(250),
            outbox_kept: Millis::hours(7 * 24),
            janitor_poll: Duration::from_secs(60),
        }
    }
}

/// What the loops work with.
#[derive(Clone)]
pub(crate) struct Tools {
    pub stores: Stores,
    pub hall: HallId,
    pub games: GameServices,
    pub matches: Matches,
    pub settler: Settler,
    pub releaser: Releaser,
    pub metrics: Metrics,
    pub config: Arc<LoopConfig>,
    /// Cancelled when this worker has to hand its shards over.
    pub leave: CancellationToken,
    /// Cancelled when the loops have to stop: after the handing over.
    pub stop: CancellationToken,
}

impl Tools {
    /// Waits; `false` when the loops have to stop.
    async fn sleep(&self, time: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(time) => true,
        }
    }
}

/// Runs all loops until `tools.leave` is cancelled; then hands the shards over: this worker leaves the list at once, and
/// works on until every other one has read the list anew, so that nobody's deadline waits meanwhile.
///
/// # Errors
/// The store's, when this worker cannot get a name.
pub(crate) async fn run(tools: Tools) -> Result<()> {
    let me = ownership::worker_id(&tools.hall)?;
    let ownership = Ownership::alone(me.clone());
    let tasks = TaskTracker::new();
    tasks.spawn(ownership::run(tools.clone(), ownership.clone()));
    let parallel = Arc::new(Semaphore::new(tools.config.fire_parallel.max(1)));
    let shards = tools.stores.sessions.deployment().shards;
    let wakers = settlement::Wakers::new(shards);
    let firing = trouble::Group::with("firing of deadlines");
    let settlement_troubles = settlement::Troubles::new();
    for shard in 0..shards {
        tasks.spawn(deadlines::run(
            tools.clone(),
            ownership.clone(),
            shard,
            parallel.clone(),
            firing.member(),
        ));
        tasks.spawn(settlement::run(
            tools.clone(),
            ownership.clone(),
            shard,
            wakers.of(shard),
            settlement_troubles.clone(),
        ));
    }
    tasks.spawn(settlement::wake(tools.clone(), wakers));
    tasks.spawn(hall::run(tools.clone(), ownership.clone()));
    tasks.spawn(janitor::run(tools.clone(), ownership.clone()));
    tasks.close();
    tools.leave.cancelled().await;
    if leave(&tools, &me).await && !ownership.is_alone() {
        tokio::time::sleep(tools.config.heartbeat.saturating_add(HANDED_OVER)).await;
    }
    tools.stop.cancel();
    tasks.wait().await;
    Ok(())
}

/// Tells the others that this worker goes, so that they need not wait for its lease to end. Gives whether somebody hears
/// it.
async fn leave(tools: &Tools, me: &WorkerId) -> bool {
    match tools.stores.workers.leave(me).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "the other workers have to wait for this one's lease to end");
            false
        }
    }
}
