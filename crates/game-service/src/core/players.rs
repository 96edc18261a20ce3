//! What a session freezes of its players' records when they are seated (S-20, S-29).

use prost::Message;
use tablemate_engine::GameKind;
use tablemate_protocol::convert::Refusal;
use tablemate_protocol::storage::v1 as stored;
use tablemate_session::PlayerId;
use tablemate_session::limits::OPENINGS_MAX;
use tablemate_session::player::{Openings, Player, Rating};
use tablemate_store::hall_store::Kind;

use super::{Core, errors};

/// The kind as the store numbers it.
pub(crate) fn store_kind(kind: GameKind) -> Kind {
    Kind(kind.code())
}

impl Core {
    /// A player's record in a kind of game; `None` for one never seen.
    pub async fn record(
        &self,
        player: &PlayerId,
        kind: GameKind,
    ) -> Result<Option<stored::PlayerRecord>, Refusal> {
        let record = self
            .stores
            .players
            .record(player, store_kind(kind))
            .await
            .map_err(errors::store)?;
        let Some(bytes) = record.bytes else {
            return Ok(None);
        };
        stored::PlayerRecord::decode(bytes).map(Some).map_err(|error| {
            tracing::error!(%error, "a player's record cannot be read");
            errors::corrupt()
        })
    }

    /// The player with rating and openings as they are now.
    pub async fn frozen(&self, id: PlayerId, kind: GameKind) -> Result<Player, Refusal> {
        let Some(record) = self.record(&id, kind).await? else {
            return Ok(Player::new(id));
        };
        let games = record.opened_len.min(u32::from(OPENINGS_MAX));
        let counted = record.opened_bits & 1_u32.unbounded_shl(games).wrapping_sub(1);
        Ok(Player {
            rating: Rating {
                rating_centi: (record.rating * 100.0).round() as i32,
                deviation_centi: (record.deviation * 100.0).round() as u32,
                volatility_micro: (record.volatility * 1e6).round() as u32,
            },
            openings: Openings {
                opened: u8::try_from(counted.count_ones()).unwrap_or(OPENINGS_MAX),
                games: u8::try_from(games).unwrap_or(OPENINGS_MAX),
            },
            id,
        })
    }
}
