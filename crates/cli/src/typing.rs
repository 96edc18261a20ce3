//! What a person types, read in a thread of its own so that the input stays usable whatever else happens.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::thread;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

use crate::board::editor::Edit;

/// Longer lines are cut there.
const LINE_MAX_BYTES: u64 = 1_024;
/// Things typed that wait to be looked at.
const WAITING_MAX: usize = 64;

/// Something that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A whole line.
    Line(String),
    /// A change of the line being typed.
    Edit(Edit),
    /// The line being typed is finished.
    Enter,
    /// Ctrl-C.
    Interrupt,
    /// Nothing of interest, but the screen may have to be painted anew.
    Nothing,
    /// There will be nothing more.
    End,
}

/// Reads keys of a terminal that is in raw mode.
#[must_use]
pub fn keys() -> mpsc::Receiver<Typed> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    // The thread ends with the process: a read of a terminal cannot be broken off.
    thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            for typed in typed(event) {
                if sender.blocking_send(typed).is_err() {
                    return;
                }
            }
        }
        let _ = sender.blocking_send(Typed::End);
    });
    receiver
}

/// Reads lines of the standard input.
#[must_use]
pub fn lines() -> mpsc::Receiver<Typed> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = line(&mut input) {
            if sender.blocking_send(Typed::Line(line)).is_err() {
                return;
            }
        }
        let _ = sender.blocking_send(Typed::End);
    });
    receiver
}

/// Whether a person sits at the standard input, rather than a file or a program.
#[must_use]
pub fn by_hand() -> bool {
    io::stdin().is_terminal()
}

/// The next line; what is too long is left out, what is not UTF-8 replaced.
fn line(input: &mut impl io::BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = input
        .by_ref()
        .take(LINE_MAX_BYTES)
        .read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.last() != Some(&b'\n') && read as u64 == LINE_MAX_BYTES {
        skip_line(input)?;
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Reads on to the end of the line without keeping it.
fn skip_line(input: &mut impl io::BufRead) -> io::Result<()> {
    loop {
        let available = input.fill_buf()?;
        let (length, found) = match available.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (available.len(), available.is_empty()),
        };
        input.consume(length);
        if found {
            return Ok(());
        }
    }
}

fn typed(event: Event) -> Vec<Typed> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => vec![key_typed(key)],
        // A pasted text is typed; its line ends are not, so that nothing is sent unseen.
        Event::Paste(text) => text
            .chars()
            .filter(|character| !character.is_control())
            .map(|character| Typed::Edit(Edit::Insert(character)))
            .collect(),
        _ => vec![Typed::Nothing],
    }
}

fn key_typed(key: KeyEvent) -> Typed {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Typed::Interrupt,
        KeyCode::Char('d') if control => Typed::Line("quit".to_owned()),
        KeyCode::Char('u') if control => Typed::Edit(Edit::Clear),
        KeyCode::Char('w') if control => Typed::Edit(Edit::DeleteWord),
        KeyCode::Char('a') if control => Typed::Edit(Edit::Home),
        KeyCode::Char('e') if control => Typed::Edit(Edit::End),
        KeyCode::Char('h') if control => Typed::Edit(Edit::Backspace),
        KeyCode::Char('j' | 'm') if control => Typed::Enter,
        KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => Typed::Nothing,
        KeyCode::Char(character) => Typed::Edit(Edit::Insert(character)),
        KeyCode::Enter => Typed::Enter,
        KeyCode::Backspace => Typed::Edit(Edit::Backspace),
        KeyCode::Delete => Typed::Edit(Edit::Delete),
        KeyCode::Left => Typed::Edit(Edit::Left),
        KeyCode::Right => Typed::Edit(Edit::Right),
        KeyCode::Home => Typed::Edit(Edit::Home),
        KeyCode::End => Typed::Edit(Edit::End),
        KeyCode::Up => Typed::Edit(Edit::Older),
        KeyCode::Down => Typed::Edit(Edit::Newer),
        KeyCode::Esc => Typed::Edit(Edit::Clear),
        _ => Typed::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = line(&mut bytes).unwrap() {
            lines.push(line);
        }
        lines
    }

    #[test]
    fn lines_end_as_they_like_and_the_last_need_not() {
        assert_eq!(read(b"d3\r\nc5\n\nquit"), ["d3", "c5", "", "quit"]);
        assert_eq!(read(b""), Vec::<String>::new());
    }

    #[test]
    fn what_is_too_long_or_not_text_does_no_harm() {
        let mut bytes = vec![b'x'; 5_000];
        bytes.extend(b"\nd3\n\xff\xfe\n");
        let lines = read(&bytes);
        assert_eq!(lines[0].len(), 1_024);
        assert_eq!(lines[1..], ["d3", "\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn control_keys_edit_the_line() {
        let control = |letter| {
            let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
            typed(Event::Key(key))
        };
        assert_eq!(control('c'), [Typed::Interrupt]);
        assert_eq!(control('u'), [Typed::Edit(Edit::Clear)]);
        assert_eq!(control('x'), [Typed::Nothing]);
        assert_eq!(
            typed(Event::Paste("d3\n\u{1b}".to_owned())),
            [Typed::Edit(Edit::Insert('d')), Typed::Edit(Edit::Insert('3'))]
        );
    }
}
