//! A tiny game service whose answers a test scripts.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tablemate_client::v1::session_service_server::{SessionService, SessionServiceServer};
use tablemate_client::v1::watch_session_response::Message;
use tablemate_client::v1::{self, WatchSessionResponse};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status};

/// What a scripted replica does with the next call of Play.
#[derive(Clone, Debug)]
pub enum OnPlay {
    Accept,
    Refuse(Status),
    Hang,
}

/// What a scripted replica sends to the next watcher.
#[derive(Clone, Debug)]
pub enum Send {
    Message(Box<WatchSessionResponse>),
    Error(Status),
    /// Keep the stream open without a word.
    Hang,
}

/// What the replicas of a test share: the scripts, and what they were asked.
#[derive(Debug, Default)]
pub struct Script {
    pub plays: Mutex<VecDeque<OnPlay>>,
    pub watches: Mutex<VecDeque<Vec<Send>>>,
    /// The replica's number and the request, of each Play.
    pub played: Mutex<Vec<(usize, v1::PlayRequest)>>,
    /// The replica's number and the request, of each WatchSession.
    pub watched: Mutex<Vec<(usize, v1::WatchSessionRequest)>>,
}

struct Replica {
    number: usize,
    script: Arc<Script>,
}

/// Starts so many replicas with one script; they end with the test's runtime.
pub async fn start(script: &Arc<Script>, replicas: usize) -> Vec<String> {
    start_limited(script, replicas, None).await
}

/// The same with a limit of streams on each connection.
pub async fn start_limited(script: &Arc<Script>, replicas: usize, limit: Option<u32>) -> Vec<String> {
    let mut addresses = Vec::new();
    for number in 0..replicas {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap().to_string());
        let replica = Replica {
            number,
            script: script.clone(),
        };
        tokio::spawn(
            tonic::transport::Server::builder()
                .max_concurrent_streams(limit)
                .add_service(SessionServiceServer::new(replica))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
    }
    addresses
}

/// An address at which nobody listens.
pub async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// An address that takes connections and drops them when the first bytes have come.
pub async fn dropper() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.readable().await;
        }
    });
    address
}

pub fn cursor(sequence: u64) -> String {
    format!("c{sequence}")
}

pub fn event(sequence: u64) -> Send {
    let event = v1::Event {
        sequence,
        cursor: cursor(sequence),
        ..Default::default()
    };
    message(cursor(sequence), Message::Event(event))
}

pub fn snapshot(sequence: u64) -> Send {
    message(cursor(sequence), Message::Snapshot(session(sequence)))
}

pub fn resynchronise(sequence: u64) -> Send {
    message(cursor(sequence), Message::Resynchronise(session(sequence)))
}

pub fn end(reason: v1::WatchEndReason) -> Send {
    let end = v1::WatchEnd {
        reason: reason.into(),
    };
    message(String::new(), Message::End(end))
}

fn session(sequence: u64) -> v1::Session {
    v1::Session {
        sequence,
        cursor: cursor(sequence),
        ..Default::default()
    }
}

fn message(cursor: String, message: Message) -> Send {
    Send::Message(Box::new(WatchSessionResponse {
        server_now: None,
        cursor,
        message: Some(message),
    }))
}

macro_rules! not_here {
    ($($name:ident($request:ident) -> $response:ident;)*) => {
        #[tonic::async_trait]
        impl SessionService for Replica {
            type WatchSessionStream = ReceiverStream<Result<WatchSessionResponse, Status>>;

            $(async fn $name(&self, _: Request<v1::$request>) -> Result<Response<v1::$response>, Status> {
                Err(Status::unimplemented("not in this test"))
            })*

            async fn play(&self, request: Request<v1::PlayRequest>) -> Result<Response<v1::PlayResponse>, Status> {
                self.script.played.lock().unwrap().push((self.number, request.into_inner()));
                let step = self.script.plays.lock().unwrap().pop_front();
                match step.unwrap_or(OnPlay::Accept) {
                    OnPlay::Accept => Ok(Response::new(v1::PlayResponse::default())),
                    OnPlay::Refuse(status) => Err(status),
                    OnPlay::Hang => std::future::pending().await,
                }
            }

            async fn watch_session(
                &self,
                request: Request<v1::WatchSessionRequest>,
            ) -> Result<Response<Self::WatchSessionStream>, Status> {
                self.script.watched.lock().unwrap().push((self.number, request.into_inner()));
                let steps = self.script.watches.lock().unwrap().pop_front();
                let steps = steps.ok_or_else(|| Status::not_found("the script is at its end"))?;
                let (sender, receiver) = mpsc::channel(4);
                tokio::spawn(async move {
                    for step in steps {
                        let sent = match step {
                            Send::Message(message) => sender.send(Ok(*message)).await,
                            Send::Error(status) => sender.send(Err(status)).await,
                            Send::Hang => return sender.closed().await,
                        };
                        if sent.is_err() {
                            return;
                        }
                    }
                });
                Ok(Response::new(ReceiverStream::new(receiver)))
            }
        }
    };
}

not_here! {
    create_session(CreateSessionRequest) -> CreateSessionResponse;
    join_session(JoinSessionRequest) -> JoinSessionResponse;
    get_session(GetSessionRequest) -> GetSessionResponse;
    list_sessions(ListSessionsRequest) -> ListSessionsResponse;
    set_ready(SetReadyRequest) -> SetReadyResponse;
    resign(ResignRequest) -> ResignResponse;
    make_offer(MakeOfferRequest) -> MakeOfferResponse;
    answer_offer(AnswerOfferRequest) -> AnswerOfferResponse;
    withdraw_offer(WithdrawOfferRequest) -> WithdrawOfferResponse;
    leave_session(LeaveSessionRequest) -> LeaveSessionResponse;
    list_legal_moves(ListLegalMovesRequest) -> ListLegalMovesResponse;
    export_game(ExportGameRequest) -> ExportGameResponse;
}
