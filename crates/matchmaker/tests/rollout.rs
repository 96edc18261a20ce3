//! Matchmakers replaced one by one while deadlines fire.
#![allow(clippy::unwrap_used, clippy::panic)] // Tests may.

mod common;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::service::{Service, options, reversi};
use common::whole::Games;
use tablemate_protocol::v1::internal_service_client::InternalServiceClient;
use tablemate_protocol::v1::internal_service_server::{InternalService, InternalServiceServer};
use tablemate_protocol::v1::{
    CreateMatchedSessionRequest, CreateMatchedSessionResponse, CreateSessionRequest, FireDueRequest,
    FireDueResponse, SessionSettings, VoidSessionRequest, VoidSessionResponse,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

/// Passes everything on to the game service and notes how late deadlines were.
#[derive(Clone)]
struct Listening {
    games: InternalServiceClient<Channel>,
    late: Arc<Mutex<Vec<u32>>>,
}

#[tonic::async_trait]
impl InternalService for Listening {
    async fn fire_due(&self, request: Request<FireDueRequest>) -> Result<Response<FireDueResponse>, Status> {
        let answer = self.games.clone().fire_due(request.into_inner()).await?;
        self.late.lock().unwrap().extend(&answer.get_ref().lateness_ms);
        Ok(answer)
    }

    async fn create_matched_session(
        &self,
        _: Request<CreateMatchedSessionRequest>,
    ) -> Result<Response<CreateMatchedSessionResponse>, Status> {
        Err(Status::unimplemented("no match here"))
    }

    async fn void_session(
        &self,
        _: Request<VoidSessionRequest>,
    ) -> Result<Response<VoidSessionResponse>, Status> {
        Err(Status::unimplemented("no match here"))
    }
}

impl Listening {
    async fn serve(self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(InternalServiceServer::new(self))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        address
    }
}

/// A worker's shards are looked after by the others before it stops. If it only stopped, its deadlines would wait until
/// anybody may take them, 250 ms, up to the others' next heartbeat: here as long as 2 s each time, for half of all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_fire_in_time_while_matchmakers_are_replaced_one_by_one() {
    const SESSIONS: usize = 60;
    const IN_TIME_MS: u32 = 200;
    let stores = common::stores();
    let games = Games::start(stores.clone()).await;
    let late = Arc::new(Mutex::new(Vec::new()));
    let listening = Listening {
        games: games.internals.clone(),
        late: late.clone(),
    };
    let mut options = options(&[listening.serve().await]);
    options.loops.heartbeat = Duration::from_secs(2);
    let start = || Service::start(stores.clone(), options.clone());
    let mut running = vec![start().await, start().await];

    for number in 0..SESSIONS {
        let settings = SessionSettings {
            move_time: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
            animation: Some(prost_types::Duration { seconds: 0, nanos: 0 }),
            ..reversi()
        };
        let request = CreateSessionRequest {
            request_id: "create".into(),
            seat_1_player_id: format!("one-{number}"),
            seat_2_player_id: format!("two-{number}"),
            seat_1_ready: true,
            seat_2_ready: true,
            settings: Some(settings),
        };
        games.sessions.clone().create_session(request).await.unwrap();
    }
    // Both know each other, so that each has half of the shards.
    tokio::time::sleep(options.loops.heartbeat).await;
    late.lock().unwrap().clear();
    for _ in 0..2 {
        running.push(start().await);
        running.remove(0).stop().await;
        // What the one that left behind would show up now.
        tokio::time::sleep(options.loops.heartbeat).await;
    }
    let mut late = std::mem::take(&mut *late.lock().unwrap());
    late.sort_unstable();
    let overdue = late.iter().filter(|late| **late > IN_TIME_MS).count();
    println!(
        "{} deadlines, {overdue} of them late, the latest by {:?} ms",
        late.len(),
        late.last()
    );
    assert!(late.len() > SESSIONS * 3, "{}", late.len());
    assert!(overdue * 50 < late.len(), "{overdue} of {}: {late:?}", late.len());
}
