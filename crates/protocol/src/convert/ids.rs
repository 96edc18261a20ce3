//! Ids and texts from the wire, checked once where they enter.

use tablemate_session::ids::IdError;
use tablemate_session::{PlayerId, RequestId, SessionId, TicketId};

use super::{Faults, Reason};

fn fault(field: &'static str, error: IdError) -> Faults {
    let reason = match error {
        IdError::Empty => Reason::Required,
        IdError::TooLong { .. } => Reason::TextTooLong,
        IdError::ControlCharacter => Reason::ControlCharacter,
        IdError::Malformed => Reason::MalformedId,
    };
    Faults::one(field, reason, error.to_string())
}

/// A session id.
///
/// # Errors
/// A fault of `field`: empty or not an id of this server.
pub fn session_id(field: &'static str, text: &str) -> Result<SessionId, Faults> {
    text.parse().map_err(|error| fault(field, error))
}

/// A ticket id.
///
/// # Errors
/// A fault of `field`: empty or not an id of this server.
pub fn ticket_id(field: &'static str, text: &str) -> Result<TicketId, Faults> {
    text.parse().map_err(|error| fault(field, error))
}

/// A player id.
///
/// # Errors
/// A fault of `field`: empty, over 128 bytes, or with a control character.
pub fn player_id(field: &'static str, text: &str) -> Result<PlayerId, Faults> {
    PlayerId::new(text).map_err(|error| fault(field, error))
}

/// A player id that may be left empty.
///
/// # Errors
/// A fault of `field`: over 128 bytes, or with a control character.
pub fn player_id_or_none(field: &'static str, text: &str) -> Result<Option<PlayerId>, Faults> {
    if text.is_empty() {
        Ok(None)
    } else {
        player_id(field, text).map(Some)
    }
}

/// A request id.
///
/// # Errors
/// A fault of `field`: empty, over 64 bytes, or with a control character.
pub fn request_id(field: &'static str, text: &str) -> Result<RequestId, Faults> {
    RequestId::new(text).map_err(|error| fault(field, error))
}
