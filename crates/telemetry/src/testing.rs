//! For tests: a collector that keeps what it is sent.
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
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

pub use opentelemetry_proto::tonic::metrics::v1::Metric;
pub use opentelemetry_proto::tonic::trace::v1::Span;

/// What a collector was sent.
#[derive(Debug, Clone, Default)]
pub struct Received {
    spans: Arc<Mutex<Vec<(String, Span)>>>,
    metrics: Arc<Mutex<Vec<Metric>>>,
}

impl Received {
    /// All spans so far.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.spans_by_service()
            .into_iter()
            .map(|(_, span)| span)
            .collect()
    }

    /// All spans so far, each with the name of the service that sent it.
    #[must_use]
    pub fn spans_by_service(&self) -> Vec<(String, Span)> {
        self.spans.lock().unwrap().clone()
    }

    /// All metrics so far; one that was exported again is there again.
    #[must_use]
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
        let mut received = self.spans.lock().unwrap();
        for one in request.into_inner().resource_spans {
            let attributes = one.resource.unwrap_or_default().attributes;
            let service = text_of(&attributes, "service.name").unwrap_or_default();
            let spans = one.scope_spans.into_iter().flat_map(|scope| scope.spans);
            received.extend(spans.map(|span| (service.clone(), span)));
        }
        drop(received);
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
#[derive(Debug)]
pub struct Collector {
    /// What it was sent.
    pub received: Received,
    /// Where it listens: `http://127.0.0.1:…`.
    pub endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// Starts on a free port of the loopback interface.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
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
                let server = Server::builder()
                    .add_service(TraceServiceServer::new(serving.clone()))
                    .add_service(MetricsServiceServer::new(serving))
                    .serve_with_incoming(TcpListenerStream::new(listener));
                // Ended at once: exporters keep their connections open.
                tokio::select! {
                    served = server => served.unwrap(),
                    _ = stopped => {}
                }
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
        if let Some(thread) = self.thread.take() {
            // What went wrong in there the test has seen by what did not arrive.
            let _ = thread.join();
        }
    }
}

/// The text of a span's attribute.
#[must_use]
pub fn attribute(span: &Span, key: &str) -> Option<String> {
    text_of(&span.attributes, key)
}

fn text_of(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        other => Some(format!("{other:?}")),
    }
}
