//! One call while it is under way, and how it ended.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Response, Uri};
use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};
use pin_project_lite::pin_project;
use tonic::Code;
use tracing::Span;

use super::body::TracedBody;
use crate::context::is_exporting;

/// The target of the spans and log lines of calls: `--log info,tablemate::rpc=debug` shows each.
pub(crate) const TARGET: &str = "tablemate::rpc";

/// What metrics say instead of a method that this service does not have: callers must not choose label values.
const OTHER_METHOD: &str = "_OTHER";

/// Boundaries of the duration histograms in seconds: a commit takes a millisecond, a watch stream hours.
const DURATION_BOUNDARIES_S: [f64; 15] = [
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0,
];

/// Which end of the call this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The metrics of one side, made once a layer.
#[derive(Debug, Clone)]
pub(crate) struct RpcMetrics {
    /// Seconds a call took; its count is the number of calls.
    duration_s: Arc<Histogram<f64>>,
}

impl RpcMetrics {
    /// The metrics of `side`; none when nothing is exported.
    pub(crate) fn new(side: Side) -> Option<Self> {
        if !is_exporting() {
            return None;
        }
        let name = match side {
            Side::Client => "rpc.client.call.duration",
            Side::Server => "rpc.server.call.duration",
        };
        let duration_s = global::meter("tablemate")
            .f64_histogram(name)
            .with_unit("s")
            .with_description("How long calls took, by method and status code")
            .with_boundaries(DURATION_BOUNDARIES_S.to_vec())
            .build();
        Some(Self {
            duration_s: Arc::new(duration_s),
        })
    }
}

/// A call under way. It is finished once: by the status that was seen, or as cancelled when it is dropped before.
#[derive(Debug)]
pub(crate) struct Call {
    side: Side,
    span: Span,
    path: Option<PathAndQuery>,
    started: Instant,
    metrics: Option<RpcMetrics>,
    finished: bool,
}

impl Call {
    /// A call to follow, boxed so that a call that nobody follows costs one word; none when neither a span nor
    /// metrics want it.
    pub(crate) fn follow(
        side: Side,
        span: Span,
        uri: &Uri,
        metrics: Option<&RpcMetrics>,
    ) -> Option<Box<Self>> {
        if span.is_disabled() && metrics.is_none() {
            return None;
        }
        Some(Box::new(Self {
            side,
            span,
            path: uri.path_and_query().cloned(),
            started: Instant::now(),
            metrics: metrics.cloned(),
            finished: false,
        }))
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Ends the call with the status in `headers` (a response's headers or trailers), if there is one.
    pub(crate) fn finish_with(&mut self, headers: &HeaderMap) -> bool {
        let code = status_in(headers);
        if let Some(code) = code {
            self.finish(code);
        }
        code.is_some()
    }

    /// Ends the call: records the status and the duration. Later calls change nothing.
    pub(crate) fn finish(&mut self, code: Code) {
        if self.finished {
            return;
        }
        self.finished = true;
        let name = code_name(code);
        let took = self.started.elapsed();
        let method = method_of(self.path.as_ref());
        if !self.span.is_disabled() {
            self.span.record("rpc.response.status_code", name);
            if is_error(self.side, code) {
                self.span.record("otel.status_code", "ERROR");
                self.span.record("error.type", name);
            }
        }
        if is_defect(self.side, code) {
            warn_of_defect(&self.span, method, name);
        }
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(target: TARGET, parent: &self.span, method, code = name, took_us, "call ended");
        if let Some(metrics) = &self.metrics {
            let unknown_here = self.side == Side::Server && code == Code::Unimplemented;
            let method = if unknown_here { OTHER_METHOD } else { method };
            metrics.duration_s.record(
                took.as_secs_f64(),
                &[
                    KeyValue::new("rpc.system.name", "grpc"),
                    KeyValue::new("rpc.method", method.to_owned()),
                    KeyValue::new("rpc.response.status_code", name),
                ],
            );
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.finish(Code::Cancelled);
    }
}

pin_project! {
    /// The future of a call, followed or not.
    #[derive(Debug)]
    pub struct TracedCall<F> {
        #[pin]
        inner: F,
        side: Side,
        // Kept apart from the call, so that a service's defects are logged when nobody follows its calls.
        path: Option<PathAndQuery>,
        call: Option<Box<Call>>,
    }
}

impl<F> TracedCall<F> {
    /// `path` is the call's, on a server.
    pub(crate) fn new(inner: F, side: Side, path: Option<PathAndQuery>, call: Option<Box<Call>>) -> Self {
        Self {
            inner,
            side,
            path,
            call,
        }
    }
}

impl<F, B, E> Future for TracedCall<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<TracedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = {
            let _entered = this.call.as_ref().map(|call| call.span().enter());
            ready!(this.inner.poll(cx))
        };
        let mut call = this.call.take();
        match result {
            Ok(response) => {
                // An answer that is only an error has its status in the headers; all others have it in the trailers.
                match &mut call {
                    Some(followed) => {
                        if followed.finish_with(response.headers()) {
                            call = None;
                        }
                    }
                    None => {
                        let code = status_in(response.headers());
                        if let Some(code) = code.filter(|code| is_defect(*this.side, *code)) {
                            warn_of_defect(&Span::none(), method_of(this.path.as_ref()), code_name(code));
                        }
                    }
                }
                Poll::Ready(Ok(response.map(|body| TracedBody::new(body, call))))
            }
            Err(error) => {
                if let Some(call) = &mut call {
                    call.finish(match this.side {
                        Side::Client => Code::Unavailable,
                        Side::Server => Code::Internal,
                    });
                }
                Poll::Ready(Err(error))
            }
        }
    }
}

/// The status in a response's headers or trailers, if it is there.
fn status_in(headers: &HeaderMap) -> Option<Code> {
    headers
        .get("grpc-status")
        .map(HeaderValue::as_bytes)
        .map(Code::from_bytes)
}

/// `tablemate.v1.SessionService/Play` for `/tablemate.v1.SessionService/Play`, cut where no real name is as long.
pub(crate) fn method_of(path: Option<&PathAndQuery>) -> &str {
    const LENGTH_MAX: usize = 128;
    let path = path.map_or("", PathAndQuery::path);
    let method = path.strip_prefix('/').unwrap_or(path);
    // A path may hold more than ASCII; one that is cut inside a character stays whole, and is no method of ours.
    method.get(..LENGTH_MAX).unwrap_or(method)
}

/// Whether a server answers so only by a defect of its own: worth a line always.
fn is_defect(side: Side, code: Code) -> bool {
    side == Side::Server && matches!(code, Code::Unknown | Code::Internal | Code::DataLoss)
}

/// Only the code: a status message may repeat what a caller sent.
fn warn_of_defect(span: &Span, method: &str, code: &str) {
    tracing::warn!(target: TARGET, parent: span, method, code, "call failed");
}

/// Whether a span with this status counts as failed: on the server only when the server is to blame.
fn is_error(side: Side, code: Code) -> bool {
    match side {
        Side::Client => code != Code::Ok,
        Side::Server => matches!(
            code,
            Code::Unknown
                | Code::DeadlineExceeded
                | Code::Unimplemented
                | Code::Internal
                | Code::Unavailable
                | Code::DataLoss
        ),
    }
}

/// The name of a status code as the conventions spell it.
fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// A span at level DEBUG for one call; none costs anything unless logs or the export want it.
macro_rules! call_span {
    ($kind:literal, $uri:expr) => {
        if tracing::span_enabled!(target: $crate::rpc::call::TARGET, tracing::Level::DEBUG) {
            let method = $crate::rpc::call::method_of($uri.path_and_query());
            tracing::debug_span!(
                target: $crate::rpc::call::TARGET,
                "call",
                "otel.name" = method,
                "otel.kind" = $kind,
                "otel.status_code" = tracing::field::Empty,
                "error.type" = tracing::field::Empty,
                "rpc.system.name" = "grpc",
                "rpc.method" = method,
                "rpc.response.status_code" = tracing::field::Empty,
            )
        } else {
            tracing::Span::none()
        }
    };
}
pub(crate) use call_span;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_the_path_without_its_slash_and_bounded() {
        let method_of_text = |path: &str| method_of(Some(&path.parse().unwrap())).to_owned();
        assert_eq!(
            method_of_text("/tablemate.v1.SessionService/Play"),
            "tablemate.v1.SessionService/Play"
        );
        assert_eq!(
            method_of_text("/tablemate.v1.SessionService/Play?x=1"),
            "tablemate.v1.SessionService/Play"
        );
        assert_eq!(method_of_text(&format!("/{}", "x".repeat(4000))).len(), 128);
        assert_eq!(method_of(None), "");
    }

    #[test]
    fn a_call_nobody_follows_is_none() {
        assert!(Call::follow(Side::Server, Span::none(), &Uri::from_static("/a/b"), None).is_none());
    }
}
