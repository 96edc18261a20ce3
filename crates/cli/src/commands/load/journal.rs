//! What was acknowledged, written down line by line, so that somebody else can compare it with what the service has.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// A file of acknowledgements, one JSON object a line; or none.
#[derive(Debug, Default)]
pub struct Journal {
    lines: Option<Mutex<Lines>>,
}

#[derive(Debug)]
struct Lines {
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Journal {
    /// Begins a new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let lines = Lines {
            file: BufWriter::new(File::create(path)?),
            failed: None,
        };
        Ok(Self {
            lines: Some(Mutex::new(lines)),
        })
    }

    /// A player was told to have this seat in this session.
    pub fn matched(&self, session: &str, player: &str, seat: u32) {
        self.line(|| json!({"kind": "matched", "session": session, "player": player, "seat": seat}));
    }

    /// A player's move was acknowledged as this event.
    pub fn moved(&self, session: &str, player: &str, ply: u32, mv: &str, sequence: u64) {
        self.line(|| {
            json!({"kind": "moved", "session": session, "player": player, "ply": ply, "move": mv, "sequence": sequence})
        });
    }

    fn line(&self, line: impl FnOnce() -> Value) {
        let Some(lines) = &self.lines else { return };
        let line = line();
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(lines.file, "{line}") {
            lines.failed.get_or_insert(error);
        }
    }

    /// Ends the file; tells the first failure to write it.
    pub fn close(&self) -> io::Result<()> {
        let Some(lines) = &self.lines else { return Ok(()) };
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.failed.take() {
            Some(error) => Err(error),
            None => lines.file.flush(),
        }
    }
}
