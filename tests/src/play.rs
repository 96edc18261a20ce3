//! Games played through the client.

use anyhow::{Context, Result, bail};
use prost_types::Duration;
use tablemate_client::{Client, v1};
use tablemate_engine::game::Position;
use tablemate_engine::policy::{self, Policy};
use tablemate_engine::reversi::Start;

use v1::event::Kind;

/// Settings of Reversi with defaults.
#[must_use]
pub fn settings() -> v1::SessionSettings {
    v1::SessionSettings {
        game: Some(v1::session_settings::Game::Reversi(v1::ReversiSettings::default())),
        ..Default::default()
    }
}

/// Settings for games without waiting: seat 1 opens, nothing is animated, long clocks, no record is touched.
#[must_use]
pub fn unrated() -> v1::SessionSettings {
    let hours = |hours: i64| {
        Some(Duration {
            seconds: hours * 3_600,
            nanos: 0,
        })
    };
    v1::SessionSettings {
        opener_rule: v1::OpenerRule::AsSeated.into(),
        move_time: hours(24),
        total_time: hours(24),
        animation: hours(0),
        unrated: true,
        ..settings()
    }
}

/// A session with a game on.
#[derive(Clone, Debug)]
pub struct Table {
    /// The session.
    pub session: String,
    /// The players of seat 1 and seat 2.
    pub players: [String; 2],
}

impl Table {
    /// Creates a session in which both are ready, so that its game is on.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn open(client: &Client, name: &str, settings: v1::SessionSettings) -> Result<Self> {
        let players = [format!("{name}-1"), format!("{name}-2")];
        let created = client
            .create_session(v1::CreateSessionRequest {
                seat_1_player_id: players[0].clone(),
                seat_2_player_id: players[1].clone(),
                settings: Some(settings),
                seat_1_ready: true,
                seat_2_ready: true,
                ..Default::default()
            })
            .await?;
        Ok(Self {
            session: created.session_id,
            players,
        })
    }

    /// Makes a move for the seat whose turn it is.
    ///
    /// # Errors
    /// What the service answers.
    pub async fn play(&self, client: &Client, seat: u32, ply: u32, mv: &str) -> Result<v1::Receipt> {
        let player = &self.players[usize::try_from(seat)?
            .checked_sub(1)
            .context("a seat is 1 or 2")?];
        let answer = client
            .play(v1::PlayRequest {
                session_id: self.session.clone(),
                player_id: player.clone(),
                ply,
                r#move: mv.to_owned(),
                ..Default::default()
            })
            .await?;
        answer.receipt.context("an answer to Play has a receipt")
    }
}

/// Plays the game that is on to its end by the engine's `GREEDY`, each move through the next of `clients`; gives the
/// result and how many moves were made (passes are not).
///
/// # Errors
/// What the service answers, or an answer that does not fit the rules of the game.
pub async fn play_out(table: &Table, clients: &[Client]) -> Result<(v1::GameResult, usize)> {
    let mut position = Position::from(Start::Crossed.position());
    let mut moves = 0;
    let (mut seat, mut ply) = (1, 1);
    loop {
        let mv =
            policy::choose(&position, Policy::Greedy, 0).context("the service says that the game goes on")?;
        let receipt = table
            .play(&clients[moves % clients.len()], seat, ply, &mv.to_string())
            .await?;
        moves += 1;
        position = position.play(mv)?.0;
        for event in receipt.events {
            match event.kind {
                // Before a pass or the end there is no next turn yet: the following event says what comes.
                Some(Kind::Moved(moved)) => {
                    if moved.next.is_some() {
                        (seat, ply) = turn(moved.next)?;
                    }
                }
                Some(Kind::Passed(passed)) => {
                    (seat, ply) = turn(passed.next)?;
                    let pass = position.legal_moves().next().filter(|mv| mv.is_pass());
                    position = position
                        .play(pass.context("a pass where the player could move")?)?
                        .0;
                }
                Some(Kind::GameEnded(ended)) => {
                    return Ok((ended.result.context("an end has a result")?, moves));
                }
                Some(Kind::SessionEnded(_)) => {}
                other => bail!("unexpected in an answer to Play: {other:?}"),
            }
        }
    }
}

fn turn(next: Option<v1::Turn>) -> Result<(u32, u32)> {
    let next = next.context("a pass tells the next turn")?;
    Ok((next.seat, next.ply))
}
