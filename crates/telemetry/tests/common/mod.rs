//! A collector that keeps what it is sent, and a service of two hops to make traces with.
#![allow(dead_code, reason = "every test file takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use tablemate_telemetry::{client_trace_layer, server_trace_layer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tower::ServiceBuilder;

/// The service all hops speak; the collector's own, so that the tests need no proto of theirs.
pub const METHOD: &str = "opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// What a collector was sent.
#[derive(Debug, Clone, Default)]
pub struct Received {
    spans: Arc<Mutex<Vec<Span>>>,
    metrics: Arc<Mutex<Vec<Metric>>>,
}

impl Received {
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }

    pub fn metrics(&self) -> Vec<Metric> {
        self.metrics.lock().unwrap().clone()
    }
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans;
        let spans = resources
            .into_iter()
            .flat_map(|one| one.scope_spans)
            .flat_map(|one| one.spans);
        self.spans.lock().unwrap().extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Received {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let resources = request.into_inner().resource_metrics;
        let metrics = resources
            .into_iter()
            .flat_map(|one| one.scope_metrics)
            .flat_map(|one| one.metrics);
        self.metrics.lock().unwrap().extend(metrics);
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// A collector on a thread and a runtime of its own, as it would be in another process.
pub struct Collector {
    pub received: Received,
    pub endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    pub fn start() -> Self {
        let received = Received::default();
        let (told, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let serving = received.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                told.send(listener.local_addr().unwrap()).unwrap();
                Server::builder()
                    .add_service(TraceServiceServer::new(serving.clone()))
                    .add_service(MetricsServiceServer::new(serving))
                    .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
                        let _ = stopped.await;
                    })
                    .await
                    .unwrap();
            });
        });
        let address: SocketAddr = address.recv().unwrap();
        let endpoint = format!("http://{address}");
        Self {
            received,
            endpoint,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A test that failed may have left a connection open: do not wait for it.
        if !std::thread::panicking() {
            self.thread.take().unwrap().join().unwrap();
        }
    }
}

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

/// The text of a span's attribute.
pub fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        other => Some(format!("{other:?}")),
    }
}
