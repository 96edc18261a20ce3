//! Times as people read them.

use std::time::Instant;

/// Whole seconds left, rounded up: it shows 1 until the time is over.
#[must_use]
pub fn seconds(left_ms: u64) -> u64 {
    left_ms.div_ceil(1_000)
}

/// Minutes and seconds left, rounded up: `9:41`.
#[must_use]
pub fn minutes_seconds(left_ms: u64) -> String {
    let seconds = seconds(left_ms);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The time of day in UTC of an instant: `12:34:56`.
#[must_use]
pub fn hours_minutes_seconds(at_ms: u64) -> String {
    let seconds = seconds(at_ms) % (24 * 60 * 60);
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// A bar that empties: `[=====     ]`.
#[must_use]
pub fn bar(left_ms: u64, whole_ms: u64, columns: usize) -> String {
    let whole = u128::from(whole_ms.max(1));
    let columns = columns as u128;
    let full = (u128::from(left_ms) * columns).div_ceil(whole).min(columns) as usize;
    format!("[{:<width$}]", "=".repeat(full), width = columns as usize)
}

/// The shard's clock as far as a client can know it: what the server last said, and the time since.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerClock {
    heard: Option<(u64, Instant)>,
}

impl ServerClock {
    /// The server said its time. A message that was under way for long says too little; the best of them counts, unless
    /// the clock was set back by more than a second.
    pub fn hear(&mut self, server_ms: u64, now: Instant) {
        let known_ms = self.now_ms(now);
        let behind_ms = known_ms.saturating_sub(server_ms);
        if self.heard.is_none() || server_ms >= known_ms || behind_ms > 1_000 {
            self.heard = Some((server_ms, now));
        }
    }

    /// The server's time now; 0 when it has never said any.
    #[must_use]
    pub fn now_ms(&self, now: Instant) -> u64 {
        self.heard.map_or(0, |(server_ms, heard)| {
            let gone = now.saturating_duration_since(heard).as_millis();
            server_ms.saturating_add(u64::try_from(gone).unwrap_or(u64::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_rounded_up() {
        assert_eq!(seconds(14_001), 15);
        assert_eq!(seconds(1), 1);
        assert_eq!(seconds(0), 0);
        assert_eq!(minutes_seconds(581_000), "9:41");
        assert_eq!(minutes_seconds(600_000), "10:00");
        assert_eq!(hours_minutes_seconds(86_400_000 + 3_723_000), "01:02:03");
    }

    #[test]
    fn a_bar_is_empty_only_when_nothing_is_left() {
        assert_eq!(bar(30_000, 30_000, 10), "[==========]");
        assert_eq!(bar(15_000, 30_000, 10), "[=====     ]");
        assert_eq!(bar(1, 30_000, 10), "[=         ]");
        assert_eq!(bar(0, 30_000, 10), "[          ]");
        assert_eq!(bar(u64::MAX, 0, 4), "[====]");
    }

    #[test]
    fn s7_the_servers_clock_is_followed_not_the_own() {
        let start = Instant::now();
        let mut clock = ServerClock::default();
        assert_eq!(clock.now_ms(start), 0);
        clock.hear(1_000_000, start);
        let later = start + Duration::from_secs(2);
        assert_eq!(clock.now_ms(later), 1_002_000);
        clock.hear(1_001_900, later);
        assert_eq!(
            clock.now_ms(later),
            1_002_000,
            "a slow message does not set it back"
        );
        clock.hear(1_002_100, later);
        assert_eq!(clock.now_ms(later), 1_002_100);
        clock.hear(900_000, later);
        assert_eq!(
            clock.now_ms(later),
            900_000,
            "a clock that was set back is followed"
        );
    }
}
