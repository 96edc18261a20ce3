//! Points, margins and the result of a scored series (S-19, R-9 to R-11).

use tablemate_engine::Colour;
use tablemate_engine::game::Position;

use crate::fact::{GameEndReason, Outcome, SeriesResult, SessionEnding};
use crate::seat::{PerSeat, Seat};
use crate::session::{Game, Session};
use crate::settings::{GameSettings, Settings};

/// What a won game without a board result counts at least in a scored series: two discs.
const FORFEIT_HALF_DISCS: u16 = 4;
/// Half points of a won game.
const WIN_HALF_POINTS: u32 = 2;

/// The points of a game by its own page (S-19). Reversi: R-9.
pub(crate) fn points(game: &GameSettings, outcome: Outcome) -> PerSeat<i32> {
    let won = match game {
        GameSettings::Reversi(_) => 2,
    };
    PerSeat::from_fn(|seat| match outcome {
        Outcome::Wins(winner) if winner == seat => won,
        Outcome::Wins(_) => -won,
        Outcome::Draw | Outcome::NotSettled => 0,
    })
}

/// The winner's margin in half discs.
pub(crate) fn margin(settings: &Settings, game: &Game, reason: GameEndReason, outcome: Outcome) -> u16 {
    let Some(winner) = outcome.winner() else { return 0 };
    let blacks = match (&settings.game, game.position()) {
        (GameSettings::Reversi(reversi), Position::Reversi(position)) => {
            position.margin_half_discs(reversi.margin)
        }
    };
    let winners = match game.colour(winner) {
        Colour::Black => blacks,
        Colour::White => blacks.saturating_neg(),
    };
    let margin = u16::try_from(winners).unwrap_or(0);
    let on_board = matches!(reason, GameEndReason::Board(_));
    if settings.game.scored_series() && !on_board {
        margin.max(FORFEIT_HALF_DISCS)
    } else {
        margin
    }
}

/// The result of a scored series that ends so (R-11, S-16); `None` when the games are not scored together.
pub(crate) fn series(session: &Session, ending: SessionEnding) -> Option<SeriesResult> {
    let settings = session.settings();
    if !settings.game.scored_series() {
        return None;
    }
    let mut half_points = PerSeat::new(0, 0);
    let mut margin_half_discs = 0;
    let mut count = |outcome: Outcome, margin: u16| match outcome {
        Outcome::Wins(seat) => {
            half_points[seat] += WIN_HALF_POINTS;
            margin_half_discs += match seat {
                Seat::One => i32::from(margin),
                Seat::Two => -i32::from(margin),
            };
        }
        Outcome::Draw => half_points
            .iter_mut()
            .for_each(|(_, points)| *points += WIN_HALF_POINTS / 2),
        Outcome::NotSettled => {}
    };
    for result in session.results() {
        count(result.outcome, result.margin_half_discs);
    }
    let leaver = Seat::ALL.into_iter().find(|seat| session.left[*seat]);
    let forfeit = leaver.filter(|_| ending == SessionEnding::Left && session.player(Seat::Two).is_some());
    if let Some(leaver) = forfeit {
        // The games left count as forfeited in the series' score only (S-16).
        let played = u32::try_from(session.results().len()).unwrap_or(u32::MAX);
        for _ in played..settings.games {
            count(Outcome::Wins(leaver.other()), FORFEIT_HALF_DISCS);
        }
    }
    let settled = ending == SessionEnding::SeriesComplete || forfeit.is_some();
    let [one, two] = half_points.0;
    let outcome = if !settled {
        Outcome::NotSettled
    } else {
        match (one, margin_half_discs).cmp(&(two, 0)) {
            std::cmp::Ordering::Greater => Outcome::Wins(Seat::One),
            std::cmp::Ordering::Less => Outcome::Wins(Seat::Two),
            std::cmp::Ordering::Equal => Outcome::Draw,
        }
    };
    Some(SeriesResult {
        outcome,
        half_points,
        margin_half_discs,
    })
}
