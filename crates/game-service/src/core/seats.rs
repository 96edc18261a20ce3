//! Claims of players (S-28), and the taking of an open seat (S-27).

use prost::Message;
use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_protocol::v1;
use tablemate_session::command::Command;
use tablemate_session::fact::InvitationHash;
use tablemate_session::reason::Reason as Rejected;
use tablemate_session::seat::Seat;
use tablemate_session::{PlayerId, RequestId, SessionId};
use tablemate_store::hall_store::{Holder, MatchId, MatchState, NewMatch, TakeAnswer};

use super::judge::{Ask, Done, Who};
use super::players::store_kind;
use super::{Core, errors};

/// How often one call may take over claims of ended sessions: each player can have one.
const TAKEOVERS_MAX: usize = 4;

/// A player who wants the open seat of a session.
pub(crate) struct Joining {
    /// The session.
    pub session: SessionId,
    /// Who.
    pub player: PlayerId,
    /// The caller's id of the command.
    pub request: RequestId,
    /// Whether the player is ready at once.
    pub ready: bool,
    /// The token as it was shown.
    pub token: String,
}

impl Core {
    /// Writes a match record and claims its players. Claims of sessions that have ended are taken over.
    pub async fn claim(&self, new: &NewMatch) -> Result<(), Refusal> {
        let hall = &self.options.hall;
        for _ in 0..TAKEOVERS_MAX {
            let answer = self.stores.halls.take(hall, new).await.map_err(errors::store)?;
            let (player, holder) = match answer {
                TakeAnswer::Taken(_) => return Ok(()),
                TakeAnswer::Known(record) if record.state == MatchState::Void => {
                    return Err(Refusal::new(
                        Reason::SessionVoid,
                        "the session was voided before it could be played",
                    ));
                }
                // Who finishes the match goes by its record: the other request was first. Of a finished one the
                // session's log tells.
                TakeAnswer::Known(record)
                    if matches!(record.id, MatchId::Creation(_))
                        && record.state == MatchState::Unfinished
                        && record.payload != new.payload =>
                {
                    return Err(Refusal::new(
                        Reason::RequestIdReused,
                        "the request id was used to create another session",
                    ));
                }
                TakeAnswer::Known(_) => return Ok(()),
                TakeAnswer::Busy { player, holder } => (player, holder),
            };
            match holder {
                // The record of this very match was forgotten after its time; its claim is still there.
                Holder::Session(session) if session == new.id.session() => return Ok(()),
                Holder::Session(session) => {
                    if !self.has_ended(session).await? {
                        return Err(busy(&player).with("session_id", session));
                    }
                    self.stores
                        .halls
                        .release(hall, new.kind, session, std::slice::from_ref(&player))
                        .await
                        .map_err(errors::store)?;
                    self.close_rematch(session, new.id.session()).await;
                }
                Holder::Ticket(ticket) => return Err(busy(&player).with("ticket_id", ticket)),
            }
        }
        Err(errors::contended())
    }

    /// Whether the session that a claim names is over, so that the claim can be taken over.
    async fn has_ended(&self, session: SessionId) -> Result<bool, Refusal> {
        match self.fresh(session).await {
            Ok(fresh) => Ok(fresh.session.ended().is_some()),
            Err(refusal) if refusal.reason == Reason::SessionNotFound => {
                // Not created yet, or deleted after its retention: the match record tells.
                let record = self
                    .stores
                    .halls
                    .match_record(&self.options.hall, &MatchId::Creation(session))
                    .await
                    .map_err(errors::store)?;
                Ok(record.is_none_or(|record| record.state != MatchState::Unfinished))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// A player starts another session: the offer of a rematch in the one before dies (S-5).
    pub async fn close_rematch(&self, session: SessionId, started: SessionId) {
        let Ok(fresh) = self.fresh(session).await else {
            return;
        };
        if fresh.session.next_session() == Some(started) || fresh.session.open_offers().is_empty() {
            return;
        }
        // An acceptance of exactly that offer is what starts `started`: it must not die of itself.
        let deployment = self.stores.sessions.deployment();
        let accepts = fresh
            .session
            .open_offers()
            .iter()
            .any(|offer| deployment.session_id_of_rematch(session, u64::from(offer.id.0)) == started);
        if accepts {
            return;
        }
        if let Err(refusal) = self.command(session, &Ask::server(Command::CloseRematch)).await {
            tracing::debug!(%session, error = %refusal, "offers of a rematch stay open");
        }
    }

    /// Notes that a match's session is committed. When that fails a worker finds the match unfinished and finishes it.
    pub async fn finish_match(&self, id: &MatchId) {
        if let Err(error) = self.stores.halls.finish_match(&self.options.hall, id).await {
            tracing::warn!(session = %id.session(), %error, "a match is left for the worker to finish");
        }
    }

    /// Notes that nothing will come of a match.
    pub async fn void_match(&self, id: &MatchId) {
        if let Err(error) = self.stores.halls.void_match(&self.options.hall, id).await {
            tracing::warn!(session = %id.session(), %error, "a void match is left for the worker");
        }
    }

    /// Takes the open seat 2, claiming the player first.
    pub async fn join(&self, joining: &Joining) -> Result<Done, Refusal> {
        let fresh = self.fresh(joining.session).await?;
        let invitation = InvitationHash::of(&joining.token);
        let kind = fresh.session.settings().game.kind();
        // Before anything is claimed: strangers without the token learn nothing and take nothing.
        if fresh.session.creation().invitation != Some(invitation) {
            return Err(errors::rejected(Rejected::BadInvitation));
        }
        let ask = Ask {
            who: Who::Joining,
            id: Some(joining.request.clone()),
            expected_sequence: None,
            command: Command::Join {
                player: self.frozen(joining.player.clone(), kind).await?,
                ready: joining.ready,
                invitation,
            },
        };
        let open = fresh.session.player(Seat::Two).is_none() && fresh.session.ended().is_none();
        if !open || fresh.session.seat_of(&joining.player).is_some() {
            // Nothing to claim: it is refused, or was done before.
            return self.command(joining.session, &ask).await;
        }
        let id = MatchId::Join(joining.session, joining.player.clone());
        let wire = v1::JoinSessionRequest {
            request_id: joining.request.as_str().to_owned(),
            session_id: joining.session.to_string(),
            player_id: joining.player.as_str().to_owned(),
            invitation_token: joining.token.clone(),
            ready: joining.ready,
        };
        self.claim(&NewMatch {
            id: id.clone(),
            kind: store_kind(kind),
            players: vec![joining.player.clone()],
            payload: wire.encode_to_vec().into(),
        })
        .await?;
        match self.command(joining.session, &ask).await {
            Ok(done) => {
                self.finish_match(&id).await;
                Ok(done)
            }
            Err(refusal) => {
                // Only when it is certain that the player did not get the seat is the claim given back.
                if let Ok(fresh) = self.fresh(joining.session).await {
                    let seated = fresh.session.seat_of(&joining.player).is_some();
                    let settled =
                        fresh.session.player(Seat::Two).is_some() || fresh.session.ended().is_some();
                    if !seated && settled {
                        self.void_match(&id).await;
                    }
                }
                Err(refusal)
            }
        }
    }
}

fn busy(player: &PlayerId) -> Refusal {
    Refusal::new(
        Reason::PlayerBusy,
        "the player has a ticket or is in an unfinished session of this kind",
    )
    .with("player_id", player)
}
