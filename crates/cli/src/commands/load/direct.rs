//! Sessions without matchmaking and streams: the throughput of moves alone.

use tablemate_client::{Error, v1};

use crate::commands::load::context::Context;
use crate::commands::load::stats::{Broken, Timed, count};
use crate::commands::load::witness::Witness;

/// Plays one session after the other until told to stop.
pub async fn play(context: &Context, number: u32) {
    let mut rng = context.rng(number);
    let mut game = 0_u64;
    while !context.stop.is_cancelled() {
        game += 1;
        let players = [1, 2].map(|seat| format!("load-{}-{number}-{game}-{seat}", context.run));
        let mut witness = Witness::alone();
        let mut session_id = String::new();
        let outcome = play_session(context, &mut rng, &players, &mut session_id, &mut witness).await;
        let complete = witness.is_over();
        let (testimony, mut violations) = witness.close();
        match outcome {
            Ok(()) if complete => {
                context.game_finished();
                if testimony.results.len() != 1 {
                    violations.push(
                        Broken::DoubledResult
                            .because(format!("{} results of one game", testimony.results.len())),
                    );
                }
            }
            Ok(()) => violations.push(Broken::Unfinished.because("the receipts do not end the session")),
            Err(Error::Unavailable { .. }) => {}
            Err(error) => {
                violations
                    .push(Broken::Contradiction.because(format!("a legal command was refused: {error}")));
            }
        }
        for violation in violations {
            context
                .stats
                .violation(violation.at(&format!("session {session_id}")));
        }
    }
}

async fn play_session(
    context: &Context,
    rng: &mut rand_chacha::ChaCha8Rng,
    players: &[String; 2],
    session_id: &mut String,
    witness: &mut Witness,
) -> Result<(), Error> {
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
    session_id.clone_from(&created.session_id);
    take(witness, created.receipt);
    while !witness.is_over() {
        let thinking = context.thinking(rng);
        if !thinking.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(thinking) => {}
                () = context.stop.cancelled() => {}
            }
        }
        if context.stop.is_cancelled() {
            let request = v1::ResignRequest {
                session_id: session_id.clone(),
                player_id: players[0].clone(),
                ..Default::default()
            };
            let answer = stats.call(Timed::Resign, client.resign(request)).await?;
            take(witness, answer.receipt);
            break;
        }
        let Some((turn, mv)) = witness.turn().copied().zip(
            witness
                .position()
                .and_then(|position| context.choose(position, rng)),
        ) else {
            // No turn and no end: the violation is told by the caller.
            break;
        };
        let request = v1::PlayRequest {
            session_id: session_id.clone(),
            player_id: players[usize::from(turn.seat == 2)].clone(),
            ply: turn.ply,
            r#move: mv.to_string(),
            ..Default::default()
        };
        let answer = stats.call(Timed::Play, client.play(request)).await?;
        count(&stats.counters.moves);
        take(witness, answer.receipt);
    }
    Ok(())
}

/// Without streams the receipts are the log: only the two players and what follows from their moves write it.
fn take(witness: &mut Witness, receipt: Option<v1::Receipt>) {
    for event in receipt.into_iter().flat_map(|receipt| receipt.events) {
        witness.event(event);
    }
}
