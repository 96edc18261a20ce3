//! The whole screen: the board, the players and their clocks, the turn's countdown, the bubble, the story, and the line
//! that a person types in.

use tablemate_engine::Colour;
use tablemate_engine::reversi::SquareSet;
use tablemate_protocol::v1;

use super::clock::{bar, minutes_seconds, seconds};
use super::editor::Editor;
use super::picture::{self, Glyphs, Picture, Progress};
use super::table::{Table, Turn, other};
use super::text::{Ink, Line, head, width, wrap};
use crate::i18n::Lang;
use crate::i18n::game::Voice;

/// Where the panel beside the board begins, and the narrowest screen that has one.
const PANEL_COLUMN: usize = picture::WIDTH + 4;
const PANEL_MIN: usize = 30;
/// Wider is harder to read.
const PANEL_MAX: usize = 56;
/// The panel beside a board among lines.
const BLOCK_PANEL: usize = 40;
/// Columns of a countdown's bar, its brackets aside.
const BAR: usize = 20;
/// Rows at the bottom beside the status: the input line, the hint.
const FOOT: usize = 2;
/// Rows that the status may take.
const STATUS_MAX: usize = 2;

/// What is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The session; `None` while there is none yet.
    pub table: Option<&'a Table>,
    /// The server's time, in ms.
    pub now_ms: u64,
    /// The language and the discs.
    pub voice: Voice,
    /// What was said, the newest last.
    pub story: &'a [Line],
    /// The newest word to this player.
    pub bubble: Option<&'a str>,
    /// The answer to what was typed last.
    pub status: Option<&'a Line>,
    /// The line being typed; `None` where nothing can be typed.
    pub editor: Option<&'a Editor>,
    /// What can be typed, in short.
    pub hint: &'a str,
}

/// A screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Its lines from the top; none is wider than the screen.
    pub lines: Vec<Line>,
    /// Where the caret stands (column, row), if there is one.
    pub caret: Option<(usize, usize)>,
}

impl Scene<'_> {
    /// The screen for a terminal of this size. What does not fit is left out from the bottom of the story.
    #[must_use]
    pub fn screen(&self, columns: usize, rows: usize) -> Screen {
        let status = self.status_lines(columns);
        let body_rows = rows.saturating_sub(status.len() + FOOT);
        let mut lines = vec![self.title(), Line::new()];
        if columns >= PANEL_COLUMN + PANEL_MIN {
            let panel_columns = (columns - PANEL_COLUMN).min(PANEL_MAX);
            let panel = self.panel(panel_columns, body_rows.saturating_sub(lines.len()));
            let board = self.board();
            for row in 0..board.len().max(panel.len()) {
                let left = board.get(row).cloned().unwrap_or_default();
                let right = panel.get(row).cloned().unwrap_or_default();
                lines.push(left.beside(PANEL_COLUMN, right));
            }
        } else {
            lines.extend(self.board());
            let left = body_rows.saturating_sub(lines.len());
            lines.extend(self.panel(columns, left));
        }
        lines.resize(body_rows, Line::new());
        lines.extend(status);
        let caret = self.foot(&mut lines, columns, rows);
        // A screen of less than three rows shows the start of the foot.
        lines.truncate(rows);
        Screen {
            lines: lines.into_iter().map(|line| line.cut(columns)).collect(),
            caret,
        }
    }

    fn title(&self) -> Line {
        let lang = self.voice.lang;
        let mut line = Line::of("Tablemate", Ink::Title).with(lang.pick(" Reversi", " 黑白棋"), Ink::Title);
        if let Some(table) = self.table {
            let game = match (lang, table.settings.games) {
                (_, 0 | 1) => String::new(),
                (Lang::En, games) => format!("  game {} of {games}", table.game_number.max(1)),
                (Lang::Zh, games) => format!("  第 {}/{games} 局", table.game_number.max(1)),
            };
            line.push(game, Ink::Plain);
            line.push(
                format!("  {} {}", lang.pick("session", "房间"), table.session_id),
                Ink::Faint,
            );
        }
        line
    }

    fn board(&self) -> Vec<Line> {
        match self.table {
            Some(table) => board_lines(table, self.now_ms, self.voice.glyphs),
            None => Vec::new(),
        }
    }

    fn panel(&self, columns: usize, rows: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(table) = self.table {
            lines.extend(seat_lines(table, self.now_ms, self.voice, columns));
            lines.push(Line::new());
            lines.extend(turn_lines(table, self.now_ms, self.voice));
            lines.extend(offer_lines(table, self.voice));
            if let Some(bubble) = self.bubble {
                lines.extend(bubble_lines(bubble, columns));
            }
            lines.push(Line::new());
        }
        let room = rows.saturating_sub(lines.len());
        let story: Vec<Line> = self
            .story
            .iter()
            .flat_map(|line| wrapped(line, columns))
            .collect();
        lines.extend(story.into_iter().rev().take(room).rev());
        lines.truncate(rows);
        lines
    }

    fn status_lines(&self, columns: usize) -> Vec<Line> {
        let mut lines = self.status.map_or(Vec::new(), |status| wrapped(status, columns));
        lines.truncate(STATUS_MAX);
        lines.resize(lines.len().max(1), Line::new());
        lines
    }

    fn foot(&self, lines: &mut Vec<Line>, columns: usize, rows: usize) -> Option<(usize, usize)> {
        let Some(editor) = self.editor else {
            lines.push(Line::new());
            lines.push(Line::of(self.hint, Ink::Faint));
            return None;
        };
        let prompt = "> ";
        let (text, caret) = editor.window(columns.saturating_sub(width(prompt)));
        let row = lines.len();
        lines.push(Line::of(prompt, Ink::Strong).with(text, Ink::Plain));
        lines.push(Line::of(self.hint, Ink::Faint));
        (row < rows).then_some((width(prompt) + caret, row))
    }
}

/// The board of a table: the legal moves are marked for a player whose turn it is, and for spectators.
#[must_use]
pub fn board_lines(table: &Table, now_ms: u64, glyphs: Glyphs) -> Vec<Line> {
    let Some(grid) = &table.grid else {
        return Vec::new();
    };
    let last = table.shown_move(now_ms);
    let still = !matches!(last, Some((_, Progress::Turning(_))));
    let shows_legal = still && (table.me.is_none() || table.my_turn().is_some());
    Picture {
        grid,
        last,
        legal: if shows_legal {
            table.legal()
        } else {
            SquareSet::EMPTY
        },
        glyphs,
    }
    .lines()
}

/// A board as lines that are printed one after the other, with the players beside it.
#[must_use]
pub fn block(table: &Table, now_ms: u64, voice: Voice) -> Vec<Line> {
    let mut beside = seat_lines(table, now_ms, voice, BLOCK_PANEL);
    beside.push(Line::new());
    beside.extend(offer_lines(table, voice));
    let board = board_lines(table, now_ms, voice.glyphs);
    if board.is_empty() {
        return beside;
    }
    (0..board.len().max(beside.len()))
        .map(|row| {
            let left = board.get(row).cloned().unwrap_or_default();
            let right = beside.get(row).cloned().unwrap_or_default();
            left.beside(PANEL_COLUMN, right)
        })
        .collect()
}

/// The two players: who is to act, colour, name, discs, total time left; black first once there are colours.
#[must_use]
pub fn seat_lines(table: &Table, now_ms: u64, voice: Voice, columns: usize) -> Vec<Line> {
    let order = match table.seat_of(Colour::White) {
        Some(1) => [2, 1],
        _ => [1, 2],
    };
    order
        .into_iter()
        .map(|seat| seat_line(table, seat, now_ms, voice, columns))
        .collect()
}

fn seat_line(table: &Table, number: u32, now_ms: u64, voice: Voice, columns: usize) -> Line {
    let lang = voice.lang;
    let Some(seat) = table.seat(number) else {
        return Line::new();
    };
    let to_act = table.turn.is_some_and(|turn| turn.seat == number);
    let ink = if to_act { Ink::Strong } else { Ink::Plain };
    let mut line = Line::of(if to_act { "> " } else { "  " }, Ink::Warn);
    if let Some(colour) = seat.colour {
        line.push(format!("{} ", voice.glyphs.disc(colour)), ink);
    }
    let mut right = String::new();
    if let (Some(colour), Some(grid)) = (seat.colour, &table.grid) {
        let discs = grid.counts().get(colour.index()).copied().unwrap_or(0);
        right.push_str(&format!("{discs:>3}"));
        if table.turn.is_some() {
            right.push_str(&format!(
                "  {:>5}",
                minutes_seconds(table.total_left_ms(number, now_ms))
            ));
        }
    }
    let mut marks = String::new();
    if table.me == Some(number) {
        marks.push_str(lang.pick(" (you)", "（您）"));
    }
    if seat.ready && table.turn.is_none() && table.ending.is_none() {
        marks.push_str(lang.pick(" ready", " 已准备"));
    }
    let room = columns.saturating_sub(line.width() + width(&marks) + width(&right) + 1);
    let name = voice.player(table, number);
    line.push(shortened(&name, room), ink);
    line.push(marks, Ink::Faint);
    line.padded(columns.saturating_sub(width(&right)))
        .with(right, ink)
}

/// The name, cut with an ellipsis when it is too wide.
fn shortened(name: &str, columns: usize) -> String {
    if width(name) <= columns {
        return name.to_owned();
    }
    let start = head(name, columns.saturating_sub(1));
    format!("{start}…")
}

/// Whose turn it is and how long, or how getting ready stands, or how it all ended.
#[must_use]
pub fn turn_lines(table: &Table, now_ms: u64, voice: Voice) -> Vec<Line> {
    if let Some(turn) = table.turn {
        return turn_countdown(table, turn, now_ms, voice);
    }
    match table.phase {
        v1::SessionPhase::Open => vec![Line::of(
            voice
                .lang
                .pick("Waiting for the other player to join …", "等待对方加入 …"),
            Ink::Strong,
        )],
        v1::SessionPhase::Waiting if table.games_left() == 0 => Vec::new(),
        v1::SessionPhase::Waiting => ready_lines(table, now_ms, voice),
        v1::SessionPhase::Ended => ended_lines(table, voice),
        v1::SessionPhase::Playing | v1::SessionPhase::Unspecified => Vec::new(),
    }
}

/// Whose turn it is, in one line: `Your turn (● black), move 5`.
#[must_use]
pub fn turn_text(table: &Table, turn: Turn, voice: Voice) -> String {
    let colour = voice.colour(turn.colour);
    let mine = table.me == Some(turn.seat);
    let player = voice.player(table, turn.seat);
    match (voice.lang, mine) {
        (Lang::En, true) => format!("Your turn ({colour}), move {}", turn.ply),
        (Lang::Zh, true) => format!("轮到您下子（{colour}），第 {} 手", turn.ply),
        (Lang::En, false) => format!("{player}'s turn ({colour}), move {}", turn.ply),
        (Lang::Zh, false) => format!("轮到 {player}（{colour}），第 {} 手", turn.ply),
    }
}

fn turn_countdown(table: &Table, turn: Turn, now_ms: u64, voice: Voice) -> Vec<Line> {
    let left_ms = table.turn_left_ms(now_ms).unwrap_or(0);
    let whole_ms = turn.deadline_ms.saturating_sub(turn.clock_start_ms);
    let mine = table.me == Some(turn.seat);
    let ink = if mine { Ink::Good } else { Ink::Plain };
    vec![
        Line::of(turn_text(table, turn, voice), ink),
        countdown(left_ms, whole_ms, voice.lang),
    ]
}

fn countdown(left_ms: u64, whole_ms: u64, lang: Lang) -> Line {
    let ink = match seconds(left_ms) {
        0..=5 => Ink::Bad,
        6..=10 => Ink::Warn,
        _ => Ink::Plain,
    };
    Line::of(bar(left_ms, whole_ms, BAR), ink)
        .with(format!(" {} {}", seconds(left_ms), lang.pick("s", "秒")), ink)
}

fn ready_lines(table: &Table, now_ms: u64, voice: Voice) -> Vec<Line> {
    let lang = voice.lang;
    let i_am_ready = table.me.and_then(|me| table.seat(me)).map(|seat| seat.ready);
    let Some(countdown_ms) = table.countdown_ms else {
        return match i_am_ready {
            Some(false) => vec![Line::of(
                lang.pick("Type ready to begin.", "请输入 ready 准备开始。"),
                Ink::Good,
            )],
            _ => vec![Line::of(
                lang.pick("Waiting until both are ready …", "等待双方准备 …"),
                Ink::Plain,
            )],
        };
    };
    let left_ms = countdown_ms.saturating_sub(now_ms);
    let whole_ms = table
        .settings
        .ready_time
        .as_ref()
        .and_then(|time| tablemate_protocol::convert::time::millis(time).ok())
        .map_or(left_ms, |time| time.0);
    let text = match i_am_ready {
        Some(false) => lang.pick(
            "Type ready, or you will be made ready:",
            "请输入 ready 准备，否则将自动准备：",
        ),
        Some(true) => lang.pick(
            "Waiting for your opponent to get ready:",
            "等待对方准备（到时自动准备）：",
        ),
        None => lang.pick("Getting ready:", "准备倒计时："),
    };
    vec![Line::of(text, Ink::Strong), countdown(left_ms, whole_ms, lang)]
}

fn ended_lines(table: &Table, voice: Voice) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(ending) = table.ending {
        lines.push(Line::of(voice.ending(ending), Ink::Strong));
    }
    lines.extend(rematch_line(table, voice));
    lines
}

/// That one may play again, while one may.
#[must_use]
pub fn rematch_line(table: &Table, voice: Voice) -> Option<Line> {
    table.rematch_possible().then(|| {
        Line::of(
            voice.lang.pick(
                "Type rematch to play again, or quit.",
                "输入 rematch 再来一局，或 quit 退出。",
            ),
            Ink::Good,
        )
    })
}

/// The open offers.
#[must_use]
pub fn offer_lines(table: &Table, voice: Voice) -> Vec<Line> {
    let lang = voice.lang;
    table
        .offers
        .iter()
        .map(|offer| {
            let what = voice.offer_kind(offer.kind());
            let player = voice.player(table, offer.seat);
            if table.me == Some(offer.seat) {
                let text = match lang {
                    Lang::En => format!("You offer {what}; withdraw takes it back."),
                    Lang::Zh => format!("您提议{what}；withdraw 收回。"),
                };
                Line::of(text, Ink::Faint)
            } else if table.me == Some(other(offer.seat)) {
                let text = match lang {
                    Lang::En => format!("{player} offers {what}: accept or decline?"),
                    Lang::Zh => format!("{player} 提议{what}：accept 同意，decline 拒绝。"),
                };
                Line::of(text, Ink::Warn)
            } else {
                let text = match lang {
                    Lang::En => format!("{player} offers {what}."),
                    Lang::Zh => format!("{player} 提议{what}。"),
                };
                Line::of(text, Ink::Plain)
            }
        })
        .collect()
}

/// Words in a bubble (S-23).
#[must_use]
pub fn bubble_lines(text: &str, columns: usize) -> Vec<Line> {
    let inside = columns.saturating_sub(4);
    let words = wrap(text, inside);
    let widest = words.iter().map(|line| width(line)).max().unwrap_or(0);
    let edge =
        |left: char, right: char| Line::of(format!("{left}{}{right}", "─".repeat(widest + 2)), Ink::Bubble);
    let mut lines = vec![edge('╭', '╮')];
    for word in words {
        let line = Line::of("│ ", Ink::Bubble)
            .with(word, Ink::Bubble)
            .padded(widest + 3);
        lines.push(line.with("│", Ink::Bubble));
    }
    lines.push(edge('╰', '╯'));
    lines
}

/// A line of the story in as many lines as it needs.
fn wrapped(line: &Line, columns: usize) -> Vec<Line> {
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let ink = line.spans().first().map_or(Ink::Plain, |span| span.ink());
    wrap(&line.plain(), columns)
        .into_iter()
        .map(|text| Line::of(text, ink))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{ANN, BAI, Game, START_MS, table, waiting};
    use super::super::table::Table;
    use super::*;
    use crate::board::editor::Edit;

    const ZH: Voice = Voice {
        lang: Lang::Zh,
        glyphs: Glyphs::UNICODE,
    };
    const EN: Voice = Voice {
        lang: Lang::En,
        glyphs: Glyphs::UNICODE,
    };

    fn scene<'a>(table: &'a Table, now_ms: u64, voice: Voice) -> Scene<'a> {
        Scene {
            table: Some(table),
            now_ms,
            voice,
            story: &[],
            bubble: None,
            status: None,
            editor: None,
            hint: "",
        }
    }

    fn drawn(scene: Scene<'_>, columns: usize, rows: usize) -> String {
        let screen = scene.screen(columns, rows);
        assert_eq!(screen.lines.len(), rows);
        for line in &screen.lines {
            assert!(line.width() <= columns, "{:?} is too wide", line.plain());
        }
        screen.lines.iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn the_whole_screen_in_english() {
        let mut game = Game::new();
        game.play("d3", 4_000).play("c5", 3_000);
        let table = table(ANN, &game.events);
        let mut editor = Editor::default();
        "e6".chars().for_each(|c| editor.edit(Edit::Insert(c)));
        let story = [
            Line::from(" 1. ● ann d3, turns 1"),
            Line::from(" 2. ○ 白棋手 c5, turns 1"),
        ];
        let status = Line::of("Type help for help.", Ink::Faint);
        let mut scene = scene(&table, START_MS + 7_000 + 11_000, EN);
        scene.story = &story;
        scene.status = Some(&status);
        scene.editor = Some(&editor);
        scene.hint = "d3 · help · quit";
        assert_eq!(scene.screen(70, 14).caret, Some((4, 12)));
        assert_eq!(
            drawn(scene, 70, 14),
            [
                "Tablemate Reversi  session s1",
                "",
                "   a  b  c  d  e  f  g  h     > ● ann (you)                   3   9:46",
                "1  ·  ·  ·  ·  ·  ·  ·  ·       ○ 白棋手                      3   9:58",
                "2  ·  ·  ·  ·  ·  ·  ·  ·",
                "3  ·  ·  ·  ●  ·  ·  ·  ·     Your turn (● black), move 3",
                "4  ·  ·  ·  ●  ●  ·  ·  ·     [==============      ] 20 s",
                "5  ·  · [○](○) ○  ·  ·  ·",
                "6  ·  +  +  +  +  +  ·  ·      1. ● ann d3, turns 1",
                "7  ·  ·  ·  ·  ·  ·  ·  ·      2. ○ 白棋手 c5, turns 1",
                "8  ·  ·  ·  ·  ·  ·  ·  ·",
                "Type help for help.",
                "> e6",
                "d3 · help · quit",
                "",
            ]
            .join("\n")
        );
    }

    #[test]
    fn s23_the_pass_bubble_in_the_players_words_and_both_languages() {
        let table = Table::of(&waiting(), BAI);
        let mut scene = scene(&table, 0, ZH);
        scene.bubble = Some("您无子可下由对方继续下子");
        let text = drawn(scene, 70, 16);
        assert!(text.contains("╭──────────────────────────╮\n"), "{text}");
        assert!(text.contains("│ 您无子可下由对方继续下子 │\n"), "{text}");
        let lines = bubble_lines("You have no legal move; your opponent moves again", 34);
        let text: String = lines.iter().map(|line| line.plain() + "\n").collect();
        assert_eq!(
            text,
            "╭──────────────────────────────╮\n\
             │ You have no legal move; your │\n\
             │ opponent moves again         │\n\
             ╰──────────────────────────────╯\n"
        );
        let narrow = bubble_lines("您无子可下由对方继续下子", 13);
        assert!(narrow.iter().all(|line| line.width() == 12));
    }

    #[test]
    fn s2_the_countdown_of_getting_ready() {
        let mut session = waiting();
        session.seats[1].ready = true;
        session.countdown_deadline = Some(prost_types::Timestamp {
            seconds: 100,
            nanos: 0,
        });
        let mine = Table::of(&session, ANN);
        let text = drawn(scene(&mine, 88_500, EN), 80, 12);
        assert!(text.contains("白棋手 ready"), "{text}");
        assert!(text.contains("Type ready, or you will be made ready:"), "{text}");
        assert!(text.contains("[================    ] 12 s"), "{text}");
        let theirs = Table::of(&session, BAI);
        let text = drawn(scene(&theirs, 88_500, ZH), 80, 12);
        assert!(text.contains("白棋手（您） 已准备"), "{text}");
        assert!(text.contains("等待对方准备（到时自动准备）："), "{text}");
    }

    #[test]
    fn a_narrow_screen_stacks_and_a_tiny_one_does_not_break() {
        let mut game = Game::new();
        game.play("d3", 4_000);
        let table = table(BAI, &game.events);
        let text = drawn(scene(&table, START_MS + 6_000, ZH), 40, 24);
        assert!(text.contains("\n  ● ann"), "{text}");
        assert!(text.contains("轮到您下子（○ 白），第 2 手"), "{text}");
        for (columns, rows) in [(0, 0), (1, 1), (2, 5), (10, 3), (300, 100)] {
            let mut editor = Editor::default();
            "再来一局".chars().for_each(|c| editor.edit(Edit::Insert(c)));
            let mut scene = scene(&table, START_MS, ZH);
            scene.editor = Some(&editor);
            scene.bubble = Some("您无子可下由对方继续下子");
            let _ = drawn(scene, columns, rows);
        }
    }

    #[test]
    fn legal_moves_are_marked_for_who_is_to_act_and_for_spectators_once_the_discs_lie_still() {
        let mut game = Game::new();
        game.play("d3", 4_000);
        let marks = |viewer: &str, now_ms: u64| {
            board_lines(&table(viewer, &game.events), now_ms, Glyphs::UNICODE)
                .iter()
                .map(|line| line.plain().matches('+').count())
                .sum::<usize>()
        };
        let still_ms = START_MS + 5_000;
        assert_eq!(marks(BAI, still_ms), 3);
        assert_eq!(marks(BAI, still_ms - 1), 0, "the discs still turn");
        assert_eq!(marks(ANN, still_ms), 0);
        assert_eq!(marks("", still_ms), 3);
    }
}
