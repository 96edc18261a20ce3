//! S-25 and S-26: request ids and expected sequences; and how moves are refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;
use tablemate_session::Millis;
use tablemate_session::command::{Command, Outcome as Answer, Request};
use tablemate_session::fact::*;
use tablemate_session::reason::{IllegalWhy, Reason};
use tablemate_session::{RequestId, Session};

fn named(seat: tablemate_session::seat::Seat, id: &str, command: Command) -> Request {
    Request::player(seat, RequestId::new(id).unwrap(), command)
}

#[test]
fn s25_a_repeated_request_gets_the_first_answer_and_changes_nothing_also_games_later() {
    let mut settings = settings();
    settings.games = 3;
    settings.resign_guard = Millis::ZERO;
    let mut table = Table::playing(settings);
    let first = named(One, "the move", play(1, "d3"));
    assert!(matches!(table.apply(&first, at(1)).outcome, Answer::Accepted(_)));
    table.does(One, Command::Resign, at(2));
    table.ready(One, at(3));
    table.ready(Two, at(4));
    let before = table.session.clone();
    for now in [at(1), at(5), at(5_000_000)] {
        let applied = table.apply(&first, now);
        assert_eq!(applied.outcome, Answer::Replayed { first: 3, last: 3 });
        assert!(applied.fired.is_empty(), "a repeated request fires nothing");
    }
    assert_eq!(table.session, before);
    // A replica that folds the log knows it too.
    let mut folded = Session::fold(&table.log).unwrap();
    assert!(matches!(
        folded.apply(&first, at(5), &[]).outcome,
        Answer::Replayed { .. }
    ));
}

#[test]
fn s25_the_answer_is_the_commands_own_events_all_of_them_and_not_what_fired_with_it() {
    let mut table = Table::waiting(settings());
    table.ready(One, at(0));
    table.does(One, unready(), at(1));
    table.ready(One, at(2));
    let second = named(Two, "ready", ready());
    table.apply(&second, at(3)); // Readied and Started
    let sequence = table.session.sequence();
    assert_eq!(
        table.apply(&second, at(4)).outcome,
        Answer::Replayed {
            first: sequence - 1,
            last: sequence
        }
    );

    let mut fires = Table::playing(settings());
    let offer = named(One, "exit", offer(OfferKind::Exit));
    let applied = fires.apply(&offer, at(35)); // seat 1's move fires first
    assert_eq!(applied.fired.len(), 1);
    assert_eq!(
        fires.apply(&offer, at(36)).outcome,
        Answer::Replayed { first: 4, last: 4 }
    );
}

#[test]
fn s25_another_command_under_the_same_id_is_refused() {
    let mut table = Table::playing(settings());
    table.apply(&named(One, "x", play(1, "d3")), at(1));
    let refused = Answer::Rejected(Reason::RequestIdReused);
    for command in [
        play(1, "c4"),
        play(2, "d3"),
        play(1, "rubbish"),
        Command::Resign,
        Command::Leave,
        ready(),
        offer(OfferKind::Exit),
        answer(1, true),
    ] {
        assert_eq!(table.apply(&named(One, "x", command), at(2)).outcome, refused);
    }
    // The same move spelled otherwise is the same, and expected sequences do not count.
    let mut again = named(One, "x", play(1, "D3"));
    again.expected_sequence = Some(77);
    assert_eq!(
        table.apply(&again, at(3)).outcome,
        Answer::Replayed { first: 3, last: 3 }
    );
    // Ids are unique per seat.
    assert!(matches!(
        table.apply(&named(Two, "x", play(2, "c3")), at(4)).outcome,
        Answer::Accepted(_)
    ));
}

#[test]
fn s25_every_kind_of_command_is_recognised_again() {
    let mut settings = settings();
    settings.games = 2;
    settings.resign_guard = Millis::ZERO;
    let mut table = Table::new(open_creation(settings, false));
    let script = [
        (Two, join("bob", false, TOKEN)),
        (One, ready()),
        (One, unready()),
        (One, ready()),
        (Two, ready()),
        (One, play(1, "d3")),
        (One, offer(OfferKind::Exit)),
        (Two, answer(1, false)),
        (Two, offer(OfferKind::Exit)),
        (Two, withdraw(2)),
        (Two, Command::Resign),
        (One, ready()),
        (Two, ready()),
        (Two, Command::Resign),
        (One, offer(OfferKind::Rematch)),
        (Two, offer(OfferKind::Rematch)),
    ];
    let mut done = Vec::new();
    for (n, (seat, command)) in script.into_iter().enumerate() {
        let request = named(seat, &format!("request {n}"), command);
        let applied = table.apply(&request, at(n as u64));
        let Answer::Accepted(facts) = applied.outcome else {
            panic!("{request:?}: {applied:?}")
        };
        assert_eq!(usize::from(facts[0].count), facts.len());
        assert!(
            facts[1..]
                .iter()
                .all(|fact| fact.count == 0 && fact.request.is_none())
        );
        let last = table.session.sequence();
        let first = last + 1 - facts.len() as u64;
        done.push((request, Answer::Replayed { first, last }));
    }
    for session in [
        &mut table.session.clone(),
        &mut Session::fold(&table.log).unwrap(),
    ] {
        for (request, answer) in &done {
            assert_eq!(
                &session.apply(request, at(99), &[]).outcome,
                answer,
                "{request:?}"
            );
        }
    }
}

#[test]
fn s25_only_accepted_commands_are_remembered() {
    let mut table = Table::playing(settings());
    let early = named(One, "r", Command::Resign);
    assert!(matches!(table.apply(&early, at(1)).outcome, Answer::Rejected(_)));
    table.plays("d3", at(25));
    table.plays("c3", at(50));
    table.plays_any(at(61));
    assert!(matches!(table.apply(&early, at(62)).outcome, Answer::Accepted(_)));
}

#[test]
fn s25_another_players_join_is_no_repetition() {
    let mut table = Table::new(open_creation(settings(), false));
    table.apply(&named(Two, "join", join("bob", false, TOKEN)), at(1));
    let eve = table.apply(&named(Two, "join", join("eve", false, TOKEN)), at(2));
    assert_eq!(eve.outcome, Answer::Rejected(Reason::SeatTaken));
    let again = table.apply(&named(Two, "join", join("bob", false, TOKEN)), at(2));
    assert_eq!(again.outcome, Answer::Replayed { first: 2, last: 2 });
}

#[test]
fn s25_creations_are_the_same_by_what_the_caller_chose() {
    let table = Table::waiting(settings());
    let mut again = creation(settings(), [false, false]);
    again.secret = tablemate_session::secret::Secret::new([9; 32]);
    again.outages_known = 5;
    again.player_one.rating.rating_centi += 1;
    assert!(table.session.same_creation(&again));
    assert!(!table.session.same_creation(&creation(settings(), [true, false])));
    let mut longer = settings();
    longer.move_time = Millis::seconds(31);
    assert!(!table.session.same_creation(&creation(longer, [false, false])));
    let mut other = creation(settings(), [false, false]);
    other.player_two = Some(player("eve"));
    assert!(!table.session.same_creation(&other));
}

fn expecting(seat: tablemate_session::seat::Seat, id: &str, sequence: u64, command: Command) -> Request {
    Request {
        expected_sequence: Some(sequence),
        ..named(seat, id, command)
    }
}

#[test]
fn s26_a_wrong_ply_is_stale() {
    let mut table = Table::playing(settings());
    table.plays("d3", at(1));
    let stale = Reason::Stale { sequence: 3, ply: 2 };
    assert_eq!(table.refuses(One, play(1, "d3"), at(2)), stale);
    assert_eq!(table.refuses(Two, play(3, "c3"), at(2)), stale);
    assert_eq!(table.refuses(One, play(2, "c3"), at(2)), Reason::NotYourTurn);
}

#[test]
fn s26_a_play_minds_only_changes_of_position_mover_and_phase() {
    let mut table = Table::playing(settings());
    table.plays("d3", at(1)); // sequence 3
    table.does(One, offer(OfferKind::Exit), at(2)); // 4: no matter to a move
    let stale = Answer::Rejected(Reason::Stale { sequence: 4, ply: 2 });
    assert_eq!(
        table.apply(&expecting(Two, "a", 2, play(2, "c3")), at(3)).outcome,
        stale
    );
    assert_eq!(
        table.apply(&expecting(Two, "b", 9, play(2, "c3")), at(3)).outcome,
        stale,
        "from a lost future"
    );
    let fresh = table.apply(&expecting(Two, "c", 3, play(2, "c3")), at(3));
    assert!(matches!(fresh.outcome, Answer::Accepted(_)));
}

#[test]
fn s26_other_commands_mind_game_number_and_phase() {
    let mut table = Table::playing(settings()); // Started is 2
    table.plays("d3", at(1));
    table.plays("c3", at(2));
    let old = table.apply(&expecting(One, "a", 2, offer(OfferKind::Exit)), at(3));
    assert!(
        matches!(old.outcome, Answer::Accepted(_)),
        "moves do not matter to an offer"
    );
    let before_the_game = table.apply(&expecting(Two, "b", 1, Command::Leave), at(3));
    assert!(matches!(
        before_the_game.outcome,
        Answer::Rejected(Reason::Stale { .. })
    ));
    // An answer minds its offer alone.
    let answer = table.apply(&expecting(Two, "c", 1, answer(1, false)), at(3));
    assert!(matches!(answer.outcome, Answer::Accepted(_)));
}

#[test]
fn moves_are_refused_with_what_is_wrong_with_them() {
    let mut table = Table::playing(settings());
    let before = table.session.clone();
    for (text, why, code) in [
        ("d4", IllegalWhy::Occupied, "ILLEGAL_MOVE"),
        ("a1", IllegalWhy::TurnsNothing, "ILLEGAL_MOVE"),
        ("i9", IllegalWhy::OffBoard, "ILLEGAL_MOVE"),
        ("pass", IllegalWhy::MustMove, "ILLEGAL_MOVE"),
        ("", IllegalWhy::Malformed, "NOT_A_MOVE"),
        (
            "d3\u{7}\u{1f600} and much more of it",
            IllegalWhy::Malformed,
            "NOT_A_MOVE",
        ),
    ] {
        let reason = table.refuses(One, play(1, text), at(1));
        assert_eq!(reason.code(), code);
        let Reason::IllegalMove { mv, why: found } = reason else {
            panic!("{reason:?}")
        };
        assert_eq!(found, why, "{text}");
        assert!(mv.chars().count() <= 16 && !mv.chars().any(char::is_control));
    }
    assert_eq!(table.session, before);
    let mut waiting = Table::waiting(settings());
    assert_eq!(waiting.refuses(One, play(1, "d3"), at(1)), Reason::GameNotOn);
    assert_eq!(waiting.refuses(One, Command::Resign, at(1)), Reason::GameNotOn);
    assert_eq!(
        waiting.refuses(One, offer(OfferKind::Exit), at(1)),
        Reason::GameNotOn
    );
}
