//! The game services: only they write sessions.

use std::sync::Arc;
use std::time::Duration;

use tablemate_protocol::v1::internal_service_client::InternalServiceClient;
use tablemate_protocol::v1::session_service_client::SessionServiceClient;
use tablemate_protocol::v1::{
    CreateMatchedSessionRequest, CreateMatchedSessionResponse, FireDueRequest, FireDueResponse,
    JoinSessionRequest, VoidSessionRequest, VoidSessionResponse,
};
use tablemate_session::SessionId;
use tablemate_telemetry::client_trace_layer;
use tonic::body::Body;
use tonic::transport::{Endpoint, Uri};
use tonic::{Code, Request, Status};
use tower::util::BoxCloneSyncService;
use tower::{Layer as _, ServiceExt as _};

/// How long connecting may take.
const CONNECT_TIME_MAX: Duration = Duration::from_millis(1_000);
/// How long one call on one address may take.
const CALL_TIME_MAX: Duration = Duration::from_millis(3_000);
/// How often a silent connection is probed, and how long the answer may take: a dead peer is noticed while no call waits.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The way to one address: a connection, or what a test puts in its place.
pub type Link = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Status>;

/// The game services, by their internal addresses. Connections are made when needed and again when lost. Every call here
/// can be repeated, so what one address does not answer is asked of the next. A shard is asked of the same service as long as
/// that answers: its sessions are warm there. Cheap to clone.
#[derive(Clone)]
pub struct GameServices {
    clients: Arc<[Client]>,
}

/// The services of one address, over one connection.
#[derive(Clone)]
struct Client {
    internal: InternalServiceClient<Link>,
    sessions: SessionServiceClient<Link>,
}

impl GameServices {
    /// The services at these addresses; at least one. Must be called inside a runtime.
    #[must_use]
    pub fn new(addresses: &[Uri]) -> Self {
        let layer = client_trace_layer();
        let links = addresses.iter().map(|address| {
            let channel = Endpoint::from(address.clone())
                .connect_timeout(CONNECT_TIME_MAX)
                .http2_keep_alive_interval(KEEP_ALIVE)
                .keep_alive_timeout(KEEP_ALIVE)
                .keep_alive_while_idle(true)
                .connect_lazy();
            Link::new(
                layer
                    .layer(channel)
                    .map_response(|response| response.map(Body::new))
                    .map_err(|error| Status::from_error(error.into())),
            )
        });
        Self::over(links)
    }

    /// The services that these links lead to; at least one.
    #[must_use]
    pub fn over(links: impl IntoIterator<Item = Link>) -> Self {
        let clients = links.into_iter().map(|link| Client {
            internal: InternalServiceClient::new(link.clone()),
            sessions: SessionServiceClient::new(link),
        });
        Self {
            clients: clients.collect(),
        }
    }

    /// Fires a shard's deadlines that have passed (S-11).
    ///
    /// # Errors
    /// The last address's status.
    pub async fn fire_due(&self, shard: u16, limit: u32) -> Result<FireDueResponse, Status> {
        let request = FireDueRequest {
            shard: shard.into(),
            limit,
        };
        self.ask(shard, request, async |mut client, request| {
            client.internal.fire_due(request).await
        })
        .await
    }

    /// Creates the session of a match record.
    ///
    /// # Errors
    /// The last address's status.
    pub async fn create(
        &self,
        session: SessionId,
        request: CreateMatchedSessionRequest,
    ) -> Result<CreateMatchedSessionResponse, Status> {
        self.ask(session.shard(), request, async |mut client, request| {
            client.internal.create_matched_session(request).await
        })
        .await
    }

    /// Makes a session id unusable.
    ///
    /// # Errors
    /// The last address's status.
    pub async fn void(
        &self,
        session: SessionId,
        request: VoidSessionRequest,
    ) -> Result<VoidSessionResponse, Status> {
        self.ask(session.shard(), request, async |mut client, request| {
            client.internal.void_session(request).await
        })
        .await
    }

    /// Gives a player the open seat of a session, as in the call that was cut off. Answered with UNIMPLEMENTED by an
    /// address that has only the internal service.
    ///
    /// # Errors
    /// The last address's status.
    pub async fn join(&self, session: SessionId, request: JoinSessionRequest) -> Result<(), Status> {
        self.ask(session.shard(), request, async |mut client, request| {
            client.sessions.join_session(request).await
        })
        .await
        .map(|_| ())
    }

    async fn ask<Q, A, F>(&self, shard: u16, request: Q, call: F) -> Result<A, Status>
    where
        Q: Clone,
        F: AsyncFn(Client, Request<Q>) -> Result<tonic::Response<A>, Status>,
    {
        let start = usize::from(shard);
        let mut last = Status::unavailable("no game service is configured");
        for offset in 0..self.clients.len() {
            let client = self.clients[start.wrapping_add(offset) % self.clients.len()].clone();
            let mut asked = Request::new(request.clone());
            asked.set_timeout(CALL_TIME_MAX);
            // The connection's own time-outs bound neither a connect in progress nor a server that hangs.
            last = match tokio::time::timeout(CALL_TIME_MAX, call(client, asked)).await {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(status)) if is_final(&status) => return Err(status),
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded("a game service did not answer in time"),
            };
        }
        Err(last)
    }
}

/// Whether another address, or the same one later, would say the same: it is the request that is refused.
pub(crate) fn is_final(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
    )
}
