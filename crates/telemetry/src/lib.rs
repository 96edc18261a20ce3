//! Logs, traces and metrics that every Tablemate binary sets up the same way.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
