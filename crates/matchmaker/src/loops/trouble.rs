//! Logs of loops that fail again and again: the first failure and the recovery are told, what lies between is not.
//!
//! Loops that do the same work for many shards share a [`Group`]: what fails in all of them for the same reason, such as
//! a store that is away, is told once and not once a shard.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Loops that do the same work.
#[derive(Clone)]
pub(super) struct Group {
    what: &'static str,
    /// How many of the loops fail, by the error that each failed with first.
    failing: Arc<Mutex<HashMap<String, usize>>>,
}

impl Group {
    /// `what` the loops do, for the log.
    pub fn with(what: &'static str) -> Self {
        Self {
            what,
            failing: Arc::default(),
        }
    }

    /// The state of one loop of the group.
    pub fn member(&self) -> Trouble {
        Trouble {
            group: self.clone(),
            error: None,
            failures: 0,
        }
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more loop fails so; gives whether it is the first.
    fn enter(&self, error: &str) -> bool {
        let mut failing = self.failing();
        let loops = failing.entry(error.to_owned()).or_default();
        *loops = loops.saturating_add(1);
        *loops == 1
    }

    /// A loop does not fail so any more; gives whether it was the last.
    fn leave(&self, error: &str) -> bool {
        let mut failing = self.failing();
        let Some(loops) = failing.get_mut(error) else {
            return false;
        };
        *loops = loops.saturating_sub(1);
        let last = *loops == 0;
        if last {
            failing.remove(error);
        }
        last
    }
}

/// The state of one loop's work.
pub(super) struct Trouble {
    group: Group,
    /// What it failed with first, while it fails.
    error: Option<String>,
    failures: u64,
}

impl Trouble {
    /// A loop that is the only one of its kind: `what` it does, for the log.
    pub fn with(what: &'static str) -> Self {
        Group::with(what).member()
    }

    /// Takes the result of a round; logs when things got worse or better.
    pub fn note<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        let what = self.group.what;
        match result {
            Ok(value) => {
                if let Some(error) = self.error.take() {
                    if self.group.leave(&error) {
                        tracing::info!(what, failures = self.failures, "works again");
                    }
                    self.failures = 0;
                }
                Some(value)
            }
            Err(error) => {
                if self.error.is_none() {
                    let error = error.to_string();
                    if self.group.enter(&error) {
                        tracing::warn!(what, error, "fails, is tried again");
                    }
                    self.error = Some(error);
                }
                self.failures = self.failures.saturating_add(1);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_in_all_loops_for_one_reason_is_told_once() {
        let group = Group::with("work");
        let mut loops: Vec<Trouble> = (0..3).map(|_| group.member()).collect();
        for trouble in &mut loops {
            assert_eq!(trouble.note(Err::<(), _>("away")), None);
            // Only the first failure of a loop counts.
            assert_eq!(trouble.note(Err::<(), _>("still away")), None);
        }
        assert_eq!(*group.failing(), HashMap::from([("away".to_owned(), 3)]));
        assert!(!group.enter("away"), "told already");
        assert!(group.enter("broken"), "another reason is news");
        assert!(group.leave("broken"));
        assert!(!group.leave("away"));
        for trouble in &mut loops {
            assert_eq!(trouble.note(Ok::<_, &str>(1)), Some(1));
        }
        assert!(group.failing().is_empty());
        assert!(group.enter("away"), "it is news again");
    }
}
