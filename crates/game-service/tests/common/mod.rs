//! A real service on the embedded store and a free port, and what tests of it need.
#![allow(dead_code, reason = "each test uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tablemate_game_service::{Listeners, Options, RunError, run_on};
use tablemate_protocol::convert::Reason;
use tablemate_protocol::v1::internal_service_client::InternalServiceClient;
use tablemate_protocol::v1::player_service_client::PlayerServiceClient;
use tablemate_protocol::v1::result_service_client::ResultServiceClient;
use tablemate_protocol::v1::session_service_client::SessionServiceClient;
use tablemate_protocol::v1::{self};
use tablemate_serve::Life;
use tablemate_store::testing::RedisServer;
use tablemate_store::{DeploymentWish, EmbeddedStore, Stores};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// The store of a test: in the process, or with `TABLEMATE_TEST_STORE=redis` a Redis of the test's own.
#[derive(Clone)]
pub struct Backend {
    pub stores: Stores,
    redis: Option<Arc<RedisServer>>,
}

impl Backend {
    pub async fn new() -> Self {
        // Few shards, so that walks over all of them are short.
        let wish = DeploymentWish {
            shards: Some(4),
            ..DeploymentWish::default()
        };
        if std::env::var("TABLEMATE_TEST_STORE").is_ok_and(|store| store == "redis") {
            let redis = RedisServer::start();
            let stores = tablemate_store::connect(&redis.url(), wish).await.unwrap();
            Self {
                stores,
                redis: Some(Arc::new(redis)),
            }
        } else {
            EmbeddedStore::open(wish).unwrap().into()
        }
    }
}

impl From<EmbeddedStore> for Backend {
    fn from(store: EmbeddedStore) -> Self {
        Self {
            stores: store.into(),
            redis: None,
        }
    }
}

pub struct Service {
    pub backend: Backend,
    pub address: SocketAddr,
    pub public: Channel,
    pub internal: Channel,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<Result<(), RunError>>,
}

impl Service {
    pub async fn start() -> Self {
        Self::start_on(Backend::new().await).await
    }

    /// One more replica on a store that others may use too.
    pub async fn start_on(backend: Backend) -> Self {
        let options = Options {
            heartbeat: Duration::from_millis(200),
            ..Options::default()
        };
        Self::start_with(backend, options).await
    }

    pub async fn start_with(backend: Backend, options: Options) -> Self {
        Self::start_for(backend, options, Life::ageless(Duration::from_secs(5))).await
    }

    pub async fn start_for(backend: Backend, options: Options, life: Life) -> Self {
        let any = || TcpListener::bind("127.0.0.1:0");
        let (public, internal) = (any().await.unwrap(), any().await.unwrap());
        let channel = |listener: &TcpListener| {
            let address = format!("http://{}", listener.local_addr().unwrap());
            Channel::from_shared(address).unwrap().connect_lazy()
        };
        let address = public.local_addr().unwrap();
        let channels = (channel(&public), channel(&internal));
        let (stop, stopped) = oneshot::channel::<()>();
        let listeners = Listeners {
            public,
            internal: Some(internal),
        };
        let ended = tokio::spawn(run_on(
            backend.stores.clone(),
            options,
            life,
            listeners,
            async move {
                let _ = stopped.await;
            },
        ));
        Self {
            backend,
            address,
            public: channels.0,
            internal: channels.1,
            stop: Some(stop),
            ended,
        }
    }

    pub fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.public.clone())
    }

    pub fn players(&self) -> PlayerServiceClient<Channel> {
        PlayerServiceClient::new(self.public.clone())
    }

    pub fn results(&self) -> ResultServiceClient<Channel> {
        ResultServiceClient::new(self.public.clone())
    }

    pub fn internals(&self) -> InternalServiceClient<Channel> {
        InternalServiceClient::new(self.internal.clone())
    }

    /// A connection of its own whose streams hold so few bytes.
    pub async fn narrow(&self, window_bytes: u32) -> Channel {
        Channel::from_shared(format!("http://{}", self.address))
            .unwrap()
            .initial_stream_window_size(window_bytes)
            .connect()
            .await
            .unwrap()
    }

    /// Tells the service to stop.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until it has ended.
    pub async fn ended(self) -> Result<(), RunError> {
        let Self {
            backend,
            ended,
            stop,
            public,
            internal,
            ..
        } = self;
        drop((stop, public, internal));
        let ended = ended.await.unwrap();
        drop(backend);
        ended
    }

    /// A session of `one` and `two` with both ready, so that its game is on: seat 1 opens, long clocks, no guard.
    pub async fn playing(&self, one: &str, two: &str) -> String {
        self.create(creation(one, two)).await.session_id
    }

    pub async fn create(&self, request: v1::CreateSessionRequest) -> v1::CreateSessionResponse {
        self.sessions()
            .create_session(request)
            .await
            .unwrap()
            .into_inner()
    }

    pub async fn get(&self, session: &str) -> v1::Session {
        let request = v1::GetSessionRequest {
            session_id: session.into(),
            viewer_id: String::new(),
        };
        let answer = self.sessions().get_session(request).await.unwrap();
        answer.into_inner().session.unwrap()
    }

    pub async fn play(&self, session: &str, player: &str, ply: u32, mv: &str) -> Result<v1::Receipt, Status> {
        let request = v1::PlayRequest {
            request_id: format!("play-{ply}-{mv}"),
            session_id: session.into(),
            player_id: player.into(),
            expected_sequence: None,
            ply,
            r#move: mv.into(),
        };
        let answer = self.sessions().play(request).await?;
        Ok(answer.into_inner().receipt.unwrap())
    }
}

pub fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

pub fn settings() -> v1::SessionSettings {
    v1::SessionSettings {
        game: Some(v1::session_settings::Game::Reversi(v1::ReversiSettings::default())),
        opener_rule: v1::OpenerRule::AsSeated.into(),
        move_time: seconds(3_600),
        total_time: seconds(7_200),
        animation: seconds(0),
        resign_guard: seconds(0),
        ..Default::default()
    }
}

pub fn creation(one: &str, two: &str) -> v1::CreateSessionRequest {
    v1::CreateSessionRequest {
        request_id: "create".into(),
        seat_1_player_id: one.into(),
        seat_2_player_id: two.into(),
        settings: Some(settings()),
        seat_1_ready: true,
        seat_2_ready: !two.is_empty(),
    }
}

/// Checks code and reason of a refusal.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(answer: Result<T, Status>, code: Code, reason: Reason) -> Status {
    let status = answer.unwrap_err();
    assert_eq!(
        (status.code(), Reason::of(&status)),
        (code, Some(reason)),
        "{status:?}"
    );
    status
}

/// The value of a refusal's metadata.
pub fn metadata(status: &Status, key: &str) -> Option<String> {
    use tonic_types::StatusExt as _;
    status.get_details_error_info()?.metadata.get(key).cloned()
}

/// The answer of something that is waited for, within a time that only a defect exceeds.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("takes too long")
}

/// The kinds of the events of a receipt.
pub fn kinds(receipt: &v1::Receipt) -> Vec<&'static str> {
    receipt.events.iter().map(kind).collect()
}

pub fn kind(event: &v1::Event) -> &'static str {
    use v1::event::Kind;
    match event.kind.as_ref().unwrap() {
        Kind::Created(_) => "created",
        Kind::Joined(_) => "joined",
        Kind::Readied(_) => "readied",
        Kind::Unreadied(_) => "unreadied",
        Kind::Started(_) => "started",
        Kind::Moved(_) => "moved",
        Kind::Passed(_) => "passed",
        Kind::Offered(_) => "offered",
        Kind::OfferClosed(_) => "offer_closed",
        Kind::GameEnded(_) => "game_ended",
        Kind::Left(_) => "left",
        Kind::SessionEnded(_) => "session_ended",
        Kind::ClockCompensated(_) => "clock_compensated",
        Kind::AbsenceBegun(_) => "absence_begun",
        Kind::AbsenceEnded(_) => "absence_ended",
        Kind::RematchAgreed(_) => "rematch_agreed",
    }
}
