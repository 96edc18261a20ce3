//! The client against scripted services.
// Clippy knows tests by their attribute only; helpers of tests are tests too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod fake;
mod watches;
