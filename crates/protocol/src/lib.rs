//! Generated code of `proto/` and the conversions between wire types and engine and session types.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

/// The public API, generated from `proto/tablemate/v1`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    tonic::include_proto!("tablemate.v1");
}

/// The public API's descriptors, encoded, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The codec of the public API.
pub mod codec;

/// Conversions between wire types and engine and session types.
pub mod convert;

/// What is written to the store: private, versioned.
pub mod storage;
