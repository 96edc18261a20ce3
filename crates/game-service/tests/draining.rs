//! A replica that stops, and connections that have served their time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod common;

use std::time::{Duration, Instant};

use common::{Backend, Service, soon};
use tablemate_game_service::Options;
use tablemate_protocol::convert::Reason;
use tablemate_protocol::v1;
use tablemate_protocol::v1::result_service_client::ResultServiceClient;
use tablemate_protocol::v1::session_service_client::SessionServiceClient;
use tablemate_protocol::v1::watch_session_response::Message;
use tablemate_serve::Life;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// Longer than any test waits: what ends sooner was not ended by it.
const LONG: Duration = Duration::from_secs(60);

async fn service(life: Life) -> Service {
    let options = Options {
        heartbeat: Duration::from_millis(50),
        // Who does not read is not cut off for that here.
        slow_reader: LONG,
        ..Options::default()
    };
    Service::start_for(Backend::new().await, options, life).await
}

fn watch(session: &str, cursor: &str) -> v1::WatchSessionRequest {
    v1::WatchSessionRequest {
        session_id: session.into(),
        viewer_id: String::new(),
        cursor: cursor.into(),
    }
}

#[tokio::test]
async fn readers_that_never_read_hold_a_stop_up_no_longer_than_the_grace() {
    let grace = Duration::from_millis(600);
    let mut service = service(Life::ageless(grace)).await;
    let session = service.playing("ann", "bob").await;
    // Windows that hold next to nothing, and nobody reads: heartbeats fill the queue.
    let narrow = service.narrow(16).await;
    let unread = SessionServiceClient::new(narrow.clone())
        .watch_session(watch(&session, "0"))
        .await
        .unwrap();
    let results = v1::StreamResultsRequest {
        cursor: String::new(),
        follow: true,
    };
    let unread_results = ResultServiceClient::new(narrow)
        .stream_results(results)
        .await
        .unwrap();
    let begun = Instant::now();
    service.stop();
    soon(service.ended()).await.unwrap();
    let took = begun.elapsed();
    assert!(took >= grace, "the stream could not end before: {took:?}");
    drop((unread, unread_results));
}

#[tokio::test]
async fn health_says_first_that_no_work_is_taken_and_holds_nothing_up() {
    let mut service = service(Life::ageless(LONG)).await;
    let mut health = HealthClient::new(service.public.clone());
    let asked = HealthCheckRequest {
        service: "tablemate.v1.SessionService".into(),
    };
    let mut watching = health.watch(asked).await.unwrap().into_inner();
    let first = watching.message().await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    let session = service.playing("ann", "bob").await;
    let mut stream = service
        .sessions()
        .watch_session(watch(&session, ""))
        .await
        .unwrap()
        .into_inner();
    stream.message().await.unwrap().unwrap();
    service.stop();
    let second = soon(watching.message()).await.unwrap().unwrap();
    assert_eq!(second.status(), ServingStatus::NotServing);
    // Work is still taken when that is said: whoever routes by it is given a moment.
    service.get(&session).await;
    assert!(soon(watching.message()).await.unwrap().is_none());
    let reason = soon(async {
        loop {
            if let Message::End(end) = stream.message().await.unwrap().unwrap().message.unwrap() {
                return end.reason();
            }
        }
    })
    .await;
    assert_eq!(reason, v1::WatchEndReason::ResumeElsewhere);
    assert!(stream.message().await.unwrap().is_none());
    soon(service.ended()).await.unwrap();
}

#[tokio::test]
async fn streams_of_an_old_connection_are_told_to_resume_elsewhere() {
    let life = Life {
        age: Some(Duration::from_millis(500)),
        grace: LONG,
    };
    let service = service(life).await;
    let session = service.playing("ann", "bob").await;
    let results = v1::StreamResultsRequest {
        cursor: String::new(),
        follow: true,
    };
    let mut results = service
        .results()
        .stream_results(results)
        .await
        .unwrap()
        .into_inner();
    let created = service.get(&session).await.sequence;
    let mut cursor = "0".to_owned();
    let mut seen = 0;
    for _ in 0..2 {
        let mut stream = service
            .sessions()
            .watch_session(watch(&session, &cursor))
            .await
            .unwrap()
            .into_inner();
        let reason = soon(async {
            loop {
                match stream.message().await.unwrap().unwrap().message.unwrap() {
                    Message::Event(event) => {
                        assert_eq!(event.sequence, seen + 1);
                        (seen, cursor) = (event.sequence, event.cursor);
                    }
                    Message::End(end) => return end.reason(),
                    _ => {}
                }
            }
        })
        .await;
        assert_eq!(reason, v1::WatchEndReason::ResumeElsewhere);
        assert!(
            stream.message().await.unwrap().is_none(),
            "the stream ends properly"
        );
        // The next stream goes over the next connection, which the client opens by itself.
        if seen == created {
            service.play(&session, "ann", 1, "f5").await.unwrap();
        }
    }
    assert_eq!(seen, created + 1, "the move was seen over the second connection");
    let told = soon(results.message()).await.unwrap_err();
    assert_eq!(Reason::of(&told), Some(Reason::ShuttingDown));
}
