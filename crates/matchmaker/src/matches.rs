//! From a match record to a session that exists, or to none for good.
//!
//! A match is written in the hall before anything is done about its session. Whoever finds it unfinished finishes it:
//! creation is idempotent by the session's id, and so is everything here.

use std::sync::Arc;

use prost::Message as _;
use tablemate_protocol::v1::{
    CreateMatchedSessionRequest, CreateSessionRequest, JoinSessionRequest, VoidSessionRequest,
};
use tablemate_session::{Instant, Millis, SessionId, TicketId};
use tablemate_store::hall_store::{
    CreateTicketAnswer, HallId, Kind, MatchId, MatchPlayer, MatchRecord, MatchState, NewTicket, PoolId,
};
use tablemate_store::{HallStore, SessionStore, StoreError, Stores};
use thiserror::Error;
use tracing::{info, warn};

use crate::games::{GameServices, is_final};
use crate::metrics::Metrics;
use crate::tickets;

/// What became of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Its session exists.
    Exists,
    /// Its session will never be.
    Void,
}

/// Why a match is not finished yet. Somebody will try again.
#[derive(Debug, Error)]
pub enum Unfinished {
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No game service did what was asked.
    #[error("no game service did it: {}", .0.message())]
    GameServices(Box<tonic::Status>),
    /// The record is gone.
    #[error("the match record is gone")]
    Gone,
    /// The players have not agreed to the rematch yet (S-5).
    #[error("the rematch is not agreed yet")]
    NotYet,
    /// The record is of a kind that only a game service can finish.
    #[error("only a game service can finish this match")]
    NotOurs,
}

impl From<tonic::Status> for Unfinished {
    fn from(status: tonic::Status) -> Self {
        Self::GameServices(Box::new(status))
    }
}

/// Finishes matches of one hall. Cheap to clone.
#[derive(Clone)]
pub struct Matches {
    sessions: Arc<dyn SessionStore>,
    halls: Arc<dyn HallStore>,
    hall: HallId,
    games: GameServices,
    ticket_lifetime: Millis,
    metrics: Metrics,
}

impl Matches {
    /// Finishes the matches of `hall`.
    #[must_use]
    pub fn new(
        stores: &Stores,
        hall: HallId,
        games: GameServices,
        ticket_lifetime: Millis,
        metrics: Metrics,
    ) -> Self {
        Self {
            sessions: stores.sessions.clone(),
            halls: stores.halls.clone(),
            hall,
            games,
            ticket_lifetime,
            metrics,
        }
    }

    /// Finishes the match that is to become this session.
    ///
    /// # Errors
    /// [`Unfinished`]; the match can be finished later, by anybody.
    pub async fn finish_of(&self, session: SessionId) -> Result<Finished, Unfinished> {
        let record = self
            .halls
            .match_record(&self.hall, &MatchId::Creation(session))
            .await?
            .ok_or(Unfinished::Gone)?;
        self.finish(&record).await
    }

    /// Finishes a match: its session is created, or, when that is refused for good, voided.
    ///
    /// # Errors
    /// [`Unfinished`]; the match can be finished later, by anybody.
    pub async fn finish(&self, record: &MatchRecord) -> Result<Finished, Unfinished> {
        match record.state {
            MatchState::Unfinished => {}
            MatchState::Finished => return Ok(Finished::Exists),
            MatchState::Void => return Ok(Finished::Void),
        }
        let session = record.id.session();
        if let MatchId::Join(..) = record.id {
            return self.finish_join(record).await;
        }
        let request = creation(record)?;
        match self.games.create(session, request.clone()).await {
            Ok(answer) if answer.voided => self.end_void(record, true).await,
            Ok(answer) if answer.exists => self.end_finished(record).await,
            Ok(_) => Err(Unfinished::NotYet),
            Err(status) if is_final(&status) => {
                let void = VoidSessionRequest {
                    session_id: request.session_id,
                    creation: request.creation,
                };
                if self.games.void(session, void).await?.voided {
                    // The same settings would be refused again: nobody re-enters.
                    self.end_refused(record, status.code()).await
                } else {
                    self.end_finished(record).await
                }
            }
            Err(status) => Err(status.into()),
        }
    }

    /// A player who wanted the open seat of a session when the call was cut off: gets it now, or is free again (S-27).
    async fn finish_join(&self, record: &MatchRecord) -> Result<Finished, Unfinished> {
        let request = JoinSessionRequest::decode(record.payload.clone()).map_err(|_| Unfinished::NotOurs)?;
        match self.games.join(record.id.session(), request).await {
            Ok(()) => self.end_finished(record).await,
            Err(status) if status.code() == tonic::Code::Unimplemented => Err(Unfinished::NotOurs),
            Err(status) if is_final(&status) => self.end_refused(record, status.code()).await,
            Err(status) => Err(status.into()),
        }
    }

    async fn end_refused(&self, record: &MatchRecord, code: tonic::Code) -> Result<Finished, Unfinished> {
        warn!(session = %record.id.session(), ?code, "what a match asks for is refused for good");
        self.end_void(record, false).await
    }

    async fn end_finished(&self, record: &MatchRecord) -> Result<Finished, Unfinished> {
        let ended = self.halls.finish_match(&self.hall, &record.id).await?;
        match ended.ok_or(Unfinished::Gone)?.state {
            MatchState::Void => Ok(Finished::Void),
            MatchState::Finished | MatchState::Unfinished => {
                self.metrics.ticket("matched", tickets_of(record).count());
                Ok(Finished::Exists)
            }
        }
    }

    async fn end_void(&self, record: &MatchRecord, re_enter: bool) -> Result<Finished, Unfinished> {
        let ended = self.halls.void_match(&self.hall, &record.id).await?;
        if ended.ok_or(Unfinished::Gone)?.state == MatchState::Finished {
            return Ok(Finished::Exists);
        }
        info!(session = %record.id.session(), re_enter, "a match became void");
        self.metrics.ticket("void", tickets_of(record).count());
        if re_enter {
            for player in &record.players {
                self.re_enter(record.kind, player).await?;
            }
        }
        Ok(Finished::Void)
    }

    /// A new ticket for a player whose match became void, linked by its id, with the old waiting time. Not when the
    /// player has a ticket or a session again already.
    async fn re_enter(&self, kind: Kind, player: &MatchPlayer) -> Result<(), StoreError> {
        let Some(ticket) = &player.ticket else {
            return Ok(());
        };
        if self
            .halls
            .holder(&self.hall, kind, &player.player)
            .await?
            .is_some()
        {
            return Ok(());
        }
        let deployment = self.sessions.deployment();
        let id = tickets::re_entry_id(deployment, ticket.id);
        let settings = tickets::payload(&ticket.payload).settings.unwrap_or_default();
        let new = NewTicket {
            id,
            player: player.player.clone(),
            kind,
            pool: PoolId::of(kind, &settings.encode_to_vec()),
            lifetime: self.ticket_lifetime,
            waiting_since: Some(ticket.waiting_since),
            session: deployment.session_id_of_ticket(id),
            payload: ticket.payload.clone(),
        };
        // A match that this makes is found by the loop over unfinished ones.
        let answer = self.halls.create_ticket(&self.hall, &new).await?;
        if let CreateTicketAnswer::Created { .. } = answer {
            self.metrics.ticket("re_entered", 1);
        }
        Ok(())
    }

    /// The unfinished matches at least this old, and the hall's clock.
    pub(crate) async fn unfinished(
        &self,
        older_than: Millis,
        limit: usize,
    ) -> Result<(Instant, Vec<MatchRecord>), StoreError> {
        let unfinished = self.halls.unfinished(&self.hall, older_than, limit).await?;
        Ok((unfinished.now, unfinished.matches))
    }
}

/// What to ask of a game service. A pair's request is made of its tickets: who waited longer sits on seat 1, and ready
/// flags are carried over (S-1). Other records hold the whole request.
fn creation(record: &MatchRecord) -> Result<CreateMatchedSessionRequest, Unfinished> {
    let MatchId::Creation(session) = &record.id else {
        return Err(Unfinished::NotOurs);
    };
    if !record.payload.is_empty() {
        return CreateMatchedSessionRequest::decode(record.payload.clone()).map_err(|_| Unfinished::NotOurs);
    }
    let [one, two] = record.players.as_slice() else {
        return Err(Unfinished::NotOurs);
    };
    let (Some(ticket_one), Some(ticket_two)) = (&one.ticket, &two.ticket) else {
        return Err(Unfinished::NotOurs);
    };
    let (kept_one, kept_two) = (
        tickets::payload(&ticket_one.payload),
        tickets::payload(&ticket_two.payload),
    );
    Ok(CreateMatchedSessionRequest {
        session_id: session.to_string(),
        creation: Some(CreateSessionRequest {
            request_id: ticket_one.id.to_string(),
            seat_1_player_id: one.player.to_string(),
            seat_2_player_id: two.player.to_string(),
            settings: kept_one.settings,
            seat_1_ready: kept_one.ready,
            seat_2_ready: kept_two.ready,
        }),
        previous_session_id: String::new(),
    })
}

fn tickets_of(record: &MatchRecord) -> impl Iterator<Item = TicketId> {
    record
        .players
        .iter()
        .filter_map(|player| player.ticket.as_ref().map(|ticket| ticket.id))
}
