//! The session state machine: getting ready, clocks, offers, endings, series, settlement. Pure: no clock, no entropy and
//! no I/O of its own; the same log gives the same session on every replica, for ever.
//!
//! **A session is its log.** [`Session::fold`](session::Session::fold) makes a session of its [facts](fact::Fact),
//! [`apply`](session::Session::apply) judges a [command](command::Command) and gives the facts that it makes,
//! [`advance`](session::Session::advance) fires what has passed, [`view`](session::Session::view) and
//! [`EventView`](event::EventView) show what a viewer may see.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod clock;
pub mod command;
mod draft;
pub mod event;
pub mod fact;
mod fire;
mod fold;
pub mod ids;
mod judge;
pub mod limits;
pub mod notice;
mod opener;
pub mod player;
pub mod reason;
mod requests;
mod score;
pub mod seat;
pub mod secret;
pub mod session;
pub mod settings;
pub mod time;
pub mod view;

pub use ids::{PlayerId, RequestId, SessionId, TicketId};
pub use session::Session;
pub use time::{Instant, Millis};
