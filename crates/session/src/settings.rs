//! The settings of a session: chosen at creation, checked as a whole, never changed.

use tablemate_engine::GameKind;
use tablemate_engine::game::{Position, Start};
use tablemate_engine::policy::Policy;
use tablemate_engine::reversi::{self, MarginMethod};
use tablemate_engine::search::Level;
use thiserror::Error;

use crate::ids::PlayerId;
use crate::limits;
use crate::time::Millis;

/// The settings of a session. [`Settings::of`] gives the defaults; [`Settings::validate`] checks all bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The game and what is special to it.
    pub game: GameSettings,
    /// How many games, 1 to 32; an even number for a scored series (S-5, R-11).
    pub games: u32,
    /// Who opens the first game; `None`: the game's own rule, else [`OpenerRule::Draw`] (S-29).
    pub opener: Option<OpenerRule>,
    /// Length of the ready countdown, 0 to 24 h (S-2).
    pub ready_time: Millis,
    /// What happens when the countdown ends (S-2).
    pub not_ready: NotReadyAction,
    /// After how long a session in which nobody gets ready closes, 1 s to 24 h (S-4).
    pub idle_time: Millis,
    /// Time for each move, 1 s to 24 h (S-6).
    pub move_time: Millis,
    /// Total time of each player in each game, 1 s to 24 h; `None`: no limit (S-6).
    pub total_time: Option<Millis>,
    /// How long a client animates a move, 0 to 24 h (S-8).
    pub animation: Millis,
    /// How long after a game's start resigning is refused, 0 to 24 h (S-13).
    pub resign_guard: Millis,
    /// What happens when the per-move time runs out (S-9).
    pub timeout: TimeoutRule,
    /// Whether the games touch the players' records (S-20).
    pub rated: bool,
    /// Who may watch (S-27).
    pub watch: Watch,
    /// After how much continuous absence a player is forced out, 1 s to 24 h; `None`: never (S-17).
    pub absence: Option<Millis>,
    /// How much later than the players spectators see what happens, 0 to 24 h (S-24).
    pub spectator_delay: Millis,
}

/// What is special to a game in the settings; names the kind too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameSettings {
    /// A session of Reversi.
    Reversi(ReversiSettings),
}

/// What is special to Reversi.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReversiSettings {
    /// The start position.
    pub start: reversi::Start,
    /// How margins are counted.
    pub margin: MarginMethod,
    /// Whether the games are scored together.
    pub scored_series: bool,
}

/// Who opens the first game (S-29).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenerRule {
    /// Seat 1 opens.
    AsSeated,
    /// The server draws.
    Draw,
    /// 猜先: each may give a number with getting ready; an odd difference swaps the seats' roles.
    Guess,
    /// Whoever opened less often of the last 20 games of the kind; equal: drawn.
    Balanced,
}

/// What happens when the ready countdown ends (S-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NotReadyAction {
    /// The server makes the player ready and the game starts.
    #[default]
    AutoReady,
    /// The session closes.
    Cancel,
}

/// What happens when the per-move time runs out (S-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeoutRule {
    /// The server moves.
    Move(Policy),
    /// The game is lost.
    Lose,
    /// The server moves, but the `n`-th time-out of a player in a game loses it.
    LoseAfter {
        /// 1 to [`limits::TIMEOUTS_MAX`]; 1 is the same as [`TimeoutRule::Lose`].
        n: u32,
        /// How the server moves before that.
        policy: Policy,
    },
}

/// Who may watch a session beside its players (S-27).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Everybody.
    #[default]
    Anyone,
    /// The two players only.
    Players,
    /// The players and those listed, at most [`limits::WATCHERS_MAX`].
    List(Vec<PlayerId>),
}

/// A setting out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field} is {given}, allowed is {allowed}")]
pub struct Violation {
    /// The field, as the public API spells it.
    pub field: &'static str,
    /// What was given.
    pub given: String,
    /// What is allowed.
    pub allowed: String,
}

impl GameSettings {
    /// The defaults of a kind of game.
    #[must_use]
    pub fn of(kind: GameKind) -> Self {
        match kind {
            GameKind::Reversi => Self::Reversi(ReversiSettings::default()),
        }
    }

    /// Which game.
    #[must_use]
    pub const fn kind(&self) -> GameKind {
        match self {
            Self::Reversi(_) => GameKind::Reversi,
        }
    }

    /// Where its games start.
    #[must_use]
    pub const fn start(&self) -> Start {
        match self {
            Self::Reversi(reversi) => Start::Reversi(reversi.start),
        }
    }

    /// The first position of its games.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.start().position()
    }

    /// Whether the games are scored together.
    #[must_use]
    pub const fn scored_series(&self) -> bool {
        match self {
            Self::Reversi(reversi) => reversi.scored_series,
        }
    }

    /// Whether the game's page knows an agreed draw (S-15). Reversi does not.
    #[must_use]
    pub const fn allows_draw_offers(&self) -> bool {
        match self {
            Self::Reversi(_) => false,
        }
    }

    /// The rule for who opens of the game's own page (S-29); Reversi's says nothing.
    #[must_use]
    pub const fn opener(&self) -> Option<OpenerRule> {
        match self {
            Self::Reversi(_) => None,
        }
    }

    /// The default animation of a move (S-8).
    #[must_use]
    pub const fn animation(&self) -> Millis {
        match self {
            Self::Reversi(_) => limits::ANIMATION_REVERSI,
        }
    }
}

impl TimeoutRule {
    /// The policy that moves for a player, unless every time-out loses.
    #[must_use]
    pub const fn policy(&self) -> Option<Policy> {
        match self {
            Self::Move(policy) | Self::LoseAfter { policy, .. } => Some(*policy),
            Self::Lose => None,
        }
    }

    /// The time-out of a player in a game that loses it, from 1; `None`: none does.
    #[must_use]
    pub const fn loses_at(&self) -> Option<u32> {
        match self {
            Self::Move(_) => None,
            Self::Lose => Some(1),
            Self::LoseAfter { n, .. } => Some(*n),
        }
    }
}

impl Default for TimeoutRule {
    /// The engine's lowest level moves (S-9).
    fn default() -> Self {
        Self::Move(Policy::Engine { level: Level::LOWEST })
    }
}

impl Settings {
    /// The defaults for a session of this game.
    #[must_use]
    pub fn of(game: GameSettings) -> Self {
        Self {
            games: if game.scored_series() {
                limits::GAMES_SCORED_DEFAULT
            } else {
                1
            },
            animation: game.animation(),
            game,
            opener: None,
            ready_time: limits::READY_TIME_DEFAULT,
            not_ready: NotReadyAction::default(),
            idle_time: limits::IDLE_TIME_DEFAULT,
            move_time: limits::MOVE_TIME_DEFAULT,
            total_time: Some(limits::TOTAL_TIME_DEFAULT),
            resign_guard: limits::RESIGN_GUARD_DEFAULT,
            timeout: TimeoutRule::default(),
            rated: true,
            watch: Watch::default(),
            absence: None,
            spectator_delay: Millis::ZERO,
        }
    }

    /// The rule by which the first game's opener is found, nothing left open (S-29).
    #[must_use]
    pub fn opener_rule(&self) -> OpenerRule {
        self.opener.or(self.game.opener()).unwrap_or(OpenerRule::Draw)
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// All violations at once, in the order of the fields.
    pub fn validate(&self) -> Result<(), Vec<Violation>> {
        let mut violations = Vec::new();
        if !(1..=limits::GAMES_MAX).contains(&self.games) {
            violations.push(Violation {
                field: "games",
                given: self.games.to_string(),
                allowed: format!("1 to {}", limits::GAMES_MAX),
            });
        } else if self.game.scored_series() && !self.games.is_multiple_of(2) {
            violations.push(Violation {
                field: "games",
                given: self.games.to_string(),
                allowed: format!("an even number up to {} for a scored series", limits::GAMES_MAX),
            });
        }
        let mut check = |field, given: Millis, from: Millis| {
            if given < from || given > limits::TIME_MAX {
                violations.push(Violation {
                    field,
                    given: given.to_string(),
                    allowed: format!("{from} to {}", limits::TIME_MAX),
                });
            }
        };
        check("ready_time", self.ready_time, Millis::ZERO);
        check("idle_time", self.idle_time, limits::TIME_MIN);
        check("move_time", self.move_time, limits::TIME_MIN);
        if let Some(total_time) = self.total_time {
            check("total_time", total_time, limits::TIME_MIN);
        }
        check("animation", self.animation, Millis::ZERO);
        check("resign_guard", self.resign_guard, Millis::ZERO);
        if let Some(absence) = self.absence {
            check("absence_limit", absence, limits::TIME_MIN);
        }
        check("spectator_delay", self.spectator_delay, Millis::ZERO);
        if let TimeoutRule::LoseAfter { n, .. } = self.timeout
            && !(1..=limits::TIMEOUTS_MAX).contains(&n)
        {
            violations.push(Violation {
                field: "timeout.lose_after",
                given: n.to_string(),
                allowed: format!("1 to {}", limits::TIMEOUTS_MAX),
            });
        }
        if let Watch::List(viewers) = &self.watch
            && viewers.len() > limits::WATCHERS_MAX
        {
            violations.push(Violation {
                field: "watch.viewers",
                given: format!("{} viewers", viewers.len()),
                allowed: format!("at most {}", limits::WATCHERS_MAX),
            });
        }
        if self.game.position().to_act().is_none() {
            violations.push(Violation {
                field: "reversi.start.position",
                given: "a position in which nobody can move".into(),
                allowed: "a position in which somebody can move".into(),
            });
        }
        if violations.is_empty() {
            Ok(())
        } else {
            Err(violations)
        }
    }
}
