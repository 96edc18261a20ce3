//! Reversi (黑白棋, Othello): `rules/reversi`.
//!
//! A [`Position`] is always consistent: discs never overlap, and who acts next follows from the discs and the last
//! mover. [`Position::play`] is the only way onward and refuses what is illegal.

pub(crate) mod bits;
pub mod ggf;
pub mod notation;
mod outcome;
mod played;
mod position;
mod square;
mod start;
pub mod transcript;
pub mod wthor;

pub use outcome::{EndReason, MarginMethod, Outcome, UnknownMarginMethod, margin_half_discs};
pub use played::{Played, Turned};
pub use position::{IllegalMove, LegalMoves, Move, MoveError, Position, PositionError};
pub use square::{Square, SquareError, SquareSet};
pub use start::{Start, StartError};
