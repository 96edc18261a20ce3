//! Positions as text (R-14): 64 characters and the side to move, the opening line of a GGF board, and lines of
//! endgame problem sets (OBF).

use std::fmt;
use std::str::FromStr;

use super::{IllegalMove, Move, MoveError, Position, PositionError, Square, SquareSet};
use crate::Colour;

/// Why a text is no position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionTextError {
    /// The number of characters, spaces aside, is not 65.
    #[error("expected 64 squares and the side to move, found {found} characters")]
    Length {
        /// Characters found, spaces aside.
        found: usize,
    },
    /// A character that stands for no square.
    #[error("character {number} is {character:?}: expected X, O or -")]
    Character {
        /// 1 is a1, 64 is h8.
        number: usize,
        /// The character found.
        character: char,
    },
    /// The last character is no side to move.
    #[error("the side to move is {character:?}: expected X, O or -")]
    Side {
        /// The character found.
        character: char,
    },
    /// A GGF board of another size than 8.
    #[error("a board of size {size}: only 8 is supported")]
    BoardSize {
        /// The size as written, shortened.
        size: String,
    },
    /// The squares and the side make no position.
    #[error(transparent)]
    Position(#[from] PositionError),
}

const fn is_black(character: char) -> bool {
    matches!(character, 'X' | 'x' | '*')
}

const fn is_white(character: char) -> bool {
    matches!(character, 'O' | 'o')
}

const fn is_neither(character: char) -> bool {
    matches!(character, '-' | '.')
}

/// The 64 squares row by row, black and white and empty as these characters.
fn squares_text(position: &Position, [black, white, empty]: [char; 3]) -> impl Iterator<Item = char> {
    Square::ALL
        .into_iter()
        .map(move |square| match position.at(square) {
            Some(Colour::Black) => black,
            Some(Colour::White) => white,
            None => empty,
        })
}

fn side_text(position: &Position, [black, white, over]: [char; 3]) -> char {
    match position.to_act() {
        Some(Colour::Black) => black,
        Some(Colour::White) => white,
        None => over,
    }
}

impl fmt::Display for Position {
    /// 64 characters of `X`, `O` and `-`, a space, and the side to move (`-` when the game is over), R-14.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHARACTERS: [char; 3] = ['X', 'O', '-'];
        let mut text: String = squares_text(self, CHARACTERS).collect();
        text.push(' ');
        text.push(side_text(self, CHARACTERS));
        f.pad(&text)
    }
}

impl FromStr for Position {
    type Err = PositionTextError;

    /// Reads 64 squares and the side to move (R-14). Black is `X`, `x` or `*`; white `O` or `o`; empty (or over, for
    /// the side) `-` or `.`. White space anywhere and one closing `;` are ignored.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim_end();
        let text = text.strip_suffix(';').unwrap_or(text);
        let found = text
            .chars()
            .filter(|character| !character.is_whitespace())
            .count();
        if found != 65 {
            return Err(PositionTextError::Length { found });
        }
        let mut characters = text.chars().filter(|character| !character.is_whitespace());
        let (mut black, mut white) = (0, 0);
        for (square, character) in Square::ALL.into_iter().zip(&mut characters) {
            if is_black(character) {
                black |= square.bit();
            } else if is_white(character) {
                white |= square.bit();
            } else if !is_neither(character) {
                let number = usize::from(square.index()) + 1;
                return Err(PositionTextError::Character { number, character });
            }
        }
        let to_act = match characters.next() {
            Some(side) if is_black(side) => Some(Colour::Black),
            Some(side) if is_white(side) => Some(Colour::White),
            Some(side) if is_neither(side) => None,
            Some(character) => return Err(PositionTextError::Side { character }),
            None => return Err(PositionTextError::Length { found }),
        };
        Ok(Position::new(
            SquareSet::from_bits(black),
            SquareSet::from_bits(white),
            to_act,
        )?)
    }
}

/// The value of GGF's `BO` property: `8`, eight rows, and the side to move, black as `*` (R-14).
///
/// ```
/// use tablemate_engine::reversi::{notation, Start};
///
/// let text = notation::write_ggf_board(&Start::Crossed.position());
/// assert_eq!(text, "8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *");
/// assert_eq!(notation::read_ggf_board(&text), Ok(Start::Crossed.position()));
/// ```
#[must_use]
pub fn write_ggf_board(position: &Position) -> String {
    const CHARACTERS: [char; 3] = ['*', 'O', '-'];
    let mut text = String::from("8");
    for (index, character) in squares_text(position, CHARACTERS).enumerate() {
        if index % 8 == 0 {
            text.push(' ');
        }
        text.push(character);
    }
    text.push(' ');
    text.push(side_text(position, CHARACTERS));
    text
}

/// Reads the value of GGF's `BO` property.
///
/// # Errors
///
/// A board of another size, or what [`Position::from_str`] refuses.
pub fn read_ggf_board(text: &str) -> Result<Position, PositionTextError> {
    let text = text.trim();
    let (size, squares) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if size != "8" {
        return Err(PositionTextError::BoardSize {
            size: size.chars().take(8).collect(),
        });
    }
    squares.parse()
}

/// A line of a problem set: a position and what moves are worth in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The position.
    pub position: Position,
    /// Moves and their values for the player to act, in discs, as given (usually the best first).
    pub scores: Vec<(Move, i8)>,
}

/// Why a line is no problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// The part before the first `;`.
    #[error(transparent)]
    Position(#[from] PositionTextError),
    /// A part that is not `move:score` with a score of -64 to 64.
    #[error("entry {number} is {text:?}: expected a move and its score, such as A2:+38")]
    Entry {
        /// 1 is the first after the position.
        number: usize,
        /// The entry, shortened.
        text: String,
    },
    /// The move of an entry is unreadable.
    #[error("entry {number}: {reason}")]
    Move {
        /// 1 is the first after the position.
        number: usize,
        /// What is wrong with it.
        reason: MoveError,
    },
    /// The move of an entry is illegal.
    #[error("entry {number}: {reason}")]
    Illegal {
        /// 1 is the first after the position.
        number: usize,
        /// What is wrong with it.
        reason: IllegalMove,
    },
}

impl FromStr for Problem {
    type Err = ProblemError;

    /// Reads `64 squares side; move:score; …`. What follows a `%` is a comment.
    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let line = line.split('%').next().unwrap_or(line);
        let mut parts = line.split(';');
        let position: Position = parts.next().unwrap_or(line).parse()?;
        let mut scores = Vec::new();
        let entries = parts.map(str::trim).filter(|entry| !entry.is_empty());
        for (number, entry) in (1..).zip(entries) {
            let unreadable = || ProblemError::Entry {
                number,
                text: entry.chars().take(16).collect(),
            };
            let (mv, score) = entry.split_once(':').ok_or_else(unreadable)?;
            let mv: Move = mv
                .trim()
                .parse()
                .map_err(|reason| ProblemError::Move { number, reason })?;
            position
                .play(mv)
                .map_err(|reason| ProblemError::Illegal { number, reason })?;
            let score: i8 = score.trim().parse().map_err(|_| unreadable())?;
            if !(-64..=64).contains(&score) {
                return Err(unreadable());
            }
            scores.push((mv, score));
        }
        Ok(Problem { position, scores })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};", self.position)?;
        for (mv, score) in &self.scores {
            match mv {
                Move::Place(square) => write!(f, " {}:{score:+};", square.as_str().to_ascii_uppercase())?,
                Move::Pass => write!(f, " PS:{score:+};")?,
            }
        }
        Ok(())
    }
}
