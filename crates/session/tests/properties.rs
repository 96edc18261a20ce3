//! Random commands, times and outages. What must hold for every session, whatever happens to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use support::{One, TOKEN, Two, creation, open_creation};
use tablemate_engine::policy::Policy;
use tablemate_engine::reversi::Start;
use tablemate_session::command::{Command, Outcome as Answer, Request};
use tablemate_session::event;
use tablemate_session::fact::*;
use tablemate_session::seat::Seat;
use tablemate_session::session::Phase;
use tablemate_session::settings::*;
use tablemate_session::view::Viewer;
use tablemate_session::{Instant, Millis, RequestId, Session, SessionId};

/// What somebody does, before the state says which command that is.
#[derive(Clone, Debug)]
enum Act {
    Play(prop::sample::Index),
    PlayWrongly,
    Ready(bool),
    Resign,
    Offer(OfferKind),
    Answer(bool),
    Withdraw,
    Leave,
    Absent,
    Present,
    Join(bool),
    Abort,
    /// The request of an earlier step comes again.
    Repeat(prop::sample::Index),
}

#[derive(Clone, Debug)]
struct Step {
    /// Milliseconds after the step before.
    after: u64,
    /// With a play: by the player to act, unless it is to be refused.
    seat: Seat,
    act: Act,
    /// Whether the command names the sequence that it acts on, and how old that is.
    age: Option<u64>,
    /// When a timer looks, on the way to the step.
    looks: Vec<u64>,
    /// An outage that begins here, after the step: how long it lasts.
    outage: Option<u64>,
}

fn seat() -> impl Strategy<Value = Seat> {
    prop_oneof![Just(One), Just(Two)]
}

fn act() -> impl Strategy<Value = Act> {
    let kind =
        prop_oneof![4 => Just(OfferKind::Exit), 1 => Just(OfferKind::Draw), 3 => Just(OfferKind::Rematch)];
    prop_oneof![
        40 => any::<prop::sample::Index>().prop_map(Act::Play),
        2 => Just(Act::PlayWrongly),
        14 => prop::bool::weighted(0.8).prop_map(Act::Ready),
        2 => Just(Act::Resign),
        6 => kind.prop_map(Act::Offer),
        4 => prop::bool::weighted(0.3).prop_map(Act::Answer),
        2 => Just(Act::Withdraw),
        1 => Just(Act::Leave),
        3 => Just(Act::Absent),
        3 => Just(Act::Present),
        3 => any::<bool>().prop_map(Act::Join),
        1 => Just(Act::Abort),
        3 => any::<prop::sample::Index>().prop_map(Act::Repeat),
    ]
}

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        10 => 0u64..3_000,
        4 => prop::sample::select(vec![1_000u64, 2_000, 5_000, 10_000]),
        2 => 0u64..40_000,
        1 => 0u64..900_000,
    ]
}

prop_compose! {
    fn step()(
        after in times(),
        seat in seat(),
        act in act(),
        age in proptest::option::weighted(0.3, prop_oneof![5 => Just(0u64), 2 => 0u64..4]),
        looks in vec(0u64..900_000, 0..3),
        outage in proptest::option::weighted(0.06, 1u64..60_000),
    ) -> Step {
        Step { after, seat, act, age, looks, outage }
    }
}

fn start() -> impl Strategy<Value = Start> {
    let played = vec(any::<prop::sample::Index>(), 0..60).prop_map(|choices| {
        let mut position = Start::Crossed.position();
        for choice in choices {
            let moves: Vec<_> = position.legal_moves().collect();
            let next = position.play(*choice.get(&moves)).unwrap().0;
            if next.is_over() {
                break;
            }
            position = next;
        }
        Start::from_position(position).unwrap()
    });
    prop_oneof![1 => Just(Start::Crossed), 5 => played]
}

fn seconds(range: std::ops::Range<u64>) -> impl Strategy<Value = Millis> {
    prop_oneof![3 => range.clone().prop_map(Millis::seconds), 1 => (range.start * 1_000..range.end * 1_000).prop_map(Millis)]
}

prop_compose! {
    fn settings()(
        start in start(),
        scored_series in any::<bool>(),
        games in 1u32..4,
        opener in prop_oneof![
            Just(None), Just(Some(OpenerRule::AsSeated)), Just(Some(OpenerRule::Guess)), Just(Some(OpenerRule::Balanced)),
        ],
        ready_time in seconds(0..20),
        idle_time in seconds(5..60),
        move_time in seconds(1..12),
        total_time in proptest::option::of(seconds(5..60)),
        animation in seconds(0..3),
        resign_guard in seconds(0..10),
        cancel in prop::bool::weighted(0.1),
        timeout in prop_oneof![
            3 => Just(TimeoutRule::Move(Policy::Random)),
            3 => Just(TimeoutRule::Move(Policy::Greedy)),
            1 => Just(TimeoutRule::Lose),
            2 => (1u32..5).prop_map(|n| TimeoutRule::LoseAfter { n, policy: Policy::Random }),
        ],
        absence in proptest::option::of(seconds(1..30)),
    ) -> Settings {
        let reversi = ReversiSettings { start, scored_series, ..ReversiSettings::default() };
        Settings {
            games: if scored_series { games * 2 } else { games },
            opener,
            ready_time,
            idle_time,
            move_time,
            total_time,
            animation,
            resign_guard,
            not_ready: if cancel { NotReadyAction::Cancel } else { NotReadyAction::AutoReady },
            timeout,
            absence,
            ..Settings::of(GameSettings::Reversi(reversi))
        }
    }
}

prop_compose! {
    fn a_creation()(
        settings in settings(), secret in any::<[u8; 32]>(), open in prop::bool::weighted(0.2),
        ready in prop_oneof![3 => Just([true, true]), 1 => any::<[bool; 2]>()],
    ) -> Creation {
        let mut creation = if open { open_creation(settings, ready[0]) } else { creation(settings, ready) };
        creation.secret = tablemate_session::secret::Secret::new(secret);
        creation
    }
}

/// When a timer looks at the session between the commands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Timer {
    /// At each deadline, as soon as it has passed.
    Prompt,
    /// Now and then.
    Late,
    Never,
}

/// What happened to a session: its log, and what became of each command.
struct Run {
    creation: Creation,
    session: Session,
    log: Vec<Fact>,
    outages: Vec<Outage>,
    /// Whether an outage began at the very instant of a deadline.
    outage_at_deadline: bool,
    answers: Vec<Answer>,
    accepted: Vec<(Request, u64, u64)>,
}

impl Run {
    fn new(creation: &Creation) -> Self {
        let (session, log) = Session::create(creation.clone(), Instant(1_000_000)).unwrap();
        Self {
            creation: creation.clone(),
            session,
            log,
            outages: Vec::new(),
            outage_at_deadline: false,
            answers: Vec::new(),
            accepted: Vec::new(),
        }
    }

    fn of(creation: &Creation, steps: &[Step], timer: Timer) -> Self {
        let mut run = Self::new(creation);
        let mut now = Instant(1_000_000);
        for (n, step) in steps.iter().enumerate() {
            let next = now.after(Millis(step.after));
            match timer {
                Timer::Never => {}
                Timer::Prompt => {
                    while let Some(deadline) = run.session.next_deadline().filter(|deadline| *deadline < next)
                    {
                        run.advance(now.max(deadline.after(Millis(1))));
                    }
                }
                Timer::Late => {
                    let mut looks: Vec<_> =
                        step.looks.iter().map(|after| now.after(Millis(*after))).collect();
                    looks.sort();
                    looks
                        .into_iter()
                        .filter(|look| *look <= next)
                        .for_each(|look| run.advance(look));
                }
            }
            now = next;
            run.step(n, step, now);
            if let Some(length) = step.outage {
                // Nobody writes between here and its end; a timer may come first after it.
                let mut seen = run.session.clone();
                while seen.advance(now, &run.outages).1 {}
                run.outage_at_deadline |= seen.next_deadline() == Some(now);
                let to = now.after(Millis(length));
                let id = run.outages.len() as u64 + 1;
                run.outages.push(Outage { id, from: now, to });
                now = to;
            }
        }
        run.advance(now.after(Millis::hours(1)));
        run
    }

    fn commit(&mut self, facts: &[Fact]) {
        self.log.extend_from_slice(facts);
        assert_eq!(
            Session::fold(&self.log).as_ref(),
            Ok(&self.session),
            "memory is the fold of the log"
        );
        assert_eq!(self.session.sequence(), self.log.len() as u64, "no gap");
    }

    fn advance(&mut self, now: Instant) {
        loop {
            let (fired, more_due) = self.session.advance(now, &self.outages);
            self.commit(&fired);
            if !more_due {
                break;
            }
        }
    }

    fn step(&mut self, n: usize, step: &Step, now: Instant) {
        // The state that the caller sees: what has passed has fired.
        let mut seen = self.session.clone();
        while seen.advance(now, &self.outages).1 {}
        let request = match &step.act {
            Act::Repeat(which) if !self.accepted.is_empty() => {
                let (request, first, last) = which.get(&self.accepted).clone();
                let before = self.session.clone();
                let applied = self.session.apply(&request, now, &self.outages);
                assert_eq!(applied.outcome, Answer::Replayed { first, last });
                assert_eq!(self.session, before);
                return;
            }
            act => request(n, step, act, &seen),
        };
        loop {
            let before = self.session.clone();
            let applied = self.session.apply(&request, now, &self.outages);
            self.log.extend_from_slice(&applied.fired);
            let facts: &[Fact] = match &applied.outcome {
                Answer::Accepted(facts) => facts,
                _ => &[],
            };
            self.log.extend_from_slice(facts);
            assert_eq!(
                Session::fold(&self.log).as_ref(),
                Ok(&self.session),
                "memory is the fold of the log"
            );
            if let Answer::Rejected(_) = &applied.outcome {
                let mut fired_only = before;
                applied
                    .fired
                    .iter()
                    .for_each(|fact| fired_only.append(fact).unwrap());
                assert_eq!(fired_only, self.session, "a refused command changes nothing");
            }
            if let Some(first) = facts.first() {
                assert_eq!(usize::from(first.count), facts.len());
                let last = self.session.sequence();
                if request.id.is_some() {
                    self.accepted
                        .push((request.clone(), last + 1 - facts.len() as u64, last));
                }
                assert!(
                    applied
                        .judged_before
                        .is_none_or(|deadline| applied.at <= deadline)
                );
            }
            if applied.outcome != Answer::MoreDue {
                self.answers.push(applied.outcome);
                return;
            }
        }
    }
}

fn request(n: usize, step: &Step, act: &Act, seen: &Session) -> Request {
    let next = Some(SessionId::new(9, [9; 10]));
    let offer = |maker: Seat| {
        seen.open_offers()
            .into_iter()
            .find(|offer| offer.seat == maker)
            .map_or(OfferId(1), |offer| offer.id)
    };
    let mut seat = step.seat;
    let command = match act {
        Act::Play(which) => match seen.turn() {
            Some(turn) => {
                seat = turn.seat;
                let moves: Vec<_> = seen.game().unwrap().position().legal_moves().collect();
                support::play(turn.ply, &which.get(&moves).to_string())
            }
            None => support::play(1, "d3"),
        },
        Act::PlayWrongly => support::play(seen.turn().map_or(1, |turn| turn.ply), "a1"),
        Act::Ready(ready) => Command::SetReady {
            ready: *ready,
            number: None,
        },
        Act::Resign => Command::Resign,
        Act::Offer(kind) => Command::MakeOffer { kind: *kind, next },
        Act::Answer(accept) => Command::AnswerOffer {
            offer: offer(seat.other()),
            accept: *accept,
            next,
        },
        Act::Withdraw => Command::WithdrawOffer { offer: offer(seat) },
        Act::Leave => Command::Leave,
        Act::Absent => Command::Absent { seat },
        Act::Present => Command::Present { seat },
        Act::Join(ready) => {
            seat = Two;
            support::join("bob", *ready, TOKEN)
        }
        Act::Abort | Act::Repeat(_) => Command::Abort,
    };
    let by = match command {
        Command::Absent { .. } | Command::Present { .. } => Actor::Server,
        Command::Abort => Actor::Operator,
        _ => Actor::Player(seat),
    };
    Request {
        by,
        id: by
            .seat()
            .map(|_| RequestId::new(&format!("request {n}")).unwrap()),
        expected_sequence: step.age.map(|age| seen.sequence().saturating_sub(age)),
        command,
    }
}

/// What every log must be like, whatever was done to the session.
fn check_log(run: &Run) {
    let mut before: Option<Session> = None;
    let mut results = 0;
    let mut started = 0;
    let mut ended = 0;
    for (n, fact) in run.log.iter().enumerate() {
        let after = match &before {
            None => Session::begin(fact).unwrap(),
            Some(before) => {
                let mut after = before.clone();
                after.append(fact).unwrap();
                after
            }
        };
        assert_eq!(after.sequence(), n as u64 + 1);
        if let Some(before) = &before {
            assert!(fact.at >= before.last_instant());
            // Nothing happens later than a deadline in force, the outage that moves it aside.
            if !matches!(fact.kind, FactKind::ClockCompensated(_)) {
                assert!(
                    before.next_deadline().is_none_or(|deadline| fact.at <= deadline),
                    "{fact:?}"
                );
            }
            if let (FactKind::Moved { .. }, Some(turn)) = (&fact.kind, before.turn()) {
                let game = before.game().unwrap();
                let used = fact.at.since(turn.clock_start);
                assert!(
                    game.total_left(turn.seat).is_none_or(|left| used <= left),
                    "a clock below zero"
                );
                assert!(used <= run.creation.settings.move_time);
            }
        }
        match &fact.kind {
            FactKind::Started { game, .. } => {
                started += 1;
                assert_eq!(u32::from(*game), started);
                assert_eq!(
                    results + 1,
                    started,
                    "a game starts after the one before has its result"
                );
            }
            FactKind::GameEnded(result) => {
                results += 1;
                assert_eq!(u32::from(result.game), results);
                assert_eq!(results, started, "exactly one result per game");
                let sum: i32 = result.points.0.iter().sum();
                assert!(sum == 0 || (sum == -2 && result.escape.is_some()));
            }
            FactKind::SessionEnded { .. } => ended += 1,
            _ => {}
        }
        for viewer in [Viewer::Seat(One), Viewer::Spectator] {
            event::EventView::of(before.as_ref(), &after, fact, viewer).unwrap();
        }
        before = Some(after);
    }
    assert!(ended <= 1 && started <= run.creation.settings.games);
    if run.session.phase() == Phase::Ended {
        assert_eq!(
            (results, ended),
            (started, 1),
            "a result for each game of an ended session"
        );
    } else {
        assert!(
            run.session.next_deadline().is_some(),
            "an unfinished session never sleeps for good"
        );
    }
}

/// Without what tells when an answer was judged: a late command is told its own `now`.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_the_fold_and_logs_are_sound(creation in a_creation(), steps in steps()) {
        let run = Run::of(&creation, &steps, Timer::Late);
        check_log(&run);
    }

    #[test]
    fn s11_a_timer_prompt_late_or_never_gives_the_same_log(creation in a_creation(), steps in steps()) {
        let never = Run::of(&creation, &steps, Timer::Never);
        for timer in [Timer::Prompt, Timer::Late] {
            let other = Run::of(&creation, &steps, timer);
            prop_assert_eq!(&other.log, &never.log, "{:?}", timer);
            prop_assert_eq!(&other.answers, &never.answers, "{:?}", timer);
        }
    }

    #[test]
    fn s25_every_accepted_request_is_known_for_ever(creation in a_creation(), steps in steps()) {
        let mut run = Run::of(&creation, &steps, Timer::Never);
        let before = run.session.clone();
        for (request, first, last) in run.accepted.clone() {
            let applied = run.session.apply(&request, Instant::MAX, &[]);
            prop_assert_eq!(applied.outcome, Answer::Replayed { first, last });
            let mut other = request.clone();
            other.command = Command::SetReady { ready: false, number: Some(99) };
            let applied = run.session.apply(&other, Instant::MAX, &[]);
            prop_assert_eq!(applied.outcome, Answer::Rejected(tablemate_session::reason::Reason::RequestIdReused));
        }
        prop_assert_eq!(run.session, before);
    }

    #[test]
    fn s12_an_outage_takes_its_time_out_of_the_session(
        creation in a_creation(), steps in steps(), place in any::<prop::sample::Index>(), length in 1u64..600_000,
    ) {
        // Without rules that look at the bare instant or draw by sequence, a session with an outage is the session
        // without it, all later by the outage's length.
        let mut creation = creation;
        creation.settings.animation = Millis::ZERO;
        creation.settings.resign_guard = Millis::ZERO;
        creation.settings.opener = Some(OpenerRule::AsSeated);
        creation.settings.timeout = match creation.settings.timeout {
            TimeoutRule::LoseAfter { n, .. } => TimeoutRule::LoseAfter { n, policy: Policy::Greedy },
            TimeoutRule::Move(_) => TimeoutRule::Move(Policy::Greedy),
            TimeoutRule::Lose => TimeoutRule::Lose,
        };
        let mut steps = steps;
        for step in &mut steps {
            step.outage = None;
            step.age = None;
        }
        let plain = Run::of(&creation, &steps, Timer::Never);
        let place = place.index(steps.len());
        steps[place].outage = Some(length);
        let with = Run::of(&creation, &steps, Timer::Never);
        // A deadline D = from fires before the outage; without the outage a command at D is still in time (S-10).
        prop_assume!(!with.outage_at_deadline);
        let outage = with.outages[0];
        let shifted = |log: &[Fact], length: u64| -> Vec<(Instant, FactKind)> {
            log.iter()
                .filter(|fact| !matches!(fact.kind, FactKind::ClockCompensated(_)))
                .map(|fact| {
                    let mut kind = fact.kind.clone();
                    if let FactKind::GameEnded(result) = &mut kind {
                        result.touched_by_outage = false;
                    }
                    let moved = fact.at >= outage.to;
                    (if moved { Instant(fact.at.0 - length) } else { fact.at }, kind)
                })
                .collect()
        };
        // After a session's end nothing is compensated any more.
        prop_assume!(with.log.iter().any(|fact| matches!(fact.kind, FactKind::ClockCompensated(_))));
        let until_end = |facts: Vec<(Instant, FactKind)>| {
            let end = facts.iter().position(|(_, kind)| matches!(kind, FactKind::SessionEnded { .. }));
            facts[..end.map_or(facts.len(), |end| end + 1)].to_vec()
        };
        let compensated = with.log.iter().filter(|fact| matches!(fact.kind, FactKind::ClockCompensated(_))).count();
        prop_assert_eq!(compensated, 1);
        prop_assert_eq!(until_end(shifted(&with.log, length)), until_end(shifted(&plain.log, 0)));
    }

    #[test]
    fn a_damaged_log_gives_an_error_and_no_panic(
        creation in a_creation(), steps in steps(),
        damages in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..4), 1..6),
    ) {
        let mut log = Run::of(&creation, &steps, Timer::Never).log;
        for (one, two, how) in damages {
            let (one, two) = (one.index(log.len()), two.index(log.len()));
            match how {
                0 => log.swap(one, two),
                1 if log.len() > 1 => { log.remove(one); }
                2 => { let fact = log[one].clone(); log.insert(two, fact); }
                _ => log[one].at = log[two].at,
            }
        }
        let mut session: Option<Session> = None;
        for fact in &log {
            session = match session {
                None => Session::begin(fact).ok(),
                Some(mut session) => {
                    let before = session.clone();
                    if session.append(fact).is_err() {
                        prop_assert_eq!(&session, &before, "a refused fact changes nothing");
                    }
                    let _ = session.view(Viewer::Spectator);
                    let _ = session.clone().advance(Instant::MAX, &[]);
                    Some(session)
                }
            };
        }
    }
}

#[test]
fn the_steps_reach_all_that_can_happen() {
    // A generator that never reaches a rule proves nothing about it.
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..600 {
        let (creation, steps) = (a_creation(), steps()).new_tree(&mut runner).unwrap().current();
        let run = Run::of(&creation, &steps, Timer::Late);
        for fact in &run.log {
            let text = format!("{:?}", fact.kind);
            let name = text
                .split(|c: char| !c.is_alphanumeric())
                .next()
                .unwrap()
                .to_owned();
            seen.insert(match &fact.kind {
                FactKind::GameEnded(result) => format!("{name} {}", result.reason.as_str()),
                FactKind::SessionEnded { ending, .. } => format!("{name} {}", ending.as_str()),
                FactKind::Moved { auto, .. } => format!("{name} auto {}", auto.is_some()),
                FactKind::Readied { auto, .. } => format!("{name} auto {auto}"),
                FactKind::Left { absent, .. } => format!("{name} absent {absent}"),
                _ => name,
            });
        }
        for answer in &run.answers {
            if let Answer::Rejected(reason) = answer {
                seen.insert(reason.code().to_owned());
            }
        }
    }
    for wanted in [
        "Joined",
        "Readied auto true",
        "Readied auto false",
        "Unreadied",
        "Moved auto true",
        "Moved auto false",
        "Passed",
        "Offered",
        "OfferAccepted",
        "OfferDeclined",
        "OfferWithdrawn",
        "OfferLapsed",
        "Left absent true",
        "Left absent false",
        "ClockCompensated",
        "AbsenceBegun",
        "AbsenceEnded",
        "Rematched",
        "GameEnded NO_MOVES",
        "GameEnded BOARD_FULL",
        "GameEnded RESIGNATION",
        "GameEnded AGREED_EXIT",
        "GameEnded FORCED_EXIT",
        "GameEnded TOTAL_TIME",
        "GameEnded TIMEOUT_COUNT",
        "GameEnded ABORTED",
        "SessionEnded SERIES_COMPLETE",
        "SessionEnded IDLE",
        "SessionEnded LEFT",
        "SessionEnded AGREED_EXIT",
        "SessionEnded CANCELLED",
        "SessionEnded ABORTED",
        "STALE",
        "ILLEGAL_MOVE",
        "NOT_YOUR_TURN",
        "RESIGN_TOO_EARLY",
        "OFFER_GONE",
        "NO_CHANGE",
        "GAME_ON",
        "GAME_NOT_ON",
        "SESSION_ENDED",
        "NOT_SEATED",
    ] {
        assert!(seen.contains(wanted), "{wanted} was never reached: {seen:#?}");
    }
}
