//! The client against scripted services.

mod calls;
mod fake;
mod watches;
