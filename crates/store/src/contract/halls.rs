//! Halls.

use bytes::Bytes;
use tablemate_session::{Instant, Millis, PlayerId, TicketId};

use super::{Subject, heard, pass, player, session, ticket};
use crate::StoreError;
use crate::hall_store::{
    CancelAnswer, CreateTicketAnswer, HallId, Holder, Kind, MatchId, MatchRecord, MatchState, NewMatch,
    NewTicket, PairAnswer, PoolId, TakeAnswer, Ticket, TicketState,
};

const KIND: Kind = Kind(1);

fn hall() -> HallId {
    HallId::default()
}

fn pool() -> PoolId {
    PoolId::of(KIND, b"blitz")
}

/// The `number`-th ticket, of the player of that name.
fn new(number: u8, name: &str) -> NewTicket {
    NewTicket {
        id: ticket(number),
        player: player(name),
        kind: KIND,
        pool: pool(),
        lifetime: Millis::minutes(5),
        waiting_since: None,
        session: session(1, number),
        payload: Bytes::from(format!("ticket {number}")),
    }
}

async fn create(subject: &Subject, new: &NewTicket) -> (Ticket, Option<MatchRecord>, Option<TicketId>) {
    match subject.stores.halls.create_ticket(&hall(), new).await.unwrap() {
        CreateTicketAnswer::Created {
            ticket,
            paired,
            replaced,
        } => (ticket, paired, replaced),
        other => panic!("{other:?}"),
    }
}

async fn state(subject: &Subject, number: u8) -> Option<TicketState> {
    subject
        .other
        .halls
        .ticket(&hall(), ticket(number))
        .await
        .unwrap()
        .map(|ticket| ticket.state)
}

async fn holder(subject: &Subject, name: &str) -> Option<Holder> {
    subject
        .other
        .halls
        .holder(&hall(), KIND, &player(name))
        .await
        .unwrap()
}

pub async fn two_tickets_pair_on_arrival(subject: &Subject) {
    let (first, paired, _) = create(subject, &new(1, "ann")).await;
    assert_eq!((first.state, paired), (TicketState::Searching, None));
    assert_eq!(first.payload, "ticket 1");
    assert_eq!(first.expires_at, first.created_at.after(Millis::minutes(5)));
    assert_eq!(holder(subject, "ann").await, Some(Holder::Ticket(ticket(1))));
    assert_eq!(subject.stores.halls.pools(&hall()).await.unwrap(), [pool()]);

    let (second, paired, _) = create(subject, &new(2, "bob")).await;
    let record = paired.expect("a match");
    assert_eq!(
        second.state,
        TicketState::Paired {
            session: session(1, 2)
        }
    );
    assert_eq!(
        state(subject, 1).await,
        Some(TicketState::Paired {
            session: session(1, 2)
        })
    );
    assert_eq!(record.id, MatchId::Creation(session(1, 2)));
    assert_eq!((record.kind, record.state), (KIND, MatchState::Unfinished));
    let names: Vec<_> = record.players.iter().map(|one| one.player.as_str()).collect();
    assert_eq!(names, ["ann", "bob"], "who waited longer comes first");
    let payloads: Vec<_> = record
        .players
        .iter()
        .map(|one| one.ticket.clone().unwrap().payload)
        .collect();
    assert_eq!(payloads, ["ticket 1", "ticket 2"]);
    for name in ["ann", "bob"] {
        assert_eq!(holder(subject, name).await, Some(Holder::Session(session(1, 2))));
    }
    assert_eq!(subject.stores.halls.pools(&hall()).await.unwrap(), []);
    let found = subject
        .other
        .halls
        .match_record(&hall(), &record.id)
        .await
        .unwrap();
    assert_eq!(found, Some(record));
}

pub async fn a_pool_is_first_come_first_served(subject: &Subject) {
    let halls = &subject.stores.halls;
    // Three who wait at once: two could not be paired when they came, because their session's id was taken.
    for (number, name, since) in [(1, "ann", 5_000), (2, "bob", 3_000), (3, "cat", 4_000)] {
        halls
            .take(&hall(), &creation(number, &[&format!("other {number}")]))
            .await
            .unwrap();
        let waiting = NewTicket {
            waiting_since: Some(Instant(since)),
            ..new(number, name)
        };
        assert_eq!(create(subject, &waiting).await.1, None);
    }
    assert_eq!(
        halls.waiting(&hall(), pool(), 9).await.unwrap(),
        [ticket(2), ticket(3), ticket(1)]
    );
    assert_eq!(
        halls.waiting(&hall(), pool(), 2).await.unwrap(),
        [ticket(2), ticket(3)]
    );
    let names = |record: Option<MatchRecord>| {
        record
            .unwrap()
            .players
            .iter()
            .map(|one| one.player.to_string())
            .collect::<Vec<_>>()
    };
    let (_, paired, _) = create(subject, &new(4, "dan")).await;
    assert_eq!(names(paired), ["bob", "dan"]);
    // Who re-enters has waited longer than who is in the pool.
    let again = NewTicket {
        waiting_since: Some(Instant(1_000)),
        ..new(5, "eve")
    };
    let (_, paired, _) = create(subject, &again).await;
    assert_eq!(names(paired), ["eve", "cat"]);
    assert_eq!(halls.waiting(&hall(), pool(), 9).await.unwrap(), [ticket(1)]);
}

pub async fn pools_do_not_mix(subject: &Subject) {
    let elsewhere = PoolId::of(KIND, b"slow");
    create(subject, &new(1, "ann")).await;
    let (other, paired, _) = create(
        subject,
        &NewTicket {
            pool: elsewhere,
            ..new(2, "bob")
        },
    )
    .await;
    assert_eq!((other.state, paired), (TicketState::Searching, None));
    let mut pools = vec![pool(), elsewhere];
    pools.sort_unstable();
    assert_eq!(subject.stores.halls.pools(&hall()).await.unwrap(), pools);
    assert_eq!(
        subject.stores.halls.waiting(&hall(), elsewhere, 9).await.unwrap(),
        [ticket(2)]
    );
    assert_ne!(PoolId::of(Kind(2), b"blitz"), pool());
}

pub async fn a_repeated_ticket_is_the_same(subject: &Subject) {
    let (first, ..) = create(subject, &new(1, "ann")).await;
    let again = |number, name| {
        let (halls, new) = (subject.other.halls.clone(), new(number, name));
        async move { halls.create_ticket(&hall(), &new).await.unwrap() }
    };
    assert_eq!(
        again(1, "ann").await,
        CreateTicketAnswer::Existing {
            ticket: first.clone()
        }
    );
    create(subject, &new(2, "bob")).await;
    let paired = TicketState::Paired {
        session: session(1, 2),
    };
    assert_eq!(
        again(1, "ann").await,
        CreateTicketAnswer::Existing {
            ticket: Ticket {
                state: paired,
                ..first
            }
        }
    );
    assert!(
        matches!(again(2, "bob").await, CreateTicketAnswer::Existing { ticket } if ticket.state == paired)
    );
}

pub async fn a_newer_ticket_replaces(subject: &Subject) {
    create(subject, &new(1, "ann")).await;
    let (second, paired, replaced) = create(subject, &new(2, "ann")).await;
    assert_eq!(
        (second.state, paired, replaced),
        (TicketState::Searching, None, Some(ticket(1)))
    );
    assert_eq!(
        state(subject, 1).await,
        Some(TicketState::Replaced { by: ticket(2) })
    );
    assert_eq!(
        subject.stores.halls.waiting(&hall(), pool(), 9).await.unwrap(),
        [ticket(2)]
    );
    assert_eq!(holder(subject, "ann").await, Some(Holder::Ticket(ticket(2))));
    // Another kind is another matter (S-28).
    let (_, _, replaced) = create(
        subject,
        &NewTicket {
            kind: Kind(2),
            pool: PoolId([2; 12]),
            ..new(3, "ann")
        },
    )
    .await;
    assert_eq!(replaced, None);
    assert_eq!(state(subject, 2).await, Some(TicketState::Searching));
}

/// S-28.
pub async fn a_player_in_a_session_gets_no_ticket(subject: &Subject) {
    create(subject, &new(1, "ann")).await;
    create(subject, &new(2, "bob")).await;
    let busy = subject
        .stores
        .halls
        .create_ticket(&hall(), &new(3, "ann"))
        .await
        .unwrap();
    assert_eq!(
        busy,
        CreateTicketAnswer::Busy {
            session: session(1, 2)
        }
    );
    assert_eq!(state(subject, 3).await, None);
    // The session has ended: its claim is taken over.
    let players = [player("ann")];
    assert_eq!(
        subject
            .stores
            .halls
            .release(&hall(), KIND, session(1, 2), &players)
            .await
            .unwrap(),
        1
    );
    create(subject, &new(3, "ann")).await;
    assert_eq!(state(subject, 3).await, Some(TicketState::Searching));
}

pub async fn cancel_and_pairing_are_one_order(subject: &Subject) {
    let cancel = |number| {
        let halls = subject.other.halls.clone();
        async move { halls.cancel_ticket(&hall(), ticket(number)).await.unwrap() }
    };
    assert_eq!(cancel(1).await, CancelAnswer::Missing);
    create(subject, &new(1, "ann")).await;
    assert_eq!(cancel(1).await, CancelAnswer::Cancelled);
    assert_eq!(cancel(1).await, CancelAnswer::Cancelled);
    assert_eq!(state(subject, 1).await, Some(TicketState::Cancelled));
    assert_eq!(holder(subject, "ann").await, None);
    create(subject, &new(2, "bob")).await;
    let (_, paired, _) = create(subject, &new(3, "cat")).await;
    assert!(paired.is_some(), "a cancelled ticket is not paired");
    let session = session(1, 3);
    assert_eq!(
        cancel(2).await,
        CancelAnswer::AlreadyMatched {
            session,
            finished: false
        }
    );
    subject
        .stores
        .halls
        .finish_match(&hall(), &MatchId::Creation(session))
        .await
        .unwrap();
    assert_eq!(
        cancel(2).await,
        CancelAnswer::AlreadyMatched {
            session,
            finished: true
        }
    );
}

pub async fn a_paired_ticket_is_matched_when_finished(subject: &Subject) {
    let halls = &subject.stores.halls;
    create(subject, &new(1, "ann")).await;
    let (_, paired, _) = create(subject, &new(2, "bob")).await;
    let record = paired.unwrap();
    let finished = halls.finish_match(&hall(), &record.id).await.unwrap();
    let mut expected = MatchRecord {
        state: MatchState::Finished,
        ..record.clone()
    };
    for player in &mut expected.players {
        player.ticket.as_mut().unwrap().payload = Bytes::new();
    }
    assert_eq!(
        finished,
        Some(expected),
        "the session's log says what was created"
    );
    assert_eq!(halls.finish_match(&hall(), &record.id).await.unwrap(), finished);
    assert_eq!(
        halls.void_match(&hall(), &record.id).await.unwrap(),
        finished,
        "what is finished stays so"
    );
    for number in [1, 2] {
        assert_eq!(
            state(subject, number).await,
            Some(TicketState::Matched {
                session: session(1, 2)
            })
        );
    }
    assert_eq!(holder(subject, "ann").await, Some(Holder::Session(session(1, 2))));
    assert_eq!(
        halls.unfinished(&hall(), Millis::ZERO, 9).await.unwrap().matches,
        []
    );
    assert_eq!(
        halls
            .finish_match(&hall(), &MatchId::Creation(session(1, 9)))
            .await
            .unwrap(),
        None
    );
}

pub async fn a_void_match_frees_its_players(subject: &Subject) {
    let halls = &subject.stores.halls;
    let (first, ..) = create(subject, &new(1, "ann")).await;
    let (_, paired, _) = create(subject, &new(2, "bob")).await;
    let id = paired.unwrap().id;
    let void = halls.void_match(&hall(), &id).await.unwrap().unwrap();
    assert_eq!(void.state, MatchState::Void);
    assert_eq!(
        halls.finish_match(&hall(), &id).await.unwrap(),
        Some(void),
        "what is void stays so"
    );
    assert_eq!(
        state(subject, 1).await,
        Some(TicketState::Void {
            session: session(1, 2)
        })
    );
    assert_eq!(holder(subject, "ann").await, None);
    // Re-entry: a new ticket with the old waiting time.
    let again = NewTicket {
        waiting_since: Some(first.waiting_since),
        ..new(3, "ann")
    };
    let (again, ..) = create(subject, &again).await;
    assert_eq!(
        (again.state, again.waiting_since),
        (TicketState::Searching, first.waiting_since)
    );
    // Nobody has waited since the future.
    let eager = NewTicket {
        waiting_since: Some(Instant(1 << 50)),
        pool: PoolId([7; 12]),
        ..new(4, "cat")
    };
    let (eager, ..) = create(subject, &eager).await;
    assert_eq!(eager.waiting_since, eager.created_at);
}

pub async fn tickets_expire(subject: &Subject) {
    let halls = &subject.stores.halls;
    let brief = |number, name| NewTicket {
        lifetime: Millis(10),
        ..new(number, name)
    };
    create(subject, &brief(1, "ann")).await;
    assert_eq!(halls.expire_tickets(&hall(), 9).await.unwrap().len(), 0);
    pass(Millis(15)).await;
    assert_eq!(
        state(subject, 1).await,
        Some(TicketState::Expired),
        "noticed or not"
    );
    // Nobody is paired with it, and its player is free at once.
    let (second, paired, _) = create(subject, &new(2, "bob")).await;
    assert_eq!((second.state, paired), (TicketState::Searching, None));
    assert_eq!(
        halls.cancel_ticket(&hall(), ticket(2)).await.unwrap(),
        CancelAnswer::Cancelled
    );
    assert_eq!(halls.expire_tickets(&hall(), 9).await.unwrap(), [ticket(1)]);
    assert_eq!(halls.expire_tickets(&hall(), 9).await.unwrap(), []);
    assert_eq!(holder(subject, "ann").await, None);
    create(subject, &brief(3, "ann")).await;
    pass(Millis(15)).await;
    let (_, _, replaced) = create(subject, &new(4, "ann")).await;
    assert_eq!(replaced, None, "it had expired before");
    assert_eq!(state(subject, 3).await, Some(TicketState::Expired));
    assert_eq!(halls.waiting(&hall(), pool(), 9).await.unwrap(), [ticket(4)]);
    // An expired ticket does not keep its player from a session.
    halls.cancel_ticket(&hall(), ticket(4)).await.unwrap();
    create(subject, &brief(5, "ann")).await;
    pass(Millis(15)).await;
    assert!(matches!(
        halls.take(&hall(), &creation(1, &["ann"])).await.unwrap(),
        TakeAnswer::Taken(_)
    ));
}

pub async fn pairs_found_outside_are_taken_inside(subject: &Subject) {
    let halls = &subject.stores.halls;
    // Two who wait in one pool at once: the second came while its own match record could not be written, because the
    // session's id was taken.
    create(subject, &new(1, "ann")).await;
    halls.take(&hall(), &creation(2, &["zoe"])).await.unwrap();
    let (second, paired, _) = create(subject, &new(2, "bob")).await;
    assert_eq!((second.state, paired), (TicketState::Searching, None));
    assert_eq!(
        halls.waiting(&hall(), pool(), 9).await.unwrap(),
        [ticket(1), ticket(2)]
    );
    let pair = |pool, tickets, number| {
        let halls = subject.other.halls.clone();
        async move {
            halls
                .pair(&hall(), pool, tickets, session(1, number))
                .await
                .unwrap()
        }
    };
    let both = [ticket(2), ticket(1)];
    assert_eq!(
        pair(PoolId([9; 12]), both, 7).await,
        PairAnswer::NotWaiting(ticket(2))
    );
    assert_eq!(
        pair(pool(), [ticket(1), ticket(3)], 7).await,
        PairAnswer::NotWaiting(ticket(3))
    );
    assert_eq!(
        pair(pool(), [ticket(1), ticket(1)], 7).await,
        PairAnswer::NotWaiting(ticket(1))
    );
    let PairAnswer::Paired(record) = pair(pool(), both, 7).await else {
        panic!("paired")
    };
    assert_eq!(record.players[0].player, player("ann"));
    assert_eq!(pair(pool(), both, 7).await, PairAnswer::Paired(record));
    assert_eq!(pair(pool(), both, 8).await, PairAnswer::NotWaiting(ticket(2)));
    assert_eq!(halls.waiting(&hall(), pool(), 9).await.unwrap(), []);
}

fn creation(number: u8, names: &[&str]) -> NewMatch {
    NewMatch {
        id: MatchId::Creation(session(1, number)),
        kind: KIND,
        players: names.iter().map(|name| player(name)).collect(),
        payload: Bytes::from_static(b"request"),
    }
}

pub async fn a_take_is_all_or_nothing(subject: &Subject) {
    let halls = &subject.stores.halls;
    create(subject, &new(1, "bob")).await;
    let busy = halls.take(&hall(), &creation(1, &["ann", "bob"])).await.unwrap();
    assert_eq!(
        busy,
        TakeAnswer::Busy {
            player: player("bob"),
            holder: Holder::Ticket(ticket(1))
        }
    );
    assert_eq!(holder(subject, "ann").await, None);
    assert_eq!(
        halls
            .match_record(&hall(), &MatchId::Creation(session(1, 1)))
            .await
            .unwrap(),
        None
    );
    halls.take(&hall(), &creation(2, &["ann", "cat"])).await.unwrap();
    let busy = halls.take(&hall(), &creation(3, &["dan", "cat"])).await.unwrap();
    assert_eq!(
        busy,
        TakeAnswer::Busy {
            player: player("cat"),
            holder: Holder::Session(session(1, 2))
        }
    );
    assert_eq!(holder(subject, "dan").await, None);
    for names in [&["ann", "ann"][..], &[], &["a", "b", "c"]] {
        let refused = halls.take(&hall(), &creation(4, names)).await;
        assert!(matches!(refused, Err(StoreError::BadArgument { .. })));
    }
}

pub async fn a_take_is_repeatable(subject: &Subject) {
    let halls = &subject.stores.halls;
    let TakeAnswer::Taken(record) = halls.take(&hall(), &creation(1, &["ann", "bob"])).await.unwrap() else {
        panic!("taken")
    };
    assert_eq!(record.payload, "request");
    let again = subject
        .other
        .halls
        .take(&hall(), &creation(1, &["ann", "bob"]))
        .await
        .unwrap();
    assert_eq!(again, TakeAnswer::Known(record));
    // A session with an open seat: its creator holds it, another joins, a third cannot.
    let join = |name: &str| NewMatch {
        id: MatchId::Join(session(1, 5), player(name)),
        ..creation(5, &[name])
    };
    halls.take(&hall(), &creation(5, &["cat"])).await.unwrap();
    let TakeAnswer::Taken(record) = halls.take(&hall(), &join("dan")).await.unwrap() else {
        panic!("taken")
    };
    assert_eq!(record.id, MatchId::Join(session(1, 5), player("dan")));
    let TakeAnswer::Taken(late) = halls.take(&hall(), &join("eve")).await.unwrap() else {
        panic!("taken")
    };
    // The session says who came first; the other's claim is given back, and only hers.
    halls.void_match(&hall(), &late.id).await.unwrap();
    halls.finish_match(&hall(), &record.id).await.unwrap();
    assert_eq!(holder(subject, "eve").await, None);
    assert_eq!(holder(subject, "dan").await, Some(Holder::Session(session(1, 5))));
    assert_eq!(holder(subject, "cat").await, Some(Holder::Session(session(1, 5))));
}

pub async fn unfinished_matches_are_found(subject: &Subject) {
    let halls = &subject.stores.halls;
    halls.take(&hall(), &creation(2, &["ann"])).await.unwrap();
    pass(Millis(3)).await;
    halls.take(&hall(), &creation(1, &["bob"])).await.unwrap();
    let ids = |found: crate::hall_store::Unfinished| {
        found.matches.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    let creation_of = |number| MatchId::Creation(session(1, number));
    let found = subject
        .other
        .halls
        .unfinished(&hall(), Millis::ZERO, 9)
        .await
        .unwrap();
    assert_eq!(ids(found), [creation_of(2), creation_of(1)], "the oldest first");
    assert_eq!(
        ids(halls.unfinished(&hall(), Millis::ZERO, 1).await.unwrap()),
        [creation_of(2)]
    );
    assert_eq!(
        ids(halls.unfinished(&hall(), Millis::minutes(1), 9).await.unwrap()),
        []
    );
    halls.finish_match(&hall(), &creation_of(2)).await.unwrap();
    assert_eq!(
        ids(halls.unfinished(&hall(), Millis::ZERO, 9).await.unwrap()),
        [creation_of(1)]
    );
}

pub async fn claims_are_released_by_session(subject: &Subject) {
    let halls = &subject.stores.halls;
    halls.take(&hall(), &creation(1, &["ann", "bob"])).await.unwrap();
    create(subject, &new(3, "cat")).await;
    let all: Vec<PlayerId> = ["ann", "bob", "cat", "dan"].map(player).to_vec();
    assert_eq!(
        halls.release(&hall(), KIND, session(1, 2), &all).await.unwrap(),
        0,
        "another session's"
    );
    assert_eq!(
        halls
            .release(&hall(), Kind(2), session(1, 1), &all)
            .await
            .unwrap(),
        0,
        "another kind's"
    );
    assert_eq!(
        subject
            .other
            .halls
            .release(&hall(), KIND, session(1, 1), &all)
            .await
            .unwrap(),
        2
    );
    assert_eq!(
        halls.release(&hall(), KIND, session(1, 1), &all).await.unwrap(),
        0
    );
    assert_eq!(holder(subject, "cat").await, Some(Holder::Ticket(ticket(3))));
}

pub async fn ticket_watchers_wake_up(subject: &Subject) {
    create(subject, &new(1, "ann")).await;
    let mut watch = subject
        .other
        .halls
        .subscribe_ticket(&hall(), ticket(1))
        .await
        .unwrap();
    let (_, paired, _) = create(subject, &new(2, "bob")).await;
    heard(&mut watch).await;
    subject
        .stores
        .halls
        .finish_match(&hall(), &paired.unwrap().id)
        .await
        .unwrap();
    heard(&mut watch).await;
    assert!(matches!(
        state(subject, 1).await,
        Some(TicketState::Matched { .. })
    ));
}

pub async fn halls_do_not_mix(subject: &Subject) {
    create(subject, &new(1, "ann")).await;
    let elsewhere = HallId::new("elsewhere").unwrap();
    let answer = subject
        .stores
        .halls
        .create_ticket(&elsewhere, &new(2, "bob"))
        .await
        .unwrap();
    assert!(matches!(answer, CreateTicketAnswer::Created { paired: None, .. }));
    assert_eq!(state(subject, 2).await, None);
    for name in ["", "Hall", "a b", "{x}", "ä"] {
        assert_eq!(HallId::new(name), None, "{name}");
    }
}
