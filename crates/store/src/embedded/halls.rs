//! Halls in this process.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use async_trait::async_trait;
use bytes::Bytes;
use tablemate_session::{Instant, Millis, PlayerId, SessionId, TicketId};

use super::EmbeddedStore;
use crate::error::Result;
use crate::hall_store::{
    CancelAnswer, CreateTicketAnswer, HALL_RETENTION, HallId, HallStore, Holder, Kind, MatchId, MatchPlayer,
    MatchRecord, MatchState, MatchTicket, NewMatch, NewTicket, PairAnswer, PoolId, TICKETS_VISITED_MAX,
    TakeAnswer, Ticket, TicketState, Unfinished,
};
use crate::hub::lock;
use crate::session_store::Subscription;

#[derive(Clone, Default)]
pub(super) struct Hall {
    tickets: HashMap<TicketId, Ticket>,
    pools: BTreeMap<PoolId, BTreeSet<(Instant, TicketId)>>,
    expiry: BTreeSet<(Instant, TicketId)>,
    claims: HashMap<(Kind, PlayerId), Holder>,
    matches: HashMap<MatchId, MatchRecord>,
    unfinished: BTreeSet<(Instant, Vec<u8>)>,
    unfinished_ids: HashMap<Vec<u8>, MatchId>,
    /// Ended tickets and matches, and when they are forgotten.
    forget: BTreeSet<(Instant, Forget)>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Forget {
    Ticket(TicketId),
    Match(MatchId),
}

impl Hall {
    fn forget_passed(&mut self, now: Instant) {
        while let Some((at, _)) = self.forget.first() {
            if *at > now {
                break;
            }
            match self.forget.pop_first() {
                Some((_, Forget::Ticket(id))) => {
                    self.tickets.remove(&id);
                }
                Some((_, Forget::Match(id))) => {
                    self.matches.remove(&id);
                }
                None => break,
            }
        }
    }

    fn waits(&self, id: TicketId, now: Instant) -> Option<&Ticket> {
        self.tickets
            .get(&id)
            .filter(|ticket| ticket.state == TicketState::Searching && ticket.expires_at >= now)
    }

    /// Takes a ticket out of its pool.
    fn unqueue(&mut self, id: TicketId) {
        let Some(ticket) = self.tickets.get(&id) else {
            return;
        };
        self.expiry.remove(&(ticket.expires_at, id));
        if let Some(pool) = self.pools.get_mut(&ticket.pool) {
            pool.remove(&(ticket.waiting_since, id));
            if pool.is_empty() {
                self.pools.remove(&ticket.pool);
            }
        }
    }

    /// Ends a ticket that waits; its player is free.
    fn end_waiting(&mut self, id: TicketId, state: TicketState, now: Instant) {
        self.unqueue(id);
        let Some(ticket) = self.tickets.get_mut(&id) else {
            return;
        };
        ticket.state = state;
        let claim = (ticket.kind, ticket.player.clone());
        if self.claims.get(&claim) == Some(&Holder::Ticket(id)) {
            self.claims.remove(&claim);
        }
        self.forget
            .insert((now.after(HALL_RETENTION), Forget::Ticket(id)));
    }

    /// Takes two tickets into a match, who waited longer first.
    fn match_tickets(&mut self, mut tickets: [TicketId; 2], session: SessionId, now: Instant) -> MatchRecord {
        tickets.sort_by_key(|id| (self.tickets.get(id).map(|ticket| ticket.waiting_since), *id));
        let mut players = Vec::with_capacity(2);
        for id in tickets {
            self.unqueue(id);
            let Some(ticket) = self.tickets.get_mut(&id) else {
                continue;
            };
            ticket.state = TicketState::Paired { session };
            self.claims
                .insert((ticket.kind, ticket.player.clone()), Holder::Session(session));
            players.push(MatchPlayer {
                player: ticket.player.clone(),
                ticket: Some(MatchTicket {
                    id,
                    waiting_since: ticket.waiting_since,
                    payload: ticket.payload.clone(),
                }),
            });
        }
        let kind = self
            .tickets
            .get(&tickets[0])
            .map_or(Kind(0), |ticket| ticket.kind);
        self.write_match(MatchId::Creation(session), kind, players, Bytes::new(), now)
    }

    fn write_match(
        &mut self,
        id: MatchId,
        kind: Kind,
        players: Vec<MatchPlayer>,
        payload: Bytes,
        now: Instant,
    ) -> MatchRecord {
        let state = MatchState::Unfinished;
        let record = MatchRecord {
            id: id.clone(),
            kind,
            players,
            created_at: now,
            state,
            payload,
        };
        self.unfinished.insert((now, id.to_key()));
        self.unfinished_ids.insert(id.to_key(), id.clone());
        self.matches.insert(id, record.clone());
        record
    }

    /// Ends an unfinished match. Gives the record and the tickets that changed.
    fn end_match(
        &mut self,
        id: &MatchId,
        end: MatchState,
        now: Instant,
    ) -> Option<(MatchRecord, Vec<TicketId>)> {
        let record = self.matches.get_mut(id)?;
        if record.state != MatchState::Unfinished {
            return Some((record.clone(), Vec::new()));
        }
        record.state = end;
        if end == MatchState::Finished {
            // The session's log says all from now on; what is kept has to be small.
            record.payload.clear();
            let tickets = record
                .players
                .iter_mut()
                .filter_map(|player| player.ticket.as_mut());
            tickets.for_each(|ticket| ticket.payload.clear());
        }
        let record = record.clone();
        let session = id.session();
        self.unfinished.remove(&(record.created_at, id.to_key()));
        self.unfinished_ids.remove(&id.to_key());
        let forget_at = now.after(HALL_RETENTION);
        self.forget.insert((forget_at, Forget::Match(id.clone())));
        let mut changed = Vec::new();
        for player in &record.players {
            if end == MatchState::Void {
                let claim = (record.kind, player.player.clone());
                if self.claims.get(&claim) == Some(&Holder::Session(session)) {
                    self.claims.remove(&claim);
                }
            }
            let ticket = player
                .ticket
                .as_ref()
                .and_then(|ticket| self.tickets.get_mut(&ticket.id));
            if let Some(ticket) = ticket.filter(|ticket| ticket.state == TicketState::Paired { session }) {
                ticket.state = match end {
                    MatchState::Void => TicketState::Void { session },
                    _ => TicketState::Matched { session },
                };
                self.forget.insert((forget_at, Forget::Ticket(ticket.id)));
                changed.push(ticket.id);
            }
        }
        Some((record, changed))
    }

    fn create_ticket(&mut self, new: &NewTicket, now: Instant) -> (CreateTicketAnswer, Vec<TicketId>) {
        if let Some(ticket) = self.tickets.get(&new.id) {
            return (
                CreateTicketAnswer::Existing {
                    ticket: ticket.seen_at(now),
                },
                Vec::new(),
            );
        }
        let mut changed = Vec::new();
        let mut replaced = None;
        match self.claims.get(&(new.kind, new.player.clone())) {
            None => {}
            Some(Holder::Session(session)) => {
                return (CreateTicketAnswer::Busy { session: *session }, Vec::new());
            }
            Some(Holder::Ticket(old)) => {
                let old = *old;
                let state = if self.waits(old, now).is_some() {
                    replaced = Some(old);
                    TicketState::Replaced { by: new.id }
                } else {
                    TicketState::Expired
                };
                self.end_waiting(old, state, now);
                changed.push(old);
            }
        }
        let ticket = Ticket {
            id: new.id,
            player: new.player.clone(),
            kind: new.kind,
            pool: new.pool,
            state: TicketState::Searching,
            created_at: now,
            waiting_since: new.waiting_since.map_or(now, |since| since.min(now)),
            expires_at: now.after(new.lifetime),
            payload: new.payload.clone(),
        };
        let partner = self.pools.get(&new.pool).and_then(|pool| {
            let mut visited = pool.iter().take(TICKETS_VISITED_MAX);
            visited
                .find(|(_, id)| self.waits(*id, now).is_some())
                .map(|(_, id)| *id)
        });
        let is_new_match = !self.matches.contains_key(&MatchId::Creation(new.session));
        self.tickets.insert(new.id, ticket.clone());
        if let Some(partner) = partner.filter(|_| is_new_match) {
            let record = self.match_tickets([partner, new.id], new.session, now);
            changed.push(partner);
            let ticket = Ticket {
                state: TicketState::Paired { session: new.session },
                ..ticket
            };
            let paired = Some(record);
            return (
                CreateTicketAnswer::Created {
                    ticket,
                    paired,
                    replaced,
                },
                changed,
            );
        }
        self.pools
            .entry(new.pool)
            .or_default()
            .insert((ticket.waiting_since, new.id));
        self.expiry.insert((ticket.expires_at, new.id));
        self.claims
            .insert((new.kind, new.player.clone()), Holder::Ticket(new.id));
        (
            CreateTicketAnswer::Created {
                ticket,
                paired: None,
                replaced,
            },
            changed,
        )
    }

    fn pair(&mut self, pool: PoolId, tickets: [TicketId; 2], session: SessionId, now: Instant) -> PairAnswer {
        if let Some(record) = self.matches.get(&MatchId::Creation(session)) {
            let of_these = |id| {
                record
                    .players
                    .iter()
                    .any(|player| player.ticket.as_ref().is_some_and(|t| t.id == id))
            };
            return if of_these(tickets[0]) && of_these(tickets[1]) {
                PairAnswer::Paired(record.clone())
            } else {
                PairAnswer::NotWaiting(tickets[0])
            };
        }
        for id in tickets {
            if self.waits(id, now).is_none_or(|ticket| ticket.pool != pool) {
                return PairAnswer::NotWaiting(id);
            }
        }
        if tickets[0] == tickets[1] {
            return PairAnswer::NotWaiting(tickets[1]);
        }
        PairAnswer::Paired(self.match_tickets(tickets, session, now))
    }

    fn take(&mut self, new: &NewMatch, now: Instant) -> (TakeAnswer, Vec<TicketId>) {
        if let Some(record) = self.matches.get(&new.id) {
            return (TakeAnswer::Known(record.clone()), Vec::new());
        }
        let session = new.id.session();
        let mut expired = Vec::new();
        for player in &new.players {
            match self.claims.get(&(new.kind, player.clone())) {
                None => {}
                Some(Holder::Session(held)) if *held == session => {}
                Some(Holder::Ticket(ticket)) if self.waits(*ticket, now).is_none() => expired.push(*ticket),
                Some(holder) => {
                    let (player, holder) = (player.clone(), *holder);
                    return (TakeAnswer::Busy { player, holder }, Vec::new());
                }
            }
        }
        for ticket in &expired {
            self.end_waiting(*ticket, TicketState::Expired, now);
        }
        let mut players = Vec::with_capacity(new.players.len());
        for player in &new.players {
            self.claims
                .insert((new.kind, player.clone()), Holder::Session(session));
            players.push(MatchPlayer {
                player: player.clone(),
                ticket: None,
            });
        }
        let record = self.write_match(new.id.clone(), new.kind, players, new.payload.clone(), now);
        (TakeAnswer::Taken(record), expired)
    }
}

impl EmbeddedStore {
    fn with_hall<T>(&self, hall: &HallId, work: impl FnOnce(&mut Hall, Instant) -> T) -> T {
        let mut halls = lock(&self.halls);
        let now = self.clock_now();
        let hall = halls.entry(hall.clone()).or_default();
        hall.forget_passed(now);
        work(hall, now)
    }

    fn wake(&self, hall: &HallId, tickets: &[TicketId]) {
        for ticket in tickets {
            self.tickets.publish(&(hall.clone(), *ticket), || ());
        }
    }

    fn end_match(&self, hall: &HallId, id: &MatchId, end: MatchState) -> Option<MatchRecord> {
        let (record, changed) = self.with_hall(hall, |hall, now| hall.end_match(id, end, now))?;
        self.wake(hall, &changed);
        Some(record)
    }
}

#[async_trait]
impl HallStore for EmbeddedStore {
    async fn create_ticket(&self, hall: &HallId, ticket: &NewTicket) -> Result<CreateTicketAnswer> {
        let (answer, changed) = self.with_hall(hall, |hall, now| hall.create_ticket(ticket, now));
        self.wake(hall, &changed);
        Ok(answer)
    }

    async fn ticket(&self, hall: &HallId, id: TicketId) -> Result<Option<Ticket>> {
        Ok(self.with_hall(hall, |hall, now| {
            hall.tickets.get(&id).map(|ticket| ticket.seen_at(now))
        }))
    }

    async fn cancel_ticket(&self, hall: &HallId, id: TicketId) -> Result<CancelAnswer> {
        let answer = self.with_hall(hall, |hall, now| {
            let Some(ticket) = hall.tickets.get(&id) else {
                return CancelAnswer::Missing;
            };
            match ticket.state {
                TicketState::Searching => {
                    let passed = ticket.expires_at < now;
                    let state = if passed {
                        TicketState::Expired
                    } else {
                        TicketState::Cancelled
                    };
                    hall.end_waiting(id, state, now);
                    CancelAnswer::Cancelled
                }
                TicketState::Paired { session } => CancelAnswer::AlreadyMatched {
                    session,
                    finished: false,
                },
                TicketState::Matched { session } => CancelAnswer::AlreadyMatched {
                    session,
                    finished: true,
                },
                _ => CancelAnswer::Cancelled,
            }
        });
        self.wake(hall, &[id]);
        Ok(answer)
    }

    async fn expire_tickets(&self, hall: &HallId, limit: usize) -> Result<Vec<TicketId>> {
        let expired = self.with_hall(hall, |hall, now| {
            let passed = hall.expiry.iter().take_while(|(at, _)| *at < now);
            let ids: Vec<TicketId> = passed
                .take(limit.min(TICKETS_VISITED_MAX))
                .map(|(_, id)| *id)
                .collect();
            for id in &ids {
                hall.end_waiting(*id, TicketState::Expired, now);
            }
            ids
        });
        self.wake(hall, &expired);
        Ok(expired)
    }

    async fn pools(&self, hall: &HallId) -> Result<Vec<PoolId>> {
        Ok(self.with_hall(hall, |hall, _| hall.pools.keys().copied().collect()))
    }

    async fn waiting(&self, hall: &HallId, pool: PoolId, limit: usize) -> Result<Vec<TicketId>> {
        Ok(self.with_hall(hall, |hall, _| {
            let queue = hall.pools.get(&pool).into_iter().flatten();
            queue
                .take(limit.min(TICKETS_VISITED_MAX))
                .map(|(_, id)| *id)
                .collect()
        }))
    }

    async fn pair(
        &self,
        hall: &HallId,
        pool: PoolId,
        tickets: [TicketId; 2],
        session: SessionId,
    ) -> Result<PairAnswer> {
        Ok(self.with_hall(hall, |hall, now| hall.pair(pool, tickets, session, now)))
    }

    async fn subscribe_ticket(&self, hall: &HallId, id: TicketId) -> Result<Subscription<()>> {
        Ok(Box::pin(self.tickets.subscribe((hall.clone(), id), ())))
    }

    async fn take(&self, hall: &HallId, new: &NewMatch) -> Result<TakeAnswer> {
        new.check()?;
        let (answer, expired) = self.with_hall(hall, |hall, now| hall.take(new, now));
        self.wake(hall, &expired);
        Ok(answer)
    }

    async fn match_record(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>> {
        Ok(self.with_hall(hall, |hall, _| hall.matches.get(id).cloned()))
    }

    async fn unfinished(&self, hall: &HallId, older_than: Millis, limit: usize) -> Result<Unfinished> {
        Ok(self.with_hall(hall, |hall, now| {
            let latest = Instant(now.0.saturating_sub(older_than.0));
            let old = hall.unfinished.iter().take_while(|(at, _)| *at <= latest);
            let ids = old.filter_map(|(_, key)| hall.unfinished_ids.get(key));
            let records = ids.filter_map(|id| hall.matches.get(id).cloned());
            Unfinished {
                now,
                matches: records.take(limit.min(TICKETS_VISITED_MAX)).collect(),
            }
        }))
    }

    async fn finish_match(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>> {
        Ok(self.end_match(hall, id, MatchState::Finished))
    }

    async fn void_match(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>> {
        Ok(self.end_match(hall, id, MatchState::Void))
    }

    async fn holder(&self, hall: &HallId, kind: Kind, player: &PlayerId) -> Result<Option<Holder>> {
        Ok(self.with_hall(hall, |hall, _| hall.claims.get(&(kind, player.clone())).copied()))
    }

    async fn release(
        &self,
        hall: &HallId,
        kind: Kind,
        session: SessionId,
        players: &[PlayerId],
    ) -> Result<u64> {
        Ok(self.with_hall(hall, |hall, _| {
            let mut released = 0;
            for player in players {
                let claim = (kind, player.clone());
                if hall.claims.get(&claim) == Some(&Holder::Session(session)) {
                    hall.claims.remove(&claim);
                    released += 1;
                }
            }
            released
        }))
    }
}
