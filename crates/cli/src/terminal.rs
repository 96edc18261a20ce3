//! The terminal: entering and leaving the screen, and painting lines on it. The only place that knows escape sequences.

use std::io::{self, IsTerminal as _, Stdout, Write as _};
use std::sync::Once;

use crossterm::cursor::{Hide, MoveTo, MoveToColumn, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::{
    Attribute, Color, ContentStyle, PrintStyledContent, ResetColor, StyledContent, Stylize as _,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use tablemate_engine::Colour;

use crate::board::scene::{Scene, Screen};
use crate::board::text::{Figure, Ground, Ink, Line, Span};

/// Whether this process has a terminal that a screen can be painted on.
#[must_use]
pub fn is_capable() -> bool {
    let dumb = std::env::var("TERM").is_ok_and(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !dumb
}

/// The screen, entered. Leaves it when dropped, also after a panic.
#[derive(Debug)]
pub struct Painter {
    out: Stdout,
    /// What was painted last, and for which size.
    painted: Vec<Line>,
    size: (u16, u16),
}

impl Painter {
    /// Enters the screen.
    ///
    /// # Errors
    ///
    /// The terminal refuses; it is left as it was.
    pub fn enter() -> io::Result<Painter> {
        restore_on_panic();
        enable_raw_mode()?;
        let mut out = io::stdout();
        if let Err(error) = execute!(
            out,
            EnterAlternateScreen,
            EnableBracketedPaste,
            Clear(ClearType::All)
        ) {
            restore();
            return Err(error);
        }
        Ok(Painter {
            out,
            painted: Vec::new(),
            size: (0, 0),
        })
    }

    /// Paints what has changed.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub fn paint(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        let now = size()?;
        queue!(self.out, BeginSynchronizedUpdate)?;
        if now != self.size {
            self.size = now;
            self.painted.clear();
            queue!(self.out, Clear(ClearType::All))?;
        }
        let Screen { lines, caret } = scene.screen(usize::from(now.0), usize::from(now.1));
        for (row, line) in lines.iter().enumerate() {
            if self.painted.get(row) != Some(line) {
                self.paint_line(row, line)?;
            }
        }
        match caret {
            Some((column, row)) => queue!(self.out, MoveTo(column16(column), column16(row)), Show)?,
            None => queue!(self.out, Hide)?,
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.painted = lines;
        self.out.flush()
    }

    fn paint_line(&mut self, row: usize, line: &Line) -> io::Result<()> {
        queue!(self.out, Hide, MoveTo(0, column16(row)))?;
        let mut column = 0;
        for span in line.spans() {
            // Some terminals draw discs and dots two columns wide. Each span is put where it belongs, so that at least
            // nothing after them moves.
            queue!(
                self.out,
                MoveToColumn(column16(column)),
                PrintStyledContent(styled(span))
            )?;
            column += span.width();
        }
        // After a line that reaches the last column there is nothing to clear, and some terminals would clear that one.
        if column < usize::from(self.size.0) {
            queue!(
                self.out,
                ResetColor,
                MoveToColumn(column16(column)),
                Clear(ClearType::UntilNewLine)
            )?;
        }
        Ok(())
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        restore();
    }
}

/// Leaves the screen. Harmless to repeat.
fn restore() {
    // Nothing can be done when the terminal is gone.
    let _ = execute!(
        io::stdout(),
        DisableBracketedPaste,
        ResetColor,
        Show,
        LeaveAlternateScreen
    );
    let _ = disable_raw_mode();
}

/// A panic's message shall be readable: the screen is left before it is printed.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            print(panic);
        }));
    });
}

fn column16(column: usize) -> u16 {
    u16::try_from(column).unwrap_or(u16::MAX)
}

fn styled(span: &Span) -> StyledContent<&str> {
    style(span.ink()).apply(span.text())
}

/// How an ink looks.
fn style(ink: Ink) -> ContentStyle {
    let plain = ContentStyle::new();
    match ink {
        Ink::Plain => plain,
        Ink::Faint => plain.with(Color::AnsiValue(245)),
        Ink::Strong => plain.attribute(Attribute::Bold),
        Ink::Title => plain.attribute(Attribute::Bold).with(Color::AnsiValue(35)),
        Ink::Good => plain.attribute(Attribute::Bold).with(Color::AnsiValue(34)),
        Ink::Warn => plain.attribute(Attribute::Bold).with(Color::AnsiValue(178)),
        Ink::Bad => plain.attribute(Attribute::Bold).with(Color::AnsiValue(203)),
        Ink::Bubble => plain.attribute(Attribute::Bold).with(Color::AnsiValue(39)),
        Ink::Square(figure, ground) => square(figure, ground),
    }
}

fn square(figure: Figure, ground: Ground) -> ContentStyle {
    let cloth = Color::AnsiValue(match ground {
        Ground::Felt => 28,
        Ground::Turned => 65,
        Ground::Last => 136,
    });
    let style = ContentStyle::new().on(cloth);
    match figure {
        Figure::Nothing => style.with(Color::AnsiValue(22)),
        Figure::Legal => style.with(Color::AnsiValue(156)).attribute(Attribute::Bold),
        Figure::Disc(Colour::Black) => style.with(Color::AnsiValue(16)).attribute(Attribute::Bold),
        Figure::Disc(Colour::White) => style.with(Color::AnsiValue(231)).attribute(Attribute::Bold),
        Figure::Turning => style.with(Color::AnsiValue(226)).attribute(Attribute::Bold),
    }
}
