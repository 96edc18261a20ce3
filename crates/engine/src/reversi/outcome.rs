//! How a game ends on the board (R-7, R-8) and by how much (R-10).

use std::fmt;
use std::str::FromStr;

use crate::Colour;

/// Why a game ended on the board: the first that holds, in this order (R-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndReason {
    /// All 64 squares hold a disc.
    BoardFull,
    /// One colour has no disc left.
    WipeOut,
    /// Neither colour has a legal move.
    NoMoves,
}

/// The result of a game that ended on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Why it ended (R-7).
    pub reason: EndReason,
    /// Who has more discs, `None` for a draw (R-8).
    pub winner: Option<Colour>,
    /// Discs by colour (`[black, white]`).
    pub counts: [u8; 2],
}

impl Outcome {
    /// The margin in half discs from black's side: positive when black won (R-10).
    #[must_use]
    pub fn margin_half_discs(&self, method: MarginMethod) -> i16 {
        margin_half_discs(self.counts, method)
    }
}

/// How a margin counts the empty squares of the final position (R-10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MarginMethod {
    /// The difference of discs; empty squares count for nobody.
    #[default]
    Raw,
    /// Empty squares go to the winner (Japan, World Othello Federation).
    EmptiesToWinner,
    /// Empty squares are split (Europe).
    EmptiesSplit,
}

impl MarginMethod {
    /// Every method.
    pub const ALL: [MarginMethod; 3] = [
        MarginMethod::Raw,
        MarginMethod::EmptiesToWinner,
        MarginMethod::EmptiesSplit,
    ];

    /// The method's name in settings: `RAW`, `EMPTIES_TO_WINNER`, `EMPTIES_SPLIT`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            MarginMethod::Raw => "RAW",
            MarginMethod::EmptiesToWinner => "EMPTIES_TO_WINNER",
            MarginMethod::EmptiesSplit => "EMPTIES_SPLIT",
        }
    }
}

impl fmt::Display for MarginMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no margin method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown margin method (expected RAW, EMPTIES_TO_WINNER or EMPTIES_SPLIT)")]
pub struct UnknownMarginMethod;

impl FromStr for MarginMethod {
    type Err = UnknownMarginMethod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        MarginMethod::ALL
            .into_iter()
            .find(|method| method.as_str() == text)
            .ok_or(UnknownMarginMethod)
    }
}

/// The margin of these counts (`[black, white]`, together at most 64) in half discs from black's side (R-10). Equal
/// counts have margin 0 in every method. Usable for games that are not over too (R-11).
///
/// An example of R-10: black 34, white 27.
///
/// ```
/// use tablemate_engine::reversi::{margin_half_discs, MarginMethod};
///
/// assert_eq!(margin_half_discs([34, 27], MarginMethod::Raw), 14);
/// assert_eq!(margin_half_discs([34, 27], MarginMethod::EmptiesToWinner), 20); // 37–27
/// assert_eq!(margin_half_discs([34, 27], MarginMethod::EmptiesSplit), 14); // 35.5–28.5
/// ```
#[must_use]
pub fn margin_half_discs(counts: [u8; 2], method: MarginMethod) -> i16 {
    let [black, white] = counts.map(i16::from);
    let difference = black - white;
    let empties = 64 - black - white;
    match method {
        // A split adds the same half of the empties to both sides, so the difference stays.
        MarginMethod::Raw | MarginMethod::EmptiesSplit => 2 * difference,
        MarginMethod::EmptiesToWinner => 2 * (difference + difference.signum() * empties),
    }
}
