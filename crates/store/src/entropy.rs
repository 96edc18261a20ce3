//! Random bytes: the operating system's, or, for a run that has to be repeated step by step, drawn from a seed.

use crate::error::{Result, StoreError};

/// Fills `bytes` from the operating system.
///
/// # Errors
/// [`StoreError::Unavailable`] when it gives none.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    #[cfg(feature = "testing")]
    if seeded::fill(bytes) {
        return Ok(());
    }
    getrandom::fill(bytes).map_err(|error| StoreError::Unavailable {
        why: format!("no random bytes: {error}"),
    })
}

/// What takes the operating system's place on one thread of a test.
#[cfg(feature = "testing")]
pub(crate) mod seeded {
    use std::cell::RefCell;

    thread_local! {
        static SOURCE: RefCell<Option<blake3::OutputReader>> = const { RefCell::new(None) };
    }

    pub(super) fn fill(bytes: &mut [u8]) -> bool {
        SOURCE.with_borrow_mut(|source| source.as_mut().map(|source| source.fill(bytes)).is_some())
    }

    pub(crate) fn set(seed: u64) {
        let source = blake3::Hasher::new_derive_key("tablemate 2026 seeded entropy of tests")
            .update(&seed.to_be_bytes())
            .finalize_xof();
        SOURCE.set(Some(source));
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_bytes_again_and_only_on_its_thread() {
        let eight = || {
            let mut bytes = [0; 8];
            assert_eq!(fill(&mut bytes), Ok(()));
            bytes
        };
        let of_system = eight();
        seeded::set(7);
        let first = [eight(), eight()];
        assert_ne!(first[0], first[1]);
        assert_ne!(first[0], of_system);
        let elsewhere = std::thread::spawn(eight).join().unwrap();
        seeded::set(7);
        assert_eq!([eight(), eight()], first);
        assert!(!first.contains(&elsewhere));
    }
}
