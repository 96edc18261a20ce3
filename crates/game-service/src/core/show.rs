//! What viewers get to see: who may look, and how late (S-24, S-27).

use std::sync::Arc;

use tablemate_protocol::convert::{Reason, Refusal, event as wire_event, session as wire_session, time};
use tablemate_protocol::v1;
use tablemate_session::event::{self, EventView};
use tablemate_session::fact::Fact;
use tablemate_session::session::Session;
use tablemate_session::view::Viewer;
use tablemate_session::{Instant, Millis, PlayerId, SessionId};
use tablemate_store::{Cursor, Entry};

use super::judge::Done;
use super::look::Log;
use super::{Core, errors};

/// A session as one viewer sees it.
pub(crate) struct Shown {
    /// Who looks.
    pub viewer: Viewer,
    /// The session, as of then.
    pub session: Arc<Session>,
    /// Where its log stood then.
    pub cursor: Cursor,
    /// The shard's clock now.
    pub now: Instant,
}

/// Who a caller is to a session.
///
/// # Errors
/// `WATCH_NOT_ALLOWED`.
pub(crate) fn viewer_of(session: &Session, viewer: Option<&PlayerId>) -> Result<Viewer, Refusal> {
    if !session.may_watch(viewer) {
        return Err(Refusal::new(
            Reason::WatchNotAllowed,
            "this viewer may not watch this session",
        ));
    }
    Ok(viewer
        .and_then(|viewer| session.seat_of(viewer))
        .map_or(Viewer::Spectator, Viewer::Seat))
}

/// How much later than it happens a viewer sees what happens.
pub(crate) fn delay_of(session: &Session, viewer: Viewer) -> Millis {
    match viewer {
        Viewer::Seat(_) => Millis::ZERO,
        Viewer::Spectator => session.settings().spectator_delay,
    }
}

impl Core {
    /// The session as the store has it now, for one viewer.
    pub async fn show(&self, id: SessionId, viewer: Option<&PlayerId>) -> Result<Shown, Refusal> {
        let fresh = self.fresh(id).await?;
        let viewer = viewer_of(&fresh.session, viewer)?;
        let delay = delay_of(&fresh.session, viewer);
        let mut shown = Shown {
            viewer,
            session: fresh.session,
            cursor: fresh.cursor,
            now: fresh.now,
        };
        if delay > Millis::ZERO {
            let log = self.log(id).await?;
            let len = log.len_as_of(delay);
            shown.session = Arc::new(Session::fold(log.facts.iter().take(len)).map_err(errors::fold)?);
            shown.cursor = log.cursor_at(len as u64).unwrap_or(Cursor::START);
            shown.now = log.now;
        }
        Ok(shown)
    }

    /// A snapshot on the wire.
    pub fn snapshot(&self, shown: &Shown, present: [bool; 2]) -> v1::Session {
        let cursor = self.cursor_text(shown.session.id(), shown.cursor);
        wire_session::to_wire(&shown.session.view(shown.viewer), cursor, present, shown.now)
    }

    /// The text by which clients hold a cursor.
    pub fn cursor_text(&self, id: SessionId, cursor: Cursor) -> String {
        self.stores.sessions.deployment().cursor_text(id, cursor)
    }

    /// An event on the wire.
    pub fn event(&self, id: SessionId, event: &EventView, entry: &Entry) -> v1::Event {
        let cursor = Cursor {
            sequence: event.sequence,
            tag: entry.tag(),
        };
        wire_event::to_wire(event, self.cursor_text(id, cursor))
    }

    /// What a command did, as its caller may see it.
    pub fn receipt(&self, done: Done, viewer: Viewer) -> Result<v1::Receipt, Refusal> {
        let id = done.now_session.id();
        let first = done.before_cursor.sequence.saturating_add(1);
        let events = match done.facts.as_slice() {
            // The usual command makes one fact, and both sides of it are here.
            [fact] if done.now_session.sequence() == first => {
                EventView::of(done.before.as_deref(), &done.now_session, fact, viewer)
                    .map(|event| vec![event])
            }
            facts => {
                let before = done.before.map(Arc::unwrap_or_clone);
                event::read(before, facts, viewer).map(|(_, events)| events)
            }
        }
        .map_err(errors::fold)?;
        Ok(v1::Receipt {
            first_sequence: first,
            last_sequence: done.before_cursor.sequence.saturating_add(events.len() as u64),
            events: events
                .iter()
                .zip(&done.entries)
                .map(|(event, entry)| self.event(id, event, entry))
                .collect(),
            server_now: Some(time::timestamp(done.now)),
        })
    }
}

impl Log {
    /// How many of its facts are at least so old; the creation is always shown.
    pub fn len_as_of(&self, delay: Millis) -> usize {
        let young = |fact: &Fact| fact.at.after(delay) > self.now;
        self.facts
            .iter()
            .position(young)
            .unwrap_or(self.facts.len())
            .max(1)
    }
}
