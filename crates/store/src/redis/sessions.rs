//! Sessions in Redis.

use async_trait::async_trait;
use bytes::{BufMut, Bytes};
use futures::StreamExt;
use redis::Value;
use tablemate_session::{Instant, Millis, SessionId};

use super::fault::Effect;
use super::keys::{self, member};
use super::link::{Answered, Call};
use super::pubsub::Heard;
use super::reply::{Reply, outage};
use super::scripts::SCRIPTS;
use super::{RedisStore, number, unknown_answer};
use crate::cursor::Cursor;
use crate::deployment::Deployment;
use crate::error::{Result, StoreError};
use crate::session_store::{
    Commit, CommitAnswer, DeleteAnswer, Due, DueSession, Live, MarkAnswer, NOW_WINDOW, OUTAGES_MAX,
    OutboxCursor, OutboxEntry, Page, PageToken, Pulse, RETRY_DELAY_MAX, Read, SessionStore, Subscription,
    Tail,
};
use crate::tag::{Entry, TAG_BYTES, Tag};

/// How often a read is made anew because the clock stepped meanwhile.
const REREADS_MAX: usize = 3;

const ENTRIES: u8 = b'E';
const PRESENCE: u8 = b'P';

impl RedisStore {
    fn commit_call(&self, commit: &Commit) -> Call {
        let shard = commit.session.shard();
        let keys = [
            self.keys.log(commit.session),
            self.keys.index(shard),
            self.keys.pulse(shard),
            self.keys.outages(shard),
            self.keys.outbox(shard),
        ];
        let call = Call::new(&SCRIPTS.commit, keys);
        let call = match commit.expected.sequence.checked_sub(1) {
            Some(last) => call.number(last).bytes(&commit.expected.tag.0),
            None => call.number(0).bytes(b""),
        };
        let mut call = call.number(commit.now.0).number(commit.last_instant.0);
        call = match commit.judged_before {
            Some(deadline) => call.number(deadline.0),
            None => call.bytes(b""),
        };
        call = call
            .number(commit.known_outage)
            .number(self.deployment.outage_threshold.0)
            .number(NOW_WINDOW.0)
            .number(commit.next_deadline.0)
            .bytes(member(&commit.session))
            .bytes(&entries_message(commit.expected, &commit.entries))
            .number(commit.entries.len() as u64);
        for entry in &commit.entries {
            call = call.bytes(entry.stored());
        }
        for payload in &commit.outbox {
            call = call.bytes(payload);
        }
        call
    }

    /// Keys of a script, with the place it compares and the index entry.
    fn place_call(&self, call: Call, session: SessionId, cursor: Cursor) -> Call {
        call.number(cursor.sequence)
            .bytes(&cursor.tag.0)
            .bytes(member(&session))
    }
}

#[async_trait]
impl SessionStore for RedisStore {
    fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    fn now(&self, shard: u16) -> Instant {
        self.clock(shard).now()
    }

    async fn commit(&self, commit: &Commit) -> Result<CommitAnswer> {
        commit.check()?;
        self.check_shard(commit.session.shard())?;
        let (word, mut reply, received) = self
            .run(&self.commit_call(commit), "commit", Effect::Writes)
            .await?;
        if word == "diverged" {
            return Ok(CommitAnswer::Diverged);
        }
        let now = reply.instant()?;
        if word == "now" && commit.now > now {
            // The clock was set back, or this process's own clock runs fast.
            self.clock(commit.session.shard()).reset(now, received);
        } else {
            self.observe(commit.session.shard(), now, received).await?;
        }
        match word.as_str() {
            "committed" => Ok(CommitAnswer::Committed { now }),
            "conflict" => Ok(CommitAnswer::Conflict {
                entries: reply.entries()?,
            }),
            "outage" => Ok(CommitAnswer::OutageChanged {
                outages: reply.outages()?,
            }),
            "pulse" => Ok(CommitAnswer::PulseTooOld),
            "now" => Ok(CommitAnswer::NowRefused { now }),
            "deadline" => Ok(CommitAnswer::DeadlinePassed { now }),
            _ => Err(unknown_answer("commit", &word)),
        }
    }

    async fn read(&self, session: SessionId, known: Cursor, known_outage: u64) -> Result<Read> {
        self.check_shard(session.shard())?;
        let call = Call::new(
            &SCRIPTS.read,
            [self.keys.log(session), self.keys.outages(session.shard())],
        )
        .number(known.sequence)
        .bytes(&known.tag.0)
        .number(known_outage);
        for _ in 0..REREADS_MAX {
            let (word, mut reply, received) = self.run(&call, "read", Effect::Reads).await?;
            let now = reply.instant()?;
            if self.observe(session.shard(), now, received).await? {
                continue;
            }
            return match word.as_str() {
                "diverged" => Ok(Read::Diverged),
                "missing" => Ok(Read::Missing {
                    outages: reply.outages()?,
                    now,
                }),
                "found" => {
                    let outages = reply.outages()?;
                    Ok(Read::Found(Tail {
                        entries: reply.entries()?,
                        outages,
                        now,
                    }))
                }
                _ => Err(unknown_answer("read", &word)),
            };
        }
        Err(unsteady())
    }

    async fn confirm(&self, session: SessionId) -> Result<()> {
        self.check_shard(session.shard())?;
        self.link.confirm(&self.keys.log(session)).await
    }

    async fn pulse(&self, shards: &[u16]) -> Result<Vec<Pulse>> {
        let mut pulses = Vec::with_capacity(shards.len());
        let mut left = shards.to_vec();
        let mut silent = None;
        for _ in 0..REREADS_MAX {
            let mut calls = Vec::with_capacity(left.len());
            for shard in &left {
                self.check_shard(*shard)?;
                let call = Call::new(
                    &SCRIPTS.pulse,
                    [self.keys.pulse(*shard), self.keys.outages(*shard)],
                )
                .number(self.deployment.outage_threshold.0)
                .number(NOW_WINDOW.0)
                .number(self.clock(*shard).now().0)
                .number(OUTAGES_MAX as u64);
                calls.push(call);
            }
            let mut ahead = Vec::new();
            for (shard, answered) in left.iter().zip(self.link.call_all(&calls, Effect::Signs).await) {
                // The shards of a server that is away say nothing about those of another one.
                let Answered { value, received } = match answered {
                    Ok(answered) => answered,
                    Err(error) => {
                        silent = Some(error);
                        continue;
                    }
                };
                let mut reply = Reply::new("pulse", value)?;
                let word = reply.text()?;
                let now = reply.instant()?;
                self.observe(*shard, now, received).await?;
                match word.as_str() {
                    "ahead" => ahead.push(*shard),
                    "pulsed" => {
                        let outage = outage(&reply.text()?);
                        pulses.push(Pulse {
                            shard: *shard,
                            now,
                            outage,
                        });
                    }
                    _ => return Err(unknown_answer("pulse", &word)),
                }
            }
            left = ahead;
            if left.is_empty() {
                return match silent {
                    Some(error) if pulses.is_empty() => Err(error),
                    _ => Ok(pulses),
                };
            }
        }
        Err(unsteady())
    }

    async fn due(&self, shard: u16, limit: usize) -> Result<Due> {
        self.check_shard(shard)?;
        let call = Call::new(&SCRIPTS.due, [self.keys.index(shard), self.keys.failing(shard)])
            .number(limit.max(1) as u64);
        for _ in 0..REREADS_MAX {
            let (_, mut reply, received) = self.run(&call, "due", Effect::Reads).await?;
            let now = reply.instant()?;
            if self.observe(shard, now, received).await? {
                continue;
            }
            let sessions = reply.list()?.each(|reply| {
                let member = reply.bytes()?;
                let session = keys::session(shard, &member).ok_or_else(|| reply.bad("holds no session"))?;
                let deadline = reply.instant()?;
                let failures = u32::try_from(reply.number()?).unwrap_or(u32::MAX);
                Ok(DueSession {
                    session,
                    deadline,
                    failures,
                })
            })?;
            return Ok(Due { now, sessions });
        }
        Err(unsteady())
    }

    async fn next_due(&self, shard: u16) -> Result<Option<Instant>> {
        self.check_shard(shard)?;
        let index = self.keys.index(shard);
        let mut command = redis::cmd("ZRANGE");
        command.arg(&index).arg(0).arg(0).arg("WITHSCORES");
        let mut reply = Reply::new(
            "index",
            self.link
                .command("index", &index, &command, Effect::Reads)
                .await?,
        )?;
        // RESP3 gives pairs.
        match reply.list_or_nil()? {
            None => Ok(None),
            Some(mut pair) => {
                pair.bytes()?;
                Ok(Some(pair.instant()?))
            }
        }
    }

    async fn mark_failing(&self, session: SessionId) -> Result<u32> {
        self.check_shard(session.shard())?;
        let call = Call::new(&SCRIPTS.mark_failing, [self.keys.failing(session.shard())])
            .bytes(member(&session))
            .number(RETRY_DELAY_MAX.0);
        let (_, mut reply, _) = self.run(&call, "mark_failing", Effect::Signs).await?;
        reply.number()?;
        Ok(u32::try_from(reply.number()?).unwrap_or(u32::MAX))
    }

    async fn clear_failing(&self, session: SessionId) -> Result<()> {
        self.check_shard(session.shard())?;
        let failing = self.keys.failing(session.shard());
        let mut command = redis::cmd("HDEL");
        command.arg(&failing).arg(member(&session));
        self.link
            .command("failing", &failing, &command, Effect::Signs)
            .await?;
        Ok(())
    }

    async fn failing(&self, shard: u16) -> Result<u64> {
        self.check_shard(shard)?;
        let failing = self.keys.failing(shard);
        let mut command = redis::cmd("HLEN");
        command.arg(&failing);
        let answer = self.link.command("failing", &failing, &command, Effect::Reads);
        number("failing", answer.await?)
    }

    async fn list(&self, shard: u16, page: Option<PageToken>, limit: usize) -> Result<Page> {
        self.check_shard(shard)?;
        let index = self.keys.index(shard);
        let mut command = redis::cmd("ZSCAN");
        command
            .arg(&index)
            .arg(scan_cursor(page)?)
            .arg("COUNT")
            .arg(limit.max(1));
        let mut reply = Reply::new(
            "index",
            self.link
                .command("index", &index, &command, Effect::Reads)
                .await?,
        )?;
        let next = next_page(&mut reply)?;
        let sessions = reply.list()?.each(|reply| {
            let member = reply.bytes()?;
            reply.bytes()?;
            keys::session(shard, &member).ok_or_else(|| reply.bad("holds no session"))
        })?;
        Ok(Page { sessions, next })
    }

    async fn mark_settled(&self, session: SessionId, cursor: Cursor) -> Result<MarkAnswer> {
        self.check_shard(session.shard())?;
        let keys = [self.keys.log(session), self.keys.settled(session.shard())];
        let call = self.place_call(Call::new(&SCRIPTS.mark_settled, keys), session, cursor);
        mark_answer(&self.run(&call, "mark_settled", Effect::Writes).await?.0)
    }

    async fn delete(&self, session: SessionId, cursor: Cursor) -> Result<DeleteAnswer> {
        let shard = session.shard();
        self.check_shard(shard)?;
        let keys = [
            self.keys.log(session),
            self.keys.index(shard),
            self.keys.settled(shard),
            self.keys.failing(shard),
        ];
        let call = self.place_call(Call::new(&SCRIPTS.delete, keys), session, cursor);
        match self.run(&call, "delete", Effect::Writes).await?.0.as_str() {
            "deleted" => Ok(DeleteAnswer::Deleted),
            "unsettled" => Ok(DeleteAnswer::NotSettled),
            "diverged" => Ok(DeleteAnswer::Diverged),
            word => Err(unknown_answer("delete", word)),
        }
    }

    async fn orphans(&self, page: Option<PageToken>, limit: usize) -> Result<Page> {
        let (number, cursor) = scan_place(page)?;
        let topology = self.link.topology();
        // Who has gone meanwhile took its keys along: the next round over all finds them.
        let Some(node) = topology.masters.get(number) else {
            return Ok(Page {
                sessions: Vec::new(),
                next: None,
            });
        };
        let pattern = format!("{{???}}s{}", "?".repeat(keys::MEMBER_BYTES));
        let mut command = redis::cmd("SCAN");
        command
            .arg(cursor)
            .arg("MATCH")
            .arg(pattern)
            .arg("COUNT")
            .arg(limit.max(1));
        let answered = self.link.command_at("scan", node, &command).await?;
        let mut reply = Reply::new("scan", answered.value)?;
        let next = match reply.number()? {
            0 if number + 1 < topology.masters.len() => Some(scan_token(number + 1, 0)),
            0 => None,
            cursor => Some(scan_token(number, cursor)),
        };
        let found = reply
            .list()?
            .each(|reply| Ok(self.keys.session_of_log(&reply.bytes()?)))?;
        let mut found: Vec<SessionId> = found.into_iter().flatten().collect();
        found.sort_unstable();
        let of_shards: Vec<&[SessionId]> = found.chunk_by(|one, next| one.shard() == next.shard()).collect();
        let calls: Vec<Call> = of_shards
            .iter()
            .map(|sessions| {
                let shard = sessions.first().map_or(0, SessionId::shard);
                let call = Call::new(&SCRIPTS.orphans, [self.keys.index(shard)]);
                sessions
                    .iter()
                    .fold(call, |call, session| call.bytes(member(session)))
            })
            .collect();
        let answers = self.link.call_all(&calls, Effect::Reads).await;
        let mut sessions = Vec::new();
        for (of_shard, answered) in of_shards.iter().zip(answers) {
            let shard = of_shard.first().map_or(0, SessionId::shard);
            let mut reply = Reply::new("orphans", answered?.value)?;
            reply.text()?;
            sessions.extend(reply.list()?.each(|reply| {
                keys::session(shard, &reply.bytes()?).ok_or_else(|| reply.bad("holds no session"))
            })?);
        }
        Ok(Page { sessions, next })
    }

    async fn repair_index(
        &self,
        session: SessionId,
        cursor: Cursor,
        next_deadline: Instant,
    ) -> Result<MarkAnswer> {
        self.check_shard(session.shard())?;
        let keys = [self.keys.log(session), self.keys.index(session.shard())];
        let call = self
            .place_call(Call::new(&SCRIPTS.repair_index, keys), session, cursor)
            .number(next_deadline.0);
        mark_answer(&self.run(&call, "repair_index", Effect::Signs).await?.0)
    }

    async fn outbox_read(&self, shard: u16, after: OutboxCursor, limit: usize) -> Result<Vec<OutboxEntry>> {
        self.check_shard(shard)?;
        let outbox = self.keys.outbox(shard);
        let mut command = redis::cmd("XRANGE");
        command
            .arg(&outbox)
            .arg(format!("({}", position_text(after)))
            .arg("+");
        command.arg("COUNT").arg(limit);
        let value = self
            .link
            .command("outbox", &outbox, &command, Effect::Reads)
            .await?;
        if value == Value::Nil {
            return Ok(Vec::new());
        }
        Reply::new("outbox", value)?.each(|reply| {
            let mut entry = reply.list()?;
            let cursor = position(&entry.text()?).ok_or_else(|| entry.bad("holds no stream id"))?;
            let mut fields = entry.list()?;
            fields.bytes()?;
            Ok(OutboxEntry {
                cursor,
                payload: fields.bytes()?,
            })
        })
    }

    async fn outbox_trim(&self, shard: u16, keep: Millis) -> Result<u64> {
        self.check_shard(shard)?;
        let keys = [self.keys.outbox(shard), self.keys.positions(shard)];
        let call = Call::new(&SCRIPTS.outbox_trim, keys).number(keep.0);
        self.run(&call, "outbox_trim", Effect::Signs).await?.1.number()
    }

    async fn outbox_position(&self, shard: u16, receiver: &str) -> Result<OutboxCursor> {
        self.check_shard(shard)?;
        let positions = self.keys.positions(shard);
        let mut command = redis::cmd("HGET");
        command.arg(&positions).arg(receiver);
        let value = self
            .link
            .command("positions", &positions, &command, Effect::Reads)
            .await?;
        let mut reply = Reply::new("positions", Value::Array(vec![value]))?;
        let Some(text) = reply.bytes_or_nil()? else {
            return Ok(OutboxCursor::START);
        };
        let text = String::from_utf8_lossy(&text);
        position(&text).ok_or_else(|| reply.bad("holds no stream id"))
    }

    async fn set_outbox_position(&self, shard: u16, receiver: &str, cursor: OutboxCursor) -> Result<()> {
        self.check_shard(shard)?;
        let call = Call::new(&SCRIPTS.set_position, [self.keys.positions(shard)])
            .bytes(receiver.as_bytes())
            .number(cursor.millis)
            .number(cursor.number);
        self.run(&call, "set_position", Effect::Signs).await?;
        Ok(())
    }

    async fn subscribe_outbox(&self, shards: &[u16]) -> Result<Subscription<Option<u16>>> {
        let mut listeners = Vec::with_capacity(shards.len());
        for shard in shards {
            self.check_shard(*shard)?;
            let shard = *shard;
            let heard = self.pubsub.listen(self.keys.outbox(shard)).await?;
            listeners.push(heard.map(move |heard| match heard {
                Heard::Message(_) => Some(shard),
                Heard::Gap => None,
            }));
        }
        Ok(Box::pin(futures::stream::select_all(listeners)))
    }

    async fn subscribe(&self, session: SessionId) -> Result<Subscription<Live>> {
        self.check_shard(session.shard())?;
        let heard = self.pubsub.listen(self.keys.log(session)).await?;
        Ok(Box::pin(heard.map(|heard| match heard {
            Heard::Message(message) => live(&message).unwrap_or(Live::Gap),
            Heard::Gap => Live::Gap,
        })))
    }

    async fn set_present(&self, session: SessionId, seat: u8, lease: Millis) -> Result<bool> {
        self.check_shard(session.shard())?;
        let keys = [self.keys.lease(session, seat), self.keys.log(session)];
        let call = Call::new(&SCRIPTS.set_present, keys)
            .number(lease.0.max(1))
            .bytes(&[PRESENCE, seat, 1]);
        let (_, mut reply, _) = self.run(&call, "set_present", Effect::Signs).await?;
        Ok(reply.number()? != 0)
    }

    async fn present(&self, session: SessionId) -> Result<[bool; 2]> {
        self.check_shard(session.shard())?;
        let leases = [1, 2].map(|seat| self.keys.lease(session, seat));
        let mut command = redis::cmd("MGET");
        command.arg(&leases);
        let mut reply = Reply::new(
            "presence",
            self.link
                .command("presence", &leases[0], &command, Effect::Reads)
                .await?,
        )?;
        Ok([reply.bytes_or_nil()?.is_some(), reply.bytes_or_nil()?.is_some()])
    }
}

fn unsteady() -> StoreError {
    StoreError::Unavailable {
        why: "the store's clock or the way to it is unsteady".to_owned(),
    }
}

fn mark_answer(word: &str) -> Result<MarkAnswer> {
    match word {
        "marked" => Ok(MarkAnswer::Marked),
        "diverged" => Ok(MarkAnswer::Diverged),
        "missing" => Ok(MarkAnswer::Missing),
        word => Err(unknown_answer("mark", word)),
    }
}

fn position_text(cursor: OutboxCursor) -> String {
    format!("{}-{}", cursor.millis, cursor.number)
}

fn position(text: &str) -> Option<OutboxCursor> {
    let (millis, number) = text.split_once('-')?;
    Some(OutboxCursor {
        millis: millis.parse().ok()?,
        number: number.parse().ok()?,
    })
}

fn scan_cursor(page: Option<PageToken>) -> Result<u64> {
    let bad_token = StoreError::BadArgument {
        why: "the page token is none of this store",
    };
    match page {
        None => Ok(0),
        Some(token) => Ok(u64::from_be_bytes(token.0.try_into().map_err(|_| bad_token)?)),
    }
}

/// Of a scan over all masters: which one, and where in it.
fn scan_place(page: Option<PageToken>) -> Result<(usize, u64)> {
    let bad_token = StoreError::BadArgument {
        why: "the page token is none of this store",
    };
    let Some(token) = page else { return Ok((0, 0)) };
    match token.0.split_first_chunk::<2>() {
        Some((number, cursor)) => {
            let cursor = cursor.try_into().map_err(|_| bad_token)?;
            Ok((
                usize::from(u16::from_be_bytes(*number)),
                u64::from_be_bytes(cursor),
            ))
        }
        None => Err(bad_token),
    }
}

fn scan_token(number: usize, cursor: u64) -> PageToken {
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    PageToken([&number.to_be_bytes()[..], &cursor.to_be_bytes()].concat())
}

fn next_page(reply: &mut Reply) -> Result<Option<PageToken>> {
    let cursor = reply.number()?;
    Ok((cursor != 0).then(|| PageToken(cursor.to_be_bytes().to_vec())))
}

/// What is published about a commit: the place before, and each entry with its length.
fn entries_message(before: Cursor, entries: &[Entry]) -> Vec<u8> {
    let bytes: usize = entries.iter().map(|entry| 4 + entry.stored().len()).sum();
    let mut message = Vec::with_capacity(1 + 8 + TAG_BYTES + bytes);
    message.push(ENTRIES);
    message.put_u64(before.sequence);
    message.put_slice(&before.tag.0);
    for entry in entries {
        message.put_u32(u32::try_from(entry.stored().len()).unwrap_or(u32::MAX));
        message.put_slice(entry.stored());
    }
    message
}

/// Reads a published message; `None` when it is none that this version knows.
fn live(message: &Bytes) -> Option<Live> {
    match *message.first()? {
        PRESENCE => Some(Live::Presence {
            seat: *message.get(1)?,
            present: *message.get(2)? != 0,
        }),
        ENTRIES => {
            let sequence = u64::from_be_bytes(message.get(1..9)?.try_into().ok()?);
            let tag = Tag(message.get(9..9 + TAG_BYTES)?.try_into().ok()?);
            let mut at = 9 + TAG_BYTES;
            let mut entries = Vec::new();
            while at < message.len() {
                let length = u32::from_be_bytes(message.get(at..at + 4)?.try_into().ok()?);
                let end = (at + 4).checked_add(usize::try_from(length).ok()?)?;
                message.get(at + 4..end)?;
                entries.push(Entry::from_stored(message.slice(at + 4..end)).ok()?);
                at = end;
            }
            Some(Live::Entries {
                before: Cursor { sequence, tag },
                entries,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::chain;

    #[test]
    fn messages_survive_the_wire_and_torn_ones_are_gaps() {
        let entries = chain(Tag::START, ["one", "", "three"]);
        let before = Cursor {
            sequence: 7,
            tag: Tag([1, 2, 3, 4]),
        };
        let message = Bytes::from(entries_message(before, &entries));
        assert_eq!(live(&message), Some(Live::Entries { before, entries }));
        let torn = (0..message.len()).filter(|end| live(&message.slice(..*end)).is_some());
        // Only whole entries can be taken for a message.
        assert_eq!(torn.collect::<Vec<_>>(), vec![13, 24, 32]);
        assert_eq!(live(&Bytes::from_static(b"?")), None);
    }
}
