//! S-22 to S-24, S-29 and R-12: what viewers see, and what they never do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::*;
use tablemate_session::Millis;
use tablemate_session::command::Command;
use tablemate_session::event::{self, EventKind};
use tablemate_session::fact::*;
use tablemate_session::settings::{OpenerRule, Watch};
use tablemate_session::view::Viewer;

const VIEWERS: [Viewer; 3] = [Viewer::Seat(One), Viewer::Seat(Two), Viewer::Spectator];

#[test]
fn s22_every_fact_is_an_event_with_its_number() {
    let mut table = Table::playing(settings_with_pass("X"));
    table.plays("c1", at(1));
    table.plays("c8", at(3));
    for viewer in VIEWERS {
        let events = table.events(viewer);
        let numbers: Vec<_> = events.iter().map(|event| event.sequence).collect();
        assert_eq!(numbers, (1..=table.log.len() as u64).collect::<Vec<_>>());
        // Resumed in the middle, the rest is the same.
        let middle = event::read(None, &table.log[..3], viewer).unwrap().0;
        assert_eq!(
            event::read(middle, &table.log[3..], viewer).unwrap().1,
            events[3..]
        );
    }
}

#[test]
fn s23_a_pass_tells_each_player_in_the_words_of_the_rule() {
    let mut table = Table::playing(settings_with_pass("X"));
    table.plays("c1", at(1));
    let told = |viewer| {
        table
            .last_event(viewer, |kind| matches!(kind, EventKind::Passed { .. }))
            .notices
    };
    let passer = told(Viewer::Seat(Two));
    assert_eq!(passer.len(), 1);
    assert_eq!(passer[0].key, "pass.to_passer");
    assert_eq!(passer[0].zh_cn, "您无子可下由对方继续下子");
    assert_eq!(passer[0].en, "You have no legal move; your opponent moves again");
    let other = told(Viewer::Seat(One));
    assert_eq!(other.len(), 1);
    assert_eq!(other[0].zh_cn, "由于对方无子可下，您可继续下子");
    assert_eq!(other[0].en, "Your opponent has no legal move; you move again");
    assert_eq!(told(Viewer::Spectator).len(), 2);
}

#[test]
fn s23_auto_ready_auto_move_clocks_and_endings_have_words_in_both_languages() {
    let mut settings = settings();
    settings.total_time = Some(Millis::seconds(40));
    let mut table = Table::waiting(settings);
    table.ready(One, at(0));
    table.outage(at(20), at(27));
    table.advance(at(500));
    let wanted = [
        "ready.to_other",
        "auto_ready.to_readied",
        "started.to_other",
        "auto_move.to_mover",
        "clock_compensated",
        "game_ended.won",
        "session_ended.series_complete",
    ];
    let both: Vec<_> = [Viewer::Seat(One), Viewer::Seat(Two)]
        .into_iter()
        .flat_map(|viewer| table.events(viewer))
        .flat_map(|event| event.notices)
        .collect();
    for key in wanted {
        assert!(both.iter().any(|notice| notice.key == key), "{key}");
    }
    for notice in &both {
        assert!(notice.en.is_ascii() && !notice.en.is_empty());
        assert!(notice.zh_cn.chars().any(|c| c > '\u{4e00}'), "{}", notice.zh_cn);
    }
}

#[test]
fn r12_a_move_lists_the_turned_discs_outward_with_counts_and_the_next_clock() {
    let mut table = Table::playing(settings());
    table.plays("d3", at(5));
    let event = table.last_event(Viewer::Spectator, |kind| matches!(kind, EventKind::Moved { .. }));
    let EventKind::Moved {
        ply,
        seat,
        played,
        counts,
        auto,
        next,
        ..
    } = event.kind
    else {
        panic!()
    };
    assert_eq!((ply, seat, counts, auto), (1, One, [4, 1], None));
    assert_eq!(played.turned_text(), ["d4"]);
    let next = next.unwrap();
    assert_eq!((next.ply, next.seat), (2, Two));
    assert_eq!((next.clock_start, next.deadline), (at(6), at(36)));
    assert_eq!(event.automatic_for, None);

    table.advance(at(37));
    let auto = table.last_event(Viewer::Spectator, |kind| matches!(kind, EventKind::Moved { .. }));
    assert_eq!(auto.automatic_for, Some(Two));
}

#[test]
fn s24_s29_nobody_sees_a_number_before_the_start_nor_a_secret_ever() {
    let mut settings = settings();
    settings.opener = Some(OpenerRule::Guess);
    // Two tables that differ in the number alone look the same to everybody, in events, views and debug output.
    let tables = [ready(), guess(73), guess(12)].map(|command| {
        let mut table = Table::waiting(settings.clone());
        table.does(One, command, at(1));
        table
    });
    let shown = |table: &Table| {
        let events: Vec<_> = VIEWERS.map(|viewer| table.events(viewer)).into_iter().collect();
        let views: Vec<_> = VIEWERS
            .map(|viewer| table.session.view(viewer))
            .into_iter()
            .collect();
        (events, views)
    };
    for other in &tables[1..] {
        assert_eq!(shown(&tables[0]), shown(other));
    }
    assert_eq!(
        format!("{:?}", tables[1].log[1].kind),
        format!("{:?}", tables[0].log[1].kind)
    );
    assert_eq!(format!("{:?}", guess(73)), format!("{:?}", ready()));
    // For ever when the game never starts: the requests' hashes are the only trace.
    let secret = format!("{:?}", [3u8; 4]);
    let inner = &secret[1..secret.len() - 1];
    assert!(!format!("{:?}", tables[1].session).contains(inner));
    assert!(!format!("{:?}", tables[1].log).contains(inner));

    let [_, mut table, _] = tables;
    table.does(Two, guess(8), at(2));
    let event = table.last_event(Viewer::Spectator, |kind| {
        matches!(kind, EventKind::Started { .. })
    });
    let EventKind::Started { found, .. } = event.kind else {
        panic!()
    };
    assert!(matches!(found, OpenerFound::Guess { numbers, .. } if numbers.0 == [73, 8]));
}

#[test]
fn s24_an_invitation_and_a_list_of_watchers_stay_with_those_they_concern() {
    let mut settings = settings();
    settings.watch = Watch::List(vec![player("eve").id]);
    let table = Table::new(open_creation(settings, false));
    let shown = table.session.view(Viewer::Spectator);
    assert_eq!(shown.settings.watch, Watch::List(Vec::new()));
    assert_eq!(
        table.session.view(Viewer::Seat(One)).settings.watch,
        Watch::List(vec![player("eve").id])
    );
    let hash = format!("{:?}", &InvitationHash::of(TOKEN).0[..4]);
    assert!(!format!("{:?}", table.log).contains(&hash[1..hash.len() - 1]));
    let created = &table.events(Viewer::Spectator)[0];
    assert!(
        matches!(&created.kind, EventKind::Created { settings, .. } if settings.watch == Watch::List(Vec::new()))
    );
}

#[test]
fn a_view_shows_what_a_client_needs() {
    let mut table = Table::playing(settings());
    table.plays("d3", at(5));
    table.does(One, offer(OfferKind::Exit), at(6));
    let view = table.session.view(Viewer::Seat(Two));
    let game = view.game.unwrap();
    assert_eq!((game.number, game.counts, game.moves.len()), (1, [4, 1], 1));
    assert_eq!(game.turn.unwrap().seat, Two);
    assert_eq!(view.offers.len(), 1);
    assert_eq!(view.resign_allowed_from, Some(at(60)));
    assert_eq!(
        view.seats[One].total_left,
        Some(Millis::minutes(10).minus(Millis::seconds(5)))
    );
    assert_eq!(view.sequence, table.session.sequence());
    table.does(Two, Command::Leave, at(7));
    let view = table.session.view(Viewer::Spectator);
    assert_eq!(view.results.len(), 1);
    assert!(view.ended.is_some() && view.offers.is_empty());
}
