//! Several processes over one Redis: any replica answers, any may die.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use tablemate_client::{Client, UpdateKind, WatchFrom, v1};
use tablemate_tests::{Deployment, Shape, Table, eventually, play_out, settings, unrated};

const SHAPE: Shape = Shape::of(2, 2);

/// Two players queue ready; gives their table once both are told the same session.
async fn two_tickets(client: &Client, names: [&str; 2], settings: v1::SessionSettings) -> Result<Table> {
    let mut tickets = Vec::new();
    for name in names {
        let created = client
            .create_ticket(v1::CreateTicketRequest {
                player_id: name.to_owned(),
                settings: Some(settings.clone()),
                ready: true,
                ..Default::default()
            })
            .await?;
        tickets.push(created.ticket.context("an answer has the ticket")?);
    }
    let mut seats = Vec::new();
    for ticket in tickets {
        let matched = eventually("the ticket is matched", || async {
            let asked = v1::GetTicketRequest {
                ticket_id: ticket.ticket_id.clone(),
                player_id: ticket.player_id.clone(),
            };
            let ticket = client.get_ticket(asked).await.ok()?.ticket?;
            (ticket.state() == v1::TicketState::Matched).then_some(ticket)
        })
        .await;
        seats.push((matched.seat, matched.player_id, matched.session_id));
    }
    seats.sort();
    let [(1, one, session), (2, two, other)] = seats.as_slice() else {
        bail!("seats: {seats:?}")
    };
    assert_eq!(session, other, "both are told the same session");
    Ok(Table {
        session: session.clone(),
        players: [one.clone(), two.clone()],
    })
}

/// All events of a session as a watcher of this client sees them, up to the session's end.
async fn watched(client: &Client, session: &str) -> Result<Vec<v1::Event>> {
    let mut watch = client.watch(session, "", WatchFrom::Snapshot);
    let first = watch.next().await.context("a stream begins")??;
    let UpdateKind::Snapshot(snapshot) = first.kind else {
        bail!("begins with {:?}", first.kind)
    };
    let mut next = snapshot.sequence + 1;
    let mut events = Vec::new();
    while let Some(update) = tokio::time::timeout(Duration::from_secs(20), watch.next()).await? {
        if let UpdateKind::Event(event) = update?.kind {
            assert_eq!(event.sequence, next, "no gap, nothing twice (S-22)");
            next += 1;
            let ended = matches!(event.kind, Some(v1::event::Kind::SessionEnded(_)));
            events.push(*event);
            if ended {
                return Ok(events);
            }
        }
    }
    bail!("the stream ended after {} events", events.len())
}

async fn record(client: &Client, player: &str) -> Result<v1::Player> {
    let asked = v1::GetPlayerRequest {
        player_id: player.to_owned(),
        game_kind: v1::GameKind::Reversi.into(),
    };
    client
        .get_player(asked)
        .await?
        .player
        .context("an answer has the player")
}

/// From two tickets to a settled result, every call on another replica, a watcher on one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s20_two_tickets_become_a_game_that_is_settled_once() -> Result<()> {
    let deployment = Deployment::start(SHAPE)?;
    let client = deployment.client()?;
    let mut quick = settings();
    quick.animation = Some(prost_types::Duration { seconds: 0, nanos: 0 });
    let table = two_tickets(&client, ["ann", "bob"], quick).await?;

    let session = client
        .get_session(v1::GetSessionRequest {
            session_id: table.session.clone(),
            viewer_id: String::new(),
        })
        .await?
        .session
        .context("an answer has the session")?;
    assert_eq!(
        session.phase(),
        v1::SessionPhase::Playing,
        "both queued ready: they just play (S-1)"
    );
    let opener = session.turn.context("a game that is on has a turn")?.seat;
    // `play_out` lets seat 1 begin: here the server drew who does (S-29).
    let mut seated = table.clone();
    if opener == 2 {
        seated.players.swap(0, 1);
    }

    let watcher = deployment.client_of(&[1])?;
    let watching = tokio::spawn({
        let session = table.session.clone();
        async move { watched(&watcher, &session).await }
    });
    let seats = Seats {
        client: &client,
        table: &table,
    };
    let result = seats.play_out(opener).await?;
    let events = watching.await??;
    let ends = events
        .iter()
        .filter(|event| matches!(event.kind, Some(v1::event::Kind::GameEnded(_))))
        .count();
    assert_eq!(ends, 1, "exactly one result");

    for (player, points) in table
        .players
        .iter()
        .zip([result.seat_1_points, result.seat_2_points])
    {
        let settled = eventually("the result is settled", || async {
            record(&client, player)
                .await
                .ok()
                .filter(|record| record.wins + record.draws + record.losses > 0)
        })
        .await;
        assert_eq!(settled.wins + settled.draws + settled.losses, 1);
        assert_eq!(settled.points, i64::from(points));
    }
    // Both are free again (S-28): the same two can queue at once.
    eventually("the claims are released", || async {
        let free = record(&client, &table.players[0])
            .await
            .ok()?
            .live_session_id
            .is_empty();
        free.then_some(())
    })
    .await;
    two_tickets(&client, ["ann", "bob"], settings()).await?;
    Ok(())
}

/// The seats of a table whose opener was drawn.
struct Seats<'a> {
    client: &'a Client,
    table: &'a Table,
}

impl Seats<'_> {
    /// Plays the first legal move each time, asked for by `ListLegalMoves`.
    async fn play_out(&self, opener: u32) -> Result<v1::GameResult> {
        let (mut seat, mut ply) = (opener, 1);
        loop {
            let asked = v1::ListLegalMovesRequest {
                session_id: self.table.session.clone(),
                viewer_id: String::new(),
            };
            let legal = self.client.list_legal_moves(asked).await?;
            let mv = legal.moves.first().context("who is to move has a move (R-6)")?;
            let receipt = self.table.play(self.client, seat, ply, mv).await?;
            for event in receipt.events {
                match event.kind {
                    Some(v1::event::Kind::Moved(v1::MoveMade { next: Some(next), .. }))
                    | Some(v1::event::Kind::Passed(v1::TurnPassed { next: Some(next), .. })) => {
                        (seat, ply) = (next.seat, next.ply);
                    }
                    Some(v1::event::Kind::GameEnded(ended)) => {
                        return ended.result.context("an end has a result");
                    }
                    _ => {}
                }
            }
        }
    }
}

/// A replica is killed in the middle of a game; the other one answers the next call with the same state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_replica_loses_no_acknowledged_move() -> Result<()> {
    let mut deployment = Deployment::start(Shape::of(2, 1))?;
    let first = deployment.client_of(&[0])?;
    let second = deployment.client_of(&[1])?;
    let table = Table::open(&first, "killed", unrated()).await?;
    table.play(&first, 1, 1, "f5").await?;
    table.play(&second, 2, 2, "d6").await?;
    let acknowledged = table.play(&first, 1, 3, "c3").await?;
    deployment.game_services[0].kill()?;

    let asked = v1::GetSessionRequest {
        session_id: table.session.clone(),
        viewer_id: table.players[0].clone(),
    };
    let session = second
        .get_session(asked)
        .await?
        .session
        .context("an answer has the session")?;
    assert_eq!(session.transcript, "f5d6c3");
    assert_eq!(session.sequence, acknowledged.last_sequence);
    let receipt = table.play(&second, 2, 4, "d3").await?;
    assert_eq!(receipt.first_sequence, acknowledged.last_sequence + 1);

    // The killed one comes back and knows all that happened meanwhile.
    deployment.restart_game_service(0)?;
    table.play(&deployment.client_of(&[0])?, 1, 5, "c4").await?;
    Ok(())
}

/// A move made through one replica and repeated on the other with the same request id is one move (S-25).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s25_a_repeated_request_gets_the_first_answer_on_any_replica() -> Result<()> {
    let deployment = Deployment::start(Shape::of(2, 1))?;
    let clients = [deployment.client_of(&[0])?, deployment.client_of(&[1])?];
    let table = Table::open(&clients[0], "repeated", unrated()).await?;
    let request = v1::PlayRequest {
        request_id: "the same".into(),
        session_id: table.session.clone(),
        player_id: table.players[0].clone(),
        ply: 1,
        r#move: "d3".into(),
        ..Default::default()
    };
    let first = clients[0]
        .play(request.clone())
        .await?
        .receipt
        .context("a receipt")?;
    table.play(&clients[0], 2, 2, "c5").await?;
    for client in &clients {
        let again = client.play(request.clone()).await?.receipt.context("a receipt")?;
        assert_eq!(again.first_sequence, first.first_sequence);
        assert_eq!(again.events, first.events);
    }
    let other = v1::PlayRequest {
        r#move: "e6".into(),
        ..request
    };
    let refused = clients[1]
        .play(other)
        .await
        .expect_err("another move under the same id");
    assert!(refused.to_string().contains("REQUEST_ID_REUSED"), "{refused}");
    Ok(())
}

/// Nobody plays: every move is made by the server at its own deadline (S-9, S-11), through kills of the workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s11_deadlines_fire_at_their_own_instant_whoever_notices() -> Result<()> {
    let mut deployment = Deployment::start(SHAPE)?;
    let client = deployment.client_of(&[1])?;
    let mut clocks = unrated();
    clocks.move_time = Some(prost_types::Duration { seconds: 1, nanos: 0 });
    let table = Table::open(&client, "slow", clocks).await?;
    deployment.matchmakers[0].kill()?;
    let session = table.session.clone();
    let watch = client.watch(session.as_str(), "", WatchFrom::Snapshot);
    let mut updates = Box::pin(watch);
    let mut instants = Vec::new();
    while instants.len() < 4 {
        let update = tokio::time::timeout(Duration::from_secs(15), updates.next())
            .await?
            .context("goes on")??;
        if let UpdateKind::Event(event) = update.kind
            && let Some(v1::event::Kind::Moved(moved)) = &event.kind
        {
            assert_ne!(
                moved.auto_policy(),
                v1::MovePolicy::Unspecified,
                "the server moved"
            );
            let at = event.at.context("an event has an instant")?;
            instants.push(at.seconds * 1_000 + i64::from(at.nanos / 1_000_000));
        }
    }
    let gaps: Vec<i64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(
        gaps,
        [1_000, 1_000, 1_000],
        "a deadline is an instant, not the moment somebody noticed it"
    );
    Ok(())
}

/// A replica that is told to stop lets its watchers go on elsewhere and ends soon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stops_hands_its_watchers_over() -> Result<()> {
    let mut deployment = Deployment::start(Shape::of(2, 1))?;
    let client = deployment.client()?;
    let table = Table::open(&client, "moved", unrated()).await?;
    let watching = tokio::spawn({
        let (client, session) = (client.clone(), table.session.clone());
        async move { watched(&client, &session).await }
    });
    let other = deployment.client_of(&[1])?;
    table.play(&other, 1, 1, "f5").await?;
    let status = deployment.game_services[0].terminate(Duration::from_secs(15))?;
    assert!(status.success(), "{status}");
    let (result, _) = continue_game(&table, &other).await?;
    assert_ne!(result.outcome(), v1::Outcome::Unspecified);
    watching.await??;
    Ok(())
}

async fn continue_game(table: &Table, client: &Client) -> Result<(v1::GameResult, usize)> {
    let leave = v1::LeaveSessionRequest {
        session_id: table.session.clone(),
        player_id: table.players[0].clone(),
        ..Default::default()
    };
    let receipt = client.leave_session(leave).await?.receipt.context("a receipt")?;
    let result = receipt.events.into_iter().find_map(|event| match event.kind {
        Some(v1::event::Kind::GameEnded(ended)) => ended.result,
        _ => None,
    });
    Ok((result.context("leaving ends the game (S-16)")?, 1))
}

/// The same game on two replicas by turns, to its end on the board.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_game_by_turns_on_two_replicas() -> Result<()> {
    let deployment = Deployment::start(Shape::of(2, 1))?;
    let clients = [deployment.client_of(&[0])?, deployment.client_of(&[1])?];
    let table = Table::open(&clients[0], "turns", unrated()).await?;
    let (result, moves) = play_out(&table, &clients).await?;
    assert!(moves > 8, "{moves}");
    let counts = result.counts.context("a result has counts")?;
    assert!(counts.black + counts.white >= 12);
    Ok(())
}
