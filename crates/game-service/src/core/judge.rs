//! The path of a command: judge on a warm copy, let the store confirm.
//!
//! A command is judged on a copy of the session and committed by compare-and-append; the store refuses when the copy
//! was stale, a deadline has passed meanwhile, or an outage was not known. Then the copy is brought up to date and the
//! command is judged anew. What fired is committed whatever becomes of the command (S-11).

use std::sync::Arc;

use tablemate_protocol::convert::Refusal;
use tablemate_session::command::{Applied, Command, Outcome, Request};
use tablemate_session::fact::{Actor, Fact};
use tablemate_session::reason::Reason as Rejected;
use tablemate_session::seat::Seat;
use tablemate_session::session::Session;
use tablemate_session::{Instant, PlayerId, RequestId, SessionId};
use tablemate_store::{Cursor, Entry};

use super::look::append;
use super::pool::searches_deep;
use super::write::Written;
use super::{Core, errors};

/// How often one call may judge in vain before it gives up: others change the session each time.
pub(super) const TRIES_MAX: u32 = 16;
/// How often one call may commit fired deadlines: more than a whole session of auto-moves has.
pub(super) const FIRINGS_MAX: u32 = 1_024;

/// Who asks. The seat of a player is looked up in the very copy that the command is judged on.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// The player of whichever seat this player has.
    Player(PlayerId),
    /// A player who takes the open seat 2.
    Joining,
    /// The server itself.
    Server,
}

/// A command on its way to a session.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// Who asks.
    pub who: Who,
    /// The caller's id of the command.
    pub id: Option<RequestId>,
    /// The sequence that it acts on.
    pub expected_sequence: Option<u64>,
    /// The command.
    pub command: Command,
}

impl Ask {
    /// A command of the server.
    pub fn server(command: Command) -> Self {
        Self {
            who: Who::Server,
            id: None,
            expected_sequence: None,
            command,
        }
    }

    /// The request to this session; `None` when the player has no seat in it.
    pub fn request(&self, session: &Session) -> Option<Request> {
        let by = match &self.who {
            Who::Player(player) => Actor::Player(session.seat_of(player)?),
            Who::Joining => Actor::Player(Seat::Two),
            Who::Server => Actor::Server,
        };
        Some(Request {
            by,
            id: self.id.clone(),
            expected_sequence: self.expected_sequence,
            command: self.command.clone(),
        })
    }
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    /// The session before the command's first fact; `None` for its creation.
    pub before: Option<Arc<Session>>,
    /// Where the log stood before the command's first fact.
    pub before_cursor: Cursor,
    /// The command's own entries.
    pub entries: Vec<Entry>,
    /// The command's own facts.
    pub facts: Vec<Fact>,
    /// The session as it is now.
    pub now_session: Arc<Session>,
    /// The shard's clock.
    pub now: Instant,
}

impl Core {
    /// Lets the session judge a request and commits what comes of it.
    pub async fn command(&self, id: SessionId, ask: &Ask) -> Result<Done, Refusal> {
        let slot = self.warm.slot(id);
        let mut held = slot.lock().await;
        // Whether the store has confirmed, during this call, that the copy is what the log holds. That what fired is
        // committed confirms nothing: an old copy fires byte for byte what others fired long ago.
        let mut confirmed = false;
        let mut clock = None;
        let mut tries = 0;
        let mut firings = 0;
        while tries < TRIES_MAX && firings < FIRINGS_MAX {
            if held.is_none() {
                *held = Some(self.load(id).await?);
                confirmed = true;
            }
            let Some(warm) = held.as_ref() else { break };
            let outages = self.outages.known(id.shard());
            let now = self.instant(id, clock.take(), &warm.session);
            if searches_deep(&warm.session, now) {
                // Fired one by one before the command is judged: a judgement must not be old when it is committed.
                let (next, facts) = self.advance(&warm.session, now, &outages).await?;
                match self.fired(&mut held, next, &facts, now, &outages).await? {
                    Written::Committed { .. } => firings += 1,
                    Written::Again { now } => {
                        clock = now;
                        tries += 1;
                    }
                }
                continue;
            }
            let (next, applied) = match ask.request(&warm.session) {
                Some(request) => self.apply(&warm.session, request, now, &outages).await?,
                None => (Arc::clone(&warm.session), not_seated(now)),
            };
            match applied.outcome {
                Outcome::Accepted(facts) => {
                    let mut before = Arc::clone(&warm.session);
                    let mut all = applied.fired;
                    for fact in &all {
                        append(&mut before, fact)?;
                    }
                    let before_len = all.len();
                    let start = warm.cursor;
                    all.extend(facts);
                    match self
                        .write(&mut held, next, &all, now, applied.judged_before, &outages)
                        .await?
                    {
                        Written::Committed { entries, now } => {
                            let own = entries.get(before_len..).unwrap_or_default().to_vec();
                            let fired = entries.get(..before_len).unwrap_or_default();
                            let Some(warm) = held.as_ref() else { break };
                            return Ok(Done {
                                before: Some(before),
                                before_cursor: start.after(fired),
                                entries: own,
                                facts: all.split_off(before_len),
                                now_session: Arc::clone(&warm.session),
                                now,
                            });
                        }
                        Written::Again { now } => {
                            clock = now;
                            // Whatever else it said, the store compared the log first.
                            confirmed = held.is_some();
                            tries += 1;
                        }
                    }
                }
                Outcome::MoreDue => match self.fired(&mut held, next, &applied.fired, now, &outages).await? {
                    Written::Committed { .. } => firings += 1,
                    Written::Again { now } => {
                        clock = now;
                        tries += 1;
                    }
                },
                Outcome::Rejected(reason) if !applied.fired.is_empty() => {
                    match self.fired(&mut held, next, &applied.fired, now, &outages).await? {
                        Written::Committed { .. } if confirmed => return Err(errors::rejected(reason)),
                        Written::Committed { .. } => firings += 1,
                        Written::Again { now } => {
                            clock = now;
                            tries += 1;
                        }
                    }
                }
                Outcome::Rejected(reason) => {
                    if confirmed {
                        return Err(errors::rejected(reason));
                    }
                    // Refused on a warm copy: only the store can say whether that is how things are.
                    if self.confirm(id, &mut held, &outages).await?.is_some() {
                        return Err(errors::rejected(reason));
                    }
                    confirmed = true;
                    tries += 1;
                }
                Outcome::Replayed { first, last } => {
                    if let Some(done) = self.replayed(id, &mut held, first, last).await? {
                        return Ok(done);
                    }
                    tries += 1;
                }
            }
        }
        Err(errors::contended())
    }
}

/// What comes of a player's command in a session that has no seat of theirs.
fn not_seated(now: Instant) -> Applied {
    Applied {
        fired: Vec::new(),
        outcome: Outcome::Rejected(Rejected::NotSeated),
        at: now,
        judged_before: None,
    }
}
