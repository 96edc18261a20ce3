//! A Rust client for Tablemate.
//!
//! * Calls go round robin over the replicas' addresses. Only UNAVAILABLE is retried (an unknown outcome is one of its
//!   kinds), with jitter, within a total budget, and with **one request id** for all attempts: however often a command
//!   is sent, it is applied once (S-25).
//! * Refusals are typed: [`Refusal`] has the stable `reason` and the metadata of `google.rpc.ErrorInfo`.
//! * [`Watch`], [`TicketWatch`] and [`Results`] are streams that resume by cursor on whatever replica answers, and that
//!   check what they hand out: without a gap, each once (S-22).
//!
//! Every call is a span of its own and carries the W3C trace context, when the process exports traces.
//!
//! ```no_run
//! use tablemate_client::{Client, v1};
//!
//! # async fn example() -> Result<(), tablemate_client::Error> {
//! let client = Client::connect(["127.0.0.1:7400"])?;
//! let answer = client
//!     .play(v1::PlayRequest {
//!         session_id: "…".into(),
//!         player_id: "ann".into(),
//!         ply: 1,
//!         r#move: "d3".into(),
//!         ..Default::default() // an empty request id: the client draws one
//!     })
//!     .await?;
//! # let _ = answer;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod call;
mod client;
mod config;
mod error;
mod pool;
mod request_id;
mod results;
mod resumable;
mod ticket_watch;
mod watch;

pub use client::Client;
pub use config::Config;
pub use error::{Error, Refusal};
pub use request_id::request_id;
pub use results::Results;
pub use tablemate_protocol::convert::Reason;
pub use tablemate_protocol::v1;
pub use ticket_watch::TicketWatch;
pub use watch::{Anomalies, Update, UpdateKind, Watch, WatchFrom};
