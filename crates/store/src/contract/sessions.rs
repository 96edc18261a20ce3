//! Sessions.

use bytes::Bytes;
use tablemate_session::{Instant, Millis};

use super::{SHARDS, Subject, Writer, heard, log, outages, pass, session};
use crate::session_store::{DeleteAnswer, Live, MarkAnswer, OutboxCursor, PageToken};
use crate::{Commit, CommitAnswer, Cursor, Read, SessionStore, StoreError, Stores, Tag, chain};

/// Longer than the outage threshold of the stores under test.
const LONG: Millis = Millis::seconds(100);

pub async fn a_session_is_created_once(subject: &Subject) {
    let id = session(1, 1);
    let mut one = Writer::new(&subject.stores, id);
    assert!(matches!(one.read().await, Read::Missing { .. }));
    assert!(matches!(
        one.write(&["created"]).await,
        CommitAnswer::Committed { .. }
    ));
    let mut other = Writer::new(&subject.other, id);
    match other.write(&["created otherwise"]).await {
        CommitAnswer::Conflict { entries } => assert_eq!(entries, chain(Tag::START, ["created"])),
        other => panic!("{other:?}"),
    }
    assert_eq!(log(&subject.other, id).await, ["created"]);
}

pub async fn a_log_grows_only_where_it_ends(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    one.write(&["b", "c"]).await;
    assert_eq!(one.cursor.sequence, 3);
    // Beyond the end, at the end with another tag, in the middle with another tag.
    let made_up = |sequence| Cursor {
        sequence,
        tag: Tag([9; 4]),
    };
    for cursor in [
        Cursor {
            sequence: 4,
            ..one.cursor
        },
        made_up(3),
        made_up(2),
    ] {
        let liar = Writer {
            cursor,
            ..Writer::new(&subject.stores, one.session)
        };
        assert_eq!(
            liar.send(&liar.commit(&["x"])).await,
            CommitAnswer::Diverged,
            "{cursor:?}"
        );
    }
    assert_eq!(log(&subject.stores, one.session).await, ["a", "b", "c"]);
}

pub async fn a_conflict_hands_over_what_was_missed(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    let mut late = Writer {
        cursor: one.cursor,
        ..Writer::new(&subject.other, one.session)
    };
    one.write(&["b"]).await;
    one.write(&["c"]).await;
    let CommitAnswer::Conflict { entries } = late.write(&["x"]).await else {
        panic!("a conflict")
    };
    assert_eq!(entries, chain(late.cursor.tag, ["b", "c"]));
    // What it was handed is all it needs.
    late.cursor = late.cursor.after(&entries);
    assert!(matches!(late.write(&["x"]).await, CommitAnswer::Committed { .. }));
    assert_eq!(log(&subject.stores, one.session).await, ["a", "b", "c", "x"]);
}

/// S-25, and "an answer means committed": a network or a library that sends twice does not write twice.
pub async fn a_repeated_commit_is_its_own_answer(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    let mut commit = one.commit(&["b", "c"]);
    commit.outbox = vec![Bytes::from_static(b"result")];
    assert!(matches!(one.send(&commit).await, CommitAnswer::Committed { .. }));
    assert!(matches!(one.send(&commit).await, CommitAnswer::Committed { .. }));
    // Whatever came after, whatever the time, whatever outages.
    let mut next = Writer {
        cursor: commit.after(),
        ..Writer::new(&subject.stores, one.session)
    };
    next.write(&["d"]).await;
    subject.hands.age_pulse(0, LONG).await;
    commit.now = Instant(0);
    commit.last_instant = Instant(0);
    commit.judged_before = Some(Instant(1));
    assert!(matches!(one.send(&commit).await, CommitAnswer::Committed { .. }));
    assert_eq!(log(&subject.stores, one.session).await, ["a", "b", "c", "d"]);
    let results = subject
        .stores
        .sessions
        .outbox_read(0, OutboxCursor::START, 10)
        .await
        .unwrap();
    assert_eq!(results.len(), 1);
    // The same facts under another order are not the same commit.
    let cursor = Cursor::START.after(&chain(Tag::START, ["a"]));
    let other = Writer {
        cursor,
        ..Writer::new(&subject.stores, one.session)
    };
    assert!(matches!(
        other.send(&other.commit(&["c", "b"])).await,
        CommitAnswer::Conflict { .. }
    ));
    // Nor is a beginning of it with something more.
    let longer = other.commit(&["b", "c", "d", "e"]);
    assert!(matches!(other.send(&longer).await, CommitAnswer::Conflict { .. }));
}

/// A fail-over lost a tail and another history grew to the same length: length and last fact are equal, tags are not.
pub async fn equal_length_after_a_lost_tail_is_divergence(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(2, 1));
    one.write(&["a"]).await;
    let before = one.cursor;
    one.write(&["b", "same"]).await;
    let stale = one.cursor;
    subject.hands.lose_tail(one.session, 1).await;
    let mut other = Writer {
        cursor: before,
        ..Writer::new(&subject.other, one.session)
    };
    assert!(matches!(
        other.write(&["x", "same"]).await,
        CommitAnswer::Committed { .. }
    ));

    assert_eq!(one.read().await, Read::Diverged);
    assert_eq!(one.write(&["c"]).await, CommitAnswer::Diverged);
    assert_eq!(
        subject
            .stores
            .sessions
            .mark_settled(one.session, stale)
            .await
            .unwrap(),
        MarkAnswer::Diverged
    );
    assert_eq!(log(&subject.stores, one.session).await, ["a", "x", "same"]);
}

pub async fn a_reader_gets_what_it_missed(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(3, 1));
    one.write(&["a", "b"]).await;
    let known = one.cursor;
    let reader = Writer {
        cursor: known,
        ..Writer::new(&subject.other, one.session)
    };
    let Read::Found(tail) = reader.read().await else {
        panic!("found")
    };
    assert!(tail.entries.is_empty(), "a current copy gets nothing");
    one.write(&["c", "d"]).await;
    let Read::Found(tail) = reader.read().await else {
        panic!("found")
    };
    assert_eq!(tail.entries, chain(known.tag, ["c", "d"]));
    assert!(tail.now >= one.last_instant);
    let wrong = Cursor {
        sequence: 2,
        tag: Tag([7; 4]),
    };
    let lost = |cursor| subject.stores.sessions.read(one.session, cursor, 0);
    assert_eq!(lost(wrong).await.unwrap(), Read::Diverged);
    assert_eq!(
        lost(Cursor {
            sequence: 9,
            ..one.cursor
        })
        .await
        .unwrap(),
        Read::Diverged
    );
}

/// S-12.
pub async fn an_unknown_outage_is_told_first(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    subject.hands.age_pulse(0, LONG).await;
    let pulses = subject.other.sessions.pulse(&[0]).await.unwrap();
    let outage = pulses[0].outage.expect("an outage");
    assert_eq!((outage.id, outage.to), (1, pulses[0].now));
    assert!(outage.to.since(outage.from) >= LONG);

    let CommitAnswer::OutageChanged { outages } = one.send(&one.commit(&["b"])).await else {
        panic!("an outage")
    };
    assert_eq!(outages, [outage]);
    let Read::Found(tail) = one.read().await else {
        panic!("found")
    };
    assert_eq!(tail.outages, [outage]);
    one.known_outage = 1;
    assert!(matches!(one.write(&["b"]).await, CommitAnswer::Committed { .. }));
    let Read::Found(tail) = one.read().await else {
        panic!("found")
    };
    assert_eq!(tail.outages, []);
    // Another shard had none.
    assert_eq!(super::outages(&subject.stores, 1).await, []);
    // Who knows of more than there are (the store lost its tail) is told so.
    one.known_outage = 2;
    let answer = one.send(&one.commit(&["c"])).await;
    assert_eq!(answer, CommitAnswer::OutageChanged { outages: vec![] });
}

/// S-12: with no pulse yet, the first one only sets it.
pub async fn an_old_pulse_stops_commits(subject: &Subject) {
    let one = Writer::new(&subject.stores, session(0, 1));
    assert_eq!(one.send(&one.commit(&["a"])).await, CommitAnswer::PulseTooOld);
    let pulses = subject.stores.sessions.pulse(&[0, 1]).await.unwrap();
    assert_eq!(
        pulses
            .iter()
            .map(|pulse| (pulse.shard, pulse.outage))
            .collect::<Vec<_>>(),
        [(0, None), (1, None)]
    );
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    subject.hands.age_pulse(0, LONG).await;
    assert_eq!(one.send(&one.commit(&["b"])).await, CommitAnswer::PulseTooOld);
    assert!(matches!(one.write(&["b"]).await, CommitAnswer::Committed { .. }));
    assert_eq!(one.known_outage, 1);
    // A commit is a sign of life: this pulse finds nothing.
    assert_eq!(subject.stores.sessions.pulse(&[0]).await.unwrap()[0].outage, None);
}

/// S-12: from = max(last pulse, last outage's end).
pub async fn outages_do_not_overlap(subject: &Subject) {
    subject.stores.sessions.pulse(&[0]).await.unwrap();
    for _ in 0..3 {
        subject.hands.age_pulse(0, LONG).await;
        pass(Millis(3)).await;
        subject.stores.sessions.pulse(&[0]).await.unwrap();
    }
    let outages = outages(&subject.other, 0).await;
    assert_eq!(
        outages.iter().map(|outage| outage.id).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(outages.iter().all(|outage| outage.from < outage.to));
    assert!(
        outages.windows(2).all(|pair| pair[0].to <= pair[1].from),
        "{outages:?}"
    );
}

/// S-7: a caller's now is the store's now, give or take.
pub async fn a_now_out_of_the_window_is_refused(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    for wrong in [-300_i64, -60_000, 2_000, 60_000] {
        let mut commit = one.commit(&["b"]);
        commit.last_instant = Instant::ZERO;
        commit.now = Instant(commit.now.0.saturating_add_signed(wrong));
        let CommitAnswer::NowRefused { now } = one.send(&commit).await else {
            panic!("{wrong} is refused")
        };
        let off = i128::from(commit.now.0) - i128::from(now.0);
        assert!(!(-250..=0).contains(&off), "{off}");
        // Refusals teach the estimate: it is not ahead.
        assert!(one.store.now(0) <= now.after(Millis::seconds(1)));
    }
    assert_eq!(log(&subject.stores, one.session).await, ["a"]);
    // A clock that was set back does not stop a game: its last instant is always accepted.
    for last in [-60_000_i64, 60_000] {
        let mut commit = one.commit(&["b"]);
        commit.now = Instant(commit.now.0.saturating_add_signed(last));
        commit.last_instant = commit.now;
        assert!(
            matches!(one.send(&commit).await, CommitAnswer::Committed { .. }),
            "{last}"
        );
        one.cursor = commit.after();
    }
}

/// S-11: nobody can act before a deadline that has passed, fired or not.
pub async fn nobody_acts_after_a_passed_deadline(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    pass(Millis(60)).await;
    let mut commit = one.commit(&["moved"]);
    let clock = commit.now;
    commit.last_instant = Instant::ZERO;
    commit.now = Instant(clock.0 - 50);
    commit.judged_before = Some(Instant(clock.0 - 50));
    let CommitAnswer::DeadlinePassed { now } = one.send(&commit).await else {
        panic!("passed")
    };
    assert!(now > Instant(clock.0 - 50));
    assert_eq!(log(&subject.stores, one.session).await, ["a"]);
    // S-10: a deadline has passed when now is after it. Whoever judged after it may commit.
    commit.judged_before = Some(Instant(clock.0 - 51));
    assert!(matches!(one.send(&commit).await, CommitAnswer::Committed { .. }));
    one.cursor = commit.after();
    let mut commit = one.commit(&["in time"]);
    commit.judged_before = Some(commit.now.after(Millis::seconds(20)));
    assert!(matches!(one.send(&commit).await, CommitAnswer::Committed { .. }));
}

pub async fn the_checks_come_in_their_order(subject: &Subject) {
    let store = &subject.stores.sessions;
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    let stale = one.cursor;
    one.write(&["b"]).await;
    subject.hands.age_pulse(0, LONG).await;
    pass(Millis(3)).await;
    store.pulse(&[0]).await.unwrap();
    subject.hands.age_pulse(0, LONG).await;

    // Everything is wrong: each answer hides those after it.
    let clock = store.now(0);
    let mut commit = Commit {
        expected: Cursor {
            tag: Tag([9; 4]),
            ..stale
        },
        entries: chain(Tag([9; 4]), ["x"]),
        now: Instant(clock.0 - 60_000),
        last_instant: Instant::ZERO,
        judged_before: Some(Instant(clock.0 - 50_000)),
        known_outage: 0,
        ..one.commit(&["x"])
    };
    assert_eq!(one.send(&commit).await, CommitAnswer::Diverged);
    (commit.expected, commit.entries) = (stale, chain(stale.tag, ["x"]));
    assert!(matches!(one.send(&commit).await, CommitAnswer::Conflict { .. }));
    (commit.expected, commit.entries) = (one.cursor, chain(one.cursor.tag, ["x"]));
    assert!(matches!(
        one.send(&commit).await,
        CommitAnswer::OutageChanged { .. }
    ));
    commit.known_outage = 1;
    assert_eq!(one.send(&commit).await, CommitAnswer::PulseTooOld);
    pass(Millis(3)).await;
    commit.known_outage = store.pulse(&[0]).await.unwrap()[0]
        .outage
        .expect("a second outage")
        .id;
    assert!(matches!(one.send(&commit).await, CommitAnswer::NowRefused { .. }));
    commit.last_instant = commit.now;
    assert!(matches!(
        one.send(&commit).await,
        CommitAnswer::DeadlinePassed { .. }
    ));
    commit.judged_before = None;
    assert!(matches!(one.send(&commit).await, CommitAnswer::Committed { .. }));
    assert_eq!(log(&subject.stores, one.session).await, ["a", "b", "x"]);
}

pub async fn broken_commits_are_refused(subject: &Subject) {
    let one = Writer::new(&subject.stores, session(0, 1));
    let good = one.commit(&["a"]);
    let broken = [
        Commit {
            entries: vec![],
            ..good.clone()
        },
        Commit {
            entries: chain(Tag([1; 4]), ["a"]),
            ..good.clone()
        },
        Commit {
            expected: Cursor {
                sequence: 0,
                tag: Tag([1; 4]),
            },
            entries: chain(Tag([1; 4]), ["a"]),
            ..good.clone()
        },
        Commit {
            last_instant: good.now.after(Millis(1)),
            ..good.clone()
        },
    ];
    for commit in broken {
        assert!(
            matches!(
                one.store.commit(&commit).await,
                Err(StoreError::BadArgument { .. })
            ),
            "{commit:?}"
        );
    }
}

pub async fn shards_that_do_not_exist_are_named(subject: &Subject) {
    let store = &subject.stores.sessions;
    let nowhere = session(SHARDS, 1);
    let error = StoreError::NoSuchShard {
        shard: SHARDS,
        shards: SHARDS,
    };
    assert_eq!(store.read(nowhere, Cursor::START, 0).await, Err(error.clone()));
    let writer = Writer::new(&subject.stores, nowhere);
    assert_eq!(store.commit(&writer.commit(&["a"])).await, Err(error.clone()));
    assert_eq!(store.due(SHARDS, 1).await, Err(error.clone()));
    assert_eq!(store.pulse(&[SHARDS]).await, Err(error));
}

pub async fn due_sessions_come_in_order(subject: &Subject) {
    let store = &subject.stores.sessions;
    let clock = store.now(0);
    assert_eq!(store.next_due(0).await.unwrap(), None);
    for (number, offset) in [(1, -1_000_i64), (2, -3_000), (3, -2_000), (4, 60_000)] {
        let mut one = Writer::new(&subject.stores, session(0, number));
        one.next_deadline = Instant(clock.0.saturating_add_signed(offset));
        one.write(&["a"]).await;
    }
    Writer::new(&subject.stores, session(1, 5))
        .write(&["elsewhere"])
        .await;
    let due = subject.other.sessions.due(0, 10).await.unwrap();
    assert!(due.now >= clock);
    let numbers =
        |due: &crate::session_store::Due| due.sessions.iter().map(|due| due.session).collect::<Vec<_>>();
    assert_eq!(numbers(&due), [session(0, 2), session(0, 3), session(0, 1)]);
    assert_eq!(due.sessions[0].deadline, Instant(clock.0 - 3_000));
    assert_eq!(
        numbers(&store.due(0, 2).await.unwrap()),
        [session(0, 2), session(0, 3)]
    );
    assert_eq!(store.next_due(0).await.unwrap(), Some(Instant(clock.0 - 3_000)));
    // A commit moves its session on.
    let cursor = Cursor::START.after(&chain(Tag::START, ["a"]));
    let mut two = Writer {
        cursor,
        ..Writer::new(&subject.stores, session(0, 2))
    };
    two.next_deadline = Instant(clock.0 + 60_000);
    two.write(&["fired"]).await;
    assert_eq!(
        numbers(&store.due(0, 10).await.unwrap()),
        [session(0, 3), session(0, 1)]
    );
    // A refused one does not.
    let mut three = Writer::new(&subject.stores, session(0, 3));
    three.next_deadline = Instant(clock.0 + 60_000);
    three.write(&["not so"]).await;
    assert_eq!(
        numbers(&store.due(0, 10).await.unwrap()),
        [session(0, 3), session(0, 1)]
    );
}

pub async fn a_failing_session_backs_off(subject: &Subject) {
    let store = &subject.stores.sessions;
    for number in 1..=3 {
        let mut one = Writer::new(&subject.stores, session(0, number));
        one.next_deadline = Instant(u64::from(number));
        one.write(&["a"]).await;
    }
    assert_eq!(store.mark_failing(session(0, 1)).await.unwrap(), 1);
    let due = subject.other.sessions.due(0, 2).await.unwrap();
    let found: Vec<_> = due.sessions.iter().map(|due| due.session).collect();
    assert_eq!(
        found,
        [session(0, 2), session(0, 3)],
        "what fails does not keep others from their turn"
    );
    assert_eq!(store.failing(0).await.unwrap(), 1);
    pass(Millis(1_100)).await;
    let due = store.due(0, 10).await.unwrap();
    assert_eq!(
        (due.sessions[0].session, due.sessions[0].failures),
        (session(0, 1), 1)
    );
    assert_eq!(store.mark_failing(session(0, 1)).await.unwrap(), 2);
    assert_eq!(store.due(0, 10).await.unwrap().sessions.len(), 2);
    store.clear_failing(session(0, 1)).await.unwrap();
    assert_eq!(store.due(0, 10).await.unwrap().sessions.len(), 3);
    assert_eq!(store.failing(0).await.unwrap(), 0);
}

async fn listed(stores: &Stores, shard: u16, limit: usize) -> Vec<tablemate_session::SessionId> {
    let (mut sessions, mut page) = (Vec::new(), None);
    loop {
        let found = stores.sessions.list(shard, page, limit).await.unwrap();
        sessions.extend(found.sessions);
        page = found.next;
        if page.is_none() {
            sessions.sort_unstable();
            sessions.dedup();
            return sessions;
        }
    }
}

pub async fn sessions_are_listed(subject: &Subject) {
    let mut expected = Vec::new();
    for number in 0..200 {
        let mut one = Writer::new(&subject.stores, session(2, number));
        one.write(&["a"]).await;
        expected.push(one.session);
    }
    assert_eq!(listed(&subject.other, 2, 7).await, expected);
    assert_eq!(listed(&subject.other, 3, 7).await, []);
    let nonsense = Some(PageToken(vec![1, 2, 3]));
    assert!(matches!(
        subject.stores.sessions.list(2, nonsense, 7).await,
        Err(StoreError::BadArgument { .. })
    ));
}

pub async fn a_settled_session_is_deleted(subject: &Subject) {
    let store = &subject.stores.sessions;
    let mut one = Writer::new(&subject.stores, session(0, 1));
    assert_eq!(
        store.mark_settled(one.session, Cursor::START).await.unwrap(),
        MarkAnswer::Missing
    );
    one.write(&["a", "ended"]).await;
    let end = one.cursor;
    assert_eq!(
        subject
            .other
            .sessions
            .mark_settled(one.session, end)
            .await
            .unwrap(),
        MarkAnswer::Marked
    );
    assert_eq!(
        store.mark_settled(one.session, end).await.unwrap(),
        MarkAnswer::Marked
    );
    // Something more was said after the ending: settled as before, but the caller must know it.
    one.write(&["rematch offered"]).await;
    assert_eq!(
        store.delete(one.session, end).await.unwrap(),
        DeleteAnswer::Diverged
    );
    assert_eq!(
        store.delete(one.session, one.cursor).await.unwrap(),
        DeleteAnswer::Deleted
    );
    assert_eq!(
        store.delete(one.session, one.cursor).await.unwrap(),
        DeleteAnswer::Deleted
    );
    assert!(matches!(one.read().await, Read::Missing { .. }));
    assert_eq!(one.send(&one.commit(&["too late"])).await, CommitAnswer::Diverged);
    assert_eq!(listed(&subject.stores, 0, 10).await, []);
    assert_eq!(store.due(0, 10).await.unwrap().sessions, []);
    // After its retention a repeated creation is a new session, and not settled.
    let mut again = Writer::new(&subject.stores, one.session);
    again.write(&["a", "ended"]).await;
    assert_eq!(
        store.delete(again.session, again.cursor).await.unwrap(),
        DeleteAnswer::NotSettled
    );
}

pub async fn an_unsettled_session_stays(subject: &Subject) {
    let store = &subject.stores.sessions;
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    let before = one.cursor;
    one.write(&["ended"]).await;
    assert_eq!(
        store.delete(one.session, one.cursor).await.unwrap(),
        DeleteAnswer::NotSettled
    );
    assert_eq!(
        store.mark_settled(one.session, one.cursor).await.unwrap(),
        MarkAnswer::Marked
    );
    // The tail that was settled is lost, and the session ended otherwise.
    subject.hands.lose_tail(one.session, 1).await;
    let mut other = Writer {
        cursor: before,
        ..Writer::new(&subject.stores, one.session)
    };
    other.write(&["ended otherwise"]).await;
    assert_eq!(
        store.delete(one.session, other.cursor).await.unwrap(),
        DeleteAnswer::NotSettled
    );
    assert_eq!(log(&subject.stores, one.session).await, ["a", "ended otherwise"]);
}

pub async fn the_index_is_repaired(subject: &Subject) {
    let store = &subject.stores.sessions;
    let mut one = Writer::new(&subject.stores, session(0, 1));
    assert_eq!(
        store
            .repair_index(one.session, one.cursor, Instant(5))
            .await
            .unwrap(),
        MarkAnswer::Missing
    );
    one.write(&["a"]).await;
    let stale = one.cursor;
    one.write(&["b"]).await;
    assert_eq!(
        store.repair_index(one.session, stale, Instant(5)).await.unwrap(),
        MarkAnswer::Diverged
    );
    assert_eq!(store.due(0, 10).await.unwrap().sessions, []);
    assert_eq!(
        store
            .repair_index(one.session, one.cursor, Instant(5))
            .await
            .unwrap(),
        MarkAnswer::Marked
    );
    assert_eq!(store.next_due(0).await.unwrap(), Some(Instant(5)));
    let mut page = None;
    loop {
        let found = store.orphans(page, 10).await.unwrap();
        assert_eq!(found.sessions, []);
        page = found.next;
        if page.is_none() {
            break;
        }
    }
}

/// S-21: in order, from any place, at least once.
pub async fn an_outbox_is_read_in_order(subject: &Subject) {
    let store = &subject.stores.sessions;
    assert_eq!(store.outbox_read(0, OutboxCursor::START, 10).await.unwrap(), []);
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write_with(&["a"], &["r1", "r2"]).await;
    one.write(&["b"]).await;
    one.write_with(&["c"], &["r3"]).await;
    Writer::new(&subject.stores, session(1, 1))
        .write_with(&["a"], &["elsewhere"])
        .await;
    let all = subject
        .other
        .sessions
        .outbox_read(0, OutboxCursor::START, 10)
        .await
        .unwrap();
    let payloads: Vec<_> = all.iter().map(|entry| entry.payload.clone()).collect();
    assert_eq!(payloads, ["r1", "r2", "r3"]);
    assert!(all.is_sorted_by(|one, next| one.cursor < next.cursor));
    assert_eq!(
        store.outbox_read(0, OutboxCursor::START, 2).await.unwrap(),
        all[..2]
    );
    assert_eq!(store.outbox_read(0, all[0].cursor, 10).await.unwrap(), all[1..]);
    assert_eq!(store.outbox_read(0, all[2].cursor, 10).await.unwrap(), []);
    // A refused commit leaves no result.
    let stale = Writer::new(&subject.stores, one.session);
    let mut commit = stale.commit(&["x"]);
    commit.outbox = vec![Bytes::from_static(b"never")];
    assert!(matches!(stale.send(&commit).await, CommitAnswer::Conflict { .. }));
    assert_eq!(store.outbox_read(0, OutboxCursor::START, 10).await.unwrap(), all);
}

pub async fn an_outbox_is_trimmed_behind_its_readers(subject: &Subject) {
    let store = &subject.stores.sessions;
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write_with(&["a"], &["r1", "r2", "r3"]).await;
    let all = store.outbox_read(0, OutboxCursor::START, 10).await.unwrap();
    assert_eq!(
        store.outbox_position(0, "settlement").await.unwrap(),
        OutboxCursor::START
    );
    store
        .set_outbox_position(0, "settlement", all[1].cursor)
        .await
        .unwrap();
    store
        .set_outbox_position(0, "settlement", all[0].cursor)
        .await
        .unwrap();
    assert_eq!(
        subject
            .other
            .sessions
            .outbox_position(0, "settlement")
            .await
            .unwrap(),
        all[1].cursor
    );
    pass(Millis(20)).await;
    assert_eq!(
        store.outbox_trim(0, Millis::hours(1)).await.unwrap(),
        0,
        "not old enough"
    );
    store
        .set_outbox_position(0, "claims", all[0].cursor)
        .await
        .unwrap();
    assert_eq!(
        store.outbox_trim(0, Millis(5)).await.unwrap(),
        1,
        "claims has still to read"
    );
    store
        .set_outbox_position(0, "claims", all[2].cursor)
        .await
        .unwrap();
    assert_eq!(
        store.outbox_trim(0, Millis(5)).await.unwrap(),
        1,
        "settlement has still to read"
    );
    store
        .set_outbox_position(0, "settlement", all[2].cursor)
        .await
        .unwrap();
    assert_eq!(store.outbox_trim(0, Millis(5)).await.unwrap(), 1);
    assert_eq!(store.outbox_read(0, OutboxCursor::START, 10).await.unwrap(), []);
}

/// S-22.
pub async fn watchers_hear_commits_in_order(subject: &Subject) {
    let mut one = Writer::new(&subject.stores, session(0, 1));
    one.write(&["a"]).await;
    let mut watch = subject.other.sessions.subscribe(one.session).await.unwrap();
    let mut second = subject.other.sessions.subscribe(one.session).await.unwrap();
    let before = one.cursor;
    one.write(&["b", "c"]).await;
    let after = one.cursor;
    one.write(&["d"]).await;
    Writer::new(&subject.stores, session(0, 2))
        .write(&["elsewhere"])
        .await;
    let refused = Writer::new(&subject.stores, one.session);
    refused.send(&refused.commit(&["x"])).await;
    one.write(&["e"]).await;
    let first = Live::Entries {
        before,
        entries: chain(before.tag, ["b", "c"]),
    };
    assert_eq!(heard(&mut watch).await, first);
    assert_eq!(heard(&mut second).await, first);
    drop(second);
    assert_eq!(
        heard(&mut watch).await,
        Live::Entries {
            before: after,
            entries: chain(after.tag, ["d"])
        }
    );
    let Live::Entries { entries, .. } = heard(&mut watch).await else {
        panic!("entries")
    };
    assert_eq!(entries[0].payload(), "e");
    // One who comes when others have gone hears as well.
    drop(watch);
    let mut third = subject.other.sessions.subscribe(one.session).await.unwrap();
    one.write(&["f"]).await;
    // That the last one has gone may be noticed late, and then shows as a gap.
    loop {
        match heard(&mut third).await {
            Live::Gap => one.write(&["f"]).await,
            Live::Entries { entries, .. } => break assert_eq!(entries[0].payload(), "f"),
            other => panic!("{other:?}"),
        };
    }
}

pub async fn watchers_of_the_outbox_wake_up(subject: &Subject) {
    let mut wake = subject.other.sessions.subscribe_outbox(&[0, 1]).await.unwrap();
    let mut one = Writer::new(&subject.stores, session(1, 1));
    one.write(&["a"]).await;
    one.write_with(&["b"], &["result"]).await;
    assert_eq!(heard(&mut wake).await, Some(1));
}

/// S-17.
pub async fn presence_is_a_lease(subject: &Subject) {
    let (store, id) = (&subject.stores.sessions, session(0, 1));
    assert_eq!(store.present(id).await.unwrap(), [false, false]);
    let mut watch = subject.other.sessions.subscribe(id).await.unwrap();
    assert!(!store.set_present(id, 2, Millis(400)).await.unwrap());
    assert!(
        subject
            .other
            .sessions
            .set_present(id, 2, Millis(400))
            .await
            .unwrap()
    );
    assert_eq!(store.present(id).await.unwrap(), [false, true]);
    assert_eq!(
        heard(&mut watch).await,
        Live::Presence {
            seat: 2,
            present: true
        }
    );
    pass(Millis(450)).await;
    assert_eq!(store.present(id).await.unwrap(), [false, false]);
    assert!(!store.set_present(id, 2, Millis(400)).await.unwrap());
}

/// Of many replicas that act at once on the same state, one wins, and all agree on the log.
pub async fn concurrent_commits_have_one_winner(subject: &Subject) {
    let id = session(0, 1);
    Writer::new(&subject.stores, id).write(&["created"]).await;
    let mut tasks = Vec::new();
    for number in 0..16_u32 {
        let stores = if number % 2 == 0 {
            subject.stores.clone()
        } else {
            subject.other.clone()
        };
        tasks.push(tokio::spawn(async move {
            let mut writer = Writer::new(&stores, id);
            let fact = format!("fact {number}");
            let mut conflicts = 0;
            loop {
                match writer.write(&[&fact]).await {
                    CommitAnswer::Committed { .. } => return conflicts,
                    CommitAnswer::Conflict { entries } => {
                        writer.cursor = writer.cursor.after(&entries);
                        conflicts += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }));
    }
    let mut conflicts = 0;
    for task in tasks {
        conflicts += task.await.unwrap();
    }
    let mut facts = log(&subject.stores, id).await;
    assert_eq!(facts.len(), 17);
    assert!(conflicts >= 16, "each begins before the first fact");
    facts.sort_unstable();
    facts.dedup();
    assert_eq!(facts.len(), 17, "each exactly once");
    assert!(SessionStore::deployment(&*subject.stores.sessions).shards == SHARDS);
}
