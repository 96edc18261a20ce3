//! Exit codes.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well: 0.
    Success,
    /// It was done but something does not hold (a mismatch, a violation), or it could not be done: 1.
    Failure,
    /// The input cannot be read: 2.
    BadInput,
    /// The command line cannot be read: 64.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::BadInput => 2,
            Exit::Usage => 64,
        })
    }
}
