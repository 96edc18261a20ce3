//! The matchmaking service and the worker loops.
//!
//! * [`Api`](api::Api) is `MatchmakingService`: tickets are paired on arrival, inside the call that brings the second one.
//! * [`Matches`](matches::Matches) makes a session of a match record. Whoever finds an unfinished one does it.
//! * [`Settler`](settlement::Settler) applies results to players' records exactly once (S-20),
//!   [`Releaser`](settlement::Releaser) frees the players of ended sessions (S-28).
//! * [`loops`] do what must happen although nobody calls: deadlines, unfinished matches, expiry, settlement, tidying up.
//!
//! Sessions are written by game services alone; this crate asks them by `InternalService`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
pub mod config;
mod deadline;
mod errors;
pub mod games;
pub mod loops;
pub mod matches;
pub mod metrics;
mod serve;
pub mod settlement;
mod tickets;

pub use config::{Args, Config, Options};
pub use loops::LoopConfig;
pub use serve::{Matchmaker, RunError, run, run_on};
