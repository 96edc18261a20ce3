//! `tablemate.v1.SessionService`.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use tablemate_protocol::convert::{Faults, Reason, Refusal, event, ids, session};
use tablemate_protocol::v1::session_service_server::SessionService;
use tablemate_protocol::v1::{self};
use tablemate_serve::Ending;
use tablemate_session::command::Command;
use tablemate_session::seat::Seat;
use tablemate_session::view::Viewer;
use tonic::{Request, Response, Status};

use super::commands::{self, Parsed};
use super::{export, list};
use crate::core::{Core, Done, Joining, parse_creation};
use crate::watch::Watches;

/// The service.
#[derive(Clone)]
pub(crate) struct SessionServer {
    pub core: Arc<Core>,
    pub watches: Arc<Watches>,
}

type Answer<T> = Result<Response<T>, Status>;

impl SessionServer {
    /// Lets a player's command be judged, and tells the player what it did.
    async fn command(&self, parsed: Result<Parsed, Faults>) -> Result<Option<v1::Receipt>, Status> {
        let Parsed { session, player, ask } = parsed?;
        let done = match &ask.command {
            // Boxed: what a rematch takes is much, and would make the future of every move as large.
            Command::MakeOffer { .. } | Command::AnswerOffer { .. } => {
                Box::pin(self.core.offer(session, ask)).await?
            }
            _ => self.core.command(session, &ask).await?,
        };
        let seat = done.now_session.seat_of(&player);
        Ok(Some(self.receipt(done, seat)?))
    }

    fn receipt(&self, done: Done, seat: Option<Seat>) -> Result<v1::Receipt, Refusal> {
        self.core
            .receipt(done, seat.map_or(Viewer::Spectator, Viewer::Seat))
    }
}

#[tonic::async_trait]
impl SessionService for SessionServer {
    async fn create_session(
        &self,
        request: Request<v1::CreateSessionRequest>,
    ) -> Answer<v1::CreateSessionResponse> {
        let wire = request.into_inner();
        let mut faults = Faults::none();
        let request_id = faults.take(ids::request_id("request_id", &wire.request_id));
        let wanted = faults.take(parse_creation(&wire));
        let (Some(request_id), Some(wanted)) = (request_id, wanted) else {
            return Err(faults.into());
        };
        let deployment = self.core.stores.sessions.deployment();
        let id = deployment.session_id(&wire.seat_1_player_id, &request_id);
        let wanted = wanted(id);
        let done = self.core.create(&wanted).await?;
        let invitation_token = if wanted.two.is_none() {
            self.core.invitation_token(id)
        } else {
            String::new()
        };
        Ok(Response::new(v1::CreateSessionResponse {
            session_id: id.to_string(),
            receipt: Some(self.receipt(done, Some(Seat::One))?),
            invitation_token,
        }))
    }

    async fn join_session(
        &self,
        request: Request<v1::JoinSessionRequest>,
    ) -> Answer<v1::JoinSessionResponse> {
        let wire = request.into_inner();
        let mut faults = Faults::none();
        let request_id = faults.take(ids::request_id("request_id", &wire.request_id));
        let session = faults.take(ids::session_id("session_id", &wire.session_id));
        let player = faults.take(ids::player_id("player_id", &wire.player_id));
        if wire.invitation_token.is_empty() {
            faults.add("invitation_token", Reason::Required, "is empty");
        }
        let (Some(request), Some(session), Some(player), true) =
            (request_id, session, player, faults.is_empty())
        else {
            return Err(faults.into());
        };
        let joining = Joining {
            session,
            player,
            request,
            ready: wire.ready,
            token: wire.invitation_token,
        };
        let done = self.core.join(&joining).await?;
        Ok(Response::new(v1::JoinSessionResponse {
            receipt: Some(self.receipt(done, Some(Seat::Two))?),
        }))
    }

    async fn get_session(&self, request: Request<v1::GetSessionRequest>) -> Answer<v1::GetSessionResponse> {
        let wire = request.into_inner();
        let (id, viewer) = looking(&wire.session_id, &wire.viewer_id)?;
        let (shown, present) = tokio::join!(
            self.core.show(id, viewer.as_ref()),
            self.core.stores.sessions.present(id)
        );
        let shown = shown?;
        // Presence is told as far as it is known; it is no part of the session's state (S-17).
        let session = self.core.snapshot(&shown, present.unwrap_or_default());
        Ok(Response::new(v1::GetSessionResponse {
            session: Some(session),
        }))
    }

    async fn list_sessions(
        &self,
        request: Request<v1::ListSessionsRequest>,
    ) -> Answer<v1::ListSessionsResponse> {
        Ok(Response::new(
            list::sessions(&self.core, &request.into_inner()).await?,
        ))
    }

    async fn set_ready(&self, request: Request<v1::SetReadyRequest>) -> Answer<v1::SetReadyResponse> {
        let receipt = self.command(commands::set_ready(request.get_ref())).await?;
        Ok(Response::new(v1::SetReadyResponse { receipt }))
    }

    async fn play(&self, request: Request<v1::PlayRequest>) -> Answer<v1::PlayResponse> {
        let receipt = self.command(commands::play(request.get_ref())).await?;
        Ok(Response::new(v1::PlayResponse { receipt }))
    }

    async fn resign(&self, request: Request<v1::ResignRequest>) -> Answer<v1::ResignResponse> {
        let receipt = self.command(commands::resign(request.get_ref())).await?;
        Ok(Response::new(v1::ResignResponse { receipt }))
    }

    async fn make_offer(&self, request: Request<v1::MakeOfferRequest>) -> Answer<v1::MakeOfferResponse> {
        let receipt = self.command(commands::make_offer(request.get_ref())).await?;
        Ok(Response::new(v1::MakeOfferResponse { receipt }))
    }

    async fn answer_offer(
        &self,
        request: Request<v1::AnswerOfferRequest>,
    ) -> Answer<v1::AnswerOfferResponse> {
        let receipt = self.command(commands::answer_offer(request.get_ref())).await?;
        Ok(Response::new(v1::AnswerOfferResponse { receipt }))
    }

    async fn withdraw_offer(
        &self,
        request: Request<v1::WithdrawOfferRequest>,
    ) -> Answer<v1::WithdrawOfferResponse> {
        let receipt = self.command(commands::withdraw_offer(request.get_ref())).await?;
        Ok(Response::new(v1::WithdrawOfferResponse { receipt }))
    }

    async fn leave_session(
        &self,
        request: Request<v1::LeaveSessionRequest>,
    ) -> Answer<v1::LeaveSessionResponse> {
        let receipt = self.command(commands::leave(request.get_ref())).await?;
        Ok(Response::new(v1::LeaveSessionResponse { receipt }))
    }

    async fn list_legal_moves(
        &self,
        request: Request<v1::ListLegalMovesRequest>,
    ) -> Answer<v1::ListLegalMovesResponse> {
        let wire = request.into_inner();
        let (id, viewer) = looking(&wire.session_id, &wire.viewer_id)?;
        let shown = self.core.show(id, viewer.as_ref()).await?;
        let Some(turn) = shown.session.turn() else {
            return Err(Refusal::new(Reason::GameNotOn, "no game is on").into());
        };
        Ok(Response::new(v1::ListLegalMovesResponse {
            turn: Some(event::turn_to_wire(&turn)),
            moves: session::legal_moves_to_wire(&shown.session),
            sequence: shown.session.sequence(),
        }))
    }

    type WatchSessionStream = Pin<Box<dyn Stream<Item = Result<v1::WatchSessionResponse, Status>> + Send>>;

    async fn watch_session(
        &self,
        request: Request<v1::WatchSessionRequest>,
    ) -> Answer<Self::WatchSessionStream> {
        let ending = Ending::of(request.extensions());
        let wire = request.into_inner();
        let (id, viewer) = looking(&wire.session_id, &wire.viewer_id)?;
        let stream = self.watches.open(id, viewer, &wire.cursor, ending).await?;
        Ok(Response::new(Box::pin(stream)))
    }

    async fn export_game(&self, request: Request<v1::ExportGameRequest>) -> Answer<v1::ExportGameResponse> {
        Ok(Response::new(
            export::game(&self.core, &request.into_inner()).await?,
        ))
    }
}

/// The session and the viewer of a look at it.
pub(super) fn looking(
    session_id: &str,
    viewer_id: &str,
) -> Result<(tablemate_session::SessionId, Option<tablemate_session::PlayerId>), Faults> {
    let mut faults = Faults::none();
    let session = faults.take(ids::session_id("session_id", session_id));
    let viewer = faults.take(ids::player_id_or_none("viewer_id", viewer_id));
    match (session, viewer) {
        (Some(session), Some(viewer)) => Ok((session, viewer)),
        _ => Err(faults),
    }
}
