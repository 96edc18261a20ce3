//! Watch streams (S-22): all events after a cursor in order, each once, then live ones.
//!
//! The watchers of one session on this replica share one feed: one subscription in the store, one decoding, one look a
//! heartbeat. A watcher subscribes to the feed first and reads the log then, so nothing lies between; whatever it
//! misses afterwards it reads from the log.

mod feed;
mod watcher;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::Stream;
use tablemate_protocol::convert::{Faults, Reason};
use tablemate_protocol::v1;
use tablemate_serve::Ending;
use tablemate_session::{PlayerId, SessionId};
use tablemate_store::Cursor;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::core::{Core, delay_of, errors, viewer_of};
use feed::{Beat, Feed};
use watcher::{Start, Watcher};

/// How many messages wait for a reader before it is waited for.
const QUEUE: usize = 64;
/// The cursor before the first event, which anybody may name.
const FROM_THE_START: &str = "0";

/// All watch streams of this replica.
pub(crate) struct Watches {
    core: Arc<Core>,
    feeds: Mutex<HashMap<SessionId, broadcast::Sender<Beat>>>,
    tasks: TaskTracker,
}

impl Watches {
    pub fn new(core: Arc<Core>, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            core,
            feeds: Mutex::default(),
            tasks,
        })
    }

    /// Opens a stream.
    pub async fn open(
        self: &Arc<Self>,
        id: SessionId,
        viewer: Option<PlayerId>,
        cursor: &str,
        ending: Ending,
    ) -> Result<impl Stream<Item = Result<v1::WatchSessionResponse, Status>> + Send + use<>, Status> {
        if self.core.closing.is_cancelled() {
            return Err(errors::shutting_down().into());
        }
        if self.tasks.len() >= self.core.options.streams_max {
            return Err(errors::too_many_streams().into());
        }
        // Fires what has passed, and says whether the viewer may look.
        let session = self.core.fresh(id).await?.session;
        let viewer = viewer_of(&session, viewer.as_ref())?;
        let delay = delay_of(&session, viewer);
        let start = match cursor {
            "" => Start::Snapshot,
            FROM_THE_START => Start::After(Cursor::START),
            text => Start::After(
                self.core
                    .stores
                    .sessions
                    .deployment()
                    .cursor_from_text(id, text)
                    .ok_or_else(|| {
                        Faults::one("cursor", Reason::BadCursor, "is not a cursor of this server")
                    })?,
            ),
        };
        let beats = self.subscribe(id).await?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        // Kept for the last message, so that it can be said although the queue is full.
        let last_word = sender
            .clone()
            .reserve_owned()
            .await
            .map_err(|_| errors::contended())?;
        let watcher = Watcher::new(Arc::clone(&self.core), id, viewer, delay, sender);
        self.tasks.spawn(watcher.run(start, beats, last_word, ending));
        Ok(ReceiverStream::new(receiver))
    }

    /// The beats of a session's feed from now on.
    async fn subscribe(self: &Arc<Self>, id: SessionId) -> Result<broadcast::Receiver<Beat>, Status> {
        if let Some(feed) = self.feeds().get(&id) {
            return Ok(feed.subscribe());
        }
        let feed = Feed::open(Arc::clone(self), id).await?;
        let mut feeds = self.feeds();
        // Somebody else may have opened one meanwhile: one a session is enough.
        if let Some(there) = feeds.get(&id) {
            return Ok(there.subscribe());
        }
        let (sender, receiver) = broadcast::channel(feed::BEATS_KEPT);
        feeds.insert(id, sender.clone());
        self.tasks.spawn(feed.run(sender));
        Ok(receiver)
    }

    /// Ends a feed that nobody listens to; `false` when somebody does.
    fn close_if_unheard(&self, id: SessionId, beats: &broadcast::Sender<Beat>) -> bool {
        let mut feeds = self.feeds();
        let unheard = beats.receiver_count() == 0;
        if unheard {
            feeds.remove(&id);
        }
        unheard
    }

    fn feeds(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, broadcast::Sender<Beat>>> {
        // Nothing panics while the map is locked.
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
