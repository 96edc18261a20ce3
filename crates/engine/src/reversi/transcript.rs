//! Transcripts: `f5d6c3…`, passes implicit when written.

use super::{IllegalMove, Move, Position, Square};

/// A game read from a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// Every ply, forced passes included.
    pub moves: Vec<Move>,
    /// The position after them.
    pub position: Position,
}

/// A transcript is refused at this ply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("move {ply} ({text:?}): {reason}")]
pub struct TranscriptError {
    /// The ply that is refused: 1 is the first, passes count.
    pub ply: usize,
    /// The move as written, shortened.
    pub text: String,
    /// What is wrong with it.
    pub reason: TranscriptReason,
}

/// What is wrong with a move of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptReason {
    /// Neither a square nor a pass.
    #[error("not a move")]
    Malformed,
    /// A square outside a1 to h8.
    #[error("off the board")]
    OffBoard,
    /// Against the rules.
    #[error(transparent)]
    Illegal(#[from] IllegalMove),
}

/// Plays recorded moves one after another and puts in the passes that records leave out.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) position: Position,
    pub(crate) moves: Vec<Move>,
}

impl Replay {
    pub(crate) fn new(start: Position) -> Replay {
        Replay {
            position: start,
            moves: Vec::new(),
        }
    }

    /// The number of the next ply: 1 is the first.
    pub(crate) fn next_ply(&self) -> usize {
        self.moves.len() + 1
    }

    /// Plays a forced pass, if there is one.
    pub(crate) fn pass_if_forced(&mut self) {
        if self.position.must_pass() {
            // A forced pass is legal by definition, so this never leaves the position behind.
            let _ = self.play(Move::Pass);
        }
    }

    /// Plays a recorded move, with the pass before it that the record may have left out.
    pub(crate) fn play_recorded(&mut self, mv: Move) -> Result<(), IllegalMove> {
        if mv != Move::Pass {
            self.pass_if_forced();
        }
        self.play(mv)
    }

    /// Plays this very move.
    pub(crate) fn play(&mut self, mv: Move) -> Result<(), IllegalMove> {
        let (position, _) = self.position.play(mv)?;
        self.position = position;
        self.moves.push(mv);
        Ok(())
    }

    /// The end of the record: a pass that is forced now has happened "at once", written or not.
    pub(crate) fn finish(mut self) -> Transcript {
        self.pass_if_forced();
        Transcript {
            moves: self.moves,
            position: self.position,
        }
    }
}

/// What stands at the head of a text.
enum Token {
    Move(Move),
    OffBoard,
    Malformed,
}

/// Reads a transcript from `start`. Squares in either case, spaces and commas between moves; passes may be left out,
/// or written as `ps`, `pa`, `pass` or `--` where the player really has no move. A pass that is forced after the last
/// written move is part of the result.
///
/// # Errors
///
/// The first move that is unreadable or illegal, with its number and the reason.
pub fn read(start: Position, text: &str) -> Result<Transcript, TranscriptError> {
    let mut replay = Replay::new(start);
    let mut rest = skip_separators(text);
    while !rest.is_empty() {
        let (token, len) = next_token(rest);
        let reason = match token {
            Token::Move(mv) => replay.play_recorded(mv).err().map(TranscriptReason::Illegal),
            Token::OffBoard => Some(TranscriptReason::OffBoard),
            Token::Malformed => Some(TranscriptReason::Malformed),
        };
        if let Some(reason) = reason {
            let text = rest.get(..len).unwrap_or(rest).to_owned();
            return Err(TranscriptError {
                ply: replay.next_ply(),
                text,
                reason,
            });
        }
        rest = skip_separators(rest.get(len..).unwrap_or_default());
    }
    Ok(replay.finish())
}

/// Writes moves as a transcript: lower case, passes left out.
pub fn write(moves: impl IntoIterator<Item = Move>) -> String {
    moves
        .into_iter()
        .filter_map(|mv| match mv {
            Move::Place(square) => Some(square.as_str()),
            Move::Pass => None,
        })
        .collect()
}

/// Whether a text starts like a transcript, for telling columns of a table apart.
pub(crate) fn looks_like(text: &str) -> bool {
    let text = skip_separators(text);
    !text.is_empty() && !matches!(next_token(text).0, Token::Malformed)
}

fn skip_separators(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_whitespace() || character == ',')
}

/// The token at the head of a text that is not empty, and its length in bytes.
fn next_token(text: &str) -> (Token, usize) {
    for pass in ["pass", "ps", "pa", "--"] {
        if text
            .get(..pass.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(pass))
        {
            return (Token::Move(Move::Pass), pass.len());
        }
    }
    if let [column, row, ..] = text.as_bytes()
        && column.is_ascii_alphabetic()
        && row.is_ascii_digit()
    {
        let token = Square::from_ascii(*column, *row)
            .map_or(Token::OffBoard, |square| Token::Move(Move::Place(square)));
        return (token, 2);
    }
    let shown = text.char_indices().nth(2).map_or(text.len(), |(index, _)| index);
    (Token::Malformed, shown)
}
