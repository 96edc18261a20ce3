//! The embedded store's clock: wall time, never below what it said before.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use tablemate_session::Instant;

use crate::hub::lock;
use crate::session_store::NOW_WINDOW;

/// Where wall time comes from.
#[derive(Clone)]
pub(crate) enum Source {
    /// The operating system.
    System,
    /// A test's hand: the number is the time, wall and monotonic alike.
    #[cfg(any(test, feature = "testing"))]
    Manual(std::sync::Arc<ManualTime>),
}

/// A clock that a test sets by hand.
#[cfg(any(test, feature = "testing"))]
#[derive(Default)]
pub struct ManualTime {
    wall: std::sync::atomic::AtomicU64,
    monotonic: std::sync::atomic::AtomicU64,
}

#[cfg(any(test, feature = "testing"))]
impl ManualTime {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn at(now: Instant) -> Self {
        let time = Self::default();
        time.wall.store(now.0, std::sync::atomic::Ordering::SeqCst);
        time
    }

    /// Time passes.
    pub fn pass(&self, length: tablemate_session::Millis) {
        self.wall.fetch_add(length.0, std::sync::atomic::Ordering::SeqCst);
        self.monotonic
            .fetch_add(length.0, std::sync::atomic::Ordering::SeqCst);
    }

    /// Somebody sets the wall clock; no time passes.
    pub fn step_to(&self, now: Instant) {
        self.wall.store(now.0, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Source {
    fn wall(&self) -> u64 {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            }
            #[cfg(any(test, feature = "testing"))]
            Self::Manual(time) => time.wall.load(std::sync::atomic::Ordering::SeqCst),
        }
    }

    fn monotonic(&self, start: std::time::Instant) -> u64 {
        match self {
            Self::System => u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
            #[cfg(any(test, feature = "testing"))]
            Self::Manual(time) => time.monotonic.load(std::sync::atomic::Ordering::SeqCst),
        }
    }
}

/// A clock that remembers its steps forward, for every shard to note as an outage before it acts on the new time.
pub(crate) struct Clock {
    source: Source,
    start: std::time::Instant,
    state: Mutex<State>,
}

struct State {
    last: u64,
    last_monotonic: u64,
    steps: Vec<Step>,
}

/// The wall clock was set forward, or the machine slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

impl Clock {
    pub(crate) fn new(source: Source) -> Self {
        let start = std::time::Instant::now();
        let state = State {
            last: source.wall(),
            last_monotonic: source.monotonic(start),
            steps: Vec::new(),
        };
        Self {
            source,
            start,
            state: Mutex::new(state),
        }
    }

    /// Where its time comes from, for another clock.
    #[cfg(feature = "testing")]
    pub(crate) fn source(&self) -> Source {
        self.source.clone()
    }

    /// Now, and all steps from the `seen`-th on.
    pub(crate) fn read(&self, seen: usize) -> (Instant, Vec<Step>) {
        let mut state = lock(&self.state);
        let (wall, monotonic) = (self.source.wall(), self.source.monotonic(self.start));
        let expected = state
            .last
            .saturating_add(monotonic.saturating_sub(state.last_monotonic));
        if wall > expected.saturating_add(NOW_WINDOW.0) {
            state.steps.push(Step {
                from: Instant(expected),
                to: Instant(wall),
            });
        }
        state.last = state.last.max(wall);
        state.last_monotonic = monotonic;
        let steps = state.steps.get(seen..).unwrap_or_default().to_vec();
        (Instant(state.last), steps)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tablemate_session::Millis;

    use super::*;

    #[test]
    fn a_step_back_stalls_and_a_step_forward_is_remembered() {
        let time = Arc::new(ManualTime::at(Instant(10_000)));
        let clock = Clock::new(Source::Manual(Arc::clone(&time)));
        time.pass(Millis(5_000));
        assert_eq!(clock.read(0), (Instant(15_000), vec![]));
        time.step_to(Instant(14_000));
        assert_eq!(clock.read(0), (Instant(15_000), vec![]));
        time.step_to(Instant(15_250));
        assert_eq!(clock.read(0), (Instant(15_250), vec![]));
        time.step_to(Instant(16_000));
        let step = Step {
            from: Instant(15_250),
            to: Instant(16_000),
        };
        assert_eq!(clock.read(0), (Instant(16_000), vec![step]));
        assert_eq!(clock.read(1), (Instant(16_000), vec![]));
    }
}
