//! Halls in Redis.

use async_trait::async_trait;
use futures::StreamExt;
use tablemate_session::{Millis, PlayerId, SessionId, TicketId};

use super::fault::Effect;
use super::keys;
use super::link::Call;
use super::reply::Reply;
use super::scripts::{SCRIPTS, Script};
use super::{RedisStore, unknown_answer};
use crate::error::Result;
use crate::hall_store::{
    CancelAnswer, CreateTicketAnswer, HALL_RETENTION, HallId, HallStore, Holder, Kind, MatchId, MatchPlayer,
    MatchRecord, MatchState, MatchTicket, NewMatch, NewTicket, PairAnswer, PoolId, TICKETS_VISITED_MAX,
    TakeAnswer, Ticket, TicketState, Unfinished,
};
use crate::session_store::Subscription;

fn call(script: &'static Script, hall: &HallId) -> Call {
    Call::new(script, keys::hall(hall))
        .number(TICKETS_VISITED_MAX as u64)
        .number(HALL_RETENTION.0)
}

fn kind(reply: &mut Reply) -> Result<Kind> {
    let number = reply.number()?;
    u8::try_from(number)
        .map(Kind)
        .map_err(|_| reply.bad("holds no game kind"))
}

fn player(reply: &mut Reply) -> Result<PlayerId> {
    let text = reply.text()?;
    PlayerId::new(&text).map_err(|_| reply.bad("holds no player id"))
}

fn ticket(mut reply: Reply) -> Result<Ticket> {
    let id = reply.ticket()?;
    let player = player(&mut reply)?;
    let kind = kind(&mut reply)?;
    let pool = PoolId(reply.fixed()?);
    let state = reply.text()?;
    let state = match state.as_str() {
        "P" => TicketState::Paired {
            session: reply.session()?,
        },
        "M" => TicketState::Matched {
            session: reply.session()?,
        },
        "V" => TicketState::Void {
            session: reply.session()?,
        },
        "R" => TicketState::Replaced { by: reply.ticket()? },
        _ => {
            reply.bytes()?;
            match state.as_str() {
                "S" => TicketState::Searching,
                "C" => TicketState::Cancelled,
                "X" => TicketState::Expired,
                _ => return Err(reply.bad("holds no ticket state")),
            }
        }
    };
    Ok(Ticket {
        id,
        player,
        kind,
        pool,
        state,
        created_at: reply.instant()?,
        waiting_since: reply.instant()?,
        expires_at: reply.instant()?,
        payload: reply.bytes()?,
    })
}

fn match_record(mut reply: Reply) -> Result<MatchRecord> {
    let session = reply.session()?;
    let joiner = reply.text()?;
    let id = if joiner.is_empty() {
        MatchId::Creation(session)
    } else {
        MatchId::Join(
            session,
            PlayerId::new(&joiner).map_err(|_| reply.bad("holds no player id"))?,
        )
    };
    let kind = kind(&mut reply)?;
    let state = match reply.text()?.as_str() {
        "U" => MatchState::Unfinished,
        "F" => MatchState::Finished,
        "V" => MatchState::Void,
        _ => return Err(reply.bad("holds no match state")),
    };
    let created_at = reply.instant()?;
    let payload = reply.bytes()?;
    let players = reply.list()?.each(|reply| {
        let mut one = reply.list()?;
        let player = player(&mut one)?;
        let id = one.bytes()?;
        let (waiting_since, payload) = (one.instant()?, one.bytes()?);
        let id: Option<[u8; 12]> = (*id).try_into().ok();
        let ticket = id.map(|id| MatchTicket {
            id: TicketId::from_bytes(id),
            waiting_since,
            payload,
        });
        Ok(MatchPlayer { player, ticket })
    })?;
    Ok(MatchRecord {
        id,
        kind,
        players,
        created_at,
        state,
        payload,
    })
}

fn holder(mut reply: Reply) -> Result<Option<Holder>> {
    let Some(held) = reply.bytes_or_nil()? else {
        return Ok(None);
    };
    let id: Option<[u8; 12]> = held.get(1..).and_then(|id| id.try_into().ok());
    match (held.first(), id) {
        (Some(b'T'), Some(id)) => Ok(Some(Holder::Ticket(TicketId::from_bytes(id)))),
        (Some(b'S'), Some(id)) => Ok(Some(Holder::Session(SessionId::from_bytes(id)))),
        _ => Err(reply.bad("holds no claim")),
    }
}

impl RedisStore {
    async fn end_match(&self, hall: &HallId, id: &MatchId, state: &[u8]) -> Result<Option<MatchRecord>> {
        let call = call(&SCRIPTS.end_match, hall).bytes(&id.to_key()).bytes(state);
        let (_, mut reply, _) = self.run(&call, "end_match", Effect::Writes).await?;
        reply.list_or_nil()?.map(match_record).transpose()
    }
}

#[async_trait]
impl HallStore for RedisStore {
    async fn create_ticket(&self, hall: &HallId, new: &NewTicket) -> Result<CreateTicketAnswer> {
        let mut call = call(&SCRIPTS.create_ticket, hall)
            .bytes(new.id.as_bytes())
            .bytes(new.player.as_str().as_bytes())
            .bytes(&keys::claim(new.kind, &new.player))
            .number(u64::from(new.kind.0))
            .bytes(&new.pool.0)
            .number(new.lifetime.0.min(Millis::hours(24 * 365).0));
        call = match new.waiting_since {
            Some(since) => call.number(since.0),
            None => call.bytes(b""),
        };
        call = call.bytes(new.session.as_bytes()).bytes(&new.payload);
        let (word, mut reply, _) = self.run(&call, "create_ticket", Effect::Writes).await?;
        match word.as_str() {
            "existing" => Ok(CreateTicketAnswer::Existing {
                ticket: ticket(reply.list()?)?,
            }),
            "busy" => Ok(CreateTicketAnswer::Busy {
                session: reply.session()?,
            }),
            "created" => {
                let ticket = ticket(reply.list()?)?;
                let replaced = reply.bytes()?;
                let replaced: Option<[u8; 12]> = (*replaced).try_into().ok();
                let paired = reply.list_or_nil()?.map(match_record).transpose()?;
                Ok(CreateTicketAnswer::Created {
                    ticket,
                    paired,
                    replaced: replaced.map(TicketId::from_bytes),
                })
            }
            _ => Err(unknown_answer("create_ticket", &word)),
        }
    }

    async fn ticket(&self, hall: &HallId, id: TicketId) -> Result<Option<Ticket>> {
        let call = call(&SCRIPTS.ticket, hall).bytes(id.as_bytes());
        let (_, mut reply, _) = self.run(&call, "ticket", Effect::Reads).await?;
        reply.list_or_nil()?.map(ticket).transpose()
    }

    async fn cancel_ticket(&self, hall: &HallId, id: TicketId) -> Result<CancelAnswer> {
        let call = call(&SCRIPTS.cancel_ticket, hall).bytes(id.as_bytes());
        let (word, mut reply, _) = self.run(&call, "cancel_ticket", Effect::Writes).await?;
        match word.as_str() {
            "cancelled" => Ok(CancelAnswer::Cancelled),
            "missing" => Ok(CancelAnswer::Missing),
            "matched" => {
                let session = reply.session()?;
                Ok(CancelAnswer::AlreadyMatched {
                    session,
                    finished: reply.number()? != 0,
                })
            }
            _ => Err(unknown_answer("cancel_ticket", &word)),
        }
    }

    async fn expire_tickets(&self, hall: &HallId, limit: usize) -> Result<Vec<TicketId>> {
        let call = call(&SCRIPTS.expire_tickets, hall).number(limit as u64);
        let (_, mut reply, _) = self.run(&call, "expire_tickets", Effect::Writes).await?;
        reply.list()?.each(Reply::ticket)
    }

    async fn pools(&self, hall: &HallId) -> Result<Vec<PoolId>> {
        let (_, mut reply, _) = self
            .run(&call(&SCRIPTS.pools, hall), "pools", Effect::Reads)
            .await?;
        reply.list()?.each(|reply| Ok(PoolId(reply.fixed()?)))
    }

    async fn waiting(&self, hall: &HallId, pool: PoolId, limit: usize) -> Result<Vec<TicketId>> {
        let call = call(&SCRIPTS.waiting, hall).bytes(&pool.0).number(limit as u64);
        let (_, mut reply, _) = self.run(&call, "waiting", Effect::Reads).await?;
        reply.list()?.each(Reply::ticket)
    }

    async fn pair(
        &self,
        hall: &HallId,
        pool: PoolId,
        tickets: [TicketId; 2],
        session: SessionId,
    ) -> Result<PairAnswer> {
        let call = call(&SCRIPTS.pair, hall)
            .bytes(&pool.0)
            .bytes(tickets[0].as_bytes())
            .bytes(tickets[1].as_bytes())
            .bytes(session.as_bytes());
        let (word, mut reply, _) = self.run(&call, "pair", Effect::Writes).await?;
        match word.as_str() {
            "paired" => Ok(PairAnswer::Paired(match_record(reply.list()?)?)),
            "elsewhere" => Ok(PairAnswer::NotWaiting(reply.ticket()?)),
            _ => Err(unknown_answer("pair", &word)),
        }
    }

    async fn subscribe_ticket(&self, hall: &HallId, id: TicketId) -> Result<Subscription<()>> {
        let heard = self.pubsub.listen(keys::ticket_channel(hall, id)).await?;
        Ok(Box::pin(heard.map(|_| ())))
    }

    async fn take(&self, hall: &HallId, new: &NewMatch) -> Result<TakeAnswer> {
        new.check()?;
        let joiner = match &new.id {
            MatchId::Creation(_) => "",
            MatchId::Join(_, player) => player.as_str(),
        };
        let mut call = call(&SCRIPTS.take, hall)
            .bytes(&new.id.to_key())
            .bytes(new.id.session().as_bytes())
            .bytes(joiner.as_bytes())
            .number(u64::from(new.kind.0))
            .bytes(&new.payload);
        for player in &new.players {
            call = call
                .bytes(player.as_str().as_bytes())
                .bytes(&keys::claim(new.kind, player));
        }
        let (word, mut reply, _) = self.run(&call, "take", Effect::Writes).await?;
        match word.as_str() {
            "taken" => Ok(TakeAnswer::Taken(match_record(reply.list()?)?)),
            "known" => Ok(TakeAnswer::Known(match_record(reply.list()?)?)),
            "busy" => {
                let player = player(&mut reply)?;
                let wrong = reply.bad("names nobody who holds the player");
                let holder = holder(reply)?.ok_or(wrong)?;
                Ok(TakeAnswer::Busy { player, holder })
            }
            _ => Err(unknown_answer("take", &word)),
        }
    }

    async fn match_record(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>> {
        let call = call(&SCRIPTS.match_record, hall).bytes(&id.to_key());
        let (_, mut reply, _) = self.run(&call, "match_record", Effect::Reads).await?;
        reply.list_or_nil()?.map(match_record).transpose()
    }

    async fn unfinished(&self, hall: &HallId, older_than: Millis, limit: usize) -> Result<Unfinished> {
        let call = call(&SCRIPTS.unfinished, hall)
            .number(older_than.0)
            .number(limit as u64);
        let (_, mut reply, _) = self.run(&call, "unfinished", Effect::Reads).await?;
        let now = reply.instant()?;
        let matches = reply.list()?.each(|reply| match_record(reply.list()?))?;
        Ok(Unfinished { now, matches })
    }

    async fn finish_match(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>> {
        self.end_match(hall, id, b"F").await
    }

    async fn void_match(&self, hall: &HallId, id: &MatchId) -> Result<Option<MatchRecord>> {
        self.end_match(hall, id, b"V").await
    }

    async fn holder(&self, hall: &HallId, kind: Kind, player: &PlayerId) -> Result<Option<Holder>> {
        let call = call(&SCRIPTS.holder, hall).bytes(&keys::claim(kind, player));
        let (_, reply, _) = self.run(&call, "holder", Effect::Reads).await?;
        holder(reply)
    }

    async fn release(
        &self,
        hall: &HallId,
        kind: Kind,
        session: SessionId,
        players: &[PlayerId],
    ) -> Result<u64> {
        let mut call = call(&SCRIPTS.release, hall).bytes(session.as_bytes());
        for player in players {
            call = call.bytes(&keys::claim(kind, player));
        }
        let (_, mut reply, _) = self.run(&call, "release", Effect::Writes).await?;
        reply.number()
    }
}
