//! S-1 to S-5, S-27 and S-29: seats, getting ready, who opens, series and rematch.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;
use tablemate_session::fact::*;
use tablemate_session::player::Openings;
use tablemate_session::reason::Reason;
use tablemate_session::session::{CreateError, Phase};
use tablemate_session::settings::{NotReadyAction, OpenerRule};
use tablemate_session::{Instant, Millis, Session, SessionId};

use tablemate_session::command::{Command, Outcome as Answer};

#[test]
fn s01_a_game_starts_when_both_are_ready_and_not_before() {
    let mut table = Table::waiting(settings());
    assert_eq!(table.session.phase(), Phase::Waiting);
    assert_eq!(table.ready(Two, at(1)).len(), 1);
    assert_eq!(table.session.phase(), Phase::Waiting);
    let facts = table.ready(One, at(2));
    assert!(matches!(
        facts[..],
        [
            FactKind::Readied { seat: One, .. },
            FactKind::Started {
                game: 1,
                opener: One,
                ..
            }
        ]
    ));
    assert_eq!(table.session.phase(), Phase::Playing);
    assert_eq!(table.refuses(One, ready(), at(3)), Reason::GameOn);
}

#[test]
fn s01_ready_flags_at_creation_start_the_game_or_the_countdown_at_once() {
    let both = Table::playing(settings());
    assert_eq!(both.log.len(), 2);
    assert_eq!(both.log[0].count, 2);
    assert_eq!(both.log[1].at, at(0));

    let one = Table::new(creation(settings(), [false, true]));
    assert_eq!(one.session.countdown_deadline(), Some(at(15)));
}

#[test]
fn s01_the_countdown_starts_at_the_joining() {
    let mut table = Table::new(open_creation(settings(), true));
    assert_eq!(table.session.phase(), Phase::Open);
    assert_eq!(table.session.countdown_deadline(), None);
    table.does(Two, join("bob", false, TOKEN), at(100));
    assert_eq!(table.session.countdown_deadline(), Some(at(115)));

    let mut table = Table::new(open_creation(settings(), false));
    table.does(Two, join("bob", true, TOKEN), at(100));
    table.advance(Instant(at(115).0 + 1));
    assert!(table.log.iter().any(|fact| matches!(
        fact.kind,
        FactKind::Readied {
            seat: One,
            auto: true,
            ..
        }
    )));

    let mut table = Table::new(open_creation(settings(), true));
    let facts = table.does(Two, join("bob", true, TOKEN), at(100));
    assert!(matches!(facts[1], FactKind::Started { .. }));
}

#[test]
fn s02_the_other_is_made_ready_and_the_start_is_the_deadline_whoever_notices_it_when() {
    let mut table = Table::waiting(settings());
    table.ready(Two, at(20));
    assert!(
        table.advance(at(35)).is_empty(),
        "a deadline has passed only after it"
    );
    let fired = table.advance(at(47));
    assert_eq!(fired.len(), 2);
    assert!(matches!(
        fired[0].kind,
        FactKind::Readied {
            seat: One,
            auto: true,
            ..
        }
    ));
    assert!(matches!(fired[1].kind, FactKind::Started { .. }));
    assert!(
        fired
            .iter()
            .all(|fact| fact.at == at(35) && fact.by == Actor::Server)
    );
    assert_eq!(table.session.game().unwrap().started(), at(35));
    assert_eq!(table.session.turn().unwrap().deadline, at(65));
}

#[test]
fn s02_getting_ready_at_the_deadline_is_in_time() {
    let mut table = Table::waiting(settings());
    table.ready(Two, at(20));
    let facts = table.ready(One, at(35));
    assert!(matches!(facts[0], FactKind::Readied { auto: false, .. }));
}

#[test]
fn s02_with_cancel_the_session_closes() {
    let mut settings = settings();
    settings.not_ready = NotReadyAction::Cancel;
    let mut table = Table::waiting(settings);
    table.ready(One, at(1));
    let fired = table.advance(at(60));
    assert_eq!(fired.len(), 1);
    assert_eq!(fired[0].at, at(16));
    assert_eq!(table.ending(), Some(SessionEnding::Cancelled));
    assert_eq!(table.refuses(Two, ready(), at(61)), Reason::SessionEnded);
}

#[test]
fn s02_a_ready_time_of_zero_starts_the_game_at_once() {
    let mut settings = settings();
    settings.ready_time = Millis::ZERO;
    let mut table = Table::waiting(settings);
    table.ready(One, at(7));
    table.advance(at(8));
    assert_eq!(table.session.game().unwrap().started(), at(7));
}

#[test]
fn s03_ready_can_be_taken_back_three_times_and_the_countdown_starts_anew() {
    let mut table = Table::waiting(settings());
    for round in 0..3 {
        table.ready(One, at(10 * round));
        assert_eq!(table.session.countdown_deadline(), Some(at(10 * round + 15)));
        table.does(One, unready(), at(10 * round + 5));
        assert_eq!(table.session.countdown_deadline(), None);
    }
    table.ready(One, at(40));
    assert_eq!(table.refuses(One, unready(), at(41)), Reason::ReadyLimit);
    assert_eq!(table.session.countdown_deadline(), Some(at(55)));
    // The limit is each player's own.
    assert_eq!(table.refuses(Two, unready(), at(41)), Reason::NoChange);
}

#[test]
fn s04_idle_counts_from_creation_and_is_suspended_while_a_countdown_runs() {
    let mut table = Table::waiting(settings());
    assert_eq!(table.deadline(), at(600));
    table.ready(One, at(100));
    assert_eq!(
        table
            .session
            .view(tablemate_session::view::Viewer::Spectator)
            .idle_deadline,
        None
    );
    table.does(One, unready(), at(110));
    assert_eq!(table.deadline(), at(610), "ten seconds of countdown do not count");
    table.advance(at(700));
    assert_eq!(table.ending(), Some(SessionEnding::Idle));
    assert_eq!(table.log.last().unwrap().at, at(610));
    assert!(table.session.results().is_empty());
}

#[test]
fn s04_an_open_seat_does_not_stop_the_idle_time() {
    let mut table = Table::new(open_creation(settings(), true));
    table.advance(at(601));
    assert_eq!(table.ending(), Some(SessionEnding::Idle));
}

#[test]
fn s05_between_games_the_rules_of_getting_ready_hold_again_and_the_opener_alternates() {
    let mut settings = settings();
    settings.games = 3;
    settings.resign_guard = Millis::ZERO;
    let mut table = Table::playing(settings);
    for game in 1..=3u8 {
        let expected = if game % 2 == 1 { One } else { Two };
        assert_eq!(table.session.game().unwrap().opener(), expected);
        assert_eq!(table.session.turn().unwrap().seat, expected);
        let now = at(100 * u64::from(game));
        table.does(One, Command::Resign, now);
        if game < 3 {
            assert_eq!(table.session.phase(), Phase::Waiting);
            assert_eq!(
                table.deadline(),
                now.after(Millis::minutes(10)),
                "idle from the game's end"
            );
            assert!(!table.session.is_ready(One) && !table.session.is_ready(Two));
            table.ready(One, now);
            table.ready(Two, now.after(Millis(5)));
        }
    }
    assert_eq!(table.ending(), Some(SessionEnding::SeriesComplete));
    assert_eq!(table.session.results().len(), 3);
    assert_eq!(table.refuses(One, ready(), at(400)), Reason::SessionEnded);
}

fn finished() -> Table {
    let mut settings = settings();
    settings.resign_guard = Millis::ZERO;
    let mut table = Table::playing(settings);
    table.does(One, Command::Resign, at(10));
    table
}

#[test]
fn s05_a_rematch_can_be_agreed_on_for_ten_minutes() {
    let mut table = finished();
    assert_eq!(table.session.next_deadline(), None);
    table.does(Two, offer(OfferKind::Rematch), at(20));
    assert_eq!(table.deadline(), at(610));
    let facts = table.does(One, answer(1, true), at(610));
    let next = SessionId::new(1, [8; 10]);
    assert!(
        matches!(facts[..], [FactKind::OfferAccepted { .. }, FactKind::Rematched { next: named }] if named == next)
    );
    assert_eq!(table.session.next_session(), Some(next));
    assert_eq!(table.session.rematch_opener(), Some(Two));
    assert_eq!(
        table.refuses(One, offer(OfferKind::Rematch), at(611)),
        Reason::OfferNotAllowed {
            kind: OfferKind::Rematch
        }
    );
    // The new session opens with the other seat, whatever the setting says.
    let mut rematch = creation(settings(), [true, true]);
    rematch.previous = Some(Previous {
        session: table.session.id(),
        opener: Two,
    });
    let rematch = Table::new(rematch);
    assert_eq!(rematch.session.game().unwrap().opener(), Two);
}

#[test]
fn s05_an_offer_of_a_rematch_dies_with_the_window_with_a_leaver_and_with_another_session() {
    let mut late = finished();
    late.does(One, offer(OfferKind::Rematch), at(600));
    let fired = late.advance(at(700));
    assert!(matches!(fired[0].kind, FactKind::OfferLapsed { .. }));
    assert_eq!(fired[0].at, at(610));
    assert_eq!(late.refuses(Two, answer(1, true), at(701)), Reason::OfferGone);

    let mut left = finished();
    left.does(One, offer(OfferKind::Rematch), at(20));
    let facts = left.does(Two, Command::Leave, at(21));
    assert!(matches!(
        facts[..],
        [FactKind::Left { seat: Two, .. }, FactKind::OfferLapsed { .. }]
    ));
    assert_eq!(
        left.refuses(One, offer(OfferKind::Rematch), at(40)),
        Reason::OfferNotAllowed {
            kind: OfferKind::Rematch
        }
    );

    let mut busy = finished();
    busy.does(One, offer(OfferKind::Rematch), at(20));
    assert!(matches!(
        busy.by(Actor::Server, Command::CloseRematch, at(22)),
        Answer::Accepted(_)
    ));
    assert_eq!(busy.refuses(Two, answer(1, true), at(23)), Reason::OfferGone);
}

#[test]
fn s05_no_rematch_while_the_session_is_on_and_none_after_an_idle_end() {
    let kind = OfferKind::Rematch;
    let mut table = Table::playing(settings());
    assert_eq!(
        table.refuses(One, offer(kind), at(1)),
        Reason::OfferNotAllowed { kind }
    );
    let mut idle = Table::waiting(settings());
    idle.advance(at(601));
    assert_eq!(
        idle.refuses(One, offer(kind), at(602)),
        Reason::OfferNotAllowed { kind }
    );
}

#[test]
fn s27_one_player_cannot_take_both_seats_and_a_seat_is_taken_once() {
    let mut table = Table::new(open_creation(settings(), false));
    assert_eq!(
        table.refuses(Two, join("bob", false, "guessed"), at(1)),
        Reason::BadInvitation
    );
    assert_eq!(
        table.refuses(Two, join("ann", false, TOKEN), at(1)),
        Reason::SamePlayer
    );
    assert_eq!(table.refuses(Two, ready(), at(1)), Reason::NotSeated);
    table.does(Two, join("bob", false, TOKEN), at(2));
    assert_eq!(
        table.refuses(Two, join("eve", false, TOKEN), at(3)),
        Reason::SeatTaken
    );
    assert_eq!(
        table.refuses(Two, join("bob", false, TOKEN), at(3)),
        Reason::NoChange
    );

    let mut both = creation(settings(), [false, false]);
    both.player_two = Some(player("ann"));
    assert_eq!(Session::create(both, at(0)).unwrap_err(), CreateError::SamePlayer);
    let mut open = open_creation(settings(), false);
    open.ready[Two] = true;
    assert_eq!(
        Session::create(open, at(0)).unwrap_err(),
        CreateError::OpenSeatReady
    );
}

#[test]
fn s27_a_backend_acts_for_a_seat_and_is_recorded_as_such() {
    let mut table = Table::playing(settings());
    let mut request = table.request(One, play(1, "d3"));
    request.by = Actor::Backend(One);
    table.apply(&request, at(1));
    assert_eq!(table.log.last().unwrap().by, Actor::Backend(One));
    // Nobody acts for a seat without being named for it, and players do not act for the server.
    for (by, command) in [
        (Actor::Server, Command::Resign),
        (Actor::Player(Two), Command::Abort),
        (Actor::Player(One), Command::Absent { seat: Two }),
        (Actor::Player(One), Command::Present { seat: Two }),
        (Actor::Player(One), Command::CloseRematch),
    ] {
        assert_eq!(
            table.by(by, command, at(100)),
            Answer::Rejected(Reason::NotSeated)
        );
    }
}

#[test]
fn s27_who_may_watch_is_a_setting() {
    use tablemate_session::settings::Watch;
    let id = |name: &str| player(name).id;
    let mut settings = settings();
    assert!(Table::playing(settings.clone()).session.may_watch(None));
    settings.watch = Watch::Players;
    let players = Table::playing(settings.clone());
    assert!(players.session.may_watch(Some(&id("ann"))) && players.session.may_watch(Some(&id("bob"))));
    assert!(!players.session.may_watch(Some(&id("eve"))) && !players.session.may_watch(None));
    settings.watch = Watch::List(vec![id("eve")]);
    let listed = Table::playing(settings);
    assert!(listed.session.may_watch(Some(&id("eve"))) && listed.session.may_watch(Some(&id("bob"))));
    assert!(!listed.session.may_watch(Some(&id("dan"))) && !listed.session.may_watch(None));
}

fn started(log: &[Fact]) -> (tablemate_session::seat::Seat, OpenerFound) {
    log.iter()
        .find_map(|fact| match &fact.kind {
            FactKind::Started { opener, found, .. } => Some((*opener, *found)),
            _ => None,
        })
        .unwrap()
}

#[test]
fn s29_as_seated_and_draw() {
    assert_eq!(
        started(&Table::playing(settings()).log),
        (One, OpenerFound::AsSeated)
    );
    let mut settings = settings();
    settings.opener = None;
    let mut openers = Vec::new();
    for byte in 0..32 {
        let mut creation = creation(settings.clone(), [true, true]);
        creation.secret = tablemate_session::secret::Secret::new([byte; 32]);
        let (opener, found) = started(&Table::new(creation.clone()).log);
        assert_eq!(found, OpenerFound::Drawn);
        assert_eq!(
            started(&Table::new(creation).log).0,
            opener,
            "two replicas draw the same"
        );
        openers.push(opener);
    }
    let ones = openers.iter().filter(|opener| **opener == One).count();
    assert!((6..=26).contains(&ones), "seat 1 opened {ones} of 32");
}

#[test]
fn s29_guess_an_odd_difference_swaps() {
    for (one, two, opener) in [(10, 14, One), (10, 13, Two), (0, 99, Two), (7, 7, One)] {
        let mut settings = settings();
        settings.opener = Some(OpenerRule::Guess);
        let mut table = Table::waiting(settings);
        table.does(One, guess(one), at(1));
        table.does(Two, guess(two), at(2));
        let (found_opener, found) = started(&table.log);
        assert_eq!(found_opener, opener, "{one} and {two}");
        assert!(
            matches!(found, OpenerFound::Guess { numbers, drawn } if numbers.0 == [one, two] && drawn.0 == [false, false])
        );
    }
}

#[test]
fn s29_guess_missing_numbers_are_drawn_and_a_newer_readied_replaces_one() {
    let mut settings = settings();
    settings.opener = Some(OpenerRule::Guess);
    let mut table = Table::waiting(settings.clone());
    table.does(One, guess(5), at(1));
    assert_eq!(table.refuses(One, guess(6), at(2)), Reason::AlreadyReady);
    assert_eq!(table.refuses(One, guess(6), at(2)).code(), "NO_CHANGE");
    table.does(One, unready(), at(3));
    table.does(One, guess(8), at(4));
    table.advance(at(60)); // seat 2 is made ready
    let (_, found) = started(&table.log);
    let OpenerFound::Guess { numbers, drawn } = found else {
        panic!("{found:?}")
    };
    assert_eq!(numbers[One], 8);
    assert_eq!(drawn.0, [false, true]);
    assert!(numbers[Two] <= 99);
    assert!(
        matches!(started(&Table::playing(settings).log).1, OpenerFound::Guess { drawn, .. } if drawn.0 == [true, true])
    );
}

#[test]
fn s29_numbers_are_refused_where_none_is_asked_for() {
    let mut table = Table::waiting(settings());
    assert_eq!(table.refuses(One, guess(5), at(1)), Reason::NumberNotAllowed);
    let mut settings = settings();
    settings.opener = Some(OpenerRule::Guess);
    let mut table = Table::waiting(settings);
    assert_eq!(
        table.refuses(One, guess(100), at(1)),
        Reason::NumberOutOfRange { number: 100 }
    );
}

#[test]
fn s29_balanced_lets_who_opened_less_open() {
    let mut settings = settings();
    settings.opener = Some(OpenerRule::Balanced);
    for ([one, two], expected) in [
        ([(9, 20), (10, 20)], Some(One)),
        ([(3, 5), (2, 5)], Some(Two)),
        ([(1, 2), (5, 10)], None),
    ] {
        let mut creation = creation(settings.clone(), [true, true]);
        creation.player_one.openings = Openings {
            opened: one.0,
            games: one.1,
        };
        if let Some(player) = &mut creation.player_two {
            player.openings = Openings {
                opened: two.0,
                games: two.1,
            };
        }
        let (opener, found) = started(&Table::new(creation).log);
        let OpenerFound::Balanced { drawn, .. } = found else {
            panic!("{found:?}")
        };
        assert_eq!(drawn, expected.is_none());
        assert!(expected.is_none_or(|seat| seat == opener));
    }
}
