//! The built `tablemate`, from outside.
// Clippy knows tests by their attribute only; helpers of tests are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod dev;
mod load;
mod play;
mod replay;
mod tool;
