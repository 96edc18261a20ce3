//! GGF, the Generic Game Format, as GGS and NBoard write it (R-13): read and written.
//!
//! A game is `(;GM[Othello]PB[…]PW[…]RE[…]BO[…]B[d3/eval/seconds]W[…]…;)`. Several games may stand on a line or across
//! lines, a count may stand before them, and unknown properties are skipped.

use std::fmt::Write as _;

use super::notation::{self, PositionTextError};
use super::transcript::Replay;
use super::{IllegalMove, Move, MoveError, Position, Start, StartError};
use crate::Colour;

/// One game.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// The line where it begins in the text it was read from; 1 is the first.
    pub line: usize,
    /// Black's name (`PB`).
    pub black: Option<String>,
    /// White's name (`PW`).
    pub white: Option<String>,
    /// Where it was played (`PC`).
    pub place: Option<String>,
    /// When, as written (`DT`).
    pub date: Option<String>,
    /// The variant, as written (`TY`): `8`, `8r18`, …
    pub variant: Option<String>,
    /// Where it started (`BO`; the usual start when absent).
    pub start: Start,
    /// Every ply, passes the record left out included.
    pub moves: Vec<GameMove>,
    /// The result as recorded (`RE`).
    pub result: Option<GameResult>,
    /// The position after the moves.
    pub position: Position,
}

/// A move with what is noted beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GameMove {
    /// The move.
    pub mv: Move,
    /// The mover's evaluation, in discs.
    pub evaluation: Option<f64>,
    /// Time used, in seconds.
    pub seconds: Option<f64>,
}

impl From<Move> for GameMove {
    fn from(mv: Move) -> Self {
        GameMove {
            mv,
            evaluation: None,
            seconds: None,
        }
    }
}

/// A recorded result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameResult {
    /// Black's discs less white's, as the board lay or as adjudicated.
    pub difference: i8,
    /// How it ended, when not on the board.
    pub end: ResultEnd,
}

/// How a recorded game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultEnd {
    /// On the board.
    Board,
    /// Resigned (`:r`).
    Resigned,
    /// On time (`:t`).
    Time,
    /// By agreement (`:s`).
    Agreed,
}

/// Where and why a game is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("game {game} (line {line}){}: {reason}", .ply.map(|ply| format!(", move {ply}")).unwrap_or_default())]
pub struct GgfError {
    /// 1 is the first game of the text.
    pub game: usize,
    /// The line where the game begins; 1 is the first.
    pub line: usize,
    /// The ply that is refused, when it is one: 1 is the first, passes count.
    pub ply: Option<usize>,
    /// What is wrong.
    pub reason: GgfReason,
}

/// What is wrong with a game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GgfReason {
    /// Something that is not a game stands between games.
    #[error("not a game: {text:?}")]
    Stray {
        /// The text, shortened.
        text: String,
    },
    /// The text ends inside the game.
    #[error("the text ends inside the game")]
    Truncated,
    /// Neither a property nor the end of the game.
    #[error("expected a property such as B[d3], found {text:?}")]
    NoProperty {
        /// The text, shortened.
        text: String,
    },
    /// `GM` names another game.
    #[error("a game of {name:?}, not Othello")]
    OtherGame {
        /// The name, shortened.
        name: String,
    },
    /// `BO` is no position.
    #[error("board: {0}")]
    Board(PositionTextError),
    /// `BO` is a position nobody can move in.
    #[error("board: {0}")]
    Start(StartError),
    /// `BO` comes after the first move, or a second time.
    #[error("a board after the first move or a second board")]
    LateBoard,
    /// A move is unreadable.
    #[error("move {text:?}: {reason}")]
    Move {
        /// The move as written, shortened.
        text: String,
        /// What is wrong with it.
        reason: MoveError,
    },
    /// A move of a player whose turn it is not.
    #[error("move {text:?} by {colour}, whose turn it is not")]
    WrongTurn {
        /// The move as written, shortened.
        text: String,
        /// Who made it.
        colour: Colour,
    },
    /// A move is illegal.
    #[error("move {text:?}: {reason}")]
    Illegal {
        /// The move as written, shortened.
        text: String,
        /// Why.
        reason: IllegalMove,
    },
}

/// Reads every game of a text; what is wrong with one does not stop the next.
pub fn read(text: &str) -> impl Iterator<Item = Result<Game, GgfError>> {
    Reader {
        text: text.strip_prefix('\u{feff}').unwrap_or(text),
        at: 0,
        line: 1,
        line_at: 0,
        games: 0,
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Offset of what is not yet read.
    at: usize,
    /// The line of offset `line_at`.
    line: usize,
    line_at: usize,
    games: usize,
}

const GAME_START: &str = "(;";

impl Iterator for Reader<'_> {
    type Item = Result<Game, GgfError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Before a game stand white space and the count of games that share the line.
        let rest = self.rest();
        let lead = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_whitespace() || c.is_ascii_digit())
                .len();
        self.at += lead;
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        self.games += 1;
        let (game, line) = (self.games, self.line_here());
        let result = match rest.strip_prefix(GAME_START) {
            Some(body) => {
                self.at += GAME_START.len();
                read_game(body, line).map(|(game, used)| {
                    self.at += used;
                    game
                })
            }
            None => Err((
                None,
                GgfReason::Stray {
                    text: shortened(rest),
                },
            )),
        };
        if result.is_err() {
            // Go on at what looks like the next game, also when this one would have swallowed it.
            self.at += self.rest().find(GAME_START).unwrap_or(self.rest().len());
        }
        Some(result.map_err(|(ply, reason)| GgfError {
            game,
            line,
            ply,
            reason,
        }))
    }
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The line of what is read next, counted from where it was asked last.
    fn line_here(&mut self) -> usize {
        let passed = self.text.get(self.line_at..self.at).unwrap_or_default();
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.line_at = self.at;
        self.line
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(16).collect()
}

type Refused = (Option<usize>, GgfReason);

/// A game under construction.
#[derive(Default)]
struct Draft {
    black: Option<String>,
    white: Option<String>,
    place: Option<String>,
    date: Option<String>,
    variant: Option<String>,
    result: Option<GameResult>,
    start: Option<Start>,
    replay: Option<Replay>,
    moves: Vec<GameMove>,
}

/// Reads one game from behind its `(;`. Also tells how many bytes it has.
fn read_game(body: &str, line: usize) -> Result<(Game, usize), Refused> {
    let mut draft = Draft::default();
    let mut rest = body;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if let Some(after) = rest.strip_prefix(')') {
            return Ok((draft.finish(line), body.len() - after.len()));
        }
        let name_len = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let (name, after_name) = rest.split_at(name_len);
        let after_name = after_name.trim_start();
        if after_name.is_empty() {
            return Err((None, GgfReason::Truncated));
        }
        let Some(value) = after_name.strip_prefix('[') else {
            return Err((
                None,
                GgfReason::NoProperty {
                    text: shortened(rest),
                },
            ));
        };
        let (value, after) = read_value(value).ok_or((None, GgfReason::Truncated))?;
        // A second value of the same property, `[a][b]`, has no name: it is skipped as an unknown property is.
        draft.property(name, &value)?;
        rest = after;
    }
}

/// Reads a value up to its `]`; a backslash takes the next character as it is.
fn read_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            ']' => return Some((value, text.get(index + 1..).unwrap_or_default())),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(character),
        }
    }
    None
}

impl Draft {
    fn property(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        match name {
            "GM" => {
                let game = value.trim();
                if !game.eq_ignore_ascii_case("othello") && !game.eq_ignore_ascii_case("reversi") {
                    return Err((
                        None,
                        GgfReason::OtherGame {
                            name: shortened(game),
                        },
                    ));
                }
            }
            "PB" => self.black = Some(value.to_owned()),
            "PW" => self.white = Some(value.to_owned()),
            "PC" => self.place = Some(value.to_owned()),
            "DT" => self.date = Some(value.to_owned()),
            "TY" => self.variant = Some(value.to_owned()),
            "RE" => self.result = read_result(value),
            "BO" => self.board(value)?,
            "B" => self.play(Colour::Black, value)?,
            "W" => self.play(Colour::White, value)?,
            _ => {}
        }
        Ok(())
    }

    fn board(&mut self, value: &str) -> Result<(), Refused> {
        if self.start.is_some() || self.replay.is_some() {
            return Err((None, GgfReason::LateBoard));
        }
        let position = notation::read_ggf_board(value).map_err(|error| (None, GgfReason::Board(error)))?;
        let start = Start::from_position(position).map_err(|error| (None, GgfReason::Start(error)))?;
        self.start = Some(start);
        Ok(())
    }

    fn play(&mut self, colour: Colour, value: &str) -> Result<(), Refused> {
        let start = self.start.unwrap_or_default();
        let replay = self.replay.get_or_insert_with(|| Replay::new(start.position()));
        let mut parts = value.split('/').map(str::trim);
        let text = parts.next().unwrap_or_default();
        let mut number = || {
            parts
                .next()
                .and_then(|part| part.parse().ok())
                .filter(|n: &f64| n.is_finite())
        };
        let (evaluation, seconds) = (number(), number());
        let refused = |replay: &Replay, reason| Err((Some(replay.next_ply()), reason));

        let mv: Move = match text.parse() {
            Ok(mv) => mv,
            Err(reason) => {
                return refused(
                    replay,
                    GgfReason::Move {
                        text: shortened(text),
                        reason,
                    },
                );
            }
        };
        if mv == Move::Pass && replay.position.is_over() {
            // Some programs write passes until both sides have passed; the game had ended with the last move.
            return Ok(());
        }
        let before = replay.moves.len();
        if mv != Move::Pass && replay.position.to_act() != Some(colour) {
            replay.pass_if_forced();
        }
        match replay.position.to_act() {
            None => {
                let reason = GgfReason::Illegal {
                    text: shortened(text),
                    reason: IllegalMove::GameOver,
                };
                return refused(replay, reason);
            }
            Some(to_act) if to_act != colour => {
                return refused(
                    replay,
                    GgfReason::WrongTurn {
                        text: shortened(text),
                        colour,
                    },
                );
            }
            Some(_) => {}
        }
        // Not `play_recorded`: here the record says who moved, so a player who must pass cannot place.
        if let Err(reason) = replay.play(mv) {
            return refused(
                replay,
                GgfReason::Illegal {
                    text: shortened(text),
                    reason,
                },
            );
        }
        let passes = replay.moves.len() - before - 1;
        self.moves
            .extend(std::iter::repeat_n(GameMove::from(Move::Pass), passes));
        self.moves.push(GameMove {
            mv,
            evaluation,
            seconds,
        });
        Ok(())
    }

    fn finish(self, line: usize) -> Game {
        let start = self.start.unwrap_or_default();
        let played = self
            .replay
            .unwrap_or_else(|| Replay::new(start.position()))
            .finish();
        let mut moves = self.moves;
        moves.extend(
            played
                .moves
                .iter()
                .skip(moves.len())
                .copied()
                .map(GameMove::from)
                .collect::<Vec<_>>(),
        );
        Game {
            line,
            black: self.black,
            white: self.white,
            place: self.place,
            date: self.date,
            variant: self.variant,
            start,
            moves,
            result: self.result,
            position: played.position,
        }
    }
}

/// Reads `+4.000`, `-12:r` and the like; anything else (`?`, empty) is no result.
fn read_result(value: &str) -> Option<GameResult> {
    let (score, end) = value.split_once(':').unwrap_or((value, ""));
    let end = match end.trim() {
        "" => ResultEnd::Board,
        "r" | "R" => ResultEnd::Resigned,
        "t" | "T" => ResultEnd::Time,
        _ => ResultEnd::Agreed,
    };
    let score: f64 = score.trim().parse().ok()?;
    // NaN is in no range.
    (-64.0..=64.0).contains(&score).then_some(GameResult {
        difference: score.round() as i8,
        end,
    })
}

/// Writes a game on one line, forced passes included as `pass`.
#[must_use]
pub fn write(game: &Game) -> String {
    let mut text = String::from("(;GM[Othello]");
    let mut property = |name: &str, value: &str| {
        text.push_str(name);
        text.push('[');
        for character in value.chars() {
            if matches!(character, ']' | '\\') {
                text.push('\\');
            }
            text.push(character);
        }
        text.push(']');
    };
    let named = [
        ("PC", &game.place),
        ("DT", &game.date),
        ("PB", &game.black),
        ("PW", &game.white),
        ("TY", &game.variant),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            property(name, value);
        }
    }
    if let Some(result) = game.result {
        let end = match result.end {
            ResultEnd::Board => "",
            ResultEnd::Resigned => ":r",
            ResultEnd::Time => ":t",
            ResultEnd::Agreed => ":s",
        };
        property("RE", &format!("{:+}.000{end}", result.difference));
    }
    let mut position = game.start.position();
    property("BO", &notation::write_ggf_board(&position));
    for played in &game.moves {
        let Some(colour) = position.to_act() else { break };
        let Ok((next, _)) = position.play(played.mv) else {
            break;
        };
        let mut value = played.mv.to_string();
        // Writing into a string cannot fail.
        let _ = match (played.evaluation, played.seconds) {
            (None, None) => Ok(()),
            (Some(evaluation), None) => write!(value, "/{evaluation:.2}"),
            (None, Some(seconds)) => write!(value, "//{seconds:.2}"),
            (Some(evaluation), Some(seconds)) => write!(value, "/{evaluation:.2}/{seconds:.2}"),
        };
        property(if colour == Colour::Black { "B" } else { "W" }, &value);
        position = next;
    }
    text.push_str(";)");
    text
}
