//! `tablemate.v1.ResultService`: the outboxes of all shards as one stream, at least once, in order per session (S-21).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use prost::Message;
use tablemate_engine::GameKind;
use tablemate_engine::game::{Move, Start};
use tablemate_protocol::convert::{Faults, Reason, Refusal, session, time};
use tablemate_protocol::storage::v1 as stored;
use tablemate_protocol::v1;
use tablemate_protocol::v1::result_service_server::ResultService;
use tablemate_protocol::v1::stream_results_response::Entry;
use tablemate_serve::Ending;
use tablemate_session::{Instant, SessionId};
use tablemate_store::session_store::OutboxCursor;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use super::token;
use crate::core::{Core, errors};

const PURPOSE: &str = "place in all results";
const BATCH: usize = 64;
const QUEUE: usize = 64;
/// How long a stream that follows waits at most before it looks again: a lost wake-up delays, it does not lose.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a reader may take for one message before it is cut off; it resumes by its cursor.
const SLOW: Duration = Duration::from_secs(30);

/// The service.
#[derive(Clone)]
pub(crate) struct ResultServer {
    pub core: Arc<Core>,
    pub tasks: TaskTracker,
}

#[tonic::async_trait]
impl ResultService for ResultServer {
    type StreamResultsStream = Pin<Box<dyn Stream<Item = Result<v1::StreamResultsResponse, Status>> + Send>>;

    async fn stream_results(
        &self,
        request: Request<v1::StreamResultsRequest>,
    ) -> Result<Response<Self::StreamResultsStream>, Status> {
        let ending = Ending::of(request.extensions());
        let wire = request.into_inner();
        let deployment = self.core.stores.sessions.deployment();
        let places = if wire.cursor.is_empty() {
            vec![OutboxCursor::START; usize::from(deployment.shards)]
        } else {
            token::open(deployment, PURPOSE, &wire.cursor)
                .and_then(|bytes| read_places(&bytes, deployment.shards))
                .ok_or_else(|| Faults::one("cursor", Reason::BadCursor, "is not a cursor of this stream"))?
        };
        if self.tasks.len() >= self.core.options.streams_max {
            return Err(errors::too_many_streams().into());
        }
        let (sender, receiver) = mpsc::channel(QUEUE);
        // Kept for the last message, so that a reader who is slow does not hold up a replica that stops.
        let last_word = sender
            .clone()
            .reserve_owned()
            .await
            .map_err(|_| errors::contended())?;
        let reading = Reading {
            core: Arc::clone(&self.core),
            places,
            sender,
        };
        let closing = self.core.closing.clone();
        self.tasks.spawn(async move {
            let ended = tokio::select! {
                biased;
                () = closing.cancelled() => Err(errors::shutting_down()),
                () = ending.begun() => Err(errors::connection_ends()),
                ended = reading.run(wire.follow) => ended,
            };
            if let Err(refusal) = ended {
                last_word.send(Err(refusal.into()));
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

struct Reading {
    core: Arc<Core>,
    places: Vec<OutboxCursor>,
    sender: mpsc::Sender<Result<v1::StreamResultsResponse, Status>>,
}

impl Reading {
    async fn run(mut self, follow: bool) -> Result<(), Refusal> {
        let shards: Vec<u16> = (0..self.core.stores.sessions.deployment().shards).collect();
        let mut wake_ups = if follow {
            Some(
                self.core
                    .stores
                    .sessions
                    .subscribe_outbox(&shards)
                    .await
                    .map_err(errors::store)?,
            )
        } else {
            None
        };
        loop {
            let mut sent = false;
            for shard in &shards {
                sent |= self.shard(*shard).await?;
            }
            if sent {
                continue;
            }
            let Some(wake_ups) = &mut wake_ups else {
                return Ok(());
            };
            if self.sender.is_closed() {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = self.sender.closed() => return Ok(()),
                _ = wake_ups.next() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Sends what a shard has after its place; whether that was anything.
    async fn shard(&mut self, shard: u16) -> Result<bool, Refusal> {
        let index = usize::from(shard);
        let Some(after) = self.places.get(index).copied() else {
            return Ok(false);
        };
        let store = &self.core.stores.sessions;
        let entries = store
            .outbox_read(shard, after, BATCH)
            .await
            .map_err(errors::store)?;
        let any = !entries.is_empty();
        for entry in entries {
            if let Some(place) = self.places.get_mut(index) {
                *place = entry.cursor;
            }
            let Some(shown) = stored::OutboxEntry::decode(entry.payload).ok().and_then(to_wire) else {
                tracing::error!(shard, "an outbox entry cannot be read");
                return Err(errors::corrupt());
            };
            let message = v1::StreamResultsResponse {
                cursor: token::seal(
                    self.core.stores.sessions.deployment(),
                    PURPOSE,
                    &write_places(&self.places),
                ),
                entry: Some(shown),
            };
            if self.sender.send_timeout(Ok(message), SLOW).await.is_err() {
                // Gone, or too slow: it resumes by its cursor.
                return Err(Refusal::new(
                    Reason::Overloaded,
                    "the reader was too slow: resume by the cursor",
                ));
            }
        }
        Ok(any)
    }
}

fn to_wire(entry: stored::OutboxEntry) -> Option<Entry> {
    let session = SessionId::from_bytes(entry.session.try_into().ok()?);
    let ended_at = Instant(entry.at_ms);
    Some(match entry.what? {
        stored::outbox_entry::What::Game(game) => Entry::Result(game_to_wire(session, ended_at, game)?),
        stored::outbox_entry::What::Ending(ending) => Entry::Ending(v1::EndingEntry {
            session_id: session.to_string(),
            ending: i32::try_from(ending.ending).ok()?,
            ended_at: Some(time::timestamp(ended_at)),
            series_outcome: i32::try_from(ending.series_outcome).ok()?,
        }),
    })
}

fn game_to_wire(session: SessionId, ended_at: Instant, game: stored::GameOutcome) -> Option<v1::ResultEntry> {
    let kind = GameKind::from_code(u8::try_from(game.game_kind).ok()?)?;
    let moves: Vec<Move> = game
        .moves
        .iter()
        .map(|code| Move::from_code(kind, u32::from(*code)))
        .collect::<Option<_>>()?;
    let started_at = Instant(ended_at.0.saturating_sub(game.lasted_ms));
    Some(v1::ResultEntry {
        result_id: format!("{session}-{}", game.number),
        session_id: session.to_string(),
        game_kind: i32::try_from(game.game_kind).ok()?,
        seat_1_player_id: game.seat_1.map(|seat| seat.player).unwrap_or_default(),
        seat_2_player_id: game.seat_2.map(|seat| seat.player).unwrap_or_default(),
        result: Some(v1::GameResult {
            game_number: game.number,
            reason: i32::try_from(game.reason).ok()?,
            outcome: i32::try_from(game.outcome).ok()?,
            seat_1_colour: i32::try_from(game.seat_1_colour).ok()?,
            counts: Some(v1::DiscCounts {
                black: game.black,
                white: game.white,
            }),
            margin_half_discs: game.margin_half_discs,
            seat_1_points: game.seat_1_points,
            seat_2_points: game.seat_2_points,
            touched_by_outage: game.touched_by_outage,
        }),
        transcript: session::transcript_to_wire(&moves),
        started_at: Some(time::timestamp(started_at)),
        ended_at: Some(time::timestamp(ended_at)),
        unrated: game.unrated,
        start_position: if game.start_position.is_empty() {
            session::position_to_wire(&Start::usual(kind).position())
        } else {
            game.start_position
        },
    })
}

/// The places as numbers of seven bits a byte: shards that were read from, each with its place.
fn write_places(places: &[OutboxCursor]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let base = places
        .iter()
        .map(|place| place.millis)
        .filter(|millis| *millis > 0)
        .min()
        .unwrap_or(0);
    write_number(&mut bytes, base);
    for (shard, place) in places.iter().enumerate() {
        if *place != OutboxCursor::START {
            write_number(&mut bytes, shard as u64);
            write_number(&mut bytes, place.millis.saturating_sub(base));
            write_number(&mut bytes, place.number);
        }
    }
    bytes
}

fn read_places(bytes: &[u8], shards: u16) -> Option<Vec<OutboxCursor>> {
    let mut places = vec![OutboxCursor::START; usize::from(shards)];
    let mut rest = bytes;
    let base = read_number(&mut rest)?;
    while !rest.is_empty() {
        let shard = usize::try_from(read_number(&mut rest)?).ok()?;
        *places.get_mut(shard)? = OutboxCursor {
            millis: read_number(&mut rest)?.checked_add(base)?,
            number: read_number(&mut rest)?,
        };
    }
    Some(places)
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_a_cursor() {
        let mut places = vec![OutboxCursor::START; 64];
        places[3] = OutboxCursor {
            millis: 1_700_000_000_123,
            number: 0,
        };
        places[63] = OutboxCursor {
            millis: 1_700_000_999_123,
            number: 300,
        };
        assert_eq!(read_places(&write_places(&places), 64), Some(places.clone()));
        assert_eq!(read_places(&write_places(&places), 63), None);
        assert_eq!(read_places(&[0x80], 64), None);
    }
}
