//! The layer of a client.

use std::task::{Context, Poll};

use http::{Request, Response};
use tower::{Layer, Service};
use tracing::Span;

use super::TracedBody;
use super::call::{Call, RpcMetrics, Side, TracedCall, call_span};
use crate::context;

/// A layer for a client's channel: it makes a span for every call, passes its trace context on in the call's metadata,
/// and records how the call ended; with metrics when an endpoint is configured. Make it after [`init`](crate::init).
#[must_use]
pub fn client_trace_layer() -> ClientTraceLayer {
    ClientTraceLayer {
        metrics: RpcMetrics::new(Side::Client),
    }
}

/// See [`client_trace_layer`].
#[derive(Debug, Clone)]
pub struct ClientTraceLayer {
    metrics: Option<RpcMetrics>,
}

impl<S> Layer<S> for ClientTraceLayer {
    type Service = ClientTrace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ClientTrace {
            inner,
            metrics: self.metrics.clone(),
        }
    }
}

/// The service that [`client_trace_layer`] makes.
#[derive(Debug, Clone)]
pub struct ClientTrace<S> {
    inner: S,
    metrics: Option<RpcMetrics>,
}

impl<S, B, R> Service<Request<B>> for ClientTrace<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<TracedBody<R>>;
    type Error = S::Error;
    type Future = TracedCall<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let span = call_span!("client", request.uri());
        if context::is_exporting() {
            let sender = if span.is_disabled() {
                Span::current()
            } else {
                span.clone()
            };
            context::inject_span(&sender, request.headers_mut());
        }
        let call = Call::follow(Side::Client, span, request.uri(), self.metrics.as_ref());
        let inner = {
            let _entered = call.as_ref().map(|call| call.span().enter());
            self.inner.call(request)
        };
        TracedCall::new(inner, Side::Client, None, call)
    }
}
