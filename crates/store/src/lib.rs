//! The store: its traits, the Redis one, the embedded one, and the contract suite that both must pass.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
