//! Start positions.

use std::fmt;
use std::str::FromStr;

use super::notation::PositionTextError;
use super::{Position, Square};
use crate::Colour;

/// Where a game starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// Black on e4 and d5, white on d4 and e5; black moves.
    #[default]
    Crossed,
    /// White on d4 and e4, black on d5 and e5; black moves.
    Parallel,
    /// Any position somebody can move in. Build it with [`Start::from_position`], which checks that.
    Position(Position),
}

/// Why a position or a text is no start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Neither a named start nor the text of a position.
    #[error("neither crossed nor parallel, and no position: {0}")]
    Text(#[from] PositionTextError),
    /// Nobody can move in it.
    #[error("nobody can move in this position, so no game can start from it")]
    Over,
}

const CROSSED: Position = Position::ongoing(
    Square::E4.bit() | Square::D5.bit(),
    Square::D4.bit() | Square::E5.bit(),
    Colour::Black,
);

const PARALLEL: Position = Position::ongoing(
    Square::D5.bit() | Square::E5.bit(),
    Square::D4.bit() | Square::E4.bit(),
    Colour::Black,
);

impl Start {
    /// The start at this position. The two named starts are recognised; a position that is over is refused. If only
    /// the side not to move can move, the game begins with a pass.
    ///
    /// # Errors
    ///
    /// [`StartError::Over`] when nobody can move.
    pub fn from_position(position: Position) -> Result<Start, StartError> {
        match position {
            CROSSED => Ok(Start::Crossed),
            PARALLEL => Ok(Start::Parallel),
            _ if position.to_act().is_none() => Err(StartError::Over),
            _ => Ok(Start::Position(position)),
        }
    }

    /// The first position of the game.
    #[must_use]
    pub const fn position(self) -> Position {
        match self {
            Start::Crossed => CROSSED,
            Start::Parallel => PARALLEL,
            Start::Position(position) => position,
        }
    }
}

impl fmt::Display for Start {
    /// `crossed`, `parallel`, or the position's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::Crossed => f.pad("crossed"),
            Start::Parallel => f.pad("parallel"),
            Start::Position(position) => position.fmt(f),
        }
    }
}

impl FromStr for Start {
    type Err = StartError;

    /// Reads `crossed`, `parallel` (either case), or the text of a position somebody can move in.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim();
        if name.eq_ignore_ascii_case("crossed") {
            return Ok(Start::Crossed);
        }
        if name.eq_ignore_ascii_case("parallel") {
            return Ok(Start::Parallel);
        }
        Start::from_position(text.parse()?)
    }
}
