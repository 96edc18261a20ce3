//! What tests do to the Redis store behind its back.
#![allow(clippy::expect_used)]

use async_trait::async_trait;
use tablemate_session::{Instant, Millis, SessionId};

use super::RedisStore;
use super::fault::Effect;
use crate::testing::Tamper;

/// The kinds of keys that a session's scripts touch.
#[derive(Clone, Debug)]
pub struct SessionKeys {
    /// The log.
    pub log: Vec<u8>,
    /// The deadline index.
    pub index: Vec<u8>,
    /// The pulse.
    pub pulse: Vec<u8>,
    /// The outages.
    pub outages: Vec<u8>,
    /// The outbox.
    pub outbox: Vec<u8>,
    /// Settled sessions.
    pub settled: Vec<u8>,
    /// Failing sessions.
    pub failing: Vec<u8>,
    /// How far receivers have read the outbox.
    pub positions: Vec<u8>,
}

impl RedisStore {
    /// The keys of a session and its shard.
    #[must_use]
    pub fn session_keys(&self, session: SessionId) -> SessionKeys {
        let shard = session.shard();
        SessionKeys {
            log: self.keys.log(session),
            index: self.keys.index(shard),
            pulse: self.keys.pulse(shard),
            outages: self.keys.outages(shard),
            outbox: self.keys.outbox(shard),
            settled: self.keys.settled(shard),
            failing: self.keys.failing(shard),
            positions: self.keys.positions(shard),
        }
    }

    /// The keys of a player's records of one kind: record, applied results, their order, games.
    #[must_use]
    pub fn player_keys(player: &tablemate_session::PlayerId, kind: crate::hall_store::Kind) -> [Vec<u8>; 4] {
        super::keys::player(player, kind)
    }

    /// The keys of a hall: tickets, queue, expiry, claims, matches, unfinished, forget.
    #[must_use]
    pub fn hall_keys(hall: &crate::hall_store::HallId) -> Vec<Vec<u8>> {
        super::keys::hall(hall)
    }

    /// Sets this process's estimate of the clock back, as if the store's clock had been set forward, or this process
    /// had slept.
    pub fn set_estimate_back(&self, by: Millis) {
        for clock in &self.clocks {
            let back = Instant(clock.now().0.saturating_sub(by.0));
            clock.reset(back, std::time::Instant::now());
        }
    }

    /// Sets this process's estimate of the clock forward, as if the store's clock had been set back.
    pub fn set_estimate_ahead(&self, by: Millis) {
        for clock in &self.clocks {
            clock.reset(clock.now().after(by), std::time::Instant::now());
        }
    }
}

#[async_trait]
impl Tamper for RedisStore {
    async fn age_pulse(&self, shard: u16, by: Millis) {
        let script =
            "local p = redis.call('GET', KEYS[1]) if p then redis.call('SET', KEYS[1], p - ARGV[1]) end";
        let key = self.keys.pulse(shard);
        let mut command = redis::cmd("EVAL");
        command.arg(script).arg(1).arg(&key).arg(by.0);
        self.link
            .command("tamper", &key, &command, Effect::Signs)
            .await
            .expect("an answer");
    }

    async fn lose_tail(&self, session: SessionId, kept: usize) {
        let key = self.keys.log(session);
        let mut command = redis::cmd("EVAL");
        let script = "local n = redis.call('LLEN', KEYS[1]) - ARGV[1] if n > 0 then redis.call('RPOP', KEYS[1], n) end";
        command.arg(script).arg(1).arg(&key).arg(kept);
        self.link
            .command("tamper", &key, &command, Effect::Signs)
            .await
            .expect("an answer");
    }
}
