//! A service of one or two hops to make traces with.
#![allow(dead_code, reason = "every test file takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tablemate_telemetry::{client_trace_layer, server_trace_layer};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tower::ServiceBuilder;

/// The service all hops speak; the collector's own, so that the tests need no proto of theirs.
pub const METHOD: &str = "opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// A hop answers by itself, or passes the call on to the next one.
pub struct Hop {
    pub next: Option<SocketAddr>,
    pub answer: Result<(), Status>,
    /// The `traceparent` it was sent.
    pub traceparent: Arc<Mutex<Option<String>>>,
}

impl Hop {
    pub fn last(answer: Result<(), Status>) -> Self {
        Self {
            next: None,
            answer,
            traceparent: Arc::default(),
        }
    }

    pub fn to(next: SocketAddr) -> Self {
        Self {
            next: Some(next),
            answer: Ok(()),
            traceparent: Arc::default(),
        }
    }

    /// Serves on a free port with the layer under test until the runtime ends.
    pub async fn start(self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::builder()
            .layer(server_trace_layer())
            .add_service(TraceServiceServer::new(self))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(server);
        address
    }
}

#[tonic::async_trait]
impl TraceService for Hop {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let sent = request
            .metadata()
            .get("traceparent")
            .map(|value| value.to_str().unwrap().to_owned());
        *self.traceparent.lock().unwrap() = sent;
        self.answer.clone()?;
        if let Some(next) = self.next {
            return call(next).await.map(Response::new);
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Calls a hop through the layer under test.
pub async fn call(address: SocketAddr) -> Result<ExportTraceServiceResponse, Status> {
    let channel: Channel = Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap();
    let traced = ServiceBuilder::new().layer(client_trace_layer()).service(channel);
    let answer = TraceServiceClient::new(traced)
        .export(ExportTraceServiceRequest::default())
        .await;
    answer.map(Response::into_inner)
}
