//! What the tests share: a session with its log beside it, driven through the public interface only.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

use tablemate_session::command::{Applied, Command, Outcome, Request};
use tablemate_session::event::{self, EventKind, EventView};
use tablemate_session::fact::{
    Actor, Creation, Fact, FactKind, GameResult, InvitationHash, OfferId, OfferKind, Outage, SessionEnding,
};
use tablemate_session::player::Player;
use tablemate_session::reason::Reason;
use tablemate_session::seat::{PerSeat, Seat};
use tablemate_session::secret::Secret;
use tablemate_session::settings::{GameSettings, OpenerRule, ReversiSettings, Settings};
use tablemate_session::view::Viewer;
use tablemate_session::{Instant, PlayerId, RequestId, Session, SessionId};

pub use tablemate_session::seat::Seat::{One, Two};

/// When the sessions of the tests are created.
pub const T0: u64 = 1_000_000;
pub const TOKEN: &str = "an invitation";

/// `seconds` after the creation.
pub fn at(seconds: u64) -> Instant {
    Instant(T0 + seconds * 1_000)
}

/// Default settings with seat 1 as opener, so that tests know who acts.
pub fn settings() -> Settings {
    let mut settings = Settings::of(GameSettings::Reversi(ReversiSettings::default()));
    settings.opener = Some(OpenerRule::AsSeated);
    settings
}

pub fn player(name: &str) -> Player {
    Player::new(PlayerId::new(name).unwrap())
}

pub fn creation(settings: Settings, ready: [bool; 2]) -> Creation {
    Creation {
        id: SessionId::new(1, [2; 10]),
        secret: Secret::new([3; 32]),
        settings,
        player_one: player("ann"),
        player_two: Some(player("bob")),
        ready: PerSeat(ready),
        invitation: None,
        previous: None,
        outages_known: 0,
    }
}

/// A creation with seat 2 open.
pub fn open_creation(settings: Settings, ready_one: bool) -> Creation {
    Creation {
        player_two: None,
        invitation: Some(InvitationHash::of(TOKEN)),
        ..creation(settings, [ready_one, false])
    }
}

/// A session, its log, and the outages of its shard.
pub struct Table {
    pub session: Session,
    pub log: Vec<Fact>,
    pub outages: Vec<Outage>,
    requests: u32,
}

impl Table {
    pub fn new(creation: Creation) -> Self {
        let (session, log) = Session::create(creation, Instant(T0)).unwrap();
        Self {
            session,
            log,
            outages: Vec::new(),
            requests: 0,
        }
    }

    /// Both players seated, nobody ready.
    pub fn waiting(settings: Settings) -> Self {
        Self::new(creation(settings, [false, false]))
    }

    /// A game on since the creation.
    pub fn playing(settings: Settings) -> Self {
        Self::new(creation(settings, [true, true]))
    }

    pub fn request(&mut self, seat: Seat, command: Command) -> Request {
        self.requests += 1;
        Request::player(
            seat,
            RequestId::new(&format!("r{}", self.requests)).unwrap(),
            command,
        )
    }

    /// Applies, keeps the log, and checks that memory is the fold of the log.
    pub fn apply(&mut self, request: &Request, now: Instant) -> Applied {
        let applied = self.session.apply(request, now, &self.outages);
        self.log.extend(applied.fired.iter().cloned());
        if let Outcome::Accepted(facts) = &applied.outcome {
            assert!(!facts.is_empty());
            self.log.extend(facts.iter().cloned());
        }
        assert_eq!(Session::fold(&self.log).as_ref(), Ok(&self.session));
        applied
    }

    /// What a player's command makes; it must be accepted.
    pub fn does(&mut self, seat: Seat, command: Command, now: Instant) -> Vec<FactKind> {
        let request = self.request(seat, command);
        match self.apply(&request, now).outcome {
            Outcome::Accepted(facts) => facts.into_iter().map(|fact| fact.kind).collect(),
            other => panic!("{:?} was not accepted: {other:?}", request.command),
        }
    }

    /// Why a player's command is refused.
    pub fn refuses(&mut self, seat: Seat, command: Command, now: Instant) -> Reason {
        let request = self.request(seat, command);
        match self.apply(&request, now).outcome {
            Outcome::Rejected(reason) => reason,
            other => panic!("{:?} was not refused: {other:?}", request.command),
        }
    }

    /// A command of the server or an operator.
    pub fn by(&mut self, by: Actor, command: Command, now: Instant) -> Outcome {
        let request = Request {
            by,
            ..Request::server(command)
        };
        self.apply(&request, now).outcome
    }

    pub fn ready(&mut self, seat: Seat, now: Instant) -> Vec<FactKind> {
        self.does(seat, ready(), now)
    }

    /// The player to act plays `mv`.
    pub fn plays(&mut self, mv: &str, now: Instant) -> Vec<FactKind> {
        let turn = self.session.turn().unwrap();
        self.does(turn.seat, play(turn.ply, mv), now)
    }

    /// The player to act plays the first legal move.
    pub fn plays_any(&mut self, now: Instant) -> Vec<FactKind> {
        let mv = self
            .session
            .game()
            .unwrap()
            .position()
            .legal_moves()
            .next()
            .unwrap();
        self.plays(&mv.to_string(), now)
    }

    /// Fires all that has passed, in as many calls as it takes.
    pub fn advance(&mut self, now: Instant) -> Vec<Fact> {
        let mut all = Vec::new();
        loop {
            let (fired, more_due) = self.session.advance(now, &self.outages);
            all.extend(fired);
            if !more_due {
                break;
            }
        }
        self.log.extend(all.iter().cloned());
        assert_eq!(Session::fold(&self.log).as_ref(), Ok(&self.session));
        all
    }

    pub fn outage(&mut self, from: Instant, to: Instant) {
        let id = self.outages.len() as u64 + 1;
        self.outages.push(Outage { id, from, to });
    }

    pub fn deadline(&self) -> Instant {
        self.session.next_deadline().unwrap()
    }

    pub fn ending(&self) -> Option<SessionEnding> {
        self.session.ended().map(|ended| ended.ending)
    }

    pub fn result(&self) -> &GameResult {
        self.session.results().last().unwrap()
    }

    pub fn events(&self, viewer: Viewer) -> Vec<EventView> {
        event::read(None, &self.log, viewer).unwrap().1
    }

    pub fn last_event(&self, viewer: Viewer, wanted: impl Fn(&EventKind) -> bool) -> EventView {
        self.events(viewer)
            .into_iter()
            .rev()
            .find(|event| wanted(&event.kind))
            .unwrap()
    }
}

pub fn ready() -> Command {
    Command::SetReady {
        ready: true,
        number: None,
    }
}

pub fn unready() -> Command {
    Command::SetReady {
        ready: false,
        number: None,
    }
}

pub fn guess(number: u8) -> Command {
    Command::SetReady {
        ready: true,
        number: Some(number),
    }
}

pub fn play(ply: u32, mv: &str) -> Command {
    Command::Play { ply, mv: mv.into() }
}

pub fn offer(kind: OfferKind) -> Command {
    Command::MakeOffer {
        kind,
        next: Some(SessionId::new(1, [8; 10])),
    }
}

pub fn answer(offer: u32, accept: bool) -> Command {
    Command::AnswerOffer {
        offer: OfferId(offer),
        accept,
        next: Some(SessionId::new(1, [8; 10])),
    }
}

pub fn withdraw(offer: u32) -> Command {
    Command::WithdrawOffer {
        offer: OfferId(offer),
    }
}

pub fn join(name: &str, ready: bool, token: &str) -> Command {
    Command::Join {
        player: player(name),
        ready,
        invitation: InvitationHash::of(token),
    }
}

/// Settings with a start position of Reversi: rows from the top with the empty ones left out as numbers of rows.
pub fn settings_from(rows: [&str; 8], to_act: &str) -> Settings {
    let position = format!("{} {to_act}", rows.concat()).parse().unwrap();
    let start = tablemate_engine::reversi::Start::from_position(position).unwrap();
    let mut settings = settings();
    settings.game = GameSettings::Reversi(ReversiSettings {
        start,
        ..ReversiSettings::default()
    });
    settings
}

const EMPTY: &str = "--------";

/// Black plays c1, white has to pass, black plays c8 and has wiped white out.
pub fn settings_with_pass(to_act: &str) -> Settings {
    settings_from(
        ["XO------", EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, "XO------"],
        to_act,
    )
}

/// Black plays c1, and neither can move: three discs each.
pub fn settings_with_draw() -> Settings {
    settings_from(
        [
            "XO------", EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, "-------O", "-----O-O",
        ],
        "X",
    )
}

pub fn reversi(settings: &mut Settings) -> &mut ReversiSettings {
    let GameSettings::Reversi(reversi) = &mut settings.game;
    reversi
}
