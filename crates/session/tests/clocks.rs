//! S-6 to S-12 and S-17: clocks, deadlines, auto-moves, outages, absence.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;
use tablemate_engine::policy::{self, Policy};
use tablemate_session::command::{Command, Outcome as Answer};
use tablemate_session::fact::*;
use tablemate_session::reason::Reason;
use tablemate_session::settings::TimeoutRule;
use tablemate_session::{Instant, Millis, Session};

#[test]
fn s06_the_deadline_is_the_smaller_of_move_time_and_what_is_left_of_the_total() {
    let mut settings = settings();
    settings.total_time = Some(Millis::seconds(45));
    let mut table = Table::playing(settings);
    assert_eq!(table.session.turn().unwrap().deadline, at(30));
    table.plays("d3", at(20)); // 25 s left
    assert_eq!(
        table.session.game().unwrap().total_left(One),
        Some(Millis::seconds(25))
    );
    assert_eq!(
        table.session.turn().unwrap().deadline,
        at(51),
        "the other has all 45 s"
    );
    table.plays("c3", at(21));
    assert_eq!(table.session.turn().unwrap().deadline, at(22 + 25));
}

#[test]
fn s07_a_now_before_the_last_fact_counts_as_that() {
    let mut table = Table::playing(settings());
    table.plays("d3", at(20));
    let applied = {
        let request = table.request(Two, play(2, "c3"));
        table.apply(&request, at(3))
    };
    assert_eq!(applied.at, at(20));
    assert_eq!(table.log.last().unwrap().at, at(20));
}

#[test]
fn s08_the_next_clock_starts_after_the_animation_and_a_move_during_it_costs_nothing() {
    let mut table = Table::playing(settings());
    assert_eq!(
        table.session.turn().unwrap().clock_start,
        at(0),
        "the first clock starts with the game"
    );
    table.plays("d3", at(5));
    let turn = table.session.turn().unwrap();
    assert_eq!((turn.clock_start, turn.deadline), (at(6), at(36)));
    table.plays("c3", Instant(at(5).0 + 500));
    assert_eq!(
        table.session.game().unwrap().total_left(Two),
        Some(Millis::minutes(10))
    );
    table.plays_any(at(9));
    let spent = Millis(9_000 - 6_500).plus(Millis::seconds(5));
    assert_eq!(
        table.session.game().unwrap().total_left(One),
        Some(Millis::minutes(10).minus(spent))
    );
}

#[test]
fn s09_when_the_move_time_runs_out_the_server_moves_at_the_deadline_by_the_policy() {
    let policies = [
        Policy::Random,
        Policy::Greedy,
        Policy::Engine {
            level: tablemate_engine::search::Level::LOWEST,
        },
    ];
    for policy in policies {
        let mut settings = settings();
        settings.timeout = TimeoutRule::Move(policy);
        let mut table = Table::playing(settings);
        let position = *table.session.game().unwrap().position();
        let fired = table.advance(at(32));
        let [fact] = &fired[..] else { panic!("{fired:?}") };
        assert_eq!((fact.at, fact.by), (at(30), Actor::Server));
        let FactKind::Moved { mv, auto: Some(used) } = fact.kind else {
            panic!("{fact:?}")
        };
        assert_eq!(used, policy);
        assert!(position.play(mv).is_ok());
        if policy != Policy::Random {
            assert_eq!(Some(mv), policy::choose(&position, policy, 0));
        }
        assert_eq!(table.session.game().unwrap().timeouts(One), 1);
    }
}

#[test]
fn s09_lose_and_lose_after() {
    let mut settings = settings();
    settings.timeout = TimeoutRule::Lose;
    let mut table = Table::playing(settings.clone());
    table.advance(at(31));
    assert_eq!(table.result().reason, GameEndReason::TimeoutCount);
    assert_eq!(table.result().outcome, Outcome::Wins(Two));
    assert_eq!(table.log.last().unwrap().at, at(30));

    settings.timeout = TimeoutRule::LoseAfter {
        n: 3,
        policy: Policy::Greedy,
    };
    settings.animation = Millis::ZERO;
    let mut table = Table::playing(settings);
    table.advance(at(10_000));
    // Both let every move run out: seat 1 reaches its third first.
    let moves = table
        .log
        .iter()
        .filter(|fact| matches!(fact.kind, FactKind::Moved { .. }))
        .count();
    assert_eq!(moves, 4);
    assert_eq!(table.result().outcome, Outcome::Wins(Two));
    assert_eq!(table.session.game().unwrap().timeouts(One), 3);
    assert_eq!(table.session.ended().unwrap().at, at(150));
}

#[test]
fn s10_total_time_loses_at_its_instant_and_comes_before_the_move_time() {
    let mut settings = settings();
    settings.total_time = Some(Millis::seconds(30));
    let mut table = Table::playing(settings);
    let fired = table.advance(at(31));
    assert_eq!(table.result().reason, GameEndReason::TotalTime);
    assert_eq!(table.result().outcome, Outcome::Wins(Two));
    assert_eq!(fired[0].at, at(30));
    assert_eq!(table.session.game().unwrap().total_left(One), Some(Millis::ZERO));
}

#[test]
fn s10_a_command_at_the_deadline_is_in_time_and_one_later_is_not() {
    let mut table = Table::playing(settings());
    let request = table.request(One, play(1, "d3"));
    let applied = table.apply(&request, at(30));
    assert!(applied.fired.is_empty());
    assert_eq!(applied.judged_before, Some(at(30)));
    assert!(matches!(applied.outcome, Answer::Accepted(_)));

    let mut table = Table::playing(settings());
    let now = Instant(at(30).0 + 1);
    let reason = table.refuses(One, play(1, "d3"), now);
    assert_eq!(
        reason,
        Reason::MoveTooLate {
            deadline: at(30),
            now
        }
    );
}

#[test]
fn s10_absence_comes_before_auto_ready_and_auto_ready_before_idle() {
    let mut settings = settings();
    settings.absence = Some(Millis::seconds(15));
    let mut table = Table::waiting(settings.clone());
    table.ready(One, at(1));
    table.by(Actor::Server, Command::Absent { seat: Two }, at(1));
    table.advance(at(20));
    assert_eq!(table.ending(), Some(SessionEnding::Left));
}

#[test]
fn s11_what_fired_is_kept_also_when_the_command_is_refused() {
    let mut table = Table::playing(settings());
    let request = table.request(One, play(1, "a1"));
    let applied = table.apply(&request, at(40));
    assert_eq!(applied.fired.len(), 1);
    assert!(matches!(
        applied.outcome,
        Answer::Rejected(Reason::MoveTooLate { .. })
    ));
    assert_eq!(applied.judged_before, Some(at(61)));
    assert_eq!(table.session.sequence(), 3);
}

#[test]
fn s11_a_late_move_is_told_so_also_when_more_has_happened_since() {
    let mut table = Table::playing(settings());
    table.advance(at(200));
    let now = at(200);
    let Reason::MoveTooLate { deadline, .. } = table.refuses(One, play(1, "d3"), now) else {
        panic!("not late")
    };
    assert_eq!(deadline, at(30));
    // Another's ply was not taken from this player.
    assert!(matches!(
        table.refuses(One, play(2, "d3"), now),
        Reason::Stale { .. }
    ));

    // The game may even be over by then.
    let mut settings = settings();
    settings.total_time = Some(Millis::seconds(5));
    let mut table = Table::playing(settings);
    assert!(matches!(
        table.refuses(One, play(1, "d3"), at(6)),
        Reason::MoveTooLate { deadline, .. } if deadline == at(5)
    ));
    assert_eq!(table.refuses(Two, play(1, "d3"), at(7)), Reason::SessionEnded);
}

#[test]
fn s11_many_passed_deadlines_come_in_parts() {
    let mut table = Table::playing(settings());
    let request = table.request(One, Command::Resign);
    let applied = table.apply(&request, at(100_000));
    assert_eq!(applied.outcome, Answer::MoreDue);
    assert!(applied.fired.len() >= 8);
    let mut calls = 1;
    loop {
        calls += 1;
        match table.apply(&request, at(100_000)).outcome {
            Answer::MoreDue => {}
            other => {
                assert_eq!(other, Answer::Rejected(Reason::SessionEnded));
                break;
            }
        }
    }
    assert!((5..20).contains(&calls), "{calls} calls");
    assert!(table.session.ended().is_some());
}

#[test]
fn s12_a_deadline_before_the_outage_fires_and_the_running_clock_moves_by_its_length() {
    let mut table = Table::playing(settings());
    table.outage(at(10), at(50));
    let fired = table.advance(at(51));
    assert_eq!(fired.len(), 1);
    assert_eq!(fired[0].at, at(50));
    assert!(matches!(fired[0].kind, FactKind::ClockCompensated(outage) if outage == table.outages[0]));
    assert_eq!(table.session.turn().unwrap().deadline, at(70));
    table.plays("d3", at(60));
    // 10 s before and 10 s after the outage.
    let used = Millis::minutes(10).minus(Millis::seconds(20));
    assert_eq!(table.session.game().unwrap().total_left(One), Some(used));

    let mut fires_first = Table::playing(settings());
    fires_first.outage(at(30), at(50));
    let fired = fires_first.advance(at(51));
    assert!(matches!(fired[0].kind, FactKind::Moved { .. }) && fired[0].at == at(30));
    assert!(matches!(fired[1].kind, FactKind::ClockCompensated(_)));
    // The next clock would have started at 31 s, inside the outage: it starts at its end.
    assert_eq!(fires_first.session.turn().unwrap().clock_start, at(50));
    assert_eq!(fires_first.session.turn().unwrap().deadline, at(80));
}

#[test]
fn s12_countdown_idle_offer_wait_and_absence_move_too() {
    let mut countdown = Table::waiting(settings());
    countdown.ready(One, at(5));
    countdown.outage(at(10), at(40));
    countdown.advance(at(41));
    assert_eq!(countdown.session.countdown_deadline(), Some(at(50)));
    countdown.does(One, unready(), at(45));
    // The idle time was suspended all the while: 5 s of it were used.
    assert_eq!(countdown.deadline(), at(45 + 595));

    let mut idle = Table::waiting(settings());
    idle.outage(at(100), at(1_000));
    idle.advance(at(1_001));
    assert_eq!(idle.deadline(), at(1_500));

    let mut wait = Table::playing(settings());
    wait.does(One, offer(OfferKind::Exit), at(1));
    wait.does(Two, answer(1, false), at(2));
    wait.outage(at(4), at(24));
    assert_eq!(
        wait.refuses(One, offer(OfferKind::Exit), at(31)),
        Reason::OfferTooSoon { allowed_from: at(32) }
    );
    wait.does(One, offer(OfferKind::Exit), at(32));

    let mut settings = settings();
    settings.absence = Some(Millis::seconds(20));
    let mut absence = Table::playing(settings);
    absence.by(Actor::Server, Command::Absent { seat: Two }, at(5));
    absence.outage(at(6), at(16));
    absence.advance(at(17));
    assert_eq!(absence.deadline(), at(35));
}

#[test]
fn s12_results_of_touched_games_are_marked_and_later_games_are_not() {
    let mut settings = settings();
    settings.games = 2;
    settings.resign_guard = Millis::ZERO;
    let mut table = Table::playing(settings);
    table.outage(at(1), at(10));
    table.does(One, Command::Resign, at(11));
    assert!(table.result().touched_by_outage);
    table.ready(One, at(12));
    table.ready(Two, at(12));
    table.does(One, Command::Resign, at(13));
    assert!(!table.result().touched_by_outage);
}

#[test]
fn s12_outages_known_at_creation_and_after_the_end_are_not_applied() {
    let mut creation = creation(settings(), [true, true]);
    creation.outages_known = 2;
    let mut table = Table::new(creation);
    for id in 1..=2 {
        table.outages.push(Outage {
            id,
            from: Instant(1),
            to: Instant(T0),
        });
    }
    assert!(table.advance(at(1)).is_empty());
    table.outages.push(Outage {
        id: 3,
        from: at(2),
        to: at(8),
    });
    assert_eq!(table.advance(at(9)).len(), 1);
    assert_eq!(table.session.outages_seen(), 3);

    let mut ended = Table::waiting(settings());
    ended.does(One, Command::Leave, at(1));
    ended.outage(at(2), at(9));
    assert!(ended.advance(at(10)).is_empty());
}

#[test]
fn s12_an_outage_ahead_of_this_replicas_clock_is_applied_and_the_command_judged_at_its_end() {
    let mut table = Table::playing(settings());
    table.outage(at(10), at(20));
    let request = table.request(One, play(1, "d3"));
    let applied = table.apply(&request, Instant(at(20).0 - 100));
    assert_eq!(applied.at, at(20));
    assert!(matches!(applied.outcome, Answer::Accepted(_)));
}

#[test]
fn s17_absence_is_limited_only_by_setting_and_ends_in_a_forced_exit() {
    let mut table = Table::playing(settings());
    let absent = || Command::Absent { seat: Two };
    assert_eq!(
        table.by(Actor::Server, absent(), at(1)),
        Answer::Rejected(Reason::NoChange)
    );

    let mut settings = settings();
    settings.absence = Some(Millis::seconds(20));
    let mut table = Table::playing(settings.clone());
    assert!(matches!(
        table.by(Actor::Server, absent(), at(1)),
        Answer::Accepted(_)
    ));
    assert_eq!(
        table.by(Actor::Server, absent(), at(2)),
        Answer::Rejected(Reason::NoChange)
    );
    let present = Command::Present { seat: Two };
    assert!(matches!(
        table.by(Actor::Server, present, at(3)),
        Answer::Accepted(_)
    ));
    assert_eq!(table.deadline(), at(30), "only the move's clock runs");

    table.by(Actor::Server, absent(), at(4));
    table.advance(at(30));
    assert_eq!(table.ending(), Some(SessionEnding::Left));
    assert_eq!(table.result().reason, GameEndReason::ForcedExit);
    assert_eq!(table.result().outcome, Outcome::Wins(One));
    assert_eq!(table.result().escape, Some(Two));
    assert_eq!(table.session.ended().unwrap().at, at(24));
}

#[test]
fn s11_two_replicas_with_different_clocks_write_the_same_log() {
    let mut prompt = Table::playing(settings());
    let mut late = Table::playing(settings());
    for second in 0..2_000 {
        prompt.advance(at(second));
    }
    late.advance(at(1_999));
    assert_eq!(prompt.log, late.log);
    assert_eq!(Session::fold(&late.log).unwrap(), prompt.session);
}
