//! The way to Redis, whatever its shape: a command goes to the server that serves its slot, is tried again where that is
//! safe, and an error says whether something may have been done.

use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant as Monotonic};

use redis::{Cmd, Value};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use super::dial::{Dial, NoConnection, Purpose, Pushed, SharedDial};
use super::fault::{Effect, Fault};
use super::node::Node;
use super::scripts::Script;
use super::topology::{Resolver, Topology};
use super::url::{Address, RedisUrl, Shape};
use crate::error::{Result, StoreError};
use crate::hub::lock;

/// The waits between tries: the first, doubled up to the last.
const BACKOFF_FIRST: Duration = Duration::from_millis(8);
const BACKOFF_LAST: Duration = Duration::from_millis(200);
/// How many redirections are followed without a wait.
const REDIRECTIONS_MAX: u32 = 4;
/// How often a single server that is a replica is tried.
const REPLICA_TRIES: u32 = 4;
/// How often the servers are asked who serves what, at most.
const REFRESH_MIN: Duration = Duration::from_millis(30);
/// How often they are asked when nothing seems wrong. Sentinels often: a master that was replaced may still answer.
const SENTINELS_EVERY: Duration = Duration::from_secs(1);
const CLUSTER_EVERY: Duration = Duration::from_secs(10);
/// How long to wait before a Sentinel is listened to again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Where a command belongs: its slot, and a key of that slot that nothing else uses.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) slot: u16,
    mark: Vec<u8>,
}

impl Place {
    /// Of a key.
    pub(super) fn of(key: &[u8]) -> Self {
        let tag = hash_tag(key);
        let mut mark = Vec::with_capacity(tag.len() + 3);
        mark.push(b'{');
        mark.extend_from_slice(tag);
        mark.extend_from_slice(b"}w");
        Self {
            slot: crate::shards::slot(tag),
            mark,
        }
    }
}

/// The part of a key that decides its slot.
fn hash_tag(key: &[u8]) -> &[u8] {
    let tagged = || {
        let open = key.iter().position(|byte| *byte == b'{')?;
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|tag| !tag.is_empty())
    };
    tagged().unwrap_or(key)
}

/// A script with its keys and arguments, ready to be sent: `EVALSHA hash count key… arg…`.
pub(super) struct Call {
    script: &'static Script,
    command: Cmd,
    place: Place,
}

impl Call {
    pub(super) fn new<K>(script: &'static Script, keys: K) -> Self
    where
        K: IntoIterator<Item = Vec<u8>, IntoIter: ExactSizeIterator>,
    {
        // Room for most calls without growing.
        let mut command = Cmd::with_capacity(24, 512);
        let keys = keys.into_iter();
        command.arg("EVALSHA").arg(script.hash.as_str()).arg(keys.len());
        let mut place = None;
        keys.for_each(|key| {
            place.get_or_insert_with(|| Place::of(&key));
            command.arg(key);
        });
        Self {
            script,
            command,
            place: place.unwrap_or_else(|| Place::of(&[])),
        }
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.command.arg(bytes);
        self
    }

    pub(super) fn number(mut self, number: u64) -> Self {
        // Lua counts in floating point: beyond this it could not tell neighbours apart.
        const EXACT_MAX: u64 = (1 << 53) - 1;
        self.command.arg(number.min(EXACT_MAX));
        self
    }

    /// The same with the script's text in place of its hash.
    fn with_text(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(self.script.text.as_str());
        for arg in self.command.args_iter().skip(2) {
            if let redis::Arg::Simple(bytes) = arg {
                command.arg(bytes);
            }
        }
        command
    }
}

/// What is to be done, and where.
struct Request<'a> {
    what: &'static str,
    effect: Effect,
    command: &'a Cmd,
    /// The script, if the command is one.
    call: Option<&'a Call>,
    to: To<'a>,
    purpose: Purpose,
}

#[derive(Clone, Copy)]
enum To<'a> {
    /// Whoever serves it.
    Place(&'a Place),
    /// This master and no other.
    Node(&'a Arc<Node>),
}

/// An answer, who gave it, and when it was here.
pub(super) struct Answered {
    pub(super) value: Value,
    pub(super) received: Monotonic,
}

struct Inner {
    dial: SharedDial,
    resolver: Resolver,
    shape: Shape,
    topology: RwLock<Arc<Topology>>,
    /// When who serves what was last asked for.
    asked: tokio::sync::Mutex<Option<Monotonic>>,
    /// The topology's version, for those who must act on a change.
    version: watch::Sender<u64>,
    /// Somebody thinks that it is time to ask.
    doubt: Arc<tokio::sync::Notify>,
    /// Servers that commands were sent on to while a slot moved, beside the masters.
    guests: Mutex<Vec<Arc<Node>>>,
    tasks: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        for task in self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

/// The way to Redis. Cheap to clone.
#[derive(Clone)]
pub(super) struct Link(Arc<Inner>);

impl Link {
    /// Finds the masters and connects to each; gives what they will push too.
    pub(super) async fn open(url: &RedisUrl) -> Result<(Self, UnboundedReceiver<Pushed>)> {
        let (pushes, pushed) = tokio::sync::mpsc::unbounded_channel();
        let dial = Arc::new(Dial::new(url, pushes)?);
        let link = Self(Arc::new(Inner {
            resolver: Resolver::new(&url.shape, &dial),
            shape: url.shape.clone(),
            topology: RwLock::new(Arc::new(Topology::nobody())),
            asked: tokio::sync::Mutex::default(),
            version: watch::Sender::new(0),
            doubt: Arc::default(),
            guests: Mutex::default(),
            tasks: Mutex::default(),
            dial,
        }));
        let total = url.settings.total;
        let opening = async {
            let mut waits = Backoff::new();
            loop {
                match link.connect_all().await {
                    Ok(()) => return Ok(()),
                    // A master that was just replaced says that it is a replica: its Sentinels will say more.
                    Err(NoConnection::Replica(_)) if !matches!(url.shape, Shape::Single(_)) => {}
                    Err(NoConnection::Unreachable(why)) => tracing::debug!(%why, "connecting to the store"),
                    Err(error) => return Err(error.at_start()),
                }
                waits.pause().await;
            }
        };
        match tokio::time::timeout(total, opening).await {
            Ok(opened) => opened?,
            Err(_) => {
                // The reason, not only that it took too long.
                let why = tokio::time::timeout(url.settings.connect, link.connect_all()).await;
                let late = || NoConnection::Unreachable("connecting took too long".to_owned());
                why.unwrap_or_else(|_| Err(late()))
                    .map_err(NoConnection::at_start)?;
            }
        }
        link.watch_over();
        Ok((link, pushed))
    }

    async fn connect_all(&self) -> std::result::Result<(), NoConnection> {
        self.refresh().await?;
        let topology = self.topology();
        let connecting = topology.masters.iter().map(|node| node.commands.get());
        futures::future::try_join_all(connecting).await.map(drop)
    }

    /// Who serves what.
    pub(super) fn topology(&self) -> Arc<Topology> {
        Arc::clone(&self.0.topology.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells of each change of who serves what.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.0.version.subscribe()
    }

    /// Who serves what may have changed.
    pub(super) fn doubt(&self) {
        self.0.doubt.notify_one();
    }

    /// Asks who serves what, once for all who want to know now.
    async fn refresh(&self) -> std::result::Result<(), NoConnection> {
        if matches!(self.0.shape, Shape::Single(_)) && self.topology().version > 0 {
            return Ok(());
        }
        let wanted = Monotonic::now();
        let mut asked = self.0.asked.lock().await;
        if asked.is_some_and(|at| at > wanted || at.elapsed() < REFRESH_MIN) && self.topology().version > 0 {
            return Ok(());
        }
        let found = self.0.resolver.resolve(&self.topology()).await;
        *asked = Some(Monotonic::now());
        drop(asked);
        let found = found?;
        self.install(|before, dial| Some(Topology::of(found, before, dial)));
        Ok(())
    }

    fn install(&self, make: impl FnOnce(&Topology, &SharedDial) -> Option<Topology>) {
        let mut current = self.0.topology.write().unwrap_or_else(PoisonError::into_inner);
        let Some(new) = make(&current, &self.0.dial) else {
            return;
        };
        if current.same(&new) {
            return;
        }
        let masters = |of: &Topology| {
            of.masters
                .iter()
                .map(|node| node.address.to_string())
                .collect::<Vec<_>>()
        };
        let (before, now) = (masters(&current), masters(&new));
        if before != now && current.version > 0 {
            tracing::warn!(
                before = before.join(" "),
                now = now.join(" "),
                "the store has other masters now"
            );
        }
        let version = new.version;
        *current = Arc::new(new);
        drop(current);
        lock(&self.0.guests).clear();
        self.0.version.send_replace(version);
    }

    /// The server at this address, which serves single commands of a slot on the move.
    fn guest(&self, address: Address) -> Arc<Node> {
        let topology = self.topology();
        let mut guests = lock(&self.0.guests);
        let known = topology.masters.iter().chain(guests.iter());
        if let Some(node) = known.into_iter().find(|node| node.address == address) {
            return Arc::clone(node);
        }
        let node = Node::new(&self.0.dial, address);
        guests.push(Arc::clone(&node));
        node
    }

    /// Starts what notices a change that no command runs into.
    fn watch_over(&self) {
        let every = match &self.0.shape {
            Shape::Single(_) => return,
            Shape::Sentinel { .. } => SENTINELS_EVERY,
            Shape::Cluster(_) => CLUSTER_EVERY,
        };
        let mut tasks = vec![tokio::spawn(keep_up(
            Arc::downgrade(&self.0),
            Arc::clone(&self.0.doubt),
            every,
        ))];
        if let Shape::Sentinel { sentinels, service } = &self.0.shape {
            for sentinel in sentinels {
                let (inner, dial) = (Arc::downgrade(&self.0), Arc::clone(&self.0.dial));
                tasks.push(tokio::spawn(listen(
                    inner,
                    dial,
                    sentinel.clone(),
                    service.clone(),
                )));
            }
        }
        lock(&self.0.tasks).extend(tasks);
    }

    /// Runs a script; gives its answer and when it was here.
    pub(super) async fn call(&self, call: &Call, effect: Effect) -> Result<Answered> {
        self.tried(Request {
            what: call.script.name,
            effect,
            command: &call.command,
            call: Some(call),
            to: To::Place(&call.place),
            purpose: Purpose::Commands,
        })
        .await
    }

    /// Runs several scripts at the same time; gives their answers in order.
    pub(super) async fn call_all(&self, calls: &[Call], effect: Effect) -> Vec<Result<Answered>> {
        futures::future::join_all(calls.iter().map(|call| self.call(call, effect))).await
    }

    /// Runs a plain command on a key.
    pub(super) async fn command(
        &self,
        what: &'static str,
        key: &[u8],
        command: &Cmd,
        effect: Effect,
    ) -> Result<Value> {
        let place = Place::of(key);
        let answered = self.tried(Request {
            what,
            effect,
            command,
            call: None,
            to: To::Place(&place),
            purpose: Purpose::Commands,
        });
        Ok(answered.await?.value)
    }

    /// Runs a plain command on this master.
    pub(super) async fn command_at(
        &self,
        what: &'static str,
        node: &Arc<Node>,
        command: &Cmd,
    ) -> Result<Answered> {
        self.tried(Request {
            what,
            effect: Effect::Reads,
            command,
            call: None,
            to: To::Node(node),
            purpose: Purpose::Commands,
        })
        .await
    }

    /// Sends a command about a channel to whoever serves it, on the connection for subscriptions.
    pub(super) async fn tried_push(
        &self,
        what: &'static str,
        channel: &[u8],
        command: &Cmd,
    ) -> Result<Value> {
        let place = Place::of(channel);
        let answered = self.tried(Request {
            what,
            effect: Effect::Reads,
            command,
            call: None,
            to: To::Place(&place),
            purpose: Purpose::Pushes,
        });
        Ok(answered.await?.value)
    }

    /// What other commands of the slot's master have done is on as many replicas as wanted.
    pub(super) async fn confirm(&self, key: &[u8]) -> Result<()> {
        if self.0.dial.settings.min_replicas > 0 {
            // Any command will do: the mark and the WAIT come behind it.
            let ping = redis::cmd("PING");
            self.command("confirm", key, &ping, Effect::Writes).await?;
        }
        Ok(())
    }

    /// Tries until there is an answer, the server refuses for good, or time ends.
    async fn tried(&self, request: Request<'_>) -> Result<Answered> {
        let total = self.0.dial.settings.total;
        // Whether some try before, or the one now, may have been carried out although no answer came.
        let (mut before, mut now) = (false, false);
        let mut last = None;
        let tries = async {
            let mut waits = Backoff::new();
            let mut detour = None;
            let (mut redirections, mut replicas) = (0, 0);
            let mut with_text = None;
            loop {
                let fault = match self
                    .once(&request, detour.take(), with_text.as_ref(), &mut now)
                    .await
                {
                    Ok(value) => {
                        return Ok(Answered {
                            value,
                            received: Monotonic::now(),
                        });
                    }
                    Err(fault) => fault,
                };
                before |= now && fault.may_be_done();
                now = false;
                tracing::debug!(what = request.what, ?fault, "store call failed");
                match fault {
                    Fault::Answered(error) => return Err(error),
                    Fault::Unconfirmed(why) => return Err(StoreError::OutcomeUnknown { why }),
                    Fault::NoScript => {
                        // The server has forgotten its scripts (a restart): this one comes along.
                        let Some(call) = request.call else {
                            return Err(StoreError::Unavailable {
                                why: "the server knows a script that is none".to_owned(),
                            });
                        };
                        with_text = Some(call.with_text());
                        continue;
                    }
                    Fault::Elsewhere { ask, slot, address } => {
                        last = Some(format!("{}: slot {slot} is on the move", request.what));
                        redirections += 1;
                        if ask {
                            detour = Some(self.guest(address));
                        } else {
                            self.install(|topology, dial| topology.moved(slot, &address, dial));
                            self.doubt();
                        }
                        if redirections <= REDIRECTIONS_MAX {
                            continue;
                        }
                    }
                    Fault::NoConnection(NoConnection::Unfit(error)) => {
                        return Err(StoreError::Unavailable {
                            why: error.to_string(),
                        });
                    }
                    Fault::NoConnection(NoConnection::Replica(why)) => {
                        // Nobody else is known; but this may be what was found a moment ago.
                        replicas += 1;
                        if matches!(self.0.shape, Shape::Single(_)) && replicas > REPLICA_TRIES {
                            return Err(StoreError::Unavailable { why });
                        }
                        last = Some(why);
                        let _ = self.refresh().await;
                    }
                    Fault::NotNow(why)
                    | Fault::NoConnection(NoConnection::Unreachable(why))
                    | Fault::Lost(why)
                    | Fault::ReadOnly(why) => {
                        last = Some(why);
                        let _ = self.refresh().await;
                    }
                }
                waits.pause().await;
            }
        };
        let error = match tokio::time::timeout(total, tries).await {
            Ok(Ok(answered)) => return Ok(answered),
            Ok(Err(error)) => error,
            Err(_) => {
                before |= now;
                StoreError::Unavailable {
                    why: last.unwrap_or_else(|| {
                        format!("{} took more than {} ms", request.what, total.as_millis())
                    }),
                }
            }
        };
        // A refusal says that this try changed nothing. One before it may have.
        Err(match error {
            StoreError::Unavailable { why } | StoreError::Full { why } | StoreError::Denied { why, .. }
                if before =>
            {
                request.effect.unanswered(why)
            }
            error => error,
        })
    }

    /// Sends it once.
    async fn once(
        &self,
        request: &Request<'_>,
        detour: Option<Arc<Node>>,
        with_text: Option<&Cmd>,
        sent: &mut bool,
    ) -> std::result::Result<Value, Fault> {
        let asking = detour.is_some();
        let node = match (detour, request.to) {
            (Some(node), _) => node,
            (None, To::Node(node)) => Arc::clone(node),
            (None, To::Place(place)) => {
                let topology = self.topology();
                let serving = topology.serving(place.slot).map(Arc::clone);
                serving.ok_or_else(|| Fault::NotNow(format!("{}: nobody serves its slot", request.what)))?
            }
        };
        let command = with_text.unwrap_or(request.command);
        if let (Effect::Writes, To::Place(place), true) =
            (request.effect, request.to, self.0.dial.settings.min_replicas > 0)
        {
            return node
                .durable()
                .send(request.what, command, asking, &place.mark, sent)
                .await;
        }
        let lane = match request.purpose {
            Purpose::Pushes => &node.pushes,
            _ => &node.commands,
        };
        lane.send(request.what, command, asking, sent).await
    }
}

/// Waits that grow, each cut at random so that those who failed together do not come back together.
struct Backoff(Duration);

impl Backoff {
    fn new() -> Self {
        Self(BACKOFF_FIRST)
    }

    async fn pause(&mut self) {
        let share = getrandom::u32().unwrap_or(u32::MAX) / 2 + u32::MAX / 2;
        tokio::time::sleep(self.0.mul_f64(f64::from(share) / f64::from(u32::MAX))).await;
        self.0 = (self.0 * 2).min(BACKOFF_LAST);
    }
}

/// Asks who serves what now and then, and when in doubt.
async fn keep_up(inner: Weak<Inner>, doubt: Arc<tokio::sync::Notify>, every: Duration) {
    loop {
        let _ = tokio::time::timeout(every, doubt.notified()).await;
        let Some(link) = inner.upgrade().map(Link) else {
            return;
        };
        if let Err(why) = link.refresh().await {
            tracing::debug!(?why, "nobody says who serves the store");
        }
    }
}

/// Hears from a Sentinel that there is another master.
async fn listen(inner: Weak<Inner>, dial: SharedDial, sentinel: Address, service: String) {
    use futures::StreamExt;
    loop {
        if let Ok(client) = dial.client(&sentinel, Purpose::Sentinel)
            && let Ok(Ok(mut pubsub)) =
                tokio::time::timeout(dial.settings.connect, client.get_async_pubsub()).await
            && pubsub.subscribe("+switch-master").await.is_ok()
        {
            let mut messages = pubsub.on_message();
            while let Some(message) = messages.next().await {
                let payload = message.get_payload_bytes();
                if payload.split(|byte| *byte == b' ').next() != Some(service.as_bytes()) {
                    continue;
                }
                match inner.upgrade() {
                    Some(inner) => Link(inner).doubt(),
                    None => return,
                }
            }
        }
        if inner.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_decided_by_the_part_in_braces() {
        for (key, tag) in [
            (&b"{abc}s1"[..], &b"abc"[..]),
            (b"tablemate:workers", b"tablemate:workers"),
            (b"{}x", b"{}x"),
            (b"x{ab}{cd}", b"ab"),
            (b"{ab", b"{ab"),
        ] {
            assert_eq!(hash_tag(key), tag);
        }
        assert_eq!(
            Place::of(b"{abc}s1").slot,
            Place::of(&Place::of(b"{abc}s1").mark).slot
        );
    }
}
