//! The matchmaking service and the worker loops.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
