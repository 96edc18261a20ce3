//! What the game service counts. Nothing is counted when nothing is exported.

use opentelemetry::metrics::{Counter, UpDownCounter};
use opentelemetry::{KeyValue, global};
use tablemate_store::CommitAnswer;

/// The instruments. Made after telemetry is set up.
#[derive(Debug)]
pub(crate) struct Metrics {
    commits: Counter<u64>,
    streams: UpDownCounter<i64>,
    streams_ended: Counter<u64>,
}

impl Metrics {
    pub fn new() -> Self {
        let meter = global::meter("tablemate");
        Self {
            commits: meter
                .u64_counter("tablemate.commits")
                .with_description("Commits of sessions, by the store's answer")
                .build(),
            streams: meter
                .i64_up_down_counter("tablemate.streams")
                .with_description("Watch streams that are open")
                .build(),
            streams_ended: meter
                .u64_counter("tablemate.streams.ended")
                .with_description("Watch streams that ended, by why")
                .build(),
        }
    }

    /// The store answered a commit.
    pub fn commit(&self, answer: &CommitAnswer) {
        let answer = match answer {
            CommitAnswer::Committed { .. } => "committed",
            CommitAnswer::Conflict { .. } => "conflict",
            CommitAnswer::Diverged => "diverged",
            CommitAnswer::OutageChanged { .. } => "outage_changed",
            CommitAnswer::PulseTooOld => "pulse_too_old",
            CommitAnswer::NowRefused { .. } => "now_refused",
            CommitAnswer::DeadlinePassed { .. } => "deadline_passed",
        };
        self.commits.add(1, &[KeyValue::new("answer", answer)]);
    }

    /// A watch stream was opened.
    pub fn stream_opened(&self) {
        self.streams.add(1, &[]);
    }

    /// A watch stream ended.
    pub fn stream_ended(&self, why: &'static str) {
        self.streams.add(-1, &[]);
        self.streams_ended.add(1, &[KeyValue::new("reason", why)]);
    }
}
