//! The session state machine: getting ready, clocks, offers, endings, series, settlement. Pure.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
