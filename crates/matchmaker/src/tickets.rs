//! Tickets: what a caller asks for, what is kept of it, and what is shown.

use bytes::Bytes;
use prost::Message as _;
use tablemate_protocol::convert::{Faults, ids, settings, time};
use tablemate_protocol::storage::v1::TicketPayload;
use tablemate_protocol::v1::{self, TicketState as Shown};
use tablemate_session::settings::{Settings, Watch};
use tablemate_session::{Millis, PlayerId, RequestId, TicketId};
use tablemate_store::Deployment;
use tablemate_store::hall_store::{Kind, MatchRecord, NewTicket, PoolId, Ticket, TicketState};

/// A CreateTicket request without faults.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub request: RequestId,
    pub player: PlayerId,
    pub kind: Kind,
    pub pool: PoolId,
    pub payload: Bytes,
}

impl Wish {
    /// Checks a request; everything that is wrong with it is told at once.
    pub fn of(request: &v1::CreateTicketRequest) -> Result<Self, Faults> {
        let mut faults = Faults::none();
        let request_id = faults.take(ids::request_id("request_id", &request.request_id));
        let player = faults.take(ids::player_id("player_id", &request.player_id));
        let settings = faults.take(settings::settings(request.settings.as_ref()));
        let (Some(request_id), Some(player), Some(settings)) = (request_id, player, settings) else {
            return Err(faults);
        };
        let (kind, canonical) = canonical(settings);
        let pool = PoolId::of(kind, &canonical.encode_to_vec());
        let payload = TicketPayload {
            settings: Some(canonical),
            ready: request.ready,
        };
        Ok(Self {
            request: request_id,
            player,
            kind,
            pool,
            payload: payload.encode_to_vec().into(),
        })
    }

    /// The ticket to be created.
    pub fn ticket(&self, deployment: &Deployment, lifetime: Millis) -> NewTicket {
        let id = deployment.ticket_id(&self.player, &self.request);
        NewTicket {
            id,
            player: self.player.clone(),
            kind: self.kind,
            pool: self.pool,
            lifetime,
            waiting_since: None,
            session: deployment.session_id_of_ticket(id),
            payload: self.payload.clone(),
        }
    }
}

/// The settings in the one spelling that all tickets of a pool share: defaults filled in, lists in order.
fn canonical(mut settings: Settings) -> (Kind, v1::SessionSettings) {
    if let Watch::List(viewers) = &mut settings.watch {
        viewers.sort_unstable();
        viewers.dedup();
    }
    (Kind(settings.game.kind().code()), settings::to_wire(&settings))
}

/// What is kept in a ticket; the default when the bytes are none of ours (nothing is, save by a defect).
pub(crate) fn payload(bytes: &Bytes) -> TicketPayload {
    TicketPayload::decode(bytes.clone()).unwrap_or_default()
}

/// The id of the ticket that takes the place of a ticket whose match became void.
pub(crate) fn re_entry_id(deployment: &Deployment, void: TicketId) -> TicketId {
    let hash = deployment.keyed("re-entry", &[void.as_bytes()]);
    let mut ten = [0; 10];
    ten.copy_from_slice(&hash[..10]);
    TicketId::new(0, ten)
}

/// A ticket as its player sees it. `record` is the match of a matched one: it knows the seats.
pub(crate) fn to_wire(deployment: &Deployment, ticket: &Ticket, record: Option<&MatchRecord>) -> v1::Ticket {
    let kept = payload(&ticket.payload);
    let mut session_id = String::new();
    let mut next_ticket_id = String::new();
    let state = match ticket.state {
        // MATCHED always names a session that exists; until then the ticket searches.
        TicketState::Searching | TicketState::Paired { .. } => Shown::Searching,
        TicketState::Matched { session } => {
            session_id = session.to_string();
            Shown::Matched
        }
        TicketState::Cancelled => Shown::Cancelled,
        TicketState::Replaced { by } => {
            next_ticket_id = by.to_string();
            Shown::Cancelled
        }
        TicketState::Expired => Shown::Expired,
        TicketState::Void { .. } => {
            next_ticket_id = re_entry_id(deployment, ticket.id).to_string();
            Shown::Cancelled
        }
    };
    let seat = record
        .filter(|_| state == Shown::Matched)
        .and_then(|record| seat_of(record, ticket.id))
        .unwrap_or_default();
    v1::Ticket {
        ticket_id: ticket.id.to_string(),
        player_id: ticket.player.to_string(),
        state: state.into(),
        session_id,
        seat,
        created_at: Some(time::timestamp(ticket.created_at)),
        expires_at: Some(time::timestamp(ticket.expires_at)),
        settings: kept.settings,
        ready: kept.ready,
        next_ticket_id,
    }
}

/// The seat of a ticket's player: who waited longer sits on seat 1.
fn seat_of(record: &MatchRecord, ticket: TicketId) -> Option<u32> {
    let index = record
        .players
        .iter()
        .position(|player| player.ticket.as_ref().is_some_and(|of| of.id == ticket))?;
    u32::try_from(index + 1).ok()
}

/// Whether nothing will become of the ticket any more.
pub(crate) const fn is_final(state: TicketState) -> bool {
    match state {
        TicketState::Searching | TicketState::Paired { .. } => false,
        TicketState::Matched { .. }
        | TicketState::Cancelled
        | TicketState::Replaced { .. }
        | TicketState::Expired
        | TicketState::Void { .. } => true,
    }
}
