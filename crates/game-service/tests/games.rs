//! Whole games through the API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

mod common;

use common::{Service, kinds};
use tablemate_protocol::v1;

/// Plays the first legal move until the game is over; gives the last receipt.
async fn play_out(service: &Service, session: &str, players: [&str; 2]) -> v1::Receipt {
    loop {
        let shown = service.get(session).await;
        let turn = shown.turn.expect("a game is on");
        let moves = service
            .sessions()
            .list_legal_moves(v1::ListLegalMovesRequest {
                session_id: session.into(),
                viewer_id: String::new(),
            })
            .await
            .unwrap()
            .into_inner()
            .moves;
        let player = players[turn.seat as usize - 1];
        let receipt = service.play(session, player, turn.ply, &moves[0]).await.unwrap();
        if kinds(&receipt).contains(&"game_ended") {
            return receipt;
        }
    }
}

#[tokio::test]
async fn a_full_game_from_creation_to_its_result() {
    let service = Service::start().await;
    let created = service.create(common::creation("ann", "bob")).await;
    assert_eq!(kinds(&created.receipt.unwrap()), ["created", "started"]);
    let session = created.session_id;

    let receipt = play_out(&service, &session, ["ann", "bob"]).await;
    assert_eq!(kinds(&receipt).last(), Some(&"session_ended"));

    let shown = service.get(&session).await;
    assert_eq!(shown.phase(), v1::SessionPhase::Ended);
    assert_eq!(shown.ending(), v1::SessionEnding::SeriesComplete);
    let result = &shown.results[0];
    let counts = result.counts.unwrap();
    // more discs win, +2 and -2.
    let expected = match counts.black.cmp(&counts.white) {
        std::cmp::Ordering::Greater => (v1::Outcome::Seat1Wins, 2),
        std::cmp::Ordering::Less => (v1::Outcome::Seat2Wins, -2),
        std::cmp::Ordering::Equal => (v1::Outcome::Draw, 0),
    };
    assert_eq!((result.outcome(), result.seat_1_points), expected);
    assert_eq!(result.seat_1_points, -result.seat_2_points);

    // the transcript replays to the same position, and GGF names the players.
    let export = |format: v1::TranscriptFormat| v1::ExportGameRequest {
        session_id: session.clone(),
        game_number: 1,
        format: format.into(),
        viewer_id: String::new(),
    };
    let moves = service
        .sessions()
        .export_game(export(v1::TranscriptFormat::Moves))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(moves.transcript, shown.transcript);
    assert_eq!(moves.result.unwrap().counts, Some(counts));
    let ggf = service
        .sessions()
        .export_game(export(v1::TranscriptFormat::Ggf))
        .await
        .unwrap()
        .into_inner();
    assert!(ggf.transcript.starts_with("(;GM[Othello]"), "{}", ggf.transcript);
    assert!(ggf.transcript.contains("PB[ann]") && ggf.transcript.contains("PW[bob]"));
}

#[tokio::test]
async fn r12_a_move_tells_what_it_turned_and_what_comes_next() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    let receipt = service.play(&session, "ann", 1, "D3").await.unwrap();
    let Some(v1::event::Kind::Moved(moved)) = &receipt.events[0].kind else {
        panic!("{receipt:?}")
    };
    assert_eq!((moved.r#move.as_str(), moved.placed.as_str()), ("d3", "d3"));
    assert_eq!(moved.turned, ["d4"]);
    assert_eq!(moved.counts, Some(v1::DiscCounts { black: 4, white: 1 }));
    let next = moved.next.unwrap();
    assert_eq!((next.ply, next.seat, next.colour()), (2, 2, v1::Colour::White));
    assert_eq!(receipt.first_sequence, receipt.events[0].sequence);
}

#[tokio::test]
async fn s23_a_pass_is_an_event_with_words_for_each_player() {
    let service = Service::start().await;
    // Black a1, white b1 and h8's corner: black takes c1, and white has no move while black has.
    let mut creation = common::creation("ann", "bob");
    let position = format!("XO{}XO------ X", "-".repeat(54));
    let start = v1::reversi_start::Start::Position(position);
    creation.settings.as_mut().unwrap().game =
        Some(v1::session_settings::Game::Reversi(v1::ReversiSettings {
            start: Some(v1::ReversiStart { start: Some(start) }),
            ..Default::default()
        }));
    let session = service.create(creation).await.session_id;
    let receipt = service.play(&session, "ann", 1, "c1").await.unwrap();
    assert_eq!(kinds(&receipt), ["moved", "passed"]);
    // The caller is a player and gets the own words only.
    let notice = &receipt.events[1].notices[0];
    assert_eq!(notice.zh_cn, "由于对方无子可下，您可继续下子");
    assert_eq!(notice.en, "Your opponent has no legal move; you move again");
    assert_eq!(receipt.events[1].notices.len(), 1);
    let receipt = service.play(&session, "ann", 3, "c8").await.unwrap();
    assert!(kinds(&receipt).contains(&"game_ended"), "{receipt:?}");
}

#[tokio::test]
async fn s20_a_result_reaches_the_stream_of_results_with_its_transcript() {
    let service = Service::start().await;
    let session = service.playing("ann", "bob").await;
    service.play(&session, "ann", 1, "d3").await.unwrap();
    let resign = v1::ResignRequest {
        request_id: "resign".into(),
        session_id: session.clone(),
        player_id: "bob".into(),
        expected_sequence: None,
    };
    service.sessions().resign(resign).await.unwrap();

    let all = |cursor: String| v1::StreamResultsRequest {
        cursor,
        follow: false,
    };
    let mut stream = service
        .results()
        .stream_results(all(String::new()))
        .await
        .unwrap()
        .into_inner();
    let first = stream.message().await.unwrap().unwrap();
    let Some(v1::stream_results_response::Entry::Result(result)) = first.entry else {
        panic!("{first:?}")
    };
    assert_eq!(result.session_id, session);
    assert_eq!(result.transcript, "d3");
    assert_eq!(result.seat_1_player_id, "ann");
    assert_eq!(result.result.unwrap().reason(), v1::GameEndReason::Resignation);
    let second = stream.message().await.unwrap().unwrap();
    assert!(matches!(
        second.entry,
        Some(v1::stream_results_response::Entry::Ending(_))
    ));
    assert_eq!(stream.message().await.unwrap(), None);

    // S-21: from any cursor.
    let mut rest = service
        .results()
        .stream_results(all(first.cursor))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(rest.message().await.unwrap().unwrap().entry, second.entry);
    assert_eq!(rest.message().await.unwrap(), None);
}

#[tokio::test]
async fn sessions_and_players_are_listed() {
    let service = Service::start().await;
    let mut wanted = Vec::new();
    for n in 0..7 {
        wanted.push(service.playing(&format!("ann{n}"), &format!("bob{n}")).await);
    }
    let mut found = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListSessionsRequest {
            page_size: 2,
            page_token,
            unfinished_only: true,
        };
        let page = service
            .sessions()
            .list_sessions(request)
            .await
            .unwrap()
            .into_inner();
        found.extend(page.sessions.into_iter().map(|session| session.session_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    found.sort();
    found.dedup();
    wanted.sort();
    assert_eq!(found, wanted);

    let player = service
        .players()
        .get_player(v1::GetPlayerRequest {
            player_id: "ann0".into(),
            game_kind: v1::GameKind::Reversi.into(),
        })
        .await
        .unwrap()
        .into_inner()
        .player
        .unwrap();
    assert_eq!(player.rating, 1_500.0);
    assert!(wanted.contains(&player.live_session_id));
}
