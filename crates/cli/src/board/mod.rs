//! What a terminal shows of a session, without a terminal: everything here is pure and tested as text.
//!
//! * [`table`] folds a snapshot and the events after it into what there is to show.
//! * [`grid`] and [`picture`] are the board; [`scene`] is the whole screen around it.
//! * [`input`] and [`editor`] are what a person types.
//! * [`text`] and [`clock`] are widths, inks and times.

pub mod clock;
pub mod editor;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod grid;
pub mod input;
pub mod picture;
pub mod scene;
pub mod table;
pub mod text;
