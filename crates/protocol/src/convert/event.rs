//! Events on the wire.

use tablemate_session::event::{EventKind, EventView, OfferFate};
use tablemate_session::fact::{Actor, OfferKind, OpenerFound, SeriesResult, SessionEnding};
use tablemate_session::notice::Notice;
use tablemate_session::seat::Seat;
use tablemate_session::session::OpenOffer;
use tablemate_session::view::Turn;

use super::game::{
    colour_to_wire, counts_to_wire, ending_to_wire, outcome_to_wire, result_to_wire, seat_to_wire,
};
use super::{settings, time};
use crate::v1;

/// An event on the wire; `cursor` is where a watcher resumes after it.
#[must_use]
pub fn to_wire(event: &EventView, cursor: String) -> v1::Event {
    v1::Event {
        sequence: event.sequence,
        cursor,
        at: Some(time::timestamp(event.at)),
        actor: Some(actor_to_wire(event)),
        game_number: u32::from(event.game),
        notices: event.notices.iter().map(notice_to_wire).collect(),
        kind: Some(kind_to_wire(&event.kind)),
    }
}

fn actor_to_wire(event: &EventView) -> v1::Actor {
    v1::Actor {
        seat: event.by.seat().or(event.automatic_for).map_or(0, seat_to_wire),
        automatic: event.automatic_for.is_some(),
        backend: matches!(event.by, Actor::Backend(_)),
    }
}

fn notice_to_wire(notice: &Notice) -> v1::Notice {
    v1::Notice {
        key: notice.key.to_owned(),
        seat: notice.to.map_or(0, seat_to_wire),
        zh_cn: notice.zh_cn.clone().into_owned(),
        en: notice.en.clone().into_owned(),
    }
}

/// A turn on the wire.
#[must_use]
pub fn turn_to_wire(turn: &Turn) -> v1::Turn {
    v1::Turn {
        ply: turn.ply,
        seat: seat_to_wire(turn.seat),
        colour: colour_to_wire(turn.colour).into(),
        clock_start: Some(time::timestamp(turn.clock_start)),
        deadline: Some(time::timestamp(turn.deadline)),
    }
}

/// An open offer on the wire.
#[must_use]
pub fn offer_to_wire(offer: &OpenOffer) -> v1::Offer {
    v1::Offer {
        offer_id: offer.id.0,
        kind: match offer.kind {
            OfferKind::Exit => v1::OfferKind::Exit,
            OfferKind::Draw => v1::OfferKind::Draw,
            OfferKind::Rematch => v1::OfferKind::Rematch,
        }
        .into(),
        seat: seat_to_wire(offer.seat),
    }
}

fn session_ended(ending: SessionEnding, series: Option<&SeriesResult>) -> v1::SessionEnded {
    let mut wire = v1::SessionEnded {
        ending: ending_to_wire(ending).into(),
        ..Default::default()
    };
    if let Some(series) = series {
        wire.series_outcome = outcome_to_wire(series.outcome).into();
        wire.seat_1_half_points = series.half_points[Seat::One];
        wire.seat_2_half_points = series.half_points[Seat::Two];
        wire.seat_1_margin_half_discs = series.margin_half_discs;
    }
    wire
}

fn opener_rule_to_wire(found: OpenerFound) -> v1::OpenerRule {
    match found {
        OpenerFound::AsSeated => v1::OpenerRule::AsSeated,
        OpenerFound::Drawn => v1::OpenerRule::Draw,
        OpenerFound::Guess { .. } => v1::OpenerRule::Guess,
        OpenerFound::Balanced { .. } => v1::OpenerRule::Balanced,
        OpenerFound::Alternated => v1::OpenerRule::Alternated,
    }
}

fn kind_to_wire(kind: &EventKind) -> v1::event::Kind {
    use v1::event::Kind;
    match kind {
        EventKind::Created {
            players,
            ready,
            settings,
            previous,
        } => {
            let player = |seat: Seat| {
                players[seat]
                    .as_ref()
                    .map(|player| player.as_str().to_owned())
                    .unwrap_or_default()
            };
            Kind::Created(v1::SessionCreated {
                seat_1_player_id: player(Seat::One),
                seat_2_player_id: player(Seat::Two),
                settings: Some(settings::to_wire(settings)),
                previous_session_id: previous.map(|id| id.to_string()).unwrap_or_default(),
                seat_1_ready: ready[Seat::One],
                seat_2_ready: ready[Seat::Two],
            })
        }
        EventKind::Joined { player, ready } => Kind::Joined(v1::PlayerJoined {
            player_id: player.as_str().to_owned(),
            ready: *ready,
        }),
        EventKind::Readied {
            seat,
            auto: _,
            countdown_deadline,
        } => Kind::Readied(v1::PlayerReadied {
            seat: seat_to_wire(*seat),
            countdown_deadline: countdown_deadline.map(time::timestamp),
        }),
        EventKind::Unreadied { seat } => Kind::Unreadied(v1::PlayerUnreadied {
            seat: seat_to_wire(*seat),
        }),
        EventKind::Started {
            opener,
            found,
            colour_one,
            position,
            counts,
            next,
        } => {
            let numbers = match found {
                OpenerFound::Guess { numbers, .. } => Some(*numbers),
                _ => None,
            };
            let number = |seat| numbers.map(|numbers| u32::from(numbers[seat]));
            Kind::Started(v1::GameStarted {
                opener_seat: seat_to_wire(*opener),
                opener_rule: opener_rule_to_wire(*found).into(),
                seat_1_number: number(Seat::One),
                seat_2_number: number(Seat::Two),
                seat_1_colour: colour_to_wire(*colour_one).into(),
                position: super::session::position_to_wire(position),
                counts: Some(counts_to_wire(*counts)),
                next: next.as_ref().map(turn_to_wire),
            })
        }
        EventKind::Moved {
            ply,
            seat,
            colour,
            mv,
            played,
            counts,
            auto,
            next,
        } => {
            let text = mv.to_string();
            Kind::Moved(v1::MoveMade {
                ply: *ply,
                seat: seat_to_wire(*seat),
                colour: colour_to_wire(*colour).into(),
                placed: text.clone(),
                r#move: text,
                turned: played.turned_text().into_iter().map(str::to_owned).collect(),
                counts: Some(counts_to_wire(*counts)),
                auto_policy: auto
                    .map_or(v1::MovePolicy::Unspecified, settings::policy_to_wire)
                    .into(),
                next: next.as_ref().map(turn_to_wire),
            })
        }
        EventKind::Passed {
            ply,
            seat,
            colour,
            next,
        } => Kind::Passed(v1::TurnPassed {
            ply: *ply,
            seat: seat_to_wire(*seat),
            colour: colour_to_wire(*colour).into(),
            next: next.as_ref().map(turn_to_wire),
        }),
        EventKind::Offered(offer) => Kind::Offered(v1::OfferMade {
            offer: Some(offer_to_wire(offer)),
        }),
        EventKind::OfferClosed { offer, fate } => Kind::OfferClosed(v1::OfferClosed {
            offer: Some(offer_to_wire(offer)),
            fate: match fate {
                OfferFate::Accepted => v1::OfferFate::Accepted,
                OfferFate::Declined => v1::OfferFate::Declined,
                OfferFate::Withdrawn => v1::OfferFate::Withdrawn,
                OfferFate::Lapsed => v1::OfferFate::Lapsed,
            }
            .into(),
        }),
        EventKind::GameEnded(result) => Kind::GameEnded(v1::GameEnded {
            result: Some(result_to_wire(result)),
        }),
        EventKind::Left { seat, absent: _ } => Kind::Left(v1::PlayerLeft {
            seat: seat_to_wire(*seat),
        }),
        EventKind::SessionEnded { ending, series } => {
            Kind::SessionEnded(session_ended(*ending, series.as_ref()))
        }
        EventKind::ClockCompensated { outage, next } => Kind::ClockCompensated(v1::ClockCompensated {
            outage_id: outage.id,
            from: Some(time::timestamp(outage.from)),
            to: Some(time::timestamp(outage.to)),
            next: next.as_ref().map(turn_to_wire),
        }),
        EventKind::AbsenceBegun { seat, deadline } => Kind::AbsenceBegun(v1::AbsenceBegun {
            seat: seat_to_wire(*seat),
            deadline: deadline.map(time::timestamp),
        }),
        EventKind::AbsenceEnded { seat } => Kind::AbsenceEnded(v1::AbsenceEnded {
            seat: seat_to_wire(*seat),
        }),
        EventKind::Rematched { next } => Kind::RematchAgreed(v1::RematchAgreed {
            next_session_id: next.to_string(),
        }),
    }
}
