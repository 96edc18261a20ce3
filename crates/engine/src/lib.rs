//! Rules of each game, search and notations. Pure: no clock, no I/O, no async, no randomness of its own. The same
//! inputs give the same outputs on every platform, for ever: records are replayed years later.
//!
//! * [`game`] unites the games in enums that are matched exhaustively; sessions are written against it.
//! * [`reversi`] is the first game: squares, positions, moves, outcomes, margins and its notations.
//! * [`policy`] chooses moves for players whose time ran out (R-16), and for bots.
//! * [`search`] is the alpha-beta search behind the `ENGINE` policy, the exact endgame solver, and perft.
//! * [`record`] reads files of played games (WTHOR, GGF, lines of transcripts) into one uniform shape.
//!
//! ```
//! use tablemate_engine::policy::{self, Policy};
//! use tablemate_engine::reversi::Start;
//! use tablemate_engine::{game, search::Level, Colour};
//!
//! let start = game::Position::from(Start::Crossed.position());
//! assert_eq!(start.to_act(), Some(Colour::Black));
//!
//! // A move in the game's own notation, as it stands on the wire.
//! let d3 = start.parse_move("d3")?;
//! let (next, played) = start.play(d3)?;
//! assert_eq!(played.turned_text(), ["d4"]);
//! assert_eq!(next.counts(), [4, 1]);
//!
//! // White's time ran out: the engine moves for White. The same position and level always give the same move.
//! let policy = Policy::Engine { level: Level::LOWEST };
//! let reply = policy::choose(&next, policy, 0).expect("White has moves");
//! assert!(next.play(reply).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod game;
mod kind;
pub mod policy;
pub mod record;
pub mod reversi;
pub mod search;
mod simd;

pub use kind::{Colour, GameKind, UnknownColour, UnknownGameKind};
