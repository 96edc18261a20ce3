//! Watching a session (S-22).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use prost_types::Timestamp;
use tonic::Status;

use crate::resumable::{Opened, Resumable, Source, Take};
use crate::v1::watch_session_response::Message;
use crate::{Client, Error, v1};

/// Where a watcher begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WatchFrom {
    /// With a snapshot of the session as it stands, then what comes after it.
    #[default]
    Snapshot,
    /// With the event after the one that this cursor was given with.
    After {
        /// The cursor.
        cursor: String,
        /// The sequence of that event, when known: the first event is then checked to be the next one.
        sequence: Option<u64>,
    },
}

/// Something from a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The shard's clock when the message was made.
    pub server_now: Option<Timestamp>,
    /// What it is.
    pub kind: UpdateKind,
}

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateKind {
    /// The state to begin with.
    Snapshot(Box<v1::Session>),
    /// An event: the next in order, never one twice.
    Event(Box<v1::Event>),
    /// What was seen so far does not hold any more (the store lost its tail): drop it and begin with this.
    Resynchronise(Box<v1::Session>),
    /// A player came or went (S-17).
    Presence(v1::Presence),
    /// A sign of life.
    Heartbeat {
        /// The last sequence of the session.
        last_sequence: u64,
    },
}

/// What a stream did that the API does not allow. The watcher is not harmed: what was doubled is dropped, after a gap
/// the stream is opened again from the last good cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Events that came again.
    pub doubled: u64,
    /// Events that left out one before them.
    pub gaps: u64,
}

/// A session's events in order, each once, resumed on any replica when a connection is lost.
pub struct Watch {
    stream: Resumable<SessionSource>,
}

impl Watch {
    pub(crate) fn new(client: Client, session_id: String, viewer_id: String, from: WatchFrom) -> Watch {
        let (cursor, sequence) = match from {
            WatchFrom::Snapshot => (String::new(), None),
            WatchFrom::After { cursor, sequence } => (cursor, sequence),
        };
        let source = SessionSource {
            client: client.clone(),
            session_id,
            viewer_id,
            cursor,
            sequence,
            anomalies: Anomalies::default(),
            resynchronised: 0,
        };
        Watch {
            stream: Resumable::new(client, source),
        }
    }

    /// The next update; `None` when the session is over and nothing more will come. Waiting may be broken off at any
    /// time (in `select!`) without losing anything.
    ///
    /// # Errors
    ///
    /// The service refused (an unknown session, not allowed to watch), or no replica answered within the stream's
    /// budget. The watch has ended then; a new one can be begun at [`position`](Self::position).
    pub async fn next(&mut self) -> Option<Result<Update, Error>> {
        self.stream.next().await
    }

    /// Where another watch has to begin to get what this one has not handed out yet.
    #[must_use]
    pub fn position(&self) -> WatchFrom {
        let source = &self.stream.source;
        if source.cursor.is_empty() {
            WatchFrom::Snapshot
        } else {
            WatchFrom::After {
                cursor: source.cursor.clone(),
                sequence: source.sequence,
            }
        }
    }

    /// The last sequence that was handed out, as an event or in a snapshot.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.stream.source.sequence
    }

    /// What the streams did that the API does not allow.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.stream.source.anomalies
    }

    /// How often the stream was opened again.
    #[must_use]
    pub fn reconnects(&self) -> u64 {
        self.stream.reconnects()
    }

    /// How often the watcher was told to begin anew with a snapshot.
    #[must_use]
    pub fn resynchronised(&self) -> u64 {
        self.stream.source.resynchronised
    }

    /// Drops the connection as a failing network would; the next update comes over a new one.
    pub fn drop_connection(&mut self) {
        self.stream.drop_connection();
    }
}

impl Stream for Watch {
    type Item = Result<Update, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll(context)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("session_id", &self.stream.source.session_id)
            .field("sequence", &self.stream.source.sequence)
            .finish_non_exhaustive()
    }
}

struct SessionSource {
    client: Client,
    session_id: String,
    viewer_id: String,
    cursor: String,
    sequence: Option<u64>,
    anomalies: Anomalies,
    resynchronised: u64,
}

impl SessionSource {
    fn begin_with(&mut self, session: &v1::Session, cursor: String) {
        self.sequence = Some(session.sequence);
        self.cursor = if session.cursor.is_empty() {
            cursor
        } else {
            session.cursor.clone()
        };
    }
}

impl Source for SessionSource {
    type Message = v1::WatchSessionResponse;
    type Item = Update;

    fn open(&self, turn: usize) -> BoxFuture<'static, Result<Opened<Self::Message>, Status>> {
        let request = v1::WatchSessionRequest {
            session_id: self.session_id.clone(),
            viewer_id: self.viewer_id.clone(),
            cursor: self.cursor.clone(),
        };
        Box::pin(self.client.clone().open_watch(turn, request))
    }

    fn take(&mut self, message: Self::Message) -> Take<Update> {
        let kind = match message.message {
            Some(Message::Snapshot(session)) => {
                self.begin_with(&session, message.cursor);
                UpdateKind::Snapshot(Box::new(session))
            }
            Some(Message::Resynchronise(session)) => {
                self.begin_with(&session, message.cursor);
                self.resynchronised = self.resynchronised.saturating_add(1);
                UpdateKind::Resynchronise(Box::new(session))
            }
            Some(Message::Event(event)) => {
                match self.sequence {
                    Some(last) if event.sequence <= last => {
                        self.anomalies.doubled = self.anomalies.doubled.saturating_add(1);
                        return Take::Nothing;
                    }
                    Some(last) if event.sequence > last.saturating_add(1) => {
                        self.anomalies.gaps = self.anomalies.gaps.saturating_add(1);
                        return Take::Again;
                    }
                    _ => {}
                }
                self.sequence = Some(event.sequence);
                self.cursor = if event.cursor.is_empty() {
                    message.cursor
                } else {
                    event.cursor.clone()
                };
                UpdateKind::Event(Box::new(event))
            }
            Some(Message::Heartbeat(heartbeat)) => UpdateKind::Heartbeat {
                last_sequence: heartbeat.last_sequence,
            },
            Some(Message::Presence(presence)) => UpdateKind::Presence(presence),
            Some(Message::End(end)) => {
                return match end.reason() {
                    v1::WatchEndReason::SessionOver => Take::End,
                    _ => Take::Again,
                };
            }
            // A kind of message that this client is too old for.
            None => return Take::Nothing,
        };
        Take::Item(Update {
            server_now: message.server_now,
            kind,
        })
    }
}
