//! Text with a meaning and a width: what every picture is made of. No terminal in here; how an [`Ink`] looks is the
//! terminal's business.

use tablemate_engine::Colour;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a piece of text means; the terminal gives it a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Ordinary text.
    #[default]
    Plain,
    /// Of less importance: coordinates, hints.
    Faint,
    /// Of more importance.
    Strong,
    /// A heading.
    Title,
    /// Good news.
    Good,
    /// Time runs out, an offer waits.
    Warn,
    /// Something was refused.
    Bad,
    /// Words in a bubble.
    Bubble,
    /// A square of the board.
    Square(Figure, Ground),
}

/// What stands on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Nothing.
    Nothing,
    /// Nothing yet: the player to act may place here.
    Legal,
    /// A disc.
    Disc(Colour),
    /// A disc on its edge, on the way from one colour to the other.
    Turning,
}

/// The ground of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// The board's cloth.
    Felt,
    /// The disc here was turned by the last move.
    Turned,
    /// The last move's disc.
    Last,
}

/// Text in one ink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    text: String,
    ink: Ink,
}

impl Span {
    /// Text in one ink. Control characters and those that turn the direction of writing are replaced: names and
    /// messages come from others, and no name shall move the cursor.
    #[must_use]
    pub fn new(text: impl Into<String>, ink: Ink) -> Span {
        Span {
            text: clean(text.into()),
            ink,
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The ink.
    #[must_use]
    pub fn ink(&self) -> Ink {
        self.ink
    }

    /// Columns of a terminal that it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        width(&self.text)
    }
}

/// One line of spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new() -> Line {
        Line::default()
    }

    /// A line of one span.
    #[must_use]
    pub fn of(text: impl Into<String>, ink: Ink) -> Line {
        Line::new().with(text, ink)
    }

    /// The line with more text at its end.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>, ink: Ink) -> Line {
        self.push(text, ink);
        self
    }

    /// Adds text at the end.
    pub fn push(&mut self, text: impl Into<String>, ink: Ink) {
        let span = Span::new(text, ink);
        if !span.text.is_empty() {
            self.spans.push(span);
        }
    }

    /// The spans.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Columns of a terminal that it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// Fills the line with spaces up to a width.
    #[must_use]
    pub fn padded(mut self, columns: usize) -> Line {
        let missing = columns.saturating_sub(self.width());
        self.push(" ".repeat(missing), Ink::Plain);
        self
    }

    /// Puts another line at this one's right, beginning at a column.
    #[must_use]
    pub fn beside(self, column: usize, right: Line) -> Line {
        let mut line = self.cut(column).padded(column);
        line.spans.extend(right.spans);
        line
    }

    /// Cuts what does not fit. A wide character never stands half inside.
    #[must_use]
    pub fn cut(self, columns: usize) -> Line {
        let mut left = columns;
        let mut line = Line::new();
        for span in self.spans {
            let text = head(&span.text, left);
            left -= width(text);
            let whole = text.len() == span.text.len();
            line.push(text, span.ink);
            if !whole {
                break;
            }
        }
        line
    }

    /// The text alone, without spaces at the end.
    #[must_use]
    pub fn plain(&self) -> String {
        let text: String = self.spans.iter().map(Span::text).collect();
        text.trim_end().to_owned()
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Line::of(text, Ink::Plain)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Line::of(text, Ink::Plain)
    }
}

/// Columns of a terminal that a text takes: 2 for a Chinese character, 1 for a Latin one, 0 for a combining one.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The longest start of a text that fits.
#[must_use]
pub fn head(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += character.width().unwrap_or(0);
        if taken > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// Breaks a text into lines of at most so many columns: at spaces where there are any, else (Chinese) anywhere.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    // Narrower than a wide character nothing would ever fit.
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let fits = head(rest, columns);
        let at = if fits.len() == rest.len() {
            fits.len()
        } else {
            break_point(fits, rest)
        };
        let (line, after) = rest.split_at(at);
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start();
    }
    lines
}

/// Where to break a text of which `fits` fits: after the last place that may be broken at.
fn break_point(fits: &str, whole: &str) -> usize {
    let next_is_space = whole
        .get(fits.len()..)
        .is_some_and(|after| after.starts_with(' '));
    if next_is_space {
        return fits.len();
    }
    let mut best = fits.len();
    for (at, character) in fits.char_indices().rev() {
        let after = at + character.len_utf8();
        if character == ' ' || character.width() == Some(2) {
            best = after;
            break;
        }
    }
    best
}

/// The text without characters that would act on a terminal.
#[must_use]
pub fn clean(text: String) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(acts) {
        text.replace(acts, "\u{fffd}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_columns_not_characters() {
        assert_eq!(width("d3"), 2);
        assert_eq!(width("黑白棋"), 6);
        assert_eq!(Line::from("黑 ●").with("x", Ink::Strong).width(), 5);
    }

    #[test]
    fn a_wide_character_is_never_cut_in_half() {
        assert_eq!(head("黑白", 3), "黑");
        let line = Line::from("黑").with("白棋", Ink::Strong);
        assert_eq!(line.clone().cut(5).plain(), "黑白");
        assert_eq!(line.clone().cut(1).plain(), "");
        assert_eq!(line.cut(6).plain(), "黑白棋");
    }

    #[test]
    fn columns_of_two_blocks_stay_aligned_with_wide_names() {
        let wide = Line::from("白棋手").beside(10, "|".into());
        let narrow = Line::from("ann").beside(10, "|".into());
        assert_eq!(wide.width(), 11);
        assert_eq!(narrow.width(), 11);
        assert_eq!(wide.plain(), "白棋手    |");
    }

    #[test]
    fn chinese_wraps_anywhere_english_at_spaces() {
        assert_eq!(
            wrap("您无子可下由对方继续下子", 10),
            ["您无子可下", "由对方继续", "下子"]
        );
        assert_eq!(
            wrap("You have no legal move; your opponent moves again", 20),
            ["You have no legal", "move; your opponent", "moves again"]
        );
        assert_eq!(wrap("aaaaaaaa", 3), ["aaa", "aaa", "aa"]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        let line = Line::from("a\u{1b}[2Jb\r\n\u{202e}c");
        assert_eq!(line.plain(), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}c");
    }
}
