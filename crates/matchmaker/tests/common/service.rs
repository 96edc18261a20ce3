//! A matchmaker on a free port.

use std::net::SocketAddr;

use tablemate_matchmaker::{Config, LoopConfig, Options, run_on};
use tablemate_protocol::v1::matchmaking_service_client::MatchmakingServiceClient;
use tablemate_protocol::v1::{
    CancelTicketRequest, CreateTicketRequest, GetTicketRequest, ReversiSettings, SessionSettings, Ticket,
    WatchTicketRequest, WatchTicketResponse, session_settings,
};
use tablemate_session::Millis;
use tablemate_store::Stores;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::Channel;
use tonic::{Status, Streaming};

/// A running matchmaker; stopped when dropped.
pub struct Service {
    pub address: SocketAddr,
    client: MatchmakingServiceClient<Channel>,
    stop: Option<DropGuard>,
    running: JoinHandle<Result<(), tablemate_matchmaker::RunError>>,
}

/// Options for tests: loops that look often, the game services at these addresses.
pub fn options(games: &[SocketAddr]) -> Options {
    Options {
        game_services: games
            .iter()
            .map(|address| format!("http://{address}").parse().unwrap())
            .collect(),
        loops: LoopConfig {
            hall_poll: std::time::Duration::from_millis(20),
            match_age: Millis(50),
            ..LoopConfig::default()
        },
        ..Options::default()
    }
}

impl Service {
    pub async fn start(stores: Stores, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let token = CancellationToken::new();
        let config = Config {
            options,
            ..Config::default()
        };
        let running = tokio::spawn(run_on(config, stores, listener, token.clone().cancelled_owned()));
        let client = MatchmakingServiceClient::connect(format!("http://{address}"))
            .await
            .unwrap();
        Self {
            address,
            client,
            stop: Some(token.drop_guard()),
            running,
        }
    }

    /// The service alone, without worker loops.
    pub async fn start_without_loops(stores: Stores, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let token = CancellationToken::new();
        let service = tablemate_matchmaker::Matchmaker::new(options, stores).service();
        let stop = token.clone().cancelled_owned();
        let running = tokio::spawn(async move {
            let server = tonic::transport::Server::builder().add_service(service);
            let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
            server.serve_with_incoming_shutdown(incoming, stop).await.unwrap();
            Ok(())
        });
        let client = MatchmakingServiceClient::connect(format!("http://{address}"))
            .await
            .unwrap();
        Self {
            address,
            client,
            stop: Some(token.drop_guard()),
            running,
        }
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(mut self) {
        self.stop = None;
        self.running.await.unwrap().unwrap();
    }

    pub async fn create(&self, request: CreateTicketRequest) -> Result<Ticket, Status> {
        let answer = self.client.clone().create_ticket(request).await?;
        // Who waits longer sits on seat 1. Instants are whole milliseconds: the next ticket has to be of a later one.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        Ok(answer.into_inner().ticket.unwrap())
    }

    pub async fn get(&self, ticket: &Ticket) -> Result<Ticket, Status> {
        let request = GetTicketRequest {
            ticket_id: ticket.ticket_id.clone(),
            player_id: ticket.player_id.clone(),
        };
        let answer = self.client.clone().get_ticket(request).await?;
        Ok(answer.into_inner().ticket.unwrap())
    }

    pub async fn cancel(&self, ticket: &Ticket) -> Result<Ticket, Status> {
        let request = CancelTicketRequest {
            request_id: "cancel".into(),
            ticket_id: ticket.ticket_id.clone(),
            player_id: ticket.player_id.clone(),
        };
        let answer = self.client.clone().cancel_ticket(request).await?;
        Ok(answer.into_inner().ticket.unwrap())
    }

    pub async fn watch(&self, ticket: &Ticket) -> Result<Streaming<WatchTicketResponse>, Status> {
        let request = WatchTicketRequest {
            ticket_id: ticket.ticket_id.clone(),
            player_id: ticket.player_id.clone(),
        };
        Ok(self.client.clone().watch_ticket(request).await?.into_inner())
    }
}

/// A request for a game of Reversi with the default settings.
pub fn asks(player: &str, request: &str) -> CreateTicketRequest {
    CreateTicketRequest {
        request_id: request.into(),
        player_id: player.into(),
        settings: Some(reversi()),
        ready: false,
    }
}

/// The same, ready at once.
pub fn asks_ready(player: &str, request: &str) -> CreateTicketRequest {
    CreateTicketRequest {
        ready: true,
        ..asks(player, request)
    }
}

pub fn reversi() -> SessionSettings {
    SessionSettings {
        game: Some(session_settings::Game::Reversi(ReversiSettings::default())),
        ..SessionSettings::default()
    }
}
