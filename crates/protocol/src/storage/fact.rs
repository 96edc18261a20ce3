//! Facts as bytes: the entries of a session's log.
//!
//! An entry holds the time since the entry before it, so both directions need that one's instant
//! ([`Instant::ZERO`] before the first). What `encode` wrote `decode` gives back, for ever; bytes that nobody wrote give
//! an error and never a panic.

use std::sync::Arc;

use prost::Message;
use tablemate_engine::game::{EndReason, Move};
use tablemate_engine::policy::Policy;
use tablemate_engine::reversi::{self, MarginMethod, SquareSet};
use tablemate_engine::search::Level;
use tablemate_engine::{Colour, GameKind};
use tablemate_session::fact::{
    Actor, Creation, Fact, FactKind, GameEndReason, GameResult, InvitationHash, OfferId, OfferKind,
    OpenerFound, Outage, Outcome, Previous, SeriesResult, SessionEnding,
};
use tablemate_session::player::{Openings, Player, Rating};
use tablemate_session::seat::{PerSeat, Seat};
use tablemate_session::secret::{GuessNumber, RequestHash, Secret};
use tablemate_session::settings::{
    GameSettings, NotReadyAction, OpenerRule, ReversiSettings, Settings, TimeoutRule, Watch,
};
use tablemate_session::{Instant, Millis, PlayerId, SessionId};
use thiserror::Error;

use super::v1 as wire;

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// Why bytes are no fact.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// Not a message of this kind at all.
    #[error("not a stored fact: {0}")]
    Malformed(String),
    /// A session of a newer version of the format.
    #[error("written in version {version} of the format, this program reads up to {VERSION}")]
    Newer {
        /// The version.
        version: u32,
    },
    /// No kind of fact that this program knows: written by a newer one, or damaged.
    #[error("a kind of fact that this program does not know")]
    UnknownKind,
    /// A field is missing or holds what it cannot hold.
    #[error("field {field} is missing or out of bounds")]
    Field {
        /// The field.
        field: &'static str,
    },
}

type Decoded<T> = Result<T, DecodeError>;

/// A fact as an entry of a log whose last fact was at `previous`.
#[must_use]
pub fn encode(previous: Instant, fact: &Fact) -> Vec<u8> {
    let actor = match fact.by {
        Actor::Server => 0,
        Actor::Player(seat) => u32::from(seat.number()),
        Actor::Backend(seat) => 2 + u32::from(seat.number()),
        Actor::Operator => 5,
    };
    wire::Fact {
        elapsed_ms: fact.at.since(previous).0,
        actor_and_count: actor + 8 * u32::from(fact.count),
        request: fact.request.map(|hash| hash.0),
        kind: Some(kind_to_wire(&fact.kind)),
    }
    .encode_to_vec()
}

/// The fact that an entry holds; `previous` is the instant of the fact before it.
///
/// # Errors
/// [`DecodeError`] when the bytes are no fact, or one of a newer program.
pub fn decode(previous: Instant, bytes: &[u8]) -> Decoded<Fact> {
    let fact = wire::Fact::decode(bytes).map_err(|error| DecodeError::Malformed(error.to_string()))?;
    let at = previous
        .0
        .checked_add(fact.elapsed_ms)
        .ok_or(DecodeError::Field { field: "elapsed_ms" })?;
    let by = match fact.actor_and_count % 8 {
        0 => Actor::Server,
        1 => Actor::Player(Seat::One),
        2 => Actor::Player(Seat::Two),
        3 => Actor::Backend(Seat::One),
        4 => Actor::Backend(Seat::Two),
        5 => Actor::Operator,
        _ => {
            return Err(DecodeError::Field {
                field: "actor_and_count",
            });
        }
    };
    Ok(Fact {
        at: Instant(at),
        by,
        request: fact.request.map(RequestHash),
        count: small(fact.actor_and_count / 8, "actor_and_count")?,
        kind: kind_from_wire(fact.kind.ok_or(DecodeError::UnknownKind)?)?,
    })
}

/// A number of at most one byte, or the like.
fn small<T: TryFrom<u32>>(number: u32, field: &'static str) -> Decoded<T> {
    T::try_from(number).map_err(|_| DecodeError::Field { field })
}

fn signed_small<T: TryFrom<i32>>(number: i32, field: &'static str) -> Decoded<T> {
    T::try_from(number).map_err(|_| DecodeError::Field { field })
}

fn needed<T>(value: Option<T>, field: &'static str) -> Decoded<T> {
    value.ok_or(DecodeError::Field { field })
}

fn array<const N: usize>(bytes: &[u8], field: &'static str) -> Decoded<[u8; N]> {
    bytes.try_into().map_err(|_| DecodeError::Field { field })
}

fn seat_from_wire(number: u32, field: &'static str) -> Decoded<Seat> {
    needed(u8::try_from(number).ok().and_then(Seat::from_number), field)
}

fn seat_to_wire(seat: Seat) -> u32 {
    u32::from(seat.number())
}

/// Codes of moves are those of the engine. Only one kind of game is played so far, and its codes name its moves; a
/// second kind will write its moves into a field of its own.
fn move_from_wire(code: u32) -> Decoded<Move> {
    needed(Move::from_code(GameKind::Reversi, code), "move")
}

const POLICY_RANDOM: u32 = 1;
const POLICY_GREEDY: u32 = 2;
const POLICY_ENGINE: u32 = 16;

fn policy_to_wire(policy: Policy) -> u32 {
    match policy {
        Policy::Random => POLICY_RANDOM,
        Policy::Greedy => POLICY_GREEDY,
        Policy::Engine { level } => POLICY_ENGINE + u32::from(level.number()),
    }
}

fn policy_from_wire(code: u32) -> Decoded<Policy> {
    let policy = match code {
        POLICY_RANDOM => Some(Policy::Random),
        POLICY_GREEDY => Some(Policy::Greedy),
        _ => code
            .checked_sub(POLICY_ENGINE)
            .and_then(|number| u8::try_from(number).ok())
            .and_then(Level::new)
            .map(|level| Policy::Engine { level }),
    };
    needed(policy, "policy")
}

fn kind_to_wire(kind: &FactKind) -> wire::fact::Kind {
    use wire::fact::Kind;
    match kind {
        FactKind::Created(creation) => Kind::Created(creation_to_wire(creation)),
        FactKind::Joined { player, ready } => Kind::Joined(wire::Joined {
            player: Some(player_to_wire(player)),
            ready: *ready,
        }),
        FactKind::Readied { seat, number, auto } => Kind::Readied(wire::Readied {
            seat: seat_to_wire(*seat),
            number: number.0.map(u32::from),
            auto: *auto,
        }),
        FactKind::Unreadied { seat } => Kind::Unreadied(seat_to_wire(*seat)),
        FactKind::Started { game, opener, found } => Kind::Started(started_to_wire(*game, *opener, *found)),
        FactKind::Moved { mv, auto: None } => Kind::Moved(mv.code()),
        FactKind::Moved {
            mv,
            auto: Some(policy),
        } => Kind::AutoMoved(wire::AutoMoved {
            r#move: mv.code(),
            policy: policy_to_wire(*policy),
        }),
        FactKind::Passed { seat } => Kind::Passed(seat_to_wire(*seat)),
        FactKind::Offered { offer, kind } => Kind::Offered(wire::Offered {
            offer: offer.0,
            kind: offer_kind_to_wire(*kind).into(),
        }),
        FactKind::OfferAccepted {
            offer,
            kind,
            by_offer,
        } => Kind::OfferAccepted(wire::OfferAccepted {
            offer: offer.0,
            kind: offer_kind_to_wire(*kind).into(),
            by_offer: *by_offer,
        }),
        FactKind::OfferDeclined { offer } => Kind::OfferDeclined(offer.0),
        FactKind::OfferWithdrawn { offer } => Kind::OfferWithdrawn(offer.0),
        FactKind::OfferLapsed { offer } => Kind::OfferLapsed(offer.0),
        FactKind::GameEnded(result) => Kind::GameEnded(result_to_wire(result)),
        FactKind::Left { seat, absent } => Kind::Left(wire::Left {
            seat: seat_to_wire(*seat),
            absent: *absent,
        }),
        FactKind::SessionEnded { ending, series } => Kind::SessionEnded(wire::SessionEnded {
            ending: ending_to_wire(*ending).into(),
            series: series.as_ref().map(series_to_wire),
        }),
        FactKind::ClockCompensated(outage) => Kind::ClockCompensated(wire::Outage {
            id: outage.id,
            from_ms: outage.from.0,
            length_ms: outage.to.since(outage.from).0,
        }),
        FactKind::AbsenceBegun { seat } => Kind::AbsenceBegun(seat_to_wire(*seat)),
        FactKind::AbsenceEnded { seat } => Kind::AbsenceEnded(seat_to_wire(*seat)),
        FactKind::Rematched { next } => Kind::Rematched(next.as_bytes().to_vec()),
    }
}

fn kind_from_wire(kind: wire::fact::Kind) -> Decoded<FactKind> {
    use wire::fact::Kind;
    Ok(match kind {
        Kind::Created(created) => FactKind::Created(Arc::new(creation_from_wire(created)?)),
        Kind::Joined(joined) => FactKind::Joined {
            player: Arc::new(player_from_wire(needed(joined.player, "joined.player")?)?),
            ready: joined.ready,
        },
        Kind::Readied(readied) => FactKind::Readied {
            seat: seat_from_wire(readied.seat, "readied.seat")?,
            number: GuessNumber(
                readied
                    .number
                    .map(|number| small(number, "readied.number"))
                    .transpose()?,
            ),
            auto: readied.auto,
        },
        Kind::Unreadied(seat) => FactKind::Unreadied {
            seat: seat_from_wire(seat, "unreadied")?,
        },
        Kind::Started(started) => started_from_wire(&started)?,
        Kind::Moved(code) => FactKind::Moved {
            mv: move_from_wire(code)?,
            auto: None,
        },
        Kind::AutoMoved(moved) => FactKind::Moved {
            mv: move_from_wire(moved.r#move)?,
            auto: Some(policy_from_wire(moved.policy)?),
        },
        Kind::Passed(seat) => FactKind::Passed {
            seat: seat_from_wire(seat, "passed")?,
        },
        Kind::Offered(offered) => FactKind::Offered {
            offer: OfferId(offered.offer),
            kind: offer_kind_from_wire(offered.kind())?,
        },
        Kind::OfferAccepted(accepted) => FactKind::OfferAccepted {
            offer: OfferId(accepted.offer),
            kind: offer_kind_from_wire(accepted.kind())?,
            by_offer: accepted.by_offer,
        },
        Kind::OfferDeclined(offer) => FactKind::OfferDeclined {
            offer: OfferId(offer),
        },
        Kind::OfferWithdrawn(offer) => FactKind::OfferWithdrawn {
            offer: OfferId(offer),
        },
        Kind::OfferLapsed(offer) => FactKind::OfferLapsed {
            offer: OfferId(offer),
        },
        Kind::GameEnded(result) => FactKind::GameEnded(result_from_wire(&result)?),
        Kind::Left(left) => FactKind::Left {
            seat: seat_from_wire(left.seat, "left.seat")?,
            absent: left.absent,
        },
        Kind::SessionEnded(ended) => FactKind::SessionEnded {
            ending: ending_from_wire(ended.ending())?,
            series: ended.series.as_ref().map(series_from_wire).transpose()?,
        },
        Kind::ClockCompensated(outage) => FactKind::ClockCompensated(Outage {
            id: outage.id,
            from: Instant(outage.from_ms),
            to: Instant(needed(
                outage.from_ms.checked_add(outage.length_ms),
                "clock_compensated.length_ms",
            )?),
        }),
        Kind::AbsenceBegun(seat) => FactKind::AbsenceBegun {
            seat: seat_from_wire(seat, "absence_begun")?,
        },
        Kind::AbsenceEnded(seat) => FactKind::AbsenceEnded {
            seat: seat_from_wire(seat, "absence_ended")?,
        },
        Kind::Rematched(id) => FactKind::Rematched {
            next: SessionId::from_bytes(array(&id, "rematched")?),
        },
    })
}

fn creation_to_wire(creation: &Creation) -> wire::Created {
    wire::Created {
        version: VERSION,
        session: creation.id.as_bytes().to_vec(),
        secret: creation.secret.expose().to_vec(),
        settings: Some(settings_to_wire(&creation.settings)),
        player_one: Some(player_to_wire(&creation.player_one)),
        player_two: creation.player_two.as_ref().map(player_to_wire),
        ready_one: creation.ready[Seat::One],
        ready_two: creation.ready[Seat::Two],
        invitation: creation.invitation.map(|hash| hash.0.to_vec()),
        previous_session: creation
            .previous
            .map(|previous| previous.session.as_bytes().to_vec()),
        previous_opener: creation
            .previous
            .map_or(0, |previous| seat_to_wire(previous.opener)),
        outages_known: creation.outages_known,
    }
}

fn creation_from_wire(created: wire::Created) -> Decoded<Creation> {
    match created.version {
        VERSION => {}
        0 => {
            return Err(DecodeError::Field {
                field: "created.version",
            });
        }
        version => return Err(DecodeError::Newer { version }),
    }
    let previous = match created.previous_session {
        None => None,
        Some(id) => Some(Previous {
            session: SessionId::from_bytes(array(&id, "created.previous_session")?),
            opener: seat_from_wire(created.previous_opener, "created.previous_opener")?,
        }),
    };
    Ok(Creation {
        id: SessionId::from_bytes(array(&created.session, "created.session")?),
        secret: Secret::new(array(&created.secret, "created.secret")?),
        settings: settings_from_wire(needed(created.settings, "created.settings")?)?,
        player_one: player_from_wire(needed(created.player_one, "created.player_one")?)?,
        player_two: created.player_two.map(player_from_wire).transpose()?,
        ready: PerSeat::new(created.ready_one, created.ready_two),
        invitation: created
            .invitation
            .map(|hash| array(&hash, "created.invitation").map(InvitationHash))
            .transpose()?,
        previous,
        outages_known: created.outages_known,
    })
}

fn player_to_wire(player: &Player) -> wire::Player {
    let rating = player.rating;
    wire::Player {
        id: player.id.as_str().to_owned(),
        rating: (rating != Rating::default()).then_some(wire::Rating {
            rating_centi: rating.rating_centi,
            deviation_centi: rating.deviation_centi,
            volatility_micro: rating.volatility_micro,
        }),
        opened: player.openings.opened.into(),
        games: player.openings.games.into(),
    }
}

fn player_from_wire(player: wire::Player) -> Decoded<Player> {
    Ok(Player {
        id: PlayerId::new(&player.id).map_err(|_| DecodeError::Field { field: "player.id" })?,
        rating: player.rating.map_or_else(Rating::default, |rating| Rating {
            rating_centi: rating.rating_centi,
            deviation_centi: rating.deviation_centi,
            volatility_micro: rating.volatility_micro,
        }),
        openings: Openings {
            opened: small(player.opened, "player.opened")?,
            games: small(player.games, "player.games")?,
        },
    })
}

fn settings_to_wire(settings: &Settings) -> wire::Settings {
    let GameSettings::Reversi(reversi) = &settings.game;
    let (watch, viewers) = match &settings.watch {
        Watch::Anyone => (0, Vec::new()),
        Watch::Players => (1, Vec::new()),
        Watch::List(viewers) => (
            2,
            viewers.iter().map(|viewer| viewer.as_str().to_owned()).collect(),
        ),
    };
    wire::Settings {
        game: Some(wire::settings::Game::Reversi(reversi_to_wire(reversi))),
        games: settings.games,
        opener: opener_rule_to_wire(settings.opener).into(),
        ready_ms: settings.ready_time.0,
        cancel_when_not_ready: settings.not_ready == NotReadyAction::Cancel,
        idle_ms: settings.idle_time.0,
        move_ms: settings.move_time.0,
        total_ms: settings.total_time.map(|time| time.0),
        animation_ms: settings.animation.0,
        resign_guard_ms: settings.resign_guard.0,
        timeout_policy: settings.timeout.policy().map_or(0, policy_to_wire),
        timeout_loses_at: settings.timeout.loses_at().unwrap_or(0),
        unrated: !settings.rated,
        watch,
        viewers,
        absence_ms: settings.absence.map(|time| time.0),
        spectator_delay_ms: settings.spectator_delay.0,
    }
}

fn settings_from_wire(settings: wire::Settings) -> Decoded<Settings> {
    // Read as a number: an unknown rule must not pass for none.
    let opener = wire::OpenerRule::try_from(settings.opener)
        .map(opener_rule_from_wire)
        .map_err(|_| DecodeError::Field {
            field: "settings.opener",
        })?;
    let Some(wire::settings::Game::Reversi(reversi)) = settings.game else {
        return Err(DecodeError::Field {
            field: "settings.game",
        });
    };
    let timeout = match (settings.timeout_policy, settings.timeout_loses_at) {
        (0, 1) => TimeoutRule::Lose,
        (policy, 0) => TimeoutRule::Move(policy_from_wire(policy)?),
        (policy, n) => TimeoutRule::LoseAfter {
            n,
            policy: policy_from_wire(policy)?,
        },
    };
    let watch = match settings.watch {
        0 => Watch::Anyone,
        1 => Watch::Players,
        2 => Watch::List(
            settings
                .viewers
                .iter()
                .map(|viewer| PlayerId::new(viewer))
                .collect::<Result<_, _>>()
                .map_err(|_| DecodeError::Field {
                    field: "settings.viewers",
                })?,
        ),
        _ => {
            return Err(DecodeError::Field {
                field: "settings.watch",
            });
        }
    };
    Ok(Settings {
        game: GameSettings::Reversi(reversi_from_wire(&reversi)?),
        games: settings.games,
        opener,
        ready_time: Millis(settings.ready_ms),
        not_ready: if settings.cancel_when_not_ready {
            NotReadyAction::Cancel
        } else {
            NotReadyAction::AutoReady
        },
        idle_time: Millis(settings.idle_ms),
        move_time: Millis(settings.move_ms),
        total_time: settings.total_ms.map(Millis),
        animation: Millis(settings.animation_ms),
        resign_guard: Millis(settings.resign_guard_ms),
        timeout,
        rated: !settings.unrated,
        watch,
        absence: settings.absence_ms.map(Millis),
        spectator_delay: Millis(settings.spectator_delay_ms),
    })
}

fn reversi_to_wire(settings: &ReversiSettings) -> wire::ReversiSettings {
    use wire::reversi_settings::Start;
    let start = match settings.start {
        reversi::Start::Crossed => None,
        reversi::Start::Parallel => Some(Start::Parallel(true)),
        reversi::Start::Position(position) => Some(Start::Position(wire::ReversiPosition {
            black: position.discs(Colour::Black).bits(),
            white: position.discs(Colour::White).bits(),
            white_to_act: position.to_act() == Some(Colour::White),
        })),
    };
    wire::ReversiSettings {
        start,
        margin: match settings.margin {
            MarginMethod::Raw => 0,
            MarginMethod::EmptiesToWinner => 1,
            MarginMethod::EmptiesSplit => 2,
        },
        scored_series: settings.scored_series,
    }
}

fn reversi_from_wire(settings: &wire::ReversiSettings) -> Decoded<ReversiSettings> {
    use wire::reversi_settings::Start;
    let field = "settings.reversi.start";
    let start = match &settings.start {
        None => reversi::Start::Crossed,
        Some(Start::Parallel(true)) => reversi::Start::Parallel,
        Some(Start::Parallel(false)) => return Err(DecodeError::Field { field }),
        Some(Start::Position(position)) => {
            let to_act = if position.white_to_act {
                Colour::White
            } else {
                Colour::Black
            };
            let discs = [position.black, position.white].map(SquareSet::from_bits);
            let position = reversi::Position::new(discs[0], discs[1], Some(to_act))
                .map_err(|_| DecodeError::Field { field })?;
            reversi::Start::from_position(position).map_err(|_| DecodeError::Field { field })?
        }
    };
    let margin = match settings.margin {
        0 => MarginMethod::Raw,
        1 => MarginMethod::EmptiesToWinner,
        2 => MarginMethod::EmptiesSplit,
        _ => {
            return Err(DecodeError::Field {
                field: "settings.reversi.margin",
            });
        }
    };
    Ok(ReversiSettings {
        start,
        margin,
        scored_series: settings.scored_series,
    })
}

fn opener_rule_to_wire(rule: Option<OpenerRule>) -> wire::OpenerRule {
    match rule {
        None => wire::OpenerRule::Unspecified,
        Some(OpenerRule::AsSeated) => wire::OpenerRule::AsSeated,
        Some(OpenerRule::Draw) => wire::OpenerRule::Draw,
        Some(OpenerRule::Guess) => wire::OpenerRule::Guess,
        Some(OpenerRule::Balanced) => wire::OpenerRule::Balanced,
    }
}

fn opener_rule_from_wire(rule: wire::OpenerRule) -> Option<OpenerRule> {
    match rule {
        wire::OpenerRule::Unspecified => None,
        wire::OpenerRule::AsSeated => Some(OpenerRule::AsSeated),
        wire::OpenerRule::Draw => Some(OpenerRule::Draw),
        wire::OpenerRule::Guess => Some(OpenerRule::Guess),
        wire::OpenerRule::Balanced => Some(OpenerRule::Balanced),
    }
}

fn started_to_wire(game: u8, opener: Seat, found: OpenerFound) -> wire::Started {
    let mut started = wire::Started {
        game: game.into(),
        opener: seat_to_wire(opener),
        ..wire::Started::default()
    };
    let found = match found {
        OpenerFound::AsSeated => wire::OpenerFound::AsSeated,
        OpenerFound::Drawn => wire::OpenerFound::Drawn,
        OpenerFound::Guess { numbers, drawn } => {
            started.number_one = numbers[Seat::One].into();
            started.number_two = numbers[Seat::Two].into();
            started.drawn_one = drawn[Seat::One];
            started.drawn_two = drawn[Seat::Two];
            wire::OpenerFound::Guess
        }
        OpenerFound::Balanced { balances, drawn } => {
            started.balance_one = balances[Seat::One].into();
            started.balance_two = balances[Seat::Two].into();
            started.drawn = drawn;
            wire::OpenerFound::Balanced
        }
        OpenerFound::Alternated => wire::OpenerFound::Alternated,
    };
    started.set_found(found);
    started
}

fn started_from_wire(started: &wire::Started) -> Decoded<FactKind> {
    let found = match started.found() {
        wire::OpenerFound::Unspecified => {
            return Err(DecodeError::Field {
                field: "started.found",
            });
        }
        wire::OpenerFound::AsSeated => OpenerFound::AsSeated,
        wire::OpenerFound::Drawn => OpenerFound::Drawn,
        wire::OpenerFound::Guess => OpenerFound::Guess {
            numbers: PerSeat::new(
                small(started.number_one, "started.number_one")?,
                small(started.number_two, "started.number_two")?,
            ),
            drawn: PerSeat::new(started.drawn_one, started.drawn_two),
        },
        wire::OpenerFound::Balanced => OpenerFound::Balanced {
            balances: PerSeat::new(
                signed_small(started.balance_one, "started.balance_one")?,
                signed_small(started.balance_two, "started.balance_two")?,
            ),
            drawn: started.drawn,
        },
        wire::OpenerFound::Alternated => OpenerFound::Alternated,
    };
    Ok(FactKind::Started {
        game: small(started.game, "started.game")?,
        opener: seat_from_wire(started.opener, "started.opener")?,
        found,
    })
}

fn offer_kind_to_wire(kind: OfferKind) -> wire::OfferKind {
    match kind {
        OfferKind::Exit => wire::OfferKind::Exit,
        OfferKind::Draw => wire::OfferKind::Draw,
        OfferKind::Rematch => wire::OfferKind::Rematch,
    }
}

fn offer_kind_from_wire(kind: wire::OfferKind) -> Decoded<OfferKind> {
    match kind {
        wire::OfferKind::Unspecified => Err(DecodeError::Field { field: "offer.kind" }),
        wire::OfferKind::Exit => Ok(OfferKind::Exit),
        wire::OfferKind::Draw => Ok(OfferKind::Draw),
        wire::OfferKind::Rematch => Ok(OfferKind::Rematch),
    }
}

fn outcome_to_wire(outcome: Outcome) -> wire::Outcome {
    match outcome {
        Outcome::Wins(Seat::One) => wire::Outcome::SeatOne,
        Outcome::Wins(Seat::Two) => wire::Outcome::SeatTwo,
        Outcome::Draw => wire::Outcome::Draw,
        Outcome::NotSettled => wire::Outcome::NotSettled,
    }
}

fn outcome_from_wire(outcome: wire::Outcome) -> Decoded<Outcome> {
    match outcome {
        wire::Outcome::Unspecified => Err(DecodeError::Field { field: "outcome" }),
        wire::Outcome::SeatOne => Ok(Outcome::Wins(Seat::One)),
        wire::Outcome::SeatTwo => Ok(Outcome::Wins(Seat::Two)),
        wire::Outcome::Draw => Ok(Outcome::Draw),
        wire::Outcome::NotSettled => Ok(Outcome::NotSettled),
    }
}

fn reason_to_wire(reason: GameEndReason) -> wire::GameEndReason {
    match reason {
        GameEndReason::Board(EndReason::NoMoves) => wire::GameEndReason::NoMoves,
        GameEndReason::Board(EndReason::WipeOut) => wire::GameEndReason::WipeOut,
        GameEndReason::Board(EndReason::BoardFull) => wire::GameEndReason::BoardFull,
        GameEndReason::Resignation => wire::GameEndReason::Resignation,
        GameEndReason::AgreedDraw => wire::GameEndReason::AgreedDraw,
        GameEndReason::AgreedExit => wire::GameEndReason::AgreedExit,
        GameEndReason::ForcedExit => wire::GameEndReason::ForcedExit,
        GameEndReason::TotalTime => wire::GameEndReason::TotalTime,
        GameEndReason::TimeoutCount => wire::GameEndReason::TimeoutCount,
        GameEndReason::Aborted => wire::GameEndReason::Aborted,
    }
}

fn reason_from_wire(reason: wire::GameEndReason) -> Decoded<GameEndReason> {
    Ok(match reason {
        wire::GameEndReason::Unspecified => {
            return Err(DecodeError::Field {
                field: "game_ended.reason",
            });
        }
        wire::GameEndReason::NoMoves => GameEndReason::Board(EndReason::NoMoves),
        wire::GameEndReason::WipeOut => GameEndReason::Board(EndReason::WipeOut),
        wire::GameEndReason::BoardFull => GameEndReason::Board(EndReason::BoardFull),
        wire::GameEndReason::Resignation => GameEndReason::Resignation,
        wire::GameEndReason::AgreedDraw => GameEndReason::AgreedDraw,
        wire::GameEndReason::AgreedExit => GameEndReason::AgreedExit,
        wire::GameEndReason::ForcedExit => GameEndReason::ForcedExit,
        wire::GameEndReason::TotalTime => GameEndReason::TotalTime,
        wire::GameEndReason::TimeoutCount => GameEndReason::TimeoutCount,
        wire::GameEndReason::Aborted => GameEndReason::Aborted,
    })
}

fn result_to_wire(result: &GameResult) -> wire::GameResult {
    let [black, white] = result.counts.map(u32::from);
    wire::GameResult {
        game: result.game.into(),
        reason: reason_to_wire(result.reason).into(),
        outcome: outcome_to_wire(result.outcome).into(),
        seat_one_white: result.colour_one == Colour::White,
        black,
        white,
        margin_half_discs: result.margin_half_discs.into(),
        points_one: result.points[Seat::One],
        points_two: result.points[Seat::Two],
        escape: result.escape.map_or(0, seat_to_wire),
        touched_by_outage: result.touched_by_outage,
    }
}

fn result_from_wire(result: &wire::GameResult) -> Decoded<GameResult> {
    Ok(GameResult {
        game: small(result.game, "game_ended.game")?,
        reason: reason_from_wire(result.reason())?,
        outcome: outcome_from_wire(result.outcome())?,
        colour_one: if result.seat_one_white {
            Colour::White
        } else {
            Colour::Black
        },
        counts: [
            small(result.black, "game_ended.black")?,
            small(result.white, "game_ended.white")?,
        ],
        margin_half_discs: small(result.margin_half_discs, "game_ended.margin_half_discs")?,
        points: PerSeat::new(result.points_one, result.points_two),
        escape: match result.escape {
            0 => None,
            number => Some(seat_from_wire(number, "game_ended.escape")?),
        },
        touched_by_outage: result.touched_by_outage,
    })
}

fn ending_to_wire(ending: SessionEnding) -> wire::SessionEnding {
    match ending {
        SessionEnding::SeriesComplete => wire::SessionEnding::SeriesComplete,
        SessionEnding::Idle => wire::SessionEnding::Idle,
        SessionEnding::Left => wire::SessionEnding::Left,
        SessionEnding::AgreedExit => wire::SessionEnding::AgreedExit,
        SessionEnding::Cancelled => wire::SessionEnding::Cancelled,
        SessionEnding::Aborted => wire::SessionEnding::Aborted,
    }
}

fn ending_from_wire(ending: wire::SessionEnding) -> Decoded<SessionEnding> {
    match ending {
        wire::SessionEnding::Unspecified => Err(DecodeError::Field {
            field: "session_ended.ending",
        }),
        wire::SessionEnding::SeriesComplete => Ok(SessionEnding::SeriesComplete),
        wire::SessionEnding::Idle => Ok(SessionEnding::Idle),
        wire::SessionEnding::Left => Ok(SessionEnding::Left),
        wire::SessionEnding::AgreedExit => Ok(SessionEnding::AgreedExit),
        wire::SessionEnding::Cancelled => Ok(SessionEnding::Cancelled),
        wire::SessionEnding::Aborted => Ok(SessionEnding::Aborted),
    }
}

fn series_to_wire(series: &SeriesResult) -> wire::SeriesResult {
    wire::SeriesResult {
        outcome: outcome_to_wire(series.outcome).into(),
        half_points_one: series.half_points[Seat::One],
        half_points_two: series.half_points[Seat::Two],
        margin_half_discs: series.margin_half_discs,
    }
}

fn series_from_wire(series: &wire::SeriesResult) -> Decoded<SeriesResult> {
    Ok(SeriesResult {
        outcome: outcome_from_wire(series.outcome())?,
        half_points: PerSeat::new(series.half_points_one, series.half_points_two),
        margin_half_discs: series.margin_half_discs,
    })
}
