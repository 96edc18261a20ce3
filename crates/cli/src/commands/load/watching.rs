//! Reading a session's stream, with the times that its messages tell.

use std::time::Duration;

use prost_types::Timestamp;
use tablemate_client::v1::event::Kind;
use tablemate_client::{Error, UpdateKind, Watch, v1};

use crate::commands::load::stats::{Broken, Stats, Timed, Violation, count};
use crate::commands::load::witness::Witness;

/// A watched session.
pub struct Watching {
    watch: Watch,
    /// What was seen.
    pub witness: Witness,
    /// The server's clock when the connection in use was made: what happened earlier is history, not news.
    connected_at: Option<Timestamp>,
    reconnects: u64,
    /// Updates that were read, heartbeats aside.
    pub events: u64,
}

impl Watching {
    /// Watches with a fresh witness.
    pub fn new(watch: Watch) -> Watching {
        Watching {
            watch,
            witness: Witness::default(),
            connected_at: None,
            reconnects: 0,
            events: 0,
        }
    }

    /// Reads one update; `false` at the end of the stream. May be broken off without losing anything.
    pub async fn read(&mut self, stats: &Stats) -> Result<bool, Error> {
        let Some(update) = self.watch.next().await else {
            return Ok(false);
        };
        let update = update?;
        if self.connected_at.is_none() || self.watch.reconnects() != self.reconnects {
            self.reconnects = self.watch.reconnects();
            self.connected_at = update.server_now;
        }
        match update.kind {
            UpdateKind::Snapshot(session) | UpdateKind::Resynchronise(session) => {
                self.witness.snapshot(&session);
            }
            UpdateKind::Event(event) => {
                self.events += 1;
                count(&stats.counters.events);
                self.time(stats, update.server_now, &event);
                self.witness.event(*event);
            }
            UpdateKind::Presence(_) | UpdateKind::Heartbeat { .. } => {}
        }
        Ok(true)
    }

    /// Drops the connection; the next update comes over another one.
    pub fn drop_connection(&mut self) {
        self.watch.drop_connection();
    }

    /// Adds what the stream did to the counts and gives what was seen.
    pub fn close(self, stats: &Stats) -> (Witness, Vec<Violation>) {
        use std::sync::atomic::Ordering::Relaxed;
        stats
            .counters
            .reconnects
            .fetch_add(self.watch.reconnects(), Relaxed);
        stats
            .counters
            .resynchronised
            .fetch_add(self.watch.resynchronised(), Relaxed);
        let anomalies = self.watch.anomalies();
        let mut violations = Vec::new();
        if anomalies.gaps > 0 {
            violations.push(Broken::StreamGap.because(format!("{} gaps in the stream", anomalies.gaps)));
        }
        if anomalies.doubled > 0 {
            violations.push(Broken::StreamGap.because(format!("{} events came twice", anomalies.doubled)));
        }
        (self.witness, violations)
    }

    fn time(&self, stats: &Stats, server_now: Option<Timestamp>, event: &v1::Event) {
        let automatic = event.actor.is_some_and(|actor| actor.automatic);
        if automatic && matches!(event.kind, Some(Kind::Moved(_))) {
            count(&stats.counters.auto_moves);
        }
        let (Some(now), Some(at), Some(connected)) = (&server_now, &event.at, &self.connected_at) else {
            return;
        };
        if micros(at) <= micros(connected) {
            return;
        }
        let late = u64::try_from(micros(now).saturating_sub(micros(at))).unwrap_or(0);
        let timed = if automatic {
            Timed::TimerLateness
        } else {
            Timed::EventDelivery
        };
        stats.record(timed, Duration::from_micros(late));
    }
}

fn micros(at: &Timestamp) -> i64 {
    at.seconds
        .saturating_mul(1_000_000)
        .saturating_add(i64::from(at.nanos) / 1000)
}
