//! S-13 to S-19 and: offers, endings, points, margins, scored series.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;
use tablemate_engine::Colour;
use tablemate_engine::game::EndReason;
use tablemate_engine::reversi::MarginMethod;
use tablemate_session::Millis;
use tablemate_session::command::{Command, Outcome as Answer};
use tablemate_session::fact::*;
use tablemate_session::reason::{IllegalWhy, Reason};
use tablemate_session::session::Phase;

#[test]
fn r05_r06_a_pass_is_made_for_the_player_in_the_same_commit_and_adds_no_animation() {
    let mut table = Table::playing(settings_with_pass("X"));
    let facts = table.plays("c1", at(5));
    assert!(matches!(
        facts[..],
        [FactKind::Moved { .. }, FactKind::Passed { seat: Two }]
    ));
    assert!(table.log.iter().rev().take(2).all(|fact| fact.at == at(5)));
    let turn = table.session.turn().unwrap();
    assert_eq!((turn.ply, turn.seat, turn.colour), (3, One, Colour::Black));
    assert_eq!((turn.clock_start, turn.deadline), (at(6), at(36)));
    // Nobody passes who can move.
    assert!(matches!(
        table.refuses(One, play(3, "pass"), at(6)),
        Reason::IllegalMove {
            why: IllegalWhy::MustMove,
            ..
        }
    ));
}

#[test]
fn r01_a_start_in_which_only_the_other_can_move_begins_with_a_pass() {
    let table = Table::playing(settings_with_pass("O"));
    assert!(matches!(table.log[2].kind, FactKind::Passed { seat: One }));
    assert_eq!(table.log[0].count, 3);
    let turn = table.session.turn().unwrap();
    assert_eq!((turn.ply, turn.seat, turn.colour), (2, Two, Colour::Black));
    assert_eq!(turn.clock_start, at(0));
}

#[test]
fn r07_r08_r09_a_game_ends_on_the_board_with_the_last_move() {
    let mut table = Table::playing(settings_with_pass("X"));
    table.plays("c1", at(1));
    let facts = table.plays("c8", at(3));
    assert!(matches!(
        facts[..],
        [
            FactKind::Moved { .. },
            FactKind::GameEnded(_),
            FactKind::SessionEnded { .. }
        ]
    ));
    let result = *table.result();
    assert_eq!(result.reason, GameEndReason::Board(EndReason::WipeOut));
    assert_eq!(result.outcome, Outcome::Wins(One));
    assert_eq!(result.points.0, [2, -2]);
    assert_eq!((result.counts, result.margin_half_discs), ([6, 0], 12));
    assert_eq!(result.colour(One), Colour::Black);
    assert_eq!(result.colour(Two), Colour::White);
    assert_eq!(result.escape, None);
    assert_eq!(table.ending(), Some(SessionEnding::SeriesComplete));

    let mut draw = Table::playing(settings_with_draw());
    draw.plays("c1", at(1));
    assert_eq!(draw.result().reason, GameEndReason::Board(EndReason::NoMoves));
    assert_eq!(draw.result().outcome, Outcome::Draw);
    assert_eq!(
        (draw.result().points.0, draw.result().margin_half_discs),
        ([0, 0], 0)
    );
}

#[test]
fn r10_the_margin_is_in_the_sessions_method() {
    let mut settings = settings_with_pass("X");
    reversi(&mut settings).margin = MarginMethod::EmptiesToWinner;
    let mut table = Table::playing(settings);
    table.plays("c1", at(1));
    table.plays("c8", at(3));
    assert_eq!(table.result().margin_half_discs, 128);
    assert_eq!(table.result().counts, [6, 0], "counts stay raw");
}

#[test]
fn s13_no_resigning_in_the_first_minute() {
    let mut table = Table::playing(settings());
    assert_eq!(
        table.refuses(One, Command::Resign, at(20)),
        Reason::ResignTooEarly { allowed_from: at(60) }
    );
    table.plays("d3", at(25));
    table.plays("c3", at(40));
    let facts = table.does(Two, Command::Resign, at(60));
    assert!(matches!(facts[0], FactKind::GameEnded(result) if result.outcome == Outcome::Wins(One)));
    assert_eq!(table.result().reason, GameEndReason::Resignation);
    assert_eq!(table.result().points.0, [2, -2]);
    assert_eq!(table.refuses(One, Command::Resign, at(61)), Reason::SessionEnded);
}

#[test]
fn s14_an_agreed_exit_ends_the_session_without_a_result() {
    let mut settings = settings();
    settings.games = 4;
    let mut table = Table::playing(settings);
    table.does(One, offer(OfferKind::Exit), at(1));
    assert_eq!(
        table.refuses(One, offer(OfferKind::Exit), at(2)),
        Reason::NoChange
    );
    assert_eq!(
        table.refuses(One, answer(1, true), at(2)),
        Reason::OfferGone,
        "not one's own"
    );
    assert_eq!(table.refuses(Two, answer(2, true), at(2)), Reason::OfferGone);
    assert_eq!(table.refuses(Two, withdraw(1), at(2)), Reason::OfferGone);
    let facts = table.does(Two, answer(1, true), at(3));
    assert!(matches!(
        facts[..],
        [
            FactKind::OfferAccepted { .. },
            FactKind::GameEnded(_),
            FactKind::SessionEnded { .. }
        ]
    ));
    assert_eq!(table.result().reason, GameEndReason::AgreedExit);
    assert_eq!(table.result().outcome, Outcome::NotSettled);
    assert_eq!(table.result().points.0, [0, 0]);
    assert!(!table.result().settled());
    assert_eq!(table.ending(), Some(SessionEnding::AgreedExit));
}

#[test]
fn s14_an_opposite_offer_is_an_acceptance() {
    let mut table = Table::playing(settings());
    table.does(Two, offer(OfferKind::Exit), at(1));
    let facts = table.does(One, offer(OfferKind::Exit), at(2));
    assert!(matches!(facts[0], FactKind::OfferAccepted { by_offer: true, .. }));
    assert_eq!(table.ending(), Some(SessionEnding::AgreedExit));
}

#[test]
fn s14_an_offer_lapses_when_its_maker_moves_or_the_game_ends() {
    let mut table = Table::playing(settings());
    table.does(One, offer(OfferKind::Exit), at(1));
    let facts = table.plays("d3", at(2));
    assert!(matches!(
        facts[..],
        [
            FactKind::Moved { .. },
            FactKind::OfferLapsed { offer: OfferId(1) }
        ]
    ));
    assert_eq!(table.refuses(Two, answer(1, true), at(3)), Reason::OfferGone);

    // The other's move does not end it, an auto-move of the maker does.
    table.does(Two, offer(OfferKind::Exit), at(4));
    let now = table.deadline().after(Millis(1));
    let fired = table.advance(now);
    assert!(matches!(fired[0].kind, FactKind::Moved { auto: Some(_), .. }));
    assert!(matches!(
        fired[1].kind,
        FactKind::OfferLapsed { offer: OfferId(2) }
    ));

    let mut ends = Table::playing(settings_with_pass("X"));
    ends.does(Two, offer(OfferKind::Exit), at(1));
    ends.plays("c1", at(2));
    assert_eq!(ends.session.open_offers().len(), 1);
    let facts = ends.plays("c8", at(3));
    assert!(matches!(facts[2], FactKind::OfferLapsed { offer: OfferId(1) }));
    assert!(ends.session.open_offers().is_empty());
}

#[test]
fn s14_after_decline_withdrawal_or_lapse_ten_seconds_and_at_most_five() {
    let mut table = Table::playing(settings());
    let exit = || offer(OfferKind::Exit);
    table.does(One, exit(), at(0));
    table.does(Two, answer(1, false), at(1));
    assert_eq!(
        table.refuses(One, exit(), at(10)),
        Reason::OfferTooSoon { allowed_from: at(11) }
    );
    table.does(One, exit(), at(11));
    table.does(One, withdraw(2), at(12));
    assert_eq!(
        table.refuses(One, exit(), at(13)),
        Reason::OfferTooSoon { allowed_from: at(22) }
    );
    table.does(One, exit(), at(22));
    table.plays("d3", at(23)); // lapses
    assert_eq!(
        table.refuses(One, exit(), at(24)),
        Reason::OfferTooSoon { allowed_from: at(33) }
    );
    // The wait is each player's own.
    table.does(Two, exit(), at(24));
    table.does(Two, withdraw(4), at(24));
    for n in 0..2 {
        table.does(One, exit(), at(33 + 10 * n));
        table.does(One, withdraw(5 + n as u32), at(33 + 10 * n));
    }
    assert_eq!(table.refuses(One, exit(), at(55)), Reason::OfferLimit);
}

#[test]
fn s15_r17_reversi_knows_no_agreed_draw() {
    let mut table = Table::playing(settings());
    let kind = OfferKind::Draw;
    assert_eq!(
        table.refuses(One, offer(kind), at(1)),
        Reason::OfferNotAllowed { kind }
    );
}

#[test]
fn s16_a_forced_exit_loses_counts_an_escape_and_ends_the_session() {
    let mut settings = settings();
    settings.games = 3;
    settings.move_time = Millis::minutes(5);
    let mut table = Table::playing(settings);
    let facts = table.does(Two, Command::Leave, at(61));
    assert!(matches!(
        facts[..],
        [
            FactKind::Left {
                seat: Two,
                absent: false
            },
            FactKind::GameEnded(_),
            FactKind::SessionEnded { .. }
        ]
    ));
    let result = *table.result();
    assert_eq!(result.reason, GameEndReason::ForcedExit);
    assert_eq!((result.outcome, result.escape), (Outcome::Wins(One), Some(Two)));
    assert_eq!(result.points.0, [2, -2]);
    assert_eq!(table.ending(), Some(SessionEnding::Left));
}

#[test]
fn s16_within_the_resign_guard_the_leaver_loses_points_and_the_other_gains_none() {
    let mut table = Table::playing(settings());
    table.does(One, Command::Leave, at(29));
    assert_eq!(table.result().points.0, [-2, 0]);
    assert_eq!(table.result().outcome, Outcome::Wins(Two));
}

#[test]
fn s16_leaving_with_no_game_on_ends_the_session_without_settlement() {
    let mut table = Table::waiting(settings());
    table.does(Two, Command::Leave, at(1));
    assert_eq!(table.ending(), Some(SessionEnding::Left));
    assert!(table.session.results().is_empty());
    assert_eq!(table.session.ended().unwrap().series, None);
}

#[test]
fn s18_an_operator_ends_a_game_without_a_result() {
    let mut table = Table::playing(settings());
    assert!(matches!(
        table.by(Actor::Operator, Command::Abort, at(5)),
        Answer::Accepted(_)
    ));
    assert_eq!(table.result().reason, GameEndReason::Aborted);
    assert_eq!(table.result().outcome, Outcome::NotSettled);
    assert_eq!(table.ending(), Some(SessionEnding::Aborted));
    assert_eq!(
        table.by(Actor::Operator, Command::Abort, at(6)),
        Answer::Rejected(Reason::SessionEnded)
    );
}

#[test]
fn s18_a_tombstone_is_created_and_ended_in_one_commit() {
    let (session, log) =
        tablemate_session::Session::tombstone(creation(settings(), [true, true]), at(0)).unwrap();
    assert_eq!(log.len(), 2);
    assert_eq!(session.phase(), Phase::Ended);
    assert_eq!(session.ended().unwrap().ending, SessionEnding::Aborted);
    assert!(session.same_creation(&creation(settings(), [true, true])));
}

#[test]
fn s19_seat_two_can_win_as_either_colour() {
    let mut settings = settings_with_pass("X");
    settings.games = 2;
    let mut table = Table::playing(settings);
    table.plays("c1", at(1));
    table.plays("c8", at(3));
    table.ready(One, at(4));
    table.ready(Two, at(4));
    table.plays("c1", at(6));
    table.plays("c8", at(8));
    let result = *table.result();
    assert_eq!(result.colour(Two), Colour::Black);
    assert_eq!(result.outcome, Outcome::Wins(Two));
    assert_eq!(result.points.0, [-2, 2]);
}

fn scored(mut settings: tablemate_session::settings::Settings, games: u32) -> Table {
    reversi(&mut settings).scored_series = true;
    settings.games = games;
    settings.resign_guard = Millis::ZERO;
    Table::playing(settings)
}

fn next_game(table: &mut Table, now: tablemate_session::Instant) {
    table.ready(One, now);
    table.ready(Two, now);
}

#[test]
fn r11_a_scored_series_counts_half_points_and_then_margins() {
    let mut table = scored(settings_with_pass("X"), 2);
    table.plays("c1", at(1)); // 5 black, 1 white
    table.does(Two, Command::Resign, at(2));
    assert_eq!(
        table.result().margin_half_discs,
        2 * (4 - 1),
        "what the position gives the winner"
    );
    next_game(&mut table, at(3));
    // Seat 2 is black now, and wins by more.
    table.plays("c1", at(4));
    table.plays("c8", at(6));
    let series = table.session.ended().unwrap().series.unwrap();
    assert_eq!(series.half_points.0, [2, 2]);
    assert_eq!(series.margin_half_discs, 6 - 12);
    assert_eq!(series.outcome, Outcome::Wins(Two));
}

#[test]
fn r11_a_game_without_a_board_result_counts_at_least_two_discs() {
    let mut table = scored(settings_with_pass("X"), 2);
    table.plays("c1", at(1));
    table.does(One, Command::Resign, at(2)); // who is ahead resigns
    assert_eq!(table.result().margin_half_discs, 4);
    next_game(&mut table, at(3));
    table.does(Two, Command::Resign, at(4));
    let series = table.session.ended().unwrap().series.unwrap();
    assert_eq!(series.margin_half_discs, 0);
    assert_eq!(series.outcome, Outcome::Draw, "equal margins are a drawn series");
}

#[test]
fn r11_a_drawn_game_is_half_a_point_and_an_agreed_exit_unsettles_the_series() {
    let mut table = scored(settings_with_draw(), 2);
    table.plays("c1", at(1));
    next_game(&mut table, at(2));
    table.does(One, offer(OfferKind::Exit), at(3));
    table.does(Two, answer(1, true), at(4));
    let series = table.session.ended().unwrap().series.unwrap();
    assert_eq!(series.half_points.0, [1, 1]);
    assert_eq!(series.outcome, Outcome::NotSettled);
}

#[test]
fn s16_in_a_scored_series_the_games_left_count_as_forfeited_in_its_score_only() {
    let mut table = scored(settings_with_pass("X"), 4);
    table.plays("c1", at(1));
    table.plays("c8", at(3)); // seat 1 wins by 12
    table.does(One, Command::Leave, at(5));
    assert_eq!(
        table.session.results().len(),
        1,
        "no results for games not played"
    );
    let series = table.session.ended().unwrap().series.unwrap();
    assert_eq!(series.half_points.0, [2, 6]);
    assert_eq!(series.margin_half_discs, 12 - 3 * 4);
    assert_eq!(series.outcome, Outcome::Wins(Two));
}
