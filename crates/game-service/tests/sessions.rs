//! Around the games: repeated calls, seats, claims, rematches, deadlines, several replicas.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod common;

use common::{Service, creation, kinds, metadata, refused, seconds, soon};
use tablemate_protocol::convert::Reason;
use tablemate_protocol::v1;
use tonic::Code;

fn resign(session: &str, player: &str) -> v1::ResignRequest {
    v1::ResignRequest {
        request_id: "resign".into(),
        session_id: session.into(),
        player_id: player.into(),
        expected_sequence: None,
    }
}

fn offer(session: &str, player: &str, kind: v1::OfferKind) -> v1::MakeOfferRequest {
    v1::MakeOfferRequest {
        request_id: format!("offer-{player}"),
        session_id: session.into(),
        player_id: player.into(),
        expected_sequence: None,
        kind: kind.into(),
    }
}

#[tokio::test]
async fn s25_the_same_command_again_gets_the_first_answer_on_any_replica() {
    let one = Service::start().await;
    let other = Service::start_on(one.backend.clone()).await;
    let session = one.playing("ann", "bob").await;
    let first = one.play(&session, "ann", 1, "d3").await.unwrap();
    one.play(&session, "bob", 2, "c3").await.unwrap();
    let again = other.play(&session, "ann", 1, "d3").await.unwrap();
    assert_eq!(again.events, first.events);
    assert_eq!(
        (again.first_sequence, again.last_sequence),
        (first.first_sequence, first.last_sequence)
    );
    assert_eq!(other.get(&session).await.sequence, 4);

    // The same id for something else.
    let reused = v1::PlayRequest {
        request_id: "play-1-d3".into(),
        session_id: session.clone(),
        player_id: "ann".into(),
        expected_sequence: None,
        ply: 3,
        r#move: "c4".into(),
    };
    refused(
        one.sessions().play(reused).await,
        Code::AlreadyExists,
        Reason::RequestIdReused,
    );
}

#[tokio::test]
async fn s25_a_creation_is_idempotent_and_its_id_cannot_be_used_for_another() {
    let service = Service::start().await;
    let first = service.create(creation("ann", "bob")).await;
    service.play(&first.session_id, "ann", 1, "d3").await.unwrap();
    let again = service.create(creation("ann", "bob")).await;
    assert_eq!(again.session_id, first.session_id);
    assert_eq!(again.receipt.unwrap().events, first.receipt.unwrap().events);
    let other = service.sessions().create_session(creation("ann", "eve")).await;
    refused(other, Code::AlreadyExists, Reason::RequestIdReused);
}

#[tokio::test]
async fn replicas_with_warm_copies_see_each_others_moves() {
    let replicas = [Service::start().await];
    let [one] = &replicas;
    let other = Service::start_on(one.backend.clone()).await;
    let session = one.playing("ann", "bob").await;
    // Both replicas hold warm copies from now on, and each is behind every time.
    assert_eq!(other.get(&session).await.sequence, 2);
    one.play(&session, "ann", 1, "d3").await.unwrap();
    other.play(&session, "bob", 2, "c3").await.unwrap();
    one.play(&session, "ann", 3, "c4").await.unwrap();
    // A refusal too is judged on what the store holds, not on the warm copy.
    refused(
        other.play(&session, "ann", 3, "b3").await,
        Code::Aborted,
        Reason::Stale,
    );
    other.play(&session, "bob", 4, "e3").await.unwrap();
    assert_eq!(one.get(&session).await.transcript, "d3c3c4e3");
}

#[tokio::test]
async fn s27_an_open_seat_is_joined_by_invitation() {
    let service = Service::start().await;
    let open = service.create(creation("ann", "")).await;
    assert_eq!(
        service.get(&open.session_id).await.phase(),
        v1::SessionPhase::Open
    );
    let join = |player: &str, token: &str| v1::JoinSessionRequest {
        request_id: "join".into(),
        session_id: open.session_id.clone(),
        player_id: player.into(),
        invitation_token: token.into(),
        ready: true,
    };
    let mut sessions = service.sessions();
    let answer = sessions.join_session(join("bob", "guessed")).await;
    refused(answer, Code::PermissionDenied, Reason::BadInvitation);
    let joined = sessions
        .join_session(join("bob", &open.invitation_token))
        .await
        .unwrap()
        .into_inner();
    // Seat 1 was ready, seat 2 is: the game starts at once (S-1).
    let receipt = joined.receipt.unwrap();
    assert_eq!(kinds(&receipt), ["joined", "started"]);
    let again = sessions
        .join_session(join("bob", &open.invitation_token))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(again.receipt.unwrap().events, receipt.events);
    let answer = sessions.join_session(join("eve", &open.invitation_token)).await;
    refused(answer, Code::FailedPrecondition, Reason::SeatTaken);
    // The token comes again with the creation.
    let created = service.create(creation("ann", "")).await;
    assert_eq!(created.invitation_token, open.invitation_token);
    // Nobody was claimed by what was refused.
    service.playing("eve", "fay").await;
}

#[tokio::test]
async fn s28_a_player_is_in_one_session_of_a_kind_until_it_ends() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let second = v1::CreateSessionRequest {
        request_id: "second".into(),
        ..creation("bob", "eve")
    };
    let status = refused(
        service.sessions().create_session(second.clone()).await,
        Code::FailedPrecondition,
        Reason::PlayerBusy,
    );
    assert_eq!(metadata(&status, "session_id"), Some(session.clone()));
    assert_eq!(metadata(&status, "player_id").as_deref(), Some("bob"));
    // The claim of an ended session is taken over, without anybody's help.
    service.sessions().resign(resign(&session, "ann")).await.unwrap();
    service.create(second).await;
}

#[tokio::test]
async fn s5_a_rematch_is_a_new_session_linked_both_ways_with_the_opener_alternated() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    service.sessions().resign(resign(&session, "bob")).await.unwrap();
    service
        .sessions()
        .make_offer(offer(&session, "ann", v1::OfferKind::Rematch))
        .await
        .unwrap();
    let offer_id = service.get(&session).await.offers[0].offer_id;
    let accept = v1::AnswerOfferRequest {
        request_id: "accept".into(),
        session_id: session.clone(),
        player_id: "bob".into(),
        expected_sequence: None,
        offer_id,
        accept: true,
    };
    let accepted = service
        .sessions()
        .answer_offer(accept.clone())
        .await
        .unwrap()
        .into_inner()
        .receipt
        .unwrap();
    assert_eq!(kinds(&accepted), ["offer_closed", "rematch_agreed"]);
    let next = service.get(&session).await.next_session_id;
    let rematch = service.get(&next).await;
    assert_eq!(rematch.previous_session_id, session);
    assert_eq!(rematch.phase(), v1::SessionPhase::Waiting);
    // Again: the same answer.
    let again = service
        .sessions()
        .answer_offer(accept)
        .await
        .unwrap()
        .into_inner()
        .receipt
        .unwrap();
    assert_eq!(again.events, accepted.events);

    let mut started = None;
    for player in ["ann", "bob"] {
        let ready = v1::SetReadyRequest {
            request_id: "ready".into(),
            session_id: next.clone(),
            player_id: player.into(),
            expected_sequence: None,
            ready: true,
            number: None,
        };
        let receipt = service
            .sessions()
            .set_ready(ready)
            .await
            .unwrap()
            .into_inner()
            .receipt
            .unwrap();
        started = receipt.events.into_iter().last();
    }
    let Some(v1::event::Kind::Started(started)) = started.unwrap().kind else {
        panic!("not started")
    };
    assert_eq!(
        (started.opener_seat, started.opener_rule()),
        (2, v1::OpenerRule::Alternated)
    );
}

#[tokio::test]
async fn s5_no_rematch_while_one_of_them_plays_elsewhere() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    service.sessions().resign(resign(&session, "bob")).await.unwrap();
    service
        .sessions()
        .make_offer(offer(&session, "ann", v1::OfferKind::Rematch))
        .await
        .unwrap();
    let elsewhere = v1::CreateSessionRequest {
        request_id: "elsewhere".into(),
        ..creation("ann", "eve")
    };
    service.create(elsewhere).await;
    let opposite = service
        .sessions()
        .make_offer(offer(&session, "bob", v1::OfferKind::Rematch))
        .await;
    // The offer died when its maker started another session.
    assert!(
        service.get(&session).await.next_session_id.is_empty(),
        "{opposite:?}"
    );
    assert!(
        service
            .get(&session)
            .await
            .offers
            .iter()
            .all(|offer| offer.seat != 1)
    );
}

#[tokio::test]
async fn s2_s9_s11_deadlines_fire_at_their_own_instants_when_somebody_asks() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    let settings = request.settings.as_mut().unwrap();
    settings.move_time = seconds(1);
    settings.total_time = seconds(60);
    let created = service.create(request).await;
    let session = created.session_id;
    let shown = service.get(&session).await;
    let shard = u32::from(session.parse::<tablemate_session::SessionId>().unwrap().shard());
    let report = soon(async {
        loop {
            let due = v1::FireDueRequest { shard, limit: 10 };
            let report = service.internals().fire_due(due).await.unwrap().into_inner();
            if report.sessions_fired > 0 {
                return report;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(report.sessions_failed, 0);
    assert!(
        report.facts_fired >= 1 && report.lateness_ms.len() == 1,
        "{report:?}"
    );
    let later = service.get(&session).await;
    assert!(later.turn.unwrap().ply > shown.turn.unwrap().ply);

    // S-11: late, whoever fired it.
    let late = service.play(&session, "ann", 1, "d3").await;
    let status = refused(late, Code::FailedPrecondition, Reason::MoveTooLate);
    let deadline = shown.turn.unwrap().deadline.unwrap();
    let deadline_ms = deadline.seconds * 1_000 + i64::from(deadline.nanos) / 1_000_000;
    assert_eq!(metadata(&status, "deadline_ms"), Some(deadline_ms.to_string()));
}

#[tokio::test]
async fn a_matched_session_is_created_once_and_a_void_one_never() {
    let service = Service::start().await;
    let mut internals = service.internals();
    let id = tablemate_session::SessionId::new(1, [7; 10]).to_string();
    let create = v1::CreateMatchedSessionRequest {
        session_id: id.clone(),
        creation: Some(creation("ann", "bob")),
        previous_session_id: String::new(),
    };
    for _ in 0..2 {
        let answer = internals
            .create_matched_session(create.clone())
            .await
            .unwrap()
            .into_inner();
        assert_eq!((answer.exists, answer.voided), (true, false));
    }
    let void = |session_id: &str| v1::VoidSessionRequest {
        session_id: session_id.into(),
        creation: Some(creation("ann", "bob")),
    };
    assert!(
        !internals
            .void_session(void(&id))
            .await
            .unwrap()
            .into_inner()
            .voided
    );

    let id = tablemate_session::SessionId::new(2, [7; 10]).to_string();
    for _ in 0..2 {
        assert!(
            internals
                .void_session(void(&id))
                .await
                .unwrap()
                .into_inner()
                .voided
        );
    }
    // The slow creator meets the tombstone.
    let slow = v1::CreateMatchedSessionRequest {
        session_id: id.clone(),
        ..create
    };
    let answer = internals.create_matched_session(slow).await.unwrap().into_inner();
    assert_eq!((answer.exists, answer.voided), (false, true));
    assert_eq!(service.get(&id).await.ending(), v1::SessionEnding::Aborted);
}

#[tokio::test]
async fn s24_s29_nobody_learns_a_number_before_the_start() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().opener_rule = v1::OpenerRule::Guess.into();
    request.seat_1_ready = false;
    request.seat_2_ready = false;
    let session = service.create(request).await.session_id;
    let ready = |player: &str, number| v1::SetReadyRequest {
        request_id: "ready".into(),
        session_id: session.clone(),
        player_id: player.into(),
        expected_sequence: None,
        ready: true,
        number,
    };
    let receipt = service
        .sessions()
        .set_ready(ready("ann", Some(41)))
        .await
        .unwrap()
        .into_inner()
        .receipt
        .unwrap();
    let shown = service.get(&session).await;
    let said = format!("{receipt:?}{shown:?}").replace(|c: char| c.is_ascii_digit(), "");
    assert!(!said.to_lowercase().contains("number: some"), "{said}");
    let receipt = service
        .sessions()
        .set_ready(ready("bob", Some(2)))
        .await
        .unwrap()
        .into_inner()
        .receipt
        .unwrap();
    let Some(v1::event::Kind::Started(started)) = &receipt.events.last().unwrap().kind else {
        panic!()
    };
    assert_eq!(
        (started.seat_1_number, started.seat_2_number),
        (Some(41), Some(2))
    );
    // An odd difference swaps the roles.
    assert_eq!(started.opener_seat, 2);
}

#[tokio::test]
async fn health_and_both_reflections_answer() {
    use tonic_reflection::pb::{v1 as reflection, v1alpha as reflection_alpha};
    let service = Service::start().await;
    let mut health = tonic_health::pb::health_client::HealthClient::new(service.public.clone());
    let check = tonic_health::pb::HealthCheckRequest {
        service: "tablemate.v1.SessionService".into(),
    };
    let status = health.check(check).await.unwrap().into_inner().status();
    assert_eq!(
        status,
        tonic_health::pb::health_check_response::ServingStatus::Serving
    );

    let ask = reflection::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            reflection::server_reflection_request::MessageRequest::ListServices(String::new()),
        ),
    };
    let mut client =
        reflection::server_reflection_client::ServerReflectionClient::new(service.public.clone());
    let mut answers = client
        .server_reflection_info(tokio_stream::once(ask))
        .await
        .unwrap()
        .into_inner();
    let answer = answers
        .message()
        .await
        .unwrap()
        .unwrap()
        .message_response
        .unwrap();
    let reflection::server_reflection_response::MessageResponse::ListServicesResponse(listed) = answer else {
        panic!("{answer:?}")
    };
    let names: Vec<_> = listed.service.into_iter().map(|service| service.name).collect();
    assert!(names.contains(&"tablemate.v1.SessionService".into()), "{names:?}");
    assert!(
        !names.contains(&"tablemate.v1.InternalService".into()),
        "{names:?}"
    );

    let ask = reflection_alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            reflection_alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
                "tablemate.v1.SessionService.Play".into(),
            ),
        ),
    };
    let mut client =
        reflection_alpha::server_reflection_client::ServerReflectionClient::new(service.public.clone());
    let mut answers = client
        .server_reflection_info(tokio_stream::once(ask))
        .await
        .unwrap()
        .into_inner();
    let answer = answers
        .message()
        .await
        .unwrap()
        .unwrap()
        .message_response
        .unwrap();
    assert!(matches!(
        answer,
        reflection_alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(_)
    ));
}

#[tokio::test]
async fn s12_an_outage_moves_the_clocks_and_marks_the_result() {
    let time = std::sync::Arc::new(tablemate_store::embedded::ManualTime::at(
        tablemate_session::Instant(1_800_000_000_000),
    ));
    let wish = tablemate_store::DeploymentWish {
        shards: Some(1),
        ..Default::default()
    };
    let store = tablemate_store::EmbeddedStore::with_manual_time(wish, std::sync::Arc::clone(&time)).unwrap();
    let service = Service::start_on(store.into()).await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().move_time = seconds(30);
    let session = service.create(request).await.session_id;
    let before = service.get(&session).await.turn.unwrap().deadline.unwrap();

    // Time passes at once, and nobody could write meanwhile.
    time.pass(tablemate_session::Millis::seconds(600));
    let receipt = service.play(&session, "ann", 1, "d3").await.unwrap();
    assert_eq!(kinds(&receipt), ["moved"]);
    let mut stream = service
        .sessions()
        .watch_session(v1::WatchSessionRequest {
            session_id: session.clone(),
            viewer_id: "ann".into(),
            cursor: "0".into(),
        })
        .await
        .unwrap()
        .into_inner();
    let compensated = soon(async {
        loop {
            let message = stream.message().await.unwrap().unwrap().message;
            if let Some(v1::watch_session_response::Message::Event(event)) = message
                && let Some(v1::event::Kind::ClockCompensated(compensated)) = event.kind
            {
                return compensated;
            }
        }
    })
    .await;
    let moved = compensated.next.unwrap().deadline.unwrap();
    let outage = compensated.to.unwrap().seconds - compensated.from.unwrap().seconds;
    assert!((595..=600).contains(&outage), "{outage}");
    assert!((moved.seconds - before.seconds - outage).abs() <= 1);
    service.sessions().resign(resign(&session, "bob")).await.unwrap();
    assert!(service.get(&session).await.results[0].touched_by_outage);
}

#[tokio::test]
async fn s9_a_strong_engine_moves_for_whoever_is_late_and_the_game_goes_on() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    let settings = request.settings.as_mut().unwrap();
    settings.move_time = seconds(1);
    settings.timeout = Some(v1::TimeoutRule {
        policy: v1::MovePolicy::Engine.into(),
        engine_level: 4,
        lose_after: 0,
    });
    let session = service.create(request).await.session_id;
    soon(async {
        while service.get(&session).await.turn.unwrap().ply < 3 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    // In time for the third ply, or late for it: judged either way, and nothing is lost.
    let shown = service.get(&session).await;
    assert_eq!(shown.sequence, 2 + u64::from(shown.turn.unwrap().ply - 1));
}
