//! Rematches (S-5): the players are claimed for the new session first, then the offer is accepted, then the new session
//! is created. Whatever crashes in between, a repeated call or a worker finishes it.

use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_session::SessionId;
use tablemate_session::command::{Command, Outcome};
use tablemate_session::fact::{OfferKind, Previous};
use tablemate_session::seat::{PerSeat, Seat};
use tablemate_session::session::Session;
use tablemate_store::hall_store::MatchId;

use super::Core;
use super::create::Wanted;
use super::judge::{Ask, Done};

/// What is to become of the session that a match record reserved for a rematch.
pub(crate) enum Agreed {
    /// The offer was accepted: create it.
    Yes(Previous),
    /// Not yet, and it still can be.
    NotYet,
    /// It never will be.
    Never(Previous),
}

impl Core {
    /// Makes or answers an offer. An accepted rematch creates the new session too.
    pub async fn offer(&self, id: SessionId, mut ask: Ask) -> Result<Done, Refusal> {
        let fresh = match &ask.command {
            Command::AnswerOffer { accept: true, .. }
            | Command::MakeOffer {
                kind: OfferKind::Rematch,
                ..
            } => self.fresh(id).await?,
            _ => return self.command(id, &ask).await,
        };
        let Some(next) = self.name_next(&fresh.session, &mut ask) else {
            // No offer of a rematch is open: judged as any offer, or one of a rematch repeated.
            let done = self.command(id, &ask).await?;
            self.create_agreed(&done).await;
            return Ok(done);
        };
        let wanted = rematch(&fresh.session, next);
        // A dry run: players are claimed only for what would be accepted.
        let accepted = ask.request(&fresh.session).is_some_and(|request| {
            let mut judged = Session::clone(&fresh.session);
            matches!(
                judged.apply(&request, fresh.now, &[]).outcome,
                Outcome::Accepted(_)
            )
        });
        let Some(wanted) = wanted.filter(|_| accepted) else {
            return self.command(id, &ask).await;
        };
        if let Err(refusal) = self.claim(&wanted.to_match()).await {
            if refusal.reason == Reason::PlayerBusy {
                // One of them plays elsewhere by now: the offer is dead (S-5).
                let _ = self.command(id, &Ask::server(Command::CloseRematch)).await;
            }
            return Err(refusal);
        }
        match self.command(id, &ask).await {
            Ok(done) => {
                self.create_agreed(&done).await;
                Ok(done)
            }
            Err(refusal) => {
                self.give_up(id, &wanted).await;
                Err(refusal)
            }
        }
    }

    /// Writes the id of the session that the rematch would be into a command that accepts an open offer of one.
    fn name_next(&self, session: &Session, ask: &mut Ask) -> Option<SessionId> {
        let seat = match &ask.who {
            super::judge::Who::Player(player) => session.seat_of(player)?,
            _ => return None,
        };
        let named = match &ask.command {
            Command::AnswerOffer { offer, .. } => Some(*offer),
            _ => None,
        };
        let open = session.open_offers().into_iter().find(|open| {
            open.kind == OfferKind::Rematch
                && open.seat == seat.other()
                && named.is_none_or(|named| named == open.id)
        })?;
        let deployment = self.stores.sessions.deployment();
        let id = deployment.session_id_of_rematch(session.id(), u64::from(open.id.0));
        match &mut ask.command {
            Command::AnswerOffer { next, .. } | Command::MakeOffer { next, .. } => *next = Some(id),
            _ => return None,
        }
        Some(id)
    }

    /// Creates the session that a command has agreed on, if it has. When that fails a worker does it: the match record
    /// is unfinished.
    async fn create_agreed(&self, done: &Done) {
        let Some(next) = done.now_session.next_session() else {
            return;
        };
        let Some(wanted) = rematch(&done.now_session, next) else {
            return;
        };
        match self.create_claimed(&wanted).await {
            Ok(_) => self.finish_match(&MatchId::Creation(next)).await,
            Err(error) => {
                tracing::warn!(session = %next, %error, "a rematch is left for the worker to create")
            }
        }
    }

    /// Voids a rematch that was claimed for and not agreed on, unless somebody still can.
    async fn give_up(&self, id: SessionId, wanted: &Wanted) {
        if let Ok(Agreed::Never(_)) = self.agreed(id, wanted.id).await
            && let Ok(true) = self.void(wanted).await
        {
            self.void_match(&MatchId::Creation(wanted.id)).await;
        }
    }

    /// Whether a rematch of `previous` under the id `next` was agreed on.
    pub async fn agreed(&self, previous: SessionId, next: SessionId) -> Result<Agreed, Refusal> {
        let session = self.fresh(previous).await?.session;
        let previous = Previous {
            session: previous,
            opener: session.rematch_opener().unwrap_or(Seat::One),
        };
        if session.next_session() == Some(next) {
            return Ok(Agreed::Yes(previous));
        }
        let deployment = self.stores.sessions.deployment();
        let open = session.open_offers().iter().any(|offer| {
            offer.kind == OfferKind::Rematch
                && deployment.session_id_of_rematch(session.id(), u64::from(offer.id.0)) == next
        });
        Ok(if open {
            Agreed::NotYet
        } else {
            Agreed::Never(previous)
        })
    }
}

/// The rematch of a session: the same players and settings, nobody ready, the opener alternated.
fn rematch(session: &Session, next: SessionId) -> Option<Wanted> {
    Some(Wanted {
        id: next,
        settings: session.settings().clone(),
        one: session.player(Seat::One)?.id.clone(),
        two: Some(session.player(Seat::Two)?.id.clone()),
        ready: PerSeat::new(false, false),
        previous: Some(Previous {
            session: session.id(),
            opener: session.rematch_opener()?,
        }),
    })
}
