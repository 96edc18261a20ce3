//! Tickets, deadlines and results together with a real game service, on the embedded store and on Redis.
#![allow(clippy::unwrap_used, clippy::panic)] // Tests may.

mod common;

use std::time::Duration;

use common::service::{Service, asks, asks_ready, options, reversi};
use common::whole::{Games, facts, on_each_store};
use common::{REVERSI, player, until};
use prost::Message as _;
use tablemate_matchmaker::{LoopConfig, Options};
use tablemate_protocol::convert::{Reason, time};
use tablemate_protocol::v1::{
    CreateMatchedSessionRequest, CreateSessionRequest, CreateTicketRequest, JoinSessionRequest,
    SessionEnding, SessionPhase, SessionSettings, Ticket, TicketState, VoidSessionRequest,
};
use tablemate_session::{Millis, RequestId};
use tablemate_store::hall_store::{HallId, Holder, MatchId, NewMatch};
use tablemate_store::testing::RedisServer;
use tablemate_store::{DeploymentWish, RedisStore, Stores};
use tonic_types::StatusExt as _;

async fn start(stores: &Stores) -> (Games, Service) {
    let games = Games::start(stores.clone()).await;
    let service = Service::start(stores.clone(), options(&[games.internal])).await;
    (games, service)
}

fn with(request: CreateTicketRequest, change: impl FnOnce(&mut SessionSettings)) -> CreateTicketRequest {
    let mut settings = reversi();
    change(&mut settings);
    CreateTicketRequest {
        settings: Some(settings),
        ..request
    }
}

fn seconds(seconds: i64) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos: 0 })
}

/// Two players are matched; gives the second one's ticket.
async fn matched(service: &Service, requests: [CreateTicketRequest; 2]) -> Ticket {
    let [one, two] = requests;
    service.create(one).await.unwrap();
    let ticket = service.create(two).await.unwrap();
    assert_eq!(ticket.state(), TicketState::Matched);
    ticket
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_two_players_who_queue_ready_just_play() {
    on_each_store(async |stores| {
        let (games, service) = start(&stores).await;
        let ticket = matched(&service, [asks_ready("ann", "1"), asks_ready("bob", "1")]).await;
        let session = games.session(&ticket.session_id).await;
        assert_eq!(session.phase(), SessionPhase::Playing);
        assert_eq!(session.seats[0].player_id, "ann");
        assert_eq!(session.settings, ticket.settings);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_when_one_is_ready_the_others_countdown_starts_at_once_and_a_worker_ends_it() {
    on_each_store(async |stores| {
        let (games, service) = start(&stores).await;
        let ticket = matched(&service, [asks("ann", "1"), asks_ready("bob", "1")]).await;
        let session = games.session(&ticket.session_id).await;
        assert_eq!(session.phase(), SessionPhase::Waiting);
        assert_eq!((session.seats[0].ready, session.seats[1].ready), (false, true));
        let left = time::instant(&session.countdown_deadline.unwrap())
            .since(time::instant(&session.server_now.unwrap()));
        assert!(
            left <= Millis::seconds(15) && left > Millis::seconds(10),
            "{left}"
        );

        let soon = |settings: &mut SessionSettings| settings.ready_time = seconds(1);
        let requests = [with(asks("cem", "1"), soon), with(asks_ready("dan", "1"), soon)];
        let ticket = matched(&service, requests).await;
        let created = facts(&stores, &ticket.session_id).await;
        until("a worker fires the countdown, nobody looks", async || {
            facts(&stores, &ticket.session_id).await > created
        })
        .await;
        assert_eq!(
            games.session(&ticket.session_id).await.phase(),
            SessionPhase::Playing
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s28_a_player_in_an_unfinished_session_is_busy_and_free_when_it_ends() {
    on_each_store(async |stores| {
        let (games, service) = start(&stores).await;
        let ticket = matched(&service, [asks("ann", "1"), asks("bob", "1")]).await;
        for name in ["ann", "bob"] {
            let status = service.create(asks(name, "2")).await.unwrap_err();
            assert_eq!(Reason::of(&status), Some(Reason::PlayerBusy));
            let info = status.get_details_error_info().unwrap();
            assert_eq!(info.metadata["session_id"], ticket.session_id);
        }
        games.leave(&ticket.session_id, "ann").await;
        until("the claims are released", async || {
            let holder = stores
                .halls
                .holder(&HallId::default(), REVERSI, &player("bob"))
                .await
                .unwrap();
            holder.is_none()
        })
        .await;
        let again = matched(&service, [asks("ann", "3"), asks("bob", "3")]).await;
        assert_ne!(again.session_id, ticket.session_id);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s28_a_claim_of_an_ended_session_is_taken_over_without_any_worker() {
    on_each_store(async |stores| {
        let games = Games::start(stores.clone()).await;
        let service = Service::start_without_loops(stores.clone(), options(&[games.internal])).await;
        let ticket = matched(&service, [asks("ann", "1"), asks("bob", "1")]).await;
        games.leave(&ticket.session_id, "ann").await;
        matched(&service, [asks("ann", "2"), asks("bob", "2")]).await;

        // S-11: the session has ended at its deadline, although nobody has fired it.
        let idle = |settings: &mut SessionSettings| settings.idle_time = seconds(1);
        let requests = [with(asks("cem", "1"), idle), with(asks("dan", "1"), idle)];
        let ticket = matched(&service, requests).await;
        until("cem is free when the time is over", async || {
            service.create(asks("cem", "2")).await.is_ok()
        })
        .await;
        assert_eq!(
            games.session(&ticket.session_id).await.ending(),
            SessionEnding::Idle
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s20_a_finished_game_is_settled_once_though_two_matchmakers_work() {
    on_each_store(async |stores| {
        let (games, service) = start(&stores).await;
        let _second = Service::start(stores.clone(), options(&[games.internal])).await;
        let free = |settings: &mut SessionSettings| settings.resign_guard = seconds(0);
        for round in 1..=5_u64 {
            let requests = [
                with(asks_ready("ann", &round.to_string()), free),
                with(asks_ready("bob", &round.to_string()), free),
            ];
            let ticket = matched(&service, requests).await;
            games.resign(&ticket.session_id, "ann").await;
            until("both are settled and free", async || {
                let (ann, bob) = (games.player("ann").await, games.player("bob").await);
                let free = ann.live_session_id.is_empty() && bob.live_session_id.is_empty();
                ann.losses == round && bob.wins == round && free
            })
            .await;
        }
        let (ann, bob) = (games.player("ann").await, games.player("bob").await);
        assert_eq!((ann.points, ann.losses, ann.current_streak), (-10, 5, 0));
        assert_eq!((bob.points, bob.wins, bob.longest_streak), (10, 5, 5));
        assert!(bob.rating > 1700.0 && ann.rating < 1300.0);
        let listed = games.games_of("bob").await;
        assert_eq!(listed.len(), 5);
        assert_eq!(listed[0].rating_after, bob.rating);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s20_unrated_sessions_touch_no_record() {
    on_each_store(async |stores| {
        let (games, service) = start(&stores).await;
        let unrated = |settings: &mut SessionSettings| {
            settings.resign_guard = seconds(0);
            settings.unrated = true;
        };
        let requests = [
            with(asks_ready("ann", "1"), unrated),
            with(asks_ready("bob", "1"), unrated),
        ];
        let ticket = matched(&service, requests).await;
        games.resign(&ticket.session_id, "ann").await;
        until("the players are free", async || {
            games.player("ann").await.live_session_id.is_empty()
        })
        .await;
        let ann = games.player("ann").await;
        assert_eq!((ann.points, ann.losses, ann.rating), (0, 0, 1500.0));
        assert!(games.games_of("ann").await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_void_match_re_enters_both_players_as_new_tickets() {
    on_each_store(async |stores| {
        let (games, service) = start(&stores).await;
        let ann = service.create(asks("ann", "1")).await.unwrap();
        // Somebody voids the session that bob's ticket will make, before it is created.
        let deployment = stores.sessions.deployment();
        let bobs = deployment.ticket_id(&player("bob"), &RequestId::new("1").unwrap());
        let void = VoidSessionRequest {
            session_id: deployment.session_id_of_ticket(bobs).to_string(),
            creation: Some(CreateSessionRequest {
                seat_1_player_id: "ann".into(),
                seat_2_player_id: "bob".into(),
                settings: ann.settings.clone(),
                ..CreateSessionRequest::default()
            }),
        };
        let voided = games.internals.clone().void_session(void).await.unwrap();
        assert!(voided.into_inner().voided);

        let bob = service.create(asks("bob", "1")).await.unwrap();
        assert_eq!(
            (bob.state(), bob.session_id.as_str()),
            (TicketState::Cancelled, "")
        );
        let next = |ticket: &Ticket| Ticket {
            ticket_id: ticket.next_ticket_id.clone(),
            ..ticket.clone()
        };
        let ann = next(&service.get(&ann).await.unwrap());
        let bob = next(&bob);
        until("the re-entered tickets are matched", async || {
            let ann = service.get(&ann).await;
            ann.is_ok_and(|ann| ann.state() == TicketState::Matched)
        })
        .await;
        let bob = service.get(&bob).await.unwrap();
        let session = games.session(&bob.session_id).await;
        assert_eq!(session.phase(), SessionPhase::Waiting);
        // She waited longer: her place is kept.
        assert_eq!(session.seats[0].player_id, "ann");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crashed_game_service_began_is_finished() {
    on_each_store(async |stores| {
        let (games, _service) = start(&stores).await;
        let hall = HallId::default();
        let deployment = stores.sessions.deployment();
        // A creation of which only the match record was written.
        let id = deployment.session_id("ann", &RequestId::new("1").unwrap());
        let creation = CreateSessionRequest {
            seat_1_player_id: "ann".into(),
            settings: Some(reversi()),
            ..CreateSessionRequest::default()
        };
        let request = CreateMatchedSessionRequest {
            session_id: id.to_string(),
            creation: Some(creation),
            previous_session_id: String::new(),
        };
        let take = NewMatch {
            id: MatchId::Creation(id),
            kind: REVERSI,
            players: vec![player("ann")],
            payload: request.encode_to_vec().into(),
        };
        stores.halls.take(&hall, &take).await.unwrap();
        until("the session exists", async || {
            facts(&stores, &id.to_string()).await > 0
        })
        .await;

        // A joining of which only the match record was written.
        let open = CreateSessionRequest {
            request_id: "2".into(),
            seat_1_player_id: "bob".into(),
            settings: Some(reversi()),
            ..CreateSessionRequest::default()
        };
        let created = games
            .sessions
            .clone()
            .create_session(open)
            .await
            .unwrap()
            .into_inner();
        let join = |name: &str, token: &str| {
            let request = JoinSessionRequest {
                request_id: "3".into(),
                session_id: created.session_id.clone(),
                player_id: name.into(),
                invitation_token: token.into(),
                ready: false,
            };
            NewMatch {
                id: MatchId::Join(created.session_id.parse().unwrap(), player(name)),
                kind: REVERSI,
                players: vec![player(name)],
                payload: request.encode_to_vec().into(),
            }
        };
        stores
            .halls
            .take(&hall, &join("cem", &created.invitation_token))
            .await
            .unwrap();
        until("cem has the seat", async || {
            games.session(&created.session_id).await.seats[1].player_id == "cem"
        })
        .await;
        let holder = stores.halls.holder(&hall, REVERSI, &player("cem")).await.unwrap();
        assert_eq!(holder, Some(Holder::Session(created.session_id.parse().unwrap())));

        // One who comes too late is free again.
        stores
            .halls
            .take(&hall, &join("dan", &created.invitation_token))
            .await
            .unwrap();
        until("dan is free", async || {
            stores
                .halls
                .holder(&hall, REVERSI, &player("dan"))
                .await
                .unwrap()
                .is_none()
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlines_of_a_worker_that_died_are_fired_by_others_long_before_its_lease_ends() {
    on_each_store(async |stores| {
        let games = Games::start(stores.clone()).await;
        // Leases that do not end during the test.
        let patient = Options {
            loops: LoopConfig {
                heartbeat: Duration::from_secs(600),
                ..LoopConfig::default()
            },
            ..options(&[games.internal])
        };
        let doomed = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let first = (stores.clone(), patient.clone());
        let first = doomed
            .spawn(async { Service::start(first.0, first.1).await })
            .await
            .unwrap();
        let hall = HallId::default();
        until("the first worker is known", async || {
            let probe = tablemate_store::worker_store::WorkerId::new("probe").unwrap();
            let alive = stores.workers.heartbeat(&probe, Millis(1)).await.unwrap();
            alive
                .iter()
                .any(|worker| worker.as_str().starts_with(hall.as_str()))
        })
        .await;
        let second = Service::start(stores.clone(), patient).await;
        doomed.shutdown_background();
        drop(first);

        let soon = |settings: &mut SessionSettings| settings.ready_time = seconds(1);
        let mut sessions = Vec::new();
        for pair in 0..12 {
            let (one, two) = (format!("one {pair}"), format!("two {pair}"));
            let requests = [with(asks(&one, "1"), soon), with(asks_ready(&two, "1"), soon)];
            let ticket = matched(&second, requests).await;
            let created = facts(&stores, &ticket.session_id).await;
            sessions.push((ticket.session_id, created));
        }
        for (session, created) in sessions {
            until("the countdown is fired", async || {
                facts(&stores, &session).await > created
            })
            .await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_index_of_deadlines_lost_is_found_again() {
    let redis = RedisServer::start();
    let store = RedisStore::open(&redis.url(), DeploymentWish::default())
        .await
        .unwrap();
    let stores = Stores::from(store);
    let games = Games::start(stores.clone()).await;
    let tidy = Options {
        loops: LoopConfig {
            janitor_poll: Duration::from_millis(50),
            ..LoopConfig::default()
        },
        ..options(&[games.internal])
    };
    let service = Service::start(stores.clone(), tidy).await;
    let soon = |settings: &mut SessionSettings| settings.ready_time = seconds(1);
    let requests = [with(asks("ann", "1"), soon), with(asks_ready("bob", "1"), soon)];
    let ticket = matched(&service, requests).await;
    let created = facts(&stores, &ticket.session_id).await;
    // All sorted sets but those of halls and players.
    let lose = b"local lost = 0
        for _, key in ipairs(redis.call('KEYS', '*')) do
            if redis.call('TYPE', key).ok == 'zset' and not key:match('^{[hp]:') then
                lost = lost + redis.call('DEL', key)
            end
        end
        return lost";
    let lost =
        tokio::task::spawn_blocking(move || (format!("{:?}", redis.run(&[b"EVAL", lose, b"0"])), redis));
    let (lost, _redis) = lost.await.unwrap();
    assert_ne!(lost, "int(0)");
    until("the countdown is fired all the same", async || {
        facts(&stores, &ticket.session_id).await > created
    })
    .await;
}
