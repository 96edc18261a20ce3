//! A Rust client: retries with one request id, resumed streams, round robin over addresses.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
