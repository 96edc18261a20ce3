//! What a process writes to standard error, and that it exports nothing unasked. Each test starts this very file again
//! as a child process, because logs are set up once a process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::process::{Command, Stdio};
use std::sync::Arc;

use common::{Hop, call};
use serde_json::Value;
use tablemate_telemetry::testing::Collector;
use tablemate_telemetry::{Config, Error, LogFormat, is_exporting, run};
use tonic::Status;

/// Set in the child: the log filter it takes.
const CHILD: &str = "TABLEMATE_TEST_CHILD_FILTER";

/// The child: one call that goes well and one that a handler fails, with the log lines of `filter`.
#[test]
fn child() {
    let Ok(log_filter) = std::env::var(CHILD) else {
        return;
    };
    let config = Config {
        log_filter,
        log_format: LogFormat::Auto,
        ..Config::new("logs")
    };
    run(config, || async {
        assert!(!is_exporting());
        tracing::info!(players = 2, "child begins");
        let hop = Hop::last(Ok(()));
        let traceparent = Arc::clone(&hop.traceparent);
        call(hop.start().await).await.unwrap();
        assert_eq!(
            *traceparent.lock().unwrap(),
            None,
            "a trace context was sent without an endpoint"
        );
        let failing = Hop::last(Err(Status::internal("a text that stays here")))
            .start()
            .await;
        call(failing).await.unwrap_err();
        Ok::<_, Error>(())
    })
    .unwrap();
}

/// Runs the child with standard error in a pipe, so no terminal, and returns its lines.
fn lines_of_child(filter: &str, exporter_variable: Option<&str>) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, filter)
        .stdout(Stdio::null());
    if let Some(endpoint) = exporter_variable {
        // The SDK would hear this one, had it been set up.
        command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        !text.contains("a text that stays here"),
        "a status message was logged: {text}"
    );
    text.lines().map(str::to_owned).collect()
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn lines_are_json_when_nobody_reads_them_on_a_terminal() {
    let lines: Vec<Value> = lines_of_child("info", None)
        .iter()
        .map(|line| json(line))
        .collect();
    assert_eq!(lines[0]["message"], "child begins");
    assert_eq!(lines[0]["players"], 2);
    assert_eq!(lines[0]["level"], "INFO");
    assert!(lines[0]["timestamp"].is_string());
    // At INFO a call that goes well writes nothing; one that the service itself failed does.
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert_eq!(lines[1]["level"], "WARN");
    assert_eq!(lines[1]["message"], "call failed");
    assert_eq!(lines[1]["method"], common::METHOD);
    assert_eq!(lines[1]["code"], "INTERNAL");
}

#[test]
fn every_call_has_a_line_when_asked_for() {
    let lines: Vec<Value> = lines_of_child("warn,tablemate::rpc=debug", None)
        .iter()
        .map(|line| json(line))
        .collect();
    let ended: Vec<&Value> = lines
        .iter()
        .filter(|line| line["message"] == "call ended")
        .collect();
    // Both calls, on both sides.
    assert_eq!(ended.len(), 4, "{lines:#?}");
    assert!(
        ended
            .iter()
            .all(|line| line["took_us"].is_u64() && line["span"]["rpc.method"] == common::METHOD)
    );
}

#[test]
fn nothing_is_exported_without_an_endpoint() {
    let collector = Collector::start();
    lines_of_child("info", Some(&collector.endpoint));
    assert!(collector.received.spans().is_empty());
    assert!(collector.received.metrics().is_empty());
}
