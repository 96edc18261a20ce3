//! Traces through real processes.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use tablemate_client::{Client, v1};
use tablemate_telemetry::testing::{Collector, attribute};
use tablemate_telemetry::{Config, run};
use tablemate_tests::{Deployment, Shape, unrated};
use tracing::Instrument;

async fn ticket(client: &Client, player: &str) -> Result<v1::Ticket> {
    let asked = v1::CreateTicketRequest {
        player_id: player.to_owned(),
        settings: Some(unrated()),
        ready: true,
        ..Default::default()
    };
    client
        .create_ticket(asked)
        .await?
        .ticket
        .context("an answer has the ticket")
}

#[test]
fn one_trace_spans_client_matchmaker_and_game_service() -> Result<()> {
    let collector = Collector::start();
    let endpoint = collector.endpoint.clone();
    let config = Config {
        otlp_endpoint: Some(endpoint.clone()),
        ..Config::new("test-client")
    };
    let matched = run(config, || async move {
        let mut deployment =
            Deployment::start_with(Shape::of(1, 1), vec![format!("--otlp-endpoint={endpoint}")])?;
        let client = deployment.client()?;
        ticket(&client, "ann").await?;
        // The second ticket makes the session within its own call: client, matchmaker, game service.
        let span = tracing::info_span!(target: "tablemate::test", "second ticket");
        let matched = ticket(&client, "bob").instrument(span).await?;
        drop(client);
        // Both export what is left when they are told to stop.
        for process in deployment.processes() {
            assert!(process.terminate(Duration::from_secs(20))?.success());
        }
        Ok::<_, anyhow::Error>(matched)
    })?;
    assert_eq!(matched.state(), v1::TicketState::Matched);

    let spans = collector.received.spans_by_service();
    let (_, root) = spans
        .iter()
        .find(|(_, span)| span.name == "second ticket")
        .context("the root was exported")?;
    let trace: Vec<_> = spans
        .iter()
        .filter(|(_, span)| span.trace_id == root.trace_id)
        .collect();
    let services: BTreeSet<&str> = trace.iter().map(|(service, _)| service.as_str()).collect();
    assert_eq!(
        services,
        BTreeSet::from(["tablemate-game", "tablemate-matchmaker", "test-client"])
    );

    // From the call that created the session up to the root, every parent is in the trace.
    let (_, created) = trace
        .iter()
        .find(|(service, span)| {
            service == "tablemate-game" && span.name.ends_with("InternalService/CreateMatchedSession")
        })
        .context("the game service's span of the creation")?;
    assert_eq!(
        attribute(created, "rpc.response.status_code").as_deref(),
        Some("OK")
    );
    let mut way = Vec::new();
    let mut at = created;
    while at.span_id != root.span_id {
        let (service, parent) = trace
            .iter()
            .find(|(_, span)| span.span_id == at.parent_span_id)
            .with_context(|| format!("the parent of {} is missing", at.name))?;
        way.push(service.as_str());
        at = parent;
    }
    way.dedup();
    assert_eq!(way, ["tablemate-matchmaker", "test-client"]);
    Ok(())
}
