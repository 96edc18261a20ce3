//! `MatchmakingService`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use tablemate_protocol::convert::{Faults, Reason, Refusal, ids, time};
use tablemate_protocol::v1::matchmaking_service_server::MatchmakingService;
use tablemate_protocol::v1::{
    CancelTicketRequest, CancelTicketResponse, CreateTicketRequest, CreateTicketResponse, GetTicketRequest,
    GetTicketResponse, Ticket as WireTicket, WatchTicketRequest, WatchTicketResponse,
};
use tablemate_serve::Ending;
use tablemate_session::{Millis, PlayerId, SessionId, TicketId};
use tablemate_store::hall_store::{
    CancelAnswer, CreateTicketAnswer, HallId, MatchId, MatchState, NewTicket, Ticket, TicketState,
};
use tablemate_store::{Cursor, HallStore, Read, SessionStore, Stores};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use tracing::{debug, warn};

use crate::deadline::{Budget, within};
use crate::errors;
use crate::games::GameServices;
use crate::matches::{Finished, Matches, Unfinished};
use crate::metrics::Metrics;
use crate::settlement::Releaser;
use crate::tickets::{self, Wish};

/// How often a creation is tried anew after a claim of an ended session was released.
const CREATE_TRIES_MAX: usize = 4;
/// How many re-entries a cancellation follows.
const CANCEL_TRIES_MAX: usize = 4;
/// How many sessions' deadlines are fired to learn whether a player is still busy.
const FIRE_LIMIT: u32 = 256;
/// How long a watcher waits for a wake-up before it looks by itself: a lost message delays, it never loses.
const WATCH_POLL: Duration = Duration::from_secs(5);
/// How many calls are worked on at once; more are refused.
const CALLS_MAX: usize = 4_096;
/// How many watchers this replica has; more are refused.
const WATCHERS_MAX: usize = 65_536;
/// How many messages a watcher may be behind. There are hardly more in a ticket's life.
const WATCH_BUFFER: usize = 4;

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    sessions: Arc<dyn SessionStore>,
    halls: Arc<dyn HallStore>,
    hall: HallId,
    games: GameServices,
    matches: Matches,
    releaser: Releaser,
    ticket_lifetime: Millis,
    metrics: Metrics,
    calls: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Api {
    /// The service for one hall. Its streams end when `stop` is cancelled.
    #[must_use]
    #[allow(clippy::too_many_arguments)] // Parts of one whole, put together in one place.
    pub(crate) fn new(
        stores: &Stores,
        hall: HallId,
        games: GameServices,
        matches: Matches,
        releaser: Releaser,
        ticket_lifetime: Millis,
        metrics: Metrics,
        stop: CancellationToken,
    ) -> Self {
        Self {
            sessions: stores.sessions.clone(),
            halls: stores.halls.clone(),
            hall,
            games,
            matches,
            releaser,
            ticket_lifetime,
            metrics,
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            watchers: Arc::new(Semaphore::new(WATCHERS_MAX)),
            stop,
        }
    }

    async fn create(&self, request: CreateTicketRequest) -> Result<WireTicket, Status> {
        let wish = Wish::of(&request)?;
        let new = wish.ticket(self.sessions.deployment(), self.ticket_lifetime);
        for attempt in 0..CREATE_TRIES_MAX {
            let answer = self
                .halls
                .create_ticket(&self.hall, &new)
                .await
                .map_err(errors::store)?;
            match answer {
                CreateTicketAnswer::Created {
                    ticket,
                    paired,
                    replaced,
                } => {
                    self.metrics.ticket("created", 1);
                    self.metrics.ticket("replaced", usize::from(replaced.is_some()));
                    let Some(record) = paired else {
                        return self.shown(&ticket).await;
                    };
                    // The usual case: both have their session when this call is answered. What fails here is finished
                    // by a worker, and the ticket searches until then.
                    if let Err(why) = self.matches.finish(&record).await {
                        debug!(session = %record.id.session(), %why, "a match is left to the workers");
                    }
                    return self.show(new.id, &new.player).await;
                }
                CreateTicketAnswer::Existing { ticket } => return self.existing(&ticket, &new).await,
                CreateTicketAnswer::Busy { session } => {
                    if attempt + 1 < CREATE_TRIES_MAX && self.may_be_free_now(&new, session).await? {
                        continue;
                    }
                    return Err(busy(&new.player, session).into());
                }
            }
        }
        Err(errors::contended().into())
    }

    /// The same request id again: the first ticket, if the request is the same (S-25).
    async fn existing(&self, ticket: &Ticket, new: &NewTicket) -> Result<WireTicket, Status> {
        if ticket.player != new.player {
            return Err(errors::no_ticket().into());
        }
        if ticket.kind != new.kind || ticket.payload != new.payload {
            return Err(Refusal::new(
                Reason::RequestIdReused,
                "the request id was used for another ticket",
            )
            .with("ticket_id", ticket.id)
            .into());
        }
        if let TicketState::Paired { session } = ticket.state {
            if let Err(why) = self.matches.finish_of(session).await {
                debug!(%session, %why, "a match is left to the workers");
            }
            return self.show(ticket.id, &ticket.player).await;
        }
        self.shown(ticket).await
    }

    /// The player is claimed for `session`. Finds out whether that still holds, and makes it not hold if it should not:
    /// whether trying again is worth while.
    async fn may_be_free_now(&self, new: &NewTicket, session: SessionId) -> Result<bool, Status> {
        let id = MatchId::Creation(session);
        let record = self
            .halls
            .match_record(&self.hall, &id)
            .await
            .map_err(errors::store)?;
        if let Some(record) = record.filter(|record| record.state == MatchState::Unfinished) {
            // PLAYER_BUSY names a session that exists.
            return match self.matches.finish(&record).await {
                Ok(Finished::Exists) => Ok(false),
                Ok(Finished::Void) => Ok(true),
                Err(Unfinished::NotOurs | Unfinished::NotYet) => Ok(false),
                Err(Unfinished::Gone) => Ok(true),
                Err(why) => {
                    debug!(%session, %why, "a match could not be finished");
                    Err(errors::unknown("the player's match is not finished yet").into())
                }
            };
        }
        let shard = session.shard();
        if !self.claimed(new, session).await? {
            return Ok(true);
        }
        // An ended session whose ending has not reached the hall yet.
        self.releaser.catch_up(shard).await.map_err(errors::store)?;
        if !self.claimed(new, session).await? {
            return Ok(true);
        }
        // A session that ended by a deadline which nobody has fired yet (S-11).
        let next = self.sessions.next_due(shard).await.map_err(errors::store)?;
        if next.is_some_and(|deadline| deadline < self.sessions.now(shard)) {
            match self.games.fire_due(shard, FIRE_LIMIT).await {
                Ok(_) => self.releaser.catch_up(shard).await.map_err(errors::store)?,
                Err(status) => debug!(shard, code = ?status.code(), "deadlines could not be fired"),
            }
        }
        // A session that a fail-over of the store lost, or whose time is over.
        let read = self
            .sessions
            .read(session, Cursor::START, 0)
            .await
            .map_err(errors::store)?;
        if let Read::Missing { .. } = read {
            warn!(%session, "a claim of a session that does not exist is released");
            let players = std::slice::from_ref(&new.player);
            let released = self.halls.release(&self.hall, new.kind, session, players).await;
            released.map_err(errors::store)?;
        }
        Ok(!self.claimed(new, session).await?)
    }

    async fn claimed(&self, new: &NewTicket, session: SessionId) -> Result<bool, Status> {
        use tablemate_store::hall_store::Holder;
        let holder = self
            .halls
            .holder(&self.hall, new.kind, &new.player)
            .await
            .map_err(errors::store)?;
        Ok(holder == Some(Holder::Session(session)))
    }

    async fn cancel(&self, request: CancelTicketRequest) -> Result<WireTicket, Status> {
        let mut faults = Faults::none();
        faults.take(ids::request_id("request_id", &request.request_id));
        let named = named(&request.ticket_id, &request.player_id, &mut faults);
        let (first, player) = named.ok_or(faults)?;
        let mut id = first;
        for _ in 0..CANCEL_TRIES_MAX {
            self.own(id, &player).await?;
            match self
                .halls
                .cancel_ticket(&self.hall, id)
                .await
                .map_err(errors::store)?
            {
                CancelAnswer::Missing => return Err(errors::no_ticket().into()),
                CancelAnswer::Cancelled => {
                    let ticket = self.own(id, &player).await?;
                    // A void match's ticket went on as another one: that is the one to cancel.
                    if let TicketState::Void { .. } = ticket.state {
                        let next = tickets::re_entry_id(self.sessions.deployment(), id);
                        if self
                            .halls
                            .ticket(&self.hall, next)
                            .await
                            .map_err(errors::store)?
                            .is_some()
                        {
                            id = next;
                            continue;
                        }
                    }
                    self.metrics.ticket("cancelled", 1);
                    return self.show(first, &player).await;
                }
                CancelAnswer::AlreadyMatched { session, finished } => {
                    if !finished {
                        match self.matches.finish_of(session).await {
                            Ok(Finished::Exists) => {}
                            Ok(Finished::Void) | Err(Unfinished::Gone) => continue,
                            Err(why) => {
                                debug!(%session, %why, "a match could not be finished");
                                return Err(errors::unknown("the ticket's match is not finished yet").into());
                            }
                        }
                    }
                    return Err(Refusal::new(
                        Reason::AlreadyMatched,
                        "the ticket is matched: its session exists",
                    )
                    .with("session_id", session)
                    .with("ticket_id", id)
                    .into());
                }
            }
        }
        Err(errors::contended().into())
    }

    /// The player's ticket as it is stored.
    async fn own(&self, id: TicketId, player: &PlayerId) -> Result<Ticket, Status> {
        let ticket = self.halls.ticket(&self.hall, id).await.map_err(errors::store)?;
        let own = ticket.filter(|ticket| ticket.player == *player);
        Ok(own.ok_or_else(errors::no_ticket)?)
    }

    /// The player's ticket as it is shown.
    async fn show(&self, id: TicketId, player: &PlayerId) -> Result<WireTicket, Status> {
        let ticket = self.own(id, player).await?;
        self.shown(&ticket).await
    }

    async fn shown(&self, ticket: &Ticket) -> Result<WireTicket, Status> {
        let record = match ticket.state {
            TicketState::Matched { session } => {
                let id = MatchId::Creation(session);
                self.halls
                    .match_record(&self.hall, &id)
                    .await
                    .map_err(errors::store)?
            }
            _ => None,
        };
        Ok(tickets::to_wire(
            self.sessions.deployment(),
            ticket,
            record.as_ref(),
        ))
    }

    /// Sends the ticket to a watcher now and at each change, until nothing will become of it any more.
    async fn watch(
        &self,
        id: TicketId,
        player: &PlayerId,
        out: &mpsc::Sender<Result<WatchTicketResponse, Status>>,
        ending: &Ending,
    ) -> Result<(), Status> {
        // Subscribed before the first look: nothing is missed between them.
        let mut changes = self
            .halls
            .subscribe_ticket(&self.hall, id)
            .await
            .map_err(errors::store)?;
        let mut sent = None;
        let mut subscribed = true;
        loop {
            let ticket = self.own(id, player).await?;
            if sent != Some(ticket.state) {
                let shown = self.shown(&ticket).await?;
                // A pair searches on until its session exists: no news.
                let news = !matches!(
                    (sent, ticket.state),
                    (Some(TicketState::Searching), TicketState::Paired { .. })
                );
                sent = Some(ticket.state);
                if news {
                    let message = WatchTicketResponse {
                        ticket: Some(shown),
                        server_now: Some(time::timestamp(self.sessions.now(0))),
                    };
                    if out.send(Ok(message)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            if tickets::is_final(ticket.state) {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(errors::shutting_down().into()),
                () = ending.begun() => return Err(errors::connection_ends().into()),
                () = out.closed() => return Ok(()),
                change = changes.next(), if subscribed => subscribed = change.is_some(),
                () = tokio::time::sleep(WATCH_POLL) => {}
            }
        }
    }
}

/// A place among those who are served, or the refusal of one too many.
fn place(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Status> {
    Ok(places
        .clone()
        .try_acquire_owned()
        .map_err(|_| errors::overloaded())?)
}

fn busy(player: &PlayerId, session: SessionId) -> Refusal {
    Refusal::new(
        Reason::PlayerBusy,
        "the player is in an unfinished session of this kind",
    )
    .with("player_id", player)
    .with("session_id", session)
}

/// The ticket and the player that a request names; what is wrong with them is noted.
fn named(ticket: &str, player: &str, faults: &mut Faults) -> Option<(TicketId, PlayerId)> {
    let ticket = faults.take(ids::ticket_id("ticket_id", ticket));
    let player = faults.take(ids::player_id("player_id", player));
    if !faults.is_empty() {
        return None;
    }
    ticket.zip(player)
}

#[tonic::async_trait]
impl MatchmakingService for Api {
    async fn create_ticket(
        &self,
        request: Request<CreateTicketRequest>,
    ) -> Result<Response<CreateTicketResponse>, Status> {
        let budget = Budget::of(&request);
        let _place = place(&self.calls)?;
        let ticket = within(budget, self.create(request.into_inner())).await?;
        Ok(Response::new(CreateTicketResponse { ticket: Some(ticket) }))
    }

    async fn get_ticket(
        &self,
        request: Request<GetTicketRequest>,
    ) -> Result<Response<GetTicketResponse>, Status> {
        let budget = Budget::of(&request);
        let request = request.into_inner();
        let mut faults = Faults::none();
        let named = named(&request.ticket_id, &request.player_id, &mut faults);
        let (id, player) = named.ok_or(faults)?;
        let _place = place(&self.calls)?;
        let ticket = within(budget, self.show(id, &player)).await?;
        Ok(Response::new(GetTicketResponse { ticket: Some(ticket) }))
    }

    type WatchTicketStream = Pin<Box<dyn Stream<Item = Result<WatchTicketResponse, Status>> + Send>>;

    async fn watch_ticket(
        &self,
        request: Request<WatchTicketRequest>,
    ) -> Result<Response<Self::WatchTicketStream>, Status> {
        let budget = Budget::of(&request);
        let ending = Ending::of(request.extensions());
        let request = request.into_inner();
        let mut faults = Faults::none();
        let named = named(&request.ticket_id, &request.player_id, &mut faults);
        let (id, player) = named.ok_or(faults)?;
        let place = place(&self.watchers)?;
        within(budget, self.own(id, &player)).await?;
        let (out, messages) = mpsc::channel(WATCH_BUFFER);
        let api = self.clone();
        tokio::spawn(async move {
            let _place = place;
            if let Err(status) = api.watch(id, &player, &out, &ending).await {
                // A watcher that is gone needs no reason.
                let _ = out.send(Err(status)).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(messages))))
    }

    async fn cancel_ticket(
        &self,
        request: Request<CancelTicketRequest>,
    ) -> Result<Response<CancelTicketResponse>, Status> {
        let budget = Budget::of(&request);
        let _place = place(&self.calls)?;
        let ticket = within(budget, self.cancel(request.into_inner())).await?;
        Ok(Response::new(CancelTicketResponse { ticket: Some(ticket) }))
    }
}
