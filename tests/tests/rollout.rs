//! Processes replaced one by one, and connections that have served their time, while games go on.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tablemate_client::{UpdateKind, WatchFrom, v1};
use tablemate_tests::{Deployment, Shape, Table, binary, unrated};

/// How long a process may take to end: its drain of 10 s and what comes before and after it.
const END_PATIENCE: Duration = Duration::from_secs(15);

/// Three game services and two matchmakers are replaced one by one under 200 games at once: no player sees a gap, a lost
/// move or a second result, and no call fails for good.
#[test]
fn a_rollout_one_by_one_is_seen_by_nobody() -> Result<()> {
    let mut deployment = Deployment::start(Shape::of(3, 2))?;
    let mut load = Command::new(binary("tablemate")?);
    load.env("LANG", "en_US.UTF-8");
    load.args([
        "load",
        "--players",
        "440",
        "--duration",
        "25s",
        "--think",
        "300ms",
    ]);
    for game in &deployment.game_services {
        load.arg(format!("--server={}", game.address));
    }
    for matchmaker in &deployment.matchmakers {
        load.arg(format!("--matchmaker={}", matchmaker.address));
    }
    let mut load = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    std::thread::sleep(Duration::from_secs(4));
    let mut longest = Duration::ZERO;
    for number in 0..3 {
        let begun = Instant::now();
        let status = deployment.game_services[number].terminate(END_PATIENCE)?;
        ensure!(status.success(), "game service {number}: {status}");
        longest = longest.max(begun.elapsed());
        deployment.restart_game_service(number)?;
        if number < 2 {
            let begun = Instant::now();
            let status = deployment.matchmakers[number].terminate(END_PATIENCE)?;
            ensure!(status.success(), "matchmaker {number}: {status}");
            longest = longest.max(begun.elapsed());
            deployment.restart_matchmaker(number)?;
        }
    }
    ensure!(
        load.try_wait()?.is_none(),
        "the load went on until the end of the rollout"
    );
    let output = load.wait_with_output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}\nthe slowest process took {longest:?} to end");
    ensure!(
        output.status.success(),
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    ensure!(printed.contains("violations: 0"), "no violation");
    // The games that are left at the end are resigned by both players at once, some of them while the other moves.
    let failed = printed.split_once("refused or failed:").map_or("", |(_, rest)| {
        rest.split("violations").next().unwrap_or_default()
    });
    for line in failed.lines().filter(|line| !line.trim().is_empty()) {
        ensure!(
            line.contains(" SESSION_ENDED: "),
            "retries absorb all but: {line}"
        );
    }
    ensure!(
        longest < Duration::from_secs(5),
        "peers that answer do not use the drain up: {longest:?}"
    );
    Ok(())
}

/// A connection ends after its age, again and again, under a watcher and a player: the watcher resumes on another
/// replica and misses nothing, and no call fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_have_served_their_time_are_seen_by_nobody() -> Result<()> {
    let age = vec!["--connection-age-seconds=1".to_owned()];
    let deployment = Deployment::start_with(Shape::of(2, 1), age)?;
    let client = deployment.client()?;
    let table = Table::open(&client, "aged", unrated()).await?;
    let mut watch = client.watch(table.session.as_str(), "", WatchFrom::Snapshot);
    let snapshot = watch.next().await.context("a stream begins")??;
    ensure!(matches!(snapshot.kind, UpdateKind::Snapshot(_)), "{snapshot:?}");
    let begun = watch.sequence().context("a snapshot has a sequence")?;
    let watching = tokio::spawn(async move {
        let mut events = 0;
        while let Some(update) = watch.next().await {
            if let UpdateKind::Event(event) = update?.kind {
                events += 1;
                if matches!(event.kind, Some(v1::event::Kind::SessionEnded(_))) {
                    break;
                }
            }
        }
        anyhow::Ok((watch, events))
    });
    let started = Instant::now();
    let mut sequence = begun;
    while started.elapsed() < Duration::from_secs(6) {
        let asked = v1::ListLegalMovesRequest {
            session_id: table.session.clone(),
            viewer_id: String::new(),
        };
        let legal = client.list_legal_moves(asked).await?;
        let turn = legal.turn.context("the game goes on")?;
        let receipt = table.play(&client, turn.seat, turn.ply, &legal.moves[0]).await?;
        ensure!(
            receipt.first_sequence == sequence + 1,
            "{receipt:?} after {sequence}"
        );
        sequence = receipt.last_sequence;
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    client
        .leave_session(v1::LeaveSessionRequest {
            session_id: table.session.clone(),
            player_id: table.players[0].clone(),
            ..Default::default()
        })
        .await?;
    let (watch, events) = tokio::time::timeout(Duration::from_secs(20), watching).await???;
    let last = watch.sequence().context("a sequence")?;
    ensure!(events == last - begun, "{events} events from {begun} to {last}");
    let anomalies = watch.anomalies();
    ensure!((anomalies.doubled, anomalies.gaps) == (0, 0), "{anomalies:?}");
    ensure!(watch.resynchronised() == 0, "cursors go on to hold");
    ensure!(watch.reconnects() >= 3, "only {} reconnects", watch.reconnects());
    Ok(())
}
