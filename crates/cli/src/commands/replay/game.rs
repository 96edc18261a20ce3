//! One recorded game, played through the API.

use tablemate_client::{Client, Error, v1};
use tablemate_engine::Colour;
use tablemate_engine::record::GameRecord;
use tablemate_engine::reversi::{MarginMethod, Move, Position, Start};

use crate::wire::{DAY, Follower, duration};

/// What was done in a game.
#[derive(Debug, Default)]
pub struct Played {
    /// Moves made.
    pub moves: u64,
    /// Passes that the service told.
    pub passes: u64,
    /// Whether the record stops before the end of the game.
    pub unfinished: bool,
    /// Whether a final score was compared.
    pub compared: bool,
}

/// Why a game was not played to its end.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The service answered, but not what the record says.
    #[error(transparent)]
    Disagreement(#[from] Disagreement),
    /// The service did not answer.
    #[error(transparent)]
    Service(Error),
}

/// The service says something else than the record.
#[derive(Debug, thiserror::Error)]
pub enum Disagreement {
    /// A call was refused.
    #[error("ply {ply}: the service refused {what}: {error}")]
    Refused {
        /// The ply that was to be made.
        ply: usize,
        /// What was asked.
        what: String,
        /// Its words.
        error: Error,
    },
    /// Another player is to act than in the record.
    #[error("ply {ply}: the service has {found} to act, the record {expected}")]
    Turn {
        /// The ply that was to be made.
        ply: usize,
        /// By the service.
        found: String,
        /// By the record.
        expected: String,
    },
    /// The number of passes differs.
    #[error("the service told {found} passes, the record has {expected}")]
    Passes {
        /// By the service.
        found: u64,
        /// By the record.
        expected: u64,
    },
    /// The game ended for one of them only.
    #[error("the record is {}, the service's game is {}", state(*.finished), state(*.ended))]
    End {
        /// By the record.
        finished: bool,
        /// By the service.
        ended: bool,
    },
    /// The discs at the end differ.
    #[error("the service counts {found} discs, the moves make {expected}")]
    Counts {
        /// By the service.
        found: String,
        /// By the moves.
        expected: String,
    },
    /// The final scores differ.
    #[error("final score: the service has {found:+}, the record {expected:+} (black less white, {method})")]
    Score {
        /// By the service, in discs.
        found: f64,
        /// By the record, in discs.
        expected: f64,
        /// How the record counts.
        method: MarginMethod,
    },
}

fn state(over: bool) -> &'static str {
    if over { "over" } else { "going on" }
}

/// Plays a record with two players of its own.
pub async fn play(
    client: &Client,
    record: &GameRecord,
    name: &str,
    played: &mut Played,
) -> Result<(), Failure> {
    let players = [format!("{name}-1"), format!("{name}-2")];
    let creation = v1::CreateSessionRequest {
        seat_1_player_id: players[0].clone(),
        seat_2_player_id: players[1].clone(),
        settings: Some(settings(record)),
        seat_1_ready: true,
        seat_2_ready: true,
        ..Default::default()
    };
    let created = client
        .create_session(creation)
        .await
        .map_err(|error| failure(1, "to create the session", error))?;
    let mut follower = Follower::default();
    follower.take_receipt(created.receipt.as_ref());
    let mut position = record.start.position();
    let mut seat_1_colour = v1::Colour::Black;
    if let Some(first) = created
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.events)
        .find_map(|event| match &event.kind {
            Some(v1::event::Kind::Started(started)) => Some(started),
            _ => None,
        })
    {
        seat_1_colour = first.seat_1_colour();
    }

    for (ply, mv) in (1..).zip(&record.moves) {
        if *mv != Move::Pass {
            let turn = check_turn(&follower, &position, ply)?;
            let request = v1::PlayRequest {
                session_id: created.session_id.clone(),
                player_id: players[usize::from(turn.seat == 2)].clone(),
                ply: turn.ply,
                r#move: mv.to_string(),
                ..Default::default()
            };
            let answer = client
                .play(request)
                .await
                .map_err(|error| failure(ply, mv.as_str(), error))?;
            played.moves += 1;
            follower.take_receipt(answer.receipt.as_ref());
        }
        // The records were validated when they were read.
        if let Ok((next, _)) = position.play(*mv) {
            position = next;
        }
    }
    played.passes = follower.passes;

    let ended = follower.result.is_some();
    if ended != record.finished {
        return Err(Disagreement::End {
            finished: record.finished,
            ended,
        }
        .into());
    }
    let expected = record.passes() as u64;
    if follower.passes != expected {
        return Err(Disagreement::Passes {
            found: follower.passes,
            expected,
        }
        .into());
    }
    match follower.result {
        Some(result) => compare(record, &result, seat_1_colour, played),
        None => {
            played.unfinished = true;
            let ply = record.moves.len() + 1;
            end_by_agreement(client, &created.session_id, &players, ply).await
        }
    }
}

fn settings(record: &GameRecord) -> v1::SessionSettings {
    let start = match record.start {
        Start::Crossed => None,
        Start::Parallel => Some(v1::reversi_start::Start::Name(
            v1::ReversiStartName::Parallel.into(),
        )),
        other => Some(v1::reversi_start::Start::Position(other.position().to_string())),
    };
    let method = record
        .expected_score
        .map_or(MarginMethod::Raw, |score| score.method);
    let margin_method = match method {
        MarginMethod::Raw => v1::MarginMethod::Raw,
        MarginMethod::EmptiesToWinner => v1::MarginMethod::EmptiesToWinner,
        MarginMethod::EmptiesSplit => v1::MarginMethod::EmptiesSplit,
    };
    let reversi = v1::ReversiSettings {
        start: start.map(|start| v1::ReversiStart { start: Some(start) }),
        margin_method: margin_method.into(),
        scored_series: false,
    };
    v1::SessionSettings {
        game: Some(v1::session_settings::Game::Reversi(reversi)),
        games: 1,
        opener_rule: v1::OpenerRule::AsSeated.into(),
        move_time: Some(duration(DAY)),
        total_time: Some(duration(DAY)),
        animation: Some(prost_types::Duration::default()),
        resign_guard: Some(prost_types::Duration::default()),
        unrated: true,
        ..Default::default()
    }
}

/// The turn as the service has it; the same colour must be to act as in the record.
fn check_turn<'a>(
    follower: &'a Follower,
    position: &Position,
    ply: usize,
) -> Result<&'a v1::Turn, Disagreement> {
    let expected = position.to_act();
    let found = follower.turn();
    let colour = found.and_then(|turn| colour_of(turn.colour()));
    match found {
        Some(turn) if colour == expected && usize::try_from(turn.ply) == Ok(ply) => Ok(turn),
        _ => {
            let name = |ply: u64, colour: Option<Colour>| match colour {
                Some(colour) => format!("{colour} at ply {ply}"),
                None => "nobody".to_owned(),
            };
            Err(Disagreement::Turn {
                ply,
                found: name(found.map_or(0, |turn| turn.ply.into()), colour),
                expected: name(ply as u64, expected),
            })
        }
    }
}

fn colour_of(colour: v1::Colour) -> Option<Colour> {
    match colour {
        v1::Colour::Black => Some(Colour::Black),
        v1::Colour::White => Some(Colour::White),
        v1::Colour::Unspecified => None,
    }
}

fn compare(
    record: &GameRecord,
    result: &v1::GameResult,
    seat_1_colour: v1::Colour,
    played: &mut Played,
) -> Result<(), Failure> {
    let [black, white] = record.position.counts().map(u32::from);
    let found = result.counts.unwrap_or_default();
    if (found.black, found.white) != (black, white) {
        return Err(Disagreement::Counts {
            found: format!("{}–{}", found.black, found.white),
            expected: format!("{black}–{white}"),
        }
        .into());
    }
    let Some(expected) = record.expected_score else {
        return Ok(());
    };
    played.compared = true;
    let margin = i64::from(result.margin_half_discs);
    let for_seat_1 = match result.outcome() {
        v1::Outcome::Seat1Wins => margin,
        v1::Outcome::Seat2Wins => -margin,
        // Nothing else can end a game on the board; a wrong outcome shows as a wrong score.
        _ => 0,
    };
    let for_black = if seat_1_colour == v1::Colour::White {
        -for_seat_1
    } else {
        for_seat_1
    };
    let expected_half_discs = 2 * i64::from(expected.difference);
    if for_black != expected_half_discs {
        return Err(Disagreement::Score {
            found: for_black as f64 / 2.0,
            expected: f64::from(expected.difference),
            method: expected.method,
        }
        .into());
    }
    Ok(())
}

async fn end_by_agreement(
    client: &Client,
    session_id: &str,
    players: &[String; 2],
    ply: usize,
) -> Result<(), Failure> {
    let offer = v1::MakeOfferRequest {
        session_id: session_id.to_owned(),
        player_id: players[0].clone(),
        kind: v1::OfferKind::Exit.into(),
        ..Default::default()
    };
    let offered = client
        .make_offer(offer)
        .await
        .map_err(|error| failure(ply, "an offer to end the game", error))?;
    let offer_id = offered
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.events)
        .find_map(|event| match &event.kind {
            Some(v1::event::Kind::Offered(made)) => made.offer.map(|offer| offer.offer_id),
            _ => None,
        })
        .unwrap_or_default();
    let answer = v1::AnswerOfferRequest {
        session_id: session_id.to_owned(),
        player_id: players[1].clone(),
        offer_id,
        accept: true,
        ..Default::default()
    };
    let answered = client
        .answer_offer(answer)
        .await
        .map_err(|error| failure(ply, "to end the game by agreement", error))?;
    let mut follower = Follower::default();
    follower.take_receipt(answered.receipt.as_ref());
    match follower.result {
        Some(result) if result.reason() == v1::GameEndReason::AgreedExit => Ok(()),
        _ => Err(Disagreement::End {
            finished: true,
            ended: false,
        }
        .into()),
    }
}

fn failure(ply: usize, what: &str, error: Error) -> Failure {
    match error {
        Error::Refused(_) => Disagreement::Refused {
            ply,
            what: what.to_owned(),
            error,
        }
        .into(),
        other => Failure::Service(other),
    }
}
