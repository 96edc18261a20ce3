//! The store in a Redis 7 or newer: one script and one round trip an operation, all keys of an operation in one hash
//! slot.

mod clock;
mod dial;
mod durable;
mod fault;
mod halls;
mod keys;
mod link;
mod node;
mod players;
mod pubsub;
mod reply;
mod scripts;
mod sessions;
#[cfg(feature = "testing")]
mod tamper;
mod topology;
mod url;
mod workers;

#[cfg(feature = "testing")]
pub use tamper::SessionKeys;
pub use url::{RedisSettings, RedisUrl};

use std::sync::Arc;
use std::time::Instant as Monotonic;

use redis::Value;
use tablemate_session::{Instant, Millis};

use clock::{Clock, Observed};
use fault::Effect;
use keys::ShardKeys;
use link::{Answered, Call, Link};
use node::Node;
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
    /// A clock for each shard: shards lie on several servers, and a fail-over gives a shard another server's clock.
    clocks: Vec<Clock>,
    /// Held while a step of the clock is noted, so that this process notes it once.
    stepping: tokio::sync::Mutex<()>,
    applied_kept: Millis,
}

impl RedisStore {
    /// Connects to the Redis at `url`; see [`RedisUrl`] for its shapes. The first process of all writes the
    /// deployment's settings.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`], [`StoreError::Unavailable`], [`StoreError::Denied`], or [`StoreError::Incompatible`]
    /// when the deployment was born with other settings than wished for, or the server is unfit to keep games (too old,
    /// a replica, evicting).
    pub async fn open(url: &str, wish: DeploymentWish) -> Result<Self> {
        Self::open_at(&url.parse()?, wish).await
    }

    /// The same for a URL that was taken apart.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub async fn open_at(url: &RedisUrl, wish: DeploymentWish) -> Result<Self> {
        wish.check()?;
        let (link, pushed) = Link::open(url).await?;
        let deployment = join(&link, &wish).await?;
        let keys = ShardKeys::new(deployment.shards);
        let mut clocks = Vec::with_capacity(usize::from(deployment.shards));
        let mut probed: Vec<(Arc<Node>, Clock)> = Vec::new();
        for shard in 0..deployment.shards {
            let topology = link.topology();
            let serving = topology
                .serving(keys.slot(shard))
                .ok_or_else(|| StoreError::Unavailable {
                    why: format!("no server serves shard {shard}"),
                })?;
            let known = probed.iter().find(|(node, _)| node.address == serving.address);
            let clock = match known {
                Some((_, clock)) => clock.clone(),
                None => {
                    let clock = probed_clock(&link, serving).await?;
                    probed.push((Arc::clone(serving), clock.clone()));
                    clock
                }
            };
            clocks.push(clock);
        }
        let pubsub = PubSub::open(&link, pushed);
        tracing::info!(shards = deployment.shards, store = %url, "joined the deployment");
        Ok(Self {
            keys,
            link,
            pubsub,
            deployment,
            clocks,
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
        let Answered { value, received } = self.link.call(call, effect).await?;
        let mut reply = Reply::new(what, value)?;
        Ok((reply.text()?, reply, received))
    }

    /// The shard's clock. Callers have checked the shard.
    fn clock(&self, shard: u16) -> &Clock {
        self.clocks.get(usize::from(shard)).unwrap_or(&self.clocks[0])
    }

    /// The shards on the same server as this one.
    fn neighbours(&self, shard: u16) -> Vec<u16> {
        let topology = self.link.topology();
        let owner = topology.owner(self.keys.slot(shard));
        (0..self.deployment.shards)
            .filter(|other| *other == shard || topology.owner(self.keys.slot(*other)) == owner)
            .collect()
    }

    /// Takes a shard's time into account. When it is a step ahead, notes that in the store before anybody here acts on
    /// it, and gives true: what was read just now is out of date.
    async fn observe(&self, shard: u16, time: Instant, received: Monotonic) -> Result<bool> {
        if self.clock(shard).observe(time, received) == Observed::Known {
            return Ok(false);
        }
        let _alone = self.stepping.lock().await;
        if self.clock(shard).observe(time, received) == Observed::Known {
            return Ok(true);
        }
        let estimate = self.clock(shard).now();
        // What the server's clock did it did to all shards there.
        let shards = self.neighbours(shard);
        let calls: Vec<Call> = shards
            .iter()
            .map(|shard| {
                Call::new(
                    &SCRIPTS.step,
                    [self.keys.pulse(*shard), self.keys.outages(*shard)],
                )
                .number(NOW_WINDOW.0)
                .number(self.clock(*shard).now().0)
                .number(OUTAGES_MAX as u64)
            })
            .collect();
        for (stepped, answered) in shards.iter().zip(self.link.call_all(&calls, Effect::Signs).await) {
            // The others find out by themselves.
            if *stepped != shard && answered.is_err() {
                continue;
            }
            let Answered { value, received } = answered?;
            let mut reply = Reply::new("step", value)?;
            reply.text()?;
            self.clock(*stepped).adopt(reply.instant()?, received);
        }
        tracing::warn!(
            shard,
            from = estimate.0,
            to = time.0,
            "the store's clock is ahead of what was expected"
        );
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
    let answered = link.call(&call, Effect::Signs).await?;
    let mut reply = Reply::new("deployment", answered.value)?;
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
        .and_then(|shards| u16::try_from(shards).ok().filter(|shards| *shards > 0))
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

/// A server's clock, from a few answers.
async fn probed_clock(link: &Link, node: &Arc<Node>) -> Result<Clock> {
    let (time, received) = probe(link, node).await?;
    let clock = Clock::new(time, received);
    for _ in 1..FIRST_PROBES {
        let (time, received) = probe(link, node).await?;
        clock.adopt(time, received);
    }
    Ok(clock)
}

/// Asks a server for its time.
async fn probe(link: &Link, node: &Arc<Node>) -> Result<(Instant, Monotonic)> {
    let Answered { value, received } = link.command_at("time", node, &redis::cmd("TIME")).await?;
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
