//! A ratio of 0 exports no trace that begins here, and the next service is told so.

mod common;

use std::sync::Arc;

use common::{Hop, call};
use tablemate_telemetry::testing::Collector;
use tablemate_telemetry::{Config, Error, run};

#[test]
fn with_ratio_0_nothing_that_begins_here_is_exported() {
    let collector = Collector::start();
    let config = Config {
        otlp_endpoint: Some(collector.endpoint.clone()),
        sample_ratio: 0.0,
        ..Config::new("sampling")
    };
    let traceparent = run(config, || async {
        let hop = Hop::last(Ok(()));
        let seen = Arc::clone(&hop.traceparent);
        call(hop.start().await).await.unwrap();
        let seen = seen.lock().unwrap().clone();
        Ok::<_, Error>(seen)
    })
    .unwrap();
    assert!(
        traceparent.unwrap().ends_with("-00"),
        "the flag says: not sampled"
    );
    assert!(collector.received.spans().is_empty());
    assert!(
        !collector.received.metrics().is_empty(),
        "metrics count every call"
    );
}
