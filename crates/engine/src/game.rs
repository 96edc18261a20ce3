//! The games under one roof: enums over them, matched exhaustively, so that adding a game makes the compiler list
//! every place that has to know. Sessions, services and tools are written against this module.

use std::fmt;

use crate::reversi;
use crate::{Colour, GameKind};

/// Where a game starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// A start of Reversi.
    Reversi(reversi::Start),
}

impl Start {
    /// The usual start of a kind.
    #[must_use]
    pub fn usual(kind: GameKind) -> Start {
        match kind {
            GameKind::Reversi => Start::Reversi(reversi::Start::default()),
        }
    }

    /// Which game.
    #[must_use]
    pub const fn kind(&self) -> GameKind {
        match self {
            Start::Reversi(_) => GameKind::Reversi,
        }
    }

    /// The first position of the game.
    #[must_use]
    pub const fn position(&self) -> Position {
        match self {
            Start::Reversi(start) => Position::Reversi(start.position()),
        }
    }
}

impl Start {
    /// Reads a start of `kind`: a named one, or the text of a position somebody can move in.
    ///
    /// # Errors
    ///
    /// Why the text is no start of that game.
    pub fn parse(kind: GameKind, text: &str) -> Result<Start, StartError> {
        match kind {
            GameKind::Reversi => Ok(Start::Reversi(text.parse()?)),
        }
    }
}

impl fmt::Display for Start {
    /// What [`Start::parse`] reads: `crossed`, `parallel`, or a position's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Start::Reversi(start) => start.fmt(f),
        }
    }
}

/// A text that is no start of the game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Not a start of Reversi.
    #[error(transparent)]
    Reversi(#[from] reversi::StartError),
}

/// A position of some game: the board and who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// A position of Reversi.
    Reversi(reversi::Position),
}

impl From<reversi::Position> for Position {
    fn from(position: reversi::Position) -> Self {
        Position::Reversi(position)
    }
}

/// A move of some game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Move {
    /// A move of Reversi.
    Reversi(reversi::Move),
}

impl From<reversi::Move> for Move {
    fn from(mv: reversi::Move) -> Self {
        Move::Reversi(mv)
    }
}

impl Move {
    /// Which game it belongs to.
    #[must_use]
    pub const fn kind(&self) -> GameKind {
        match self {
            Move::Reversi(_) => GameKind::Reversi,
        }
    }

    /// A compact number for storage, stable for ever within a kind of game. Reversi: 0 (a1) to 63 (h8), 64 a pass.
    #[must_use]
    pub const fn code(&self) -> u32 {
        match self {
            Move::Reversi(mv) => mv.code() as u32,
        }
    }

    /// The move of `kind` with this [`code`](Self::code).
    #[must_use]
    pub fn from_code(kind: GameKind, code: u32) -> Option<Move> {
        match kind {
            GameKind::Reversi => reversi::Move::from_code(u8::try_from(code).ok()?).map(Move::Reversi),
        }
    }

    /// Reads a move in the notation of `kind` (`d3`, `pass`) without looking at a position.
    ///
    /// # Errors
    ///
    /// Why the text is no move of that game.
    pub fn parse(kind: GameKind, text: &str) -> Result<Move, MoveError> {
        match kind {
            GameKind::Reversi => Ok(Move::Reversi(text.parse()?)),
        }
    }

    /// Whether the move is a pass.
    #[must_use]
    pub const fn is_pass(&self) -> bool {
        match self {
            Move::Reversi(mv) => matches!(mv, reversi::Move::Pass),
        }
    }
}

impl fmt::Display for Move {
    /// The game's own notation: `d3`, `pass`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Move::Reversi(mv) => mv.fmt(f),
        }
    }
}

/// A text that is no move of the game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// Not a move of Reversi.
    #[error(transparent)]
    Reversi(#[from] reversi::MoveError),
}

/// Why a move is refused in a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMove {
    /// By the rules of Reversi.
    #[error(transparent)]
    Reversi(#[from] reversi::IllegalMove),
}

/// What an accepted move did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Played {
    /// In Reversi: the disc placed and the discs turned.
    Reversi(reversi::Played),
}

impl Played {
    /// Who moved.
    #[must_use]
    pub const fn by(&self) -> Colour {
        match self {
            Played::Reversi(played) => played.by,
        }
    }

    /// The move.
    #[must_use]
    pub const fn mv(&self) -> Move {
        match self {
            Played::Reversi(played) => Move::Reversi(played.mv),
        }
    }

    /// The names of the turned squares in animation order; empty where the game turns nothing.
    #[must_use]
    pub fn turned_text(&self) -> Vec<&'static str> {
        match self {
            Played::Reversi(played) => played.turned.iter().map(|square| square.as_str()).collect(),
        }
    }
}

/// Why a game ended on the board (the part of S-18 that the games themselves decide).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndReason {
    /// The board is full.
    BoardFull,
    /// One colour has nothing left.
    WipeOut,
    /// Neither player can move.
    NoMoves,
}

impl EndReason {
    /// The name of S-18: `BOARD_FULL`, `WIPE_OUT`, `NO_MOVES`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            EndReason::BoardFull => "BOARD_FULL",
            EndReason::WipeOut => "WIPE_OUT",
            EndReason::NoMoves => "NO_MOVES",
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<reversi::EndReason> for EndReason {
    fn from(reason: reversi::EndReason) -> Self {
        match reason {
            reversi::EndReason::BoardFull => EndReason::BoardFull,
            reversi::EndReason::WipeOut => EndReason::WipeOut,
            reversi::EndReason::NoMoves => EndReason::NoMoves,
        }
    }
}

/// The result of a game that ended on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Why it ended.
    pub reason: EndReason,
    /// Who won; `None` is a draw.
    pub winner: Option<Colour>,
}

impl Position {
    /// Which game.
    #[must_use]
    pub const fn kind(&self) -> GameKind {
        match self {
            Position::Reversi(_) => GameKind::Reversi,
        }
    }

    /// Who acts next, by moving or by passing; `None` when the game is over.
    #[must_use]
    pub const fn to_act(&self) -> Option<Colour> {
        match self {
            Position::Reversi(position) => position.to_act(),
        }
    }

    /// Whether a pass is the only action of the player to act.
    #[must_use]
    pub const fn must_pass(&self) -> bool {
        match self {
            Position::Reversi(position) => position.must_pass(),
        }
    }

    /// Every move that [`play`](Self::play) accepts, in a fixed order; a forced pass is one of them.
    #[must_use]
    pub const fn legal_moves(&self) -> LegalMoves {
        match self {
            Position::Reversi(position) => LegalMoves::Reversi(position.legal_moves()),
        }
    }

    /// Plays a move of the player to act.
    ///
    /// # Errors
    ///
    /// The reason the move is illegal here; the position is untouched.
    pub fn play(&self, mv: Move) -> Result<(Position, Played), IllegalMove> {
        match (self, mv) {
            (Position::Reversi(position), Move::Reversi(mv)) => {
                let (next, played) = position.play(mv)?;
                Ok((Position::Reversi(next), Played::Reversi(played)))
            }
        }
    }

    /// The result, when the game is over on the board.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Position::Reversi(position) => position.outcome().map(|end| Outcome {
                reason: end.reason.into(),
                winner: end.winner,
            }),
        }
    }

    /// What each colour has on the board (`[black, white]`; discs in Reversi).
    #[must_use]
    pub const fn counts(&self) -> [u8; 2] {
        match self {
            Position::Reversi(position) => position.counts(),
        }
    }

    /// Reads a position of `kind` (what its `Display` writes; R-14 for Reversi).
    ///
    /// # Errors
    ///
    /// Why the text is no position of that game.
    pub fn parse(kind: GameKind, text: &str) -> Result<Position, PositionTextError> {
        match kind {
            GameKind::Reversi => Ok(Position::Reversi(text.parse()?)),
        }
    }

    /// Reads a move in this game's notation. It may still be illegal here.
    ///
    /// # Errors
    ///
    /// Why the text is no move of this game.
    pub fn parse_move(&self, text: &str) -> Result<Move, MoveError> {
        Move::parse(self.kind(), text)
    }
}

impl fmt::Display for Position {
    /// The game's own text of a position: board and side to move (R-14 for Reversi).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Reversi(position) => position.fmt(f),
        }
    }
}

/// A text that is no position of the game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionTextError {
    /// Not a position of Reversi.
    #[error(transparent)]
    Reversi(#[from] reversi::notation::PositionTextError),
}

/// The legal moves of a position, in a fixed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegalMoves {
    /// Of a position of Reversi: a1 to h8, or the one forced pass.
    Reversi(reversi::LegalMoves),
}

impl Iterator for LegalMoves {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        match self {
            LegalMoves::Reversi(moves) => moves.next().map(Move::Reversi),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            LegalMoves::Reversi(moves) => moves.size_hint(),
        }
    }
}

impl ExactSizeIterator for LegalMoves {}
