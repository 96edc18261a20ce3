//! `tablemate.v1.PlayerService`: reads what settlement wrote.

use std::sync::Arc;

use prost::Message;
use tablemate_protocol::convert::{Faults, Reason, game, ids, time};
use tablemate_protocol::storage::v1 as stored;
use tablemate_protocol::v1;
use tablemate_protocol::v1::player_service_server::PlayerService;
use tablemate_session::{Instant, SessionId};
use tablemate_store::hall_store::Holder;
use tonic::{Request, Response, Status};

use super::{list, token};
use crate::core::{Core, errors, store_kind};

const PURPOSE: &str = "page of games";

/// The service.
#[derive(Clone)]
pub(crate) struct PlayerServer {
    pub core: Arc<Core>,
}

#[tonic::async_trait]
impl PlayerService for PlayerServer {
    async fn get_player(
        &self,
        request: Request<v1::GetPlayerRequest>,
    ) -> Result<Response<v1::GetPlayerResponse>, Status> {
        let wire = request.into_inner();
        let mut faults = Faults::none();
        let id = faults.take(ids::player_id("player_id", &wire.player_id));
        let kind = faults.take(game::kind("game_kind", wire.game_kind));
        let (Some(id), Some(kind)) = (id, kind) else {
            return Err(faults.into());
        };
        let halls = &self.core.stores.halls;
        let (record, holder) = tokio::join!(
            self.core.record(&id, kind),
            halls.holder(&self.core.options.hall, store_kind(kind), &id)
        );
        // A player never seen has the values that everybody starts with.
        let record = record?.unwrap_or_else(|| stored::PlayerRecord {
            rating: 1_500.0,
            deviation: 350.0,
            volatility: 0.06,
            ..Default::default()
        });
        let live = match holder.map_err(errors::store)? {
            Some(Holder::Session(session)) => self.live(session).await?,
            _ => None,
        };
        let player = v1::Player {
            player_id: wire.player_id,
            game_kind: wire.game_kind,
            points: record.points,
            wins: record.wins,
            draws: record.draws,
            losses: record.losses,
            escapes: record.escapes,
            current_streak: record.current_streak,
            longest_streak: record.longest_streak,
            rating: record.rating,
            deviation: record.deviation,
            volatility: record.volatility,
            live_session_id: live.map(|session| session.to_string()).unwrap_or_default(),
        };
        Ok(Response::new(v1::GetPlayerResponse { player: Some(player) }))
    }

    async fn list_games(
        &self,
        request: Request<v1::ListGamesRequest>,
    ) -> Result<Response<v1::ListGamesResponse>, Status> {
        let wire = request.into_inner();
        let deployment = self.core.stores.sessions.deployment();
        let mut faults = Faults::none();
        let id = faults.take(ids::player_id("player_id", &wire.player_id));
        let kind = faults.take(game::kind("game_kind", wire.game_kind));
        let size = faults.take(list::page_size(wire.page_size));
        let offset = if wire.page_token.is_empty() {
            Some(0)
        } else {
            let offset = token::open(deployment, PURPOSE, &wire.page_token)
                .and_then(|bytes| bytes.try_into().ok())
                .map(u32::from_be_bytes);
            if offset.is_none() {
                faults.add("page_token", Reason::BadPageToken, "is not a token of this list");
            }
            offset
        };
        let (Some(id), Some(kind), Some(size), Some(offset)) = (id, kind, size, offset) else {
            return Err(faults.into());
        };
        let listed = self
            .core
            .stores
            .players
            .games(&id, store_kind(kind), offset as usize, size)
            .await
            .map_err(errors::store)?;
        let full = listed.len() == size;
        let games = listed
            .into_iter()
            .map(|bytes| stored::PlayerGameEntry::decode(bytes).ok().and_then(to_wire))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(errors::corrupt)?;
        let next = offset.saturating_add(u32::try_from(size).unwrap_or(u32::MAX));
        Ok(Response::new(v1::ListGamesResponse {
            games,
            next_page_token: if full {
                token::seal(deployment, PURPOSE, &next.to_be_bytes())
            } else {
                String::new()
            },
        }))
    }
}

impl PlayerServer {
    /// The session of a claim, if it exists and is not over: claims are given back a little later than sessions end.
    async fn live(&self, session: SessionId) -> Result<Option<SessionId>, Status> {
        match self.core.fresh(session).await {
            Ok(fresh) => Ok(fresh.session.ended().is_none().then_some(session)),
            Err(refusal) if refusal.reason == Reason::SessionNotFound => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

fn to_wire(entry: stored::PlayerGameEntry) -> Option<v1::PlayerGame> {
    let session = SessionId::from_bytes(entry.session.try_into().ok()?);
    Some(v1::PlayerGame {
        session_id: session.to_string(),
        seat: entry.seat,
        opponent_id: entry.opponent,
        result: Some(v1::GameResult::decode(entry.result.as_slice()).ok()?),
        ended_at: Some(time::timestamp(Instant(entry.ended_at_ms))),
        rating_after: entry.rating_after,
    })
}
