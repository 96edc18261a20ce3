//! Layers that see every call: spans and metrics, by OpenTelemetry's conventions for RPC.

mod body;
mod call;
mod client;
mod server;

pub use body::TracedBody;
pub use call::TracedCall;
pub use client::{ClientTrace, ClientTraceLayer, client_trace_layer};
pub use server::{ServerTrace, ServerTraceLayer, server_trace_layer};
