//! Watch streams (S-22), and who may look (S-24, S-27).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod common;

use common::{Service, creation, kind, refused, seconds, soon};
use tablemate_protocol::convert::Reason;
use tablemate_protocol::v1;
use tablemate_protocol::v1::watch_session_response::Message;
use tonic::{Code, Status, Streaming};

struct Stream(Streaming<v1::WatchSessionResponse>);

impl Stream {
    async fn open(service: &Service, session: &str, viewer: &str, cursor: &str) -> Result<Self, Status> {
        let request = v1::WatchSessionRequest {
            session_id: session.into(),
            viewer_id: viewer.into(),
            cursor: cursor.into(),
        };
        Ok(Self(
            service.sessions().watch_session(request).await?.into_inner(),
        ))
    }

    /// The next message that is no sign of life.
    async fn next(&mut self) -> Option<Message> {
        loop {
            let message = soon(self.0.message()).await.unwrap()?.message.unwrap();
            if !matches!(message, Message::Heartbeat(_) | Message::Presence(_)) {
                return Some(message);
            }
        }
    }

    async fn event(&mut self) -> v1::Event {
        match self.next().await {
            Some(Message::Event(event)) => event,
            other => panic!("expected an event: {other:?}"),
        }
    }

    async fn snapshot(&mut self) -> v1::Session {
        match self.next().await {
            Some(Message::Snapshot(session)) => session,
            other => panic!("expected a snapshot: {other:?}"),
        }
    }

    async fn end(&mut self) -> v1::WatchEndReason {
        match self.next().await {
            Some(Message::End(end)) => {
                assert!(self.0.message().await.unwrap().is_none());
                end.reason()
            }
            other => panic!("expected the end: {other:?}"),
        }
    }
}

#[tokio::test]
async fn s22_events_come_in_order_each_once_and_go_on_from_any_cursor_on_any_replica() {
    let one = Service::start().await;
    let other = Service::start_on(one.backend.clone()).await;
    let session = one.playing("ann", "bob").await;
    let mut stream = Stream::open(&one, &session, "", "").await.unwrap();
    let snapshot = stream.snapshot().await;
    assert_eq!(snapshot.sequence, 2);

    one.play(&session, "ann", 1, "d3").await.unwrap();
    let first = stream.event().await;
    assert_eq!((first.sequence, kind(&first)), (3, "moved"));
    // Moves made on the other replica are heard too.
    other.play(&session, "bob", 2, "c3").await.unwrap();
    let second = stream.event().await;
    assert_eq!(second.sequence, 4);
    drop(stream);
    one.play(&session, "ann", 3, "c4").await.unwrap();

    let mut resumed = Stream::open(&other, &session, "", &first.cursor).await.unwrap();
    assert_eq!(resumed.event().await, second);
    assert_eq!(resumed.event().await.sequence, 5);
    other.play(&session, "bob", 4, "e3").await.unwrap();
    assert_eq!(resumed.event().await.sequence, 6);

    // From the very first event; the last cursor leads to what comes next only.
    let mut all = Stream::open(&one, &session, "ann", "0").await.unwrap();
    for sequence in 1..=6 {
        assert_eq!(all.event().await.sequence, sequence);
    }
}

#[tokio::test]
async fn s22_many_watchers_all_hear_everything() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let mut streams = Vec::new();
    for viewer in ["ann", "bob", "", "eve", ""] {
        let mut stream = Stream::open(&service, &session, viewer, "").await.unwrap();
        stream.snapshot().await;
        streams.push(stream);
    }
    for (ply, player, mv) in [(1, "ann", "d3"), (2, "bob", "c3"), (3, "ann", "c4")] {
        service.play(&session, player, ply, mv).await.unwrap();
    }
    for stream in &mut streams {
        for sequence in 3..=5 {
            assert_eq!(stream.event().await.sequence, sequence);
        }
    }
}

#[tokio::test]
async fn s22_a_cursor_that_the_log_does_not_hold_is_resynchronised() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let elsewhere = v1::CreateSessionRequest {
        request_id: "x".into(),
        ..creation("eve", "fay")
    };
    let foreign = service.create(elsewhere).await.receipt.unwrap().events[0]
        .cursor
        .clone();
    let mut stream = Stream::open(&service, &session, "", &foreign).await.unwrap();
    let Some(Message::Resynchronise(snapshot)) = stream.next().await else {
        panic!()
    };
    assert_eq!(snapshot.sequence, 2);
    service.play(&session, "ann", 1, "d3").await.unwrap();
    assert_eq!(stream.event().await.sequence, 3);
}

#[tokio::test]
async fn streams_end_when_the_session_is_over_or_the_replica_goes() {
    let mut service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let mut stream = Stream::open(&service, &session, "bob", "").await.unwrap();
    stream.snapshot().await;
    let leave = v1::LeaveSessionRequest {
        request_id: "leave".into(),
        session_id: session.clone(),
        player_id: "ann".into(),
        expected_sequence: None,
    };
    service.sessions().leave_session(leave).await.unwrap();
    let kinds = [stream.event().await, stream.event().await, stream.event().await];
    assert_eq!(
        kinds.each_ref().map(kind),
        ["left", "game_ended", "session_ended"]
    );
    assert_eq!(stream.end().await, v1::WatchEndReason::SessionOver);

    let session = service.playing("eve", "fay").await;
    let mut stream = Stream::open(&service, &session, "", "").await.unwrap();
    stream.snapshot().await;
    service.stop();
    assert_eq!(stream.end().await, v1::WatchEndReason::ResumeElsewhere);
    drop(stream);
    soon(service.ended()).await.unwrap();
}

#[tokio::test]
async fn s17_players_hear_who_is_there() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let mut ann = Stream::open(&service, &session, "ann", "").await.unwrap();
    ann.snapshot().await;
    let mut bob = Stream::open(&service, &session, "bob", "").await.unwrap();
    bob.snapshot().await;
    soon(async {
        loop {
            let message = ann.0.message().await.unwrap().unwrap().message;
            if message
                == Some(Message::Presence(v1::Presence {
                    seat: 2,
                    present: true,
                }))
            {
                return;
            }
        }
    })
    .await;
    let seats = service.get(&session).await.seats;
    assert!(seats.iter().all(|seat| seat.present));
    // The lease runs out some time after the stream has gone.
    drop(bob);
    soon(async {
        loop {
            let message = ann.0.message().await.unwrap().unwrap().message;
            if message
                == Some(Message::Presence(v1::Presence {
                    seat: 2,
                    present: false,
                }))
            {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn s9_s11_a_watcher_hears_an_auto_move_although_no_worker_runs() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().move_time = seconds(1);
    let session = service.create(request).await.session_id;
    let mut stream = Stream::open(&service, &session, "ann", "").await.unwrap();
    let deadline = stream.snapshot().await.turn.unwrap().deadline;
    let moved = stream.event().await;
    assert_eq!(moved.at, deadline);
    let actor = moved.actor.unwrap();
    assert_eq!((actor.seat, actor.automatic), (1, true));
    let Some(v1::event::Kind::Moved(made)) = &moved.kind else {
        panic!("{moved:?}")
    };
    assert_eq!(made.auto_policy(), v1::MovePolicy::Engine);
    assert_eq!(moved.notices[0].key, "auto_move.to_mover");
}

#[tokio::test]
async fn s24_spectators_see_late_what_players_see_at_once() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().spectator_delay = seconds(2);
    let session = service.create(request).await.session_id;
    let mut player = Stream::open(&service, &session, "ann", "").await.unwrap();
    player.snapshot().await;
    service.play(&session, "ann", 1, "d3").await.unwrap();
    let moved = player.event().await;

    // Neither the snapshot, the moves, the transcript nor a stream tell the move yet.
    let shown = service.get(&session).await;
    assert!(
        shown.transcript.is_empty() && shown.sequence < moved.sequence,
        "{shown:?}"
    );
    let mut late = Stream::open(&service, &session, "", "0").await.unwrap();
    let at = loop {
        let message = soon(late.0.message()).await.unwrap().unwrap();
        match message.message.unwrap() {
            Message::Event(event) => {
                let now = message.server_now.unwrap();
                let at = event.at.unwrap();
                let late_ms =
                    (now.seconds - at.seconds) * 1_000 + i64::from(now.nanos - at.nanos) / 1_000_000;
                assert!(
                    event.sequence == 1 || late_ms >= 2_000,
                    "{event:?} after {late_ms} ms"
                );
                if event.sequence == moved.sequence {
                    break event.at;
                }
            }
            Message::Heartbeat(heartbeat) => assert!(heartbeat.last_sequence < moved.sequence),
            _ => {}
        }
    };
    assert_eq!(at, moved.at);
    assert_eq!(service.get(&session).await.transcript, "d3");
}

#[tokio::test]
async fn s27_only_those_who_may_watch_can_look() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().watch = Some(v1::WatchRule {
        audience: v1::WatchAudience::List.into(),
        viewers: vec!["eve".into()],
    });
    let session = service.create(request).await.session_id;
    for viewer in ["", "mallory"] {
        let answer = Stream::open(&service, &session, viewer, "").await.map(|_| ());
        refused(answer, Code::PermissionDenied, Reason::WatchNotAllowed);
        let get = v1::GetSessionRequest {
            session_id: session.clone(),
            viewer_id: viewer.into(),
        };
        let answer = service.sessions().get_session(get).await;
        refused(answer, Code::PermissionDenied, Reason::WatchNotAllowed);
        let moves = v1::ListLegalMovesRequest {
            session_id: session.clone(),
            viewer_id: viewer.into(),
        };
        let answer = service.sessions().list_legal_moves(moves).await;
        refused(answer, Code::PermissionDenied, Reason::WatchNotAllowed);
        let export = v1::ExportGameRequest {
            session_id: session.clone(),
            viewer_id: viewer.into(),
            ..Default::default()
        };
        let answer = service.sessions().export_game(export).await;
        refused(answer, Code::PermissionDenied, Reason::WatchNotAllowed);
    }
    let mut eve = Stream::open(&service, &session, "eve", "").await.unwrap();
    // A spectator learns nothing of the list.
    assert!(
        eve.snapshot()
            .await
            .settings
            .unwrap()
            .watch
            .unwrap()
            .viewers
            .is_empty()
    );
    let list = v1::ListSessionsRequest::default();
    let listed = service.sessions().list_sessions(list).await.unwrap().into_inner();
    assert!(listed.sessions.is_empty());
}

#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_so_and_resumes() {
    let slow_reader = std::time::Duration::from_millis(100);
    let options = tablemate_game_service::Options {
        slow_reader,
        ..Default::default()
    };
    let service = Service::start_with(common::Backend::new().await, options).await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().games = 2;
    let session = service.create(request).await.session_id;
    // A window that holds a few events: the rest waits in the server.
    let narrow = service.narrow(1_024).await;
    let watch = |cursor: &str| v1::WatchSessionRequest {
        session_id: session.clone(),
        viewer_id: String::new(),
        cursor: cursor.into(),
    };
    let mut client = v1::session_service_client::SessionServiceClient::new(narrow);
    let mut stream = client.watch_session(watch("0")).await.unwrap().into_inner();
    let mut sequence = service.get(&session).await.sequence;
    // More events than the queue holds; nobody reads meanwhile.
    let mut n = 0;
    while sequence < 100 {
        n += 1;
        let shown = service.get(&session).await;
        let Some(turn) = shown.turn else {
            for player in ["ann", "bob"] {
                let ready = v1::SetReadyRequest {
                    request_id: "second game".into(),
                    session_id: session.clone(),
                    player_id: player.into(),
                    expected_sequence: None,
                    ready: true,
                    number: None,
                };
                service.sessions().set_ready(ready).await.unwrap();
            }
            continue;
        };
        let player = if turn.seat == 1 { "ann" } else { "bob" };
        let moves = v1::ListLegalMovesRequest {
            session_id: session.clone(),
            viewer_id: String::new(),
        };
        let moves = service
            .sessions()
            .list_legal_moves(moves)
            .await
            .unwrap()
            .into_inner()
            .moves;
        service
            .play(&session, player, turn.ply, &moves[n % moves.len()])
            .await
            .unwrap();
        sequence = service.get(&session).await.sequence;
    }
    // The queue is full. What the test is about is that time passes now: who reads again sooner is not slow.
    tokio::time::sleep(slow_reader * 5).await;
    let mut last = (0, String::new());
    let end = soon(async {
        loop {
            match stream.message().await.unwrap().unwrap().message.unwrap() {
                Message::Event(event) => {
                    assert_eq!(event.sequence, last.0 + 1);
                    last = (event.sequence, event.cursor);
                }
                Message::End(end) => return end.reason(),
                _ => {}
            }
        }
    })
    .await;
    assert_eq!(end, v1::WatchEndReason::TooSlow);
    assert!(last.0 < sequence, "{last:?} of {sequence}");
    let mut rest = Stream::open(&service, &session, "", &last.1).await.unwrap();
    for expected in last.0 + 1..=sequence {
        assert_eq!(rest.event().await.sequence, expected);
    }
}
