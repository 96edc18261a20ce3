//! Sessions in this process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::MutexGuard;

use async_trait::async_trait;
use bytes::Bytes;
use tablemate_session::{Instant, Millis, SessionId};

use super::EmbeddedStore;
use crate::cursor::Cursor;
use crate::deployment::Deployment;
use crate::error::{Result, StoreError};
use crate::hub::lock;
use crate::session_store::{
    Commit, CommitAnswer, DeleteAnswer, Due, DueSession, Live, MarkAnswer, NOW_WINDOW, OUTAGES_MAX, Outage,
    OutboxCursor, OutboxEntry, Page, PageToken, Pulse, Read, SessionStore, Subscription, Tail, retry_delay,
};
use crate::tag::Entry;

#[derive(Clone, Default)]
pub(super) struct Shard {
    pub(super) logs: BTreeMap<SessionId, Log>,
    index: BTreeSet<(Instant, SessionId)>,
    failing: HashMap<SessionId, Failing>,
    pub(super) pulse: Option<Instant>,
    outages: Vec<Outage>,
    steps_seen: usize,
    outbox: BTreeMap<OutboxCursor, Bytes>,
    outbox_last: OutboxCursor,
    positions: HashMap<String, OutboxCursor>,
    presence: HashMap<(SessionId, u8), Instant>,
}

#[derive(Clone, Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
    deadline: Instant,
    settled: Option<Cursor>,
}

#[derive(Clone)]
struct Failing {
    count: u32,
    retry_at: Instant,
}

impl Log {
    fn end(&self) -> Cursor {
        Cursor::START.after(&self.entries)
    }

    /// The entries after a cursor; `None` when the log does not hold it.
    fn after(&self, cursor: Cursor) -> Option<&[Entry]> {
        let sequence = usize::try_from(cursor.sequence).ok()?;
        let after = self.entries.get(sequence..)?;
        (Cursor::START.after(&self.entries[..sequence]) == cursor).then_some(after)
    }
}

impl Shard {
    /// A copy for a store with a clock of its own, which has made no steps yet.
    #[cfg(feature = "testing")]
    pub(super) fn fork(&self) -> Self {
        Self {
            steps_seen: 0,
            ..self.clone()
        }
    }

    fn outages_after(&self, known: u64) -> Vec<Outage> {
        self.outages
            .iter()
            .filter(|outage| outage.id > known)
            .copied()
            .collect()
    }

    fn append_outage(&mut self, from: Instant, to: Instant) -> Option<Outage> {
        let (last_id, last_to) = self
            .outages
            .last()
            .map_or((0, Instant::ZERO), |last| (last.id, last.to));
        let from = from.max(last_to);
        if from >= to {
            return None;
        }
        let outage = Outage {
            id: last_id + 1,
            from,
            to,
        };
        self.outages.push(outage);
        if self.outages.len() > OUTAGES_MAX {
            self.outages.remove(0);
        }
        Some(outage)
    }

    fn set_deadline(&mut self, session: SessionId, deadline: Instant) {
        if let Some(log) = self.logs.get_mut(&session) {
            self.index.remove(&(log.deadline, session));
            log.deadline = deadline;
            self.index.insert((deadline, session));
        }
    }

    fn commit(&mut self, commit: &Commit, now: Instant, threshold: Millis) -> CommitAnswer {
        let log = self.logs.get(&commit.session);
        let after = match log {
            None if commit.expected == Cursor::START => &[],
            None => return CommitAnswer::Diverged,
            Some(log) => match log.after(commit.expected) {
                None => return CommitAnswer::Diverged,
                Some(after) => after,
            },
        };
        if after.starts_with(&commit.entries) {
            return CommitAnswer::Committed { now };
        }
        if !after.is_empty() {
            return CommitAnswer::Conflict {
                entries: after.to_vec(),
            };
        }
        if self.outages.last().map_or(0, |last| last.id) != commit.known_outage {
            return CommitAnswer::OutageChanged {
                outages: self.outages_after(commit.known_outage),
            };
        }
        match self.pulse {
            Some(pulse) if now.since(pulse) <= threshold => {}
            _ => return CommitAnswer::PulseTooOld,
        }
        let in_window = commit.now <= now && now.since(commit.now) <= NOW_WINDOW;
        if !in_window && commit.now != commit.last_instant {
            return CommitAnswer::NowRefused { now };
        }
        if commit
            .judged_before
            .is_some_and(|deadline| commit.now <= deadline && deadline < now)
        {
            return CommitAnswer::DeadlinePassed { now };
        }

        // Who acts on an old now (a clock that stalls) gives no sign of life on the new one.
        if in_window {
            self.pulse = self.pulse.max(Some(now));
        }
        let log = self.logs.entry(commit.session).or_default();
        log.entries.extend(commit.entries.iter().cloned());
        self.set_deadline(commit.session, commit.next_deadline);
        for payload in &commit.outbox {
            let last = self.outbox_last;
            self.outbox_last = if now.0 > last.millis {
                OutboxCursor {
                    millis: now.0,
                    number: 0,
                }
            } else {
                OutboxCursor {
                    number: last.number + 1,
                    ..last
                }
            };
            self.outbox.insert(self.outbox_last, payload.clone());
        }
        CommitAnswer::Committed { now }
    }

    fn pulse(&mut self, shard: u16, now: Instant, threshold: Millis) -> Pulse {
        let outage = match self.pulse {
            Some(pulse) if now.since(pulse) > threshold => self.append_outage(pulse, now),
            _ => None,
        };
        self.pulse = self.pulse.max(Some(now));
        Pulse { shard, now, outage }
    }

    fn delete(&mut self, session: SessionId, cursor: Cursor) -> DeleteAnswer {
        let Some(log) = self.logs.get(&session) else {
            self.failing.remove(&session);
            return DeleteAnswer::Deleted;
        };
        if log.end() != cursor {
            return DeleteAnswer::Diverged;
        }
        if log.settled.is_none_or(|settled| log.after(settled).is_none()) {
            return DeleteAnswer::NotSettled;
        }
        self.index.remove(&(log.deadline, session));
        self.failing.remove(&session);
        self.logs.remove(&session);
        DeleteAnswer::Deleted
    }
}

impl EmbeddedStore {
    /// The shard, locked, with the steps of the clock noted: and its now.
    pub(super) fn shard(&self, shard: u16) -> Result<(MutexGuard<'_, Shard>, Instant)> {
        let no_such_shard = StoreError::NoSuchShard {
            shard,
            shards: self.deployment.shards,
        };
        let mut guard = lock(self.shards.get(usize::from(shard)).ok_or(no_such_shard)?);
        let (now, steps) = self.clock.read(guard.steps_seen);
        for step in steps {
            guard.steps_seen += 1;
            // Before the first pulse there was nobody whom the step could have kept from anything.
            if guard.pulse.is_some() {
                guard.append_outage(step.from, step.to);
                guard.pulse = guard.pulse.max(Some(step.to));
            }
        }
        Ok((guard, now))
    }
}

#[async_trait]
impl SessionStore for EmbeddedStore {
    fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    fn now(&self, _shard: u16) -> Instant {
        self.clock_now()
    }

    async fn commit(&self, commit: &Commit) -> Result<CommitAnswer> {
        commit.check()?;
        let (mut shard, now) = self.shard(commit.session.shard())?;
        let grown = shard.logs.get(&commit.session).map_or(0, |log| log.entries.len());
        let answer = shard.commit(commit, now, self.deployment.outage_threshold);
        let appended = shard.logs.get(&commit.session).map_or(0, |log| log.entries.len()) > grown;
        if appended {
            // Published under the lock, so that subscribers get commits in their order.
            self.live.publish(&commit.session, || Live::Entries {
                before: commit.expected,
                entries: commit.entries.clone(),
            });
            if !commit.outbox.is_empty() {
                let number = commit.session.shard();
                self.outboxes.publish(&number, || Some(number));
            }
        }
        Ok(answer)
    }

    async fn read(&self, session: SessionId, known: Cursor, known_outage: u64) -> Result<Read> {
        let (shard, now) = self.shard(session.shard())?;
        let outages = shard.outages_after(known_outage);
        let Some(log) = shard.logs.get(&session) else {
            return Ok(Read::Missing { outages, now });
        };
        Ok(match log.after(known) {
            None => Read::Diverged,
            Some(after) => Read::Found(Tail {
                entries: after.to_vec(),
                outages,
                now,
            }),
        })
    }

    async fn pulse(&self, shards: &[u16]) -> Result<Vec<Pulse>> {
        let threshold = self.deployment.outage_threshold;
        shards
            .iter()
            .map(|number| {
                let (mut shard, now) = self.shard(*number)?;
                Ok(shard.pulse(*number, now, threshold))
            })
            .collect()
    }

    async fn due(&self, shard: u16, limit: usize) -> Result<Due> {
        let (shard, now) = self.shard(shard)?;
        let passed = shard.index.iter().take_while(|(deadline, _)| *deadline < now);
        let sessions = passed
            .filter_map(|(deadline, session)| {
                let failing = shard.failing.get(session);
                let waits = failing.is_some_and(|failing| failing.retry_at > now);
                let failures = failing.map_or(0, |failing| failing.count);
                (!waits).then_some(DueSession {
                    session: *session,
                    deadline: *deadline,
                    failures,
                })
            })
            .take(limit)
            .collect();
        Ok(Due { now, sessions })
    }

    async fn next_due(&self, shard: u16) -> Result<Option<Instant>> {
        let (shard, _) = self.shard(shard)?;
        Ok(shard.index.first().map(|(deadline, _)| *deadline))
    }

    async fn mark_failing(&self, session: SessionId) -> Result<u32> {
        let (mut shard, now) = self.shard(session.shard())?;
        let failing = shard.failing.entry(session).or_insert(Failing {
            count: 0,
            retry_at: now,
        });
        failing.count = failing.count.saturating_add(1);
        failing.retry_at = now.after(retry_delay(failing.count));
        Ok(failing.count)
    }

    async fn clear_failing(&self, session: SessionId) -> Result<()> {
        self.shard(session.shard())?.0.failing.remove(&session);
        Ok(())
    }

    async fn failing(&self, shard: u16) -> Result<u64> {
        Ok(self.shard(shard)?.0.failing.len() as u64)
    }

    async fn list(&self, shard: u16, page: Option<PageToken>, limit: usize) -> Result<Page> {
        let (guard, _) = self.shard(shard)?;
        let bytes = page.map_or(Some([0; 12]), |token| token.0.try_into().ok());
        let bad_token = StoreError::BadArgument {
            why: "the page token is none of this store",
        };
        let from = SessionId::from_bytes(bytes.ok_or(bad_token)?);
        let mut rest = guard.logs.range(from..).map(|(session, _)| *session);
        let sessions: Vec<SessionId> = rest.by_ref().take(limit.max(1)).collect();
        let next = rest.next().map(|session| PageToken(session.as_bytes().to_vec()));
        Ok(Page { sessions, next })
    }

    async fn mark_settled(&self, session: SessionId, cursor: Cursor) -> Result<MarkAnswer> {
        let (mut shard, _) = self.shard(session.shard())?;
        let Some(log) = shard.logs.get_mut(&session) else {
            return Ok(MarkAnswer::Missing);
        };
        if log.after(cursor).is_none() {
            return Ok(MarkAnswer::Diverged);
        }
        log.settled = Some(cursor);
        Ok(MarkAnswer::Marked)
    }

    async fn delete(&self, session: SessionId, cursor: Cursor) -> Result<DeleteAnswer> {
        Ok(self.shard(session.shard())?.0.delete(session, cursor))
    }

    async fn orphans(&self, _page: Option<PageToken>, _limit: usize) -> Result<Page> {
        // A log and its index entry live in one map entry here: none can lose the other.
        Ok(Page {
            sessions: Vec::new(),
            next: None,
        })
    }

    async fn repair_index(
        &self,
        session: SessionId,
        cursor: Cursor,
        next_deadline: Instant,
    ) -> Result<MarkAnswer> {
        let (mut shard, _) = self.shard(session.shard())?;
        let Some(log) = shard.logs.get(&session) else {
            return Ok(MarkAnswer::Missing);
        };
        if log.end() != cursor {
            return Ok(MarkAnswer::Diverged);
        }
        shard.set_deadline(session, next_deadline);
        Ok(MarkAnswer::Marked)
    }

    async fn outbox_read(&self, shard: u16, after: OutboxCursor, limit: usize) -> Result<Vec<OutboxEntry>> {
        let (shard, _) = self.shard(shard)?;
        let later = shard
            .outbox
            .range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded));
        let entry = |(cursor, payload): (&OutboxCursor, &Bytes)| OutboxEntry {
            cursor: *cursor,
            payload: payload.clone(),
        };
        Ok(later.take(limit).map(entry).collect())
    }

    async fn outbox_trim(&self, shard: u16, keep: Millis) -> Result<u64> {
        let (mut shard, now) = self.shard(shard)?;
        let old = Instant(now.0.saturating_sub(keep.0));
        let mut kept_from = OutboxCursor {
            millis: old.0,
            number: 0,
        };
        if let Some(least) = shard.positions.values().min() {
            kept_from = kept_from.min(least.next());
        }
        let before = shard.outbox.len();
        shard.outbox = shard.outbox.split_off(&kept_from);
        Ok((before - shard.outbox.len()) as u64)
    }

    async fn outbox_position(&self, shard: u16, receiver: &str) -> Result<OutboxCursor> {
        Ok(self
            .shard(shard)?
            .0
            .positions
            .get(receiver)
            .copied()
            .unwrap_or_default())
    }

    async fn set_outbox_position(&self, shard: u16, receiver: &str, cursor: OutboxCursor) -> Result<()> {
        let (mut shard, _) = self.shard(shard)?;
        let position = shard.positions.entry(receiver.to_owned()).or_default();
        *position = cursor.max(*position);
        Ok(())
    }

    async fn subscribe_outbox(&self, shards: &[u16]) -> Result<Subscription<Option<u16>>> {
        let listeners = shards.iter().map(|shard| self.outboxes.subscribe(*shard, None));
        Ok(Box::pin(futures::stream::select_all(listeners)))
    }

    async fn subscribe(&self, session: SessionId) -> Result<Subscription<Live>> {
        Ok(Box::pin(self.live.subscribe(session, Live::Gap)))
    }

    async fn set_present(&self, session: SessionId, seat: u8, lease: Millis) -> Result<bool> {
        let (mut shard, now) = self.shard(session.shard())?;
        if shard.presence.len() > 2 * shard.logs.len() + 64 {
            shard.presence.retain(|_, until| *until > now);
        }
        let before = shard.presence.insert((session, seat), now.after(lease));
        let was = before.is_some_and(|until| until > now);
        if !was {
            self.live
                .publish(&session, || Live::Presence { seat, present: true });
        }
        Ok(was)
    }

    async fn present(&self, session: SessionId) -> Result<[bool; 2]> {
        let (shard, now) = self.shard(session.shard())?;
        let present = |seat| {
            shard
                .presence
                .get(&(session, seat))
                .is_some_and(|until| *until > now)
        };
        Ok([present(1), present(2)])
    }
}
