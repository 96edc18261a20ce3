//! Bounds of settings (S-5, S-6, S-9, R-11), defaults, draws, and that a log is bounded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;
use tablemate_engine::policy::Policy;
use tablemate_engine::search::Level;
use tablemate_session::command::Command;
use tablemate_session::secret::{Purpose, Secret};
use tablemate_session::session::CreateError;
use tablemate_session::settings::*;
use tablemate_session::{Millis, Session};

fn defaults() -> Settings {
    Settings::of(GameSettings::Reversi(ReversiSettings::default()))
}

#[test]
fn the_defaults_are_those_of_the_rules() {
    let settings = defaults();
    assert_eq!(settings.games, 1); // S-5
    assert_eq!(settings.ready_time, Millis::seconds(15)); // S-2
    assert_eq!(settings.not_ready, NotReadyAction::AutoReady);
    assert_eq!(settings.idle_time, Millis::minutes(10)); // S-4
    assert_eq!(settings.move_time, Millis::seconds(30)); // S-6
    assert_eq!(settings.total_time, Some(Millis::minutes(10)));
    assert_eq!(settings.animation, Millis::seconds(1)); // S-8
    assert_eq!(settings.resign_guard, Millis::seconds(60)); // S-13
    let lowest = Policy::Engine { level: Level::LOWEST };
    assert_eq!(settings.timeout, TimeoutRule::Move(lowest)); // S-9
    assert_eq!(settings.opener_rule(), OpenerRule::Draw); // S-29
    assert!(settings.rated && settings.absence.is_none()); // S-20, S-17
    assert_eq!(settings.validate(), Ok(()));
    let scored = GameSettings::Reversi(ReversiSettings {
        scored_series: true,
        ..ReversiSettings::default()
    });
    assert_eq!(Settings::of(scored).games, 4);
}

#[test]
fn s06_times_run_from_a_second_to_a_day_and_some_may_be_zero() {
    let day = Millis::hours(24);
    let over = Millis(day.0 + 1);
    let with = |change: &dyn Fn(&mut Settings, Millis), time| {
        let mut settings = defaults();
        change(&mut settings, time);
        settings.validate()
    };
    type Change = fn(&mut Settings, Millis);
    let from_a_second: [(&str, Change); 4] = [
        ("idle_time", |s, t| s.idle_time = t),
        ("move_time", |s, t| s.move_time = t),
        ("total_time", |s, t| s.total_time = Some(t)),
        ("absence_limit", |s, t| s.absence = Some(t)),
    ];
    let from_zero: [(&str, Change); 4] = [
        ("ready_time", |s, t| s.ready_time = t),
        ("animation", |s, t| s.animation = t),
        ("resign_guard", |s, t| s.resign_guard = t),
        ("spectator_delay", |s, t| s.spectator_delay = t),
    ];
    for (field, change) in from_a_second {
        assert_eq!(with(&change, Millis::seconds(1)), Ok(()));
        assert_eq!(with(&change, day), Ok(()));
        for bad in [Millis(999), Millis::ZERO, over] {
            let violations = with(&change, bad).unwrap_err();
            assert_eq!(violations.len(), 1);
            assert_eq!(violations[0].field, field);
        }
    }
    for (field, change) in from_zero {
        assert_eq!(with(&change, Millis::ZERO), Ok(()));
        assert_eq!(with(&change, day), Ok(()));
        assert_eq!(with(&change, over).unwrap_err()[0].field, field);
    }
}

#[test]
fn all_violations_are_told_at_once() {
    let mut settings = defaults();
    settings.games = 33;
    settings.move_time = Millis::ZERO;
    settings.timeout = TimeoutRule::LoseAfter {
        n: 0,
        policy: Policy::Random,
    };
    settings.watch = Watch::List((0..65).map(|n| player(&format!("p{n}")).id).collect());
    let fields: Vec<_> = settings
        .validate()
        .unwrap_err()
        .iter()
        .map(|violation| violation.field)
        .collect();
    assert_eq!(
        fields,
        ["games", "move_time", "timeout.lose_after", "watch.viewers"]
    );
    let refused = Session::create(creation(settings, [false, false]), at(0));
    assert!(matches!(refused, Err(CreateError::Settings(violations)) if violations.len() == 4));
}

#[test]
fn s05_r11_games_are_1_to_32_and_even_in_a_scored_series() {
    for (games, scored, valid) in [
        (0, false, false),
        (1, false, true),
        (32, true, true),
        (33, false, false),
        (3, true, false),
    ] {
        let mut settings = defaults();
        settings.games = games;
        reversi(&mut settings).scored_series = scored;
        assert_eq!(settings.validate().is_ok(), valid, "{games} {scored}");
    }
}

#[test]
fn draws_are_uniform_repeatable_and_apart_by_purpose_game_and_sequence() {
    let secret = Secret::new([42; 32]);
    let mut counts = [0u32; 3];
    for sequence in 0..9_000 {
        let drawn = secret.draw_below(3, Purpose::Opener, 1, sequence);
        assert_eq!(drawn, secret.draw_below(3, Purpose::Opener, 1, sequence));
        counts[usize::try_from(drawn).unwrap()] += 1;
    }
    // Four standard deviations of a fair draw are 179.
    assert!(
        counts.iter().all(|count| count.abs_diff(3_000) < 180),
        "{counts:?}"
    );
    let mut all: Vec<_> = [
        Purpose::Opener,
        Purpose::Number(One),
        Purpose::Number(Two),
        Purpose::AutoMove,
        Purpose::Deal,
    ]
    .into_iter()
    .flat_map(|purpose| (1..4).flat_map(move |game| (1..4).map(move |sequence| (purpose, game, sequence))))
    .map(|(purpose, game, sequence)| secret.draw(purpose, game, sequence))
    .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 5 * 3 * 3);
    assert!(secret.draw(Purpose::Opener, 1, 1) != Secret::new([43; 32]).draw(Purpose::Opener, 1, 1));
    assert_eq!(secret.draw_below(0, Purpose::Opener, 1, 1), 0);
}

#[test]
fn draws_never_change() {
    // Logs are replayed years later: this number may never be another.
    let secret = Secret::new([42; 32]);
    assert_eq!(secret.draw(Purpose::AutoMove, 1, 2), DRAWN);
}

const DRAWN: u64 = 1_622_344_059_107_332_512;

#[test]
fn a_session_of_32_games_copies_quickly_and_knows_all_its_requests() {
    let mut settings = settings_with_pass("X");
    settings.games = 32;
    let mut table = Table::waiting(settings);
    for game in 0..32 {
        let now = at(game * 10);
        table.ready(One, now);
        table.does(One, unready(), now);
        table.ready(One, now);
        table.ready(Two, now);
        table.plays("c1", now);
        table.plays("c8", now);
    }
    assert_eq!(table.session.results().len(), 32);
    let first = table.log.iter().find_map(|fact| fact.request).unwrap();
    let mut again = table.session.clone();
    let request = tablemate_session::command::Request::player(
        One,
        tablemate_session::RequestId::new("r1").unwrap(),
        Command::SetReady {
            ready: true,
            number: None,
        },
    );
    assert_eq!(
        table
            .session
            .creation()
            .secret
            .request_hash(One, &tablemate_session::RequestId::new("r1").unwrap()),
        first
    );
    assert!(matches!(
        again.apply(&request, at(10_000), &[]).outcome,
        tablemate_session::command::Outcome::Replayed { first: 2, last: 2 }
    ));
}
