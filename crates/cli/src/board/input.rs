//! What a person types.

use tablemate_engine::reversi::{Square, SquareError};

use crate::i18n::Lang;

/// What a person asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A disc on this square.
    Place(Square),
    /// To give the game up.
    Resign,
    /// To offer something.
    Offer(OfferWhat),
    /// To accept the other's open offer.
    Accept,
    /// To decline it.
    Decline,
    /// To take the own open offer back.
    Withdraw,
    /// To be ready, with a number where the opener is guessed for (S-29).
    Ready(Option<u32>),
    /// Not to be ready any more.
    Unready,
    /// To leave the session for good (S-16).
    Leave,
    /// The legal moves.
    Moves,
    /// What the engine would play.
    Hint,
    /// To see the board again.
    Board,
    /// What can be typed.
    Help,
    /// To stop the program.
    Quit,
}

/// What can be offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferWhat {
    /// To end the game without a result (S-14).
    Exit,
    /// To end the game as a draw (S-15).
    Draw,
    /// To play again (S-5).
    Rematch,
}

/// Why a line is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputError {
    /// A letter and a number, but no square of the board.
    OffBoard,
    /// Passing is done by the server, and only when there is no move.
    PassIsAutomatic,
    /// The number with `ready` is not 0 to 99.
    Number,
    /// There is no such offer.
    UnknownOffer(String),
    /// There is no such command.
    Unknown(String),
}

impl InputError {
    /// The reason in words.
    #[must_use]
    pub fn text(&self, lang: Lang) -> String {
        match self {
            InputError::OffBoard => lang
                .pick(
                    "Off the board: columns are a to h, rows 1 to 8.",
                    "棋盘外：列为 a 到 h，行为 1 到 8。",
                )
                .to_owned(),
            InputError::PassIsAutomatic => lang
                .pick(
                    "You cannot pass: the server passes for you when you have no move.",
                    "不能主动停步：无子可下时由服务器自动停步。",
                )
                .to_owned(),
            InputError::Number => lang
                .pick("The number to guess with is 0 to 99.", "猜先的数字为 0 到 99。")
                .to_owned(),
            InputError::UnknownOffer(what) => match lang {
                Lang::En => format!("Cannot offer \"{what}\": offer exit, draw or rematch."),
                Lang::Zh => format!("不能提议“{what}”：可提议 exit、draw、rematch。"),
            },
            InputError::Unknown(what) => match lang {
                Lang::En => format!("Do not know \"{what}\". Type help to see what there is."),
                Lang::Zh => format!("不认识“{what}”。输入 help 查看可用命令。"),
            },
        }
    }
}

/// Reads a line; `None` when it is empty. Upper case, full-width characters of an input method and the Chinese words
/// are understood too.
///
/// # Errors
///
/// Why it is no command.
pub fn parse(line: &str) -> Result<Option<Command>, InputError> {
    let line = narrowed(line);
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let second = words.next();
    let command = match first {
        "resign" | "认输" | "投降" => Command::Resign,
        "exit" | "求退" | "协议退出" => Command::Offer(OfferWhat::Exit),
        "draw" | "求和" => Command::Offer(OfferWhat::Draw),
        "rematch" | "再来" | "再来一局" => Command::Offer(OfferWhat::Rematch),
        "offer" | "提议" => Command::Offer(offered(second)?),
        "accept" | "yes" | "接受" | "同意" => Command::Accept,
        "decline" | "no" | "拒绝" => Command::Decline,
        "withdraw" | "收回" => Command::Withdraw,
        "ready" | "准备" => Command::Ready(second.map(number).transpose()?),
        "unready" | "取消准备" => Command::Unready,
        "leave" | "离开" => Command::Leave,
        "moves" | "着法" => Command::Moves,
        "hint" | "提示" => Command::Hint,
        "board" | "棋盘" => Command::Board,
        "help" | "?" | "h" | "帮助" => Command::Help,
        "quit" | "q" | "退出" => Command::Quit,
        "pass" | "ps" | "pa" | "--" | "停步" => return Err(InputError::PassIsAutomatic),
        word => match word.parse::<Square>() {
            Ok(square) => Command::Place(square),
            Err(SquareError::OffBoard) => return Err(InputError::OffBoard),
            Err(SquareError::Malformed) => return Err(InputError::Unknown(shortened(word))),
        },
    };
    Ok(Some(command))
}

fn offered(what: Option<&str>) -> Result<OfferWhat, InputError> {
    match what {
        None | Some("exit" | "退出") => Ok(OfferWhat::Exit),
        Some("draw" | "和棋") => Ok(OfferWhat::Draw),
        Some("rematch" | "再来" | "再来一局") => Ok(OfferWhat::Rematch),
        Some(what) => Err(InputError::UnknownOffer(shortened(what))),
    }
}

fn number(text: &str) -> Result<u32, InputError> {
    match text.parse() {
        Ok(number @ 0..=99) => Ok(number),
        _ => Err(InputError::Number),
    }
}

/// The line in lower case, full-width characters as their narrow twins.
fn narrowed(line: &str) -> String {
    line.chars()
        .map(|character| match character {
            '\u{3000}' => ' ',
            '\u{ff01}'..='\u{ff5e}' => {
                char::from_u32(u32::from(character) - 0xff01 + 0x21).unwrap_or(character)
            }
            _ => character,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// What was typed, short enough for a message.
fn shortened(word: &str) -> String {
    let start: String = word.chars().take(20).collect();
    if start.len() < word.len() {
        start + "…"
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Command {
        parse(line).unwrap().unwrap()
    }

    #[test]
    fn squares_in_either_case_and_from_an_input_method() {
        for line in ["d3", " D3 ", "ｄ３", "\u{3000}Ｄ３"] {
            assert_eq!(read(line), Command::Place(Square::D3), "{line:?}");
        }
    }

    #[test]
    fn words_in_both_languages() {
        assert_eq!(read("resign"), Command::Resign);
        assert_eq!(read("认输"), Command::Resign);
        assert_eq!(read("exit"), Command::Offer(OfferWhat::Exit));
        assert_eq!(read("offer"), Command::Offer(OfferWhat::Exit));
        assert_eq!(read("offer rematch"), Command::Offer(OfferWhat::Rematch));
        assert_eq!(read("再来一局"), Command::Offer(OfferWhat::Rematch));
        assert_eq!(read("REMATCH"), Command::Offer(OfferWhat::Rematch));
        assert_eq!(read("accept"), Command::Accept);
        assert_eq!(read("拒绝"), Command::Decline);
        assert_eq!(read("ready"), Command::Ready(None));
        assert_eq!(read("ready 42"), Command::Ready(Some(42)));
        assert_eq!(read("取消准备"), Command::Unready);
        assert_eq!(read("help"), Command::Help);
        assert_eq!(read("quit"), Command::Quit);
    }

    #[test]
    fn what_is_no_command_says_why() {
        assert_eq!(parse("  "), Ok(None));
        assert_eq!(parse("i9"), Err(InputError::OffBoard));
        assert_eq!(parse("d33"), Err(InputError::OffBoard));
        assert_eq!(parse("PASS"), Err(InputError::PassIsAutomatic));
        assert_eq!(parse("ready 100"), Err(InputError::Number));
        assert_eq!(parse("offer tea"), Err(InputError::UnknownOffer("tea".into())));
        assert_eq!(parse("dance"), Err(InputError::Unknown("dance".into())));
        let Err(InputError::Unknown(long)) = parse(&"长".repeat(1000)) else {
            panic!("accepted");
        };
        assert_eq!(long.chars().count(), 21);
        for lang in [Lang::Zh, Lang::En] {
            assert!(InputError::Unknown("dance".into()).text(lang).contains("dance"));
        }
    }
}
