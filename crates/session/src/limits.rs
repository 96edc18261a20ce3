//! Every limit of a session in one place. A log is bounded without ever being cut.

use crate::time::Millis;

/// The most games of a session (S-5).
pub const GAMES_MAX: u32 = 32;
/// Games of a scored series when nothing is said.
pub const GAMES_SCORED_DEFAULT: u32 = 4;
/// How often a player may take the ready flag back in one game (S-3).
pub const UNREADIES_MAX: u8 = 3;
/// How many offers of one kind a player may make in one game (S-14).
pub const OFFERS_MAX: u8 = 5;
/// How long a player waits after an offer of a kind was declined, withdrawn or lapsed before the next (S-14).
pub const OFFER_WAIT: Millis = Millis::seconds(10);
/// How long after the end of a session a rematch can be offered and accepted (S-5).
pub const REMATCH_WINDOW: Millis = Millis::minutes(10);
/// How often the absence of a player may be recorded in one game; later ones are not noticed (S-17).
pub const ABSENCES_MAX: u8 = 32;
/// How many deadlines are fired in one call; the caller commits and calls again.
pub const DEADLINES_PER_CALL_MAX: usize = 8;
/// The largest number of 猜先 (S-29).
pub const NUMBER_MAX: u8 = 99;
/// How many of a player's last games of the kind balance who opens (S-29).
pub const OPENINGS_MAX: u8 = 20;
/// The most players on a list of those who may watch (S-27).
pub const WATCHERS_MAX: usize = 64;
/// The most time-outs of `LOSE_AFTER` (S-9).
pub const TIMEOUTS_MAX: u32 = 1_000;

/// The shortest per-move, total, idle and absence time.
pub const TIME_MIN: Millis = Millis::seconds(1);
/// The longest time of any setting.
pub const TIME_MAX: Millis = Millis::hours(24);

/// Default length of the ready countdown (S-2).
pub const READY_TIME_DEFAULT: Millis = Millis::seconds(15);
/// Default idle time (S-4).
pub const IDLE_TIME_DEFAULT: Millis = Millis::minutes(10);
/// Default per-move time (S-6).
pub const MOVE_TIME_DEFAULT: Millis = Millis::seconds(30);
/// Default total time (S-6).
pub const TOTAL_TIME_DEFAULT: Millis = Millis::minutes(10);
/// Default guard against resigning (S-13).
pub const RESIGN_GUARD_DEFAULT: Millis = Millis::seconds(60);
/// Default animation in Reversi (S-8).
pub const ANIMATION_REVERSI: Millis = Millis::seconds(1);
