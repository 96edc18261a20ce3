//! What a commit appends to its shard's outbox: the results of games and the endings of sessions (S-20, S-21).

use bytes::Bytes;
use prost::Message;
use tablemate_engine::game::Start;
use tablemate_engine::reversi;
use tablemate_protocol::convert::{Refusal, game};
use tablemate_protocol::storage::v1 as stored;
use tablemate_session::Instant;
use tablemate_session::fact::{Fact, FactKind, GameResult, SeriesResult, SessionEnding};
use tablemate_session::player::Player;
use tablemate_session::seat::Seat;
use tablemate_session::session::Session;
use tablemate_store::{Cursor, Entry};

use super::errors;

/// The outbox entries of these facts, which follow `before` (`None`: they begin the session) at `start`.
pub(crate) fn entries(
    before: Option<&Session>,
    facts: &[Fact],
    start: Cursor,
    log: &[Entry],
) -> Result<Vec<Bytes>, Refusal> {
    let ends = |fact: &Fact| matches!(fact.kind, FactKind::GameEnded(_) | FactKind::SessionEnded { .. });
    // The usual commit ends nothing and pays nothing.
    if !facts.iter().any(ends) {
        return Ok(Vec::new());
    }
    let mut session = before.cloned();
    let mut outbox = Vec::new();
    for (index, fact) in facts.iter().enumerate() {
        let session = match &mut session {
            Some(session) => {
                session.append(fact).map_err(errors::fold)?;
                session
            }
            none => none.insert(Session::begin(fact).map_err(errors::fold)?),
        };
        let what = match &fact.kind {
            FactKind::GameEnded(result) => game_outcome(session, result, fact.at),
            FactKind::SessionEnded { ending, series } => session_outcome(session, *ending, *series),
            _ => continue,
        };
        let entry = stored::OutboxEntry {
            session: session.id().as_bytes().to_vec(),
            sequence: start.sequence.saturating_add(index as u64 + 1),
            at_ms: fact.at.0,
            tag: log
                .get(index)
                .map(|entry| entry.tag().0.to_vec())
                .unwrap_or_default(),
            what: Some(what),
        };
        outbox.push(entry.encode_to_vec().into());
    }
    Ok(outbox)
}

fn game_outcome(session: &Session, result: &GameResult, at: Instant) -> stored::outbox_entry::What {
    let game = session.game();
    let [black, white] = result.counts;
    let player = |seat| session.player(seat).map(at_creation);
    stored::outbox_entry::What::Game(stored::GameOutcome {
        number: u32::from(result.game),
        reason: game::end_reason_to_wire(result.reason) as u32,
        outcome: game::outcome_to_wire(result.outcome) as u32,
        seat_1_colour: game::colour_to_wire(result.colour_one) as u32,
        black: u32::from(black),
        white: u32::from(white),
        margin_half_discs: u32::from(result.margin_half_discs),
        seat_1_points: result.points[Seat::One],
        seat_2_points: result.points[Seat::Two],
        touched_by_outage: result.touched_by_outage,
        unrated: !session.settings().rated,
        seat_1: player(Seat::One),
        seat_2: player(Seat::Two),
        lasted_ms: game.map_or(0, |game| at.since(game.started()).0),
        moves: game.map(moves).unwrap_or_default(),
        escaped_seat: result.escape.map_or(0, game::seat_to_wire),
        start_position: match session.settings().game.start() {
            Start::Reversi(reversi::Start::Crossed) => String::new(),
            Start::Reversi(start) => start.position().to_string(),
        },
        game_kind: game::kind_to_wire(session.settings().game.kind()) as u32,
        opener_seat: game.map_or(0, |game| game::seat_to_wire(game.opener())),
    })
}

/// One byte a ply: the game's own code of a move, which fits for the games there are.
fn moves(game: &tablemate_session::session::Game) -> Vec<u8> {
    game.moves()
        .iter()
        .map(|mv| u8::try_from(mv.code()).unwrap_or(u8::MAX))
        .collect()
}

fn at_creation(player: &Player) -> stored::PlayerAtCreation {
    stored::PlayerAtCreation {
        player: player.id.as_str().to_owned(),
        // Ratings are positive in every sane history; the record of an absurd one ends at zero.
        rating_centi: u32::try_from(player.rating.rating_centi).unwrap_or(0),
        deviation_centi: player.rating.deviation_centi,
        volatility_micro: player.rating.volatility_micro,
    }
}

fn session_outcome(
    session: &Session,
    ending: SessionEnding,
    series: Option<SeriesResult>,
) -> stored::outbox_entry::What {
    let player = |seat| session.player(seat).map(|player| player.id.as_str().to_owned());
    stored::outbox_entry::What::Ending(stored::SessionOutcome {
        ending: game::ending_to_wire(ending) as u32,
        series_outcome: series.map_or(0, |series| game::outcome_to_wire(series.outcome) as u32),
        seat_1: player(Seat::One).unwrap_or_default(),
        seat_2: player(Seat::Two).unwrap_or_default(),
        game_kind: game::kind_to_wire(session.settings().game.kind()) as u32,
    })
}
