//! What is to be done, read from the arguments.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tablemate_client::v1;
use tablemate_engine::policy::Policy;
use tablemate_engine::search::Level;

use crate::target::Target;
use crate::wire::{DAY, duration};

/// Arguments of `tablemate load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// How many simulated players; two make a game.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=200_000))]
    pub players: u32,
    /// Connections to each address for calls. Streams have connections of their own.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// Stop after so many games.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub games: Option<u64>,
    /// Stop after this time, such as `30s`; 10 s when --games is not given either.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Time>,
    /// How long a player thinks on the average; each time is drawn between nothing and twice as much.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub think: Time,
    /// How a player chooses moves: `random`, `greedy` or `engine:LEVEL` (1 to 8).
    #[arg(long, default_value = "random")]
    pub policy: ChosenPolicy,
    /// How likely a player's stream is dropped at each event, to be resumed by its cursor.
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.01, value_parser = probability)]
    pub disconnects: f64,
    /// The longest time that a player stays away after that; each time is drawn.
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub away: Time,
    /// How likely a move is sent again with its request id after it was acknowledged (S-25).
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.01, value_parser = probability)]
    pub repeats: f64,
    /// No matchmaking and no streams: sessions are created by CreateSession and both players' moves made as fast as the
    /// thinking time allows, for the throughput of moves alone.
    #[arg(long)]
    pub direct: bool,
    /// Keep so many sessions whose players never move, so that the server has to: for the lateness of its timers.
    #[arg(long, value_name = "SESSIONS", conflicts_with_all = ["direct", "players", "games"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub idle_sessions: Option<u32>,
    /// How many of the idle sessions are watched; the lateness is taken from them.
    #[arg(
        long,
        value_name = "SESSIONS",
        default_value_t = 1_000,
        requires = "idle_sessions"
    )]
    pub watched: u32,
    /// Per-move time of the sessions; when not given 30 s, 5 s for idle sessions, 24 h for direct ones.
    #[arg(long, value_name = "TIME")]
    pub move_time: Option<Time>,
    /// Total time of each player; 24 h when not given, so that no game of the load ends by it.
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub total_time: Time,
    /// Let the games touch no player's record, and do not check the records at the end.
    #[arg(long)]
    pub unrated: bool,
    /// How long a call or a stream may go without an answer before the player gives up.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub patience: Time,
    /// Write down what was acknowledged: a JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Print the report as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// The seed of all choices of moves and times; drawn when not given.
    #[arg(long)]
    pub seed: Option<u64>,
}

impl Args {
    /// When to stop: after this time at the latest, if any.
    pub fn limit(&self) -> Option<Duration> {
        match (self.duration, self.games) {
            (Some(Time(limit)), _) => Some(limit),
            (None, Some(_)) => None,
            (None, None) => Some(Duration::from_secs(10)),
        }
    }

    /// The per-move time of the sessions.
    pub fn move_time(&self) -> Duration {
        match self.move_time {
            Some(Time(time)) => time,
            None if self.idle_sessions.is_some() => Duration::from_secs(5),
            // Nobody but the two players shall move there.
            None if self.direct => DAY,
            None => Duration::from_secs(30),
        }
    }

    /// The settings of the sessions.
    pub fn settings(&self) -> v1::SessionSettings {
        let move_time = self.move_time();
        v1::SessionSettings {
            game: Some(v1::session_settings::Game::Reversi(v1::ReversiSettings::default())),
            games: 1,
            opener_rule: v1::OpenerRule::AsSeated.into(),
            move_time: Some(duration(move_time)),
            total_time: Some(duration(self.total_time.0)),
            animation: Some(prost_types::Duration::default()),
            // The rest of the games is resigned when the time is over.
            resign_guard: Some(prost_types::Duration::default()),
            unrated: self.unrated || self.direct || self.idle_sessions.is_some(),
            ..Default::default()
        }
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

/// A time such as `250ms`, `30s`, `5m` or `24h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || "expected a time such as 250ms, 30s, 5m or 24h".to_owned();
        let split = text
            .find(|character: char| character.is_ascii_alphabetic())
            .ok_or_else(wrong)?;
        let (number, unit) = text.split_at(split);
        let seconds_per_unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        Duration::try_from_secs_f64(number * seconds_per_unit)
            .map(Time)
            .map_err(|_| wrong())
    }
}

/// How a player chooses moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenPolicy(pub Policy);

impl FromStr for ChosenPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let policy = match text.split_once(':') {
            None if text == "random" => Policy::Random,
            None if text == "greedy" => Policy::Greedy,
            None if text == "engine" => Policy::Engine {
                level: Level::default(),
            },
            Some(("engine", level)) => Policy::Engine {
                level: level.parse().map_err(|_| "levels are 1 to 8".to_owned())?,
            },
            _ => return Err("expected random, greedy or engine:LEVEL".to_owned()),
        };
        Ok(ChosenPolicy(policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text: &str| text.parse::<Time>().map(|time| time.0.as_millis());
        assert_eq!(read("250ms"), Ok(250));
        assert_eq!(read("1.5s"), Ok(1500));
        assert_eq!(read("5m"), Ok(300_000));
        assert_eq!(read("24h"), Ok(86_400_000));
        for bad in ["", "5", "s", "-1s", "1d", "nans", "1e400s", "5 s x"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
