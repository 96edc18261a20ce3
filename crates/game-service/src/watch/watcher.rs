//! One watch stream: what one viewer is told.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tablemate_protocol::convert::{Refusal, time};
use tablemate_protocol::v1;
use tablemate_protocol::v1::watch_session_response::Message;
use tablemate_serve::Ending;
use tablemate_session::event::EventView;
use tablemate_session::fact::Fact;
use tablemate_session::session::Session;
use tablemate_session::view::Viewer;
use tablemate_session::{Instant, Millis, SessionId};
use tablemate_store::{Cursor, Entry};
use tokio::sync::{broadcast, mpsc};
use tonic::Status;

use super::feed::Beat;
use crate::core::{Core, Log, Shown, errors};

type Sender = mpsc::Sender<Result<v1::WatchSessionResponse, Status>>;
type LastWord = mpsc::OwnedPermit<Result<v1::WatchSessionResponse, Status>>;

/// Where a watcher begins.
pub(super) enum Start {
    /// With a snapshot.
    Snapshot,
    /// With the event after this cursor.
    After(Cursor),
}

/// Why a stream ends.
enum End {
    /// With this reason.
    Reason(v1::WatchEndReason),
    /// The reader is gone.
    Gone,
    /// By an error.
    Refused(Refusal),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub(super) struct Watcher {
    core: Arc<Core>,
    id: SessionId,
    viewer: Viewer,
    delay: Millis,
    sender: Sender,
    /// The session as far as it was told; `None` before the first event.
    told: Option<Arc<Session>>,
    /// Where the log stood then.
    told_cursor: Cursor,
    /// What is known and waits to be old enough to be told.
    queue: VecDeque<(Fact, Entry)>,
    /// Where the log stands after the queue.
    known: Cursor,
}

impl Watcher {
    pub fn new(core: Arc<Core>, id: SessionId, viewer: Viewer, delay: Millis, sender: Sender) -> Self {
        Self {
            core,
            id,
            viewer,
            delay,
            sender,
            told: None,
            told_cursor: Cursor::START,
            queue: VecDeque::new(),
            known: Cursor::START,
        }
    }

    /// Tells until the stream ends.
    pub async fn run(
        mut self,
        start: Start,
        beats: broadcast::Receiver<Beat>,
        last_word: LastWord,
        ending: Ending,
    ) {
        let closing = self.core.closing.clone();
        self.core.metrics.stream_opened();
        let ended = tokio::select! {
            biased;
            () = closing.cancelled() => Err(End::Reason(v1::WatchEndReason::ResumeElsewhere)),
            () = ending.begun() => Err(End::Reason(v1::WatchEndReason::ResumeElsewhere)),
            ended = self.tell_all(start, beats) => ended,
        };
        let why = match ended {
            Err(End::Reason(reason)) => {
                let end = v1::WatchEnd {
                    reason: reason.into(),
                };
                let message = self.message(Message::End(end));
                last_word.send(Ok(message));
                reason.as_str_name()
            }
            Err(End::Refused(refusal)) => {
                let why = refusal.reason.as_str();
                last_word.send(Err(refusal.into()));
                why
            }
            Err(End::Gone) | Ok(()) => "GONE",
        };
        self.core.metrics.stream_ended(why);
    }

    async fn tell_all(&mut self, start: Start, mut beats: broadcast::Receiver<Beat>) -> Result<(), End> {
        self.be_present().await;
        let log = self.core.log(self.id).await?;
        match start {
            Start::Snapshot => self.snapshot(&log, Message::Snapshot).await?,
            Start::After(cursor) if log.cursor_at(cursor.sequence) == Some(cursor) => {
                self.stand_at(&log, cursor)?;
            }
            Start::After(_) => self.snapshot(&log, Message::Resynchronise).await?,
        }
        loop {
            self.tell_queue().await?;
            let mature = self.until_mature();
            tokio::select! {
                biased;
                () = self.sender.closed() => return Err(End::Gone),
                () = mature => {}
                beat = beats.recv() => match beat {
                    Ok(beat) => self.beat(beat).await?,
                    Err(broadcast::error::RecvError::Lagged(_)) => self.catch_up().await?,
                    // The feed ends with the replica only.
                    Err(broadcast::error::RecvError::Closed) => {
                        return Err(End::Reason(v1::WatchEndReason::ResumeElsewhere));
                    }
                },
            }
        }
    }

    async fn beat(&mut self, beat: Beat) -> Result<(), End> {
        match beat {
            Beat::Facts(batch) => {
                if batch.start == self.known {
                    self.known = batch.start.after(&batch.entries);
                    self.queue
                        .extend(batch.facts.iter().cloned().zip(batch.entries.iter().cloned()));
                } else if batch.start.after(&batch.entries).sequence > self.known.sequence {
                    self.catch_up().await?;
                }
            }
            Beat::Presence { seat, present } => {
                let seat = u32::from(seat);
                self.say(Message::Presence(v1::Presence { seat, present }))
                    .await?;
            }
            Beat::Alive { cursor, now } => {
                if cursor.sequence > self.known.sequence {
                    self.catch_up().await?;
                }
                self.tell_queue().await?;
                self.be_present().await;
                if self.is_over(now) {
                    return Err(End::Reason(v1::WatchEndReason::SessionOver));
                }
                self.say(Message::Heartbeat(v1::Heartbeat {
                    last_sequence: self.told_cursor.sequence,
                }))
                .await?;
            }
            Beat::Lost => {
                let log = self.core.log(self.id).await?;
                self.snapshot(&log, Message::Resynchronise).await?;
            }
            Beat::Gone => return Err(End::Reason(v1::WatchEndReason::SessionOver)),
        }
        Ok(())
    }

    /// Whether nothing can come any more: ended, all told, and the time for a rematch over.
    fn is_over(&self, now: Instant) -> bool {
        self.queue.is_empty()
            && self.told.as_ref().is_some_and(|session| {
                session.ended().is_some() && session.rematch_until().is_none_or(|until| now > until)
            })
    }

    /// Reads from the log what was missed.
    async fn catch_up(&mut self) -> Result<(), End> {
        let log = self.core.log(self.id).await?;
        if log.cursor_at(self.known.sequence) == Some(self.known) {
            let from = usize::try_from(self.known.sequence).unwrap_or(usize::MAX);
            self.enqueue(&log, from);
            Ok(())
        } else {
            self.snapshot(&log, Message::Resynchronise).await
        }
    }

    fn enqueue(&mut self, log: &Log, from: usize) {
        let facts = log.facts.iter().skip(from).cloned();
        let entries = log.entries.iter().skip(from).cloned();
        self.queue.extend(facts.zip(entries));
        self.known = Cursor::START.after(&log.entries);
    }

    /// Takes this place in the log as told, and everything after it as waiting.
    fn stand_at(&mut self, log: &Log, cursor: Cursor) -> Result<(), End> {
        let len = usize::try_from(cursor.sequence).unwrap_or(usize::MAX);
        let told = log.facts.get(..len).unwrap_or_default();
        self.told = if told.is_empty() {
            None
        } else {
            Some(Arc::new(Session::fold(told).map_err(errors::fold)?))
        };
        self.told_cursor = cursor;
        self.queue.clear();
        self.enqueue(log, len);
        Ok(())
    }

    async fn snapshot(&mut self, log: &Log, message: fn(v1::Session) -> Message) -> Result<(), End> {
        let len = log.len_as_of(self.delay);
        let cursor = log.cursor_at(len as u64).unwrap_or(Cursor::START);
        self.stand_at(log, cursor)?;
        let Some(session) = self.told.clone() else {
            return Err(errors::corrupt().into());
        };
        let present = self
            .core
            .stores
            .sessions
            .present(self.id)
            .await
            .unwrap_or_default();
        let shown = Shown {
            viewer: self.viewer,
            session,
            cursor,
            now: log.now,
        };
        let snapshot = self.core.snapshot(&shown, present);
        self.say(message(snapshot)).await
    }

    fn now(&self) -> Instant {
        self.core.stores.sessions.now(self.id.shard())
    }

    /// Tells what is old enough.
    async fn tell_queue(&mut self) -> Result<(), End> {
        while let Some((fact, _)) = self.queue.front() {
            if self.delay > Millis::ZERO && fact.at.after(self.delay) > self.now() {
                return Ok(());
            }
            let Some((fact, entry)) = self.queue.pop_front() else {
                return Ok(());
            };
            let before = self.told.take();
            let after = match &before {
                None => Arc::new(Session::begin(&fact).map_err(errors::fold)?),
                Some(before) => {
                    let mut after = Arc::clone(before);
                    Arc::make_mut(&mut after).append(&fact).map_err(errors::fold)?;
                    after
                }
            };
            let event = EventView::of(before.as_deref(), &after, &fact, self.viewer).map_err(errors::fold)?;
            self.told = Some(after);
            self.told_cursor = self.told_cursor.after(std::slice::from_ref(&entry));
            let event = self.core.event(self.id, &event, &entry);
            self.say(Message::Event(event)).await?;
        }
        Ok(())
    }

    /// Waits until the first waiting fact is old enough.
    fn until_mature(&self) -> impl Future<Output = ()> + use<> {
        let wait = self.queue.front().map(|(fact, _)| {
            Duration::from_millis(fact.at.after(self.delay).since(self.now()).0.saturating_add(1))
        });
        async move {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Says that the viewer's player is connected (S-17).
    async fn be_present(&self) {
        let Viewer::Seat(seat) = self.viewer else { return };
        let lease = self.core.options.heartbeat.saturating_mul(3).as_millis();
        let lease = Millis(u64::try_from(lease).unwrap_or(u64::MAX));
        let store = &self.core.stores.sessions;
        if let Err(error) = store.set_present(self.id, seat.number(), lease).await {
            tracing::debug!(session = %self.id, %error, "presence was not noted");
        }
    }

    fn message(&self, message: Message) -> v1::WatchSessionResponse {
        v1::WatchSessionResponse {
            server_now: Some(time::timestamp(self.now())),
            cursor: self.core.cursor_text(self.id, self.told_cursor),
            message: Some(message),
        }
    }

    async fn say(&self, message: Message) -> Result<(), End> {
        let message = Ok(self.message(message));
        match self
            .sender
            .send_timeout(message, self.core.options.slow_reader)
            .await
        {
            Ok(()) => Ok(()),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => Err(End::Reason(v1::WatchEndReason::TooSlow)),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => Err(End::Gone),
        }
    }
}
