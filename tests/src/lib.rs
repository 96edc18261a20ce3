//! What the black-box tests share: a deployment of real processes on free ports, games played through the client, and
//! waiting for conditions instead of sleeping.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod deployment;
mod play;
mod process;
mod wait;

pub use deployment::{Deployment, Services, Shape};
pub use play::{Table, play_out, settings, unrated};
pub use process::{Process, binary, free_port};
pub use wait::eventually;
