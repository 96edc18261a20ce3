//! Where a session is shown: on a screen that is painted again and again, or as lines one after the other where there is
//! no terminal to paint on.

use std::io::{self, Write};
use std::time::Instant;

use tablemate_client::v1::event::Kind;
use tablemate_client::{Update, UpdateKind, v1};

use crate::board::clock::{ServerClock, seconds};
use crate::board::editor::Editor;
use crate::board::scene::{
    Scene, block, bubble_lines, offer_lines, rematch_line, seat_lines, turn_lines, turn_text,
};
use crate::board::table::{Table, ms};
use crate::board::text::{Ink, Line};
use crate::i18n::game::{Said, Tone, Voice};
use crate::terminal::Painter;

/// Lines of the story that are kept.
const STORY_MAX: usize = 200;
/// The width of a bubble among lines.
const BUBBLE_COLUMNS: usize = 60;
/// At how many seconds left a countdown is told again among lines.
const WARN_AT: [u64; 2] = [10, 5];

/// A session being shown to one viewer.
pub struct Stage {
    /// The language and the discs.
    pub voice: Voice,
    /// The session as the viewer sees it; `None` while there is none.
    pub table: Option<Table>,
    /// The line being typed, on a screen where something can be typed.
    pub editor: Option<Editor>,
    viewer_id: String,
    hint: &'static str,
    clock: ServerClock,
    story: Vec<Line>,
    bubble: Option<String>,
    status: Option<Line>,
    face: Face,
    /// The countdown (its end, in ms) and the seconds at which it was told last, among lines.
    warned: (u64, u64),
}

enum Face {
    Screen(Painter),
    Lines(Box<dyn Write + Send>),
}

impl Stage {
    /// A stage on the terminal's screen.
    ///
    /// # Errors
    ///
    /// The terminal refuses.
    pub fn on_screen(voice: Voice, viewer_id: &str, hint: &'static str, types: bool) -> io::Result<Stage> {
        let face = Face::Screen(Painter::enter()?);
        let mut stage = Stage::with(face, voice, viewer_id, hint);
        stage.editor = types.then(Editor::default);
        Ok(stage)
    }

    /// A stage that prints line after line.
    #[must_use]
    pub fn in_lines(voice: Voice, viewer_id: &str, out: Box<dyn Write + Send>) -> Stage {
        Stage::with(Face::Lines(out), voice, viewer_id, "")
    }

    fn with(face: Face, voice: Voice, viewer_id: &str, hint: &'static str) -> Stage {
        Stage {
            voice,
            table: None,
            editor: None,
            viewer_id: viewer_id.to_owned(),
            hint,
            clock: ServerClock::default(),
            story: Vec::new(),
            bubble: None,
            status: None,
            face,
            warned: (0, 0),
        }
    }

    /// The server's time as far as it is known, in ms.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms(Instant::now())
    }

    /// Begins in the middle of a session: who plays is known, how the board stood is not.
    pub fn begin_without_board(&mut self, session: &v1::Session) {
        self.table = Some(Table::of(session, &self.viewer_id).without_board());
    }

    /// Whether all discs lie still.
    #[must_use]
    pub fn is_still(&self) -> bool {
        let last = self.table.as_ref().and_then(|table| table.last.as_ref());
        !self.is_screen() || last.is_none_or(|last| last.shown_ms <= self.now_ms())
    }

    /// Takes an update of the session and shows it.
    ///
    /// # Errors
    ///
    /// Nobody reads the output any more.
    pub fn hear(&mut self, update: &Update) -> io::Result<()> {
        if let Some(now) = &update.server_now {
            self.clock.hear(ms(now), Instant::now());
        }
        match &update.kind {
            UpdateKind::Snapshot(session) => self.snapshot(session),
            UpdateKind::Resynchronise(session) => {
                self.say(Line::of(self.voice.lang.resynchronised(), Ink::Warn))?;
                self.snapshot(session)
            }
            UpdateKind::Event(event) => self.event(event),
            UpdateKind::Presence(presence) => {
                if let Some(table) = &mut self.table {
                    table.presence(presence);
                }
                Ok(())
            }
            UpdateKind::Heartbeat { .. } => Ok(()),
        }
    }

    fn snapshot(&mut self, session: &v1::Session) -> io::Result<()> {
        let table = Table::of(session, &self.viewer_id);
        let known = self
            .table
            .as_ref()
            .is_some_and(|known| known.session_id == table.session_id);
        self.bubble = None;
        let now_ms = self.now_ms();
        let mut lines = Vec::new();
        if !known {
            lines.push(Line::of(self.voice.lang.session_line(&table), Ink::Strong));
        }
        if table.grid.is_some() {
            lines.extend(block(&table, now_ms, self.voice));
        } else {
            lines.extend(seat_lines(&table, now_ms, self.voice, 40));
            lines.extend(offer_lines(&table, self.voice));
        }
        for result in &table.results {
            lines.push(Line::of(self.voice.result(&table, result), Ink::Strong));
        }
        lines.extend(turn_lines(&table, now_ms, self.voice));
        self.table = Some(table);
        self.print(&lines)
    }

    fn event(&mut self, event: &v1::Event) -> io::Result<()> {
        let Some(table) = &mut self.table else {
            return Ok(());
        };
        if !table.apply(event, &self.viewer_id) {
            return Ok(());
        }
        let said = self.voice.tell(table, event);
        if matches!(event.kind, Some(Kind::Moved(_) | Kind::Started(_))) {
            self.bubble = None;
        }
        for said in said {
            self.tell(said)?;
        }
        let after = self.lines_after(event);
        self.print(&after)
    }

    fn tell(&mut self, said: Said) -> io::Result<()> {
        let ink = match said.tone {
            Tone::Story => Ink::Plain,
            Tone::Bubble => Ink::Bubble,
            Tone::Result => Ink::Strong,
        };
        let line = Line::of(said.text.clone(), ink);
        if said.tone == Tone::Bubble {
            self.print(&bubble_lines(&said.text, BUBBLE_COLUMNS))?;
            self.remember(line);
            self.bubble = Some(said.text);
            return Ok(());
        }
        self.say(line)
    }

    /// What follows the words about an event where no screen shows it: the board, and who is to act.
    fn lines_after(&self, event: &v1::Event) -> Vec<Line> {
        let (Some(table), Some(kind)) = (&self.table, &event.kind) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if matches!(kind, Kind::Started(_) | Kind::Moved(_)) && table.grid.is_some() {
            lines.extend(self.still_block(table));
        }
        let tells_turn = matches!(
            kind,
            Kind::Started(_) | Kind::Moved(_) | Kind::Passed(_) | Kind::ClockCompensated(_)
        );
        // Whoever has to pass is not asked to move: the next event is the pass.
        if let Some(turn) = table.turn.filter(|_| tells_turn && !table.legal().is_empty()) {
            let mut text = turn_text(table, turn, self.voice);
            if table.my_turn().is_some() {
                let whole_ms = turn.deadline_ms.saturating_sub(turn.clock_start_ms);
                text.push_str(&self.voice.lang.time_and_moves(whole_ms, table.legal()));
            }
            lines.push(Line::of(text, Ink::Strong));
        }
        if matches!(kind, Kind::Offered(_)) {
            lines.extend(offer_lines(table, self.voice));
        }
        let both_ready = table.seats.iter().all(|seat| seat.ready);
        if matches!(kind, Kind::Joined(_) | Kind::Readied(_) | Kind::GameEnded(_))
            && table.turn.is_none()
            && !both_ready
        {
            lines.extend(turn_lines(table, self.now_ms(), self.voice));
        }
        if matches!(kind, Kind::SessionEnded(_)) {
            lines.extend(rematch_line(table, self.voice));
        }
        lines
    }

    /// The board with all discs turned, and the total times as they are now.
    fn still_block(&self, table: &Table) -> Vec<Line> {
        let mut still = table.clone();
        if let Some(last) = &mut still.last {
            last.at_ms = 0;
            last.shown_ms = 0;
        }
        block(&still, self.now_ms(), self.voice)
    }

    /// Adds a line to the story.
    ///
    /// # Errors
    ///
    /// Nobody reads the output any more.
    pub fn say(&mut self, line: Line) -> io::Result<()> {
        self.print(std::slice::from_ref(&line))?;
        self.remember(line);
        Ok(())
    }

    fn remember(&mut self, line: Line) {
        self.story.push(line);
        if self.story.len() > STORY_MAX {
            self.story.remove(0);
        }
    }

    /// Answers what was typed.
    ///
    /// # Errors
    ///
    /// Nobody reads the output any more.
    pub fn answer(&mut self, text: impl Into<String>, ink: Ink) -> io::Result<()> {
        let line = Line::of(text, ink);
        self.print(std::slice::from_ref(&line))?;
        self.status = Some(line);
        Ok(())
    }

    /// Forgets the last answer: something else was typed.
    pub fn forget_answer(&mut self) {
        self.status = None;
    }

    /// Shows the board once more, among lines.
    ///
    /// # Errors
    ///
    /// Nobody reads the output any more.
    pub fn show_board(&mut self) -> io::Result<()> {
        let now_ms = self.now_ms();
        let lines = match &self.table {
            Some(table) => {
                let mut lines = self.still_block(table);
                lines.extend(turn_lines(table, now_ms, self.voice));
                lines
            }
            None => Vec::new(),
        };
        self.print(&lines)
    }

    /// Whether a screen is painted.
    #[must_use]
    pub fn is_screen(&self) -> bool {
        matches!(self.face, Face::Screen(_))
    }

    /// Time has passed: paints the screen, or tells the countdown among lines.
    ///
    /// # Errors
    ///
    /// The terminal is gone, or nobody reads the output any more.
    pub fn tick(&mut self) -> io::Result<()> {
        let now_ms = self.now_ms();
        match &mut self.face {
            Face::Screen(painter) => painter.paint(&Scene {
                table: self.table.as_ref(),
                now_ms,
                voice: self.voice,
                story: &self.story,
                bubble: self.bubble.as_deref(),
                status: self.status.as_ref(),
                editor: self.editor.as_ref(),
                hint: self.hint,
            }),
            Face::Lines(_) => self.count_down(now_ms),
        }
    }

    /// Tells among lines how a countdown that concerns this player stands.
    fn count_down(&mut self, now_ms: u64) -> io::Result<()> {
        let Some(table) = &self.table else {
            return Ok(());
        };
        let end_ms = match (table.my_turn(), table.countdown_ms) {
            (Some(turn), _) => turn.deadline_ms,
            (None, Some(countdown_ms)) => countdown_ms,
            (None, None) => return Ok(()),
        };
        let left = seconds(end_ms.saturating_sub(now_ms));
        if !WARN_AT.contains(&left) || self.warned == (end_ms, left) {
            return Ok(());
        }
        self.warned = (end_ms, left);
        let line = Line::of(self.voice.lang.seconds_left(left), Ink::Warn);
        self.print(&[line])
    }

    fn print(&mut self, lines: &[Line]) -> io::Result<()> {
        match &mut self.face {
            Face::Screen(_) => Ok(()),
            Face::Lines(out) => {
                for line in lines {
                    writeln!(out, "{}", line.plain())?;
                }
                out.flush()
            }
        }
    }

    /// Leaves the stage. Where a screen was painted, the last board and the results stay on the terminal.
    ///
    /// # Errors
    ///
    /// Nobody reads the output any more.
    pub fn leave(self) -> io::Result<()> {
        if !self.is_screen() {
            return Ok(());
        }
        let lines = match &self.table {
            Some(table) => {
                let mut lines = vec![Line::from(self.voice.lang.session_line(table))];
                lines.extend(self.still_block(table));
                lines.extend(
                    table
                        .results
                        .iter()
                        .map(|result| Line::from(self.voice.result(table, result))),
                );
                lines.extend(table.ending.map(|ending| Line::from(self.voice.ending(ending))));
                lines
            }
            None => Vec::new(),
        };
        let status = self.status.clone();
        drop(self);
        let mut out = io::stdout().lock();
        for line in lines.iter().chain(&status) {
            writeln!(out, "{}", line.plain())?;
        }
        out.flush()
    }
}
