//! Transcripts of games.

use std::sync::Arc;

use tablemate_engine::game::{Move, Position, Start};
use tablemate_engine::reversi::ggf;
use tablemate_engine::{Colour, reversi};
use tablemate_protocol::convert::{Faults, Reason, Refusal, game as wire_game, session as wire_session};
use tablemate_protocol::v1;
use tablemate_session::fact::{FactKind, GameEndReason, GameResult};
use tablemate_session::session::{Game, Session};
use tonic::Status;

use super::session::looking;
use crate::core::{Core, Log, errors};

/// One game of a session as text.
pub(super) async fn game(
    core: &Core,
    wire: &v1::ExportGameRequest,
) -> Result<v1::ExportGameResponse, Status> {
    let (id, viewer) = looking(&wire.session_id, &wire.viewer_id)?;
    let format = v1::TranscriptFormat::try_from(wire.format)
        .map_err(|_| Faults::one("format", Reason::BadValue, "is no format that this server knows"))?;
    let mut shown = core.show(id, viewer.as_ref()).await?.session;
    let current = shown.game().map_or(0, |game| u32::from(game.number()));
    let number = if wire.game_number == 0 {
        current
    } else {
        wire.game_number
    };
    if number == 0 || number > current {
        return Err(
            Refusal::new(Reason::GameNotFound, "the session has no game of this number")
                .with("games", current)
                .into(),
        );
    }
    let results = shown.results().to_vec();
    if number < current {
        shown = at_end_of(&core.log(id).await?, number)?;
    }
    let result = results.iter().find(|result| u32::from(result.game) == number);
    let Some(game) = shown.game() else {
        return Err(errors::corrupt().into());
    };
    let transcript = match format {
        v1::TranscriptFormat::Unspecified | v1::TranscriptFormat::Moves => {
            wire_session::transcript_to_wire(game.moves())
        }
        v1::TranscriptFormat::Ggf => to_ggf(&shown, game, result),
    };
    Ok(v1::ExportGameResponse {
        transcript,
        result: result.map(wire_game::result_to_wire),
    })
}

/// The session when a game of its series had ended.
fn at_end_of(log: &Log, number: u32) -> Result<Arc<Session>, Refusal> {
    let end = log.facts.iter().position(
        |fact| matches!(&fact.kind, FactKind::GameEnded(result) if u32::from(result.game) == number),
    );
    let facts = log.facts.iter().take(end.map_or(log.facts.len(), |end| end + 1));
    Session::fold(facts).map(Arc::new).map_err(errors::fold)
}

fn to_ggf(session: &Session, game: &Game, result: Option<&GameResult>) -> String {
    let name = |colour: Colour| {
        session
            .player(game.seat(colour))
            .map(|player| player.id.as_str().to_owned())
    };
    let Start::Reversi(start) = session.settings().game.start();
    let Position::Reversi(position) = *game.position();
    ggf::write(&ggf::Game {
        line: 1,
        black: name(Colour::Black),
        white: name(Colour::White),
        place: Some("Tablemate".to_owned()),
        date: None,
        variant: Some("8".to_owned()),
        start,
        moves: game
            .moves()
            .iter()
            .map(|mv| match mv {
                Move::Reversi(mv) => ggf::GameMove::from(*mv),
            })
            .collect(),
        result: result.map(|result| ggf_result(result, position)),
        position,
    })
}

fn ggf_result(result: &GameResult, position: reversi::Position) -> ggf::GameResult {
    let [black, white] = position.counts();
    // Counts are at most 64.
    let difference = black as i8 - white as i8;
    let end = match result.reason {
        GameEndReason::Board(_) => ggf::ResultEnd::Board,
        GameEndReason::Resignation | GameEndReason::ForcedExit => ggf::ResultEnd::Resigned,
        GameEndReason::TotalTime | GameEndReason::TimeoutCount => ggf::ResultEnd::Time,
        GameEndReason::AgreedDraw | GameEndReason::AgreedExit | GameEndReason::Aborted => {
            ggf::ResultEnd::Agreed
        }
    };
    ggf::GameResult { difference, end }
}
