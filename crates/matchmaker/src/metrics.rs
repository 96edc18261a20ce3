//! What the matchmaker counts. Nothing is counted when nothing is exported.

use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::{KeyValue, global};

use crate::settlement::Progress;

/// The instruments. Cheap to clone. Make it after telemetry is set up.
#[derive(Clone, Debug)]
pub struct Metrics {
    tickets: Counter<u64>,
    timers_fired: Counter<u64>,
    timer_lateness_ms: Histogram<f64>,
    timers_taken_over: Counter<u64>,
    timers_failed: Counter<u64>,
    results: Counter<u64>,
    claims_released: Counter<u64>,
}

impl Metrics {
    /// Instruments of the process's meter.
    #[must_use]
    pub fn new() -> Self {
        let meter = global::meter("tablemate");
        let counter = |name, description| meter.u64_counter(name).with_description(description).build();
        Self {
            tickets: counter("tablemate.tickets", "Tickets, by what became of them"),
            timers_fired: counter("tablemate.timers.fired", "Sessions in which a deadline was fired"),
            timer_lateness_ms: meter
                .f64_histogram("tablemate.timers.lateness")
                .with_unit("ms")
                .with_description("How late deadlines were noticed")
                .with_boundaries(vec![
                    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 250.0, 1_000.0, 10_000.0,
                ])
                .build(),
            timers_taken_over: counter(
                "tablemate.timers.taken_over",
                "Rounds over shards of other workers that were overdue",
            ),
            timers_failed: counter(
                "tablemate.timers.failed",
                "Sessions whose deadline could not be fired",
            ),
            results: counter(
                "tablemate.results",
                "Results in the outbox, by what became of them",
            ),
            claims_released: counter(
                "tablemate.claims.released",
                "Claims of players that ended sessions released",
            ),
        }
    }

    /// A ticket became `what`.
    pub(crate) fn ticket(&self, what: &'static str, count: usize) {
        if count > 0 {
            self.tickets.add(count as u64, &[KeyValue::new("state", what)]);
        }
    }

    /// A round over a shard's deadlines.
    pub(crate) fn fired(&self, sessions: u32, failed: u32, lateness_ms: &[u32], owned: bool) {
        if sessions > 0 {
            self.timers_fired.add(sessions.into(), &[]);
        }
        if failed > 0 {
            self.timers_failed.add(failed.into(), &[]);
        }
        if !owned {
            self.timers_taken_over.add(1, &[]);
        }
        for lateness in lateness_ms {
            self.timer_lateness_ms.record(f64::from(*lateness), &[]);
        }
    }

    /// A round of settlement.
    pub(crate) fn settled(&self, progress: &Progress) {
        for (what, count) in [
            ("applied", progress.applied),
            ("repeated", progress.repeated),
            ("contradiction", progress.contradictions),
            ("untouched", progress.untouched),
            ("unreadable", progress.unreadable),
        ] {
            if count > 0 {
                self.results.add(count, &[KeyValue::new("what", what)]);
            }
        }
    }

    /// Claims were released.
    pub(crate) fn released(&self, count: u64) {
        if count > 0 {
            self.claims_released.add(count, &[]);
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
