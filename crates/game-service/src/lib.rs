//! The gRPC game-state service.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
