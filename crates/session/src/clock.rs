//! Running intervals: a start and a length, moved as a whole by outages (S-12).

use crate::fact::Outage;
use crate::time::{Instant, Millis};

/// A stretch of time that runs out. Kept as start and length, so that an outage moves it by moving its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub start: Instant,
    pub length: Millis,
}

impl Interval {
    pub const fn new(start: Instant, length: Millis) -> Self {
        Self { start, length }
    }

    /// The instant at which it runs out; it has passed only after that (S-10).
    pub const fn deadline(self) -> Instant {
        self.start.after(self.length)
    }

    /// Moves what still ran when the outage began (S-12).
    pub fn compensate(&mut self, outage: &Outage) {
        if self.deadline() > outage.from {
            self.start = compensated(self.start, outage);
        }
    }
}

/// Where a start lies once the outage is taken out of time: later by its length, or at its end when it lay inside.
pub(crate) fn compensated(start: Instant, outage: &Outage) -> Instant {
    if start <= outage.from {
        start.after(outage.to.since(outage.from))
    } else {
        start.max(outage.to)
    }
}

/// The idle time (S-4): what is left of it, and since when it runs; it is suspended while a countdown runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    left: Millis,
    since: Option<Instant>,
}

impl Idle {
    /// No idle time runs or waits to run (a game is on, or the session has ended).
    pub const STOPPED: Self = Self {
        left: Millis::ZERO,
        since: None,
    };

    pub const fn started(at: Instant, length: Millis) -> Self {
        Self {
            left: length,
            since: Some(at),
        }
    }

    pub fn deadline(self) -> Option<Instant> {
        self.since.map(|since| since.after(self.left))
    }

    pub fn suspend(&mut self, at: Instant) {
        if let Some(since) = self.since.take() {
            self.left = self.left.minus(at.since(since));
        }
    }

    pub fn resume(&mut self, at: Instant) {
        if self.since.is_none() {
            self.since = Some(at);
        }
    }

    pub fn compensate(&mut self, outage: &Outage) {
        if let Some(since) = self.since {
            let mut interval = Interval::new(since, self.left);
            interval.compensate(outage);
            self.since = Some(interval.start);
        }
    }
}
