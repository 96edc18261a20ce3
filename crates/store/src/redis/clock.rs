//! A replica's estimate of the store's clock, made without asking (S-7).

use std::sync::Mutex;
use std::time::Instant as Monotonic;

use tablemate_session::Instant;

use crate::hub::lock;
use crate::session_store::NOW_WINDOW;

/// The best probe so far: the store said `time` in an answer that was here at `received`.
///
/// The store read its clock before the answer was here, so `time` plus what passed since is never ahead of the store's
/// clock; the largest such value is the best estimate.
#[derive(Clone, Copy)]
struct Probe {
    time: Instant,
    received: Monotonic,
}

impl Probe {
    fn at(self, moment: Monotonic) -> Instant {
        let passed = moment.saturating_duration_since(self.received).as_millis();
        Instant(
            self.time
                .0
                .saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)),
        )
    }
}

/// What an answer's time says about the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    /// The estimate was good; it may be a little better now.
    Known,
    /// The store's clock is more than 250 ms ahead of the estimate: it was set forward, or this process slept. The
    /// estimate is as it was, until the step is noted in the store.
    Ahead,
}

/// The estimate of one shard's clock.
pub(super) struct Clock(Mutex<Probe>);

impl Clone for Clock {
    fn clone(&self) -> Self {
        Self(Mutex::new(*lock(&self.0)))
    }
}

impl Clock {
    /// The estimate from the first answer.
    pub(super) fn new(time: Instant, received: Monotonic) -> Self {
        Self(Mutex::new(Probe { time, received }))
    }

    /// The estimate now.
    pub(super) fn now(&self) -> Instant {
        self.at(Monotonic::now())
    }

    /// The estimate at a moment.
    fn at(&self, moment: Monotonic) -> Instant {
        lock(&self.0).at(moment)
    }

    /// Takes an answer's time into account.
    pub(super) fn observe(&self, time: Instant, received: Monotonic) -> Observed {
        let mut probe = lock(&self.0);
        let estimate = probe.at(received);
        if time > estimate.after(NOW_WINDOW) {
            return Observed::Ahead;
        }
        if time > estimate {
            *probe = Probe { time, received };
        }
        Observed::Known
    }

    /// The step to this time is noted: takes it for the estimate if it is ahead.
    pub(super) fn adopt(&self, time: Instant, received: Monotonic) {
        let mut probe = lock(&self.0);
        if time > probe.at(received) {
            *probe = Probe { time, received };
        }
    }

    /// The store refused a now that was ahead of its clock: takes its time for the estimate.
    pub(super) fn reset(&self, time: Instant, received: Monotonic) {
        *lock(&self.0) = Probe { time, received };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_estimate_is_never_ahead_and_grows_with_better_probes() {
        let start = Monotonic::now();
        let later = |ms| start + Duration::from_millis(ms);
        // The store's clock is 10,000 + what passed; answers take 40, 5 and 60 ms to come back.
        let clock = Clock::new(Instant(10_000), later(40));
        assert_eq!(clock.at(later(100)), Instant(10_060));
        assert_eq!(clock.observe(Instant(10_100), later(105)), Observed::Known);
        assert_eq!(clock.at(later(105)), Instant(10_100));
        assert_eq!(clock.observe(Instant(10_200), later(260)), Observed::Known);
        assert_eq!(
            clock.at(later(260)),
            Instant(10_255),
            "the worse probe changes nothing"
        );
    }

    #[test]
    fn a_step_forward_is_not_believed_before_it_is_noted_and_one_back_is() {
        let start = Monotonic::now();
        let clock = Clock::new(Instant(10_000), start);
        assert_eq!(clock.observe(Instant(10_250), start), Observed::Known);
        assert_eq!(clock.observe(Instant(10_501), start), Observed::Ahead);
        assert_eq!(clock.at(start), Instant(10_250));
        clock.adopt(Instant(10_501), start);
        assert_eq!(clock.at(start), Instant(10_501));
        clock.reset(Instant(9_000), start);
        assert_eq!(clock.at(start), Instant(9_000));
    }
}
