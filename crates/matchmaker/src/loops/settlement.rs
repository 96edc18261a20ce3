//! Reads the outboxes of shards: settles results, releases the claims of ended sessions.

use std::sync::Arc;

use futures::StreamExt as _;
use tablemate_store::session_store::OutboxCursor;
use tokio::sync::Notify;

use super::trouble::{Group, Trouble};
use super::{Ownership, Tools};
use crate::settlement::RECEIVER;

/// Wakes the reader of a shard's outbox.
#[derive(Clone)]
pub(super) struct Wakers(Arc<[Arc<Notify>]>);

impl Wakers {
    pub fn new(shards: u16) -> Self {
        Self((0..shards).map(|_| Arc::default()).collect())
    }

    pub fn of(&self, shard: u16) -> Arc<Notify> {
        self.0.get(usize::from(shard)).cloned().unwrap_or_default()
    }

    fn wake(&self, shard: Option<u16>) {
        match shard {
            Some(shard) => {
                if let Some(waker) = self.0.get(usize::from(shard)) {
                    waker.notify_one();
                }
            }
            None => self.0.iter().for_each(|waker| waker.notify_one()),
        }
    }
}

/// Passes on what the store says about new entries, until the loops stop.
pub(super) async fn wake(tools: Tools, wakers: Wakers) {
    let mut trouble = Trouble::with("subscription to outboxes");
    let shards: Vec<u16> = (0..tools.stores.sessions.deployment().shards).collect();
    loop {
        let subscription = tools.stores.sessions.subscribe_outbox(&shards).await;
        if let Some(mut appended) = trouble.note(subscription) {
            wakers.wake(None);
            loop {
                tokio::select! {
                    biased;
                    () = tools.stop.cancelled() => return,
                    shard = appended.next() => match shard {
                        Some(shard) => wakers.wake(shard),
                        None => break,
                    },
                }
            }
        }
        // Meanwhile the readers look by themselves.
        if !tools.sleep(tools.config.settle_poll).await {
            return;
        }
    }
}

/// What goes wrong with the readers of all shards.
#[derive(Clone)]
pub(super) struct Troubles {
    settling: Group,
    releasing: Group,
}

impl Troubles {
    pub fn new() -> Self {
        Self {
            settling: Group::with("settlement of results"),
            releasing: Group::with("release of claims"),
        }
    }
}

/// Reads one shard's outbox until the loops stop.
pub(super) async fn run(
    tools: Tools,
    ownership: Ownership,
    shard: u16,
    waker: Arc<Notify>,
    troubles: Troubles,
) {
    let mut settling = Receiver::new(troubles.settling.member());
    let mut releasing = Receiver::new(troubles.releasing.member());
    loop {
        let mut more = false;
        if ownership.owns(shard) {
            more |= settling
                .round(
                    || tools.stores.sessions.outbox_position(shard, RECEIVER),
                    async |after| tools.settler.settle_after(shard, after).await,
                )
                .await;
        } else {
            settling.forget();
        }
        if ownership.owns_for_hall(shard) {
            more |= releasing
                .round(
                    || tools.releaser.noted(shard),
                    async |after| tools.releaser.release_after(shard, after).await,
                )
                .await;
        } else {
            releasing.forget();
        }
        if more {
            if tools.stop.is_cancelled() {
                return;
            }
            continue;
        }
        tokio::select! {
            biased;
            () = tools.stop.cancelled() => return,
            () = waker.notified() => {}
            () = tokio::time::sleep(tools.config.settle_poll) => {}
        }
    }
}

/// One receiver's place in one outbox, as long as this worker looks after it.
struct Receiver {
    at: Option<OutboxCursor>,
    trouble: Trouble,
}

impl Receiver {
    const fn new(trouble: Trouble) -> Self {
        Self { at: None, trouble }
    }

    /// Another worker reads on; its place is in the store.
    fn forget(&mut self) {
        self.at = None;
    }

    /// One round; gives whether there is more.
    async fn round<N>(
        &mut self,
        noted: impl FnOnce() -> N,
        read: impl AsyncFnOnce(
            OutboxCursor,
        ) -> tablemate_store::Result<(crate::settlement::Progress, OutboxCursor)>,
    ) -> bool
    where
        N: Future<Output = tablemate_store::Result<OutboxCursor>>,
    {
        let after = match self.at {
            Some(at) => at,
            None => match self.trouble.note(noted().await) {
                Some(at) => at,
                None => return false,
            },
        };
        // After a failure the place in the store is the one to go on from.
        self.at = None;
        let Some((progress, at)) = self.trouble.note(read(after).await) else {
            return false;
        };
        self.at = Some(at);
        progress.more
    }
}
