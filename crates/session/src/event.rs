//! Events: facts as a viewer may see them, with what a client needs to show them (S-22 to S-24, R-12).

use tablemate_engine::Colour;
use tablemate_engine::game::{Move, Played, Position};
use tablemate_engine::policy::Policy;

use crate::fact::{
    Actor, Fact, FactKind, GameResult, OfferId, OpenerFound, Outage, SeriesResult, SessionEnding,
};
use crate::ids::{PlayerId, SessionId};
use crate::notice::{self, Notice};
use crate::seat::{PerSeat, Seat};
use crate::session::{FoldError, OpenOffer, Session};
use crate::settings::Settings;
use crate::time::Instant;
use crate::view::{Turn, Viewer, visible_settings};

/// A fact as a viewer may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventView {
    /// Its number, from 1 without a gap.
    pub sequence: u64,
    /// When it took effect.
    pub at: Instant,
    /// Who acted.
    pub by: Actor,
    /// The seat for which the server acted because a deadline had passed.
    pub automatic_for: Option<Seat>,
    /// The game it belongs to, from 1; 0 before the first.
    pub game: u8,
    /// What happened.
    pub kind: EventKind,
    /// Words for the players; a player gets the own ones, a spectator all.
    pub notices: Vec<Notice>,
}

/// How an offer ceased to be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OfferFate {
    /// The other player accepted.
    Accepted,
    /// The other player declined.
    Declined,
    /// Its maker took it back.
    Withdrawn,
    /// Its maker moved, the game ended, or the time for a rematch did.
    Lapsed,
}

/// What happened, as a viewer may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "events live for a moment, one at a time"
)]
pub enum EventKind {
    /// The session was created.
    Created {
        /// The players; seat 2 may be open.
        players: PerSeat<Option<PlayerId>>,
        /// Who is ready from the start.
        ready: PerSeat<bool>,
        /// The settings.
        settings: Box<Settings>,
        /// The session that this one is the rematch of.
        previous: Option<SessionId>,
    },
    /// A player took seat 2.
    Joined {
        /// Who.
        player: PlayerId,
        /// Whether the player is ready at once.
        ready: bool,
    },
    /// A player got ready or was made ready. Says nothing about a number (S-29).
    Readied {
        /// Who.
        seat: Seat,
        /// Whether the server did it (S-2).
        auto: bool,
        /// When the other will be made ready; `None` when both are ready or seat 2 is open.
        countdown_deadline: Option<Instant>,
    },
    /// A player took the ready flag back.
    Unreadied {
        /// Who.
        seat: Seat,
    },
    /// A game started.
    Started {
        /// Who is the first to act.
        opener: Seat,
        /// How that was found; with 猜先 the numbers are known now.
        found: OpenerFound,
        /// The colour of seat 1.
        colour_one: Colour,
        /// The start position.
        position: Position,
        /// What each colour has on the board (`[black, white]`).
        counts: [u8; 2],
        /// The first turn.
        next: Option<Turn>,
    },
    /// A move was made.
    Moved {
        /// The ply.
        ply: u32,
        /// Who moved.
        seat: Seat,
        /// In which colour.
        colour: Colour,
        /// The move.
        mv: Move,
        /// What it did: the turned discs in animation order.
        played: Played,
        /// What each colour has on the board afterwards (`[black, white]`).
        counts: [u8; 2],
        /// The policy by which the server moved.
        auto: Option<Policy>,
        /// The next turn; `None` when the game is over.
        next: Option<Turn>,
    },
    /// A player had no legal move.
    Passed {
        /// The ply.
        ply: u32,
        /// Who passed.
        seat: Seat,
        /// In which colour.
        colour: Colour,
        /// The next turn.
        next: Option<Turn>,
    },
    /// A player made an offer.
    Offered(OpenOffer),
    /// An offer is no longer open.
    OfferClosed {
        /// The offer.
        offer: OpenOffer,
        /// How it ended.
        fate: OfferFate,
    },
    /// A game ended.
    GameEnded(GameResult),
    /// A player left for good.
    Left {
        /// Who.
        seat: Seat,
        /// Whether because of a continuous absence.
        absent: bool,
    },
    /// The session ended.
    SessionEnded {
        /// How.
        ending: SessionEnding,
        /// The result of a scored series.
        series: Option<SeriesResult>,
    },
    /// Running clocks were moved by an outage.
    ClockCompensated {
        /// The outage.
        outage: Outage,
        /// The turn with its new deadline, when a game is on.
        next: Option<Turn>,
    },
    /// A player's absence was noticed.
    AbsenceBegun {
        /// Who.
        seat: Seat,
        /// When the player is forced out.
        deadline: Option<Instant>,
    },
    /// An absent player is back.
    AbsenceEnded {
        /// Who.
        seat: Seat,
    },
    /// A rematch was agreed on.
    Rematched {
        /// The new session.
        next: SessionId,
    },
}

/// Takes facts in one by one and shows each: the session after the last of them, and the events.
///
/// `session` is the session before the first of the facts, `None` when that is the creation.
///
/// # Errors
/// [`FoldError`] when the facts do not follow.
pub fn read<'a>(
    mut session: Option<Session>,
    facts: impl IntoIterator<Item = &'a Fact>,
    viewer: Viewer,
) -> Result<(Option<Session>, Vec<EventView>), FoldError> {
    let mut events = Vec::new();
    for fact in facts {
        let after = match &session {
            None => Session::begin(fact)?,
            Some(before) => {
                let mut after = before.clone();
                after.append(fact)?;
                after
            }
        };
        events.push(EventView::of(session.as_ref(), &after, fact, viewer)?);
        session = Some(after);
    }
    Ok((session, events))
}

impl EventView {
    /// What `fact` shows to the viewer; `before` and `after` are the session on both sides of it (`None` before the
    /// creation).
    ///
    /// # Errors
    /// [`FoldError::Impossible`] when the fact does not lie between the two.
    pub fn of(
        before: Option<&Session>,
        after: &Session,
        fact: &Fact,
        viewer: Viewer,
    ) -> Result<Self, FoldError> {
        let kind = kind(before, after, fact, viewer).ok_or(FoldError::Impossible {
            sequence: after.sequence,
            why: "the fact does not lie between the two states",
        })?;
        let mut notices = notice::of(after, &kind);
        if let Viewer::Seat(seat) = viewer {
            notices.retain(|notice| notice.to.is_none_or(|to| to == seat));
        }
        Ok(Self {
            sequence: after.sequence,
            at: fact.at,
            by: fact.by,
            automatic_for: automatic_for(&kind),
            game: after.game.as_ref().map_or(0, |game| game.number),
            kind,
            notices,
        })
    }
}

fn automatic_for(kind: &EventKind) -> Option<Seat> {
    match kind {
        EventKind::Readied { seat, auto: true, .. }
        | EventKind::Moved {
            seat, auto: Some(_), ..
        }
        | EventKind::Left { seat, absent: true } => Some(*seat),
        _ => None,
    }
}

fn kind(before: Option<&Session>, after: &Session, fact: &Fact, viewer: Viewer) -> Option<EventKind> {
    let closed = |id: &OfferId, fate| {
        let offer = before?.offers.find(*id)?;
        Some(EventKind::OfferClosed { offer, fate })
    };
    Some(match &fact.kind {
        FactKind::Created(creation) => EventKind::Created {
            players: PerSeat::new(
                Some(creation.player_one.id.clone()),
                creation.player_two.as_ref().map(|player| player.id.clone()),
            ),
            ready: creation.ready,
            settings: Box::new(visible_settings(&creation.settings, viewer)),
            previous: creation.previous.map(|previous| previous.session),
        },
        FactKind::Joined { player, ready } => EventKind::Joined {
            player: player.id.clone(),
            ready: *ready,
        },
        FactKind::Readied {
            seat,
            auto,
            number: _,
        } => EventKind::Readied {
            seat: *seat,
            auto: *auto,
            countdown_deadline: after.countdown_deadline(),
        },
        FactKind::Unreadied { seat } => EventKind::Unreadied { seat: *seat },
        FactKind::Started { opener, found, .. } => {
            let game = after.game_on()?;
            EventKind::Started {
                opener: *opener,
                found: *found,
                colour_one: game.colour(Seat::One),
                position: game.position,
                counts: game.position.counts(),
                next: after.turn(),
            }
        }
        FactKind::Moved { mv, auto } => {
            let game = before?.game_on()?;
            let seat = game.to_act()?;
            let (_, played) = game.position.play(*mv).ok()?;
            EventKind::Moved {
                ply: game.ply,
                seat,
                colour: game.colour(seat),
                mv: *mv,
                played,
                counts: after.game.as_ref()?.position.counts(),
                auto: *auto,
                next: after.turn(),
            }
        }
        FactKind::Passed { seat } => {
            let game = before?.game_on()?;
            EventKind::Passed {
                ply: game.ply,
                seat: *seat,
                colour: game.colour(*seat),
                next: after.turn(),
            }
        }
        FactKind::Offered { offer, .. } => EventKind::Offered(after.offers.find(*offer)?),
        FactKind::OfferAccepted { offer, .. } => closed(offer, OfferFate::Accepted)?,
        FactKind::OfferDeclined { offer } => closed(offer, OfferFate::Declined)?,
        FactKind::OfferWithdrawn { offer } => closed(offer, OfferFate::Withdrawn)?,
        FactKind::OfferLapsed { offer } => closed(offer, OfferFate::Lapsed)?,
        FactKind::GameEnded(result) => EventKind::GameEnded(*result),
        FactKind::Left { seat, absent } => EventKind::Left {
            seat: *seat,
            absent: *absent,
        },
        FactKind::SessionEnded { ending, series } => EventKind::SessionEnded {
            ending: *ending,
            series: *series,
        },
        FactKind::ClockCompensated(outage) => EventKind::ClockCompensated {
            outage: *outage,
            next: after.turn(),
        },
        FactKind::AbsenceBegun { seat } => EventKind::AbsenceBegun {
            seat: *seat,
            deadline: after.absences[*seat].time.map(|time| time.deadline()),
        },
        FactKind::AbsenceEnded { seat } => EventKind::AbsenceEnded { seat: *seat },
        FactKind::Rematched { next } => EventKind::Rematched { next: *next },
    })
}
