//! Pulses: once a second this replica says to every shard that it can write (S-12).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::Core;

const PULSE_EVERY: Duration = Duration::from_secs(1);

/// Pulses until the replica has stopped.
pub(crate) async fn run(core: Arc<Core>, stopped: tokio_util::sync::CancellationToken) {
    let shards: Vec<u16> = (0..core.stores.sessions.deployment().shards).collect();
    let mut ticks = tokio::time::interval(PULSE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            _ = ticks.tick() => {}
        }
        match core.stores.sessions.pulse(&shards).await {
            Ok(pulses) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("pulses reach the store again");
                }
                for pulse in pulses {
                    if let Some(outage) = pulse.outage {
                        tracing::warn!(
                            shard = pulse.shard,
                            outage = outage.id,
                            length_ms = outage.to.since(outage.from).0,
                            "outage recorded"
                        );
                    }
                    core.outages.learn(pulse.shard, pulse.outage.as_slice());
                }
            }
            // Once, not every second: the metrics and the readiness of the store tell the rest.
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(%error, "pulses do not reach the store");
            }
            Err(_) => {}
        }
    }
}
