//! The binary `tablemate-matchmaker`.
#![forbid(unsafe_code)]

fn main() {}
