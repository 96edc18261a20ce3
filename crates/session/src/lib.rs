//! The session state machine: getting ready, clocks, offers, endings, series, settlement. Pure.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod ids;
pub mod time;

pub use ids::{PlayerId, RequestId, SessionId, TicketId};
pub use time::{Instant, Millis};
