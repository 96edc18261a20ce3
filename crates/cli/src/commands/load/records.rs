//! After the load: every player's record must hold each game once (S-20).

use std::time::Duration;

use futures::StreamExt as _;
use tablemate_client::{Error, v1};

use crate::commands::load::context::Context;
use crate::commands::load::player::Tally;
use crate::commands::load::stats::{Broken, Timed, Violation};

/// How long the settlement of the last games is waited for.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);
/// How many records are read at once.
const AT_ONCE: usize = 32;

/// Compares the records of all players with what they saw; gives how many were compared.
pub async fn check(context: &Context, tallies: Vec<(String, Tally)>) -> usize {
    let until = tokio::time::Instant::now() + SETTLED_WITHIN;
    let count = tallies.len();
    futures::stream::iter(tallies)
        .for_each_concurrent(AT_ONCE, |(player, tally)| async move {
            if let Err(violation) = check_player(context, &player, tally, until).await {
                context.stats.violation(violation.at(&format!("player {player}")));
            }
        })
        .await;
    count
}

async fn check_player(
    context: &Context,
    player: &str,
    tally: Tally,
    until: tokio::time::Instant,
) -> Result<(), Violation> {
    loop {
        let request = v1::GetPlayerRequest {
            player_id: player.to_owned(),
            game_kind: v1::GameKind::Reversi.into(),
        };
        let record = match context
            .stats
            .call(Timed::GetPlayer, context.client.get_player(request))
            .await
        {
            Ok(answer) => answer.player.unwrap_or_default(),
            Err(Error::Unavailable { .. }) => v1::Player::default(),
            Err(error) => return Err(Broken::Contradiction.because(error.to_string())),
        };
        let settled = Tally {
            wins: record.wins,
            draws: record.draws,
            losses: record.losses,
        };
        if settled.wins > tally.wins || settled.draws > tally.draws || settled.losses > tally.losses {
            let text = format!("the record has {settled:?}, the player saw {tally:?}");
            return Err(Broken::DoubledResult.because(text));
        }
        if settled == tally {
            // 2 points a game, won or lost.
            let points = 2 * (i128::from(tally.wins) - i128::from(tally.losses));
            if i128::from(record.points) != points {
                let text = format!("{} points in the record, {points} by the games", record.points);
                return Err(Broken::DoubledResult.because(text));
            }
            return Ok(());
        }
        if tokio::time::Instant::now() >= until {
            return Err(Broken::Unfinished.because(format!(
                "after {} s the record has {settled:?}, the player saw {tally:?}",
                SETTLED_WITHIN.as_secs()
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
