//! Reading the files.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tablemate_engine::record::{self, GameRecord, RecordError};

/// A game and the file that it is from.
#[derive(Debug)]
pub struct Game {
    /// The file.
    pub file: Arc<PathBuf>,
    /// The game.
    pub record: GameRecord,
}

/// A file or a game of it that cannot be read.
#[derive(Debug)]
pub struct Bad {
    file: Arc<PathBuf>,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    File(io::Error),
    Record(RecordError),
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        match &self.reason {
            Reason::File(error) => write!(f, "{error}"),
            Reason::Record(error) => write!(f, "{error}"),
        }
    }
}

/// Reads a file; `-` is the standard input.
pub fn read(path: &Path, games: &mut Vec<Game>, bad: &mut Vec<Bad>) {
    let file = Arc::new(path.to_owned());
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => {
            bad.push(Bad {
                file,
                reason: Reason::File(error),
            });
            return;
        }
    };
    for record in record::read_any(&path.to_string_lossy(), &bytes) {
        match record {
            Ok(record) => games.push(Game {
                file: file.clone(),
                record,
            }),
            Err(error) => bad.push(Bad {
                file: file.clone(),
                reason: Reason::Record(error),
            }),
        }
    }
}
