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
    violations: Mutex<Vec<String>>,
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
        if let Err(error) = &answer {
            self.refused(timed, error);
        }
        answer
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
    pub fn violation(&self, text: impl Into<String>) {
        count(&self.counters.violations);
        let mut violations = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        if violations.len() < NAMED_MAX {
            violations.push(text.into());
        }
    }

    /// The first violations as texts.
    pub fn violations(&self) -> Vec<String> {
        self.violations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
