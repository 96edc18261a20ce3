//! Every look at a session: the warm copy brought up to date by the store, passed deadlines fired before anything is
//! shown (S-11).

use std::sync::Arc;

use tablemate_protocol::convert::Refusal;
use tablemate_session::fact::Fact;
use tablemate_session::session::Session;
use tablemate_session::{Instant, SessionId};
use tablemate_store::session_store::Tail;
use tablemate_store::{Cursor, Entry, Read};

use super::judge::{Done, FIRINGS_MAX, TRIES_MAX};
use super::outages::{Known, newest};
use super::pool::due;
use super::warm::Warm;
use super::write::Written;
use super::{Core, codec, errors};

/// A session as the store has it now, with all passed deadlines fired.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    /// The session.
    pub session: Arc<Session>,
    /// Where its log stands.
    pub cursor: Cursor,
    /// The shard's clock.
    pub now: Instant,
    /// How late the deadlines were noticed that this look fired, in ms.
    pub lateness_ms: Vec<u64>,
    /// How many facts this look fired.
    pub fired: usize,
}

/// A whole log.
#[derive(Debug)]
pub(crate) struct Log {
    /// All entries.
    pub entries: Vec<Entry>,
    /// Their facts.
    pub facts: Vec<Fact>,
    /// The shard's clock when it was read.
    pub now: Instant,
}

impl Log {
    /// The cursor at a sequence; `None` beyond the end.
    pub fn cursor_at(&self, sequence: u64) -> Option<Cursor> {
        if sequence == 0 {
            return Some(Cursor::START);
        }
        let index = usize::try_from(sequence - 1).ok()?;
        self.entries.get(index).map(|entry| Cursor {
            sequence,
            tag: entry.tag(),
        })
    }
}

impl Core {
    /// The session as the store has it, all passed deadlines fired and committed first. One round trip when the warm
    /// copy is current and nothing is due.
    pub async fn fresh(&self, id: SessionId) -> Result<Fresh, Refusal> {
        let slot = self.warm.slot(id);
        let mut held = slot.lock().await;
        let mut lateness_ms = Vec::new();
        let mut fired = 0;
        let mut tries = 0;
        let mut firings = 0;
        // The shard's clock when the store last confirmed the copy.
        let mut confirmed = None;
        while tries < TRIES_MAX && firings < FIRINGS_MAX {
            let now = match confirmed.take() {
                Some(now) => now,
                None => match self.look(id, &mut held).await? {
                    Some(now) => now,
                    None => {
                        tries += 1;
                        continue;
                    }
                },
            };
            let Some(warm) = held.as_ref() else { break };
            let outages = self.outages.known(id.shard());
            let now = now.max(warm.session.last_instant());
            let due = due(&warm.session, now);
            let (next, facts) = if due.is_some() || compensates(&warm.session, &outages) {
                self.advance(&warm.session, now, &outages).await?
            } else {
                (Arc::clone(&warm.session), Vec::new())
            };
            if facts.is_empty() {
                return Ok(Fresh {
                    session: next,
                    cursor: warm.cursor,
                    now,
                    lateness_ms,
                    fired,
                });
            }
            match self.fired(&mut held, next, &facts, now, &outages).await? {
                Written::Committed { now, .. } => {
                    confirmed = Some(now);
                    firings += 1;
                    fired += facts.len();
                    lateness_ms.extend(due.map(|deadline| now.since(deadline).0));
                }
                Written::Again { .. } => tries += 1,
            }
        }
        Err(errors::contended())
    }

    /// Fires what has passed on the warm copy, without asking the store first: one round trip. `None` when there is no
    /// copy, it says that nothing is due, or it was stale.
    pub async fn fire_warm(&self, id: SessionId, now: Instant) -> Result<Option<Fresh>, Refusal> {
        let slot = self.warm.slot(id);
        let mut held = slot.lock().await;
        let Some(warm) = held.as_ref() else {
            return Ok(None);
        };
        let outages = self.outages.known(id.shard());
        let now = self.instant(id, None, &warm.session).max(now);
        let Some(deadline) = due(&warm.session, now) else {
            return Ok(None);
        };
        let (next, facts) = self.advance(&warm.session, now, &outages).await?;
        if facts.is_empty() {
            return Ok(None);
        }
        let written = self.fired(&mut held, next, &facts, now, &outages).await?;
        let (Written::Committed { now, .. }, Some(warm)) = (written, held.as_ref()) else {
            return Ok(None);
        };
        Ok(Some(Fresh {
            session: Arc::clone(&warm.session),
            cursor: warm.cursor,
            now,
            lateness_ms: vec![now.since(deadline).0],
            fired: facts.len(),
        }))
    }

    /// The whole log as facts and entries, for what has to be told from its beginning.
    pub async fn log(&self, id: SessionId) -> Result<Log, Refusal> {
        let outages = self.outages.known(id.shard());
        match self.read(id, Cursor::START, &outages).await? {
            Read::Found(tail) => {
                let facts = codec::decode(Instant::ZERO, &tail.entries)?;
                Ok(Log {
                    entries: tail.entries,
                    facts,
                    now: tail.now,
                })
            }
            Read::Diverged | Read::Missing { .. } => Err(errors::no_session()),
        }
    }

    /// Reads from the store, and learns of outages by it.
    pub async fn read(&self, id: SessionId, known: Cursor, outages: &Known) -> Result<Read, Refusal> {
        let read = self
            .stores
            .sessions
            .read(id, known, newest(outages))
            .await
            .map_err(errors::store)?;
        match &read {
            Read::Found(Tail { outages, .. }) | Read::Missing { outages, .. } => {
                self.outages.learn(id.shard(), outages);
            }
            Read::Diverged => {}
        }
        Ok(read)
    }

    /// When the store's index has to bring the session up next (S-11): its deadline, or its retention's end.
    pub fn next_look(&self, session: &Session) -> Instant {
        match (session.next_deadline(), session.ended()) {
            (Some(deadline), _) => deadline,
            (None, Some(ended)) => ended.at.after(self.options.retention),
            // A session that has not ended always has a deadline; if a defect ever broke that, it is looked at again.
            (None, None) => session.last_instant().after(self.options.retention),
        }
    }

    pub(super) async fn load(&self, id: SessionId) -> Result<Warm, Refusal> {
        let outages = self.outages.known(id.shard());
        match self.read(id, Cursor::START, &outages).await? {
            Read::Found(tail) => Ok(Warm {
                session: Arc::new(fold(&tail.entries)?),
                cursor: Cursor::START.after(&tail.entries),
            }),
            Read::Diverged | Read::Missing { .. } => {
                self.warm.forget(id);
                Err(errors::no_session())
            }
        }
    }

    /// Asks the store whether the copy is current. `Some`: it is, and no outage came to light. Otherwise it is up to
    /// date now, or gone.
    pub(super) async fn confirm(
        &self,
        id: SessionId,
        held: &mut Option<Warm>,
        outages: &Known,
    ) -> Result<Option<Instant>, Refusal> {
        let known = held.as_ref().map_or(Cursor::START, |warm| warm.cursor);
        match self.read(id, known, outages).await? {
            Read::Found(tail) => {
                let current = tail.entries.is_empty() && tail.outages.is_empty();
                self.take_in(id, held, &tail)?;
                Ok(current.then_some(tail.now))
            }
            Read::Diverged => {
                *held = None;
                Ok(None)
            }
            Read::Missing { .. } => {
                *held = None;
                Err(errors::no_session())
            }
        }
    }

    /// Reads what the copy missed. Gives the shard's clock; `None` when the copy was not the store's log any more.
    pub(super) async fn look(
        &self,
        id: SessionId,
        held: &mut Option<Warm>,
    ) -> Result<Option<Instant>, Refusal> {
        let outages = self.outages.known(id.shard());
        let known = held.as_ref().map_or(Cursor::START, |warm| warm.cursor);
        match self.read(id, known, &outages).await? {
            Read::Found(tail) => {
                self.take_in(id, held, &tail)?;
                Ok(Some(tail.now))
            }
            Read::Diverged => {
                *held = None;
                Ok(None)
            }
            Read::Missing { .. } => {
                *held = None;
                self.warm.forget(id);
                Err(errors::no_session())
            }
        }
    }

    /// Appends to the copy what it missed.
    pub(super) fn take_in(&self, id: SessionId, held: &mut Option<Warm>, tail: &Tail) -> Result<(), Refusal> {
        if tail.entries.is_empty() && held.is_some() {
            return Ok(());
        }
        match held {
            None => {
                *held = Some(Warm {
                    session: Arc::new(fold(&tail.entries)?),
                    cursor: Cursor::START.after(&tail.entries),
                });
            }
            Some(warm) => {
                if let Err(refusal) = extend(warm, &tail.entries) {
                    tracing::error!(session = %id, error = %refusal, "a log cannot be folded");
                    *held = None;
                    return Err(refusal);
                }
            }
        }
        Ok(())
    }

    /// The answer of a command that was accepted before: its own events, from the log.
    pub(super) async fn replayed(
        &self,
        id: SessionId,
        held: &mut Option<Warm>,
        first: u64,
        last: u64,
    ) -> Result<Option<Done>, Refusal> {
        // The copy holds it, but its own commit may never have been acknowledged. First as durable as an acknowledgement
        // says, then looked at: the other way round a fail-over between the two would be answered with what it lost.
        self.stores.sessions.confirm(id).await.map_err(errors::store)?;
        let log = self.log(id).await?;
        let known = held.as_ref().map_or(Cursor::START, |warm| warm.cursor);
        if log.cursor_at(known.sequence) != Some(known) {
            // The store lost what the copy holds: the request may not have been accepted after all.
            *held = None;
            return Ok(None);
        }
        let (Ok(from), Ok(to)) = (usize::try_from(first.saturating_sub(1)), usize::try_from(last)) else {
            return Ok(None);
        };
        let (Some(before), Some(facts), Some(entries)) = (
            log.facts.get(..from).filter(|facts| !facts.is_empty()),
            log.facts.get(from..to),
            log.entries.get(from..to),
        ) else {
            *held = None;
            return Ok(None);
        };
        let before_cursor = log.cursor_at(first.saturating_sub(1)).unwrap_or(Cursor::START);
        Ok(Some(Done {
            before: Some(Arc::new(Session::fold(before).map_err(errors::fold)?)),
            before_cursor,
            facts: facts.to_vec(),
            entries: entries.to_vec(),
            now_session: Arc::new(Session::fold(&log.facts).map_err(errors::fold)?),
            now: log.now,
        }))
    }

    pub(super) fn instant(&self, id: SessionId, clock: Option<Instant>, session: &Session) -> Instant {
        clock
            .unwrap_or_else(|| self.stores.sessions.now(id.shard()))
            .max(session.last_instant())
    }
}

/// Whether there is an outage that a running session has not taken into account (S-12).
fn compensates(session: &Session, outages: &Known) -> bool {
    session.ended().is_none() && newest(outages) > session.outages_seen()
}

pub(super) fn append(session: &mut Arc<Session>, fact: &Fact) -> Result<(), Refusal> {
    Arc::make_mut(session).append(fact).map_err(errors::fold)
}

pub(super) fn fold(entries: &[Entry]) -> Result<Session, Refusal> {
    let facts = codec::decode(Instant::ZERO, entries)?;
    Session::fold(&facts).map_err(errors::fold)
}

pub(super) fn extend(warm: &mut Warm, entries: &[Entry]) -> Result<(), Refusal> {
    for fact in codec::decode(warm.session.last_instant(), entries)? {
        append(&mut warm.session, &fact)?;
    }
    warm.cursor = warm.cursor.after(entries);
    Ok(())
}
