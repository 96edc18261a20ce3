//! The session: the fold of its log, and what can be asked of it.

use std::sync::Arc;

use tablemate_engine::Colour;
use tablemate_engine::game::{Move, Position};
use thiserror::Error;

use crate::clock::{Idle, Interval};
use crate::fact::{Creation, Fact, FactKind, GameResult, OfferId, OfferKind, SeriesResult, SessionEnding};
use crate::ids::{PlayerId, SessionId};
use crate::limits;
use crate::player::Player;
use crate::requests::Requests;
use crate::seat::{PerSeat, Seat};
use crate::secret::GuessNumber;
use crate::settings::{Settings, Violation, Watch};
use crate::time::{Instant, Millis};

/// A session: the fold of its log. Cheap to copy (settings, players and past results are shared).
///
/// ```
/// use tablemate_session::command::{Command, Outcome, Request};
/// use tablemate_session::fact::Creation;
/// use tablemate_session::player::Player;
/// use tablemate_session::seat::{PerSeat, Seat};
/// use tablemate_session::secret::Secret;
/// use tablemate_session::session::{Phase, Session};
/// use tablemate_session::settings::{GameSettings, OpenerRule, ReversiSettings, Settings};
/// use tablemate_session::{Instant, PlayerId, RequestId, SessionId};
///
/// let mut settings = Settings::of(GameSettings::Reversi(ReversiSettings::default()));
/// settings.opener = Some(OpenerRule::AsSeated);
/// let creation = Creation {
///     id: SessionId::new(0, [0; 10]),
///     secret: Secret::new([7; 32]), // from the operating system
///     settings,
///     player_one: Player::new(PlayerId::new("ann")?),
///     player_two: Some(Player::new(PlayerId::new("bob")?)),
///     ready: PerSeat::new(true, true),
///     invitation: None,
///     previous: None,
///     outages_known: 0,
/// };
///
/// // Both are ready: the game starts at once (S-1), and `ann` has 30 seconds for her first move (S-6).
/// let (mut session, mut log) = Session::create(creation, Instant(1_000))?;
/// assert_eq!(session.phase(), Phase::Playing);
/// assert_eq!(session.next_deadline(), Some(Instant(31_000)));
///
/// let d3 = Command::Play { ply: 1, mv: "d3".into() };
/// let request = Request::player(Seat::One, RequestId::new("request 1")?, d3);
/// let applied = session.apply(&request, Instant(5_000), &[]);
/// let Outcome::Accepted(facts) = applied.outcome else { panic!("refused") };
/// log.extend(facts);
///
/// // The session is its log, and nothing else.
/// assert_eq!(Session::fold(&log)?, session);
///
/// // The other player lets the time run out. Whoever looks first, whenever, makes the move at its deadline (S-11).
/// let (fired, more_due) = session.advance(Instant(99_000), &[]);
/// assert_eq!(fired[0].at, Instant(36_000));
/// assert!(!more_due);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub(crate) creation: Arc<Creation>,
    pub(crate) created_at: Instant,
    /// Who joined the open seat 2.
    pub(crate) joined: Option<Arc<Player>>,
    pub(crate) sequence: u64,
    pub(crate) last: Instant,
    /// The last outage that was applied or known at creation.
    pub(crate) outages_seen: u64,
    pub(crate) requests: Requests,

    pub(crate) ready: PerSeat<Readiness>,
    pub(crate) countdown: Option<Countdown>,
    pub(crate) idle: Idle,
    pub(crate) absences: PerSeat<Absence>,

    /// The current or last game.
    pub(crate) game: Option<Game>,
    pub(crate) game_on: bool,
    pub(crate) results: Arc<Vec<GameResult>>,
    pub(crate) offers: Offers,

    pub(crate) ended: Option<Ended>,
    /// Who left, before or after the end.
    pub(crate) left: PerSeat<bool>,
    pub(crate) next: Option<SessionId>,

    /// The sequence at which position, mover or phase last changed (S-26).
    pub(crate) turn_changed: u64,
    /// The sequence at which game number or phase last changed (S-26).
    pub(crate) phase_changed: u64,
}

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Seat 2 is open.
    Open,
    /// Both seats are taken, the next game waits for ready players.
    Waiting,
    /// A game is on.
    Playing,
    /// The session has ended.
    Ended,
}

/// How far a player is in getting ready for the next game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub ready: bool,
    pub number: GuessNumber,
    pub unreadies: u8,
}

/// The time that the player of `seat` has left to get ready (S-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Countdown {
    pub seat: Seat,
    pub time: Interval,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Absence {
    pub time: Option<Interval>,
    pub begun: u8,
}

/// How and when a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When.
    pub at: Instant,
    /// How.
    pub ending: SessionEnding,
    /// The result of a scored series.
    pub series: Option<SeriesResult>,
}

/// A game of a session, while it is on and until the next one starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    pub(crate) number: u8,
    pub(crate) opener: Seat,
    pub(crate) opener_colour: Colour,
    pub(crate) started: Instant,
    pub(crate) position: Position,
    /// The ply to be made next, from 1.
    pub(crate) ply: u32,
    pub(crate) moves: Vec<Move>,
    /// When the clocks of the player to act start or started to run.
    pub(crate) clock_start: Instant,
    pub(crate) left: PerSeat<Option<Millis>>,
    pub(crate) timeouts: PerSeat<u32>,
    /// The plies that deadlines took from players.
    pub(crate) taken: Arc<Vec<Taken>>,
    pub(crate) touched_by_outage: bool,
}

/// A ply that a deadline took from its player (S-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub ply: u32,
    pub seat: Seat,
    pub deadline: Instant,
}

impl Game {
    /// Which game of the series, from 1.
    #[must_use]
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// Who was the first to act.
    #[must_use]
    pub const fn opener(&self) -> Seat {
        self.opener
    }

    /// When it started.
    #[must_use]
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// The position.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The ply to be made next, from 1; passes are plies.
    #[must_use]
    pub const fn ply(&self) -> u32 {
        self.ply
    }

    /// All moves so far, passes included.
    #[must_use]
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The colour of a seat.
    #[must_use]
    pub fn colour(&self, seat: Seat) -> Colour {
        if seat == self.opener {
            self.opener_colour
        } else {
            self.opener_colour.other()
        }
    }

    /// The seat of a colour.
    #[must_use]
    pub fn seat(&self, colour: Colour) -> Seat {
        if colour == self.opener_colour {
            self.opener
        } else {
            self.opener.other()
        }
    }

    /// Who acts next; `None` when the game is over on the board.
    #[must_use]
    pub fn to_act(&self) -> Option<Seat> {
        self.position.to_act().map(|colour| self.seat(colour))
    }

    /// When the clocks of the player to act start or started to run (S-8).
    #[must_use]
    pub const fn clock_start(&self) -> Instant {
        self.clock_start
    }

    /// What is left of a player's total time, as of the start of the clock that runs.
    #[must_use]
    pub fn total_left(&self, seat: Seat) -> Option<Millis> {
        self.left[seat]
    }

    /// How often a player let the per-move time run out in this game.
    #[must_use]
    pub fn timeouts(&self, seat: Seat) -> u32 {
        self.timeouts[seat]
    }

    pub(crate) fn move_interval(&self, settings: &Settings) -> Interval {
        Interval::new(self.clock_start, settings.move_time)
    }

    pub(crate) fn total_interval(&self) -> Option<Interval> {
        let seat = self.to_act()?;
        self.left[seat].map(|left| Interval::new(self.clock_start, left))
    }

    /// When the first clock of the player to act runs out (S-6).
    #[must_use]
    pub fn deadline(&self, settings: &Settings) -> Instant {
        let of_move = self.move_interval(settings).deadline();
        self.total_interval()
            .map_or(of_move, |total| of_move.min(total.deadline()))
    }

    pub(crate) fn taken(&self, ply: u32, seat: Seat) -> Option<Instant> {
        self.taken
            .iter()
            .find(|taken| taken.ply == ply && taken.seat == seat)
            .map(|taken| taken.deadline)
    }
}

/// An open offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenOffer {
    /// Its id.
    pub id: OfferId,
    /// Who made it.
    pub seat: Seat,
    /// What is offered.
    pub kind: OfferKind,
}

/// What one player did with one kind of offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfferState {
    pub open: Option<OfferId>,
    /// How many were made in this game.
    pub made: u8,
    /// The wait before the next one.
    pub wait: Option<Interval>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    /// How many offers were made in the session: the id of the last one.
    pub made: u32,
    states: PerSeat<[OfferState; 3]>,
}

impl Offers {
    pub fn state(&self, seat: Seat, kind: OfferKind) -> &OfferState {
        let [exit, draw, rematch] = &self.states[seat];
        match kind {
            OfferKind::Exit => exit,
            OfferKind::Draw => draw,
            OfferKind::Rematch => rematch,
        }
    }

    pub fn state_mut(&mut self, seat: Seat, kind: OfferKind) -> &mut OfferState {
        let [exit, draw, rematch] = &mut self.states[seat];
        match kind {
            OfferKind::Exit => exit,
            OfferKind::Draw => draw,
            OfferKind::Rematch => rematch,
        }
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut OfferState> {
        self.states.0.iter_mut().flatten()
    }

    /// The open offers in the order in which they were made.
    pub fn open(&self) -> Vec<OpenOffer> {
        const KINDS: [OfferKind; 3] = [OfferKind::Exit, OfferKind::Draw, OfferKind::Rematch];
        let mut open: Vec<_> = Seat::ALL
            .into_iter()
            .flat_map(|seat| KINDS.map(|kind| (seat, kind)))
            .filter_map(|(seat, kind)| {
                let id = self.state(seat, kind).open?;
                Some(OpenOffer { id, seat, kind })
            })
            .collect();
        open.sort_by_key(|offer| offer.id);
        open
    }

    pub fn find(&self, id: OfferId) -> Option<OpenOffer> {
        self.open().into_iter().find(|offer| offer.id == id)
    }
}

/// Why a session cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CreateError {
    /// Settings out of bounds.
    #[error("settings out of bounds: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Settings(Vec<Violation>),
    /// One player for both seats (S-27).
    #[error("a player cannot take both seats")]
    SamePlayer,
    /// The open seat 2 is said to be ready (S-1).
    #[error("an open seat cannot be ready")]
    OpenSeatReady,
}

/// Why a log is no session's log. What was folded up to there is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FoldError {
    /// The log is empty.
    #[error("the log is empty")]
    Empty,
    /// The first fact is not `Created`, or a later one is.
    #[error("fact {sequence}: the first fact, and no other, must be the creation")]
    NotCreation {
        /// The fact's number.
        sequence: u64,
    },
    /// A fact is earlier than the one before it.
    #[error("fact {sequence} is at {at}, before {last}")]
    OutOfOrder {
        /// The fact's number.
        sequence: u64,
        /// Its instant.
        at: Instant,
        /// The instant of the fact before it.
        last: Instant,
    },
    /// A fact that cannot happen in the state before it.
    #[error("fact {sequence} cannot happen here: {why}")]
    Impossible {
        /// The fact's number.
        sequence: u64,
        /// What speaks against it.
        why: &'static str,
    },
}

impl Session {
    /// Folds a log.
    ///
    /// # Errors
    /// [`FoldError`] when it is empty or not a session's log. Never panics.
    pub fn fold<'a>(log: impl IntoIterator<Item = &'a Fact>) -> Result<Self, FoldError> {
        let mut facts = log.into_iter();
        let mut session = Self::begin(facts.next().ok_or(FoldError::Empty)?)?;
        for fact in facts {
            session.append(fact)?;
        }
        Ok(session)
    }

    /// The session after its first fact.
    ///
    /// # Errors
    /// [`FoldError::NotCreation`].
    pub fn begin(first: &Fact) -> Result<Self, FoldError> {
        match &first.kind {
            FactKind::Created(creation) => Ok(Self::of_creation(Arc::clone(creation), first.at)),
            _ => Err(FoldError::NotCreation { sequence: 1 }),
        }
    }

    pub(crate) fn of_creation(creation: Arc<Creation>, at: Instant) -> Self {
        let mut session = Self {
            created_at: at,
            joined: None,
            sequence: 1,
            last: at,
            outages_seen: creation.outages_known,
            requests: Requests::default(),
            ready: PerSeat::from_fn(|seat| Readiness {
                ready: creation.ready[seat] && (seat == Seat::One || creation.player_two.is_some()),
                ..Readiness::default()
            }),
            countdown: None,
            idle: Idle::started(at, creation.settings.idle_time),
            absences: PerSeat::default(),
            game: None,
            game_on: false,
            results: Arc::default(),
            offers: Offers::default(),
            ended: None,
            left: PerSeat::default(),
            next: None,
            turn_changed: 1,
            phase_changed: 1,
            creation,
        };
        session.weigh_countdown(at);
        session
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.creation.id
    }

    /// What it was created with. Holds the secret: never show it whole.
    #[must_use]
    pub fn creation(&self) -> &Creation {
        &self.creation
    }

    /// When it was created.
    #[must_use]
    pub const fn created_at(&self) -> Instant {
        self.created_at
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.creation.settings
    }

    /// The number of facts in its log: the sequence of the last one.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The instant of the last fact. No later one can be earlier.
    #[must_use]
    pub const fn last_instant(&self) -> Instant {
        self.last
    }

    /// Where it is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.ended.is_some() {
            Phase::Ended
        } else if self.game_on {
            Phase::Playing
        } else if self.player(Seat::Two).is_none() {
            Phase::Open
        } else {
            Phase::Waiting
        }
    }

    /// The player of a seat; `None` while seat 2 is open.
    #[must_use]
    pub fn player(&self, seat: Seat) -> Option<&Player> {
        match seat {
            Seat::One => Some(&self.creation.player_one),
            Seat::Two => self.creation.player_two.as_ref().or(self.joined.as_deref()),
        }
    }

    /// The seat of a player.
    #[must_use]
    pub fn seat_of(&self, player: &PlayerId) -> Option<Seat> {
        Seat::ALL
            .into_iter()
            .find(|seat| self.player(*seat).is_some_and(|seated| seated.id == *player))
    }

    /// Whether this player (`None`: somebody unnamed) may watch (S-27).
    #[must_use]
    pub fn may_watch(&self, player: Option<&PlayerId>) -> bool {
        if player.is_some_and(|player| self.seat_of(player).is_some()) {
            return true;
        }
        match &self.settings().watch {
            Watch::Anyone => true,
            Watch::Players => false,
            Watch::List(viewers) => player.is_some_and(|player| viewers.contains(player)),
        }
    }

    /// Whether a player is ready for the next game.
    #[must_use]
    pub fn is_ready(&self, seat: Seat) -> bool {
        self.ready[seat].ready
    }

    /// The current or last game; `None` before the first.
    #[must_use]
    pub const fn game(&self) -> Option<&Game> {
        self.game.as_ref()
    }

    /// The game that is on.
    #[must_use]
    pub fn game_on(&self) -> Option<&Game> {
        self.game.as_ref().filter(|_| self.game_on)
    }

    /// The results of the finished games, in order.
    #[must_use]
    pub fn results(&self) -> &[GameResult] {
        &self.results
    }

    /// The open offers, in the order in which they were made.
    #[must_use]
    pub fn open_offers(&self) -> Vec<OpenOffer> {
        self.offers.open()
    }

    /// How and when it ended.
    #[must_use]
    pub const fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// The rematch of this session (S-5).
    #[must_use]
    pub const fn next_session(&self) -> Option<SessionId> {
        self.next
    }

    /// The last outage of the shard that this session has taken into account (S-12); 0: none.
    #[must_use]
    pub const fn outages_seen(&self) -> u64 {
        self.outages_seen
    }

    /// Whether `creation` asks for this very session, so that a repeated creation has found the first one.
    #[must_use]
    pub fn same_creation(&self, creation: &Creation) -> bool {
        self.creation.same_request(creation)
    }

    /// From when resigning is allowed (S-13), while a game is on.
    #[must_use]
    pub fn resign_allowed_from(&self) -> Option<Instant> {
        self.game_on()
            .map(|game| game.started.after(self.settings().resign_guard))
    }

    /// Until when a rematch can be offered and accepted (S-5); `None`: not (any more).
    #[must_use]
    pub fn rematch_until(&self) -> Option<Instant> {
        let ended = self.ended.as_ref()?;
        let open = ended.ending == SessionEnding::SeriesComplete
            && self.next.is_none()
            && !self.left.0.contains(&true);
        open.then(|| ended.at.after(limits::REMATCH_WINDOW))
    }

    /// Who would open the first game of a rematch (S-5).
    #[must_use]
    pub fn rematch_opener(&self) -> Option<Seat> {
        self.game.as_ref().map(|game| game.opener.other())
    }
}
