//! Sessions whose players never move: the server has to, at the deadline.

use std::time::Duration;

use tablemate_client::{Error, WatchFrom, v1};

use crate::commands::load::context::Context;
use crate::commands::load::stats::{Broken, Timed, count};
use crate::commands::load::watching::Watching;

/// How much later than its deadline a move may be told before the deadline counts as missed.
const MISSED: Duration = Duration::from_secs(5);
/// The most plies of a game, passes included, that the server may have to make.
const PLIES_MAX: u32 = 120;

/// What is special to idle sessions.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// After how long the session begins, so that the deadlines of all are spread.
    pub wait: Duration,
    /// Whether its stream is read.
    pub watched: bool,
    /// The per-move time.
    pub move_time: Duration,
}

/// Keeps one session on until told to stop.
pub async fn keep(context: &Context, number: u32, idle: Idle) {
    tokio::select! {
        () = tokio::time::sleep(idle.wait) => {}
        () = context.stop.cancelled() => return,
    }
    let mut game = 0_u64;
    while !context.stop.is_cancelled() {
        game += 1;
        let players = [1, 2].map(|seat| format!("load-{}-{number}-{game}-{seat}", context.run));
        match one(context, &players, idle).await {
            Ok(()) | Err(Error::Unavailable { .. }) => {}
            Err(error) => context
                .stats
                .violation(Broken::Contradiction.because(format!("an idle session was refused: {error}"))),
        }
    }
}

async fn one(context: &Context, players: &[String; 2], idle: Idle) -> Result<(), Error> {
    let (client, stats) = (&context.client, &context.stats);
    let creation = v1::CreateSessionRequest {
        seat_1_player_id: players[0].clone(),
        seat_2_player_id: players[1].clone(),
        settings: Some(context.settings.clone()),
        seat_1_ready: true,
        seat_2_ready: true,
        ..Default::default()
    };
    let created = stats
        .call(Timed::CreateSession, client.create_session(creation))
        .await?;
    let session_id = created.session_id;
    count(&stats.counters.live);
    let ended = if idle.watched {
        watch(context, &session_id, idle).await
    } else {
        wait(context, &session_id, idle).await
    };
    stats
        .counters
        .live
        .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    if ended? {
        context.game_finished();
        return Ok(());
    }
    // Told to stop: a running session is not left behind.
    let request = v1::ResignRequest {
        session_id,
        player_id: players[0].clone(),
        ..Default::default()
    };
    stats.call(Timed::Resign, client.resign(request)).await?;
    Ok(())
}

/// Reads the stream to the end of the session; `false` when told to stop before.
async fn watch(context: &Context, session_id: &str, idle: Idle) -> Result<bool, Error> {
    let stats = &context.stats;
    let watch = context.client.watch(session_id, "", WatchFrom::Snapshot);
    let mut watching = Watching::new(watch);
    let limit = idle.move_time.saturating_add(MISSED);
    let mut failed = None;
    let mut heard_at = tokio::time::Instant::now();
    while !watching.witness.is_over() {
        let events = watching.events;
        let read = tokio::select! {
            read = tokio::time::timeout_at(heard_at + limit, watching.read(stats)) => read,
            () = context.stop.cancelled() => break,
        };
        match read {
            Ok(Ok(true)) => {
                if watching.events > events {
                    heard_at = tokio::time::Instant::now();
                }
            }
            Ok(Ok(false)) => break,
            Ok(Err(error)) => {
                failed = Some(error);
                break;
            }
            Err(_) => {
                stats.violation(Broken::Contradiction.because(format!(
                    "session {session_id}: nothing happened for {} s after a deadline",
                    MISSED.as_secs()
                )));
                heard_at = tokio::time::Instant::now();
            }
        }
    }
    let (witness, mut violations) = watching.close(stats);
    let over = witness.is_over();
    violations.extend(witness.close().1);
    for violation in violations {
        stats.violation(violation.at(&format!("session {session_id}")));
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(over),
    }
}

/// Looks at the session when the server must have played it to its end; `false` when told to stop before.
async fn wait(context: &Context, session_id: &str, idle: Idle) -> Result<bool, Error> {
    let time = idle.move_time.saturating_mul(PLIES_MAX).saturating_add(MISSED);
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = context.stop.cancelled() => return Ok(false),
    }
    let request = v1::GetSessionRequest {
        session_id: session_id.to_owned(),
        viewer_id: String::new(),
    };
    let answer = context
        .stats
        .call(Timed::GetSession, context.client.get_session(request))
        .await?;
    let phase = answer.session.unwrap_or_default().phase();
    if phase != v1::SessionPhase::Ended {
        context.stats.violation(Broken::Contradiction.because(format!(
            "session {session_id} is {phase:?} when it must have ended"
        )));
    }
    Ok(true)
}
