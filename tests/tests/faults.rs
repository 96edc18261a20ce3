//! Faults at the worst moments, one at a time. What happens under load when processes die again and again is the fault
//! suite's (`docs/faults.md`).

use std::time::Duration;

use anyhow::{Context, Result, bail};
use redis::Commands as _;
use tablemate_client::{Client, UpdateKind, WatchFrom, v1};
use tablemate_engine::game::{Move, Position};
use tablemate_engine::reversi::Start;
use tablemate_tests::{Deployment, Shape, Table, eventually, settings, unrated};

use v1::event::Kind;

/// The session as a spectator sees it.
async fn look(client: &Client, table: &Table) -> Result<v1::Session> {
    let asked = v1::GetSessionRequest {
        session_id: table.session.clone(),
        viewer_id: String::new(),
    };
    client
        .get_session(asked)
        .await?
        .session
        .context("an answer has the session")
}

/// Both get ready for the next game of a series.
async fn ready(client: &Client, table: &Table) -> Result<()> {
    for player in &table.players {
        client
            .set_ready(v1::SetReadyRequest {
                session_id: table.session.clone(),
                player_id: player.clone(),
                ready: true,
                ..Default::default()
            })
            .await?;
    }
    Ok(())
}

/// Plays the series on, the first legal move each time, until so many commands were acknowledged; gives the number of
/// the game that is on then.
async fn play_on(client: &Client, table: &Table, commands: u32) -> Result<u32> {
    let mut done = 0;
    loop {
        let session = look(client, table).await?;
        if session.phase() != v1::SessionPhase::Playing {
            if done >= commands {
                return Ok(session.game_number);
            }
            ready(client, table).await?;
            done += 2;
            continue;
        }
        let turn = session.turn.context("a game that is on has a turn")?;
        let asked = v1::ListLegalMovesRequest {
            session_id: table.session.clone(),
            viewer_id: String::new(),
        };
        let legal = client.list_legal_moves(asked).await?.moves;
        let mv = legal.first().context("who is to move has a move (R-6)")?;
        table.play(client, turn.seat, turn.ply, mv).await?;
        done += 1;
        if done >= commands && session.game_number > 1 {
            return Ok(session.game_number);
        }
    }
}

/// The server commits a move, its answer is lost, the server is killed; the player asks again elsewhere much later, in
/// another game of the series: the first answer, and nothing happens twice (S-25).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s25_an_answer_that_was_lost_is_found_on_another_replica_500_commands_later() -> Result<()> {
    let mut deployment = Deployment::start(Shape::of(2, 0))?;
    let first = deployment.client_of(&[0])?;
    let second = deployment.client_of(&[1])?;
    let series = v1::SessionSettings {
        games: 32,
        ..unrated()
    };
    let table = Table::open(&first, "lost", series).await?;
    let request = v1::PlayRequest {
        request_id: "never answered".into(),
        session_id: table.session.clone(),
        player_id: table.players[0].clone(),
        ply: 1,
        r#move: "d3".into(),
        ..Default::default()
    };
    let mut watch = second.watch(&table.session, "", WatchFrom::Snapshot);
    watch.next().await.context("a stream begins")??;
    let asking = tokio::spawn({
        let (first, request) = (first.clone(), request.clone());
        async move { drop(first.play(request).await) }
    });
    let committed = loop {
        let update = watch.next().await.context("the stream goes on")??;
        if let UpdateKind::Event(event) = update.kind
            && matches!(event.kind, Some(Kind::Moved(_)))
        {
            break event;
        }
    };
    deployment.game_services[0].kill()?;
    asking.abort();

    let game = play_on(&second, &table, 500).await?;
    assert!(game > 1, "another game is on");
    let before = look(&second, &table).await?.sequence;
    let found = second.play(request).await?.receipt.context("a receipt")?;
    assert_eq!(found.first_sequence, committed.sequence);
    let own = found.events.first().context("the answer has its event")?;
    assert_eq!((own.sequence, &own.kind), (committed.sequence, &committed.kind));
    assert_eq!(look(&second, &table).await?.sequence, before, "nothing changed");
    Ok(())
}

/// Moves are made through two replicas, the watcher is on a third whose subscriptions are cut all the time, so that
/// wake-ups are lost: every event comes, in order, once, and soon (S-22).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s22_a_watcher_whose_wakeups_are_lost_misses_nothing() -> Result<()> {
    let deployment = Deployment::start(Shape::of(3, 0))?;
    let watcher = deployment.client_of(&[0])?;
    let players = [deployment.client_of(&[1])?, deployment.client_of(&[2])?];
    let table = Table::open(&players[0], "unheard", unrated()).await?;
    let session = table.session.clone();
    let watching = tokio::spawn(async move {
        let mut watch = watcher.watch(&session, "", WatchFrom::Snapshot);
        let mut seen = Vec::new();
        while let Some(update) = watch.next().await {
            let UpdateKind::Event(event) = update?.kind else {
                continue;
            };
            let ended = matches!(event.kind, Some(Kind::SessionEnded(_)));
            seen.push(event.sequence);
            if ended {
                break;
            }
        }
        anyhow::Ok((seen, watch.anomalies(), watch.reconnects()))
    });
    let cutting = tokio::task::spawn_blocking({
        let url = deployment.redis.url();
        let watching = watching.abort_handle();
        move || {
            let mut connection = redis::Client::open(url)?.get_connection()?;
            let mut cut = 0_u64;
            while !watching.is_finished() {
                cut += redis::cmd("CLIENT")
                    .arg("KILL")
                    .arg("TYPE")
                    .arg("pubsub")
                    .query::<u64>(&mut connection)?;
                std::thread::sleep(Duration::from_millis(7));
            }
            anyhow::Ok(cut)
        }
    });
    let (_, moves) = tablemate_tests::play_out(&table, &players).await?;
    let last = look(&players[0], &table).await?.sequence;
    let (seen, anomalies, reconnects) = tokio::time::timeout(Duration::from_secs(10), watching)
        .await
        .context("the watcher has everything within 10 s")???;
    let cut = cutting.await??;
    assert!(cut > 2, "subscriptions were cut {cut} times");
    assert_eq!(reconnects, 0, "the player's stream itself was never cut");
    assert_eq!((anomalies.gaps, anomalies.doubled), (0, 0));
    let first = *seen.first().context("events")?;
    assert_eq!(seen, (first..=last).collect::<Vec<_>>(), "{moves} moves");
    Ok(())
}

/// Two ways to go on from a position that meet in the same last move: (played, instead, common last move).
fn fork(position: &Position) -> Result<(Move, Move, Move)> {
    let moves: Vec<Move> = position.legal_moves().collect();
    for played in &moves {
        for instead in moves.iter().filter(|other| *other != played) {
            let after_played = position.play(*played)?.0;
            let after_instead = position.play(*instead)?.0;
            let common = after_played
                .legal_moves()
                .find(|mv| after_instead.legal_moves().any(|other| other == *mv));
            if let Some(common) = common {
                return Ok((*played, *instead, common));
            }
        }
    }
    bail!("no fork")
}

/// A fail-over lost the end of a log, and other moves filled it up to the same length with an equal last move. A replica
/// with the old log in memory neither appends to it nor shows it, and watchers are told to begin anew (S-22).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s22_a_log_that_lost_its_end_and_grew_again_is_not_mistaken_for_the_old_one() -> Result<()> {
    let deployment = Deployment::start(Shape::of(2, 0))?;
    let warm = deployment.client_of(&[0])?;
    let other = deployment.client_of(&[1])?;
    let table = Table::open(&warm, "fork", unrated()).await?;
    let mut position = Position::from(Start::Crossed.position());
    for ply in 1..=4 {
        let mv = position.legal_moves().next().context("a move")?;
        table.play(&warm, 2 - ply % 2, ply, &mv.to_string()).await?;
        position = position.play(mv)?.0;
    }
    let kept = look(&warm, &table).await?.sequence;
    let (played, instead, last) = fork(&position)?;
    table.play(&warm, 1, 5, &played.to_string()).await?;
    let mut watch = warm.watch(&table.session, "", WatchFrom::Snapshot);
    watch.next().await.context("a stream begins")??;
    table.play(&warm, 2, 6, &last.to_string()).await?;
    let old = loop {
        let update = watch.next().await.context("the stream goes on")??;
        if let UpdateKind::Event(event) = update.kind
            && matches!(&event.kind, Some(Kind::Moved(moved)) if moved.ply == 6)
        {
            break watch.position();
        }
    };
    drop(watch);
    let old_transcript = look(&warm, &table).await?.transcript;

    // What a fail-over to a replica that was behind does.
    let mut redis = redis::Client::open(deployment.redis.url())?.get_connection()?;
    let logs: Vec<Vec<u8>> = redis.keys("{*}s*")?;
    let [log] = logs.as_slice() else {
        bail!("one session has one log: {logs:?}")
    };
    redis.ltrim::<_, ()>(log, 0, isize::try_from(kept)? - 1)?;
    table.play(&other, 1, 5, &instead.to_string()).await?;
    let receipt = table.play(&other, 2, 6, &last.to_string()).await?;
    assert_eq!(receipt.last_sequence, kept + 2, "as long as it was");

    let seen = look(&warm, &table).await?;
    assert_ne!(
        seen.transcript, old_transcript,
        "a read shows the log that there is"
    );
    assert!(
        seen.transcript.ends_with(&last.to_string()),
        "and its last move is equal"
    );
    let legal = warm
        .list_legal_moves(v1::ListLegalMovesRequest {
            session_id: table.session.clone(),
            viewer_id: String::new(),
        })
        .await?
        .moves;
    let next = legal.first().context("a move")?;
    table.play(&warm, 1, 7, next).await?;
    let full = look(&other, &table).await?.transcript;
    assert_eq!(
        full,
        format!("{}{next}", seen.transcript),
        "appended to the log that there is"
    );

    let mut resumed = warm.watch(&table.session, "", old);
    let update = tokio::time::timeout(Duration::from_secs(10), resumed.next())
        .await?
        .context("an answer")??;
    let UpdateKind::Resynchronise(snapshot) = update.kind else {
        bail!(
            "a watcher of the lost moves is told to begin anew, not {:?}",
            update.kind
        )
    };
    assert_eq!(snapshot.transcript, full);
    Ok(())
}

/// Nobody is connected, no stream is open, no call is made: the time runs out all the same (S-11).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s9_time_runs_out_when_nobody_is_connected() -> Result<()> {
    let deployment = Deployment::start(Shape::of(1, 1))?;
    let client = deployment.client()?;
    let quick = v1::SessionSettings {
        move_time: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
        total_time: Some(prost_types::Duration { seconds: 2, nanos: 0 }),
        ..unrated()
    };
    let table = Table::open(&client, "alone", quick).await?;
    drop(client);
    // Only the store is looked at: a call would fire the deadlines itself.
    let redis = redis::Client::open(deployment.redis.url())?;
    let length = || {
        let mut connection = redis.get_connection().ok()?;
        let logs: Vec<Vec<u8>> = connection.keys("{*}s*").ok()?;
        connection.llen::<_, u64>(logs.first()?).ok()
    };
    let begun = length().context("a log")?;
    eventually("the server moves and ends the game by itself", || async {
        length().filter(|length| *length >= begun + 4)
    })
    .await;
    let client = deployment.client()?;
    let session = look(&client, &table).await?;
    assert_eq!(session.phase(), v1::SessionPhase::Ended);
    let result = session.results.first().context("a result")?;
    assert_eq!(result.reason(), v1::GameEndReason::TotalTime);
    Ok(())
}

/// Two streams of one player, on one replica and on another: both go on, none is closed for the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_stream_of_a_player_does_not_close_the_first() -> Result<()> {
    let deployment = Deployment::start(Shape::of(2, 0))?;
    let clients = [deployment.client_of(&[0])?, deployment.client_of(&[1])?];
    let table = Table::open(&clients[0], "twice", unrated()).await?;
    let mut streams = Vec::new();
    for client in [&clients[0], &clients[0], &clients[1]] {
        let mut watch = client.watch(&table.session, &table.players[0], WatchFrom::Snapshot);
        watch.next().await.context("a stream begins")??;
        streams.push(watch);
    }
    table.play(&clients[1], 1, 1, "d3").await?;
    for watch in &mut streams {
        loop {
            let update = tokio::time::timeout(Duration::from_secs(10), watch.next())
                .await?
                .context("the stream goes on")??;
            if matches!(update.kind, UpdateKind::Event(event) if matches!(event.kind, Some(Kind::Moved(_)))) {
                break;
            }
        }
        assert_eq!(watch.reconnects(), 0);
    }
    Ok(())
}

/// A session stays in the list whatever becomes of its players' connections and of the replica that made it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_stays_listed_when_its_creator_dies_and_nobody_is_connected() -> Result<()> {
    let mut deployment = Deployment::start(Shape::of(2, 1))?;
    let table = Table::open(&deployment.client_of(&[0])?, "listed", settings()).await?;
    deployment.game_services[0].kill()?;
    deployment.matchmakers[0].kill()?;
    let client = deployment.client_of(&[1])?;
    let mut listed = Vec::new();
    let mut asked = v1::ListSessionsRequest {
        unfinished_only: true,
        ..Default::default()
    };
    loop {
        let page = client.list_sessions(asked.clone()).await?;
        listed.extend(page.sessions.into_iter().map(|session| session.session_id));
        asked.page_token = page.next_page_token;
        if asked.page_token.is_empty() {
            break;
        }
    }
    assert_eq!(listed, [table.session]);
    Ok(())
}

/// A replica dies; the next call on another one is answered in far less than a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_call_after_a_kill_is_answered_soon() -> Result<()> {
    let mut deployment = Deployment::start(Shape::of(2, 0))?;
    let both = deployment.client()?;
    let table = Table::open(&both, "soon", unrated()).await?;
    deployment.game_services[0].kill()?;
    let begun = std::time::Instant::now();
    table.play(&both, 1, 1, "d3").await?;
    // Half of the tries go to the dead one first: the client goes on to the next at once.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    println!("the first call after kill -9 took {took:?}");
    Ok(())
}

/// One replica's copy of the session is old. A deadline that it finds passed was fired by the other one long ago, byte for
/// byte the same: that its firing "is committed" does not make its copy current, and it must not judge by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s25_a_replica_that_fires_what_was_fired_already_does_not_judge_by_its_old_copy() -> Result<()> {
    let deployment = Deployment::start(Shape::of(2, 0))?;
    let old = deployment.client_of(&[0])?;
    let current = deployment.client_of(&[1])?;
    let quick = v1::SessionSettings {
        move_time: Some(prost_types::Duration { seconds: 2, nanos: 0 }),
        ..unrated()
    };
    let table = Table::open(&old, "old copy", quick).await?;
    table.play(&old, 1, 1, "d3").await?;
    // Seat 2 lets its time run out; the other replica notices.
    let turn = eventually("the server moves for seat 2", || async {
        let session = look(&current, &table).await.ok()?;
        session.turn.filter(|turn| turn.ply == 3)
    })
    .await;
    assert_eq!(turn.seat, 1);
    let mut repeated = None;
    for (seat, ply) in [(1, 3), (2, 4)] {
        let asked = v1::ListLegalMovesRequest {
            session_id: table.session.clone(),
            viewer_id: String::new(),
        };
        let legal = current.list_legal_moves(asked).await?.moves;
        let request = v1::PlayRequest {
            request_id: format!("ply {ply}"),
            session_id: table.session.clone(),
            player_id: table.players[seat - 1].clone(),
            ply,
            r#move: legal.first().context("a move")?.clone(),
            ..Default::default()
        };
        let receipt = current.play(request.clone()).await?.receipt;
        repeated = Some((request, receipt));
    }
    let (request, receipt) = repeated.context("two moves")?;
    let again = old.play(request).await?.receipt;
    assert_eq!(
        again.context("a receipt")?.events,
        receipt.context("a receipt")?.events,
        "the first answer"
    );
    Ok(())
}
