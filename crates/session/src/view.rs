//! What a viewer may see of a session (S-24): no secret, no number of 猜先 before the start, no invitation.

use std::sync::Arc;

use tablemate_engine::Colour;
use tablemate_engine::game::{Move, Position};

use crate::fact::GameResult;
use crate::ids::{PlayerId, SessionId};
use crate::player::Rating;
use crate::seat::{PerSeat, Seat};
use crate::session::{Ended, Game, OpenOffer, Phase, Session};
use crate::settings::{Settings, Watch};
use crate::time::{Instant, Millis};

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Viewer {
    /// The player of a seat, or a backend acting for the player.
    Seat(Seat),
    /// Anybody else who may watch.
    Spectator,
}

/// A session as a viewer may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The session.
    pub id: SessionId,
    /// The last fact that is in it.
    pub sequence: u64,
    /// Where it is.
    pub phase: Phase,
    /// The settings; a list of those who may watch is shown to the players only.
    pub settings: Settings,
    /// Both seats.
    pub seats: PerSeat<SeatView>,
    /// The current or last game.
    pub game: Option<GameView>,
    /// The open offers.
    pub offers: Vec<OpenOffer>,
    /// The results so far.
    pub results: Arc<Vec<GameResult>>,
    /// How it ended.
    pub ended: Option<Ended>,
    /// When the ready countdown ends, while it runs (S-2).
    pub countdown_deadline: Option<Instant>,
    /// When the session closes if nobody gets ready, while that runs (S-4).
    pub idle_deadline: Option<Instant>,
    /// From when resigning is allowed, while a game is on (S-13).
    pub resign_allowed_from: Option<Instant>,
    /// Until when a rematch can be agreed on (S-5).
    pub rematch_until: Option<Instant>,
    /// The session that this one is the rematch of.
    pub previous: Option<SessionId>,
    /// The rematch of this session.
    pub next: Option<SessionId>,
}

/// A seat as a viewer may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatView {
    /// The player; `None` while the seat is open.
    pub player: Option<PlayerId>,
    /// The rating when the player was seated.
    pub rating: Option<Rating>,
    /// Whether the player is ready for the next game.
    pub ready: bool,
    /// The colour in the current or last game.
    pub colour: Option<Colour>,
    /// What is left of the total time, as of the start of the clock that runs.
    pub total_left: Option<Millis>,
    /// Per-move time-outs in the current or last game.
    pub timeouts: u32,
    /// When the player is forced out, while absent (S-17).
    pub absence_deadline: Option<Instant>,
}

/// A game as a viewer may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameView {
    /// Which game of the series, from 1.
    pub number: u8,
    /// Who was the first to act.
    pub opener: Seat,
    /// When it started.
    pub started: Instant,
    /// The position.
    pub position: Position,
    /// What each colour has on the board (`[black, white]`).
    pub counts: [u8; 2],
    /// The moves so far, passes included.
    pub moves: Vec<Move>,
    /// The turn, while the game is on.
    pub turn: Option<Turn>,
}

/// What the board asks for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The ply to be made, from 1; passes are plies.
    pub ply: u32,
    /// Who acts.
    pub seat: Seat,
    /// In which colour.
    pub colour: Colour,
    /// When the clocks of that player start or started to run (S-8).
    pub clock_start: Instant,
    /// When the first of them runs out; a command at this instant is in time (S-10).
    pub deadline: Instant,
}

impl Turn {
    /// The turn of a game; `None` when it is over on the board.
    #[must_use]
    pub fn of(game: &Game, settings: &Settings) -> Option<Self> {
        let seat = game.to_act()?;
        Some(Self {
            ply: game.ply(),
            seat,
            colour: game.colour(seat),
            clock_start: game.clock_start(),
            deadline: game.deadline(settings),
        })
    }
}

impl Session {
    /// The turn, while a game is on.
    #[must_use]
    pub fn turn(&self) -> Option<Turn> {
        self.game_on().and_then(|game| Turn::of(game, self.settings()))
    }

    /// The session as the viewer may see it (S-24). Fire what has passed before you show it. Whether somebody may look
    /// at all is [`Session::may_watch`]'s business, and a delay for spectators the caller's, who shows a fold of what
    /// is old enough.
    #[must_use]
    pub fn view(&self, viewer: Viewer) -> View {
        View {
            id: self.id(),
            sequence: self.sequence,
            phase: self.phase(),
            settings: visible_settings(self.settings(), viewer),
            seats: PerSeat::from_fn(|seat| self.seat_view(seat)),
            game: self.game.as_ref().map(|game| self.game_view(game)),
            offers: self.offers.open(),
            results: Arc::clone(&self.results),
            ended: self.ended,
            countdown_deadline: self.countdown_deadline(),
            idle_deadline: self.idle.deadline(),
            resign_allowed_from: self.resign_allowed_from(),
            rematch_until: self.rematch_until(),
            previous: self.creation.previous.map(|previous| previous.session),
            next: self.next,
        }
    }

    /// When the ready countdown ends, while it runs (S-2).
    #[must_use]
    pub fn countdown_deadline(&self) -> Option<Instant> {
        self.countdown.map(|countdown| countdown.time.deadline())
    }

    fn seat_view(&self, seat: Seat) -> SeatView {
        let player = self.player(seat);
        let game = self.game.as_ref();
        SeatView {
            player: player.map(|player| player.id.clone()),
            rating: player.map(|player| player.rating),
            ready: self.is_ready(seat),
            colour: game.map(|game| game.colour(seat)),
            total_left: game.and_then(|game| game.total_left(seat)),
            timeouts: game.map_or(0, |game| game.timeouts(seat)),
            absence_deadline: self.absences[seat].time.map(|time| time.deadline()),
        }
    }

    fn game_view(&self, game: &Game) -> GameView {
        GameView {
            number: game.number,
            opener: game.opener,
            started: game.started,
            position: game.position,
            counts: game.position.counts(),
            moves: game.moves.clone(),
            turn: self.turn(),
        }
    }
}

/// The settings as the viewer may see them.
pub(crate) fn visible_settings(settings: &Settings, viewer: Viewer) -> Settings {
    let mut settings = settings.clone();
    if let (Viewer::Spectator, Watch::List(viewers)) = (viewer, &mut settings.watch) {
        viewers.clear();
    }
    settings
}
