//! Waiting for a condition.

use std::future::Future;
use std::time::{Duration, Instant};

/// How long a condition may take before the test says what it waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until there is something to return; panics with `what` after 30 s.
pub async fn eventually<T, F>(what: &str, mut look: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} for: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
