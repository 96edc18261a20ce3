//! What one settled game does to one player's record: pure arithmetic (S-19, S-20).

use skillratings::Outcomes;
use skillratings::glicko2::{Glicko2Config, Glicko2Rating, glicko2};
use tablemate_protocol::storage::v1::{
    GameOutcome, PlayerAtCreation, PlayerChange, PlayerGameEntry, PlayerRecord,
};
use tablemate_protocol::v1;
use tablemate_session::seat::Seat;
use tablemate_session::{Instant, SessionId};
use thiserror::Error;

/// Of how many of a player's last games it is kept who opened (S-29).
const OPENINGS_KEPT: u32 = 20;

/// Bounds of what goes into the rating formula. Real values are far inside; outside of them the formula's own search
/// for the volatility need not end.
const RATING_BOUNDS: (f64, f64) = (-5_000.0, 10_000.0);
const DEVIATION_BOUNDS: (f64, f64) = (1.0, 350.0);
const VOLATILITY_BOUNDS: (f64, f64) = (0.000_1, 0.5);

/// Why an entry of the outbox says nothing that can be settled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// The bytes are no entry.
    #[error("is no outbox entry: {why}")]
    NoEntry {
        /// What the decoder said.
        why: String,
    },
    /// The bytes of the session id are no id.
    #[error("names a session in {bytes} bytes")]
    Session {
        /// How many bytes there were.
        bytes: usize,
    },
    /// Nothing is said to have ended.
    #[error("does not say what ended")]
    Empty,
    /// The outcome is none that this version knows.
    #[error("has the unknown outcome {0}")]
    Outcome(u32),
    /// The number of the game fits into no series.
    #[error("has the game number {0}")]
    GameNumber(u32),
    /// A player is missing, or their id is none.
    #[error("names no player on {0}")]
    Player(Seat),
    /// The kind of game is no number of one.
    #[error("has the game kind {0}")]
    Kind(u32),
    /// The log's tag is missing and the log is gone.
    #[error("has no tag, and its log is gone")]
    Tag,
}

/// What a game was for one player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The player won.
    Won,
    /// Nobody did.
    Drawn,
    /// The opponent won.
    Lost,
}

impl Verdict {
    /// The verdict for `seat`; `None` when the game touches no record: it is unrated, or has no result (agreed exit,
    /// aborted).
    ///
    /// # Errors
    /// [`Unreadable::Outcome`] for an outcome that this version does not know.
    pub fn of(game: &GameOutcome, seat: Seat) -> Result<Option<Self>, Unreadable> {
        let unknown = || Unreadable::Outcome(game.outcome);
        let outcome = i32::try_from(game.outcome).map_err(|_| unknown())?;
        let winner = match v1::Outcome::try_from(outcome).map_err(|_| unknown())? {
            v1::Outcome::Unspecified => return Err(unknown()),
            v1::Outcome::NotSettled => return Ok(None),
            v1::Outcome::Seat1Wins => Some(Seat::One),
            v1::Outcome::Seat2Wins => Some(Seat::Two),
            v1::Outcome::Draw => None,
        };
        if game.unrated {
            return Ok(None);
        }
        Ok(Some(match winner {
            None => Self::Drawn,
            Some(winner) if winner == seat => Self::Won,
            Some(_) => Self::Lost,
        }))
    }

    const fn outcome(self) -> Outcomes {
        match self {
            Self::Won => Outcomes::WIN,
            Self::Drawn => Outcomes::DRAW,
            Self::Lost => Outcomes::LOSS,
        }
    }

    /// The number of [`PlayerChange::outcome`].
    const fn code(self) -> u32 {
        match self {
            Self::Won => 1,
            Self::Drawn => 2,
            Self::Lost => 3,
        }
    }
}

/// A record after a game, and what the game changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The new record.
    pub record: PlayerRecord,
    /// The change, kept so that a void can take it back.
    pub change: PlayerChange,
}

/// The record of a player who has not played this kind of game.
#[must_use]
pub fn newcomer() -> PlayerRecord {
    let fresh = Glicko2Rating::new();
    PlayerRecord {
        rating: fresh.rating,
        deviation: fresh.deviation,
        volatility: fresh.volatility,
        ..PlayerRecord::default()
    }
}

/// The game applied to the record of the player on `seat`; `opponent` is the other player as frozen when the session was
/// created. A draw ends a streak of wins, like a loss.
#[must_use]
pub fn settle(
    record: &PlayerRecord,
    game: &GameOutcome,
    seat: Seat,
    verdict: Verdict,
    opponent: &PlayerAtCreation,
) -> Settled {
    let mut after = *record;
    let points = i64::from(match seat {
        Seat::One => game.seat_1_points,
        Seat::Two => game.seat_2_points,
    });
    after.points = record.points.saturating_add(points);
    match verdict {
        Verdict::Won => {
            after.wins = record.wins.saturating_add(1);
            after.current_streak = record.current_streak.saturating_add(1);
            after.longest_streak = record.longest_streak.max(after.current_streak);
        }
        Verdict::Drawn => {
            after.draws = record.draws.saturating_add(1);
            after.current_streak = 0;
        }
        Verdict::Lost => {
            after.losses = record.losses.saturating_add(1);
            after.current_streak = 0;
        }
    }
    let escaped = game.escaped_seat == u32::from(seat.number());
    if escaped {
        after.escapes = record.escapes.saturating_add(1);
    }
    let rating = rate(record, opponent, verdict);
    after.rating = rating.rating;
    after.deviation = rating.deviation;
    after.volatility = rating.volatility;
    if (1..=2).contains(&game.opener_seat) {
        let opened = u32::from(game.opener_seat == u32::from(seat.number()));
        after.opened_bits = (record.opened_bits << 1 | opened) & ((1 << OPENINGS_KEPT) - 1);
        after.opened_len = record.opened_len.saturating_add(1).min(OPENINGS_KEPT);
    }
    let change = PlayerChange {
        points,
        rating: after.rating - record.rating,
        outcome: verdict.code(),
        escaped,
    };
    Settled {
        record: after,
        change,
    }
}

/// Glicko-2 with a rating period of this one game.
fn rate(record: &PlayerRecord, opponent: &PlayerAtCreation, verdict: Verdict) -> Glicko2Rating {
    let own = bounded(record.rating, record.deviation, record.volatility);
    let other = bounded(
        // Ratings below zero are frozen as zero.
        f64::from(opponent.rating_centi) / 100.0,
        f64::from(opponent.deviation_centi) / 100.0,
        f64::from(opponent.volatility_micro) / 1_000_000.0,
    );
    let (after, _) = glicko2(&own, &other, &verdict.outcome(), &Glicko2Config::new());
    let finite = after.rating.is_finite() && after.deviation.is_finite() && after.volatility.is_finite();
    if !finite {
        return own;
    }
    bounded(after.rating, after.deviation, after.volatility)
}

fn bounded(rating: f64, deviation: f64, volatility: f64) -> Glicko2Rating {
    let fresh = Glicko2Rating::new();
    let within = |value: f64, bounds: (f64, f64), default: f64| {
        if value.is_finite() {
            value.clamp(bounds.0, bounds.1)
        } else {
            default
        }
    };
    Glicko2Rating {
        rating: within(rating, RATING_BOUNDS, fresh.rating),
        deviation: within(deviation, DEVIATION_BOUNDS, fresh.deviation),
        volatility: within(volatility, VOLATILITY_BOUNDS, fresh.volatility),
    }
}

/// The game's line in the list of the player on `seat`.
#[must_use]
pub fn listing(
    session: SessionId,
    game: &GameOutcome,
    seat: Seat,
    opponent: &PlayerAtCreation,
    ended_at: Instant,
    rating_after: f64,
) -> PlayerGameEntry {
    PlayerGameEntry {
        session: session.as_bytes().to_vec(),
        seat: u32::from(seat.number()),
        opponent: opponent.player.clone(),
        ended_at_ms: ended_at.0,
        rating_after,
        result: prost::Message::encode_to_vec(&game_result(game)),
    }
}

/// The result as the public API tells it.
fn game_result(game: &GameOutcome) -> v1::GameResult {
    let number = |value: u32| i32::try_from(value).unwrap_or_default();
    v1::GameResult {
        game_number: game.number,
        reason: number(game.reason),
        outcome: number(game.outcome),
        seat_1_colour: number(game.seat_1_colour),
        counts: Some(v1::DiscCounts {
            black: game.black,
            white: game.white,
        }),
        margin_half_discs: game.margin_half_discs,
        seat_1_points: game.seat_1_points,
        seat_2_points: game.seat_2_points,
        touched_by_outage: game.touched_by_outage,
    }
}

#[cfg(test)]
mod tests {
    use skillratings::glicko2::glicko2_rating_period;

    use super::*;

    fn frozen(rating: f64, deviation: f64, volatility: f64) -> PlayerAtCreation {
        PlayerAtCreation {
            player: "other".into(),
            rating_centi: (rating * 100.0) as u32,
            deviation_centi: (deviation * 100.0) as u32,
            volatility_micro: (volatility * 1e6) as u32,
        }
    }

    fn game(outcome: v1::Outcome, points: (i32, i32)) -> GameOutcome {
        GameOutcome {
            number: 1,
            outcome: outcome as u32,
            seat_1_points: points.0,
            seat_2_points: points.1,
            opener_seat: 1,
            ..GameOutcome::default()
        }
    }

    fn settled(record: &PlayerRecord, game: &GameOutcome, seat: Seat) -> Settled {
        let verdict = Verdict::of(game, seat).unwrap().unwrap();
        settle(record, game, seat, verdict, &frozen(1500.0, 350.0, 0.06))
    }

    /// The example of Glickman's paper: one period of three games. It proves the formula that is used; settlement has
    /// periods of one game.
    #[test]
    fn s20_the_rating_formula_gives_the_papers_published_example() {
        let opponents = [
            (Glicko2Rating::from((1400.0, 30.0, 0.06)), Outcomes::WIN),
            (Glicko2Rating::from((1550.0, 100.0, 0.06)), Outcomes::LOSS),
            (Glicko2Rating::from((1700.0, 300.0, 0.06)), Outcomes::LOSS),
        ];
        let player = Glicko2Rating::from((1500.0, 200.0, 0.06));
        let after = glicko2_rating_period(&player, &opponents, &Glicko2Config::new());
        assert!((after.rating - 1464.06).abs() < 0.01);
        assert!((after.deviation - 151.52).abs() < 0.01);
        assert!((after.volatility - 0.05999).abs() < 0.00001);
    }

    /// The first opponent of the paper's example alone, worked from the paper's formulas (steps 3 to 8) in decimal
    /// arithmetic of 40 digits.
    #[test]
    fn s20_a_win_against_the_papers_first_opponent_gives_the_papers_formulas_values() {
        let record = PlayerRecord {
            rating: 1500.0,
            deviation: 200.0,
            volatility: 0.06,
            ..PlayerRecord::default()
        };
        let after = settle(
            &record,
            &game(v1::Outcome::Seat1Wins, (2, -2)),
            Seat::One,
            Verdict::Won,
            &frozen(1400.0, 30.0, 0.06),
        )
        .record;
        assert!((after.rating - EXPECTED.0).abs() < 0.000_1, "{}", after.rating);
        assert!(
            (after.deviation - EXPECTED.1).abs() < 0.000_1,
            "{}",
            after.deviation
        );
        assert!(
            (after.volatility - EXPECTED.2).abs() < 0.000_001,
            "{}",
            after.volatility
        );
    }
    const EXPECTED: (f64, f64, f64) = (1_563.564_194, 175.402_656, 0.059_998_657);

    /// The values that Glicko-2 calculators give for two newcomers.
    #[test]
    fn s20_newcomers_meet_at_1662_and_1338_with_deviation_290() {
        let won = settled(&newcomer(), &game(v1::Outcome::Seat2Wins, (-2, 2)), Seat::Two);
        let lost = settled(&newcomer(), &game(v1::Outcome::Seat2Wins, (-2, 2)), Seat::One);
        assert_eq!(won.record.rating.round(), 1662.0);
        assert_eq!(lost.record.rating.round(), 1338.0);
        assert_eq!(won.record.deviation.round(), 290.0);
        assert_eq!((won.change.points, lost.change.points), (2, -2));
        assert!((won.change.rating - 162.0).abs() < 1.0);
        assert_eq!((won.change.outcome, lost.change.outcome), (1, 3));
    }

    #[test]
    fn s19_s20_points_counts_and_streaks() {
        let won = game(v1::Outcome::Seat1Wins, (2, -2));
        let lost = game(v1::Outcome::Seat2Wins, (-2, 2));
        let drawn = game(v1::Outcome::Draw, (0, 0));
        let mut record = newcomer();
        for game in [&won, &won, &lost, &won, &drawn, &lost, &lost, &lost] {
            record = settled(&record, game, Seat::One).record;
        }
        assert_eq!(record.points, -2);
        assert_eq!((record.wins, record.draws, record.losses), (3, 1, 4));
        assert_eq!((record.current_streak, record.longest_streak), (0, 2));
        record = settled(&record, &won, Seat::One).record;
        assert_eq!((record.current_streak, record.longest_streak), (1, 2));
        assert_eq!(record.escapes, 0);
    }

    #[test]
    fn s16_the_leaver_loses_and_escapes_the_other_does_not() {
        let mut left = game(v1::Outcome::Seat2Wins, (-2, 0));
        left.escaped_seat = 1;
        let leaver = settled(&newcomer(), &left, Seat::One);
        let other = settled(&newcomer(), &left, Seat::Two);
        assert_eq!((leaver.record.escapes, leaver.record.losses), (1, 1));
        assert_eq!(
            (other.record.escapes, other.record.wins, other.record.points),
            (0, 1, 0)
        );
        assert!(leaver.change.escaped && !other.change.escaped);
    }

    #[test]
    fn s20_unrated_games_and_games_without_a_result_touch_no_record() {
        let mut unrated = game(v1::Outcome::Seat1Wins, (2, -2));
        unrated.unrated = true;
        assert_eq!(Verdict::of(&unrated, Seat::One), Ok(None));
        assert_eq!(
            Verdict::of(&game(v1::Outcome::NotSettled, (0, 0)), Seat::Two),
            Ok(None)
        );
        assert_eq!(
            Verdict::of(&game(v1::Outcome::Unspecified, (0, 0)), Seat::One),
            Err(Unreadable::Outcome(0))
        );
        let mut future = game(v1::Outcome::Draw, (0, 0));
        future.outcome = 77;
        assert_eq!(Verdict::of(&future, Seat::One), Err(Unreadable::Outcome(77)));
    }

    #[test]
    fn s29_the_last_twenty_openings_are_kept_newest_lowest() {
        let mut record = newcomer();
        let opened = game(v1::Outcome::Draw, (0, 0));
        let not_opened = GameOutcome {
            opener_seat: 2,
            ..opened.clone()
        };
        record = settled(&record, &not_opened, Seat::One).record;
        record = settled(&record, &opened, Seat::One).record;
        assert_eq!((record.opened_bits, record.opened_len), (0b01, 2));
        for _ in 0..30 {
            record = settled(&record, &opened, Seat::One).record;
        }
        assert_eq!((record.opened_bits, record.opened_len), ((1 << 20) - 1, 20));
    }

    #[test]
    fn odd_numbers_in_a_record_give_numbers() {
        for odd in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300] {
            let record = PlayerRecord {
                rating: odd,
                deviation: odd,
                volatility: odd,
                ..PlayerRecord::default()
            };
            for opponent in [frozen(0.0, 0.0, 0.0), frozen(4e7, 4e7, 4e3)] {
                let game = game(v1::Outcome::Seat1Wins, (2, -2));
                let after = settle(&record, &game, Seat::One, Verdict::Won, &opponent).record;
                assert!(
                    after.rating.is_finite() && after.deviation.is_finite() && after.volatility.is_finite()
                );
            }
        }
    }
}
