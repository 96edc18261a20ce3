//! Drafts: the facts of one command or one deadline, taken in one by one as they are decided.

use tablemate_engine::game::Move;
use tablemate_engine::policy::Policy;

use crate::fact::{Actor, Fact, FactKind, GameEndReason, GameResult, OpenerFound, Outcome, SessionEnding};
use crate::limits;
use crate::opener;
use crate::score;
use crate::seat::Seat;
use crate::secret::RequestHash;
use crate::session::Session;
use crate::time::Instant;

/// The facts of one command or one deadline, all at one instant. What is recorded is in the session at once, so what
/// follows is decided on the state that a fold of the log would have.
pub(crate) struct Draft<'a> {
    pub session: &'a mut Session,
    pub at: Instant,
    request: Option<RequestHash>,
    facts: Vec<Fact>,
}

impl<'a> Draft<'a> {
    /// The facts of a deadline.
    pub fn new(session: &'a mut Session, at: Instant) -> Self {
        Self {
            session,
            at,
            request: None,
            facts: Vec::with_capacity(1),
        }
    }

    /// The facts of a command with this request id.
    pub fn of_request(session: &'a mut Session, at: Instant, request: Option<RequestHash>) -> Self {
        Self {
            request,
            ..Self::new(session, at)
        }
    }

    /// Records a fact, unless the session refuses it (after a damaged log): nothing is written that cannot be read.
    pub fn record(&mut self, by: Actor, kind: FactKind) {
        let fact = Fact {
            at: self.at,
            by,
            request: self.request.filter(|_| self.facts.is_empty()),
            count: 0,
            kind,
        };
        if self.session.append(&fact).is_ok() {
            self.facts.push(fact);
        }
    }

    /// The facts of a deadline.
    pub fn finish(self) -> Vec<Fact> {
        self.facts
    }

    /// The facts of a command; the first carries how many they are.
    pub fn finish_command(mut self) -> Vec<Fact> {
        // A command makes a handful of facts: see the limits on games and offers.
        let count = u8::try_from(self.facts.len()).unwrap_or(u8::MAX);
        if let Some(first) = self.facts.first_mut() {
            first.count = count;
            if first.request.is_some() {
                self.session.requests.set_last_count(count);
            }
        }
        self.facts
    }

    /// Starts the next game at once when both players are ready (S-1).
    pub fn start_if_ready(&mut self) {
        let both_ready = self.session.ready.0.iter().all(|readiness| readiness.ready);
        if !both_ready || self.session.player(Seat::Two).is_none() || self.session.game_on {
            return;
        }
        let (opener, found): (Seat, OpenerFound) = opener::find(self.session);
        let Ok(game) = u8::try_from(self.session.results.len() + 1) else {
            return;
        };
        self.record(Actor::Server, FactKind::Started { game, opener, found });
        self.settle_position();
    }

    /// Makes a legal move of `seat`, and records what follows from it at once.
    pub fn make_move(&mut self, by: Actor, seat: Seat, mv: Move, auto: Option<Policy>) {
        self.record(by, FactKind::Moved { mv, auto });
        self.lapse_offers(Some(seat));
        self.settle_position();
    }

    /// Passes for whoever cannot move, or ends the game that is over.
    fn settle_position(&mut self) {
        while let Some(game) = self.session.game_on() {
            if let Some(over) = game.position.outcome() {
                let outcome = match over.winner {
                    Some(colour) => Outcome::Wins(game.seat(colour)),
                    None => Outcome::Draw,
                };
                self.end_game(Actor::Server, GameEndReason::Board(over.reason), outcome);
                self.after_game();
                return;
            }
            match game.to_act().filter(|_| game.position.must_pass()) {
                Some(seat) => {
                    let ply = game.ply;
                    self.record(Actor::Server, FactKind::Passed { seat });
                    if self.session.game_on().is_none_or(|game| game.ply == ply) {
                        return;
                    }
                }
                None => return,
            }
        }
    }

    /// Ends the game that is on; its offers lapse.
    pub fn end_game(&mut self, by: Actor, reason: GameEndReason, outcome: Outcome) {
        let Some(game) = self.session.game_on() else {
            return;
        };
        let within_guard = self
            .session
            .resign_allowed_from()
            .is_some_and(|from| self.at < from);
        let mut points = score::points(&self.session.settings().game, outcome);
        let mut escape = None;
        if reason == GameEndReason::ForcedExit
            && let Some(winner) = outcome.winner()
        {
            escape = Some(winner.other());
            if within_guard {
                // The leaver loses the points all the same, but nobody can farm them (S-16).
                points[winner] = 0;
            }
        }
        let result = GameResult {
            game: game.number,
            reason,
            outcome,
            colour_one: game.colour(Seat::One),
            counts: game.position.counts(),
            margin_half_discs: score::margin(self.session.settings(), game, reason, outcome),
            points,
            escape,
            touched_by_outage: game.touched_by_outage,
        };
        self.record(by, FactKind::GameEnded(result));
        self.lapse_offers(None);
    }

    /// Ends the session when that was its last game (S-5).
    pub fn after_game(&mut self) {
        let games = self.session.settings().games;
        if u32::try_from(self.session.results.len()).is_ok_and(|played| played >= games) {
            self.end_session(Actor::Server, SessionEnding::SeriesComplete);
        }
    }

    /// Ends the session.
    pub fn end_session(&mut self, by: Actor, ending: SessionEnding) {
        let series = score::series(self.session, ending);
        self.record(by, FactKind::SessionEnded { ending, series });
    }

    /// A player leaves for good, by a command or by absence (S-16, S-17).
    pub fn leave(&mut self, by: Actor, seat: Seat, absent: bool) {
        self.record(by, FactKind::Left { seat, absent });
        if self.session.ended.is_some() {
            self.lapse_offers(None);
            return;
        }
        if self.session.game_on {
            self.end_game(
                Actor::Server,
                GameEndReason::ForcedExit,
                Outcome::Wins(seat.other()),
            );
        }
        self.end_session(Actor::Server, SessionEnding::Left);
    }

    /// The open offers of a seat (`None`: of both) lapse (S-14).
    pub fn lapse_offers(&mut self, of: Option<Seat>) {
        for offer in self.session.offers.open() {
            if of.is_none_or(|seat| seat == offer.seat) {
                self.record(Actor::Server, FactKind::OfferLapsed { offer: offer.id });
            }
        }
    }
}

const _: () = assert!(limits::GAMES_MAX <= u8::MAX as u32);
