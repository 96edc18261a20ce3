//! The line that a person is typing, while the rest of the screen changes.

use super::text::{head, width};

/// The longest line that is taken, in characters.
const LENGTH_MAX: usize = 200;
/// How many lines are remembered.
const HISTORY_MAX: usize = 50;

/// What is done to the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// A character is typed.
    Insert(char),
    /// The character before the caret is deleted.
    Backspace,
    /// The character under the caret is deleted.
    Delete,
    /// The caret goes left.
    Left,
    /// The caret goes right.
    Right,
    /// The caret goes to the start.
    Home,
    /// The caret goes to the end.
    End,
    /// The line is emptied.
    Clear,
    /// The word before the caret is deleted.
    DeleteWord,
    /// The line before in the history.
    Older,
    /// The line after in the history.
    Newer,
}

/// A line being edited.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    characters: Vec<char>,
    caret: usize,
    history: Vec<String>,
    /// Where in the history the line comes from; its length: a new line.
    at: usize,
}

impl Editor {
    /// Does something to the line.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Insert(character) => {
                if !character.is_control() && self.characters.len() < LENGTH_MAX {
                    self.characters.insert(self.caret, character);
                    self.caret += 1;
                }
            }
            Edit::Backspace => {
                if self.caret > 0 {
                    self.caret -= 1;
                    self.characters.remove(self.caret);
                }
            }
            Edit::Delete => {
                if self.caret < self.characters.len() {
                    self.characters.remove(self.caret);
                }
            }
            Edit::Left => self.caret = self.caret.saturating_sub(1),
            Edit::Right => self.caret = (self.caret + 1).min(self.characters.len()),
            Edit::Home => self.caret = 0,
            Edit::End => self.caret = self.characters.len(),
            Edit::Clear => self.set(""),
            Edit::DeleteWord => self.delete_word(),
            Edit::Older => self.recall(self.at.checked_sub(1)),
            Edit::Newer => self.recall(Some(self.at + 1)),
        }
    }

    /// Takes the finished line; the editor is empty then.
    pub fn take(&mut self) -> String {
        let line = self.text();
        if !line.trim().is_empty() && self.history.last() != Some(&line) {
            self.history.push(line.clone());
            if self.history.len() > HISTORY_MAX {
                self.history.remove(0);
            }
        }
        self.at = self.history.len();
        self.set("");
        line
    }

    /// The line.
    #[must_use]
    pub fn text(&self) -> String {
        self.characters.iter().collect()
    }

    /// The part of the line to show in so many columns, and the caret's column in it. The caret is always inside.
    #[must_use]
    pub fn window(&self, columns: usize) -> (String, usize) {
        let mut start = 0;
        let before =
            |start: usize| -> String { self.characters.iter().take(self.caret).skip(start).collect() };
        // The caret itself needs a column.
        while start < self.caret && width(&before(start)) + 1 > columns {
            start += 1;
        }
        let shown: String = self.characters.iter().skip(start).collect();
        (head(&shown, columns).to_owned(), width(&before(start)))
    }

    fn set(&mut self, line: &str) {
        self.characters = line.chars().collect();
        self.caret = self.characters.len();
    }

    fn delete_word(&mut self) {
        while self.caret > 0 && self.characters.get(self.caret - 1) == Some(&' ') {
            self.edit(Edit::Backspace);
        }
        while self.caret > 0 && self.characters.get(self.caret - 1) != Some(&' ') {
            self.edit(Edit::Backspace);
        }
    }

    fn recall(&mut self, at: Option<usize>) {
        let Some(at) = at.filter(|at| *at <= self.history.len()) else {
            return;
        };
        self.at = at;
        let line = self.history.get(at).cloned().unwrap_or_default();
        self.set(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Editor {
        let mut editor = Editor::default();
        text.chars().for_each(|c| editor.edit(Edit::Insert(c)));
        editor
    }

    #[test]
    fn characters_go_where_the_caret_is() {
        let mut editor = typed("d4");
        editor.edit(Edit::Left);
        editor.edit(Edit::Backspace);
        editor.edit(Edit::Insert('c'));
        assert_eq!(editor.text(), "c4");
        editor.edit(Edit::Home);
        editor.edit(Edit::Delete);
        editor.edit(Edit::Delete);
        editor.edit(Edit::Delete);
        editor.edit(Edit::Backspace);
        assert_eq!(editor.text(), "");
        let mut editor = typed("offer  draw");
        editor.edit(Edit::DeleteWord);
        assert_eq!(editor.text(), "offer  ");
        editor.edit(Edit::DeleteWord);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn lines_come_back_from_the_history() {
        let mut editor = typed("d3");
        assert_eq!(editor.take(), "d3");
        assert_eq!(editor.take(), "");
        typed("c5")
            .text()
            .chars()
            .for_each(|c| editor.edit(Edit::Insert(c)));
        assert_eq!(editor.take(), "c5");
        editor.edit(Edit::Older);
        assert_eq!(editor.text(), "c5");
        editor.edit(Edit::Older);
        editor.edit(Edit::Older);
        assert_eq!(editor.text(), "d3");
        editor.edit(Edit::Newer);
        editor.edit(Edit::Newer);
        editor.edit(Edit::Newer);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn the_caret_stays_in_the_window_and_wide_characters_count_two() {
        let editor = typed("再来一局");
        assert_eq!(editor.window(20), ("再来一局".to_owned(), 8));
        assert_eq!(editor.window(5), ("一局".to_owned(), 4));
        let mut editor = typed("abcdef");
        editor.edit(Edit::Home);
        assert_eq!(editor.window(4), ("abcd".to_owned(), 0));
        assert_eq!(typed("abcdef").window(4), ("def".to_owned(), 3));
        assert_eq!(typed("abc").window(0).0, "");
    }

    #[test]
    fn a_line_is_bounded_and_holds_no_control_characters() {
        let mut editor = typed(&"x".repeat(1000));
        assert_eq!(editor.text().len(), LENGTH_MAX);
        editor.edit(Edit::Clear);
        editor.edit(Edit::Insert('\u{1b}'));
        assert_eq!(editor.text(), "");
    }
}
