//! The gRPC game-state service: creates, runs and shows sessions.
//!
//! * [`run`] is the whole service on bound listeners; `main` and tests start it.
//! * [`Game`] is the service without a server: `tablemate dev` puts its routes on a port together with the
//!   matchmaker's.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod config;
mod core;
mod game;
mod run;
mod serve;
mod services;
mod watch;

pub use config::{Args, Config, Options};
pub use game::{Game, INTERNAL_SERVICES, PUBLIC_SERVICES};
pub use run::{Listeners, RunError, run, run_on};
pub use serve::{Guard, GuardLayer, REQUEST_BYTES_MAX, add_reflection, serve};
