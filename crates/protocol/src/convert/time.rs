//! Instants and durations: integer milliseconds inside, `Timestamp` and `Duration` on the wire.

use prost_types::{Duration, Timestamp};
use tablemate_session::{Instant, Millis};

const MS_NANOS: i32 = 1_000_000;

/// An instant on the wire.
#[must_use]
pub fn timestamp(instant: Instant) -> Timestamp {
    Timestamp {
        seconds: i64::try_from(instant.0 / 1_000).unwrap_or(i64::MAX),
        nanos: (instant.0 % 1_000) as i32 * MS_NANOS,
    }
}

/// An instant from the wire; what lies before 1970 is [`Instant::ZERO`].
#[must_use]
pub fn instant(timestamp: &Timestamp) -> Instant {
    let seconds = u64::try_from(timestamp.seconds).unwrap_or(0);
    let millis = u64::try_from(timestamp.nanos / MS_NANOS).unwrap_or(0);
    Instant(seconds.saturating_mul(1_000).saturating_add(millis))
}

/// A length of time on the wire.
#[must_use]
pub fn duration(length: Millis) -> Duration {
    Duration {
        seconds: i64::try_from(length.0 / 1_000).unwrap_or(i64::MAX),
        nanos: (length.0 % 1_000) as i32 * MS_NANOS,
    }
}

/// A length of time from the wire.
///
/// # Errors
/// What is wrong with it: negative, out of the type's range, or not whole milliseconds.
pub fn millis(duration: &Duration) -> Result<Millis, &'static str> {
    if duration.seconds < 0 || duration.nanos < 0 {
        return Err("is negative");
    }
    if duration.nanos >= 1_000 * MS_NANOS {
        return Err("has more than 999,999,999 nanoseconds");
    }
    if duration.nanos % MS_NANOS != 0 {
        return Err("is not a whole number of milliseconds");
    }
    let millis = u64::from((duration.nanos / MS_NANOS).unsigned_abs());
    Ok(Millis(
        duration
            .seconds
            .unsigned_abs()
            .saturating_mul(1_000)
            .saturating_add(millis),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        for ms in [0, 1, 999, 1_000, 1_700_000_000_123] {
            assert_eq!(instant(&timestamp(Instant(ms))), Instant(ms));
            assert_eq!(millis(&duration(Millis(ms))), Ok(Millis(ms)));
        }
    }

    #[test]
    fn odd_durations_are_refused() {
        let bad = |seconds, nanos| millis(&Duration { seconds, nanos }).is_err();
        assert!(bad(-1, 0));
        assert!(bad(0, -1));
        assert!(bad(0, 1));
        assert!(bad(0, 1_000_000_000));
        assert!(
            millis(&Duration {
                seconds: i64::MAX,
                nanos: 0
            })
            .is_ok()
        );
    }
}
