//! Players' records in this process.

use std::collections::{HashMap, VecDeque};

use async_trait::async_trait;
use bytes::Bytes;
use tablemate_session::{Instant, PlayerId};

use super::EmbeddedStore;
use crate::error::Result;
use crate::hall_store::Kind;
use crate::hub::lock;
use crate::player_store::{
    AppliedResult, ApplyAnswer, ApplyResult, GAMES_LISTED_MAX, PlayerRecord, PlayerStore, ResultId,
};

pub(super) type Players = HashMap<(PlayerId, Kind), Player>;

#[derive(Clone, Default)]
pub(super) struct Player {
    record: PlayerRecord,
    applied: HashMap<ResultId, AppliedResult>,
    /// What was applied when, the oldest first.
    order: VecDeque<(Instant, ResultId)>,
    games: VecDeque<Bytes>,
}

#[async_trait]
impl PlayerStore for EmbeddedStore {
    async fn record(&self, player: &PlayerId, kind: Kind) -> Result<PlayerRecord> {
        let players = lock(&self.players);
        Ok(players
            .get(&(player.clone(), kind))
            .map(|player| player.record.clone())
            .unwrap_or_default())
    }

    async fn apply_result(&self, apply: &ApplyResult) -> Result<ApplyAnswer> {
        let now = self.clock_now();
        let mut players = lock(&self.players);
        let player = players.entry((apply.player.clone(), apply.kind)).or_default();
        if let Some(applied) = player.applied.get(&apply.result) {
            return Ok(if applied.tag == apply.tag {
                ApplyAnswer::AlreadyApplied
            } else {
                ApplyAnswer::Contradiction { tag: applied.tag }
            });
        }
        if let Some(record) = &apply.record {
            if player.record.version != apply.expected_version {
                return Ok(ApplyAnswer::VersionMismatch {
                    current: player.record.clone(),
                });
            }
            player.record.version += 1;
            player.record.bytes = Some(record.clone());
        }
        let applied = AppliedResult {
            tag: apply.tag,
            change: apply.change.clone(),
        };
        player.applied.insert(apply.result, applied);
        player.order.push_back((now, apply.result));
        while player
            .order
            .front()
            .is_some_and(|(at, _)| now.since(*at) > self.applied_kept)
        {
            if let Some((_, old)) = player.order.pop_front() {
                player.applied.remove(&old);
            }
        }
        if let Some(listing) = &apply.listing {
            player.games.push_front(listing.clone());
            player.games.truncate(GAMES_LISTED_MAX);
        }
        Ok(ApplyAnswer::Applied)
    }

    async fn applied(
        &self,
        player: &PlayerId,
        kind: Kind,
        result: ResultId,
    ) -> Result<Option<AppliedResult>> {
        let players = lock(&self.players);
        let player = players.get(&(player.clone(), kind));
        Ok(player.and_then(|player| player.applied.get(&result).cloned()))
    }

    async fn games(&self, player: &PlayerId, kind: Kind, offset: usize, limit: usize) -> Result<Vec<Bytes>> {
        let players = lock(&self.players);
        let games = players.get(&(player.clone(), kind)).map(|player| &player.games);
        Ok(games
            .into_iter()
            .flatten()
            .skip(offset)
            .take(limit)
            .cloned()
            .collect())
    }
}
