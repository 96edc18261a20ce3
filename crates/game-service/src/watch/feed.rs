//! The feed of one session: what is committed, decoded once for all watchers of this replica.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_session::fact::Fact;
use tablemate_session::session::Session;
use tablemate_session::{Instant, SessionId};
use tablemate_store::session_store::{Live, Subscription};
use tablemate_store::{Cursor, Entry};
use tokio::sync::broadcast;
use tokio::time::MissedTickBehavior;

use super::Watches;
use crate::core::{Fresh, Log, decode, errors};

/// How many beats wait for a slow watcher before it has to read the log.
pub(super) const BEATS_KEPT: usize = 256;
/// How long after a deadline a feed looks whether it was fired: the worker's turn comes first.
const OVERDUE: Duration = Duration::from_millis(250);

/// What watchers are told.
#[derive(Clone, Debug)]
pub(super) enum Beat {
    /// Facts were committed.
    Facts(Arc<Batch>),
    /// A player came or went.
    Presence {
        /// The seat, 1 or 2.
        seat: u8,
        /// Whether the player is there now.
        present: bool,
    },
    /// The session was looked at, and nothing was missed.
    Alive {
        /// Where its log stands.
        cursor: Cursor,
        /// The shard's clock.
        now: Instant,
    },
    /// The log is not what it was: begin anew with a snapshot.
    Lost,
    /// The session was deleted.
    Gone,
}

/// Facts that were committed together.
#[derive(Debug)]
pub(super) struct Batch {
    /// Where the log stood before them.
    pub start: Cursor,
    /// The facts.
    pub facts: Vec<Fact>,
    /// Their entries.
    pub entries: Vec<Entry>,
}

pub(super) struct Feed {
    watches: Arc<Watches>,
    live: Subscription<Live>,
    id: SessionId,
    session: Arc<Session>,
    cursor: Cursor,
    present: [bool; 2],
}

impl Feed {
    /// Subscribes, then looks.
    pub async fn open(watches: Arc<Watches>, id: SessionId) -> Result<Self, Refusal> {
        let live = watches
            .core
            .stores
            .sessions
            .subscribe(id)
            .await
            .map_err(errors::store)?;
        let Fresh { session, cursor, .. } = watches.core.fresh(id).await?;
        Ok(Self {
            watches,
            live,
            id,
            session,
            cursor,
            present: [false; 2],
        })
    }

    /// Tells until nobody listens.
    pub async fn run(mut self, beats: broadcast::Sender<Beat>) {
        let heartbeat = self.watches.core.options.heartbeat;
        let mut ticks = tokio::time::interval(heartbeat);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let closing = self.watches.core.closing.clone();
        loop {
            let overdue = self.until_overdue();
            // In this order, so that a busy session does not keep the feed from its rarer duties.
            tokio::select! {
                biased;
                () = closing.cancelled() => return,
                _ = ticks.tick() => {
                    if self.watches.close_if_unheard(self.id, &beats) {
                        return;
                    }
                    self.look(&beats).await;
                    self.look_for_players(&beats).await;
                }
                () = overdue => self.look(&beats).await,
                live = self.live.next() => match live {
                    Some(Live::Entries { before, entries }) => self.entries(&beats, before, entries).await,
                    Some(Live::Presence { seat, present }) => self.presence(&beats, seat, present),
                    Some(Live::Gap) => self.look(&beats).await,
                    None => {
                        // The subscription is gone: the heartbeat carries on, and tries anew.
                        if let Ok(live) = self.watches.core.stores.sessions.subscribe(self.id).await {
                            self.live = live;
                        } else {
                            tokio::time::sleep(heartbeat).await;
                        }
                        self.look(&beats).await;
                    }
                },
            }
        }
    }

    /// Waits until a deadline should have been fired by somebody.
    fn until_overdue(&self) -> impl Future<Output = ()> + use<> {
        let wait = self.session.next_deadline().map(|deadline| {
            let now = self.watches.core.stores.sessions.now(self.id.shard());
            Duration::from_millis(deadline.since(now).0).saturating_add(OVERDUE)
        });
        async move {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Takes in what was published.
    async fn entries(&mut self, beats: &broadcast::Sender<Beat>, before: Cursor, entries: Vec<Entry>) {
        if before == self.cursor {
            if self.take_in(beats, entries).is_err() {
                self.look(beats).await;
            }
        } else if before.after(&entries).sequence > self.cursor.sequence {
            self.look(beats).await;
        }
        // Otherwise it was known already.
    }

    fn take_in(&mut self, beats: &broadcast::Sender<Beat>, entries: Vec<Entry>) -> Result<(), Refusal> {
        let facts = decode(self.session.last_instant(), &entries)?;
        let mut session = Arc::clone(&self.session);
        for fact in &facts {
            Arc::make_mut(&mut session).append(fact).map_err(errors::fold)?;
        }
        let start = self.cursor;
        self.cursor = start.after(&entries);
        self.session = session;
        tell(
            beats,
            Beat::Facts(Arc::new(Batch {
                start,
                facts,
                entries,
            })),
        );
        Ok(())
    }

    fn presence(&mut self, beats: &broadcast::Sender<Beat>, seat: u8, present: bool) {
        let known = self.present.get_mut(usize::from(seat.saturating_sub(1)));
        if let Some(known) = known.filter(|known| **known != present) {
            *known = present;
            tell(beats, Beat::Presence { seat, present });
        }
    }

    /// Looks at the session in the store, firing what has passed, and takes in what was missed.
    async fn look(&mut self, beats: &broadcast::Sender<Beat>) {
        let core = Arc::clone(&self.watches.core);
        let fresh = match core.fresh(self.id).await {
            Ok(fresh) => fresh,
            Err(refusal) if refusal.reason == Reason::SessionNotFound => {
                tell(beats, Beat::Gone);
                return;
            }
            // The store is away: watchers wait like everybody else.
            Err(_) => return,
        };
        if fresh.cursor != self.cursor {
            let Ok(log) = core.log(self.id).await else { return };
            if let Err(refusal) = self.catch_up(beats, log) {
                tracing::error!(session = %self.id, error = %refusal, "a feed cannot catch up");
                return;
            }
        }
        tell(
            beats,
            Beat::Alive {
                cursor: self.cursor,
                now: fresh.now,
            },
        );
    }

    fn catch_up(&mut self, beats: &broadcast::Sender<Beat>, log: Log) -> Result<(), Refusal> {
        let known = usize::try_from(self.cursor.sequence).unwrap_or(usize::MAX);
        if log.cursor_at(self.cursor.sequence) == Some(self.cursor) {
            let missed = log.entries.get(known..).unwrap_or_default().to_vec();
            if missed.is_empty() {
                Ok(())
            } else {
                self.take_in(beats, missed)
            }
        } else {
            self.session = Arc::new(Session::fold(&log.facts).map_err(errors::fold)?);
            self.cursor = Cursor::START.after(&log.entries);
            tell(beats, Beat::Lost);
            Ok(())
        }
    }

    /// Leases run out in silence: look who is still there.
    async fn look_for_players(&mut self, beats: &broadcast::Sender<Beat>) {
        let core = Arc::clone(&self.watches.core);
        let Ok(present) = core.stores.sessions.present(self.id).await else {
            return;
        };
        for (seat, present) in [(1, present[0]), (2, present[1])] {
            self.presence(beats, seat, present);
        }
        core.notice_presence(&self.session, present).await;
    }
}

fn tell(beats: &broadcast::Sender<Beat>, beat: Beat) {
    // Fails only when nobody listens.
    let _ = beats.send(beat);
}
