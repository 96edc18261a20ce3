//! Instants and durations: integer milliseconds of a shard's clock (S-7).
//!
//! All arithmetic saturates: a hostile setting or a wild clock cannot overflow a deadline.

use std::fmt;

/// A moment on a shard's clock: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Instant {
    /// The earliest instant there is.
    pub const ZERO: Self = Self(0);
    /// The latest instant there is; stands for "never" where an order is needed.
    pub const MAX: Self = Self(u64::MAX);

    /// This instant and `length` after it.
    #[must_use]
    pub const fn after(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// The time from `earlier` to this instant; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// A length of whole minutes.
    #[must_use]
    pub const fn minutes(minutes: u64) -> Self {
        Self::seconds(minutes.saturating_mul(60))
    }

    /// A length of whole hours.
    #[must_use]
    pub const fn hours(hours: u64) -> Self {
        Self::minutes(hours.saturating_mul(60))
    }

    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left after `other` is taken away; never below zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::MAX.after(Millis(1)), Instant::MAX);
        assert_eq!(Instant(5).since(Instant(9)), Millis::ZERO);
        assert_eq!(Millis(3).minus(Millis(4)), Millis::ZERO);
        assert_eq!(Millis::hours(u64::MAX).plus(Millis(1)), Millis(u64::MAX));
    }
}
