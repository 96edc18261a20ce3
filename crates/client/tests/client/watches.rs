//! Watching over connections that break (S-22).

use std::sync::Arc;
use std::time::Duration;

use crate::fake::{Script, Send, end, event, resynchronise, snapshot};
use tablemate_client::v1::WatchEndReason::{ResumeElsewhere, SessionOver, TooSlow};
use tablemate_client::{Client, Config, Error, UpdateKind, Watch, WatchFrom};
use tonic::{Code, Status};

fn quick() -> Config {
    Config {
        silence: Duration::from_millis(150),
        stream_budget: Duration::from_secs(5),
        first_backoff: Duration::from_millis(2),
        max_backoff: Duration::from_millis(10),
        ..Config::default()
    }
}

async fn start(scripts: Vec<Vec<Send>>, replicas: usize) -> (Arc<Script>, Client) {
    let script = Arc::new(Script::default());
    *script.watches.lock().unwrap() = scripts.into();
    let addresses = crate::fake::start(&script, replicas).await;
    let client = Client::with_config(&addresses, &[], quick()).unwrap();
    (script, client)
}

/// What was handed out, `s` a snapshot, `r` a resynchronisation, with its sequence.
async fn read(watch: &mut Watch) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(update) = watch.next().await {
        seen.push(match update.unwrap().kind {
            UpdateKind::Snapshot(session) => format!("s{}", session.sequence),
            UpdateKind::Resynchronise(session) => format!("r{}", session.sequence),
            UpdateKind::Event(event) => event.sequence.to_string(),
            other => format!("{other:?}"),
        });
    }
    seen
}

fn cursors(script: &Script) -> Vec<String> {
    let watched = script.watched.lock().unwrap();
    watched
        .iter()
        .map(|(_, request)| request.cursor.clone())
        .collect()
}

#[tokio::test]
async fn a_watch_resumes_by_cursor_on_the_next_replica_s22() {
    let (script, client) = start(
        vec![
            vec![snapshot(3), event(4), end(ResumeElsewhere)],
            vec![event(5), Send::Error(Status::unavailable("gone"))],
            vec![event(6), event(7), end(TooSlow)],
            // Closed without a word.
            vec![event(8)],
            vec![event(9), end(SessionOver)],
        ],
        2,
    )
    .await;
    let mut watch = client.watch("s", "ann", WatchFrom::Snapshot);
    assert_eq!(read(&mut watch).await, ["s3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(cursors(&script), ["", "c4", "c5", "c7", "c8"]);
    assert_eq!(watch.reconnects(), 4);
    assert_eq!(watch.anomalies(), Default::default());

    let watched = script.watched.lock().unwrap();
    for pair in watched.windows(2) {
        assert_ne!(pair[0].0, pair[1].0, "the next replica");
    }
}

#[tokio::test]
async fn what_is_doubled_is_dropped_and_what_is_missing_is_asked_for_s22() {
    let (script, client) = start(
        vec![
            vec![event(1), event(2), event(2), event(5), event(6)],
            vec![event(3), event(4), end(SessionOver)],
        ],
        1,
    )
    .await;
    let from = WatchFrom::After {
        cursor: "c0".into(),
        sequence: Some(0),
    };
    let mut watch = client.watch("s", "", from);
    assert_eq!(read(&mut watch).await, ["1", "2", "3", "4"]);
    assert_eq!(cursors(&script), ["c0", "c2"]);
    assert_eq!(watch.anomalies().doubled, 1);
    assert_eq!(watch.anomalies().gaps, 1);
}

#[tokio::test]
async fn a_resynchronisation_is_told_and_the_sequence_begins_there_s22() {
    let (_, client) = start(
        vec![vec![
            snapshot(9),
            event(10),
            resynchronise(6),
            event(7),
            end(SessionOver),
        ]],
        1,
    )
    .await;
    let mut watch = client.watch("s", "", WatchFrom::Snapshot);
    assert_eq!(read(&mut watch).await, ["s9", "10", "r6", "7"]);
    assert_eq!(watch.resynchronised(), 1);
    assert_eq!(watch.anomalies(), Default::default());
}

#[tokio::test]
async fn silence_is_a_lost_connection() {
    let (script, client) = start(
        vec![
            vec![snapshot(1), Send::Hang],
            vec![event(2), Send::Hang],
            vec![end(SessionOver)],
        ],
        1,
    )
    .await;
    let mut watch = client.watch("s", "", WatchFrom::Snapshot);
    assert_eq!(read(&mut watch).await, ["s1", "2"]);
    assert_eq!(cursors(&script), ["", "c1", "c2"]);
}

#[tokio::test]
async fn waiting_may_be_broken_off_without_a_loss() {
    let script = (1..200).map(event).chain([end(SessionOver)]).collect();
    let (_, client) = start(vec![script], 1).await;
    let mut watch = client.watch("s", "", WatchFrom::Snapshot);
    let mut seen = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {}
            update = watch.next() => match update {
                Some(update) => match update.unwrap().kind {
                    UpdateKind::Event(event) => seen.push(event.sequence),
                    other => panic!("{other:?}"),
                },
                None => break,
            },
        }
    }
    assert_eq!(seen, (1..200).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_position_handed_on_continues_where_the_first_watch_stood() {
    let (script, client) = start(
        vec![
            vec![snapshot(1), event(2), event(3), Send::Hang],
            vec![event(3), end(SessionOver)],
        ],
        1,
    )
    .await;
    let mut first = client.watch("s", "ann", WatchFrom::Snapshot);
    for _ in 0..2 {
        first.next().await.unwrap().unwrap();
    }
    let position = first.position();
    drop(first);
    let mut second = client.watch("s", "ann", position);
    assert_eq!(read(&mut second).await, ["3"]);
    assert_eq!(cursors(&script), ["", "c2"]);
}

#[tokio::test]
async fn a_refusal_ends_the_watch() {
    let (script, client) = start(vec![], 1).await;
    let mut watch = client.watch("s", "", WatchFrom::Snapshot);
    let error = watch.next().await.unwrap().unwrap_err();
    assert_eq!(error.refusal().unwrap().code, Code::NotFound);
    assert!(watch.next().await.is_none());
    assert_eq!(script.watched.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn nobody_there_ends_the_watch_after_its_budget() {
    let address = crate::fake::nobody().await.to_string();
    let config = Config {
        stream_budget: Duration::from_millis(100),
        ..quick()
    };
    let client = Client::with_config(&[address], &[], config).unwrap();
    let mut watch = client.watch("s", "", WatchFrom::Snapshot);
    let error = watch.next().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn more_watchers_than_a_connection_carries_get_connections_of_their_own() {
    let script = Arc::new(Script::default());
    *script.watches.lock().unwrap() = vec![vec![snapshot(1), Send::Hang]; 10].into();
    let addresses = crate::fake::start_limited(&script, 1, Some(3)).await;
    let config = Config {
        streams_per_connection: 3,
        silence: Duration::from_secs(60),
        ..quick()
    };
    let client = Client::with_config(&addresses, &[], config).unwrap();
    let mut watches = Vec::new();
    for _ in 0..10 {
        let mut watch = client.watch("s", "", WatchFrom::Snapshot);
        let update = tokio::time::timeout(Duration::from_secs(5), watch.next())
            .await
            .unwrap();
        update.unwrap().unwrap();
        watches.push(watch);
    }
}
