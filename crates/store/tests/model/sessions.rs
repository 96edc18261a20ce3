//! Sessions.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use tablemate_session::{Instant, Millis, SessionId};
use tablemate_store::contract::session;
use tablemate_store::session_store::{DeleteAnswer, MarkAnswer, OutboxCursor};
use tablemate_store::{Commit, CommitAnswer, Cursor, Outage, Read, Tag, chain};

use crate::{Real, Subject, tick};

/// Longer than the outage threshold of the stores under test.
const LONG: Millis = Millis::seconds(100);
const RECEIVERS: [&str; 2] = ["settlement", "claims"];

/// A place that a caller believes in.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Start,
    End,
    Back(u64),
    Beyond,
    WrongTag,
}

#[derive(Clone, Copy, Debug)]
pub enum Now {
    Current,
    Old,
    Future,
    /// The log's last instant, long ago.
    Last,
}

#[derive(Clone, Copy, Debug)]
pub enum Judged {
    Never,
    Passed,
    Ahead,
}

#[derive(Clone, Copy, Debug)]
pub enum Known {
    All,
    Fewer,
    More,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Commit {
        at: usize,
        place: Place,
        facts: Vec<u8>,
        now: Now,
        judged: Judged,
        known: Known,
        results: u8,
        due: Option<u8>,
    },
    Read {
        at: usize,
        place: Place,
        known: Known,
    },
    Pulse {
        shard: u16,
    },
    Age {
        shard: u16,
    },
    LoseTail {
        at: usize,
        by: usize,
    },
    Settle {
        at: usize,
        place: Place,
    },
    Delete {
        at: usize,
        place: Place,
    },
    Repair {
        at: usize,
        place: Place,
        due: Option<u8>,
    },
    Due {
        shard: u16,
        limit: usize,
    },
    Fail {
        at: usize,
    },
    Clear {
        at: usize,
    },
    Outbox {
        shard: u16,
        after: usize,
        limit: usize,
    },
    SetPosition {
        shard: u16,
        receiver: usize,
        index: usize,
    },
    Trim {
        shard: u16,
    },
    List {
        shard: u16,
    },
}

/// An operation with the values that it had when it was sent first.
pub struct Request {
    operation: Operation,
    cursor: Cursor,
    known: u64,
}

/// The sessions: two on shard 0, one on shard 1.
fn id(at: usize) -> SessionId {
    [session(0, 1), session(0, 2), session(1, 3)][at]
}

fn deadline(due: Option<u8>) -> Instant {
    due.map_or(Instant(1 << 50), |due| Instant(u64::from(due)))
}

#[derive(Default)]
pub struct Model {
    logs: BTreeMap<SessionId, Log>,
    shards: [Shard; 2],
}

#[derive(Default)]
struct Log {
    facts: Vec<Vec<u8>>,
    deadline: Instant,
    settled: Option<Cursor>,
}

#[derive(Default)]
struct Shard {
    /// Whether the last sign of life is fresh; `None` when there was none.
    fresh: Option<bool>,
    outages: u64,
    failing: BTreeMap<SessionId, u32>,
    outbox: Vec<Vec<u8>>,
    trimmed: usize,
    positions: BTreeMap<usize, usize>,
}

fn cursor_after(facts: &[Vec<u8>]) -> Cursor {
    Cursor::START.after(&chain(Tag::START, facts))
}

impl Model {
    fn facts(&self, session: SessionId) -> &[Vec<u8>] {
        self.logs.get(&session).map_or(&[], |log| &log.facts)
    }

    fn cursor(&self, session: SessionId, place: Place) -> Cursor {
        let facts = self.facts(session);
        let end = cursor_after(facts);
        match place {
            Place::Start => Cursor::START,
            Place::End => end,
            Place::Back(by) => cursor_after(&facts[..facts.len().saturating_sub(by as usize)]),
            Place::Beyond => Cursor {
                sequence: end.sequence + 2,
                tag: Tag([7; 4]),
            },
            Place::WrongTag => Cursor {
                sequence: end.sequence.max(1),
                tag: Tag([7; 4]),
            },
        }
    }

    fn after(&self, session: SessionId, cursor: Cursor) -> Option<&[Vec<u8>]> {
        let facts = self.facts(session);
        let at = usize::try_from(cursor.sequence).unwrap();
        (at <= facts.len() && cursor_after(&facts[..at]) == cursor).then(|| &facts[at..])
    }

    fn known(&self, session: SessionId, known: Known) -> u64 {
        let outages = self.shards[usize::from(session.shard())].outages;
        match known {
            Known::All => outages,
            Known::Fewer => outages.saturating_sub(1),
            Known::More => outages + 1,
        }
    }
}

fn payloads(facts: &[u8], place: Cursor) -> Vec<Vec<u8>> {
    // Different at different places, so that facts say where they belong.
    facts
        .iter()
        .map(|fact| vec![*fact, place.sequence as u8])
        .collect()
}

fn results(count: u8, place: Cursor) -> Vec<Vec<u8>> {
    (0..count)
        .map(|result| vec![result, place.sequence as u8, 9])
        .collect()
}

fn ids(outages: &[Outage]) -> Vec<u64> {
    outages.iter().map(|outage| outage.id).collect()
}

#[derive(Default)]
pub struct Memory {
    /// Every place of each outbox that there ever was.
    outboxes: [Vec<OutboxCursor>; 2],
}

impl Memory {
    async fn look(&mut self, real: &Real, shard: u16) {
        let known = &mut self.outboxes[usize::from(shard)];
        let after = known.last().copied().unwrap_or_default();
        let new = real
            .stores
            .sessions
            .outbox_read(shard, after, 1_000)
            .await
            .unwrap();
        known.extend(new.iter().map(|entry| entry.cursor));
    }

    fn place(&self, shard: u16, index: usize) -> OutboxCursor {
        match index {
            0 => OutboxCursor::START,
            index => self.outboxes[usize::from(shard)]
                .get(index - 1)
                .copied()
                .unwrap_or_default(),
        }
    }
}

pub struct Sessions;

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        6 => Just(Place::End),
        1 => Just(Place::Start),
        2 => (1..4_u64).prop_map(Place::Back),
        1 => Just(Place::Beyond),
        1 => Just(Place::WrongTag),
    ]
}

fn known() -> impl Strategy<Value = Known> {
    prop_oneof![8 => Just(Known::All), 1 => Just(Known::Fewer), 1 => Just(Known::More)]
}

fn commit() -> impl Strategy<Value = Operation> {
    let now = prop_oneof![8 => Just(Now::Current), 1 => Just(Now::Old), 1 => Just(Now::Future), 2 => Just(Now::Last)];
    let judged = prop_oneof![4 => Just(Judged::Never), 1 => Just(Judged::Passed), 2 => Just(Judged::Ahead)];
    let facts = proptest::collection::vec(0..3_u8, 1..4);
    let due = proptest::option::of(0..200_u8);
    (0..3_usize, place(), facts, now, judged, known(), 0..3_u8, due).prop_map(
        |(at, place, facts, now, judged, known, results, due)| Operation::Commit {
            at,
            place,
            facts,
            now,
            judged,
            known,
            results,
            due,
        },
    )
}

impl Subject for Sessions {
    type Operation = Operation;
    type Request = Request;
    type Model = Model;
    type Memory = Memory;

    fn operation() -> impl Strategy<Value = Operation> {
        let (at, shard) = (0..3_usize, 0..2_u16);
        prop_oneof![
            12 => commit(),
            3 => (at.clone(), place(), known()).prop_map(|(at, place, known)| Operation::Read { at, place, known }),
            4 => shard.clone().prop_map(|shard| Operation::Pulse { shard }),
            1 => shard.clone().prop_map(|shard| Operation::Age { shard }),
            1 => (at.clone(), 1..3_usize).prop_map(|(at, by)| Operation::LoseTail { at, by }),
            2 => (at.clone(), place()).prop_map(|(at, place)| Operation::Settle { at, place }),
            1 => (at.clone(), place()).prop_map(|(at, place)| Operation::Delete { at, place }),
            1 => (at.clone(), place(), proptest::option::of(0..200_u8))
                .prop_map(|(at, place, due)| Operation::Repair { at, place, due }),
            2 => (shard.clone(), 1..4_usize).prop_map(|(shard, limit)| Operation::Due { shard, limit }),
            1 => at.clone().prop_map(|at| Operation::Fail { at }),
            1 => at.prop_map(|at| Operation::Clear { at }),
            2 => (shard.clone(), 0..6_usize, 1..6_usize)
                .prop_map(|(shard, after, limit)| Operation::Outbox { shard, after, limit }),
            1 => (shard.clone(), 0..2_usize, 1..6_usize)
                .prop_map(|(shard, receiver, index)| Operation::SetPosition { shard, receiver, index }),
            1 => shard.clone().prop_map(|shard| Operation::Trim { shard }),
            1 => shard.prop_map(|shard| Operation::List { shard }),
        ]
    }

    fn request(model: &Model, operation: &Operation) -> Request {
        let (at, place, known) = match operation {
            Operation::Commit { at, place, known, .. } | Operation::Read { at, place, known } => {
                (*at, *place, *known)
            }
            Operation::Settle { at, place }
            | Operation::Delete { at, place }
            | Operation::Repair { at, place, .. } => (*at, *place, Known::All),
            _ => (0, Place::Start, Known::All),
        };
        Request {
            operation: operation.clone(),
            cursor: model.cursor(id(at), place),
            known: model.known(id(at), known),
        }
    }

    fn expect(model: &mut Model, request: &Request) -> String {
        let Request { cursor, known, .. } = *request;
        match request.operation.clone() {
            Operation::Commit {
                at,
                facts,
                now,
                judged,
                results: count,
                due,
                ..
            } => {
                let session = id(at);
                let own = payloads(&facts, cursor);
                let Some(after) = model.after(session, cursor) else {
                    return "diverged".to_owned();
                };
                if after.starts_with(&own) {
                    return "committed".to_owned();
                }
                if !after.is_empty() {
                    return format!("conflict {after:?}");
                }
                let shard = &mut model.shards[usize::from(session.shard())];
                if shard.outages != known {
                    return format!("outages {:?}", (known + 1..=shard.outages).collect::<Vec<_>>());
                }
                if shard.fresh != Some(true) {
                    return "pulse too old".to_owned();
                }
                if matches!(now, Now::Old | Now::Future) {
                    return "now refused".to_owned();
                }
                if matches!(judged, Judged::Passed) {
                    return "deadline passed".to_owned();
                }
                shard.outbox.extend(results(count, cursor));
                let log = model.logs.entry(session).or_default();
                log.facts.extend(own);
                log.deadline = deadline(due);
                "committed".to_owned()
            }
            Operation::Read { at, .. } => {
                let session = id(at);
                let outages = model.shards[usize::from(session.shard())].outages;
                let outages: Vec<u64> = (known + 1..=outages).collect();
                if !model.logs.contains_key(&session) {
                    return format!("missing {outages:?}");
                }
                match model.after(session, cursor) {
                    None => "diverged".to_owned(),
                    Some(after) => format!("found {after:?} {outages:?}"),
                }
            }
            Operation::Pulse { shard } => {
                let shard = &mut model.shards[usize::from(shard)];
                let was = shard.fresh.replace(true);
                if was == Some(false) {
                    shard.outages += 1;
                    return format!("outage {}", shard.outages);
                }
                "pulsed".to_owned()
            }
            Operation::Age { shard } => {
                let shard = &mut model.shards[usize::from(shard)];
                shard.fresh = shard.fresh.map(|_| false);
                "aged".to_owned()
            }
            Operation::LoseTail { at, by } => {
                if let Some(log) = model.logs.get_mut(&id(at)) {
                    log.facts.truncate(log.facts.len().saturating_sub(by).max(1));
                }
                "lost".to_owned()
            }
            Operation::Settle { at, .. } => {
                let session = id(at);
                let holds = model.after(session, cursor).is_some();
                match model.logs.get_mut(&session) {
                    None => "missing".to_owned(),
                    Some(_) if !holds => "diverged".to_owned(),
                    Some(log) => {
                        log.settled = Some(cursor);
                        "marked".to_owned()
                    }
                }
            }
            Operation::Delete { at, .. } => {
                let session = id(at);
                let failing = &mut model.shards[usize::from(session.shard())].failing;
                let Some(log) = model.logs.get(&session) else {
                    failing.remove(&session);
                    return "deleted".to_owned();
                };
                if cursor_after(&log.facts) != cursor {
                    return "diverged".to_owned();
                }
                if log
                    .settled
                    .is_none_or(|settled| model.after(session, settled).is_none())
                {
                    return "not settled".to_owned();
                }
                model.logs.remove(&session);
                model.shards[usize::from(session.shard())]
                    .failing
                    .remove(&session);
                "deleted".to_owned()
            }
            Operation::Repair { at, due, .. } => {
                let session = id(at);
                match model.logs.get_mut(&session) {
                    None => "missing".to_owned(),
                    Some(log) if cursor_after(&log.facts) != cursor => "diverged".to_owned(),
                    Some(log) => {
                        log.deadline = deadline(due);
                        "marked".to_owned()
                    }
                }
            }
            Operation::Due { shard, limit } => {
                let failing = &model.shards[usize::from(shard)].failing;
                let mut due: Vec<(Instant, SessionId)> = model
                    .logs
                    .iter()
                    .filter(|(session, log)| session.shard() == shard && log.deadline < Instant(1 << 40))
                    .filter(|(session, _)| !failing.contains_key(session))
                    .map(|(session, log)| (log.deadline, *session))
                    .collect();
                due.sort_unstable();
                due.truncate(limit);
                format!("{due:?}")
            }
            Operation::Fail { at } => {
                let session = id(at);
                let failures = model.shards[usize::from(session.shard())]
                    .failing
                    .entry(session)
                    .or_default();
                *failures += 5;
                format!("failed {failures}")
            }
            Operation::Clear { at } => {
                let failing = &mut model.shards[usize::from(id(at).shard())].failing;
                failing.remove(&id(at));
                format!("failing {}", failing.len())
            }
            Operation::Outbox { shard, after, limit } => {
                let shard = &model.shards[usize::from(shard)];
                let after = if after > shard.outbox.len() { 0 } else { after };
                let from = after.max(shard.trimmed);
                let entries: Vec<_> = shard.outbox[from..].iter().take(limit).collect();
                format!("{entries:?}")
            }
            Operation::SetPosition {
                shard,
                receiver,
                index,
            } => {
                let shard = &mut model.shards[usize::from(shard)];
                let index = if index > shard.outbox.len() { 0 } else { index };
                let position = shard.positions.entry(receiver).or_default();
                *position = index.max(*position);
                format!("at {position}")
            }
            Operation::Trim { shard } => {
                let shard = &mut model.shards[usize::from(shard)];
                let read = shard
                    .positions
                    .values()
                    .min()
                    .copied()
                    .unwrap_or(shard.outbox.len());
                let before = shard.trimmed;
                shard.trimmed = read.max(before);
                format!("trimmed {}", shard.trimmed - before)
            }
            Operation::List { shard } => {
                let of_shard: Vec<_> = model
                    .logs
                    .keys()
                    .filter(|session| session.shard() == shard)
                    .collect();
                format!("{of_shard:?}")
            }
        }
    }

    async fn answer(real: &Real, memory: &mut Memory, request: &Request) -> String {
        answer(real, memory, request).await
    }
}

async fn answer(real: &Real, memory: &mut Memory, request: &Request) -> String {
    let store = &real.stores.sessions;
    let Request { cursor, known, .. } = *request;
    match request.operation.clone() {
        Operation::Commit {
            at,
            facts,
            now,
            judged,
            results: count,
            due,
            ..
        } => {
            let session = id(at);
            let expected = cursor;
            let answer = loop {
                let clock = store.now(session.shard());
                let ago = |millis| Instant(clock.0 - millis);
                let at = match now {
                    Now::Current => ago(if matches!(judged, Judged::Passed) { 100 } else { 0 }),
                    Now::Old | Now::Last => ago(10_000),
                    Now::Future => clock.after(Millis(10_000)),
                };
                let commit = Commit {
                    session,
                    expected,
                    last_instant: if matches!(now, Now::Last) {
                        at
                    } else {
                        Instant::ZERO
                    },
                    now: at,
                    judged_before: match judged {
                        Judged::Never => None,
                        Judged::Passed => Some(ago(50)),
                        Judged::Ahead => Some(clock.after(Millis::hours(1))),
                    },
                    known_outage: known,
                    entries: chain(expected.tag, payloads(&facts, expected)),
                    next_deadline: deadline(due),
                    outbox: results(count, expected).into_iter().map(Bytes::from).collect(),
                };
                let answer = store.commit(&commit).await.unwrap();
                // A machine that paused between the clock and the store: what a caller does is to try again.
                if !matches!((&answer, now), (CommitAnswer::NowRefused { .. }, Now::Current)) {
                    break answer;
                }
            };
            memory.look(real, session.shard()).await;
            match answer {
                CommitAnswer::Committed { .. } => "committed".to_owned(),
                CommitAnswer::Conflict { entries } => {
                    let after: Vec<Vec<u8>> = entries.iter().map(|entry| entry.payload().to_vec()).collect();
                    format!("conflict {after:?}")
                }
                CommitAnswer::Diverged => "diverged".to_owned(),
                CommitAnswer::OutageChanged { outages } => format!("outages {:?}", ids(&outages)),
                CommitAnswer::PulseTooOld => "pulse too old".to_owned(),
                CommitAnswer::NowRefused { .. } => "now refused".to_owned(),
                CommitAnswer::DeadlinePassed { .. } => "deadline passed".to_owned(),
            }
        }
        Operation::Read { at, .. } => match store.read(id(at), cursor, known).await.unwrap() {
            Read::Diverged => "diverged".to_owned(),
            Read::Missing { outages, .. } => format!("missing {:?}", ids(&outages)),
            Read::Found(tail) => {
                let after: Vec<Vec<u8>> = tail
                    .entries
                    .iter()
                    .map(|entry| entry.payload().to_vec())
                    .collect();
                assert!(tail.outages.windows(2).all(|pair| pair[0].to <= pair[1].from));
                format!("found {after:?} {:?}", ids(&tail.outages))
            }
        },
        Operation::Pulse { shard } => {
            let pulses = store.pulse(&[shard]).await.unwrap();
            pulses[0]
                .outage
                .map_or("pulsed".to_owned(), |outage| format!("outage {}", outage.id))
        }
        Operation::Age { shard } => {
            real.hands.age_pulse(shard, LONG).await;
            tick().await;
            "aged".to_owned()
        }
        Operation::LoseTail { at, by } => {
            // Sent twice it loses more: the model's log is not yet shorter, so count from the store's own.
            let kept = match store.read(id(at), Cursor::START, 0).await.unwrap() {
                Read::Found(tail) => tail.entries.len().saturating_sub(by).max(1),
                _ => 1,
            };
            real.hands.lose_tail(id(at), kept).await;
            "lost".to_owned()
        }
        Operation::Settle { at, .. } => mark(store.mark_settled(id(at), cursor).await.unwrap()),
        Operation::Delete { at, .. } => match store.delete(id(at), cursor).await.unwrap() {
            DeleteAnswer::Deleted => "deleted".to_owned(),
            DeleteAnswer::NotSettled => "not settled".to_owned(),
            DeleteAnswer::Diverged => "diverged".to_owned(),
        },
        Operation::Repair { at, due, .. } => {
            mark(store.repair_index(id(at), cursor, deadline(due)).await.unwrap())
        }
        Operation::Due { shard, limit } => {
            let due = store.due(shard, limit).await.unwrap().sessions;
            assert!(due.iter().all(|due| due.failures == 0));
            format!(
                "{:?}",
                due.iter()
                    .map(|due| (due.deadline, due.session))
                    .collect::<Vec<_>>()
            )
        }
        Operation::Fail { at } => {
            // Five times: then the next try is later than this test takes.
            let mut failures = 0;
            for _ in 0..5 {
                failures = store.mark_failing(id(at)).await.unwrap();
            }
            format!("failed {failures}")
        }
        Operation::Clear { at } => {
            store.clear_failing(id(at)).await.unwrap();
            format!("failing {}", store.failing(id(at).shard()).await.unwrap())
        }
        Operation::Outbox { shard, after, limit } => {
            let after = memory.place(shard, after);
            let entries = store.outbox_read(shard, after, limit).await.unwrap();
            format!(
                "{:?}",
                entries
                    .iter()
                    .map(|entry| entry.payload.to_vec())
                    .collect::<Vec<_>>()
            )
        }
        Operation::SetPosition {
            shard,
            receiver,
            index,
        } => {
            let receiver = RECEIVERS[receiver];
            store
                .set_outbox_position(shard, receiver, memory.place(shard, index))
                .await
                .unwrap();
            let cursor = store.outbox_position(shard, receiver).await.unwrap();
            let places = &memory.outboxes[usize::from(shard)];
            format!(
                "at {}",
                places
                    .iter()
                    .position(|place| *place == cursor)
                    .map_or(0, |index| index + 1)
            )
        }
        Operation::Trim { shard } => {
            tick().await;
            format!(
                "trimmed {}",
                store.outbox_trim(shard, Millis::ZERO).await.unwrap()
            )
        }
        Operation::List { shard } => {
            let mut sessions = store.list(shard, None, 100).await.unwrap().sessions;
            sessions.sort_unstable();
            format!("{sessions:?}")
        }
    }
}

fn mark(answer: MarkAnswer) -> String {
    match answer {
        MarkAnswer::Marked => "marked",
        MarkAnswer::Diverged => "diverged",
        MarkAnswer::Missing => "missing",
    }
    .to_owned()
}
