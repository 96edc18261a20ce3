//! Settlement: the results in a shard's outbox become changes of players' records, each exactly once (S-20).
//!
//! The outbox is read at least once; a record is changed by compare-and-set together with the result's id, so that a
//! repetition is noticed there. Both players of a game are settled independently of each other: a crash between them, or
//! two workers at once, leave nothing undone and do nothing twice.

pub mod arithmetic;
mod entry;

use std::sync::Arc;

use prost::Message as _;
use tablemate_protocol::storage::v1::PlayerRecord;
use tablemate_session::PlayerId;
use tablemate_session::seat::Seat;
use tablemate_store::hall_store::HallId;
use tablemate_store::player_store::{ApplyAnswer, ApplyResult, PlayerStore, ResultId};
use tablemate_store::session_store::{MarkAnswer, OutboxCursor, OutboxEntry, Read};
use tablemate_store::{Cursor, HallStore, Result, SessionStore, StoreError, Stores, Tag};
use tracing::{debug, error, warn};

use crate::metrics::Metrics;
use arithmetic::{Unreadable, Verdict, listing, newcomer, settle};
use entry::{Ending, Game, Parsed, What};

/// The name under which settlement notes how far it has read an outbox.
pub const RECEIVER: &str = "settlement";
/// How many entries are read at once.
const BATCH: usize = 256;
/// How often one record may change under our hands before the entry is left for the next round.
const TRIES_MAX: usize = 16;

/// What one round over a shard's outbox did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries read.
    pub entries: u64,
    /// Changes of records that this round made: up to two a game.
    pub applied: u64,
    /// Changes that had been made before.
    pub repeated: u64,
    /// Results that contradict what was applied under their id (the store lost a log's tail): never applied.
    pub contradictions: u64,
    /// Games that touch no record.
    pub untouched: u64,
    /// Sessions marked as settled.
    pub sessions_settled: u64,
    /// Entries that say nothing readable; they are left out.
    pub unreadable: u64,
    /// Claims of players that were released.
    pub released: u64,
    /// Whether there may be more to read.
    pub more: bool,
}

/// Settles the outboxes of shards.
#[derive(Clone)]
pub struct Settler {
    sessions: Arc<dyn SessionStore>,
    players: Arc<dyn PlayerStore>,
    metrics: Metrics,
}

impl Settler {
    /// Settlement on these stores.
    #[must_use]
    pub fn new(stores: &Stores, metrics: Metrics) -> Self {
        Self {
            sessions: stores.sessions.clone(),
            players: stores.players.clone(),
            metrics,
        }
    }

    /// Settles what lies after the noted place, at most one batch, and notes the new place.
    ///
    /// # Errors
    /// The store's. What was settled before stays settled; the noted place is behind it, which is harmless.
    pub async fn settle_noted(&self, shard: u16) -> Result<Progress> {
        let after = self.sessions.outbox_position(shard, RECEIVER).await?;
        self.settle_after(shard, after)
            .await
            .map(|(progress, _)| progress)
    }

    /// Settles what lies after `after`, at most one batch; notes and gives the new place.
    ///
    /// # Errors
    /// As [`settle_noted`](Self::settle_noted).
    pub async fn settle_after(&self, shard: u16, after: OutboxCursor) -> Result<(Progress, OutboxCursor)> {
        let entries = self.sessions.outbox_read(shard, after, BATCH).await?;
        let mut progress = Progress {
            more: entries.len() >= BATCH,
            ..Progress::default()
        };
        let mut done = after;
        let mut failure = None;
        for entry in &entries {
            if let Err(error) = self.settle_entry(entry, &mut progress).await {
                failure = Some(error);
                break;
            }
            progress.entries += 1;
            done = entry.cursor;
        }
        if done != after {
            self.sessions.set_outbox_position(shard, RECEIVER, done).await?;
        }
        self.metrics.settled(&progress);
        match failure {
            Some(error) => Err(error),
            None => Ok((progress, done)),
        }
    }

    async fn settle_entry(&self, entry: &OutboxEntry, progress: &mut Progress) -> Result<()> {
        let parsed = match Parsed::of(&entry.payload) {
            Ok(parsed) => parsed,
            Err(why) => {
                unreadable(entry, &why, progress);
                return Ok(());
            }
        };
        let Some(tag) = self.tag_of(&parsed).await? else {
            unreadable(entry, &Unreadable::Tag, progress);
            return Ok(());
        };
        match &parsed.what {
            What::Game(game) => match game.verdicts() {
                Ok(None) => progress.untouched += 1,
                Ok(Some(verdicts)) => {
                    let seats = [Seat::One, Seat::Two].map(|seat| (seat, verdicts[seat.index()]));
                    let [one, two] =
                        seats.map(|(seat, verdict)| self.apply(&parsed, game, tag, seat, verdict));
                    // Both are tried, whatever becomes of the other.
                    let (one, two) = futures::join!(one, two);
                    for applied in [one?, two?] {
                        match applied {
                            Applied::Now => progress.applied += 1,
                            Applied::Before => progress.repeated += 1,
                            Applied::Contradiction => progress.contradictions += 1,
                        }
                    }
                }
                Err(why) => unreadable(entry, &why, progress),
            },
            What::Ending(_) => {
                let cursor = Cursor {
                    sequence: parsed.sequence,
                    tag,
                };
                match self.sessions.mark_settled(parsed.session, cursor).await? {
                    MarkAnswer::Marked => progress.sessions_settled += 1,
                    MarkAnswer::Missing => debug!(session = %parsed.session, "settled session is gone"),
                    MarkAnswer::Diverged => {
                        progress.contradictions += 1;
                        warn!(session = %parsed.session, "the log does not hold the ending that was settled");
                    }
                }
            }
        }
        Ok(())
    }

    /// The log's tag where the entry's fact is. Entries carry it; of one that does not, the log is asked.
    async fn tag_of(&self, parsed: &Parsed) -> Result<Option<Tag>> {
        if let Some(tag) = parsed.tag {
            return Ok(Some(tag));
        }
        Ok(
            match self.sessions.read(parsed.session, Cursor::START, 0).await? {
                Read::Found(tail) => usize::try_from(parsed.sequence)
                    .ok()
                    .and_then(|sequence| sequence.checked_sub(1))
                    .and_then(|index| tail.entries.get(index))
                    .map(tablemate_store::Entry::tag),
                Read::Diverged | Read::Missing { .. } => None,
            },
        )
    }

    async fn apply(
        &self,
        parsed: &Parsed,
        game: &Game,
        tag: Tag,
        seat: Seat,
        verdict: Verdict,
    ) -> Result<Applied> {
        let player = &game.players[seat.index()];
        let opponent = game.frozen(seat.other());
        let result = ResultId {
            session: parsed.session,
            game: game.number,
            correction: 0,
        };
        let mut current = self.players.record(player, game.kind).await?;
        for _ in 0..TRIES_MAX {
            let record = match &current.bytes {
                None => newcomer(),
                Some(bytes) => PlayerRecord::decode(bytes.clone()).map_err(|error| StoreError::Corrupt {
                    what: "player record",
                    why: error.to_string(),
                })?,
            };
            let settled = settle(&record, &game.outcome, seat, verdict, opponent);
            let line = listing(
                parsed.session,
                &game.outcome,
                seat,
                opponent,
                parsed.at,
                settled.record.rating,
            );
            let apply = ApplyResult {
                player: player.clone(),
                kind: game.kind,
                result,
                tag,
                expected_version: current.version,
                record: Some(settled.record.encode_to_vec().into()),
                change: settled.change.encode_to_vec().into(),
                listing: Some(line.encode_to_vec().into()),
            };
            match self.players.apply_result(&apply).await? {
                ApplyAnswer::Applied => return Ok(Applied::Now),
                ApplyAnswer::AlreadyApplied => return Ok(Applied::Before),
                ApplyAnswer::Contradiction { .. } => {
                    error!(
                        session = %parsed.session, game = game.number, %seat,
                        "a result contradicts the one that was applied: not applied"
                    );
                    return Ok(Applied::Contradiction);
                }
                ApplyAnswer::VersionMismatch { current: newer } => current = newer,
            }
        }
        Err(StoreError::Unavailable {
            why: "a player's record changed each time".into(),
        })
    }
}

/// What became of one player's change.
enum Applied {
    Now,
    Before,
    Contradiction,
}

fn unreadable(entry: &OutboxEntry, why: &Unreadable, progress: &mut Progress) {
    progress.unreadable += 1;
    error!(
        at_ms = entry.cursor.millis,
        number = entry.cursor.number,
        %why,
        "an outbox entry cannot be settled and is left out"
    );
}

/// Releases the claims of the players of ended sessions: a receiver of its own, because a hall lies in a slot of its own
/// and may be out of reach when records are not (S-28).
#[derive(Clone)]
pub struct Releaser {
    sessions: Arc<dyn SessionStore>,
    halls: Arc<dyn HallStore>,
    hall: HallId,
    receiver: Arc<str>,
    metrics: Metrics,
}

impl Releaser {
    /// Releases claims in this hall.
    #[must_use]
    pub fn new(stores: &Stores, hall: HallId, metrics: Metrics) -> Self {
        let receiver = format!("hall-{}", hall.as_str()).into();
        Self {
            sessions: stores.sessions.clone(),
            halls: stores.halls.clone(),
            hall,
            receiver,
            metrics,
        }
    }

    /// How far the outbox was read.
    ///
    /// # Errors
    /// The store's.
    pub async fn noted(&self, shard: u16) -> Result<OutboxCursor> {
        self.sessions.outbox_position(shard, &self.receiver).await
    }

    /// Handles what lies after the noted place, at most one batch, and notes the new place.
    ///
    /// # Errors
    /// The store's; repeating is harmless.
    pub async fn release_noted(&self, shard: u16) -> Result<Progress> {
        let after = self.noted(shard).await?;
        self.release_after(shard, after)
            .await
            .map(|(progress, _)| progress)
    }

    /// Handles what lies after `after`, at most one batch; notes and gives the new place.
    ///
    /// # Errors
    /// As [`release_noted`](Self::release_noted).
    pub async fn release_after(&self, shard: u16, after: OutboxCursor) -> Result<(Progress, OutboxCursor)> {
        let entries = self.sessions.outbox_read(shard, after, BATCH).await?;
        let mut progress = Progress {
            more: entries.len() >= BATCH,
            ..Progress::default()
        };
        let mut done = after;
        for entry in &entries {
            // What cannot be read was counted by settlement.
            if let Ok(parsed) = Parsed::of(&entry.payload)
                && let What::Ending(Ending { kind, players }) = &parsed.what
                && !players.is_empty()
            {
                let players: &[PlayerId] = players;
                progress.released += self
                    .halls
                    .release(&self.hall, *kind, parsed.session, players)
                    .await?;
            }
            progress.entries += 1;
            done = entry.cursor;
        }
        if done != after {
            self.sessions
                .set_outbox_position(shard, &self.receiver, done)
                .await?;
        }
        self.metrics.released(progress.released);
        Ok((progress, done))
    }

    /// Handles everything that lies in the shard's outbox now.
    ///
    /// # Errors
    /// As [`release_noted`](Self::release_noted).
    pub async fn catch_up(&self, shard: u16) -> Result<()> {
        while self.release_noted(shard).await?.more {}
        Ok(())
    }
}
