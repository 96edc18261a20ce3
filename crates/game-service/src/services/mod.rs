//! The gRPC services: from the wire to the core and back.

mod commands;
mod export;
mod internal;
mod list;
mod players;
mod results;
mod session;
mod token;

pub(crate) use internal::InternalServer;
pub(crate) use players::PlayerServer;
pub(crate) use results::ResultServer;
pub(crate) use session::SessionServer;
