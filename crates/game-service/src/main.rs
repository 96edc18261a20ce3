//! The binary `tablemate-game`.
#![forbid(unsafe_code)]

fn main() {}
