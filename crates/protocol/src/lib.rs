//! Generated code of proto/ and the conversions between wire types and engine and session types.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
