//! The command line tool `tablemate`.
#![forbid(unsafe_code)]

fn main() {}
