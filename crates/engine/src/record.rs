//! Files of played games in one uniform shape: WTHOR, GGF, and lines of transcripts with or without columns.
//!
//! A reader never stops at what is wrong with one game: every game of a file is either a [`GameRecord`] or a
//! [`RecordError`] that says where and why.

use std::borrow::Cow;
use std::fmt;

use crate::Colour;
use crate::reversi::ggf::{self, GgfError, GgfReason, ResultEnd};
use crate::reversi::transcript::{self, Transcript, TranscriptError, TranscriptReason};
use crate::reversi::wthor::{self, HeaderError, MovesError};
use crate::reversi::{MarginMethod, Move, Position, Start, margin_half_discs};

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// WTHOR (`.wtb`).
    Wthor,
    /// Lines of transcripts, alone or in columns (`.tsv`, `.csv`, `.txt`).
    Lines,
    /// GGF.
    Ggf,
}

/// Where a game stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The kind of the file.
    pub kind: FileKind,
    /// The record: 1 is the first game; 0 is the file itself, for what is wrong with all of it.
    pub record: usize,
    /// The line of a text file: 1 is the first.
    pub line: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.record, self.line) {
            (0, None) => write!(f, "file"),
            (0, Some(line)) => write!(f, "line {line}"),
            (record, None) => write!(f, "record {record}"),
            (record, Some(line)) => write!(f, "record {record} (line {line})"),
        }
    }
}

/// The final score a file claims for a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpectedScore {
    /// Black's discs less white's, counted by `method`.
    pub difference: i8,
    /// How the file counts the squares that stay empty.
    pub method: MarginMethod,
}

impl ExpectedScore {
    /// Whether the discs of a finished game (`[black, white]`) have this score.
    #[must_use]
    pub fn matches(&self, counts: [u8; 2]) -> bool {
        margin_half_discs(counts, self.method) == 2 * i16::from(self.difference)
    }

    /// From black's discs with the empty squares given to the winner (32 is a draw), as WTHOR stores them.
    fn from_black_score(black_score: u8) -> Option<ExpectedScore> {
        let difference = i8::try_from(i16::from(black_score) * 2 - 64)
            .ok()
            .filter(|it| *it <= 64)?;
        Some(ExpectedScore {
            difference,
            method: MarginMethod::EmptiesToWinner,
        })
    }
}

/// One game of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameRecord {
    /// Where it stands.
    pub location: Location,
    /// Where the game started.
    pub start: Start,
    /// Every ply, with the passes that files leave out.
    pub moves: Vec<Move>,
    /// The position after the moves.
    pub position: Position,
    /// The score the file claims. Of a game that is not finished it is adjudicated: compare it only when `finished`.
    pub expected_score: Option<ExpectedScore>,
    /// The players' names by colour (`[black, white]`), where the file has them.
    pub players: [Option<String>; 2],
    /// Whether the moves reach the end of the game (found by playing them).
    pub finished: bool,
}

impl GameRecord {
    fn new(location: Location, start: Start, played: Transcript) -> GameRecord {
        GameRecord {
            location,
            start,
            finished: played.position.is_over(),
            moves: played.moves,
            position: played.position,
            expected_score: None,
            players: [None, None],
        }
    }

    /// How many of the moves are passes.
    #[must_use]
    pub fn passes(&self) -> usize {
        self.moves.iter().filter(|mv| **mv == Move::Pass).count()
    }

    /// Whether the score the file claims is the one on the board; `None` when there is nothing to compare.
    #[must_use]
    pub fn score_matches(&self) -> Option<bool> {
        let expected = self.expected_score.filter(|_| self.finished)?;
        Some(expected.matches(self.position.counts()))
    }

    /// The name of the player of `colour`, if the file has it.
    #[must_use]
    pub fn player(&self, colour: Colour) -> Option<&str> {
        let [black, white] = &self.players;
        match colour {
            Colour::Black => black.as_deref(),
            Colour::White => white.as_deref(),
        }
    }
}

/// Where and why a game, or a whole file, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RecordError {
    /// Where.
    pub location: Location,
    /// The ply that is refused, when it is one: 1 is the first, passes count.
    pub move_number: Option<usize>,
    /// Why.
    #[source]
    pub reason: RecordReason,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.location)?;
        if let Some(number) = self.move_number {
            write!(f, ", move {number}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Why a game, or a whole file, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordReason {
    /// The header of a WTHOR file.
    #[error(transparent)]
    WthorHeader(HeaderError),
    /// A WTHOR file whose length is not what its header says.
    #[error("the header says {declared} games, which is {expected} bytes; the file has {found}")]
    WthorLength {
        /// Games by the header.
        declared: u32,
        /// Bytes that makes.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A move of a WTHOR record.
    #[error("byte {}: {}", .0.byte, .0.reason)]
    WthorMove(MovesError),
    /// A score that is no number of discs.
    #[error("a score of {text:?}: expected 0 to 64 discs")]
    Score {
        /// The score as written, shortened.
        text: String,
    },
    /// A move of a transcript.
    #[error("{text:?}: {reason}")]
    Transcript {
        /// The move as written, shortened.
        text: String,
        /// What is wrong with it.
        reason: TranscriptReason,
    },
    /// A line without a transcript.
    #[error("no transcript in {text:?}")]
    NoTranscript {
        /// The line, shortened.
        text: String,
    },
    /// A line with fewer columns than the header's transcript column.
    #[error("{found} columns, but the header puts the transcript in column {column}")]
    MissingColumn {
        /// Columns found.
        found: usize,
        /// The transcript's column: 1 is the first.
        column: usize,
    },
    /// What the GGF reader says.
    #[error(transparent)]
    Ggf(GgfReason),
    /// Bytes that are no text.
    #[error("neither a WTHOR file nor text: byte {offset} is a control character")]
    NotText {
        /// The first byte that no text has.
        offset: usize,
    },
    /// Nothing in it.
    #[error("no games in the file")]
    Empty,
}

/// What a reader returns: every game of the file, or why it is none.
pub type Records = Vec<Result<GameRecord, RecordError>>;

/// Which kind of file this is, by its name's ending and by its bytes. Anything that is neither WTHOR nor GGF is taken
/// for lines.
#[must_use]
pub fn detect(name: &str, bytes: &[u8]) -> FileKind {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase())
        .unwrap_or_default();
    match ending.as_str() {
        "wtb" => return FileKind::Wthor,
        "ggf" => return FileKind::Ggf,
        _ => {}
    }
    let is_wthor = wthor::read_header(bytes).is_ok_and(|header| {
        header.games > 0
            && wthor_bytes(header.games) == bytes.len() as u64
            && std::str::from_utf8(bytes).is_err()
    });
    if is_wthor {
        return FileKind::Wthor;
    }
    let head = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes).trim_ascii_start();
    let head = match head
        .iter()
        .position(|byte| !byte.is_ascii_digit() && !byte.is_ascii_whitespace())
    {
        Some(index) => head.get(index..).unwrap_or_default(),
        None => head,
    };
    if head.starts_with(b"(;") {
        FileKind::Ggf
    } else {
        FileKind::Lines
    }
}

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads a file of any of the kinds. `name` helps to tell them apart and may be empty. A file without games gives one
/// error, never nothing.
#[must_use]
pub fn read_any(name: &str, bytes: &[u8]) -> Records {
    let kind = detect(name, bytes);
    let whole_file = |reason| {
        let location = Location {
            kind,
            record: 0,
            line: None,
        };
        vec![Err(RecordError {
            location,
            move_number: None,
            reason,
        })]
    };
    let records = match kind {
        FileKind::Wthor => read_wthor(bytes),
        FileKind::Ggf | FileKind::Lines => match text(bytes) {
            Err(offset) => return whole_file(RecordReason::NotText { offset }),
            Ok(text) if kind == FileKind::Ggf => read_ggf(&text),
            Ok(text) => read_tsv(&text),
        },
    };
    if records.is_empty() {
        whole_file(RecordReason::Empty)
    } else {
        records
    }
}

/// The text of a file: UTF-8, or else the older one-byte encodings, in which players' names are often written. All that
/// is read of a game is ASCII, so it does not matter which of them it is. What is not UTF-8 and holds control characters
/// is no text; the place of the first one is told.
fn text(bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    match bytes.iter().position(control) {
        Some(offset) => Err(offset),
        None => Ok(Cow::Owned(bytes.iter().copied().map(char::from).collect())),
    }
}

fn wthor_bytes(games: u32) -> u64 {
    wthor::HEADER_BYTES as u64 + u64::from(games) * wthor::RECORD_BYTES as u64
}

/// Reads a WTHOR file. When its length is not what the header says, the whole records there are come first, then an
/// error.
#[must_use]
pub fn read_wthor(file: &[u8]) -> Records {
    let location = |record| Location {
        kind: FileKind::Wthor,
        record,
        line: None,
    };
    let refused = |record, move_number, reason| RecordError {
        location: location(record),
        move_number,
        reason,
    };
    let header = match wthor::read_header(file) {
        Ok(header) => header,
        Err(error) => return vec![Err(refused(0, None, RecordReason::WthorHeader(error)))],
    };
    let declared = usize::try_from(header.games).unwrap_or(usize::MAX);
    let body = file.get(wthor::HEADER_BYTES..).unwrap_or_default();
    let (whole, _) = body.as_chunks::<{ wthor::RECORD_BYTES }>();
    let mut records: Records = (1..)
        .zip(whole.iter().take(declared))
        .map(|(number, bytes)| {
            let record = wthor::read_record(bytes);
            let expected_score = ExpectedScore::from_black_score(record.black_score).ok_or_else(|| {
                refused(
                    number,
                    None,
                    RecordReason::Score {
                        text: record.black_score.to_string(),
                    },
                )
            })?;
            let played = record
                .replay()
                .map_err(|error| refused(number, Some(error.ply), RecordReason::WthorMove(error)))?;
            Ok(GameRecord {
                expected_score: Some(expected_score),
                ..GameRecord::new(location(number), Start::Crossed, played)
            })
        })
        .collect();
    let (expected, found) = (wthor_bytes(header.games), file.len() as u64);
    if expected != found {
        let reason = RecordReason::WthorLength {
            declared: header.games,
            expected,
            found,
        };
        let first_missing = if found < expected { records.len() + 1 } else { 0 };
        records.push(Err(refused(first_missing, None, reason)));
    }
    records
}

/// Reads GGF.
#[must_use]
pub fn read_ggf(text: &str) -> Records {
    ggf::read(text)
        .zip(1..)
        .map(|(game, record)| match game {
            Ok(game) => {
                let location = Location {
                    kind: FileKind::Ggf,
                    record,
                    line: Some(game.line),
                };
                Ok(ggf_record(location, game))
            }
            Err(GgfError {
                game,
                line,
                ply,
                reason,
            }) => {
                let location = Location {
                    kind: FileKind::Ggf,
                    record: game,
                    line: Some(line),
                };
                Err(RecordError {
                    location,
                    move_number: ply,
                    reason: RecordReason::Ggf(reason),
                })
            }
        })
        .collect()
}

fn ggf_record(location: Location, game: ggf::Game) -> GameRecord {
    let moves = game.moves.iter().map(|played| played.mv).collect();
    // In anti-games (`8a`) fewer discs win: what their score counts is another matter than ours.
    let anti = game
        .variant
        .as_deref()
        .is_some_and(|variant| variant.contains('a'));
    let on_board = game
        .result
        .filter(|result| result.end == ResultEnd::Board && !anti);
    GameRecord {
        expected_score: on_board.map(|result| ExpectedScore {
            difference: result.difference,
            method: MarginMethod::Raw,
        }),
        players: [game.black, game.white],
        ..GameRecord::new(
            location,
            game.start,
            Transcript {
                moves,
                position: game.position,
            },
        )
    }
}

/// Which columns of a table mean what.
#[derive(Clone, Copy, Debug)]
struct Columns {
    separator: char,
    transcript: usize,
    black_score: Option<usize>,
    black: Option<usize>,
    white: Option<usize>,
}

impl Columns {
    /// What the lines of the sample of tournament games hold when their header row was cut off.
    const USUAL: Columns = Columns {
        separator: '\t',
        transcript: 5,
        black_score: Some(2),
        black: None,
        white: None,
    };

    /// The columns named by a header row, if this line is one.
    fn of_header(line: &str) -> Option<Columns> {
        let line = line.trim_start_matches('#');
        ['\t', ';', ','].into_iter().find_map(|separator| {
            let names: Vec<String> = line.split(separator).map(plain_name).collect();
            let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
            Some(Columns {
                separator,
                transcript: find(&[
                    "transcript",
                    "transcription",
                    "moves",
                    "gamemoves",
                    "game",
                    "record",
                ])?,
                black_score: find(&["blackscore", "blackdiscs", "realscore"]),
                black: find(&["black", "blackplayer", "blackname"]),
                white: find(&["white", "whiteplayer", "whitename"]),
            })
        })
    }
}

/// A column's name without case, quotes and word separators.
fn plain_name(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// A field without the white space and quotes around it.
fn plain_field(field: &str) -> &str {
    let field = field.trim();
    field
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(field)
}

fn shortened(text: &str) -> String {
    text.chars().take(16).collect()
}

/// Reads lines of transcripts. With a header row (tabs, semicolons or commas between columns) the columns are found by
/// their names: `transcript` or `moves`, `black_score` (empty squares to the winner), `black`, `white`. Without one, a
/// line is a transcript, or columns of which one is. Blank lines and lines that start with `#` are skipped.
#[must_use]
pub fn read_tsv(text: &str) -> Records {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.trim_end_matches([' ', '\r'])))
        .peekable();
    while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
    let header = lines.peek().and_then(|(_, line)| Columns::of_header(line));
    if header.is_some() {
        lines.next();
    }
    lines
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .zip(1..)
        .map(|((number, line), record)| {
            let location = Location {
                kind: FileKind::Lines,
                record,
                line: Some(number),
            };
            read_line(location, line, header)
        })
        .collect()
}

fn read_line(location: Location, line: &str, header: Option<Columns>) -> Result<GameRecord, RecordError> {
    let refused = |move_number, reason| RecordError {
        location,
        move_number,
        reason,
    };
    let columns = header.or_else(|| usual_columns(line));
    let fields: Vec<&str> = match columns {
        Some(columns) => line.split(columns.separator).map(plain_field).collect(),
        None if line.contains('\t') => line.split('\t').map(plain_field).collect(),
        None => vec![plain_field(line)],
    };
    let transcript = match columns {
        Some(columns) => *fields.get(columns.transcript).ok_or_else(|| {
            refused(
                None,
                RecordReason::MissingColumn {
                    found: fields.len(),
                    column: columns.transcript + 1,
                },
            )
        })?,
        // A line that is nothing but one field is meant as a transcript: what is wrong with it is said move by move.
        None if fields.len() == 1 => fields.first().copied().unwrap_or_default(),
        None => fields
            .iter()
            .copied()
            .find(|field| transcript::looks_like(field))
            .ok_or_else(|| {
                refused(
                    None,
                    RecordReason::NoTranscript {
                        text: shortened(line),
                    },
                )
            })?,
    };
    let field = |index: Option<usize>| {
        index
            .and_then(|index| fields.get(index))
            .copied()
            .filter(|field| !field.is_empty())
    };
    let expected_score = match field(columns.and_then(|columns| columns.black_score)) {
        Some(text) => {
            let score = text.parse().ok().and_then(ExpectedScore::from_black_score);
            Some(score.ok_or_else(|| {
                refused(
                    None,
                    RecordReason::Score {
                        text: shortened(text),
                    },
                )
            })?)
        }
        None => None,
    };
    let played = transcript::read(Start::Crossed.position(), transcript).map_err(
        |TranscriptError { ply, text, reason }| refused(Some(ply), RecordReason::Transcript { text, reason }),
    )?;
    let name = |index: Option<usize>| field(index).map(str::to_owned);
    Ok(GameRecord {
        expected_score,
        players: [
            name(columns.and_then(|columns| columns.black)),
            name(columns.and_then(|columns| columns.white)),
        ],
        ..GameRecord::new(location, Start::Crossed, played)
    })
}

/// The usual columns, when a line without a header row has their shape: five numbers, then a transcript.
fn usual_columns(line: &str) -> Option<Columns> {
    let fields: Vec<&str> = line.split('\t').map(plain_field).collect();
    let (transcript, numbers) = fields.split_last()?;
    let is_usual = numbers.len() == Columns::USUAL.transcript
        && numbers.iter().all(|field| field.parse::<u32>().is_ok())
        && (transcript.is_empty() || transcript::looks_like(transcript));
    is_usual.then_some(Columns::USUAL)
}
