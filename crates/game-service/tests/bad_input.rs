//! Bad input gets a clear error through the wire, and nothing changes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod common;

use bytes::{Buf, BufMut};
use common::{Service, creation, metadata, refused, seconds};
use tablemate_protocol::convert::Reason;
use tablemate_protocol::v1;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

const NOBODY: &str = "00000000000000000000";

/// The fields that a refusal names as bad.
fn bad_fields(status: &Status) -> Vec<String> {
    status
        .get_details_bad_request()
        .map(|bad| {
            bad.field_violations
                .into_iter()
                .map(|violation| violation.field)
                .collect()
        })
        .unwrap_or_default()
}

async fn get(service: &Service, session: &str) -> Result<v1::GetSessionResponse, Status> {
    let request = v1::GetSessionRequest {
        session_id: session.into(),
        viewer_id: String::new(),
    };
    Ok(service.sessions().get_session(request).await?.into_inner())
}

#[tokio::test]
async fn unknown_and_malformed_ids() {
    let service = Service::start().await;
    refused(get(&service, "").await, Code::InvalidArgument, Reason::Required);
    for bad in ["x", "00000000000000000000x", "0000000000000000000G", "黑白棋"] {
        let status = refused(
            get(&service, bad).await,
            Code::InvalidArgument,
            Reason::MalformedId,
        );
        assert_eq!(bad_fields(&status), ["session_id"], "{bad}");
    }
    refused(
        get(&service, NOBODY).await,
        Code::NotFound,
        Reason::SessionNotFound,
    );
    // A well-formed id of a shard that this deployment does not have.
    refused(
        get(&service, "vvvv0000000000000000").await,
        Code::NotFound,
        Reason::SessionNotFound,
    );
    refused(
        service.play(NOBODY, "ann", 1, "d3").await,
        Code::NotFound,
        Reason::SessionNotFound,
    );
}

#[tokio::test]
async fn r2_r3_r5_moves_that_the_rules_forbid() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let before = service.get(&session).await;
    for (mv, why) in [
        ("i9", "OFF_BOARD"),
        ("a0", "OFF_BOARD"),
        ("d4", "OCCUPIED"),
        ("a1", "TURNS_NOTHING"),
        ("pass", "MUST_MOVE"),
    ] {
        let answer = service.play(&session, "ann", 1, mv).await;
        let status = refused(answer, Code::InvalidArgument, Reason::IllegalMove);
        assert_eq!(metadata(&status, "why").as_deref(), Some(why), "{mv}");
    }
    for mv in ["3d", "resign", "黑"] {
        refused(
            service.play(&session, "ann", 1, mv).await,
            Code::InvalidArgument,
            Reason::NotAMove,
        );
    }
    refused(
        service.play(&session, "ann", 1, "").await,
        Code::InvalidArgument,
        Reason::Required,
    );
    refused(
        service.play(&session, "ann", 1, "d\n3").await,
        Code::InvalidArgument,
        Reason::ControlCharacter,
    );
    refused(
        service.play(&session, "ann", 1, &"d".repeat(65)).await,
        Code::InvalidArgument,
        Reason::TextTooLong,
    );
    refused(
        service.play(&session, "ann", 0, "d3").await,
        Code::InvalidArgument,
        Reason::Required,
    );
    assert_eq!(service.get(&session).await.cursor, before.cursor);
}

#[tokio::test]
async fn s26_s27_who_may_not_act_and_when() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    refused(
        service.play(&session, "bob", 1, "d3").await,
        Code::FailedPrecondition,
        Reason::NotYourTurn,
    );
    refused(
        service.play(&session, "eve", 1, "d3").await,
        Code::PermissionDenied,
        Reason::NotSeated,
    );
    let status = refused(
        service.play(&session, "ann", 5, "d3").await,
        Code::Aborted,
        Reason::Stale,
    );
    assert_eq!(metadata(&status, "ply").as_deref(), Some("1"));

    // S-26: a sequence that position or mover have left behind.
    service.play(&session, "ann", 1, "d3").await.unwrap();
    let stale = v1::PlayRequest {
        request_id: "stale".into(),
        session_id: session.clone(),
        player_id: "bob".into(),
        expected_sequence: Some(1),
        ply: 2,
        r#move: "c3".into(),
    };
    let answer = service.sessions().play(stale).await;
    let status = refused(answer, Code::Aborted, Reason::Stale);
    assert_eq!(metadata(&status, "sequence").as_deref(), Some("3"));

    let resign = v1::ResignRequest {
        request_id: "resign".into(),
        session_id: session.clone(),
        player_id: "bob".into(),
        expected_sequence: None,
    };
    service.sessions().resign(resign).await.unwrap();
    let answer = service.play(&session, "bob", 2, "c3").await;
    refused(answer, Code::FailedPrecondition, Reason::SessionEnded);
}

#[tokio::test]
async fn s27_one_player_cannot_take_both_seats() {
    let service = Service::start().await;
    let answer = service.sessions().create_session(creation("ann", "ann")).await;
    let status = refused(answer, Code::InvalidArgument, Reason::SamePlayer);
    assert_eq!(bad_fields(&status), ["seat_2_player_id"]);

    let open = service.create(creation("ann", "")).await;
    let join = v1::JoinSessionRequest {
        request_id: "join".into(),
        session_id: open.session_id,
        player_id: "ann".into(),
        invitation_token: open.invitation_token,
        ready: false,
    };
    let answer = service.sessions().join_session(join).await;
    refused(answer, Code::FailedPrecondition, Reason::SamePlayer);
}

#[tokio::test]
async fn settings_out_of_bounds_are_told_all_at_once() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.settings = Some(v1::SessionSettings {
        games: 33,
        move_time: seconds(0),
        total_time: seconds(86_401),
        animation: seconds(86_401),
        ready_time: seconds(-1),
        resign_guard: Some(prost_types::Duration { seconds: 0, nanos: 1 }),
        ..common::settings()
    });
    let answer = service.sessions().create_session(request).await;
    let status = refused(answer, Code::InvalidArgument, Reason::BadSettings);
    let mut fields = bad_fields(&status);
    fields.sort();
    assert_eq!(
        fields,
        [
            "animation",
            "games",
            "move_time",
            "ready_time",
            "resign_guard",
            "total_time"
        ]
        .map(|field| format!("settings.{field}"))
    );

    // The bounds themselves are allowed: 0 for animation, ready time and resign guard.
    let mut request = creation("ann", "bob");
    request.settings = Some(v1::SessionSettings {
        move_time: seconds(1),
        total_time: seconds(86_400),
        animation: seconds(0),
        ready_time: seconds(0),
        resign_guard: seconds(0),
        ..common::settings()
    });
    service.create(request).await;
}

#[tokio::test]
async fn texts_that_are_too_long_or_hold_control_characters() {
    let service = Service::start().await;
    let create = async |change: &dyn Fn(&mut v1::CreateSessionRequest)| {
        let mut request = creation("ann", "bob");
        change(&mut request);
        service.sessions().create_session(request).await
    };
    let long = create(&|request| request.seat_1_player_id = "x".repeat(129)).await;
    refused(long, Code::InvalidArgument, Reason::TextTooLong);
    let long = create(&|request| request.request_id = "x".repeat(65)).await;
    refused(long, Code::InvalidArgument, Reason::TextTooLong);
    let control = create(&|request| request.seat_2_player_id = "bob\u{7}".into()).await;
    refused(control, Code::InvalidArgument, Reason::ControlCharacter);
    let control = create(&|request| request.request_id = "a\r\nb".into()).await;
    refused(control, Code::InvalidArgument, Reason::ControlCharacter);
    let empty = create(&|request| request.request_id.clear()).await;
    refused(empty, Code::InvalidArgument, Reason::Required);
    let huge = create(&|request| request.request_id = "x".repeat(100_000)).await;
    refused(huge, Code::InvalidArgument, Reason::MessageTooLarge);
    // The longest that is allowed.
    create(&|request| {
        request.seat_1_player_id = "x".repeat(128);
        request.request_id = "x".repeat(64);
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn s13_resigning_in_the_first_minute_tells_from_when_it_is_allowed() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.settings.as_mut().unwrap().resign_guard = None;
    let session = service.create(request).await.session_id;
    let resign = v1::ResignRequest {
        request_id: "resign".into(),
        session_id: session.clone(),
        player_id: "ann".into(),
        expected_sequence: None,
    };
    let answer = service.sessions().resign(resign).await;
    let status = refused(answer, Code::FailedPrecondition, Reason::ResignTooEarly);
    let shown = service.get(&session).await;
    let from = shown.resign_allowed_from.unwrap();
    let from_ms = from.seconds * 1_000 + i64::from(from.nanos) / 1_000_000;
    assert_eq!(metadata(&status, "allowed_from_ms"), Some(from_ms.to_string()));
    assert_eq!(shown.phase(), v1::SessionPhase::Playing);
}

#[tokio::test]
async fn s14_r17_offers_that_are_gone_or_not_possible() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let answer = |player: &str, offer_id: u32| v1::AnswerOfferRequest {
        request_id: format!("answer-{player}-{offer_id}"),
        session_id: session.clone(),
        player_id: player.into(),
        expected_sequence: None,
        offer_id,
        accept: true,
    };
    let offer = |player: &str, kind: i32| v1::MakeOfferRequest {
        request_id: format!("offer-{player}-{kind}"),
        session_id: session.clone(),
        player_id: player.into(),
        expected_sequence: None,
        kind,
    };
    let mut sessions = service.sessions();
    refused(
        sessions.answer_offer(answer("bob", 1)).await,
        Code::FailedPrecondition,
        Reason::OfferGone,
    );
    refused(
        sessions.answer_offer(answer("bob", 0)).await,
        Code::InvalidArgument,
        Reason::Required,
    );
    refused(
        sessions.make_offer(offer("ann", 0)).await,
        Code::InvalidArgument,
        Reason::Required,
    );
    refused(
        sessions.make_offer(offer("ann", 77)).await,
        Code::InvalidArgument,
        Reason::BadValue,
    );
    let draw = sessions
        .make_offer(offer("ann", v1::OfferKind::Draw.into()))
        .await;
    refused(draw, Code::FailedPrecondition, Reason::OfferNotAllowed);

    sessions
        .make_offer(offer("ann", v1::OfferKind::Exit.into()))
        .await
        .unwrap();
    // One's own offer is not one's to answer.
    refused(
        sessions.answer_offer(answer("ann", 1)).await,
        Code::FailedPrecondition,
        Reason::OfferGone,
    );
    // It lapses when its maker moves.
    service.play(&session, "ann", 1, "d3").await.unwrap();
    refused(
        sessions.answer_offer(answer("bob", 1)).await,
        Code::FailedPrecondition,
        Reason::OfferGone,
    );
    let again = v1::MakeOfferRequest {
        request_id: "again".into(),
        ..offer("ann", v1::OfferKind::Exit.into())
    };
    refused(
        sessions.make_offer(again).await,
        Code::FailedPrecondition,
        Reason::OfferTooSoon,
    );
}

#[tokio::test]
async fn bad_cursors_tokens_and_numbers() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let mut sessions = service.sessions();
    let watch = v1::WatchSessionRequest {
        session_id: session.clone(),
        viewer_id: String::new(),
        cursor: "no cursor".into(),
    };
    refused(
        sessions.watch_session(watch).await.map(|_| ()),
        Code::InvalidArgument,
        Reason::BadCursor,
    );
    let list = |page_size, page_token: &str| v1::ListSessionsRequest {
        page_size,
        page_token: page_token.into(),
        unfinished_only: false,
    };
    refused(
        sessions.list_sessions(list(101, "")).await,
        Code::InvalidArgument,
        Reason::BadValue,
    );
    refused(
        sessions.list_sessions(list(0, "AAAAAAAAAAAA")).await,
        Code::InvalidArgument,
        Reason::BadPageToken,
    );
    let results = v1::StreamResultsRequest {
        cursor: "x".into(),
        follow: false,
    };
    let answer = service.results().stream_results(results).await.map(|_| ());
    refused(answer, Code::InvalidArgument, Reason::BadCursor);
    let export = |game_number, format| v1::ExportGameRequest {
        session_id: session.clone(),
        game_number,
        format,
        viewer_id: String::new(),
    };
    refused(
        sessions.export_game(export(2, 0)).await,
        Code::NotFound,
        Reason::GameNotFound,
    );
    refused(
        sessions.export_game(export(1, 9)).await,
        Code::InvalidArgument,
        Reason::BadValue,
    );
    let player = v1::GetPlayerRequest {
        player_id: "ann".into(),
        game_kind: 0,
    };
    refused(
        service.players().get_player(player).await,
        Code::InvalidArgument,
        Reason::Required,
    );
    let due = v1::FireDueRequest { shard: 4, limit: 0 };
    let status = refused(
        service.internals().fire_due(due).await,
        Code::InvalidArgument,
        Reason::BadValue,
    );
    assert_eq!(bad_fields(&status), ["shard", "limit"]);
}

/// Sends bytes as they are.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

#[tokio::test]
async fn bytes_that_are_no_message_or_no_utf8_are_the_callers_fault() {
    let service = Service::start().await;
    let send = async |bytes: &[u8]| {
        let mut client = tonic::client::Grpc::new(service.public.clone());
        client.ready().await.unwrap();
        let path = http::uri::PathAndQuery::from_static("/tablemate.v1.SessionService/GetSession");
        client.unary(tonic::Request::new(bytes.to_vec()), path, Raw).await
    };
    // Field 1, two bytes: not UTF-8.
    let answer = send(&[0x0a, 2, 0xff, 0xfe]).await;
    refused(answer, Code::InvalidArgument, Reason::MalformedMessage);
    // Field 1, said to be longer than it is.
    let answer = send(&[0x0a, 200, b'x']).await;
    refused(answer, Code::InvalidArgument, Reason::MalformedMessage);
    // The same way, a valid one arrives.
    let answer = send(&[0x0a, 1, b'x']).await;
    refused(answer, Code::InvalidArgument, Reason::MalformedId);
}

#[tokio::test]
async fn s3_s25_what_changes_nothing_is_refused_and_what_is_limited_too() {
    let service = Service::start().await;
    let mut request = creation("ann", "bob");
    request.seat_1_ready = false;
    request.seat_2_ready = false;
    let session = service.create(request).await.session_id;
    let mut sessions = service.sessions();
    let set = |n: u32, ready| v1::SetReadyRequest {
        request_id: format!("set-{n}"),
        session_id: session.clone(),
        player_id: "ann".into(),
        expected_sequence: None,
        ready,
        number: None,
    };
    refused(
        sessions.set_ready(set(0, false)).await,
        Code::FailedPrecondition,
        Reason::NoChange,
    );
    for n in 0..3 {
        sessions.set_ready(set(2 * n + 1, true)).await.unwrap();
        sessions.set_ready(set(2 * n + 2, false)).await.unwrap();
    }
    sessions.set_ready(set(7, true)).await.unwrap();
    refused(
        sessions.set_ready(set(8, false)).await,
        Code::FailedPrecondition,
        Reason::ReadyLimit,
    );
    let number = v1::SetReadyRequest {
        number: Some(300),
        ..set(9, true)
    };
    refused(
        sessions.set_ready(number).await,
        Code::InvalidArgument,
        Reason::BadValue,
    );
    refused(
        service.play(&session, "ann", 1, "d3").await,
        Code::FailedPrecondition,
        Reason::GameNotOn,
    );
}
