//! A guard that is shut down inside a task, where nobody should, still loses nothing and does not wait for itself.

use std::time::{Duration, Instant};

use tablemate_telemetry::testing::Collector;
use tablemate_telemetry::{Config, init};

#[tokio::test(flavor = "current_thread")]
async fn a_guard_shut_down_in_a_task_loses_nothing() {
    let collector = Collector::start();
    let config = Config {
        otlp_endpoint: Some(collector.endpoint.clone()),
        ..Config::new("guard-in-task")
    };
    let guard = init(&config).unwrap();
    tracing::info_span!(target: "tablemate::test", "last_words").in_scope(|| {});

    let before = Instant::now();
    guard.shutdown();

    let took = before.elapsed();
    assert!(took < Duration::from_secs(4), "waited for a time-out: {took:?}");
    let names: Vec<String> = collector
        .received
        .spans()
        .into_iter()
        .map(|span| span.name)
        .collect();
    assert_eq!(names, ["last_words"]);
}
