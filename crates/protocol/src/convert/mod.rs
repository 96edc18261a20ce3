//! Conversions between the wire and the types of engine and session, and refusals with their status codes.

pub mod ids;
mod reason;
mod status;
pub mod time;

pub use reason::Reason;
pub use status::{DOMAIN, Fault, Faults, Refusal};
