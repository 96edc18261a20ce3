//! The layer of a server.

use std::task::{Context, Poll};

use http::{Request, Response};
use tower::{Layer, Service};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::TracedBody;
use super::call::{Call, RpcMetrics, Side, TracedCall, call_span};
use crate::context;

/// Probes come every few seconds and say nothing about a game: they have metrics, but no spans.
const PROBES: &str = "/grpc.health.";

/// A layer that makes a span for every call a server receives, as part of its caller's trace, and records how the call
/// ended; with metrics when an endpoint is configured. Put it outermost, and make it after [`init`](crate::init).
#[must_use]
pub fn server_trace_layer() -> ServerTraceLayer {
    ServerTraceLayer {
        metrics: RpcMetrics::new(Side::Server),
    }
}

/// See [`server_trace_layer`].
#[derive(Debug, Clone)]
pub struct ServerTraceLayer {
    metrics: Option<RpcMetrics>,
}

impl<S> Layer<S> for ServerTraceLayer {
    type Service = ServerTrace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ServerTrace {
            inner,
            metrics: self.metrics.clone(),
        }
    }
}

/// The service that [`server_trace_layer`] makes.
#[derive(Debug, Clone)]
pub struct ServerTrace<S> {
    inner: S,
    metrics: Option<RpcMetrics>,
}

impl<S, B, R> Service<Request<B>> for ServerTrace<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<TracedBody<R>>;
    type Error = S::Error;
    type Future = TracedCall<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let uri = request.uri();
        let span = if uri.path().starts_with(PROBES) {
            Span::none()
        } else {
            call_span!("server", uri)
        };
        if !span.is_disabled() && context::is_exporting() {
            // Fails only when the span is not exported, and then there is nothing to join.
            let _ = span.set_parent(context::extract(request.headers()));
        }
        let call = Call::follow(Side::Server, span, uri, self.metrics.as_ref());
        let path = uri.path_and_query().cloned();
        let inner = {
            let _entered = call.as_ref().map(|call| call.span().enter());
            self.inner.call(request)
        };
        TracedCall::new(inner, Side::Server, path, call)
    }
}
