//! Players' records in Redis.

use async_trait::async_trait;
use bytes::Bytes;
use redis::Value;
use tablemate_session::PlayerId;

use super::fault::Effect;
use super::link::Call;
use super::reply::Reply;
use super::scripts::SCRIPTS;
use super::{RedisStore, keys, unknown_answer};
use crate::error::Result;
use crate::hall_store::Kind;
use crate::player_store::{
    AppliedResult, ApplyAnswer, ApplyResult, GAMES_LISTED_MAX, PlayerRecord, PlayerStore, ResultId,
};
use crate::tag::{TAG_BYTES, Tag};

fn result_key(result: ResultId) -> Vec<u8> {
    let mut key = result.session.as_bytes().to_vec();
    key.extend_from_slice(&result.game.to_be_bytes());
    key.extend_from_slice(&result.correction.to_be_bytes());
    key
}

#[async_trait]
impl PlayerStore for RedisStore {
    async fn record(&self, player: &PlayerId, kind: Kind) -> Result<PlayerRecord> {
        let [record, ..] = keys::player(player, kind);
        let mut command = redis::cmd("HMGET");
        command.arg(&record).arg("v").arg("d");
        let mut reply = Reply::new(
            "record",
            self.link
                .command("record", &record, &command, Effect::Reads)
                .await?,
        )?;
        let version = match reply.bytes_or_nil()? {
            None => 0,
            Some(text) => String::from_utf8_lossy(&text)
                .parse()
                .map_err(|_| reply.bad("holds no version"))?,
        };
        Ok(PlayerRecord {
            version,
            bytes: reply.bytes_or_nil()?,
        })
    }

    async fn apply_result(&self, apply: &ApplyResult) -> Result<ApplyAnswer> {
        let flag = |is: bool| u64::from(is);
        let call = Call::new(&SCRIPTS.apply_result, keys::player(&apply.player, apply.kind))
            .bytes(&result_key(apply.result))
            .bytes(&apply.tag.0)
            .number(apply.expected_version)
            .number(flag(apply.record.is_some()))
            .bytes(apply.record.as_deref().unwrap_or_default())
            .bytes(&apply.change)
            .number(flag(apply.listing.is_some()))
            .bytes(apply.listing.as_deref().unwrap_or_default())
            .number(self.applied_kept.0)
            .number(GAMES_LISTED_MAX as u64);
        let (word, mut reply, _) = self.run(&call, "apply_result", Effect::Writes).await?;
        match word.as_str() {
            "applied" => Ok(ApplyAnswer::Applied),
            "already" => Ok(ApplyAnswer::AlreadyApplied),
            "contradiction" => Ok(ApplyAnswer::Contradiction {
                tag: Tag(reply.fixed()?),
            }),
            "version" => {
                let version = reply.number()?;
                let current = PlayerRecord {
                    version,
                    bytes: reply.bytes_or_nil()?,
                };
                Ok(ApplyAnswer::VersionMismatch { current })
            }
            _ => Err(unknown_answer("apply_result", &word)),
        }
    }

    async fn applied(
        &self,
        player: &PlayerId,
        kind: Kind,
        result: ResultId,
    ) -> Result<Option<AppliedResult>> {
        let [_, applied, ..] = keys::player(player, kind);
        let mut command = redis::cmd("HGET");
        command.arg(&applied).arg(result_key(result));
        let value = self
            .link
            .command("applied", &applied, &command, Effect::Reads)
            .await?;
        let mut reply = Reply::new("applied", Value::Array(vec![value]))?;
        let Some(stored) = reply.bytes_or_nil()? else {
            return Ok(None);
        };
        let tag = stored.get(..TAG_BYTES).and_then(|tag| tag.try_into().ok());
        let tag = Tag(tag.ok_or_else(|| reply.bad("holds no tag"))?);
        Ok(Some(AppliedResult {
            tag,
            change: stored.slice(TAG_BYTES..),
        }))
    }

    async fn games(&self, player: &PlayerId, kind: Kind, offset: usize, limit: usize) -> Result<Vec<Bytes>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let [.., games] = keys::player(player, kind);
        let mut command = redis::cmd("LRANGE");
        command
            .arg(&games)
            .arg(offset)
            .arg(offset.saturating_add(limit) - 1);
        let value = self
            .link
            .command("games", &games, &command, Effect::Reads)
            .await?;
        Reply::new("games", value)?.each(Reply::bytes)
    }
}
