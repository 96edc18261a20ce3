//! Tickets through gRPC, with a game service that does what the test wants.
#![allow(clippy::unwrap_used, clippy::panic)] // Tests may.

mod common;

use std::collections::HashSet;
use std::time::Duration;

use common::games::{FakeGames, Mood};
use common::service::{Service, asks, asks_ready, options, reversi};
use common::whole::on_each_store;
use common::{stores, until};
use tablemate_protocol::convert::Reason;
use tablemate_protocol::v1::{CreateTicketRequest, SessionSettings, Ticket, TicketState};
use tablemate_session::Millis;
use tablemate_store::Stores;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

async fn start() -> (FakeGames, Service) {
    start_on(stores()).await
}

async fn start_on(stores: Stores) -> (FakeGames, Service) {
    let games = FakeGames::start().await;
    let service = Service::start(stores, options(&[games.address])).await;
    (games, service)
}

fn metadata(status: &Status, key: &str) -> String {
    let info = status.get_details_error_info().unwrap();
    info.metadata.get(key).cloned().unwrap_or_default()
}

async fn becomes(service: &Service, ticket: &Ticket, state: TicketState) -> Ticket {
    until(&format!("ticket becomes {state:?}"), async || {
        service.get(ticket).await.unwrap().state() == state
    })
    .await;
    service.get(ticket).await.unwrap()
}

#[tokio::test]
async fn s1_two_tickets_are_paired_on_arrival_who_waited_longer_on_seat_1_ready_flags_carried_over() {
    let (games, service) = start().await;
    let ann = service.create(asks("ann", "1")).await.unwrap();
    assert_eq!(ann.state(), TicketState::Searching);
    assert_eq!((ann.session_id.as_str(), ann.seat), ("", 0));
    let bob = service.create(asks_ready("bob", "1")).await.unwrap();
    assert_eq!((bob.state(), bob.seat), (TicketState::Matched, 2));
    let creation = games.created(&bob.session_id).unwrap();
    assert_eq!(
        (creation.seat_1_player_id, creation.seat_2_player_id),
        ("ann".into(), "bob".into())
    );
    assert_eq!((creation.seat_1_ready, creation.seat_2_ready), (false, true));
    assert_eq!(creation.settings, bob.settings);
    let ann = service.get(&ann).await.unwrap();
    assert_eq!((ann.state(), ann.seat), (TicketState::Matched, 1));
    assert_eq!(ann.session_id, bob.session_id);
    assert_eq!(games.sessions(), 1);
}

#[tokio::test]
async fn matched_names_only_a_session_that_exists() {
    let (games, service) = start().await;
    games.feels(Mood::Wait);
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let mut watch = service.watch(&ann).await.unwrap();
    let first = watch.message().await.unwrap().unwrap();
    assert_eq!(first.ticket.unwrap().state(), TicketState::Searching);
    assert!(first.server_now.is_some());
    let second = service.create(asks("bob", "1"));
    let meanwhile = async {
        games.asked(1).await;
        let ann = service.get(&ann).await.unwrap();
        assert_eq!(
            (ann.state(), ann.session_id.as_str()),
            (TicketState::Searching, "")
        );
        games.feels(Mood::Create);
    };
    let (bob, ()) = tokio::join!(second, meanwhile);
    let bob = bob.unwrap();
    assert_eq!(bob.state(), TicketState::Matched);
    // The watcher hears it, and then its stream ends.
    let last = watch.message().await.unwrap().unwrap().ticket.unwrap();
    assert_eq!((last.state(), last.seat), (TicketState::Matched, 1));
    assert_eq!(last.session_id, bob.session_id);
    assert!(watch.message().await.unwrap().is_none());
}

#[tokio::test]
async fn a_match_whose_creation_fails_or_loses_its_answer_is_finished_by_a_worker() {
    for mood in [Mood::Unavailable, Mood::LoseAnswer] {
        let (games, service) = start().await;
        games.feels(mood);
        let ann = service.create(asks("ann", "1")).await.unwrap();
        let bob = service.create(asks("bob", "1")).await.unwrap();
        assert_eq!(bob.state(), TicketState::Searching);
        games.feels(Mood::Create);
        let ann = becomes(&service, &ann, TicketState::Matched).await;
        let bob = becomes(&service, &bob, TicketState::Matched).await;
        assert_eq!(ann.session_id, bob.session_id);
        assert!(games.created(&ann.session_id).is_some());
        assert_eq!(games.sessions(), 1);
    }
}

#[tokio::test]
async fn a_match_is_finished_by_another_matchmaker_when_its_own_cannot() {
    let stores = stores();
    let (broken, sound) = (FakeGames::start().await, FakeGames::start().await);
    broken.feels(Mood::Unavailable);
    let first = Service::start(stores.clone(), options(&[broken.address])).await;
    let second = Service::start(stores, options(&[sound.address])).await;
    let ann = first.create(asks("ann", "1")).await.unwrap();
    let bob = first.create(asks("bob", "1")).await.unwrap();
    let bob = becomes(&second, &bob, TicketState::Matched).await;
    assert_eq!(
        becomes(&first, &ann, TicketState::Matched).await.session_id,
        bob.session_id
    );
    assert!(sound.created(&bob.session_id).is_some());
}

#[tokio::test]
async fn calls_fail_over_to_the_next_game_service() {
    let (broken, sound) = (FakeGames::start().await, FakeGames::start().await);
    broken.feels(Mood::Unavailable);
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let service = Service::start(stores(), options(&[broken.address, gone, sound.address])).await;
    for pair in 0..6 {
        service.create(asks(&format!("one {pair}"), "1")).await.unwrap();
        let ticket = service.create(asks(&format!("two {pair}"), "1")).await.unwrap();
        assert_eq!(ticket.state(), TicketState::Matched);
    }
    assert_eq!(sound.sessions(), 6);
}

#[tokio::test]
async fn a_match_whose_session_is_refused_for_good_becomes_void_and_its_players_are_free() {
    let (games, service) = start().await;
    games.feels(Mood::Refuse);
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let bob = service.create(asks("bob", "1")).await.unwrap();
    assert_eq!(bob.state(), TicketState::Cancelled);
    assert_eq!(service.get(&ann).await.unwrap().state(), TicketState::Cancelled);
    assert_eq!(games.sessions(), 0);
    games.feels(Mood::Create);
    service.create(asks("ann", "2")).await.unwrap();
    assert_eq!(
        service.create(asks("bob", "2")).await.unwrap().state(),
        TicketState::Matched
    );
}

#[tokio::test]
async fn s25_the_same_creation_again_finds_the_first_ticket() {
    let (games, service) = start().await;
    let first = service.create(asks("ann", "1")).await.unwrap();
    assert_eq!(service.create(asks("ann", "1")).await.unwrap(), first);
    let bob = service.create(asks("bob", "1")).await.unwrap();
    assert_eq!(service.create(asks("bob", "1")).await.unwrap(), bob);
    let again = service.create(asks("ann", "1")).await.unwrap();
    assert_eq!(
        (again.ticket_id, again.session_id),
        (first.ticket_id, bob.session_id)
    );
    assert_eq!(games.sessions(), 1);
    let status = service.create(asks_ready("ann", "1")).await.unwrap_err();
    assert_eq!(Reason::of(&status), Some(Reason::RequestIdReused));
}

#[tokio::test]
async fn s28_a_ticket_that_still_searches_is_replaced() {
    let (_games, service) = start().await;
    let first = service.create(asks("ann", "1")).await.unwrap();
    let mut watch = service.watch(&first).await.unwrap();
    watch.message().await.unwrap().unwrap();
    let second = service.create(asks("ann", "2")).await.unwrap();
    assert_eq!(second.state(), TicketState::Searching);
    let told = watch.message().await.unwrap().unwrap().ticket.unwrap();
    assert_eq!(
        (told.state(), told.next_ticket_id),
        (TicketState::Cancelled, second.ticket_id.clone())
    );
    assert!(watch.message().await.unwrap().is_none());
    let bob = service.create(asks("bob", "1")).await.unwrap();
    assert_eq!(service.get(&second).await.unwrap().session_id, bob.session_id);
    assert_eq!(service.get(&first).await.unwrap().session_id, "");
}

#[tokio::test]
async fn a_cancelled_ticket_is_never_matched_and_cancelling_again_answers_the_same() {
    let (_games, service) = start().await;
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let cancelled = service.cancel(&ann).await.unwrap();
    assert_eq!(cancelled.state(), TicketState::Cancelled);
    assert_eq!(service.cancel(&ann).await.unwrap(), cancelled);
    let bob = service.create(asks("bob", "1")).await.unwrap();
    assert_eq!(bob.state(), TicketState::Searching);
    // The creation repeated does not bring it back.
    assert_eq!(service.create(asks("ann", "1")).await.unwrap(), cancelled);
}

#[tokio::test]
async fn cancelling_a_paired_ticket_finishes_its_session_and_says_so() {
    let (games, service) = start().await;
    games.feels(Mood::Wait);
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let second = service.create(asks("bob", "1"));
    let cancel = async {
        games.asked(1).await;
        let cancel = service.cancel(&ann);
        let go = async {
            // The cancellation asks for the session itself.
            games.asked(2).await;
            games.feels(Mood::Create);
        };
        tokio::join!(cancel, go).0
    };
    let (bob, cancelled) = tokio::join!(second, cancel);
    let status = cancelled.unwrap_err();
    assert_eq!(
        (status.code(), Reason::of(&status)),
        (Code::FailedPrecondition, Some(Reason::AlreadyMatched))
    );
    assert_eq!(metadata(&status, "session_id"), bob.unwrap().session_id);
    assert!(games.created(&metadata(&status, "session_id")).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelling_and_pairing_are_one_order_for_everybody() {
    on_each_store(cancelling_races_pairing).await;
}

async fn cancelling_races_pairing(stores: Stores) {
    let (games, service) = start_on(stores).await;
    let (mut cancelled, mut matched) = (0, 0);
    for round in 0..100 {
        let ann = service.create(asks("ann", &format!("{round}"))).await;
        let Ok(ann) = ann else { panic!("{ann:?}") };
        let player = format!("bob {round}");
        let (cancel, bob) = tokio::join!(service.cancel(&ann), service.create(asks(&player, "1")));
        let bob = bob.unwrap();
        match cancel {
            Ok(ticket) => {
                cancelled += 1;
                assert_eq!(ticket.state(), TicketState::Cancelled);
                assert_eq!(bob.state(), TicketState::Searching);
                service.cancel(&bob).await.unwrap();
            }
            Err(status) => {
                matched += 1;
                assert_eq!(Reason::of(&status), Some(Reason::AlreadyMatched));
                assert_eq!(bob.state(), TicketState::Matched);
                assert_eq!(metadata(&status, "session_id"), bob.session_id);
            }
        }
    }
    assert_eq!(cancelled + matched, 100);
    assert_eq!(games.sessions(), matched);
}

#[tokio::test]
async fn a_ticket_that_waited_too_long_expires_and_is_never_matched() {
    let games = FakeGames::start().await;
    let short = tablemate_matchmaker::Options {
        ticket_lifetime: Millis(40),
        ..options(&[games.address])
    };
    let service = Service::start(stores(), short).await;
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let mut watch = service.watch(&ann).await.unwrap();
    watch.message().await.unwrap().unwrap();
    let told = watch.message().await.unwrap().unwrap().ticket.unwrap();
    assert_eq!(told.state(), TicketState::Expired);
    assert!(watch.message().await.unwrap().is_none());
    let bob = service.create(asks("bob", "1")).await.unwrap();
    assert_eq!(bob.state(), TicketState::Searching);
    assert_eq!(service.get(&ann).await.unwrap().state(), TicketState::Expired);
}

#[tokio::test]
async fn only_tickets_with_equal_settings_are_paired_however_they_are_spelled() {
    let (_games, service) = start().await;
    let quick = SessionSettings {
        move_time: Some(prost_types::Duration { seconds: 5, nanos: 0 }),
        ..reversi()
    };
    let asks_quick = |player: &str| CreateTicketRequest {
        settings: Some(quick.clone()),
        ..asks(player, "1")
    };
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let bob = service.create(asks_quick("bob")).await.unwrap();
    assert_eq!(bob.state(), TicketState::Searching);
    // The defaults spelled out are the defaults.
    let spelled = CreateTicketRequest {
        settings: ann.settings.clone(),
        ..asks("cem", "1")
    };
    let cem = service.create(spelled).await.unwrap();
    assert_eq!(cem.state(), TicketState::Matched);
    assert_eq!(service.get(&ann).await.unwrap().session_id, cem.session_id);
    assert_eq!(
        service.create(asks_quick("dan")).await.unwrap().state(),
        TicketState::Matched
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s28_many_who_come_at_once_are_each_in_exactly_one_session() {
    on_each_store(many_come_at_once).await;
}

async fn many_come_at_once(stores: Stores) {
    let (games, service) = start_on(stores).await;
    let names: Vec<String> = (0..60).map(|number| format!("player {number}")).collect();
    let arrivals = names.iter().map(|name| service.create(asks_ready(name, "1")));
    for ticket in futures::future::join_all(arrivals).await {
        let ticket = ticket.unwrap();
        becomes(&service, &ticket, TicketState::Matched).await;
    }
    assert_eq!(games.sessions(), 30);
    let mut seated = HashSet::new();
    for name in &names {
        let ticket = service.create(asks_ready(name, "1")).await.unwrap();
        let creation = games.created(&ticket.session_id).unwrap();
        let of_seat = [creation.seat_1_player_id, creation.seat_2_player_id];
        assert_eq!(&of_seat[ticket.seat as usize - 1], name);
        assert!(seated.insert((ticket.session_id, ticket.seat)));
    }
}

#[tokio::test]
async fn bad_requests_are_refused_with_everything_that_is_wrong() {
    let (_games, service) = start().await;
    let bad = CreateTicketRequest {
        request_id: String::new(),
        player_id: "x".repeat(129),
        settings: Some(SessionSettings {
            games: 33,
            move_time: Some(prost_types::Duration { seconds: 0, nanos: 0 }),
            ..reversi()
        }),
        ready: false,
    };
    let status = service.create(bad).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let details = status.get_error_details();
    let violations = &details.bad_request().unwrap().field_violations;
    let fields: Vec<_> = violations
        .iter()
        .map(|violation| violation.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["request_id", "player_id", "settings.games", "settings.move_time"]
    );
}

#[tokio::test]
async fn s24_nobody_learns_of_another_players_ticket() {
    let (_games, service) = start().await;
    let ann = service.create(asks("ann", "1")).await.unwrap();
    let stolen = Ticket {
        player_id: "bob".into(),
        ..ann.clone()
    };
    let unknown = Ticket {
        ticket_id: "0".repeat(20),
        ..ann.clone()
    };
    for ticket in [&stolen, &unknown] {
        for status in [
            service.get(ticket).await.unwrap_err(),
            service.cancel(ticket).await.unwrap_err(),
            service.watch(ticket).await.unwrap_err(),
        ] {
            assert_eq!(
                (status.code(), Reason::of(&status)),
                (Code::NotFound, Some(Reason::TicketNotFound))
            );
        }
    }
    assert_eq!(service.get(&ann).await.unwrap().state(), TicketState::Searching);
    let malformed = Ticket {
        ticket_id: "no ticket".into(),
        ..ann
    };
    let status = service.get(&malformed).await.unwrap_err();
    assert_eq!(Reason::of(&status), Some(Reason::MalformedId));
}

#[tokio::test]
async fn at_shutdown_streams_end_with_a_reason_and_another_replica_goes_on() {
    let stores = stores();
    let games = FakeGames::start().await;
    let first = Service::start(stores.clone(), options(&[games.address])).await;
    let second = Service::start(stores.clone(), options(&[games.address])).await;
    let ann = first.create(asks("ann", "1")).await.unwrap();
    let mut watch = first.watch(&ann).await.unwrap();
    watch.message().await.unwrap().unwrap();
    first.stop().await;
    let status = watch.message().await.unwrap_err();
    assert_eq!(
        (status.code(), Reason::of(&status)),
        (Code::Unavailable, Some(Reason::ShuttingDown))
    );
    let mut watch = second.watch(&ann).await.unwrap();
    watch.message().await.unwrap().unwrap();
    let bob = second.create(asks("bob", "1")).await.unwrap();
    let told = watch.message().await.unwrap().unwrap().ticket.unwrap();
    assert_eq!(told.session_id, bob.session_id);
}

#[tokio::test]
async fn a_call_that_takes_longer_than_its_caller_waits_is_told_so() {
    let (games, service) = start().await;
    games.feels(Mood::Wait);
    service.create(asks("ann", "1")).await.unwrap();
    let mut request = tonic::Request::new(asks("bob", "1"));
    request.set_timeout(Duration::from_millis(200));
    let address = format!("http://{}", service.address);
    let mut client =
        tablemate_protocol::v1::matchmaking_service_client::MatchmakingServiceClient::connect(address)
            .await
            .unwrap();
    let status = client.create_ticket(request).await.unwrap_err();
    // The caller's own clock and ours run against each other; nobody says CANCELLED for the server.
    assert!(
        matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled),
        "{status:?}"
    );
    games.feels(Mood::Create);
    let again = service.create(asks("bob", "1")).await.unwrap();
    becomes(&service, &again, TicketState::Matched).await;
}
