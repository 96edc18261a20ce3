//! Subscriptions: each channel is subscribed to at whoever serves it, on one connection a server, as long as somebody
//! listens. What is wanted and what is subscribed to are compared whenever something happened; a difference is put right
//! and its listeners are told that they may have missed something.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::UnboundedReceiver;

use super::dial::Pushed;
use super::link::{Link, Place};
use super::url::Address;
use crate::error::{Result, StoreError};
use crate::hub::{Hub, Listener, lock};

/// How often all is looked after when nothing happens.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many subscriptions are made at the same time.
const AT_ONCE: usize = 256;

/// What a channel's listener gets.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    /// A message.
    Message(Bytes),
    /// Something may have been missed.
    Gap,
}

type Channel = Vec<u8>;

/// A connection: where to, and which one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wire {
    address: Address,
    generation: u64,
}

/// The channels that a server has confirmed, and on which connection.
type Subscribed = Mutex<HashMap<Channel, Wire>>;

/// The subscriptions of this process.
pub(super) struct PubSub {
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    link: Link,
    hub: Arc<Hub<Channel, Heard>>,
    subscribed: Subscribed,
    /// Wanted and subscribed may differ.
    look: Arc<tokio::sync::Notify>,
}

impl PubSub {
    pub(super) fn open(link: &Link, pushed: UnboundedReceiver<Pushed>) -> Self {
        let look = Arc::new(tokio::sync::Notify::new());
        let unheard = Arc::clone(&look);
        let shared = Arc::new(Shared {
            link: link.clone(),
            hub: Hub::new(move |_: &Channel| unheard.notify_one()),
            subscribed: Mutex::default(),
            look,
        });
        let task = tokio::spawn(shared.clone().run(pushed));
        Self { shared, task }
    }

    /// Listens to a channel: what is published after this returns is heard.
    pub(super) async fn listen(&self, channel: Channel) -> Result<Listener<Channel, Heard>> {
        let listener = self.shared.hub.subscribe(channel.clone(), Heard::Gap);
        self.shared.subscribe(&channel).await?;
        Ok(listener)
    }
}

impl Drop for PubSub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    async fn run(self: Arc<Self>, mut pushed: UnboundedReceiver<Pushed>) {
        let mut changes = self.link.changes();
        // Putting things right takes time; what is pushed meanwhile is handed on.
        let putting_right = async {
            let mut right = true;
            loop {
                tokio::select! {
                    () = self.look.notified() => right = false,
                    _ = changes.changed() => right = false,
                    () = tokio::time::sleep(LOOK_EVERY) => right &= self.ping().await,
                }
                if !right {
                    right = self.put_right().await;
                }
            }
        };
        let distributing = async {
            while let Some(pushed) = pushed.recv().await {
                self.distribute(pushed);
            }
        };
        tokio::join!(putting_right, distributing);
    }

    /// Subscribes at whoever serves the channel.
    async fn subscribe(&self, channel: &[u8]) -> Result<()> {
        let mut command = redis::cmd("SSUBSCRIBE");
        command.arg(channel);
        let answer = self.link.tried_push("subscribe", channel, &command).await?;
        // An answer to something else means that the connection is out of step: the server ended a subscription by
        // itself, which the client library takes for an answer.
        match &answer {
            Value::Push {
                kind: PushKind::SSubscribe,
                data,
            } if is_channel(data.first(), channel) => Ok(()),
            _ => {
                if let Some(node) = self.link.topology().serving(Place::of(channel).slot) {
                    node.pushes.retire_any();
                }
                Err(StoreError::Unavailable {
                    why: "the connection for subscriptions was out of step".to_owned(),
                })
            }
        }
    }

    /// Hands on what a server pushed.
    fn distribute(
        &self,
        Pushed {
            address,
            generation,
            push,
        }: Pushed,
    ) {
        let wire = Wire { address, generation };
        let PushInfo { kind, data } = push;
        let mut data = data.into_iter().map(|value| match value {
            Value::BulkString(bytes) => bytes,
            _ => Vec::new(),
        });
        let channel = data.next().unwrap_or_default();
        match kind {
            PushKind::SMessage => {
                let message = Bytes::from(data.next().unwrap_or_default());
                self.hub.publish(&channel, || Heard::Message(message));
            }
            PushKind::SSubscribe => {
                lock(&self.subscribed).insert(channel, wire);
            }
            PushKind::SUnsubscribe => {
                let by_itself = lock(&self.subscribed).get(&channel) == Some(&wire);
                // Not asked for: the slot has moved. The client library may have taken this for the answer to something
                // else, so the connection is not used any more.
                if by_itself {
                    self.link.doubt();
                    self.lose(&wire);
                }
            }
            PushKind::Disconnection => self.lose(&wire),
            _ => {}
        }
    }

    /// A connection is gone: its listeners are told, and its channels are subscribed to again.
    fn lose(&self, wire: &Wire) {
        let mut lost = Vec::new();
        lock(&self.subscribed).retain(|channel, at| {
            let keeps = at != wire;
            if !keeps {
                lost.push(channel.clone());
            }
            keeps
        });
        for node in &self.link.topology().masters {
            if node.address == wire.address {
                node.pushes.retire(wire.generation);
            }
        }
        for channel in lost {
            self.hub.publish(&channel, || Heard::Gap);
        }
        self.look.notify_one();
    }

    /// Makes what is subscribed to equal to what is wanted; whether all of it worked.
    async fn put_right(&self) -> bool {
        let topology = self.link.topology();
        let (mut missing, mut unheard) = (Vec::new(), Vec::new());
        let wanted = self.hub.channels();
        {
            let subscribed = lock(&self.subscribed);
            for channel in &wanted {
                let serving = topology.serving(Place::of(channel).slot);
                let right = subscribed.get(channel).zip(serving).is_some_and(|(wire, node)| {
                    wire.address == node.address && node.pushes.is_live(wire.generation)
                });
                if !right {
                    missing.push(channel.clone());
                }
            }
            if subscribed.len() > wanted.len() - missing.len() {
                let heard: std::collections::HashSet<&Channel> = wanted.iter().collect();
                unheard.extend(
                    subscribed
                        .keys()
                        .filter(|channel| !heard.contains(channel))
                        .cloned(),
                );
            }
        }
        let all = AtomicBool::new(true);
        let subscribing = futures::stream::iter(missing).for_each_concurrent(AT_ONCE, async |channel| {
            // Also when it was never subscribed to because its listener is just subscribing itself: a gap too many
            // costs a read.
            if !self.hub.is_heard(&channel) {
                return;
            }
            match self.subscribe(&channel).await {
                Ok(()) => self.hub.publish(&channel, || Heard::Gap),
                Err(_) => all.store(false, Ordering::Relaxed),
            }
        });
        subscribing.await;
        let unsubscribing = futures::stream::iter(unheard).for_each_concurrent(AT_ONCE, async |channel| {
            self.unsubscribe(&channel).await;
        });
        unsubscribing.await;
        all.into_inner()
    }

    /// Takes back a subscription that nobody listens to any more.
    async fn unsubscribe(&self, channel: &Channel) {
        // First, so that the server's confirmation is not taken for its own decision.
        lock(&self.subscribed).remove(channel);
        let mut command = redis::cmd("SUNSUBSCRIBE");
        command.arg(channel);
        // A failure leaves a subscription that nobody hears: harmless.
        let _ = self.link.tried_push("unsubscribe", channel, &command).await;
        // Somebody may have come meanwhile, and their subscription have been taken back with the old one.
        if self.hub.is_heard(channel) {
            lock(&self.subscribed).remove(channel);
            self.look.notify_one();
        }
    }

    /// Finds connections that died silently; whether there was none.
    async fn ping(&self) -> bool {
        let topology = self.link.topology();
        let mut wires: Vec<Wire> = Vec::new();
        for wire in lock(&self.subscribed).values() {
            if !wires.contains(wire) {
                wires.push(wire.clone());
            }
        }
        let mut well = true;
        for wire in wires {
            let node = topology.masters.iter().find(|node| node.address == wire.address);
            let in_step = match node {
                Some(node) if node.pushes.is_live(wire.generation) => node.pushes.is_in_step().await,
                _ => false,
            };
            if !in_step {
                tracing::debug!(address = %wire.address, "the connection for subscriptions is down");
                self.lose(&wire);
                well = false;
            }
        }
        well
    }
}

fn is_channel(value: Option<&Value>, channel: &[u8]) -> bool {
    matches!(value, Some(Value::BulkString(name)) if name == channel)
}
