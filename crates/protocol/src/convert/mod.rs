//! Conversions between the wire and the types of engine and session, and refusals with their status codes.

pub mod event;
pub mod game;
pub mod ids;
mod reason;
mod rejected;
pub mod session;
pub mod settings;
mod status;
pub mod time;

pub use reason::Reason;
pub use rejected::rejected_to_refusal;
pub use status::{DOMAIN, Fault, Faults, Refusal};
