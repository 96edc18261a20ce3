//! Commits: facts encoded, chained, and appended if the log is as it was when they were judged.

use std::sync::Arc;

use tablemate_protocol::convert::Refusal;
use tablemate_session::fact::Fact;
use tablemate_session::session::Session;
use tablemate_session::{Instant, SessionId};
use tablemate_store::{Commit, CommitAnswer, Cursor, Entry, chain};

use super::judge::TRIES_MAX;
use super::look::{extend, fold};
use super::outages::{Known, newest};
use super::warm::Warm;
use super::{Core, codec, errors, outbox};

/// What became of a commit.
pub(super) enum Written {
    /// It is in the log; the warm copy is the new state.
    Committed { entries: Vec<Entry>, now: Instant },
    /// Nothing was changed; the warm copy is up to date or gone. Judge anew, with this clock if one is given.
    Again { now: Option<Instant> },
}

/// What became of a creation.
#[derive(Debug)]
pub(crate) enum Begun {
    /// Created by this call.
    Created {
        /// The session.
        session: Arc<Session>,
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

impl Core {
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
            let session = Arc::new(session);
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
            match self.commit(&commit).await? {
                CommitAnswer::Committed { now } => {
                    *held = Some(Warm {
                        session: Arc::clone(&session),
                        cursor: commit.after(),
                    });
                    return Ok(Begun::Created {
                        session,
                        facts,
                        entries: commit.entries,
                        now,
                    });
                }
                CommitAnswer::Conflict { entries } => {
                    *held = Some(Warm {
                        session: Arc::new(fold(&entries)?),
                        cursor: Cursor::START.after(&entries),
                    });
                    return Ok(Begun::Exists);
                }
                other => clock = self.again(id.shard(), other).await?,
            }
        }
        Err(errors::contended())
    }

    /// Commits what fired. The clock is asked anew: what fired has its own instants, and finding a move may have taken
    /// longer than a judgement may be old.
    pub(super) async fn fired(
        &self,
        held: &mut Option<Warm>,
        next: Arc<Session>,
        facts: &[Fact],
        now: Instant,
        outages: &Known,
    ) -> Result<Written, Refusal> {
        let now = now.max(self.stores.sessions.now(next.id().shard()));
        self.write(held, next, facts, now, None, outages).await
    }

    /// Commits `facts`, which lead from the copy to `next`.
    pub(super) async fn write(
        &self,
        held: &mut Option<Warm>,
        next: Arc<Session>,
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
        match self.commit(&commit).await? {
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

    async fn commit(&self, commit: &Commit) -> Result<CommitAnswer, Refusal> {
        let answer = self.stores.sessions.commit(commit).await.map_err(errors::store)?;
        self.metrics.commit(&answer);
        Ok(answer)
    }

    /// Does what an answer that is about the shard asks for; gives the clock to judge by next.
    pub(super) async fn again(&self, shard: u16, answer: CommitAnswer) -> Result<Option<Instant>, Refusal> {
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
}
