//! The store in a Redis 7 or newer: one script and one round trip an operation, all keys of an operation in one hash
//! slot.

mod clock;
mod halls;
mod keys;
mod link;
mod players;
mod pubsub;
mod reply;
mod scripts;
mod sessions;
#[cfg(feature = "testing")]
mod tamper;
mod workers;

#[cfg(feature = "testing")]
pub use tamper::SessionKeys;

use std::time::Instant as Monotonic;

use redis::Value;
use tablemate_session::{Instant, Millis};

use clock::{Clock, Observed};
use keys::ShardKeys;
use link::{Call, Effect, Link};
use pubsub::PubSub;
use reply::Reply;
use scripts::SCRIPTS;

use crate::deployment::{Deployment, DeploymentWish};
use crate::error::{Result, StoreError};
use crate::player_store::APPLIED_KEPT_DEFAULT;
use crate::session_store::{NOW_WINDOW, OUTAGES_MAX};

/// The version of what is written to the store; another one is refused at start.
const FORMAT: &str = "1";
/// How many answers the first estimate of the clock is made of.
const FIRST_PROBES: usize = 3;

/// The store in a Redis.
pub struct RedisStore {
    link: Link,
    pubsub: PubSub,
    deployment: Deployment,
    keys: ShardKeys,
    clock: Clock,
    /// Held while a step of the clock is noted, so that this process notes it once.
    stepping: tokio::sync::Mutex<()>,
    applied_kept: Millis,
}

impl RedisStore {
    /// Connects to the Redis at `url` (`redis://[user[:password]@]host[:port][/database]`). The first process of all
    /// writes the deployment's settings.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`], [`StoreError::Unavailable`], [`StoreError::Denied`], or [`StoreError::Incompatible`]
    /// when the deployment was born with other settings than wished for.
    pub async fn open(url: &str, wish: DeploymentWish) -> Result<Self> {
        wish.check()?;
        let link = Link::open(url).await?;
        let deployment = join(&link, &wish).await?;
        let (time, received) = probe(&link).await?;
        let clock = Clock::new(time, received);
        for _ in 1..FIRST_PROBES {
            let (time, received) = probe(&link).await?;
            clock.adopt(time, received);
        }
        let pubsub = PubSub::open(&link).await?;
        tracing::info!(shards = deployment.shards, "joined the deployment");
        Ok(Self {
            keys: ShardKeys::new(deployment.shards),
            link,
            pubsub,
            deployment,
            clock,
            stepping: tokio::sync::Mutex::new(()),
            applied_kept: wish.applied_kept.unwrap_or(APPLIED_KEPT_DEFAULT),
        })
    }

    fn check_shard(&self, shard: u16) -> Result<()> {
        let shards = self.deployment.shards;
        if shard < shards {
            Ok(())
        } else {
            Err(StoreError::NoSuchShard { shard, shards })
        }
    }

    /// Runs a script; gives its answer's first word and the rest.
    async fn run(
        &self,
        call: &Call,
        what: &'static str,
        effect: Effect,
    ) -> Result<(String, Reply, Monotonic)> {
        let (value, received) = self.link.call(call, effect).await?;
        let mut reply = Reply::new(what, value)?;
        Ok((reply.text()?, reply, received))
    }

    /// Takes a shard's time into account. When it is a step ahead, notes that in the store before anybody here acts on
    /// it, and gives true: what was read just now is out of date.
    async fn observe(&self, time: Instant, received: Monotonic) -> Result<bool> {
        if self.clock.observe(time, received) == Observed::Known {
            return Ok(false);
        }
        let _alone = self.stepping.lock().await;
        if self.clock.observe(time, received) == Observed::Known {
            return Ok(true);
        }
        let estimate = self.clock.now();
        let calls: Vec<Call> = (0..self.deployment.shards)
            .map(|shard| {
                Call::new(&SCRIPTS.step, [self.keys.pulse(shard), self.keys.outages(shard)])
                    .number(NOW_WINDOW.0)
                    .number(estimate.0)
                    .number(OUTAGES_MAX as u64)
            })
            .collect();
        let (answers, received) = self.link.call_all(&calls, Effect::Writes).await?;
        let mut latest = time;
        for answer in answers {
            let mut reply = Reply::new("step", answer)?;
            reply.text()?;
            latest = latest.max(reply.instant()?);
        }
        tracing::warn!(
            from = estimate.0,
            to = latest.0,
            "the store's clock is ahead of what was expected"
        );
        self.clock.adopt(latest, received);
        Ok(true)
    }
}

/// Reads the deployment's settings, or writes them if this is the first process.
async fn join(link: &Link, wish: &DeploymentWish) -> Result<Deployment> {
    let born = Deployment::born(wish)?;
    let call = Call::new(&SCRIPTS.deployment, [keys::DEPLOYMENT.to_vec()])
        .bytes(b"format")
        .bytes(FORMAT.as_bytes())
        .bytes(b"shards")
        .number(u64::from(born.shards))
        .bytes(b"outage_threshold_ms")
        .number(born.outage_threshold.0)
        .bytes(b"id_key")
        .bytes(&born.id_key);
    let (value, _) = link.call(&call, Effect::Writes).await?;
    let mut reply = Reply::new("deployment", value)?;
    let (mut format, mut shards, mut threshold, mut id_key) = (None, None, None, None);
    while !reply.is_empty() {
        match reply.text()?.as_str() {
            "format" => format = Some(reply.text()?),
            "shards" => shards = Some(reply.number()?),
            "outage_threshold_ms" => threshold = Some(Millis(reply.number()?)),
            "id_key" => id_key = Some(reply.fixed()?),
            _ => drop(reply.bytes()?),
        }
    }
    let missing = || StoreError::Corrupt {
        what: "deployment",
        why: "lacks a setting".to_owned(),
    };
    must_be("format", &FORMAT.to_owned(), &format.ok_or_else(missing)?)?;
    let shards = shards
        .and_then(|shards| u16::try_from(shards).ok())
        .ok_or_else(missing)?;
    let outage_threshold = threshold.ok_or_else(missing)?;
    must_be("number of shards", &wish.shards.unwrap_or(shards), &shards)?;
    must_be(
        "outage threshold",
        &wish.outage_threshold.unwrap_or(outage_threshold),
        &outage_threshold,
    )?;
    Ok(Deployment {
        shards,
        outage_threshold,
        id_key: id_key.ok_or_else(missing)?,
    })
}

fn must_be<T: PartialEq + ToString>(setting: &'static str, wanted: &T, stored: &T) -> Result<()> {
    if wanted == stored {
        return Ok(());
    }
    Err(StoreError::Incompatible {
        setting,
        stored: stored.to_string(),
        wanted: wanted.to_string(),
    })
}

/// Asks for the time.
async fn probe(link: &Link) -> Result<(Instant, Monotonic)> {
    let value = link.command("time", &redis::cmd("TIME"), Effect::Reads).await?;
    let received = Monotonic::now();
    let mut reply = Reply::new("time", value)?;
    let (seconds, micros) = (reply.number()?, reply.number()?);
    Ok((
        Instant(seconds.saturating_mul(1_000).saturating_add(micros / 1_000)),
        received,
    ))
}

/// That a script answered with a word that this version does not know.
fn unknown_answer(what: &'static str, word: &str) -> StoreError {
    StoreError::Corrupt {
        what,
        why: format!("answered {word:?}"),
    }
}

/// The answer of a plain command that gives a number.
fn number(what: &'static str, value: Value) -> Result<u64> {
    Reply::new(what, Value::Array(vec![value]))?.number()
}
