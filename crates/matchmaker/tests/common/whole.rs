//! A real game service beside the matchmaker, on each of the stores.

use std::net::SocketAddr;
use std::time::Duration;

use tablemate_game_service::{Listeners, run_on};
use tablemate_protocol::v1::internal_service_client::InternalServiceClient;
use tablemate_protocol::v1::player_service_client::PlayerServiceClient;
use tablemate_protocol::v1::session_service_client::SessionServiceClient;
use tablemate_protocol::v1::{
    GameKind, GetPlayerRequest, GetSessionRequest, LeaveSessionRequest, ListGamesRequest, Player, PlayerGame,
    ResignRequest, Session,
};
use tablemate_serve::Life;
use tablemate_session::SessionId;
use tablemate_store::testing::RedisServer;
use tablemate_store::{Cursor, DeploymentWish, Read, RedisStore, Stores};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::Channel;

/// Runs a scenario on the embedded store, then on a Redis of its own.
pub async fn on_each_store(scenario: impl AsyncFn(Stores)) {
    scenario(super::stores()).await;
    let redis = RedisServer::start();
    let store = RedisStore::open(&redis.url(), DeploymentWish::default())
        .await
        .unwrap();
    scenario(store.into()).await;
}

/// A running game service; stopped when dropped.
pub struct Games {
    /// Where InternalService is.
    pub internal: SocketAddr,
    pub sessions: SessionServiceClient<Channel>,
    pub players: PlayerServiceClient<Channel>,
    pub internals: InternalServiceClient<Channel>,
    _stop: DropGuard,
}

impl Games {
    pub async fn start(stores: Stores) -> Self {
        let public = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let internal = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let public_url = format!("http://{}", public.local_addr().unwrap());
        let internal_address = internal.local_addr().unwrap();
        let token = CancellationToken::new();
        let listeners = Listeners {
            public,
            internal: Some(internal),
        };
        let options = tablemate_game_service::Options::default();
        let stop = token.clone().cancelled_owned();
        tokio::spawn(run_on(
            stores,
            options,
            Life::ageless(Duration::ZERO),
            listeners,
            stop,
        ));
        let channel = Channel::from_shared(public_url).unwrap().connect().await.unwrap();
        let internal_url = format!("http://{internal_address}");
        Self {
            internal: internal_address,
            sessions: SessionServiceClient::new(channel.clone()),
            players: PlayerServiceClient::new(channel),
            internals: InternalServiceClient::connect(internal_url).await.unwrap(),
            _stop: token.drop_guard(),
        }
    }

    pub async fn session(&self, id: &str) -> Session {
        let request = GetSessionRequest {
            session_id: id.into(),
            viewer_id: String::new(),
        };
        let answer = self.sessions.clone().get_session(request).await.unwrap();
        answer.into_inner().session.unwrap()
    }

    pub async fn leave(&self, session: &str, player: &str) {
        let request = LeaveSessionRequest {
            request_id: "leave".into(),
            session_id: session.into(),
            player_id: player.into(),
            expected_sequence: None,
        };
        self.sessions.clone().leave_session(request).await.unwrap();
    }

    pub async fn resign(&self, session: &str, player: &str) {
        let request = ResignRequest {
            request_id: "resign".into(),
            session_id: session.into(),
            player_id: player.into(),
            expected_sequence: None,
        };
        self.sessions.clone().resign(request).await.unwrap();
    }

    pub async fn player(&self, name: &str) -> Player {
        let request = GetPlayerRequest {
            player_id: name.into(),
            game_kind: GameKind::Reversi.into(),
        };
        let answer = self.players.clone().get_player(request).await.unwrap();
        answer.into_inner().player.unwrap()
    }

    pub async fn games_of(&self, name: &str) -> Vec<PlayerGame> {
        let request = ListGamesRequest {
            player_id: name.into(),
            game_kind: GameKind::Reversi.into(),
            page_size: 100,
            page_token: String::new(),
        };
        let answer = self.players.clone().list_games(request).await.unwrap();
        answer.into_inner().games
    }
}

/// How many facts a session's log has: read from the store, so that nothing is fired by looking.
pub async fn facts(stores: &Stores, session: &str) -> usize {
    let id: SessionId = session.parse().unwrap();
    match stores.sessions.read(id, Cursor::START, 0).await.unwrap() {
        Read::Found(tail) => tail.entries.len(),
        Read::Missing { .. } | Read::Diverged => 0,
    }
}
