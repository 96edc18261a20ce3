//! Subscriptions: one connection for all of them, each channel subscribed to as long as somebody listens.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::aio::ConnectionManager;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::link::{Effect, Link, failure};
use crate::error::Result;
use crate::hub::{Hub, Listener};

/// How often the connection is looked after: a manager whose reconnection failed tries again only when it is used.
const KEEPALIVE: Duration = Duration::from_secs(1);

/// What a channel's listener gets.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    /// A message.
    Message(Bytes),
    /// Something may have been missed.
    Gap,
}

type Channel = Vec<u8>;

/// The subscriptions of this process.
pub(super) struct PubSub {
    hub: Arc<Hub<Channel, Heard>>,
    manager: ConnectionManager,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl PubSub {
    pub(super) async fn open(link: &Link) -> Result<Self> {
        let (unheard_sender, unheard) = unbounded_channel();
        let hub = Hub::new(move |channel: &Channel| {
            // The receiver ends only with the store.
            let _ = unheard_sender.send(channel.clone());
        });
        let (push_sender, pushes) = unbounded_channel();
        let manager = link.subscriber(push_sender.clone()).await?;
        let tasks = vec![
            tokio::spawn(distribute(Arc::clone(&hub), pushes)),
            tokio::spawn(unsubscribe(Arc::clone(&hub), manager.clone(), unheard)),
            tokio::spawn(keep_alive(manager.clone())),
        ];
        Ok(Self { hub, manager, tasks })
    }

    /// Listens to a channel: what is published after this returns is heard.
    pub(super) async fn listen(&self, channel: Channel) -> Result<Listener<Channel, Heard>> {
        let listener = self.hub.subscribe(channel.clone(), Heard::Gap);
        subscribe(&mut self.manager.clone(), &channel).await?;
        Ok(listener)
    }
}

impl Drop for PubSub {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

async fn subscribe(manager: &mut ConnectionManager, channel: &[u8]) -> Result<()> {
    let sent = manager
        .send_packed_command(redis::cmd("SSUBSCRIBE").arg(channel))
        .await;
    let error = match sent {
        Ok(Value::ServerError(error)) => redis::RedisError::from(error),
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    Err(failure("subscribe", &error, Effect::Reads))
}

/// Hands what the server pushes to the listeners.
async fn distribute(hub: Arc<Hub<Channel, Heard>>, mut pushes: UnboundedReceiver<PushInfo>) {
    // How often the connection was lost, and for each channel how often it had been when it was last subscribed to.
    let mut losses = 0_u64;
    let mut subscribed: HashMap<Channel, u64> = HashMap::new();
    while let Some(PushInfo { kind, data }) = pushes.recv().await {
        let mut data = data.into_iter().map(|value| match value {
            Value::BulkString(bytes) => bytes,
            _ => Vec::new(),
        });
        let channel = data.next().unwrap_or_default();
        match kind {
            PushKind::SMessage => {
                let message = Bytes::from(data.next().unwrap_or_default());
                hub.publish(&channel, || Heard::Message(message));
            }
            PushKind::Disconnection => {
                losses += 1;
                hub.publish_to_all(|| Heard::Gap);
            }
            PushKind::SSubscribe => {
                // Subscribed again after a loss: what was published between the two was not heard.
                let before = subscribed.insert(channel.clone(), losses);
                if before.is_some_and(|before| before < losses) {
                    hub.publish(&channel, || Heard::Gap);
                }
            }
            PushKind::SUnsubscribe => {
                subscribed.remove(&channel);
            }
            _ => {}
        }
    }
}

/// Takes back subscriptions that nobody listens to any more.
async fn unsubscribe(
    hub: Arc<Hub<Channel, Heard>>,
    mut manager: ConnectionManager,
    mut unheard: UnboundedReceiver<Channel>,
) {
    while let Some(channel) = unheard.recv().await {
        if hub.is_heard(&channel) {
            continue;
        }
        // A failure leaves a subscription that nobody hears: harmless, and gone with the next reconnection at latest
        // when somebody comes and goes again.
        let _ = manager
            .send_packed_command(redis::cmd("SUNSUBSCRIBE").arg(&channel))
            .await;
        // Somebody may have come meanwhile, and their subscription have been taken back with the old one.
        if hub.is_heard(&channel) && subscribe(&mut manager, &channel).await.is_ok() {
            hub.publish(&channel, || Heard::Gap);
        }
    }
}

async fn keep_alive(mut manager: ConnectionManager) {
    loop {
        tokio::time::sleep(KEEPALIVE).await;
        if let Err(error) = manager.send_packed_command(&redis::cmd("PING")).await {
            tracing::debug!(
                category = error.category(),
                "the subscriptions' connection is down"
            );
        }
    }
}
