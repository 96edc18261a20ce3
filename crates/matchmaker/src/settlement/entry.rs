//! An outbox entry, checked once where it is read.

use prost::Message as _;
use tablemate_protocol::storage::v1::outbox_entry::What as Stored;
use tablemate_protocol::storage::v1::{GameOutcome, OutboxEntry, PlayerAtCreation, SessionOutcome};
use tablemate_session::seat::Seat;
use tablemate_session::{Instant, PlayerId, SessionId};
use tablemate_store::Tag;
use tablemate_store::hall_store::Kind;

use super::arithmetic::{Unreadable, Verdict};

/// An entry that can be acted on.
pub(super) struct Parsed {
    pub session: SessionId,
    /// The sequence of the fact that ended the game or the session.
    pub sequence: u64,
    pub at: Instant,
    /// The log's tag at that sequence; `None` when the entry does not carry it.
    pub tag: Option<Tag>,
    pub what: What,
}

/// What ended.
pub(super) enum What {
    Game(Box<Game>),
    Ending(Ending),
}

/// A game that ended.
pub(super) struct Game {
    pub kind: Kind,
    /// From 1.
    pub number: u16,
    pub players: [PlayerId; 2],
    pub outcome: GameOutcome,
    frozen: [PlayerAtCreation; 2],
}

/// A session that ended.
pub(super) struct Ending {
    pub kind: Kind,
    /// One or two: seat 2 may never have been taken.
    pub players: Vec<PlayerId>,
}

impl Parsed {
    pub fn of(bytes: &[u8]) -> Result<Self, Unreadable> {
        let stored = OutboxEntry::decode(bytes).map_err(|error| Unreadable::NoEntry {
            why: error.to_string(),
        })?;
        let session = stored
            .session
            .as_slice()
            .try_into()
            .map_err(|_| Unreadable::Session {
                bytes: stored.session.len(),
            })?;
        Ok(Self {
            session: SessionId::from_bytes(session),
            sequence: stored.sequence,
            at: Instant(stored.at_ms),
            tag: stored.tag.as_slice().try_into().ok().map(Tag),
            what: match stored.what.ok_or(Unreadable::Empty)? {
                Stored::Game(game) => What::Game(Box::new(Game::of(game)?)),
                Stored::Ending(ending) => What::Ending(Ending::of(&ending)?),
            },
        })
    }
}

impl Game {
    fn of(outcome: GameOutcome) -> Result<Self, Unreadable> {
        let number = u16::try_from(outcome.number)
            .ok()
            .filter(|number| *number > 0)
            .ok_or(Unreadable::GameNumber(outcome.number))?;
        let frozen = |stored: &Option<PlayerAtCreation>, seat| stored.clone().ok_or(Unreadable::Player(seat));
        let frozen = [
            frozen(&outcome.seat_1, Seat::One)?,
            frozen(&outcome.seat_2, Seat::Two)?,
        ];
        Ok(Self {
            kind: kind(outcome.game_kind)?,
            number,
            players: [
                player(&frozen[0].player, Seat::One)?,
                player(&frozen[1].player, Seat::Two)?,
            ],
            outcome,
            frozen,
        })
    }

    /// The player of `seat` as frozen when the session was created.
    pub fn frozen(&self, seat: Seat) -> &PlayerAtCreation {
        &self.frozen[seat.index()]
    }

    /// What the game was for both; `None` when it touches no record.
    pub fn verdicts(&self) -> Result<Option<[Verdict; 2]>, Unreadable> {
        let one = Verdict::of(&self.outcome, Seat::One)?;
        let two = Verdict::of(&self.outcome, Seat::Two)?;
        Ok(one.zip(two).map(|(one, two)| [one, two]))
    }
}

impl Ending {
    fn of(stored: &SessionOutcome) -> Result<Self, Unreadable> {
        let mut players = Vec::with_capacity(2);
        for (text, seat) in [(&stored.seat_1, Seat::One), (&stored.seat_2, Seat::Two)] {
            if !text.is_empty() {
                players.push(player(text, seat)?);
            }
        }
        Ok(Self {
            kind: kind(stored.game_kind)?,
            players,
        })
    }
}

fn player(text: &str, seat: Seat) -> Result<PlayerId, Unreadable> {
    PlayerId::new(text).map_err(|_| Unreadable::Player(seat))
}

/// The kind's number in the store. Kinds that this version does not know are settled too: the entry says it all.
fn kind(number: u32) -> Result<Kind, Unreadable> {
    match u8::try_from(number) {
        Ok(number) if number > 0 => Ok(Kind(number)),
        _ => Err(Unreadable::Kind(number)),
    }
}
