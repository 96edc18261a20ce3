//! How late deadlines are fired with many sessions on: a game service and a matchmaker in this process, both players of
//! every session asleep, so that the server moves for them every `move time + animation`.
//!
//! ```text
//! cargo run --release -p tablemate-matchmaker --example timers -- [SESSIONS] [SECONDS] [STORE]
//! ```
//!
//! Defaults: 10000 sessions, watched for 60 s after the last one was created, on `memory:`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tablemate_game_service::{Listeners, run_on};
use tablemate_matchmaker::{Matchmaker, Options};
use tablemate_protocol::v1::internal_service_client::InternalServiceClient;
use tablemate_protocol::v1::internal_service_server::{InternalService, InternalServiceServer};
use tablemate_protocol::v1::{
    CreateMatchedSessionRequest, CreateMatchedSessionResponse, CreateSessionRequest, FireDueRequest,
    FireDueResponse, ReversiSettings, SessionSettings, VoidSessionRequest, VoidSessionResponse,
    session_settings,
};
use tablemate_serve::Life;
use tablemate_session::RequestId;
use tablemate_store::DeploymentWish;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

/// Over how long the creations are spread: the length of a turn, so that deadlines come evenly.
const SPREAD: Duration = Duration::from_secs(31);

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
        if let Ok(mut late) = self.late.lock() {
            late.extend(&answer.get_ref().lateness_ms);
        }
        Ok(answer)
    }

    async fn create_matched_session(
        &self,
        request: Request<CreateMatchedSessionRequest>,
    ) -> Result<Response<CreateMatchedSessionResponse>, Status> {
        self.games
            .clone()
            .create_matched_session(request.into_inner())
            .await
    }

    async fn void_session(
        &self,
        request: Request<VoidSessionRequest>,
    ) -> Result<Response<VoidSessionResponse>, Status> {
        self.games.clone().void_session(request.into_inner()).await
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let count: u32 = args
        .next()
        .map_or(Ok(10_000), |text| text.parse())
        .context("SESSIONS")?;
    let seconds: u64 = args
        .next()
        .map_or(Ok(60), |text| text.parse())
        .context("SECONDS")?;
    let url = args.next().unwrap_or_else(|| "memory:".into());
    let stores = tablemate_store::connect(&url, DeploymentWish::default()).await?;

    let public = TcpListener::bind("127.0.0.1:0").await?;
    let internal = TcpListener::bind("127.0.0.1:0").await?;
    let games_url = format!("http://{}", internal.local_addr()?);
    let listeners = Listeners {
        public,
        internal: Some(internal),
    };
    let options = tablemate_game_service::Options::default();
    tokio::spawn(run_on(
        stores.clone(),
        options,
        Life::ageless(Duration::ZERO),
        listeners,
        std::future::pending(),
    ));
    let games = InternalServiceClient::connect(games_url).await?;

    let late = Arc::new(Mutex::new(Vec::new()));
    let listening = Listening {
        games: games.clone(),
        late: late.clone(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let options = Options {
        game_services: vec![format!("http://{}", listener.local_addr()?).parse()?],
        ..Options::default()
    };
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(InternalServiceServer::new(listening))
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    let matchmaker = Matchmaker::new(options, stores.clone());
    tokio::spawn(matchmaker.loops());

    let started = Instant::now();
    for number in 0..count {
        let name = format!("session {number}");
        let id = stores
            .sessions
            .deployment()
            .session_id(&name, &RequestId::new("timers")?);
        let request = CreateMatchedSessionRequest {
            session_id: id.to_string(),
            creation: Some(CreateSessionRequest {
                seat_1_player_id: format!("one {number}"),
                seat_2_player_id: format!("two {number}"),
                seat_1_ready: true,
                seat_2_ready: true,
                settings: Some(SessionSettings {
                    game: Some(session_settings::Game::Reversi(ReversiSettings::default())),
                    ..SessionSettings::default()
                }),
                ..CreateSessionRequest::default()
            }),
            previous_session_id: String::new(),
        };
        games.clone().create_matched_session(request).await?;
        let due = SPREAD.mul_f64(f64::from(number) / f64::from(count.max(1)));
        tokio::time::sleep(due.saturating_sub(started.elapsed())).await;
    }
    println!(
        "{count} sessions created in {:.1} s on {url}",
        started.elapsed().as_secs_f64()
    );
    if let Ok(mut late) = late.lock() {
        late.clear();
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let mut late = late
        .lock()
        .map(|mut late| std::mem::take(&mut *late))
        .unwrap_or_default();
    late.sort_unstable();
    let at = |share: f64| {
        let index = (late.len() as f64 * share) as usize;
        late.get(index.min(late.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    };
    println!(
        "{} deadlines in {seconds} s ({:.0} a second), noticed late by ms: p50 {} p90 {} p99 {} p99.9 {} max {}",
        late.len(),
        late.len() as f64 / seconds.max(1) as f64,
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        late.last().copied().unwrap_or_default(),
    );
    println!(
        "expected about {:.0}",
        f64::from(count) * seconds as f64 / SPREAD.as_secs_f64()
    );
    matchmaker.stop();
    Ok(())
}
