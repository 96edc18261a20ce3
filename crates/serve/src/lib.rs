//! Connections of a gRPC server: how long they live, and how they end.
//!
//! tonic's own server closes a connection either politely at an age or by force after a grace, not the one and then the
//! other; it gives all connections the same age; and it waits for ever for a connection that never spoke. So the loop
//! that accepts is here, on the same HTTP stack: each connection has an age of its own, its streams hear that it ends
//! before it does, and nothing lives longer than its grace.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod connections;
mod ending;
mod signals;

pub use connections::{Life, serve};
pub use ending::Ending;
pub use signals::signals;

/// How long probes may take to notice that a process takes no new work, before its port closes.
pub const UNREADY_TIME: std::time::Duration = std::time::Duration::from_millis(100);
