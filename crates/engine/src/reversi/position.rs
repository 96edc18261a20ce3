//! Positions, moves, and what is legal.

use std::fmt;

use super::played::{Played, Turned};
use super::{EndReason, MarginMethod, Outcome, Square, SquareError, SquareSet, bits, margin_half_discs};
use crate::Colour;

/// One action of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Move {
    /// A disc on this square.
    Place(Square),
    /// No legal square: the other moves again.
    Pass,
}

impl Move {
    /// A number for storage, stable for ever: 0 (a1) to 63 (h8), 64 for a pass.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Move::Place(square) => square.index(),
            Move::Pass => 64,
        }
    }

    /// The move with this [`code`](Self::code).
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Move> {
        match Square::new(code) {
            Some(square) => Some(Move::Place(square)),
            None if code == 64 => Some(Move::Pass),
            None => None,
        }
    }

    /// `d3` and the like, or `pass`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Move::Place(square) => square.as_str(),
            Move::Pass => "pass",
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is no move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// Neither a square nor a pass.
    #[error("not a move: expected a square such as d3, or pass")]
    Malformed,
    /// A square outside a1 to h8.
    #[error("off the board: columns are a to h, rows 1 to 8")]
    OffBoard,
}

impl std::str::FromStr for Move {
    type Err = MoveError;

    /// Reads a square in either case, or a pass as `pass`, `ps`, `pa` or `--`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if ["pass", "ps", "pa", "--"]
            .iter()
            .any(|pass| text.eq_ignore_ascii_case(pass))
        {
            return Ok(Move::Pass);
        }
        match text.parse() {
            Ok(square) => Ok(Move::Place(square)),
            Err(SquareError::OffBoard) => Err(MoveError::OffBoard),
            Err(SquareError::Malformed) => Err(MoveError::Malformed),
        }
    }
}

/// Why a move is refused in a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMove {
    /// The game is over.
    #[error("the game is over")]
    GameOver,
    /// The square holds a disc already.
    #[error("{square} is occupied")]
    Occupied {
        /// The square named.
        square: Square,
    },
    /// A disc there would turn nothing.
    #[error("{square} turns no disc")]
    TurnsNothing {
        /// The square named.
        square: Square,
    },
    /// A pass while the player has a legal move.
    #[error("a player with a legal move must move")]
    MustMove,
}

/// A position of the board and who acts in it. `Copy`, consistent by construction.
///
/// Two positions are equal when the discs and the player to act are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The discs of the player to act; of black when the game is over, so that equal positions are equal values.
    own: u64,
    /// The discs of the other player. Never overlaps `own`.
    opp: u64,
    /// Where the player to act may place: a function of the two sets above, kept because every move asks for it.
    placements: u64,
    /// `None` when neither player can move.
    to_act: Option<Colour>,
}

/// Why two sets of discs and a side make no position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// A square is in both sets.
    #[error("{square} holds a disc of both colours")]
    Overlap {
        /// The first such square.
        square: Square,
    },
    /// A side is to move, but nobody can.
    #[error("{colour} is said to move, but neither side has a legal move")]
    NobodyCanMove {
        /// The side said to move.
        colour: Colour,
    },
    /// The position is marked as over, but somebody can move.
    #[error("marked as over, but {colour} can move")]
    NotOver {
        /// A side with a legal move.
        colour: Colour,
    },
}

impl Position {
    /// A position known to be consistent, in which somebody can move.
    pub(crate) const fn ongoing(own: u64, opp: u64, to_act: Colour) -> Position {
        Position {
            own,
            opp,
            placements: bits::mobility(own, opp),
            to_act: Some(to_act),
        }
    }

    /// The position with these discs and this side to move, `None` when it is marked as over.
    ///
    /// # Errors
    ///
    /// Overlapping discs; a side to move when nobody can; a mark of being over when somebody can move.
    #[inline]
    pub fn new(
        black: SquareSet,
        white: SquareSet,
        to_act: Option<Colour>,
    ) -> Result<Position, PositionError> {
        let (black, white) = (black.bits(), white.bits());
        if let Some(square) = SquareSet::from_bits(black & white).first() {
            return Err(PositionError::Overlap { square });
        }
        let nobody_can_move = || bits::mobility(black, white) == 0 && bits::mobility(white, black) == 0;
        let position = match to_act {
            Some(Colour::Black) => Position::ongoing(black, white, Colour::Black),
            Some(Colour::White) => Position::ongoing(white, black, Colour::White),
            None => Position::over(black, white),
        };
        match to_act {
            // The usual case is settled by the one look at the mover's squares that the position keeps.
            Some(_) if position.placements != 0 => Ok(position),
            Some(colour) if nobody_can_move() => Err(PositionError::NobodyCanMove { colour }),
            Some(_) => Ok(position),
            None if nobody_can_move() => Ok(position),
            None if bits::mobility(black, white) != 0 => Err(PositionError::NotOver {
                colour: Colour::Black,
            }),
            None => Err(PositionError::NotOver {
                colour: Colour::White,
            }),
        }
    }

    /// A position known to be one in which nobody can move.
    const fn over(black: u64, white: u64) -> Position {
        Position {
            own: black,
            opp: white,
            placements: 0,
            to_act: None,
        }
    }

    /// Who acts next, by moving or by passing; `None` when the game is over.
    #[must_use]
    pub const fn to_act(&self) -> Option<Colour> {
        self.to_act
    }

    /// Whether the game is over: neither side can move.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.to_act.is_none()
    }

    /// Whether the player to act has no legal square while the other has: a pass is the only action.
    #[must_use]
    pub const fn must_pass(&self) -> bool {
        self.placements == 0 && self.to_act.is_some()
    }

    /// The squares where the player to act may place.
    #[must_use]
    #[inline]
    pub const fn placements(&self) -> SquareSet {
        SquareSet::from_bits(self.placements)
    }

    /// Every move that [`play`](Self::play) accepts, from a1 to h8; a pass alone when it is forced; nothing when the
    /// game is over.
    #[must_use]
    pub const fn legal_moves(&self) -> LegalMoves {
        LegalMoves {
            placements: self.placements(),
            pass: self.must_pass(),
        }
    }

    /// Whether [`play`](Self::play) would accept `mv`.
    #[must_use]
    pub const fn is_legal(&self, mv: Move) -> bool {
        match mv {
            Move::Place(square) => self.placements().contains(square),
            Move::Pass => self.must_pass(),
        }
    }

    /// Plays a move of the player to act.
    ///
    /// # Errors
    ///
    /// The reason the move is illegal here; the position is untouched.
    #[inline]
    pub fn play(&self, mv: Move) -> Result<(Position, Played), IllegalMove> {
        let Some(by) = self.to_act else {
            return Err(IllegalMove::GameOver);
        };
        match mv {
            Move::Place(square) if self.placements().contains(square) => {
                let turned = bits::flips(u32::from(square.index()), self.own, self.opp);
                let next = Position::after(self.own | square.bit() | turned, self.opp & !turned, by);
                Ok((
                    next,
                    Played {
                        by,
                        mv,
                        turned: Turned::new(square, turned),
                    },
                ))
            }
            Move::Place(square) if (self.own | self.opp) & square.bit() != 0 => {
                Err(IllegalMove::Occupied { square })
            }
            Move::Place(square) => Err(IllegalMove::TurnsNothing { square }),
            Move::Pass if self.must_pass() => {
                let next = Position::ongoing(self.opp, self.own, by.other());
                Ok((
                    next,
                    Played {
                        by,
                        mv,
                        turned: Turned::NONE,
                    },
                ))
            }
            Move::Pass => Err(IllegalMove::MustMove),
        }
    }

    /// The position after `by` has moved, with these discs of `by` and of the other.
    fn after(movers: u64, others: u64, by: Colour) -> Position {
        let reply = Position::ongoing(others, movers, by.other());
        if reply.placements == 0 && bits::mobility(movers, others) == 0 {
            let (black, white) = match by {
                Colour::Black => (movers, others),
                Colour::White => (others, movers),
            };
            return Position::over(black, white);
        }
        reply
    }

    /// The discs of one colour.
    #[must_use]
    pub const fn discs(&self, colour: Colour) -> SquareSet {
        match (self.to_act, colour) {
            (None | Some(Colour::Black), Colour::Black) | (Some(Colour::White), Colour::White) => {
                SquareSet::from_bits(self.own)
            }
            _ => SquareSet::from_bits(self.opp),
        }
    }

    /// The squares without a disc.
    #[must_use]
    pub const fn empties(&self) -> SquareSet {
        SquareSet::from_bits(!(self.own | self.opp))
    }

    /// The colour of the disc on `square`, if there is one.
    #[must_use]
    pub const fn at(&self, square: Square) -> Option<Colour> {
        if self.discs(Colour::Black).contains(square) {
            Some(Colour::Black)
        } else if self.discs(Colour::White).contains(square) {
            Some(Colour::White)
        } else {
            None
        }
    }

    /// Discs by colour (`[black, white]`).
    #[must_use]
    pub const fn counts(&self) -> [u8; 2] {
        [
            self.discs(Colour::Black).len() as u8,
            self.discs(Colour::White).len() as u8,
        ]
    }

    /// The result, when the game is over.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        if !self.is_over() {
            return None;
        }
        let counts @ [black, white] = self.counts();
        let reason = if black + white == 64 {
            EndReason::BoardFull
        } else if black == 0 || white == 0 {
            EndReason::WipeOut
        } else {
            EndReason::NoMoves
        };
        let winner = match black.cmp(&white) {
            std::cmp::Ordering::Greater => Some(Colour::Black),
            std::cmp::Ordering::Less => Some(Colour::White),
            std::cmp::Ordering::Equal => None,
        };
        Some(Outcome {
            reason,
            winner,
            counts,
        })
    }

    /// The margin of the discs as they lie, over or not, in half discs from black's side.
    #[must_use]
    pub fn margin_half_discs(&self, method: MarginMethod) -> i16 {
        margin_half_discs(self.counts(), method)
    }

    /// The mover's discs and the other's (black's and white's when the game is over).
    pub(crate) const fn own_and_opp(&self) -> (u64, u64) {
        (self.own, self.opp)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Position")
            .field("black", &self.discs(Colour::Black))
            .field("white", &self.discs(Colour::White))
            .field("to_act", &self.to_act)
            .finish()
    }
}

/// The legal moves of a position, from a1 to h8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegalMoves {
    placements: SquareSet,
    pass: bool,
}

impl Iterator for LegalMoves {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        if let Some(square) = self.placements.next() {
            return Some(Move::Place(square));
        }
        std::mem::take(&mut self.pass).then_some(Move::Pass)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.placements.len() + usize::from(self.pass);
        (len, Some(len))
    }
}

impl ExactSizeIterator for LegalMoves {}
