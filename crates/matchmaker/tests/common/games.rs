//! A game service that does what a test wants: creations succeed, fail, wait or are refused.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tablemate_protocol::v1::internal_service_server::{InternalService, InternalServiceServer};
use tablemate_protocol::v1::{
    CreateMatchedSessionRequest, CreateMatchedSessionResponse, CreateSessionRequest, FireDueRequest,
    FireDueResponse, VoidSessionRequest, VoidSessionResponse,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// What becomes of a creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It succeeds.
    Create,
    /// It waits until the mood changes.
    Wait,
    /// The service is out of order.
    Unavailable,
    /// It is created, and the answer is lost.
    LoseAnswer,
    /// It is refused for good.
    Refuse,
}

/// The scripted service; cheap to clone.
#[derive(Clone)]
pub struct FakeGames {
    mood: Arc<watch::Sender<Mood>>,
    /// Every session that exists, and whether it is void.
    sessions: Arc<Mutex<HashMap<String, (CreateSessionRequest, bool)>>>,
    calls: Arc<watch::Sender<usize>>,
    pub address: SocketAddr,
}

impl FakeGames {
    /// Serves on a free port until the runtime ends.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self {
            mood: Arc::new(watch::channel(Mood::Create).0),
            sessions: Arc::default(),
            calls: Arc::new(watch::channel(0).0),
            address: listener.local_addr().unwrap(),
        };
        let service = InternalServiceServer::new(fake.clone());
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        fake
    }

    pub fn feels(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    /// Waits until this many creations have been asked for in all.
    pub async fn asked(&self, calls: usize) {
        let mut counted = self.calls.subscribe();
        counted.wait_for(|counted| *counted >= calls).await.unwrap();
    }

    /// What was created under the id; `None`: nothing, or it is void.
    pub fn created(&self, session: &str) -> Option<CreateSessionRequest> {
        let sessions = self.sessions.lock().unwrap();
        sessions
            .get(session)
            .filter(|(_, void)| !void)
            .map(|(creation, _)| creation.clone())
    }

    pub fn sessions(&self) -> usize {
        self.sessions
            .lock()
            .unwrap()
            .values()
            .filter(|(_, void)| !void)
            .count()
    }

    fn create(&self, id: String, creation: CreateSessionRequest, void: bool) -> bool {
        let mut sessions = self.sessions.lock().unwrap();
        sessions.entry(id).or_insert((creation, void)).1
    }
}

#[tonic::async_trait]
impl InternalService for FakeGames {
    async fn fire_due(&self, _: Request<FireDueRequest>) -> Result<Response<FireDueResponse>, Status> {
        Ok(Response::new(FireDueResponse::default()))
    }

    async fn create_matched_session(
        &self,
        request: Request<CreateMatchedSessionRequest>,
    ) -> Result<Response<CreateMatchedSessionResponse>, Status> {
        let request = request.into_inner();
        self.calls.send_modify(|calls| *calls += 1);
        let mut mood = self.mood.subscribe();
        let mood = *mood.wait_for(|mood| *mood != Mood::Wait).await.unwrap();
        if mood == Mood::Refuse {
            return Err(Status::invalid_argument("no"));
        }
        if mood == Mood::Unavailable {
            return Err(Status::unavailable("out of order"));
        }
        let voided = self.create(request.session_id, request.creation.unwrap_or_default(), false);
        if mood == Mood::LoseAnswer {
            return Err(Status::unavailable("the answer is lost"));
        }
        Ok(Response::new(CreateMatchedSessionResponse {
            exists: !voided,
            voided,
        }))
    }

    async fn void_session(
        &self,
        request: Request<VoidSessionRequest>,
    ) -> Result<Response<VoidSessionResponse>, Status> {
        let request = request.into_inner();
        let voided = self.create(request.session_id, request.creation.unwrap_or_default(), true);
        Ok(Response::new(VoidSessionResponse { voided }))
    }
}
