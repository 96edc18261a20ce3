//! One trace spans a client and two services, and all of it has arrived when `run` returns.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::HashSet;

use common::{Hop, METHOD, call};
use opentelemetry_proto::tonic::metrics::v1::{Metric, metric::Data};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use tablemate_telemetry::testing::{Collector, attribute};
use tablemate_telemetry::{Config, Error, run};
use tonic::{Code, Status};
use tracing::Instrument;

#[test]
fn one_trace_spans_client_and_both_services() {
    let collector = Collector::start();
    let config = Config {
        otlp_endpoint: Some(collector.endpoint.clone()),
        ..Config::new("two-hops")
    };

    let refused: Code = run(config, || async {
        let second = Hop::last(Ok(())).start().await;
        let first = Hop::to(second).start().await;
        let root = tracing::debug_span!(target: "tablemate::test", "player");
        call(first).instrument(root).await.unwrap();

        // Another trace: no span around the call, and an error that a handler made.
        let failing = Hop::last(Err(Status::internal("a text that stays here")))
            .start()
            .await;
        Ok::<_, Error>(call(failing).await.unwrap_err().code())
    })
    .unwrap();
    assert_eq!(refused, Code::Internal);

    // Everything is there without waiting: `run` flushed after the runtime had ended.
    let spans = collector.received.spans();
    let player = spans.iter().find(|span| span.name == "player").unwrap();
    let (trace, other): (Vec<&Span>, Vec<&Span>) =
        spans.iter().partition(|span| span.trace_id == player.trace_id);
    assert_eq!(
        trace.len(),
        5,
        "player, client, server, client, server: {trace:#?}"
    );

    // Each is the child of the one before.
    let mut parent = player;
    for kind in [
        SpanKind::Client,
        SpanKind::Server,
        SpanKind::Client,
        SpanKind::Server,
    ] {
        let child = trace
            .iter()
            .find(|span| span.parent_span_id == parent.span_id)
            .unwrap();
        assert_eq!(child.kind(), kind);
        assert_eq!(child.name, METHOD);
        assert_eq!(attribute(child, "rpc.system.name").as_deref(), Some("grpc"));
        assert_eq!(attribute(child, "rpc.method").as_deref(), Some(METHOD));
        assert_eq!(
            attribute(child, "rpc.response.status_code").as_deref(),
            Some("OK")
        );
        parent = child;
    }

    assert_eq!(other.len(), 2, "{other:#?}");
    assert_eq!(
        other
            .iter()
            .map(|span| &span.trace_id)
            .collect::<HashSet<_>>()
            .len(),
        1
    );
    for span in other {
        assert_eq!(
            attribute(span, "rpc.response.status_code").as_deref(),
            Some("INTERNAL")
        );
        assert_eq!(span.status.as_ref().unwrap().code(), StatusCode::Error);
    }
    assert!(
        spans.iter().all(|span| span.events.is_empty()),
        "a log line was exported"
    );
    assert!(
        !format!("{spans:?}").contains("a text that stays here"),
        "a status message was exported"
    );

    let metrics = collector.received.metrics();
    for name in ["rpc.server.call.duration", "rpc.client.call.duration"] {
        assert_eq!(calls_counted(&metrics, name, "OK"), 2, "{name}");
        assert_eq!(calls_counted(&metrics, name, "INTERNAL"), 1, "{name}");
    }
}

/// The number of calls that a histogram counted with a status code.
fn calls_counted(metrics: &[Metric], name: &str, code: &str) -> u64 {
    let metric = metrics.iter().rfind(|metric| metric.name == name).unwrap();
    let Some(Data::Histogram(histogram)) = &metric.data else {
        panic!("{name} is no histogram");
    };
    let with_code = histogram.data_points.iter().filter(|point| {
        let attributes = format!("{:?}", point.attributes);
        attributes.contains(&format!("{code:?}")) && attributes.contains(METHOD)
    });
    with_code.map(|point| point.count).sum()
}
