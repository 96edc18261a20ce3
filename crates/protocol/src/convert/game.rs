//! Words of games on the wire: colours, counts, outcomes, endings, results.

use tablemate_engine::game::EndReason;
use tablemate_engine::{Colour, GameKind};
use tablemate_session::fact::{GameEndReason, GameResult, Outcome, SessionEnding};
use tablemate_session::seat::Seat;

use super::{Faults, Reason};
use crate::v1;

/// A kind of game on the wire.
#[must_use]
pub const fn kind_to_wire(kind: GameKind) -> v1::GameKind {
    match kind {
        GameKind::Reversi => v1::GameKind::Reversi,
    }
}

/// A kind of game from the wire.
///
/// # Errors
/// A fault of `field` when it is not given or unknown.
pub fn kind(field: &'static str, wire: i32) -> Result<GameKind, Faults> {
    match v1::GameKind::try_from(wire) {
        Ok(v1::GameKind::Reversi) => Ok(GameKind::Reversi),
        Ok(v1::GameKind::Unspecified) => Err(Faults::one(field, Reason::Required, "is not given")),
        Err(_) => Err(Faults::one(
            field,
            Reason::BadValue,
            "is not a game that this server knows",
        )),
    }
}

/// A colour on the wire.
#[must_use]
pub const fn colour_to_wire(colour: Colour) -> v1::Colour {
    match colour {
        Colour::Black => v1::Colour::Black,
        Colour::White => v1::Colour::White,
    }
}

/// Discs on the wire, from `[black, white]`.
#[must_use]
pub fn counts_to_wire([black, white]: [u8; 2]) -> v1::DiscCounts {
    v1::DiscCounts {
        black: u32::from(black),
        white: u32::from(white),
    }
}

/// A seat on the wire.
#[must_use]
pub fn seat_to_wire(seat: Seat) -> u32 {
    u32::from(seat.number())
}

/// Why a game ended, on the wire.
#[must_use]
pub const fn end_reason_to_wire(reason: GameEndReason) -> v1::GameEndReason {
    match reason {
        GameEndReason::Board(EndReason::NoMoves) => v1::GameEndReason::NoMoves,
        GameEndReason::Board(EndReason::WipeOut) => v1::GameEndReason::WipeOut,
        GameEndReason::Board(EndReason::BoardFull) => v1::GameEndReason::BoardFull,
        GameEndReason::Resignation => v1::GameEndReason::Resignation,
        GameEndReason::AgreedDraw => v1::GameEndReason::AgreedDraw,
        GameEndReason::AgreedExit => v1::GameEndReason::AgreedExit,
        GameEndReason::ForcedExit => v1::GameEndReason::ForcedExit,
        GameEndReason::TotalTime => v1::GameEndReason::TotalTime,
        GameEndReason::TimeoutCount => v1::GameEndReason::TimeoutCount,
        GameEndReason::Aborted => v1::GameEndReason::Aborted,
    }
}

/// An outcome on the wire.
#[must_use]
pub const fn outcome_to_wire(outcome: Outcome) -> v1::Outcome {
    match outcome {
        Outcome::Wins(Seat::One) => v1::Outcome::Seat1Wins,
        Outcome::Wins(Seat::Two) => v1::Outcome::Seat2Wins,
        Outcome::Draw => v1::Outcome::Draw,
        Outcome::NotSettled => v1::Outcome::NotSettled,
    }
}

/// How a session ended, on the wire.
#[must_use]
pub const fn ending_to_wire(ending: SessionEnding) -> v1::SessionEnding {
    match ending {
        SessionEnding::SeriesComplete => v1::SessionEnding::SeriesComplete,
        SessionEnding::Idle => v1::SessionEnding::Idle,
        SessionEnding::Left => v1::SessionEnding::Left,
        SessionEnding::AgreedExit => v1::SessionEnding::AgreedExit,
        SessionEnding::Cancelled => v1::SessionEnding::Cancelled,
        SessionEnding::Aborted => v1::SessionEnding::Aborted,
    }
}

/// A result on the wire.
#[must_use]
pub fn result_to_wire(result: &GameResult) -> v1::GameResult {
    v1::GameResult {
        game_number: u32::from(result.game),
        reason: end_reason_to_wire(result.reason).into(),
        outcome: outcome_to_wire(result.outcome).into(),
        seat_1_colour: colour_to_wire(result.colour_one).into(),
        counts: Some(counts_to_wire(result.counts)),
        margin_half_discs: u32::from(result.margin_half_discs),
        seat_1_points: result.points[Seat::One],
        seat_2_points: result.points[Seat::Two],
        touched_by_outage: result.touched_by_outage,
    }
}
