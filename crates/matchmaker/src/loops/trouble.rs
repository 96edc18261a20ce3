//! Logs of loops that fail again and again: the first failure and the recovery are told, what lies between is not.

use std::fmt::Display;

/// The state of one loop's work.
pub(super) struct Trouble {
    what: &'static str,
    failures: u64,
}

impl Trouble {
    /// `what` the loop does, for the log.
    pub const fn with(what: &'static str) -> Self {
        Self { what, failures: 0 }
    }

    /// Takes the result of a round; logs when things got worse or better.
    pub fn note<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => {
                if self.failures > 0 {
                    tracing::info!(what = self.what, failures = self.failures, "works again");
                    self.failures = 0;
                }
                Some(value)
            }
            Err(error) => {
                if self.failures == 0 {
                    tracing::warn!(what = self.what, %error, "fails, is tried again");
                }
                self.failures = self.failures.saturating_add(1);
                None
            }
        }
    }
}
