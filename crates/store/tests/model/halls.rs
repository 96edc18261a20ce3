//! Halls.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use tablemate_session::{Instant, Millis, PlayerId};
use tablemate_store::contract::{player, session, ticket};
use tablemate_store::hall_store::{
    CancelAnswer, CreateTicketAnswer, HallId, Holder, Kind, MatchId, MatchRecord, MatchState, NewMatch,
    NewTicket, PairAnswer, PoolId, TakeAnswer, Ticket, TicketState,
};

use crate::{Real, Subject, tick};

const KIND: Kind = Kind(1);
const NAMES: [&str; 4] = ["ann", "bob", "cat", "dan"];

fn pool(number: u8) -> PoolId {
    PoolId([number; 12])
}

/// Whose ticket it is: each ticket id belongs to one player, as ids are hashes of the player.
fn owner(ticket: u8) -> usize {
    usize::from(ticket) % NAMES.len()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    Creation(u8),
    Join(u8, usize),
}

impl Match {
    fn session(self) -> u8 {
        match self {
            Self::Creation(session) | Self::Join(session, _) => session,
        }
    }

    fn id(self) -> MatchId {
        match self {
            Self::Creation(number) => MatchId::Creation(session(1, number)),
            Self::Join(number, who) => MatchId::Join(session(1, number), player(NAMES[who])),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Operation {
    Create {
        ticket: u8,
        pool: u8,
        since: u64,
        brief: bool,
    },
    Get {
        ticket: u8,
    },
    Cancel {
        ticket: u8,
    },
    Expire {
        limit: usize,
    },
    Waiting {
        pool: u8,
        limit: usize,
    },
    Pools,
    Pair {
        pool: u8,
        tickets: [u8; 2],
        session: u8,
    },
    Take {
        of: Match,
        players: Vec<usize>,
    },
    Get2 {
        of: Match,
    },
    Unfinished,
    Finish {
        of: Match,
    },
    Void {
        of: Match,
    },
    Holder {
        who: usize,
    },
    Release {
        session: u8,
        who: Vec<usize>,
    },
}

#[derive(Clone, Debug)]
struct MTicket {
    pool: u8,
    since: u64,
    brief: bool,
    state: String,
}

#[derive(Clone, Debug)]
struct MMatch {
    state: char,
    players: Vec<(usize, Option<u8>)>,
}

#[derive(Default)]
pub struct Model {
    tickets: BTreeMap<u8, MTicket>,
    claims: BTreeMap<usize, String>,
    matches: BTreeMap<Match, MMatch>,
}

impl Model {
    fn waits(&self, ticket: u8) -> bool {
        self.tickets
            .get(&ticket)
            .is_some_and(|ticket| ticket.state == "searching" && !ticket.brief)
    }

    /// The tickets in a pool, also those that waited too long, in order.
    fn queue(&self, pool: u8) -> Vec<u8> {
        let mut queue: Vec<(u64, u8)> = self
            .tickets
            .iter()
            .filter(|(_, ticket)| ticket.pool == pool && ticket.state == "searching")
            .map(|(id, ticket)| (ticket.since, *id))
            .collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, id)| id).collect()
    }

    fn end(&mut self, ticket: u8, state: &str) {
        self.tickets.get_mut(&ticket).unwrap().state = state.to_owned();
        if self.claims.get(&owner(ticket)) == Some(&format!("ticket {ticket}")) {
            self.claims.remove(&owner(ticket));
        }
    }

    fn pair(&mut self, mut tickets: [u8; 2], session: u8) -> String {
        tickets.sort_by_key(|id| (self.tickets[id].since, *id));
        for id in tickets {
            self.tickets.get_mut(&id).unwrap().state = format!("paired {session}");
            self.claims.insert(owner(id), format!("session {session}"));
        }
        let players = tickets.map(|id| (owner(id), Some(id))).to_vec();
        self.matches
            .insert(Match::Creation(session), MMatch { state: 'U', players });
        self.show(Match::Creation(session))
    }

    fn show(&self, of: Match) -> String {
        self.matches.get(&of).map_or("no match".to_owned(), |one| {
            format!("{of:?} {} {:?}", one.state, one.players)
        })
    }

    fn seen(&self, id: u8) -> String {
        let ticket = &self.tickets[&id];
        let expired = ticket.state == "searching" && ticket.brief;
        let state = if expired { "expired" } else { &ticket.state };
        format!(
            "ticket {id} of {} in {} since {}: {state}",
            owner(id),
            ticket.pool,
            ticket.since
        )
    }
}

pub struct Halls;

fn a_match() -> impl Strategy<Value = Match> {
    prop_oneof![
        3 => (0..10_u8).prop_map(Match::Creation),
        1 => (0..10_u8, 0..NAMES.len()).prop_map(|(session, who)| Match::Join(session, who)),
    ]
}

impl Subject for Halls {
    type Operation = Operation;
    type Request = Operation;
    type Model = Model;
    type Memory = ();

    fn operation() -> impl Strategy<Value = Operation> {
        let (a_ticket, a_pool, who) = (0..12_u8, 0..2_u8, 0..NAMES.len());
        let players = proptest::sample::subsequence(vec![0, 1, 2, 3], 1..=2);
        prop_oneof![
            8 => (a_ticket.clone(), a_pool.clone(), 0..50_u64, proptest::bool::weighted(0.2))
                .prop_map(|(ticket, pool, since, brief)| Operation::Create { ticket, pool, since, brief }),
            2 => a_ticket.clone().prop_map(|ticket| Operation::Get { ticket }),
            2 => a_ticket.clone().prop_map(|ticket| Operation::Cancel { ticket }),
            1 => (1..4_usize).prop_map(|limit| Operation::Expire { limit }),
            1 => (a_pool.clone(), 1..4_usize).prop_map(|(pool, limit)| Operation::Waiting { pool, limit }),
            1 => Just(Operation::Pools),
            2 => (a_pool, a_ticket.clone(), a_ticket, 0..10_u8)
                .prop_map(|(pool, one, other, session)| Operation::Pair { pool, tickets: [one, other], session }),
            3 => (a_match(), players.clone()).prop_map(|(of, players)| Operation::Take { of, players }),
            1 => a_match().prop_map(|of| Operation::Get2 { of }),
            1 => Just(Operation::Unfinished),
            3 => a_match().prop_map(|of| Operation::Finish { of }),
            2 => a_match().prop_map(|of| Operation::Void { of }),
            2 => who.prop_map(|who| Operation::Holder { who }),
            2 => (0..10_u8, players).prop_map(|(session, who)| Operation::Release { session, who }),
        ]
    }

    fn request(_: &Model, operation: &Operation) -> Operation {
        operation.clone()
    }

    fn expect(model: &mut Model, operation: &Operation) -> String {
        match operation.clone() {
            Operation::Create {
                ticket,
                pool,
                since,
                brief,
            } => {
                if model.tickets.contains_key(&ticket) {
                    return format!("existing {}", model.seen(ticket));
                }
                let mut replaced = None;
                if let Some(claim) = model.claims.get(&owner(ticket)).cloned() {
                    let Some(old) = claim.strip_prefix("ticket ") else {
                        return format!("busy {claim}");
                    };
                    let old: u8 = old.parse().unwrap();
                    if model.waits(old) {
                        replaced = Some(old);
                        model.end(old, &format!("replaced by {ticket}"));
                    } else {
                        model.end(old, "expired");
                    }
                }
                let partner = model.queue(pool).into_iter().find(|id| model.waits(*id));
                let state = "searching".to_owned();
                model.tickets.insert(
                    ticket,
                    MTicket {
                        pool,
                        since,
                        brief,
                        state,
                    },
                );
                match partner.filter(|_| !model.matches.contains_key(&Match::Creation(ticket))) {
                    Some(partner) => {
                        let paired = model.pair([partner, ticket], ticket);
                        format!("created {} {replaced:?} {paired}", model.seen(ticket))
                    }
                    None => {
                        model.claims.insert(owner(ticket), format!("ticket {ticket}"));
                        // Its own answer comes before its time is over.
                        let seen = model.seen(ticket).replace("expired", "searching");
                        format!("created {seen} {replaced:?} alone")
                    }
                }
            }
            Operation::Get { ticket } => {
                if model.tickets.contains_key(&ticket) {
                    model.seen(ticket)
                } else {
                    "no ticket".to_owned()
                }
            }
            Operation::Cancel { ticket } => {
                let Some(known) = model.tickets.get(&ticket) else {
                    return "missing".to_owned();
                };
                if let Some(session) = known.state.strip_prefix("paired ") {
                    return format!("already {session} false");
                }
                if let Some(session) = known.state.strip_prefix("matched ") {
                    return format!("already {session} true");
                }
                if known.state == "searching" {
                    model.end(
                        ticket,
                        if model.waits(ticket) {
                            "cancelled"
                        } else {
                            "expired"
                        },
                    );
                }
                "cancelled".to_owned()
            }
            Operation::Expire { .. } => {
                let expired = model
                    .tickets
                    .iter()
                    .filter(|(_, one)| one.brief && one.state == "searching");
                let expired: Vec<u8> = expired.map(|(id, _)| *id).collect();
                for id in &expired {
                    model.end(*id, "expired");
                }
                format!("expired {expired:?}")
            }
            Operation::Waiting { pool, limit } => {
                format!(
                    "{:?}",
                    model.queue(pool).into_iter().take(limit).collect::<Vec<_>>()
                )
            }
            Operation::Pools => {
                format!(
                    "{:?}",
                    (0..2)
                        .filter(|pool| !model.queue(*pool).is_empty())
                        .collect::<Vec<u8>>()
                )
            }
            Operation::Pair {
                pool,
                tickets,
                session,
            } => {
                if let Some(known) = model.matches.get(&Match::Creation(session)) {
                    let holds = |id| known.players.iter().any(|(_, ticket)| *ticket == Some(id));
                    return if tickets.into_iter().all(holds) {
                        model.show(Match::Creation(session))
                    } else {
                        format!("not waiting {}", tickets[0])
                    };
                }
                for id in tickets {
                    if !model.waits(id) || model.tickets[&id].pool != pool {
                        return format!("not waiting {id}");
                    }
                }
                if tickets[0] == tickets[1] {
                    return format!("not waiting {}", tickets[1]);
                }
                model.pair(tickets, session)
            }
            Operation::Take { of, players } => {
                if model.matches.contains_key(&of) {
                    return format!("known {}", model.show(of));
                }
                let own = format!("session {}", of.session());
                let mut expired = Vec::new();
                for who in &players {
                    let Some(claim) = model.claims.get(who).filter(|claim| **claim != own) else {
                        continue;
                    };
                    match claim.strip_prefix("ticket ").map(|id| id.parse::<u8>().unwrap()) {
                        Some(id) if !model.waits(id) => expired.push(id),
                        _ => return format!("busy {who} {claim}"),
                    }
                }
                for id in expired {
                    model.end(id, "expired");
                }
                for who in &players {
                    model.claims.insert(*who, own.clone());
                }
                let players = players.into_iter().map(|who| (who, None)).collect();
                model.matches.insert(of, MMatch { state: 'U', players });
                format!("taken {}", model.show(of))
            }
            Operation::Get2 { of } => model.show(of),
            Operation::Unfinished => {
                let unfinished = model.matches.iter().filter(|(_, one)| one.state == 'U');
                format!("{:?}", unfinished.map(|(of, _)| *of).collect::<Vec<_>>())
            }
            Operation::Finish { of } | Operation::Void { of } => {
                let is_void = matches!(operation, Operation::Void { .. });
                let Some(one) = model.matches.get_mut(&of) else {
                    return "no match".to_owned();
                };
                if one.state == 'U' {
                    one.state = if is_void { 'V' } else { 'F' };
                    let own = of.session();
                    for (who, ticket) in one.players.clone() {
                        if is_void && model.claims.get(&who) == Some(&format!("session {own}")) {
                            model.claims.remove(&who);
                        }
                        let Some(ticket) = ticket else { continue };
                        let ticket = model.tickets.get_mut(&ticket).unwrap();
                        assert_eq!(ticket.state, format!("paired {own}"));
                        ticket.state = format!("{} {own}", if is_void { "void" } else { "matched" });
                    }
                }
                model.show(of)
            }
            Operation::Holder { who } => model.claims.get(&who).cloned().unwrap_or("free".to_owned()),
            Operation::Release { session, who } => {
                let own = format!("session {session}");
                let mut released = 0;
                for who in who {
                    if model.claims.get(&who) == Some(&own) {
                        model.claims.remove(&who);
                        released += 1;
                    }
                }
                format!("released {released}")
            }
        }
    }

    async fn answer(real: &Real, (): &mut (), operation: &Operation) -> String {
        let (store, hall) = (&real.stores.halls, HallId::default());
        match operation.clone() {
            Operation::Create {
                ticket: id,
                pool: in_pool,
                since,
                brief,
            } => {
                let new = NewTicket {
                    id: ticket(id),
                    player: player(NAMES[owner(id)]),
                    kind: KIND,
                    pool: pool(in_pool),
                    lifetime: if brief { Millis(1) } else { Millis::hours(1) },
                    waiting_since: Some(Instant(since)),
                    session: session(1, id),
                    payload: Bytes::from(vec![id]),
                };
                let answer = store.create_ticket(&hall, &new).await.unwrap();
                if brief {
                    tick().await;
                }
                match answer {
                    CreateTicketAnswer::Existing { ticket } => format!("existing {}", show_ticket(&ticket)),
                    CreateTicketAnswer::Busy { session } => format!("busy session {}", session.as_bytes()[2]),
                    CreateTicketAnswer::Created {
                        ticket,
                        paired,
                        replaced,
                    } => {
                        let replaced = replaced.map(|id| id.as_bytes()[2]);
                        let paired = paired.map_or("alone".to_owned(), |record| show_match(&record));
                        format!("created {} {replaced:?} {paired}", show_ticket(&ticket))
                    }
                }
            }
            Operation::Get { ticket: id } => {
                let found = store.ticket(&hall, ticket(id)).await.unwrap();
                found.map_or("no ticket".to_owned(), |ticket| show_ticket(&ticket))
            }
            Operation::Cancel { ticket: id } => match store.cancel_ticket(&hall, ticket(id)).await.unwrap() {
                CancelAnswer::Cancelled => "cancelled".to_owned(),
                CancelAnswer::Missing => "missing".to_owned(),
                CancelAnswer::AlreadyMatched { session, finished } => {
                    format!("already {} {finished}", session.as_bytes()[2])
                }
            },
            Operation::Expire { limit } => {
                // To the end: which come first depends on when they were created, which no two stores agree on.
                let mut expired = Vec::new();
                loop {
                    let part = store.expire_tickets(&hall, limit).await.unwrap();
                    assert!(part.len() <= limit);
                    if part.is_empty() {
                        break;
                    }
                    expired.extend(part.iter().map(|id| id.as_bytes()[2]));
                }
                expired.sort_unstable();
                format!("expired {expired:?}")
            }
            Operation::Waiting { pool: of, limit } => {
                let waiting = store.waiting(&hall, pool(of), limit).await.unwrap();
                format!(
                    "{:?}",
                    waiting.iter().map(|id| id.as_bytes()[2]).collect::<Vec<_>>()
                )
            }
            Operation::Pools => {
                let pools = store.pools(&hall).await.unwrap();
                format!("{:?}", pools.iter().map(|pool| pool.0[0]).collect::<Vec<_>>())
            }
            Operation::Pair {
                pool: of,
                tickets,
                session: number,
            } => {
                let paired = store
                    .pair(&hall, pool(of), tickets.map(ticket), session(1, number))
                    .await
                    .unwrap();
                match paired {
                    PairAnswer::Paired(record) => show_match(&record),
                    PairAnswer::NotWaiting(id) => format!("not waiting {}", id.as_bytes()[2]),
                }
            }
            Operation::Take { of, players } => {
                let players = players.iter().map(|who| player(NAMES[*who])).collect();
                let new = NewMatch {
                    id: of.id(),
                    kind: KIND,
                    players,
                    payload: Bytes::from_static(b"request"),
                };
                match store.take(&hall, &new).await.unwrap() {
                    TakeAnswer::Taken(record) => format!("taken {}", show_match(&record)),
                    TakeAnswer::Known(record) => format!("known {}", show_match(&record)),
                    TakeAnswer::Busy { player, holder } => {
                        format!("busy {} {}", name(&player), show_holder(holder))
                    }
                }
            }
            Operation::Get2 { of } => show_found(store.match_record(&hall, &of.id()).await.unwrap()),
            Operation::Finish { of } => show_found(store.finish_match(&hall, &of.id()).await.unwrap()),
            Operation::Void { of } => show_found(store.void_match(&hall, &of.id()).await.unwrap()),
            Operation::Unfinished => {
                let found = store.unfinished(&hall, Millis::ZERO, 64).await.unwrap().matches;
                let mut found: Vec<Match> = found.iter().map(|record| match_of(&record.id)).collect();
                found.sort_unstable();
                format!("{found:?}")
            }
            Operation::Holder { who } => {
                let holder = store.holder(&hall, KIND, &player(NAMES[who])).await.unwrap();
                holder.map_or("free".to_owned(), show_holder)
            }
            Operation::Release { session: number, who } => {
                let players: Vec<PlayerId> = who.iter().map(|who| player(NAMES[*who])).collect();
                format!(
                    "released {}",
                    store
                        .release(&hall, KIND, session(1, number), &players)
                        .await
                        .unwrap()
                )
            }
        }
    }
}

fn name(player: &PlayerId) -> usize {
    NAMES.iter().position(|name| *name == player.as_str()).unwrap()
}

fn show_holder(holder: Holder) -> String {
    match holder {
        Holder::Ticket(id) => format!("ticket {}", id.as_bytes()[2]),
        Holder::Session(id) => format!("session {}", id.as_bytes()[2]),
    }
}

fn show_ticket(ticket: &Ticket) -> String {
    let id = ticket.id.as_bytes()[2];
    assert_eq!((ticket.kind, &ticket.payload[..]), (KIND, &[id][..]));
    let state = match ticket.state {
        TicketState::Searching => "searching".to_owned(),
        TicketState::Paired { session } => format!("paired {}", session.as_bytes()[2]),
        TicketState::Matched { session } => format!("matched {}", session.as_bytes()[2]),
        TicketState::Cancelled => "cancelled".to_owned(),
        TicketState::Replaced { by } => format!("replaced by {}", by.as_bytes()[2]),
        TicketState::Expired => "expired".to_owned(),
        TicketState::Void { session } => format!("void {}", session.as_bytes()[2]),
    };
    let since = ticket.waiting_since;
    format!(
        "ticket {id} of {} in {} since {since}: {state}",
        name(&ticket.player),
        ticket.pool.0[0]
    )
}

fn match_of(id: &MatchId) -> Match {
    let number = id.session().as_bytes()[2];
    match id {
        MatchId::Creation(_) => Match::Creation(number),
        MatchId::Join(_, player) => Match::Join(number, name(player)),
    }
}

fn show_match(record: &MatchRecord) -> String {
    let state = match record.state {
        MatchState::Unfinished => 'U',
        MatchState::Finished => 'F',
        MatchState::Void => 'V',
    };
    let players: Vec<(usize, Option<u8>)> = record
        .players
        .iter()
        .map(|one| {
            let ticket = one.ticket.as_ref().map(|ticket| {
                // A finished match has given its payloads up.
                let kept = (record.state != MatchState::Finished).then_some(ticket.id.as_bytes()[2]);
                assert_eq!(ticket.payload[..], *kept.as_slice());
                ticket.id.as_bytes()[2]
            });
            (name(&one.player), ticket)
        })
        .collect();
    format!("{:?} {state} {players:?}", match_of(&record.id))
}

fn show_found(record: Option<MatchRecord>) -> String {
    record.map_or("no match".to_owned(), |record| show_match(&record))
}
