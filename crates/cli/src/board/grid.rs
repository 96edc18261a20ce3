//! The discs on the board as the server tells them.

use std::str::FromStr;

use tablemate_engine::Colour;
use tablemate_engine::reversi::{Position, Square, SquareSet};

/// The discs on 64 squares. Kept apart from the engine's position on purpose: a picture shows what the server said, and
/// what it said is not judged here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    discs: [Option<Colour>; 64],
}

/// A position text that cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// Not 64 squares.
    #[error("expected 64 squares, found {found}")]
    Length {
        /// Squares found.
        found: usize,
    },
    /// A character that is no square.
    #[error("square {number} is {character:?}: expected X, O or -")]
    Character {
        /// 1 is a1, 64 is h8.
        number: usize,
        /// The character.
        character: char,
    },
}

impl Grid {
    /// The disc on a square.
    #[must_use]
    pub fn at(&self, square: Square) -> Option<Colour> {
        self.discs.get(usize::from(square.index())).copied().flatten()
    }

    /// Puts a disc on a square, or turns the one that is there.
    pub fn put(&mut self, square: Square, colour: Colour) {
        if let Some(disc) = self.discs.get_mut(usize::from(square.index())) {
            *disc = Some(colour);
        }
    }

    /// Discs by colour (`[black, white]`).
    #[must_use]
    pub fn counts(&self) -> [u32; 2] {
        Colour::ALL.map(|colour| self.discs.iter().filter(|disc| **disc == Some(colour)).count() as u32)
    }

    /// The engine's position of these discs with this side to act; `None` when the rules know no such position.
    #[must_use]
    pub fn position(&self, to_act: Option<Colour>) -> Option<Position> {
        let of = |colour| -> SquareSet {
            Square::ALL
                .into_iter()
                .filter(|square| self.at(*square) == Some(colour))
                .collect()
        };
        Position::new(of(Colour::Black), of(Colour::White), to_act).ok()
    }
}

impl FromStr for Grid {
    type Err = GridError;

    /// Reads 64 characters row by row (`X` black, `O` white, `-` empty); what follows (the side to move) is left to the
    /// turn that the server tells beside it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut discs = [None; 64];
        let mut found = 0;
        let squares = text.chars().filter(|character| !character.is_whitespace());
        for (disc, character) in discs.iter_mut().zip(squares) {
            found += 1;
            *disc = match character {
                'X' | 'x' | '*' => Some(Colour::Black),
                'O' | 'o' => Some(Colour::White),
                '-' | '.' => None,
                character => {
                    return Err(GridError::Character {
                        number: found,
                        character,
                    });
                }
            };
        }
        if found == 64 {
            Ok(Grid { discs })
        } else {
            Err(GridError::Length { found })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "---------------------------OX------XO--------------------------- X";

    #[test]
    fn r14_a_position_text_becomes_discs() {
        let grid: Grid = START.parse().unwrap();
        assert_eq!(grid.at(Square::D4), Some(Colour::White));
        assert_eq!(grid.at(Square::E4), Some(Colour::Black));
        assert_eq!(grid.at(Square::A1), None);
        assert_eq!(grid.counts(), [2, 2]);
        let position = grid.position(Some(Colour::Black)).unwrap();
        assert_eq!(position.to_string(), START);
    }

    #[test]
    fn what_is_no_board_says_why() {
        assert_eq!("XO".parse::<Grid>(), Err(GridError::Length { found: 2 }));
        assert_eq!(
            "X?".parse::<Grid>(),
            Err(GridError::Character {
                number: 2,
                character: '?'
            })
        );
        assert!("".parse::<Grid>().is_err());
    }
}
