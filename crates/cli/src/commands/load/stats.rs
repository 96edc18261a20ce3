//! What all simulated players count together.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tablemate_client::Error;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// MatchmakingService.CreateTicket.
    CreateTicket,
    /// From asking for a game to its session.
    Matched,
    /// MatchmakingService.CancelTicket.
    CancelTicket,
    /// SessionService.CreateSession.
    CreateSession,
    /// SessionService.Play.
    Play,
    /// SessionService.Resign.
    Resign,
    /// SessionService.GetSession.
    GetSession,
    /// PlayerService.GetPlayer.
    GetPlayer,
    /// From an event's instant to the message that tells it, by the server's clock; automatic events aside.
    EventDelivery,
    /// From the deadline of an automatic event to the message that tells it, by the server's clock.
    TimerLateness,
}

impl Timed {
    /// All, in the order of the report.
    pub const ALL: [Timed; 10] = [
        Timed::CreateTicket,
        Timed::Matched,
        Timed::CancelTicket,
        Timed::CreateSession,
        Timed::Play,
        Timed::Resign,
        Timed::GetSession,
        Timed::GetPlayer,
        Timed::EventDelivery,
        Timed::TimerLateness,
    ];

    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Timed::CreateTicket => "CreateTicket",
            Timed::Matched => "(ticket to session)",
            Timed::CancelTicket => "CancelTicket",
            Timed::CreateSession => "CreateSession",
            Timed::Play => "Play",
            Timed::Resign => "Resign",
            Timed::GetSession => "GetSession",
            Timed::GetPlayer => "GetPlayer",
            Timed::EventDelivery => "(event to watcher)",
            Timed::TimerLateness => "(timer lateness)",
        }
    }
}

/// Which promise to players was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Broken {
    /// A command was acknowledged, but is not in the log.
    LostCommand,
    /// A game or a session has two results, or a record has more games than were played.
    DoubledResult,
    /// A watcher missed events or saw some twice.
    StreamGap,
    /// A session did not end, or its results were not settled, in time.
    Unfinished,
    /// What was told cannot be true, or not together.
    Contradiction,
}

impl Broken {
    /// All, in the order of the report.
    pub const ALL: [Broken; 5] = [
        Broken::LostCommand,
        Broken::DoubledResult,
        Broken::StreamGap,
        Broken::Unfinished,
        Broken::Contradiction,
    ];

    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Broken::LostCommand => "lost_command",
            Broken::DoubledResult => "doubled_result",
            Broken::StreamGap => "stream_gap",
            Broken::Unfinished => "unfinished",
            Broken::Contradiction => "contradiction",
        }
    }

    /// A violation of this kind.
    pub fn because(self, text: impl Into<String>) -> Violation {
        Violation {
            broken: self,
            text: text.into(),
        }
    }
}

/// What was found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise was broken.
    pub broken: Broken,
    /// How it was seen.
    pub text: String,
}

impl Violation {
    /// The same, with where it was seen.
    pub fn at(self, place: &str) -> Violation {
        Violation {
            text: format!("{place}: {}", self.text),
            ..self
        }
    }
}

/// When commands were acknowledged, and the longest time without one.
#[derive(Debug)]
struct Acknowledgements {
    last: Instant,
    longest_silence: Duration,
}

/// Numbers that only grow.
#[derive(Debug, Default)]
pub struct Counters {
    /// Games that ended, counted once a game.
    pub games: AtomicU64,
    /// Moves that were acknowledged.
    pub moves: AtomicU64,
    /// Moves that the server made.
    pub auto_moves: AtomicU64,
    /// Events that were received by watchers.
    pub events: AtomicU64,
    /// Connections that were dropped on purpose.
    pub disconnects: AtomicU64,
    /// Streams that were opened again, on purpose or not.
    pub reconnects: AtomicU64,
    /// Watchers that were told to begin anew.
    pub resynchronised: AtomicU64,
    /// Commands that were sent again on purpose.
    pub repeats: AtomicU64,
    /// Sessions that are on now.
    pub live: AtomicU64,
    /// What was found wrong.
    pub violations: AtomicU64,
}

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What all simulated players count together.
#[derive(Debug)]
pub struct Stats {
    /// Numbers that only grow.
    pub counters: Counters,
    histograms: [Mutex<Histogram<u64>>; Timed::ALL.len()],
    refusals: Mutex<BTreeMap<(&'static str, String), u64>>,
    violations: Mutex<Vec<Violation>>,
    broken: [AtomicU64; Broken::ALL.len()],
    acknowledgements: Mutex<Acknowledgements>,
}

/// How many violations are kept as texts.
const NAMED_MAX: usize = 50;
/// The longest duration that is told apart.
const LONGEST_US: u64 = 3_600_000_000;

impl Stats {
    /// Nothing counted yet.
    pub fn new() -> Result<Stats, hdrhistogram::CreationError> {
        let histogram = Histogram::<u64>::new_with_bounds(1, LONGEST_US, 3)?;
        Ok(Stats {
            counters: Counters::default(),
            histograms: std::array::from_fn(|_| Mutex::new(histogram.clone())),
            refusals: Mutex::default(),
            violations: Mutex::default(),
            broken: Default::default(),
            acknowledgements: Mutex::new(Acknowledgements {
                last: Instant::now(),
                longest_silence: Duration::ZERO,
            }),
        })
    }

    /// Takes a duration.
    pub fn record(&self, timed: Timed, duration: Duration) {
        let micros = u64::try_from(duration.as_micros())
            .unwrap_or(LONGEST_US)
            .clamp(1, LONGEST_US);
        if let Some(histogram) = self.histograms.get(timed as usize) {
            histogram
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .saturating_record(micros);
        }
    }

    /// A copy of what was timed.
    pub fn histogram(&self, timed: Timed) -> Option<Histogram<u64>> {
        let histogram = self.histograms.get(timed as usize)?;
        Some(histogram.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Times a call and counts its refusal.
    pub async fn call<T>(
        &self,
        timed: Timed,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let began = Instant::now();
        let answer = call.await;
        self.record(timed, began.elapsed());
        match &answer {
            Ok(_) => self.acknowledged(),
            Err(error) => self.refused(timed, error),
        }
        answer
    }

    fn acknowledged(&self) {
        let now = Instant::now();
        let mut seen = self
            .acknowledgements
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let silence = now.saturating_duration_since(seen.last);
        seen.longest_silence = seen.longest_silence.max(silence);
        seen.last = now;
    }

    /// The longest time in which nobody's call was answered well.
    pub fn longest_silence(&self) -> Duration {
        self.acknowledgements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .longest_silence
    }

    /// Counts a refusal or a failure.
    pub fn refused(&self, timed: Timed, error: &Error) {
        let reason = match error.reason() {
            "" => match error.refusal() {
                Some(refusal) => format!("{:?}", refusal.code),
                None => error.to_string(),
            },
            reason => reason.to_owned(),
        };
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = refusals.entry((timed.name(), reason)).or_default();
        *counted = counted.saturating_add(1);
    }

    /// Refusals and failures by call and reason.
    pub fn refusals(&self) -> BTreeMap<(&'static str, String), u64> {
        self.refusals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes what was found wrong.
    pub fn violation(&self, violation: Violation) {
        count(&self.counters.violations);
        if let Some(counter) = self.broken.get(violation.broken as usize) {
            count(counter);
        }
        let mut violations = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        if violations.len() < NAMED_MAX {
            violations.push(violation);
        }
    }

    /// How often each promise was broken.
    pub fn broken(&self) -> [(Broken, u64); Broken::ALL.len()] {
        Broken::ALL.map(|broken| {
            let count = self.broken.get(broken as usize);
            (broken, count.map_or(0, |count| count.load(Ordering::Relaxed)))
        })
    }

    /// The first violations.
    pub fn violations(&self) -> Vec<Violation> {
        self.violations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
