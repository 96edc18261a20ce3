//! Strength levels: fixed limits under a number.

use std::fmt;
use std::str::FromStr;

use super::Limits;

/// A strength of the engine, 1 (an answer within 100 µs) to 8 (strong, seconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    /// Level 1: the default of auto-moves (S-9).
    pub const LOWEST: Level = Level(1);
    /// Level 8.
    pub const HIGHEST: Level = Level(8);

    /// The level with this number, 1 to 8.
    #[must_use]
    pub const fn new(number: u8) -> Option<Level> {
        if Level::LOWEST.0 <= number && number <= Level::HIGHEST.0 {
            Some(Level(number))
        } else {
            None
        }
    }

    /// Every level, from the lowest.
    pub fn all() -> impl Iterator<Item = Level> {
        (Level::LOWEST.0..=Level::HIGHEST.0).map(Level)
    }

    /// 1 to 8.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// What this level searches. Fixed: changing it changes what recorded sessions would have played.
    #[must_use]
    pub const fn limits(self) -> Limits {
        let (depth, exact_empties, table_bits) = match self.0 {
            1 => (3, 7, 0),
            2 => (4, 9, 10),
            3 => (5, 11, 12),
            4 => (6, 12, 14),
            5 => (8, 14, 16),
            6 => (9, 16, 18),
            7 => (11, 18, 19),
            _ => (13, 20, 20),
        };
        Limits {
            depth,
            exact_empties,
            table_bits,
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Level::LOWEST
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is no level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level (expected 1 to 8)")]
pub struct UnknownLevel;

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Level::new).ok_or(UnknownLevel)
    }
}
