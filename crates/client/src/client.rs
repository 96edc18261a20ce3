//! The client and its calls.

use std::sync::Arc;

use tonic::{Status, Streaming};

use crate::call::{call, is_unreachable};
use crate::pool::{Lease, Pool, result_stub};
use crate::request_id::request_id;
use crate::results::Results;
use crate::ticket_watch::TicketWatch;
use crate::v1::matchmaking_service_client::MatchmakingServiceClient;
use crate::v1::session_service_client::SessionServiceClient;
use crate::watch::{Watch, WatchFrom};
use crate::{Config, Error, v1};

/// A client of a deployment: cheap to clone, safe to share.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    game: Arc<Pool>,
    matchmaking: Arc<Pool>,
    config: Config,
}

impl Client {
    /// A client of services that serve everything at the same addresses (`host:port` or `http://host:port`), such as
    /// `tablemate dev`. Connections are made when they are needed.
    ///
    /// # Errors
    ///
    /// No address, or one that cannot be read.
    pub fn connect<A: Into<String>>(addresses: impl IntoIterator<Item = A>) -> Result<Client, Error> {
        let addresses: Vec<String> = addresses.into_iter().map(Into::into).collect();
        Client::with_config(&addresses, &[], Config::default())
    }

    /// A client of game services and matchmakers at addresses of their own; no matchmakers given: the game services'
    /// addresses serve matchmaking too.
    ///
    /// # Errors
    ///
    /// No address of a game service, or an address that cannot be read.
    pub fn with_config(game: &[String], matchmaking: &[String], config: Config) -> Result<Client, Error> {
        let game = Arc::new(Pool::new(game, &config)?);
        let matchmaking = if matchmaking.is_empty() {
            game.clone()
        } else {
            Arc::new(Pool::new(matchmaking, &config)?)
        };
        Ok(Client {
            inner: Arc::new(Inner {
                game,
                matchmaking,
                config,
            }),
        })
    }

    /// Watches a session: its events in order, each once, resumed on any replica (S-22). An empty `viewer_id` is a
    /// spectator.
    #[must_use]
    pub fn watch(
        &self,
        session_id: impl Into<String>,
        viewer_id: impl Into<String>,
        from: WatchFrom,
    ) -> Watch {
        Watch::new(self.clone(), session_id.into(), viewer_id.into(), from)
    }

    /// Watches a ticket until it is matched, cancelled or expired.
    #[must_use]
    pub fn watch_ticket(&self, ticket_id: impl Into<String>, player_id: impl Into<String>) -> TicketWatch {
        TicketWatch::new(self.clone(), ticket_id.into(), player_id.into())
    }

    /// Reads results after a cursor (empty: the oldest kept), at least once, in order per session (S-21). With `follow`
    /// it waits for more at the end.
    #[must_use]
    pub fn results(&self, cursor: impl Into<String>, follow: bool) -> Results {
        Results::new(self.clone(), cursor.into(), follow)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    pub(crate) async fn open_watch(
        self,
        turn: usize,
        request: v1::WatchSessionRequest,
    ) -> Result<(Streaming<v1::WatchSessionResponse>, Lease), Status> {
        let (address, channel, lease) = self.inner.game.stream(turn).ok_or_else(no_address)?;
        let opened = SessionServiceClient::new(channel).watch_session(request).await;
        match opened {
            Ok(answer) => Ok((answer.into_inner(), lease)),
            Err(status) => {
                if is_unreachable(&status) {
                    self.inner.game.mark_down(&address);
                }
                Err(status)
            }
        }
    }

    pub(crate) async fn open_results(
        self,
        turn: usize,
        request: v1::StreamResultsRequest,
    ) -> Result<(Streaming<v1::StreamResultsResponse>, Lease), Status> {
        let (address, channel, lease) = self.inner.game.stream(turn).ok_or_else(no_address)?;
        match result_stub(channel).stream_results(request).await {
            Ok(answer) => Ok((answer.into_inner(), lease)),
            Err(status) => {
                if is_unreachable(&status) {
                    self.inner.game.mark_down(&address);
                }
                Err(status)
            }
        }
    }

    pub(crate) async fn open_ticket(
        self,
        turn: usize,
        request: v1::WatchTicketRequest,
    ) -> Result<(Streaming<v1::WatchTicketResponse>, Lease), Status> {
        let (address, channel, lease) = self.inner.matchmaking.stream(turn).ok_or_else(no_address)?;
        match MatchmakingServiceClient::new(channel).watch_ticket(request).await {
            Ok(answer) => Ok((answer.into_inner(), lease)),
            Err(status) => {
                if is_unreachable(&status) {
                    self.inner.matchmaking.mark_down(&address);
                }
                Err(status)
            }
        }
    }

    /// Where a stream begins its round over the replicas.
    pub(crate) fn turn(&self) -> usize {
        self.inner.game.turn()
    }
}

fn no_address() -> Status {
    Status::internal("no address")
}

/// Calls that change something: an empty request id is drawn here, once for all attempts (S-25).
macro_rules! commands {
    ($pool:ident, $stub:ident: $($(#[$doc:meta])* $name:ident($request:ident) -> $response:ident;)*) => {
        impl Client {
            $(
                $(#[$doc])*
                ///
                /// An empty request id is replaced by a drawn one, which is kept over all attempts.
                ///
                /// # Errors
                ///
                /// The refusal, or that nobody answered within the budget.
                pub async fn $name(&self, mut request: v1::$request) -> Result<v1::$response, Error> {
                    if request.request_id.is_empty() {
                        request.request_id = request_id();
                    }
                    call(&self.inner.$pool, &self.inner.config, stringify!($name), request, |slot, request| {
                        let mut stub = slot.$stub.clone();
                        async move { stub.$name(request).await }
                    })
                    .await
                }
            )*
        }
    };
}

/// Calls that change nothing.
macro_rules! queries {
    ($pool:ident, $stub:ident: $($(#[$doc:meta])* $name:ident($request:ident) -> $response:ident;)*) => {
        impl Client {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// The refusal, or that nobody answered within the budget.
                pub async fn $name(&self, request: v1::$request) -> Result<v1::$response, Error> {
                    call(&self.inner.$pool, &self.inner.config, stringify!($name), request, |slot, request| {
                        let mut stub = slot.$stub.clone();
                        async move { stub.$name(request).await }
                    })
                    .await
                }
            )*
        }
    };
}

commands! { game, session:
    /// Creates a session.
    create_session(CreateSessionRequest) -> CreateSessionResponse;
    /// Takes the open seat 2 by invitation token (S-27).
    join_session(JoinSessionRequest) -> JoinSessionResponse;
    /// Gets a player ready or takes that back (S-1 to S-3).
    set_ready(SetReadyRequest) -> SetReadyResponse;
    /// Makes a move.
    play(PlayRequest) -> PlayResponse;
    /// Gives the game up (S-13).
    resign(ResignRequest) -> ResignResponse;
    /// Offers an exit, a draw or a rematch (S-14, S-15, S-5).
    make_offer(MakeOfferRequest) -> MakeOfferResponse;
    /// Accepts or declines the other's offer (S-14).
    answer_offer(AnswerOfferRequest) -> AnswerOfferResponse;
    /// Takes an own offer back (S-14).
    withdraw_offer(WithdrawOfferRequest) -> WithdrawOfferResponse;
    /// Leaves for good (S-16).
    leave_session(LeaveSessionRequest) -> LeaveSessionResponse;
}

commands! { matchmaking, matchmaking:
    /// Asks for a game.
    create_ticket(CreateTicketRequest) -> CreateTicketResponse;
    /// Stops searching.
    cancel_ticket(CancelTicketRequest) -> CancelTicketResponse;
}

queries! { game, session:
    /// The session as the viewer may see it.
    get_session(GetSessionRequest) -> GetSessionResponse;
    /// Sessions that anyone may watch, page by page.
    list_sessions(ListSessionsRequest) -> ListSessionsResponse;
    /// The legal moves of the player to act.
    list_legal_moves(ListLegalMovesRequest) -> ListLegalMovesResponse;
    /// The transcript of a game.
    export_game(ExportGameRequest) -> ExportGameResponse;
}

queries! { matchmaking, matchmaking:
    /// The ticket as it stands.
    get_ticket(GetTicketRequest) -> GetTicketResponse;
}

queries! { game, player:
    /// A player's record in one kind of game.
    get_player(GetPlayerRequest) -> GetPlayerResponse;
    /// A player's settled games, newest first.
    list_games(ListGamesRequest) -> ListGamesResponse;
}
