//! Hands what is published to the subscribers in this process, by channel.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::Stream;
use tokio::sync::broadcast;

/// How many messages a slow subscriber may be behind before it is told that it missed some.
const BACKLOG_MAX: usize = 256;

/// Locks; a panic elsewhere cannot have left the maps in here half changed in a way that matters.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Channels by key, each there as long as somebody listens.
pub(crate) struct Hub<K, T> {
    channels: Mutex<HashMap<K, broadcast::Sender<T>>>,
    /// Told when the last subscriber of a channel has gone.
    on_last: Box<dyn Fn(&K) + Send + Sync>,
}

impl<K: Hash + Eq + Clone + Send + Unpin + 'static, T: Clone + Send + Unpin + 'static> Hub<K, T> {
    pub(crate) fn new(on_last: impl Fn(&K) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            channels: Mutex::default(),
            on_last: Box::new(on_last),
        })
    }

    /// Listens to a channel; `missed` is what a subscriber gets in place of what it was too slow for.
    pub(crate) fn subscribe(self: &Arc<Self>, key: K, missed: T) -> Listener<K, T> {
        let receiver = lock(&self.channels)
            .entry(key.clone())
            .or_insert_with(|| broadcast::channel(BACKLOG_MAX).0)
            .subscribe();
        Listener {
            stream: Some(Box::pin(futures::stream::unfold(
                receiver,
                move |mut receiver| {
                    let missed = missed.clone();
                    async move {
                        match receiver.recv().await {
                            Ok(message) => Some((message, receiver)),
                            Err(broadcast::error::RecvError::Lagged(_)) => Some((missed, receiver)),
                            Err(broadcast::error::RecvError::Closed) => None,
                        }
                    }
                },
            ))),
            key,
            hub: Arc::clone(self),
        }
    }

    /// Hands `message` to whoever listens to the channel; makes it only if somebody does.
    pub(crate) fn publish(&self, key: &K, message: impl FnOnce() -> T) {
        if let Some(sender) = lock(&self.channels).get(key) {
            // No receiver left: its drop is about to remove the channel.
            let _ = sender.send(message());
        }
    }

    /// The channels that somebody listens to.
    pub(crate) fn channels(&self) -> Vec<K> {
        lock(&self.channels).keys().cloned().collect()
    }

    /// Whether anybody listens to the channel.
    pub(crate) fn is_heard(&self, key: &K) -> bool {
        lock(&self.channels).contains_key(key)
    }
}

/// One subscriber of one channel.
pub(crate) struct Listener<K: Hash + Eq, T> {
    stream: Option<Pin<Box<dyn Stream<Item = T> + Send>>>,
    key: K,
    hub: Arc<Hub<K, T>>,
}

impl<K: Hash + Eq + Unpin, T> Stream for Listener<K, T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        match &mut self.stream {
            Some(stream) => stream.as_mut().poll_next(context),
            None => Poll::Ready(None),
        }
    }
}

impl<K: Hash + Eq, T> Drop for Listener<K, T> {
    fn drop(&mut self) {
        let mut channels = lock(&self.hub.channels);
        // Lets go of the receiver before counting those that are left.
        self.stream = None;
        let unheard = channels
            .get(&self.key)
            .is_some_and(|sender| sender.receiver_count() == 0);
        if unheard {
            channels.remove(&self.key);
            drop(channels);
            (self.hub.on_last)(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::StreamExt;

    use super::*;

    #[tokio::test]
    async fn a_channel_lives_as_long_as_its_last_subscriber() {
        let gone = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&gone);
        let hub = Hub::new(move |_: &u8| {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        let mut one = hub.subscribe(1, "missed");
        let two = hub.subscribe(1, "missed");
        hub.publish(&1, || "hello");
        hub.publish(&2, || unreachable!("nobody listens"));
        assert_eq!(one.next().await, Some("hello"));
        drop(two);
        assert!(hub.is_heard(&1));
        assert_eq!(gone.load(Ordering::SeqCst), 0);
        drop(one);
        assert!(!hub.is_heard(&1));
        assert_eq!(gone.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_slow_subscriber_learns_that_it_missed_something() {
        let hub = Hub::new(|_: &u8| ());
        let mut slow = hub.subscribe(1, usize::MAX);
        for i in 0..BACKLOG_MAX * 2 {
            hub.publish(&1, || i);
        }
        assert_eq!(slow.next().await, Some(usize::MAX));
    }
}
