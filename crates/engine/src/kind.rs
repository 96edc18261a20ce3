//! The words every game shares: which game it is, and the two colours.

use std::fmt;
use std::str::FromStr;

/// A kind of game. Adding one makes the compiler list every place that has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GameKind {
    /// Reversi (黑白棋, Othello).
    Reversi,
}

impl GameKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [GameKind; 1] = [GameKind::Reversi];

    /// The kind's name on the wire and in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            GameKind::Reversi => "reversi",
        }
    }

    /// A number for storage, stable for ever.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            GameKind::Reversi => 1,
        }
    }

    /// The kind with this [`code`](Self::code).
    #[must_use]
    pub const fn from_code(code: u8) -> Option<GameKind> {
        match code {
            1 => Some(GameKind::Reversi),
            _ => None,
        }
    }
}

impl fmt::Display for GameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no kind of game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of game")]
pub struct UnknownGameKind;

impl FromStr for GameKind {
    type Err = UnknownGameKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        GameKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(UnknownGameKind)
    }
}

/// A colour inside one game. Black is who acts first from a usual start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Colour {
    /// Black: moves first.
    Black,
    /// White: moves second.
    White,
}

impl Colour {
    /// Both colours, by index.
    pub const ALL: [Colour; 2] = [Colour::Black, Colour::White];

    /// The other colour.
    #[must_use]
    pub const fn other(self) -> Colour {
        match self {
            Colour::Black => Colour::White,
            Colour::White => Colour::Black,
        }
    }

    /// 0 for black, 1 for white: the place of this colour in arrays by colour.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Colour::Black => 0,
            Colour::White => 1,
        }
    }

    /// The colour with this [`index`](Self::index).
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Colour> {
        match index {
            0 => Some(Colour::Black),
            1 => Some(Colour::White),
            _ => None,
        }
    }

    /// `black` or `white`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Colour::Black => "black",
            Colour::White => "white",
        }
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no colour.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown colour (expected black or white)")]
pub struct UnknownColour;

impl FromStr for Colour {
    type Err = UnknownColour;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Colour::ALL
            .into_iter()
            .find(|colour| colour.as_str() == text)
            .ok_or(UnknownColour)
    }
}
