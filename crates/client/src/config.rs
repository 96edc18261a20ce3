//! What can be set about a client.

use std::time::Duration;

/// What can be set about a client. [`Config::default`] is right for most.
#[derive(Clone, Debug)]
pub struct Config {
    /// Connections to each address for calls. Streams have connections of their own.
    pub connections: usize,
    /// How long one attempt may take before it counts as failed with an unknown outcome.
    pub attempt_timeout: Duration,
    /// How long a call may take over all its attempts.
    pub budget: Duration,
    /// How long a stream may be without a connection before it gives up.
    pub stream_budget: Duration,
    /// How long a stream may be silent, heartbeats included, before it is opened again elsewhere.
    pub silence: Duration,
    /// The longest wait before the second attempt; it doubles with each, and the wait is drawn between 0 and it.
    pub first_backoff: Duration,
    /// What the longest wait does not grow beyond.
    pub max_backoff: Duration,
    /// How many streams share a connection.
    pub streams_per_connection: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            connections: 1,
            attempt_timeout: Duration::from_secs(5),
            budget: Duration::from_secs(15),
            stream_budget: Duration::from_secs(60),
            silence: Duration::from_secs(60),
            first_backoff: Duration::from_millis(20),
            max_backoff: Duration::from_secs(1),
            // Servers built on hyper allow 200 by default; what is above would wait without a word.
            streams_per_connection: 100,
        }
    }
}

impl Config {
    /// The longest wait after so many failed attempts (from 1).
    pub(crate) fn backoff_ceiling(&self, failed: u32) -> Duration {
        let factor = 1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_backoff.saturating_mul(factor).min(self.max_backoff)
    }

    /// A wait drawn between nothing and the ceiling, so that callers who failed together do not come back together.
    pub(crate) fn backoff(&self, failed: u32) -> Duration {
        self.backoff_ceiling(failed)
            .mul_f64(rand::random::<f64>().clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_ceiling() {
        let config = Config {
            first_backoff: Duration::from_millis(20),
            max_backoff: Duration::from_millis(100),
            ..Config::default()
        };
        let ceilings: Vec<u128> = [1, 2, 3, 4, 40, u32::MAX]
            .iter()
            .map(|failed| config.backoff_ceiling(*failed).as_millis())
            .collect();
        assert_eq!(ceilings, [20, 40, 80, 100, 100, 100]);
        for failed in 1..10 {
            assert!(config.backoff(failed) <= config.backoff_ceiling(failed));
        }
    }
}
