//! What all simulated players share.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tablemate_client::{Client, v1};
use tablemate_engine::policy::{self, Policy};
use tablemate_engine::{game, reversi};
use tokio_util::sync::CancellationToken;

use crate::commands::load::journal::Journal;
use crate::commands::load::stats::{Stats, count};
use crate::commands::load::witness::Testimony;

/// What all simulated players share.
#[derive(Debug)]
pub struct Context {
    /// The client.
    pub client: Client,
    /// What is counted.
    pub stats: Stats,
    /// Says that nothing new is to be begun and what is on is to be ended.
    pub stop: CancellationToken,
    /// The settings of the sessions.
    pub settings: v1::SessionSettings,
    /// Makes the players of this run distinct from those of others.
    pub run: String,
    /// Stop after so many games.
    pub games: Option<u64>,
    /// The average thinking time.
    pub think: Duration,
    /// How moves are chosen.
    pub policy: Policy,
    /// How likely a stream is dropped at an event.
    pub disconnects: f64,
    /// The longest time away.
    pub away: Duration,
    /// How likely a move is sent twice.
    pub repeats: f64,
    /// What was acknowledged.
    pub journal: Journal,
    /// The seed of all choices.
    pub seed: u64,
    /// Accounts of sessions that wait for the other player's.
    testimonies: Mutex<HashMap<String, Testimony>>,
}

impl Context {
    /// With nothing counted yet.
    pub fn new(client: Client, args: &super::plan::Args) -> anyhow::Result<Context> {
        Ok(Context {
            client,
            stats: Stats::new()?,
            stop: CancellationToken::new(),
            settings: args.settings(),
            run: tablemate_client::request_id(),
            games: args.games,
            think: args.think.0,
            policy: args.policy.0,
            disconnects: args.disconnects,
            away: args.away.0,
            repeats: args.repeats,
            journal: match &args.journal {
                Some(path) => {
                    Journal::create(path).with_context(|| format!("--journal {}", path.display()))?
                }
                None => Journal::default(),
            },
            seed: args.seed.unwrap_or_else(rand::random),
            testimonies: Mutex::default(),
        })
    }

    /// The choices of one player.
    pub fn rng(&self, player: u32) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(u64::from(player));
        rng
    }

    /// A thinking time: between nothing and twice the average.
    pub fn thinking(&self, rng: &mut ChaCha8Rng) -> Duration {
        self.think.mul_f64(rng.random_range(0.0..=2.0))
    }

    /// A legal move.
    pub fn choose(&self, position: &reversi::Position, rng: &mut ChaCha8Rng) -> Option<game::Move> {
        policy::choose(&game::Position::from(*position), self.policy, rng.random())
    }

    /// Counts a finished game and stops when there were enough.
    pub fn game_finished(&self) {
        count(&self.stats.counters.games);
        let finished = self.stats.counters.games.load(Ordering::Relaxed);
        if self.games.is_some_and(|games| finished >= games) {
            self.stop.cancel();
        }
    }

    /// Takes a player's account of a session. The second one is compared with the first; whether it was the second.
    pub fn testify(&self, session_id: &str, testimony: Testimony) -> bool {
        let mut waiting = self.testimonies.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.remove(session_id) {
            None => {
                waiting.insert(session_id.to_owned(), testimony);
                false
            }
            Some(other) => {
                drop(waiting);
                for violation in testimony.contradictions(&other) {
                    self.stats
                        .violation(violation.at(&format!("session {session_id}")));
                }
                true
            }
        }
    }

    /// Sessions of which only one player gave an account.
    pub fn testimonies_waiting(&self) -> usize {
        self.testimonies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}
