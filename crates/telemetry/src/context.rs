//! W3C trace context in and out of gRPC metadata.

use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Set once by [`init`](crate::init) when an endpoint is configured, never cleared.
static EXPORTING: AtomicBool = AtomicBool::new(false);

/// Whether this process exports traces and metrics.
#[must_use]
pub fn is_exporting() -> bool {
    // Nothing else hangs on the order: a call that sees the old value is only not traced.
    EXPORTING.load(Ordering::Relaxed)
}

pub(crate) fn set_exporting() {
    EXPORTING.store(true, Ordering::Relaxed);
}

/// Writes the trace context of the current span into a call's metadata. Does nothing without an endpoint or a span.
/// [`client_trace_layer`](crate::client_trace_layer) does it for every call of a channel.
pub fn inject(metadata: &mut MetadataMap) {
    inject_headers(metadata.as_mut());
}

/// As [`inject`], for a plain HTTP request.
pub fn inject_headers(headers: &mut HeaderMap) {
    if is_exporting() {
        inject_span(&Span::current(), headers);
    }
}

/// [`inject`] as an interceptor of a tonic client.
///
/// # Errors
///
/// None: the type is what tonic asks of an interceptor.
pub fn inject_interceptor(mut request: Request<()>) -> Result<Request<()>, Status> {
    inject(request.metadata_mut());
    Ok(request)
}

/// Writes the trace context of `span` into `headers`.
pub(crate) fn inject_span(span: &Span, headers: &mut HeaderMap) {
    TraceContextPropagator::new().inject_context(&span.context(), &mut HeadersOut(headers));
}

/// The trace context that a caller sent; an empty one when it sent none or one that cannot be read.
pub(crate) fn extract(headers: &HeaderMap) -> Context {
    TraceContextPropagator::new().extract_with_context(&Context::new(), &HeadersIn(headers))
}

struct HeadersOut<'a>(&'a mut HeaderMap);

impl Injector for HeadersOut<'_> {
    fn set(&mut self, key: &str, value: String) {
        // An empty `tracestate` says nothing.
        if value.is_empty() {
            return;
        }
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}

struct HeadersIn<'a>(&'a HeaderMap);

impl Extractor for HeadersIn<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TraceContextExt;

    use super::*;

    #[test]
    fn a_context_survives_the_way_through_headers() {
        let mut headers = HeaderMap::new();
        let sent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        headers.insert("traceparent", HeaderValue::from_static(sent));
        let context = extract(&headers);
        assert!(context.span().span_context().is_remote());
        let mut onward = HeaderMap::new();
        TraceContextPropagator::new().inject_context(&context, &mut HeadersOut(&mut onward));
        assert_eq!(onward.get("traceparent").unwrap(), sent);
        assert!(!onward.contains_key("tracestate"));
    }

    #[test]
    fn nonsense_is_no_context() {
        for nonsense in [
            "",
            "00",
            "00-0-0-0",
            "zz-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", HeaderValue::from_static(nonsense));
            assert!(!extract(&headers).span().span_context().is_valid(), "{nonsense}");
        }
    }

    #[test]
    fn nothing_is_injected_when_nothing_is_exported() {
        let mut metadata = MetadataMap::new();
        inject(&mut metadata);
        assert!(metadata.is_empty());
    }
}
