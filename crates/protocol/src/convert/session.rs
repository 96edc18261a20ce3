//! Sessions on the wire: snapshots, summaries, legal moves, transcripts.

use tablemate_engine::game::{Move, Position};
use tablemate_engine::reversi;
use tablemate_session::seat::Seat;
use tablemate_session::session::{Phase, Session};
use tablemate_session::view::{SeatView, View};
use tablemate_session::{Instant, Millis};

use super::event::{offer_to_wire, turn_to_wire};
use super::game::{
    colour_to_wire, counts_to_wire, ending_to_wire, kind_to_wire, result_to_wire, seat_to_wire,
};
use super::{settings, time};
use crate::v1;

/// A phase on the wire.
#[must_use]
pub const fn phase_to_wire(phase: Phase) -> v1::SessionPhase {
    match phase {
        Phase::Open => v1::SessionPhase::Open,
        Phase::Waiting => v1::SessionPhase::Waiting,
        Phase::Playing => v1::SessionPhase::Playing,
        Phase::Ended => v1::SessionPhase::Ended,
    }
}

/// A position on the wire, in the game's own notation.
#[must_use]
pub fn position_to_wire(position: &Position) -> String {
    match position {
        Position::Reversi(position) => position.to_string(),
    }
}

/// Moves on the wire as a transcript: `f5d6…`, passes implicit.
#[must_use]
pub fn transcript_to_wire(moves: &[Move]) -> String {
    reversi::transcript::write(moves.iter().map(|mv| match mv {
        Move::Reversi(mv) => *mv,
    }))
}

/// A snapshot: what the viewer may see, where a watcher resumes after it, who is connected, the shard's clock.
#[must_use]
pub fn to_wire(view: &View, cursor: String, present: [bool; 2], now: Instant) -> v1::Session {
    let game = view.game.as_ref();
    v1::Session {
        session_id: view.id.to_string(),
        sequence: view.sequence,
        cursor,
        phase: phase_to_wire(view.phase).into(),
        settings: Some(settings::to_wire(&view.settings)),
        seats: view
            .seats
            .iter()
            .map(|(seat, shown)| seat_view_to_wire(seat, shown, present[seat.index()]))
            .collect(),
        game_number: game.map_or(0, |game| u32::from(game.number)),
        position: game
            .map(|game| position_to_wire(&game.position))
            .unwrap_or_default(),
        counts: game.map(|game| counts_to_wire(game.counts)),
        turn: game.and_then(|game| game.turn.as_ref()).map(turn_to_wire),
        last_move: game
            .and_then(|game| game.moves.iter().rev().find(|mv| !mv.is_pass()))
            .map(ToString::to_string)
            .unwrap_or_default(),
        transcript: game
            .map(|game| transcript_to_wire(&game.moves))
            .unwrap_or_default(),
        offers: view.offers.iter().map(offer_to_wire).collect(),
        results: view.results.iter().map(result_to_wire).collect(),
        ending: view
            .ended
            .map_or(v1::SessionEnding::Unspecified, |ended| {
                ending_to_wire(ended.ending)
            })
            .into(),
        countdown_deadline: view.countdown_deadline.map(time::timestamp),
        idle_deadline: view.idle_deadline.map(time::timestamp),
        resign_allowed_from: view.resign_allowed_from.map(time::timestamp),
        previous_session_id: view.previous.map(|id| id.to_string()).unwrap_or_default(),
        next_session_id: view.next.map(|id| id.to_string()).unwrap_or_default(),
        server_now: Some(time::timestamp(now)),
        rematch_until: view.rematch_until.map(time::timestamp),
    }
}

fn seat_view_to_wire(seat: Seat, shown: &SeatView, present: bool) -> v1::Seat {
    v1::Seat {
        number: seat_to_wire(seat),
        player_id: shown
            .player
            .as_ref()
            .map(|player| player.as_str().to_owned())
            .unwrap_or_default(),
        ready: shown.ready,
        colour: shown
            .colour
            .map_or(v1::Colour::Unspecified, colour_to_wire)
            .into(),
        total_left_ms: shown.total_left.unwrap_or(Millis::ZERO).0,
        timeouts: shown.timeouts,
        rating: shown
            .rating
            .map_or(0.0, |rating| f64::from(rating.rating_centi) / 100.0),
        present,
    }
}

/// A session in a list.
#[must_use]
pub fn summary_to_wire(session: &Session) -> v1::SessionSummary {
    let player = |seat| {
        session
            .player(seat)
            .map(|player| player.id.as_str().to_owned())
            .unwrap_or_default()
    };
    let game = session.game();
    v1::SessionSummary {
        session_id: session.id().to_string(),
        game_kind: kind_to_wire(session.settings().game.kind()).into(),
        phase: phase_to_wire(session.phase()).into(),
        seat_1_player_id: player(Seat::One),
        seat_2_player_id: player(Seat::Two),
        game_number: game.map_or(0, |game| u32::from(game.number())),
        ply: game.map_or(0, |game| game.ply()),
    }
}

/// The legal moves of the turn in the game's own notation; none when no game is on.
#[must_use]
pub fn legal_moves_to_wire(session: &Session) -> Vec<String> {
    session
        .game_on()
        .map(|game| game.position().legal_moves().map(|mv| mv.to_string()).collect())
        .unwrap_or_default()
}
