//! WTHOR files (read): a header of 16 bytes and one record of 68 bytes a game.

use super::transcript::{Replay, Transcript};
use super::{IllegalMove, Move, Square, Start};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 68;

/// What a file's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Games in the file.
    pub games: u32,
    /// The year the games were played in.
    pub year: u16,
    /// Depth, in empty squares, from which the theoretical scores were computed.
    pub theoretical_depth: u8,
}

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Shorter than a header.
    #[error("{bytes} bytes are no WTHOR file: its header alone has 16")]
    TooShort {
        /// Bytes of the file.
        bytes: usize,
    },
    /// Another board than 8 by 8.
    #[error("a board of size {size}: only 8 is supported")]
    BoardSize {
        /// The size in the header.
        size: u8,
    },
}

/// Reads the header.
///
/// # Errors
///
/// A file too short for a header, or for another board than 8 by 8 (sizes 0 and 8 both mean 8).
pub fn read_header(file: &[u8]) -> Result<Header, HeaderError> {
    let &[
        _,
        _,
        _,
        _,
        n0,
        n1,
        n2,
        n3,
        _,
        _,
        y0,
        y1,
        size,
        _,
        theoretical_depth,
        _,
        ..,
    ] = file
    else {
        return Err(HeaderError::TooShort { bytes: file.len() });
    };
    if size != 0 && size != 8 {
        return Err(HeaderError::BoardSize { size });
    }
    Ok(Header {
        games: u32::from_le_bytes([n0, n1, n2, n3]),
        year: u16::from_le_bytes([y0, y1]),
        theoretical_depth,
    })
}

/// One game as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of the tournament in the tournament file.
    pub tournament: u16,
    /// Number of black in the player file.
    pub black: u16,
    /// Number of white in the player file.
    pub white: u16,
    /// Black's discs, empty squares to the winner, a draw as 32 (adjudicated when the game was not finished).
    pub black_score: u8,
    /// Black's discs with best play from the header's depth on.
    pub theoretical_score: u8,
    /// Moves as 10 × row + column (11 is a1, 88 is h8); 0 ends them; passes are not stored.
    pub moves: [u8; 60],
}

/// Reads one record.
#[must_use]
pub fn read_record(bytes: &[u8; RECORD_BYTES]) -> Record {
    let [t0, t1, b0, b1, w0, w1, black_score, theoretical_score, moves @ ..] = *bytes;
    Record {
        tournament: u16::from_le_bytes([t0, t1]),
        black: u16::from_le_bytes([b0, b1]),
        white: u16::from_le_bytes([w0, w1]),
        black_score,
        theoretical_score,
        moves,
    }
}

/// A record's game is refused at this ply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("move {ply} (byte {byte}): {reason}")]
pub struct MovesError {
    /// The ply that is refused: 1 is the first, passes count.
    pub ply: usize,
    /// The byte as stored.
    pub byte: u8,
    /// What is wrong with it.
    pub reason: MovesReason,
}

/// What is wrong with a stored move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MovesReason {
    /// The byte stands for no square.
    #[error("not a square: expected 10 × row + column, 11 to 88")]
    NoSquare,
    /// A move after the 0 that ends the game.
    #[error("a move after the end mark")]
    AfterEnd,
    /// Against the rules.
    #[error(transparent)]
    Illegal(#[from] IllegalMove),
}

impl Record {
    /// Plays the stored moves from the usual start and puts in the passes.
    ///
    /// # Errors
    ///
    /// The first move that is unreadable or illegal.
    pub fn replay(&self) -> Result<Transcript, MovesError> {
        let mut replay = Replay::new(Start::Crossed.position());
        let mut stored = self.moves.iter();
        for &byte in stored.by_ref().take_while(|byte| **byte != 0) {
            let square = match (byte / 10, byte % 10) {
                (row @ 1..=8, column @ 1..=8) => Square::at(column - 1, row - 1),
                _ => None,
            };
            let reason = match square {
                Some(square) => replay
                    .play_recorded(Move::Place(square))
                    .err()
                    .map(MovesReason::Illegal),
                None => Some(MovesReason::NoSquare),
            };
            if let Some(reason) = reason {
                return Err(MovesError {
                    ply: replay.next_ply(),
                    byte,
                    reason,
                });
            }
        }
        if let Some(&byte) = stored.find(|byte| **byte != 0) {
            return Err(MovesError {
                ply: replay.next_ply(),
                byte,
                reason: MovesReason::AfterEnd,
            });
        }
        Ok(replay.finish())
    }
}
