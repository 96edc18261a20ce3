//! Rules of each game, search and notations. Pure: no clock, no I/O, no randomness of its own.
#![warn(missing_docs)]
