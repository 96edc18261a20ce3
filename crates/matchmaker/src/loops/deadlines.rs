//! Fires the deadlines of one shard when they have passed (S-2, S-4, S-9, S-10; retention too).
//!
//! The result of a session does not depend on this loop being punctual (S-11): it is for the players, who wait.

use std::sync::Arc;
use std::time::Duration;

use tablemate_protocol::convert::time;
use tablemate_session::{Instant, Millis};
use thiserror::Error;
use tokio::sync::Semaphore;

use super::trouble::Trouble;
use super::{Ownership, Tools};

/// How often the shard's own clock is asked whether something is due. Between that its estimate is good enough, unless
/// somebody sets the clock.
const CLOCK_CHECK: Duration = Duration::from_secs(1);
/// How long to wait when a round changed nothing although something was due: sessions that cannot be fired stay in the
/// index.
const IDLE_ROUND_WAIT: Duration = Duration::from_millis(250);

#[derive(Debug, Error)]
enum Failed {
    #[error(transparent)]
    Store(#[from] tablemate_store::StoreError),
    #[error("no game service fired: {} {}", .0.code(), .0.message())]
    GameServices(Box<tonic::Status>),
}

/// Looks after one shard until the loops stop.
pub(super) async fn run(
    tools: Tools,
    ownership: Ownership,
    shard: u16,
    parallel: Arc<Semaphore>,
    mut trouble: Trouble,
) {
    let spread = tools.config.deadline_poll.mul_f64(f64::from(shard % 64) / 64.0);
    // Shards start one after the other, so that their polls do not come all at once.
    let mut wait = spread;
    let mut checked = tokio::time::Instant::now();
    while tools.sleep(wait).await {
        let owned = ownership.owns(shard);
        let check = checked.elapsed() >= CLOCK_CHECK;
        if check {
            checked = tokio::time::Instant::now();
        }
        let round = round(&tools, shard, owned, check, &parallel).await;
        wait = trouble.note(round).unwrap_or(IDLE_ROUND_WAIT);
    }
}

/// Fires what is due; gives how long to wait until the next look.
async fn round(
    tools: &Tools,
    shard: u16,
    owned: bool,
    check: bool,
    parallel: &Semaphore,
) -> Result<Duration, Failed> {
    let sessions = &tools.stores.sessions;
    if check {
        // Corrects the estimate by the answer's time.
        sessions.due(shard, 1).await?;
    }
    let grace = if owned { Millis::ZERO } else { tools.config.overdue };
    let next = sessions.next_due(shard).await?;
    // A deadline has passed when now is after it (S-10).
    let Some(due_at) = next.map(|deadline| deadline.after(grace).after(Millis(1))) else {
        return Ok(poll(tools, owned));
    };
    let now = sessions.now(shard);
    if now < due_at {
        return Ok(until(now, due_at).min(poll(tools, owned)));
    }
    let Ok(_permit) = parallel.acquire().await else {
        return Ok(poll(tools, owned));
    };
    let fired = tools
        .games
        .fire_due(shard, tools.config.fire_limit)
        .await
        .map_err(|status| Failed::GameServices(Box::new(status)))?;
    tools.metrics.fired(
        fired.sessions_fired,
        fired.sessions_failed,
        &fired.lateness_ms,
        owned,
    );
    if fired.sessions_failed > 0 {
        tracing::warn!(
            shard,
            sessions = fired.sessions_failed,
            "deadlines could not be fired"
        );
    }
    let changed = fired.sessions_fired > 0 || fired.sessions_deleted > 0;
    if fired.more_due && changed {
        return Ok(Duration::ZERO);
    }
    let next = fired.next_deadline.as_ref().map(time::instant);
    let now = sessions.now(shard);
    Ok(match next {
        Some(deadline) if deadline >= now => {
            until(now, deadline.after(grace).after(Millis(1))).min(poll(tools, owned))
        }
        Some(_) if !changed => IDLE_ROUND_WAIT,
        _ => poll(tools, owned),
    })
}

/// How long a look at the shard may be put off when nothing is known to come.
fn poll(tools: &Tools, owned: bool) -> Duration {
    if owned {
        tools.config.deadline_poll
    } else {
        tools
            .config
            .deadline_poll
            .max(Duration::from_millis(tools.config.overdue.0))
    }
}

fn until(now: Instant, then: Instant) -> Duration {
    Duration::from_millis(then.since(now).0)
}
