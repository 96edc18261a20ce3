//! Commands from the wire: every argument checked before anything is asked of the store.

use tablemate_protocol::convert::{Faults, Reason, ids};
use tablemate_protocol::v1;
use tablemate_session::command::Command;
use tablemate_session::fact::{OfferId, OfferKind};
use tablemate_session::{PlayerId, SessionId};

use crate::core::{Ask, Who};

/// The most bytes of a move's text: every notation there is needs far fewer.
const MOVE_BYTES_MAX: usize = 64;

/// A command on its way to a session.
pub(crate) struct Parsed {
    /// The session.
    pub session: SessionId,
    /// Who acts.
    pub player: PlayerId,
    /// What is asked.
    pub ask: Ask,
}

/// The fields that every command of a player has.
struct Common<'a> {
    request_id: &'a str,
    session_id: &'a str,
    player_id: &'a str,
    expected_sequence: Option<u64>,
}

fn parse(common: &Common<'_>, command: Result<Command, Faults>) -> Result<Parsed, Faults> {
    let mut faults = Faults::none();
    let request = faults.take(ids::request_id("request_id", common.request_id));
    let session = faults.take(ids::session_id("session_id", common.session_id));
    let player = faults.take(ids::player_id("player_id", common.player_id));
    let command = faults.take(command);
    let (Some(request), Some(session), Some(player), Some(command)) = (request, session, player, command)
    else {
        return Err(faults);
    };
    Ok(Parsed {
        session,
        ask: Ask {
            who: Who::Player(player.clone()),
            id: Some(request),
            expected_sequence: common.expected_sequence,
            command,
        },
        player,
    })
}

macro_rules! common {
    ($wire:expr) => {
        &Common {
            request_id: &$wire.request_id,
            session_id: &$wire.session_id,
            player_id: &$wire.player_id,
            expected_sequence: $wire.expected_sequence,
        }
    };
}

pub(crate) fn set_ready(wire: &v1::SetReadyRequest) -> Result<Parsed, Faults> {
    let number = match wire.number.map(u8::try_from) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => Err(Faults::one("number", Reason::BadValue, "is over 99")),
    };
    let ready = wire.ready;
    parse(
        common!(wire),
        number.map(|number| Command::SetReady { ready, number }),
    )
}

pub(crate) fn play(wire: &v1::PlayRequest) -> Result<Parsed, Faults> {
    let mut faults = Faults::none();
    let mv = wire.r#move.as_str();
    if wire.ply == 0 {
        faults.add("ply", Reason::Required, "is not given: plies count from 1");
    }
    if mv.is_empty() {
        faults.add("move", Reason::Required, "is empty");
    } else if mv.len() > MOVE_BYTES_MAX {
        faults.add(
            "move",
            Reason::TextTooLong,
            format!("has {} bytes, at most {MOVE_BYTES_MAX} are allowed", mv.len()),
        );
    } else if mv.chars().any(char::is_control) {
        faults.add("move", Reason::ControlCharacter, "holds a control character");
    }
    let command = faults.into_result().map(|()| Command::Play {
        ply: wire.ply,
        mv: mv.into(),
    });
    parse(common!(wire), command)
}

pub(crate) fn resign(wire: &v1::ResignRequest) -> Result<Parsed, Faults> {
    parse(common!(wire), Ok(Command::Resign))
}

pub(crate) fn make_offer(wire: &v1::MakeOfferRequest) -> Result<Parsed, Faults> {
    let kind = match v1::OfferKind::try_from(wire.kind) {
        Ok(v1::OfferKind::Exit) => Ok(OfferKind::Exit),
        Ok(v1::OfferKind::Draw) => Ok(OfferKind::Draw),
        Ok(v1::OfferKind::Rematch) => Ok(OfferKind::Rematch),
        Ok(v1::OfferKind::Unspecified) => Err(Faults::one("kind", Reason::Required, "is not given")),
        Err(_) => Err(Faults::one("kind", Reason::BadValue, "is no kind of offer")),
    };
    parse(
        common!(wire),
        kind.map(|kind| Command::MakeOffer { kind, next: None }),
    )
}

fn offer_id(wire: u32) -> Result<OfferId, Faults> {
    match wire {
        0 => Err(Faults::one(
            "offer_id",
            Reason::Required,
            "is not given: offers count from 1",
        )),
        id => Ok(OfferId(id)),
    }
}

pub(crate) fn answer_offer(wire: &v1::AnswerOfferRequest) -> Result<Parsed, Faults> {
    let accept = wire.accept;
    let command = offer_id(wire.offer_id).map(|offer| Command::AnswerOffer {
        offer,
        accept,
        next: None,
    });
    parse(common!(wire), command)
}

pub(crate) fn withdraw_offer(wire: &v1::WithdrawOfferRequest) -> Result<Parsed, Faults> {
    let command = offer_id(wire.offer_id).map(|offer| Command::WithdrawOffer { offer });
    parse(common!(wire), command)
}

pub(crate) fn leave(wire: &v1::LeaveSessionRequest) -> Result<Parsed, Faults> {
    parse(common!(wire), Ok(Command::Leave))
}
