//! A session made up for tests: ann (seat 1, black) against 白棋手 (seat 2, white), told as a server would tell it.

use prost_types::Timestamp;
use tablemate_engine::Colour;
use tablemate_engine::reversi::{Move, Position, Start};
use tablemate_protocol::convert::time::{duration, timestamp};
use tablemate_protocol::v1;
use tablemate_protocol::v1::event::Kind;
use tablemate_session::{Instant, Millis};

/// The instant at which the made-up game starts, in ms: 2026-11-30 21:00:00 UTC.
pub const START_MS: u64 = 1_796_072_400_000;
/// The player on seat 1.
pub const ANN: &str = "ann";
/// The player on seat 2: a name of wide characters.
pub const BAI: &str = "白棋手";

fn at(ms: u64) -> Timestamp {
    timestamp(Instant(ms))
}

/// The default settings.
pub fn settings() -> v1::SessionSettings {
    let of = |ms| Some(duration(Millis(ms)));
    v1::SessionSettings {
        game: Some(v1::session_settings::Game::Reversi(v1::ReversiSettings::default())),
        games: 1,
        ready_time: of(15_000),
        move_time: of(30_000),
        total_time: of(600_000),
        animation: of(1_000),
        resign_guard: of(60_000),
        ..Default::default()
    }
}

/// The session before anybody is ready.
pub fn waiting() -> v1::Session {
    let seat = |number, player: &str| v1::Seat {
        number,
        player_id: player.to_owned(),
        total_left_ms: 600_000,
        rating: 1500.0,
        present: true,
        ..Default::default()
    };
    v1::Session {
        session_id: "s1".to_owned(),
        sequence: 1,
        phase: v1::SessionPhase::Waiting.into(),
        settings: Some(settings()),
        seats: vec![seat(1, ANN), seat(2, BAI)],
        ..Default::default()
    }
}

/// An event.
pub fn event(sequence: u64, at_ms: u64, kind: Kind) -> v1::Event {
    v1::Event {
        sequence,
        at: Some(at(at_ms)),
        game_number: 1,
        kind: Some(kind),
        ..Default::default()
    }
}

/// A notice.
pub fn notice(seat: u32, zh_cn: &str, en: &str) -> v1::Notice {
    v1::Notice {
        seat,
        zh_cn: zh_cn.to_owned(),
        en: en.to_owned(),
        ..Default::default()
    }
}

fn wire(colour: Colour) -> v1::Colour {
    match colour {
        Colour::Black => v1::Colour::Black,
        Colour::White => v1::Colour::White,
    }
}

fn seat(colour: Colour) -> u32 {
    match colour {
        Colour::Black => 1,
        Colour::White => 2,
    }
}

fn turn(ply: u32, position: &Position, clock_start_ms: u64) -> v1::Turn {
    let colour = position.to_act();
    v1::Turn {
        ply,
        seat: colour.map_or(0, seat),
        colour: colour.map_or(v1::Colour::Unspecified, wire).into(),
        clock_start: Some(at(clock_start_ms)),
        deadline: Some(at(clock_start_ms + 30_000)),
    }
}

/// A game as events, from its start on.
pub struct Game {
    position: Position,
    sequence: u64,
    ply: u32,
    now_ms: u64,
    /// The events so far.
    pub events: Vec<v1::Event>,
}

impl Game {
    /// A game that starts, after event 1, at a position.
    pub fn from(position: Position) -> Game {
        let started = v1::GameStarted {
            opener_seat: position.to_act().map_or(1, seat),
            seat_1_colour: v1::Colour::Black.into(),
            position: position.to_string(),
            next: Some(turn(1, &position, START_MS)),
            ..Default::default()
        };
        Game {
            position,
            sequence: 2,
            ply: 1,
            now_ms: START_MS,
            events: vec![event(2, START_MS, Kind::Started(started))],
        }
    }

    /// A game from the usual start.
    pub fn new() -> Game {
        Game::from(Start::Crossed.position())
    }

    /// Makes a move after some time; what must be passed is passed.
    pub fn play(&mut self, mv: &str, after_ms: u64) -> &mut Game {
        self.now_ms += after_ms;
        let by = self.position.to_act().unwrap();
        let (next, played) = self.position.play(mv.parse().unwrap()).unwrap();
        self.position = next;
        let moved = v1::MoveMade {
            ply: self.ply,
            seat: seat(by),
            colour: wire(by).into(),
            r#move: mv.to_owned(),
            placed: mv.to_owned(),
            turned: played.turned.iter().map(|square| square.to_string()).collect(),
            next: Some(turn(self.ply + 1, &next, self.now_ms + 1_000)),
            ..Default::default()
        };
        self.push(Kind::Moved(moved));
        self.ply += 1;
        if self.position.must_pass() {
            self.pass();
        }
        self
    }

    fn pass(&mut self) {
        let by = self.position.to_act().unwrap();
        self.position = self.position.play(Move::Pass).unwrap().0;
        let passed = v1::TurnPassed {
            ply: self.ply,
            seat: seat(by),
            colour: wire(by).into(),
            next: Some(turn(self.ply + 1, &self.position, self.now_ms + 1_000)),
        };
        self.push(Kind::Passed(passed));
        self.ply += 1;
        let notices = vec![
            notice(
                seat(by),
                "您无子可下由对方继续下子",
                "You have no legal move; your opponent moves again",
            ),
            notice(
                3 - seat(by),
                "由于对方无子可下，您可继续下子",
                "Your opponent has no legal move; you move again",
            ),
        ];
        self.events.last_mut().unwrap().notices = notices;
    }

    /// Something else happens.
    pub fn push(&mut self, kind: Kind) -> &mut Game {
        self.sequence += 1;
        self.events.push(event(self.sequence, self.now_ms, kind));
        self
    }
}

/// The table of a viewer after these events.
pub fn table(viewer: &str, events: &[v1::Event]) -> super::table::Table {
    let mut table = super::table::Table::of(&waiting(), viewer);
    for event in events {
        assert!(table.apply(event, viewer));
    }
    table
}
