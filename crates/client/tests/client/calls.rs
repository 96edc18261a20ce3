//! What a call does when services refuse, are away, or say nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::fake::{OnPlay, Script};
use tablemate_client::{Client, Config, Error, Reason, v1};
use tablemate_protocol::convert::Refusal;
use tonic::{Code, Status};

fn quick() -> Config {
    Config {
        attempt_timeout: Duration::from_millis(300),
        budget: Duration::from_secs(5),
        first_backoff: Duration::from_millis(2),
        max_backoff: Duration::from_millis(20),
        ..Config::default()
    }
}

fn client(addresses: &[String], config: Config) -> Client {
    Client::with_config(addresses, &[], config).unwrap()
}

fn refusal(reason: Reason) -> Status {
    Refusal::new(reason, "words").with("ply", 7).into()
}

async fn play(client: &Client) -> Result<v1::PlayResponse, Error> {
    client.play(v1::PlayRequest::default()).await
}

#[tokio::test]
async fn an_unknown_outcome_is_tried_again_elsewhere_with_the_same_request_id_s25() {
    let script = Arc::new(Script::default());
    *script.plays.lock().unwrap() = [
        OnPlay::Refuse(refusal(Reason::OutcomeUnknown)),
        OnPlay::Refuse(Status::unavailable("starting")),
        OnPlay::Accept,
    ]
    .into();
    let addresses = crate::fake::start(&script, 2).await;
    let client = client(&addresses, quick());
    play(&client).await.unwrap();

    let played = script.played.lock().unwrap().clone();
    let replicas: Vec<usize> = played.iter().map(|(replica, _)| *replica).collect();
    assert!(
        matches!(*replicas, [0, 1, 0] | [1, 0, 1]),
        "round robin: {replicas:?}"
    );
    let ids: Vec<&str> = played
        .iter()
        .map(|(_, request)| request.request_id.as_str())
        .collect();
    assert_eq!(ids[0].len(), 16);
    assert_eq!(ids, [ids[0]; 3]);
}

#[tokio::test]
async fn each_call_has_a_request_id_of_its_own_and_a_given_one_is_kept_s25() {
    let script = Arc::new(Script::default());
    let addresses = crate::fake::start(&script, 1).await;
    let client = client(&addresses, quick());
    play(&client).await.unwrap();
    play(&client).await.unwrap();
    let request = v1::PlayRequest {
        request_id: "mine".into(),
        ..Default::default()
    };
    client.play(request).await.unwrap();

    let played = script.played.lock().unwrap().clone();
    assert_ne!(played[0].1.request_id, played[1].1.request_id);
    assert_eq!(played[2].1.request_id, "mine");
}

#[tokio::test]
async fn a_refusal_is_final_and_typed() {
    for reason in [Reason::Stale, Reason::IllegalMove, Reason::Overloaded] {
        let script = Arc::new(Script::default());
        *script.plays.lock().unwrap() = [OnPlay::Refuse(refusal(reason))].into();
        let addresses = crate::fake::start(&script, 1).await;
        let error = play(&client(&addresses, quick())).await.unwrap_err();

        assert!(error.is(reason), "{error}");
        let refused = error.refusal().unwrap();
        assert_eq!(refused.code, reason.code());
        assert_eq!(refused.number("ply"), Some(7));
        assert_eq!(script.played.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn the_budget_bounds_the_attempts() {
    let script = Arc::new(Script::default());
    let unavailable = OnPlay::Refuse(Status::unavailable("away"));
    script.plays.lock().unwrap().extend(vec![unavailable; 10_000]);
    let addresses = crate::fake::start(&script, 2).await;
    let config = Config {
        budget: Duration::from_millis(200),
        ..quick()
    };
    let began = Instant::now();
    let error = play(&client(&addresses, config)).await.unwrap_err();

    assert!(began.elapsed() < Duration::from_secs(2));
    let Error::Unavailable {
        attempts,
        outcome_unknown,
        last,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert!(attempts > 2, "{attempts}");
    assert_eq!(attempts as usize, script.played.lock().unwrap().len());
    assert!(!outcome_unknown);
    assert_eq!(last.code, Code::Unavailable);
}

#[tokio::test]
async fn the_service_says_how_long_to_wait() {
    let script = Arc::new(Script::default());
    let away: Status = Refusal::new(Reason::StoreUnavailable, "away")
        .retry_after(Duration::from_millis(150))
        .into();
    *script.plays.lock().unwrap() = [OnPlay::Refuse(away)].into();
    let addresses = crate::fake::start(&script, 1).await;
    let began = Instant::now();
    play(&client(&addresses, quick())).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn an_address_without_a_listener_is_passed_over() {
    let script = Arc::new(Script::default());
    let mut addresses = crate::fake::start(&script, 1).await;
    addresses.push(crate::fake::nobody().await.to_string());
    let client = client(&addresses, quick());
    let began = Instant::now();
    for _ in 0..50 {
        play(&client).await.unwrap();
    }
    assert_eq!(script.played.lock().unwrap().len(), 50);
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_replica_that_says_nothing_is_given_up_and_the_call_made_elsewhere() {
    let script = Arc::new(Script::default());
    *script.plays.lock().unwrap() = [OnPlay::Hang].into();
    let addresses = crate::fake::start(&script, 2).await;
    play(&client(&addresses, quick())).await.unwrap();
    let played = script.played.lock().unwrap().clone();
    assert_eq!(played.len(), 2);
    assert_eq!(played[0].1, played[1].1);
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_call_leaves_an_unknown_outcome() {
    let address = crate::fake::dropper().await.to_string();
    let config = Config {
        budget: Duration::from_millis(100),
        ..quick()
    };
    let error = play(&client(std::slice::from_ref(&address), config))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Unavailable {
                outcome_unknown: true,
                ..
            }
        ),
        "{error:?}"
    );

    let script = Arc::new(Script::default());
    let mut addresses = crate::fake::start(&script, 1).await;
    addresses.push(address);
    let client = client(&addresses, quick());
    for _ in 0..10 {
        play(&client).await.unwrap();
    }
}

#[test]
fn addresses_are_checked() {
    assert!(matches!(
        Client::connect(Vec::<String>::new()),
        Err(Error::NoAddress)
    ));
    for bad in ["", "https://example.org:1", "http://", "a b"] {
        let error = Client::connect([bad]).unwrap_err();
        assert!(matches!(error, Error::Address { .. }), "{bad}: {error}");
    }
}
