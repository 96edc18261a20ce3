//! Logs, traces and metrics that every Tablemate binary sets up the same way.
//!
//! * Logs go to standard error through [`tracing`]: for people on a terminal, one JSON object a line elsewhere.
//! * Traces and metrics go out by OTLP over gRPC, only when an endpoint is configured. Without one, the layers of
//!   this crate do one relaxed load and one comparison a call.
//! * [`server_trace_layer`] takes the W3C trace context from a call's metadata, [`client_trace_layer`] and
//!   [`inject`] pass it on, so that one trace spans a client, the matchmaker and the game service.
//!
//! Request and response messages are never logged or exported: only the method, the status code and the duration.
//!
//! # In a binary
//!
//! ```no_run
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Args {
//!     #[command(flatten)]
//!     telemetry: tablemate_telemetry::TelemetryArgs,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let args = Args::parse();
//!     tablemate_telemetry::run(args.telemetry.config("tablemate-game"), || async {
//!         // make the servers and their layers here, after the set-up
//!         Ok(())
//!     })
//! }
//! ```
//!
//! [`run`] makes the runtime, and flushes what is still to be exported **after** the runtime has ended: flushing
//! blocks, and a task that blocks its own runtime loses what it wanted to save.
//!
//! # Spans on hot paths
//!
//! Make them at level `DEBUG` (`#[instrument(level = "debug", skip_all)]`): they are exported when an endpoint is
//! configured, and cost nothing when there is none and debug logs are off.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod args;
mod config;
mod context;
mod export;
mod guard;
mod logs;
mod rpc;
#[cfg(feature = "testing")]
pub mod testing;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub use args::TelemetryArgs;
pub use config::{Config, DEFAULT_LOG_FILTER, Error, LogFormat};
pub use context::{inject, inject_headers, inject_interceptor, is_exporting};
pub use guard::{Guard, run};
pub use rpc::{ClientTrace, ClientTraceLayer, ServerTrace, ServerTraceLayer, TracedBody, TracedCall};
pub use rpc::{client_trace_layer, server_trace_layer};

/// Sets up logs, and traces and metrics when an endpoint is configured, for the whole process. Call it once, first
/// thing, and keep the guard until the asynchronous runtime has ended; [`run`] does both.
///
/// # Errors
///
/// [`Error`] names the setting that was refused. Nothing has been set up then, except when the error is
/// [`Error::AlreadySet`].
pub fn init(config: &Config) -> Result<Guard, Error> {
    let log_layer = logs::layer(config)?;
    let exporters = export::Exporters::new(config)?;
    let trace_layer = exporters.as_ref().map(export::Exporters::trace_layer);
    let guard = Guard::new(exporters);
    tracing_subscriber::registry()
        .with(trace_layer)
        .with(log_layer)
        .try_init()
        .map_err(|_| Error::AlreadySet)?;
    guard.install();
    Ok(guard)
}
