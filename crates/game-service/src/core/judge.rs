//! The path of a command, and of every look at a session: judge on a warm copy, let the store confirm.
//!
//! A command is judged on a copy of the session and committed by compare-and-append; the store refuses when the copy
//! was stale, a deadline has passed meanwhile, or an outage was not known. Then the copy is brought up to date and the
//! command is judged anew. What fired is committed whatever becomes of the command (S-11).

use std::sync::Arc;

use tablemate_engine::policy::Policy;
use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_session::command::{Applied, Command, Outcome, Request};
use tablemate_session::fact::{Actor, Fact};
use tablemate_session::reason::Reason as Rejected;
use tablemate_session::seat::Seat;
use tablemate_session::session::Session;
use tablemate_session::{Instant, PlayerId, RequestId, SessionId};
use tablemate_store::session_store::Tail;
use tablemate_store::{Commit, CommitAnswer, Cursor, Entry, Read, chain};

use super::outages::{Known, newest};
use super::warm::Warm;
use super::{Core, codec, errors, outbox};

/// How often one call may judge in vain before it gives up: others change the session each time.
const TRIES_MAX: u32 = 16;
/// How often one call may commit fired deadlines: more than a whole session of auto-moves has.
const FIRINGS_MAX: u32 = 1_024;

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
    pub before: Option<Session>,
    /// Where the log stood before the command's first fact.
    pub before_cursor: Cursor,
    /// The command's own entries.
    pub entries: Vec<Entry>,
    /// The command's own facts.
    pub facts: Vec<Fact>,
    /// The session as it is now.
    pub now_session: Session,
    /// The shard's clock.
    pub now: Instant,
}

/// A session as the store has it now, with all passed deadlines fired.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    /// The session.
    pub session: Session,
    /// Where its log stands.
    pub cursor: Cursor,
    /// The shard's clock.
    pub now: Instant,
    /// How late the deadlines were noticed that this look fired, in ms.
    pub lateness_ms: Vec<u64>,
    /// How many facts this look fired.
    pub fired: usize,
}

/// What became of a commit.
enum Written {
    /// It is in the log; the warm copy is the new state.
    Committed { entries: Vec<Entry>, now: Instant },
    /// Nothing was changed; the warm copy is up to date or gone. Judge anew, with this clock if one is given.
    Again { now: Option<Instant> },
}

impl Core {
    /// Lets the session judge a request and commits what comes of it.
    pub async fn command(&self, id: SessionId, ask: &Ask) -> Result<Done, Refusal> {
        let slot = self.warm.slot(id);
        let mut held = slot.lock().await;
        // Whether the store has confirmed, during this call, that the copy is what the log holds.
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
            let (next, applied) = match ask.request(&warm.session) {
                Some(request) => self.apply(&warm.session, request, now, &outages).await?,
                None => (warm.session.clone(), not_seated(now)),
            };
            match applied.outcome {
                Outcome::Accepted(facts) => {
                    let mut before = warm.session.clone();
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
                                now_session: warm.session.clone(),
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
                Outcome::MoreDue => match self
                    .write(&mut held, next, &applied.fired, now, None, &outages)
                    .await?
                {
                    Written::Committed { .. } => {
                        firings += 1;
                        confirmed = true;
                    }
                    Written::Again { now } => {
                        clock = now;
                        tries += 1;
                    }
                },
                Outcome::Rejected(reason) if !applied.fired.is_empty() => {
                    match self
                        .write(&mut held, next, &applied.fired, now, None, &outages)
                        .await?
                    {
                        Written::Committed { .. } => return Err(errors::rejected(reason)),
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

    /// The session as the store has it, all passed deadlines fired and committed first. One round trip when the warm
    /// copy is current and nothing is due.
    pub async fn fresh(&self, id: SessionId) -> Result<Fresh, Refusal> {
        let slot = self.warm.slot(id);
        let mut held = slot.lock().await;
        let mut lateness_ms = Vec::new();
        let mut fired = 0;
        let mut tries = 0;
        let mut firings = 0;
        while tries < TRIES_MAX && firings < FIRINGS_MAX {
            let outages = self.outages.known(id.shard());
            let known = held.as_ref().map_or(Cursor::START, |warm| warm.cursor);
            let now = match self.read(id, known, &outages).await? {
                Read::Found(tail) => {
                    let now = tail.now;
                    self.take_in(id, &mut held, &tail)?;
                    now
                }
                Read::Diverged => {
                    *held = None;
                    tries += 1;
                    continue;
                }
                Read::Missing { .. } => {
                    *held = None;
                    drop(held);
                    self.warm.forget(id);
                    return Err(errors::no_session());
                }
            };
            let Some(warm) = held.as_ref() else { break };
            let outages = self.outages.known(id.shard());
            let now = now.max(warm.session.last_instant());
            let due = warm.session.next_deadline().filter(|deadline| now > *deadline);
            let compensate = warm.session.ended().is_none()
                && outages
                    .last()
                    .is_some_and(|outage| outage.id > warm.session.outages_seen());
            if due.is_none() && !compensate {
                return Ok(Fresh {
                    session: warm.session.clone(),
                    cursor: warm.cursor,
                    now,
                    lateness_ms,
                    fired,
                });
            }
            let (next, facts) = self.advance(&warm.session, now, &outages).await?;
            if facts.is_empty() {
                // The session has nothing to say about what seemed due.
                return Ok(Fresh {
                    session: warm.session.clone(),
                    cursor: warm.cursor,
                    now,
                    lateness_ms,
                    fired,
                });
            }
            match self.write(&mut held, next, &facts, now, None, &outages).await? {
                Written::Committed { .. } => {
                    firings += 1;
                    fired += facts.len();
                    lateness_ms.extend(due.map(|deadline| now.since(deadline).0));
                }
                Written::Again { .. } => tries += 1,
            }
        }
        Err(errors::contended())
    }

    /// Commits the first facts of a session. `Err` of the inner result: the log that is there already.
    pub async fn begin(
        &self,
        id: SessionId,
        make: impl Fn(Instant, u64) -> Result<(Session, Vec<Fact>), Refusal> + Send,
    ) -> Result<Begun, Refusal> {
        let mut clock = None;
        for _ in 0..TRIES_MAX {
            let outages = self.outages.known(id.shard());
            let now = clock
                .take()
                .unwrap_or_else(|| self.stores.sessions.now(id.shard()));
            let newest_known = outages.last().map_or(0, |outage| outage.id);
            let (session, facts) = make(now, newest_known)?;
            let slot = self.warm.slot(id);
            let mut held = slot.lock().await;
            let entries = chain(Cursor::START.tag, codec::encode(Instant::ZERO, &facts));
            let commit = Commit {
                session: id,
                expected: Cursor::START,
                last_instant: Instant::ZERO,
                now,
                judged_before: None,
                known_outage: newest(&outages),
                outbox: outbox::entries(None, &facts, Cursor::START, &entries)?,
                next_deadline: self.next_look(&session),
                entries,
            };
            match self
                .stores
                .sessions
                .commit(&commit)
                .await
                .map_err(errors::store)?
            {
                CommitAnswer::Committed { now } => {
                    *held = Some(Warm {
                        session: session.clone(),
                        cursor: commit.after(),
                    });
                    return Ok(Begun::Created {
                        session: Box::new(session),
                        facts,
                        entries: commit.entries,
                        now,
                    });
                }
                CommitAnswer::Conflict { entries } => {
                    let found = fold(&entries)?;
                    *held = Some(Warm {
                        session: found,
                        cursor: Cursor::START.after(&entries),
                    });
                    return Ok(Begun::Exists);
                }
                other => clock = self.again(id.shard(), other).await?,
            }
        }
        Err(errors::contended())
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

    async fn load(&self, id: SessionId) -> Result<Warm, Refusal> {
        let outages = self.outages.known(id.shard());
        match self.read(id, Cursor::START, &outages).await? {
            Read::Found(tail) => Ok(Warm {
                session: fold(&tail.entries)?,
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
    async fn confirm(
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

    /// Appends to the copy what it missed.
    fn take_in(&self, id: SessionId, held: &mut Option<Warm>, tail: &Tail) -> Result<(), Refusal> {
        if tail.entries.is_empty() && held.is_some() {
            return Ok(());
        }
        match held {
            None => {
                *held = Some(Warm {
                    session: fold(&tail.entries)?,
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
    async fn replayed(
        &self,
        id: SessionId,
        held: &mut Option<Warm>,
        first: u64,
        last: u64,
    ) -> Result<Option<Done>, Refusal> {
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
            before: Some(Session::fold(before).map_err(errors::fold)?),
            before_cursor,
            facts: facts.to_vec(),
            entries: entries.to_vec(),
            now_session: Session::fold(&log.facts).map_err(errors::fold)?,
            now: log.now,
        }))
    }

    fn instant(&self, id: SessionId, clock: Option<Instant>, session: &Session) -> Instant {
        clock
            .unwrap_or_else(|| self.stores.sessions.now(id.shard()))
            .max(session.last_instant())
    }

    /// Commits `facts`, which lead from the copy to `next`.
    async fn write(
        &self,
        held: &mut Option<Warm>,
        next: Session,
        facts: &[Fact],
        now: Instant,
        judged_before: Option<Instant>,
        outages: &Known,
    ) -> Result<Written, Refusal> {
        let Some(warm) = held.as_mut() else {
            return Ok(Written::Again { now: None });
        };
        let id = warm.session.id();
        let entries = chain(warm.cursor.tag, codec::encode(warm.session.last_instant(), facts));
        let commit = Commit {
            session: id,
            expected: warm.cursor,
            last_instant: warm.session.last_instant(),
            now,
            judged_before,
            known_outage: newest(outages),
            outbox: outbox::entries(Some(&warm.session), facts, warm.cursor, &entries)?,
            next_deadline: self.next_look(&next),
            entries,
        };
        match self
            .stores
            .sessions
            .commit(&commit)
            .await
            .map_err(errors::store)?
        {
            CommitAnswer::Committed { now } => {
                warm.cursor = commit.after();
                warm.session = next;
                Ok(Written::Committed {
                    entries: commit.entries,
                    now,
                })
            }
            CommitAnswer::Conflict { entries } => {
                if let Err(refusal) = extend(warm, &entries) {
                    *held = None;
                    return Err(refusal);
                }
                Ok(Written::Again { now: None })
            }
            CommitAnswer::Diverged => {
                *held = None;
                Ok(Written::Again { now: None })
            }
            other => Ok(Written::Again {
                now: self.again(id.shard(), other).await?,
            }),
        }
    }

    /// Does what an answer that is about the shard asks for; gives the clock to judge by next.
    async fn again(&self, shard: u16, answer: CommitAnswer) -> Result<Option<Instant>, Refusal> {
        match answer {
            CommitAnswer::OutageChanged { outages } if outages.is_empty() => self.outages.forget(shard),
            CommitAnswer::OutageChanged { outages } => self.outages.learn(shard, &outages),
            CommitAnswer::PulseTooOld => {
                for pulse in self
                    .stores
                    .sessions
                    .pulse(&[shard])
                    .await
                    .map_err(errors::store)?
                {
                    self.outages.learn(pulse.shard, pulse.outage.as_slice());
                }
            }
            CommitAnswer::NowRefused { now } | CommitAnswer::DeadlinePassed { now } => return Ok(Some(now)),
            CommitAnswer::Committed { .. } | CommitAnswer::Conflict { .. } | CommitAnswer::Diverged => {}
        }
        Ok(None)
    }

    /// Judges a request on a copy of the session; in the pool for searches when the server has to find a move.
    async fn apply(
        &self,
        session: &Session,
        request: Request,
        now: Instant,
        outages: &Known,
    ) -> Result<(Session, Applied), Refusal> {
        let mut next = session.clone();
        if !searches(session, now) {
            let applied = next.apply(&request, now, outages);
            return Ok((next, applied));
        }
        let outages = Arc::clone(outages);
        self.search(move || {
            let applied = next.apply(&request, now, &outages);
            (next, applied)
        })
        .await
    }

    /// Fires what has passed on a copy of the session; in the pool for searches when the server has to find a move.
    async fn advance(
        &self,
        session: &Session,
        now: Instant,
        outages: &Known,
    ) -> Result<(Session, Vec<Fact>), Refusal> {
        let mut next = session.clone();
        if !searches(session, now) {
            let (facts, _) = next.advance(now, outages);
            return Ok((next, facts));
        }
        let outages = Arc::clone(outages);
        self.search(move || {
            let (facts, _) = next.advance(now, &outages);
            (next, facts)
        })
        .await
    }

    /// Runs work that may take a while off the async threads, a bounded number at a time.
    async fn search<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let _permit = self
            .searches
            .acquire()
            .await
            .map_err(|_| errors::shutting_down())?;
        let span = tracing::Span::current();
        tokio::task::spawn_blocking(move || span.in_scope(work))
            .await
            .map_err(|error| {
                tracing::error!(%error, "a search ended early");
                Refusal::new(Reason::Internal, "internal error")
            })
    }
}

/// What became of a creation.
#[derive(Debug)]
pub(crate) enum Begun {
    /// Created by this call.
    Created {
        /// The session.
        session: Box<Session>,
        /// Its first facts.
        facts: Vec<Fact>,
        /// Their entries.
        entries: Vec<Entry>,
        /// The shard's clock.
        now: Instant,
    },
    /// There is a log under the id already.
    Exists,
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

/// What comes of a player's command in a session that has no seat of theirs.
fn not_seated(now: Instant) -> Applied {
    Applied {
        fired: Vec::new(),
        outcome: Outcome::Rejected(Rejected::NotSeated),
        at: now,
        judged_before: None,
    }
}

/// Whether judging at `now` may have to search: the engine is to move for a player whose time has passed.
fn searches(session: &Session, now: Instant) -> bool {
    let settings = session.settings();
    matches!(settings.timeout.policy(), Some(Policy::Engine { .. }))
        && session
            .game_on()
            .is_some_and(|game| now > game.deadline(settings))
}

fn append(session: &mut Session, fact: &Fact) -> Result<(), Refusal> {
    session.append(fact).map_err(errors::fold)
}

fn fold(entries: &[Entry]) -> Result<Session, Refusal> {
    let facts = codec::decode(Instant::ZERO, entries)?;
    Session::fold(&facts).map_err(errors::fold)
}

fn extend(warm: &mut Warm, entries: &[Entry]) -> Result<(), Refusal> {
    for fact in codec::decode(warm.session.last_instant(), entries)? {
        append(&mut warm.session, &fact)?;
    }
    warm.cursor = warm.cursor.after(entries);
    Ok(())
}
