//! Folding: what one more fact makes of a session. The only place where a session changes.

use std::sync::Arc;

use tablemate_engine::game::{Move, Position};
use tablemate_engine::reversi;

use crate::clock::{Idle, Interval, compensated};
use crate::fact::{Fact, FactKind, GameEndReason, GameResult, OfferId, OfferKind, Outage};
use crate::limits;
use crate::player::Player;
use crate::seat::{PerSeat, Seat};
use crate::secret::GuessNumber;
use crate::session::{Countdown, Ended, FoldError, Game, OpenOffer, Readiness, Session, Taken};
use crate::time::Instant;

type Folded = Result<(), &'static str>;

impl Session {
    /// Takes one more fact in. Nothing else changes a session.
    ///
    /// # Errors
    /// [`FoldError`] when the fact cannot follow; the session is unchanged then. Never panics on a bad log.
    pub fn append(&mut self, fact: &Fact) -> Result<(), FoldError> {
        let sequence = self.sequence + 1;
        if fact.at < self.last {
            return Err(FoldError::OutOfOrder {
                sequence,
                at: fact.at,
                last: self.last,
            });
        }
        if matches!(fact.kind, FactKind::Created(_)) {
            return Err(FoldError::NotCreation { sequence });
        }
        // The digest tells of the state before the fact (the ply of a move).
        let digest = fact.request.map(|hash| (hash, self.digest_of_fact(fact)));
        self.fold_kind(fact)
            .map_err(|why| FoldError::Impossible { sequence, why })?;
        self.sequence = sequence;
        self.last = fact.at;
        match fact.kind {
            FactKind::Started { .. }
            | FactKind::GameEnded(_)
            | FactKind::SessionEnded { .. }
            | FactKind::Joined { .. } => {
                self.phase_changed = sequence;
                self.turn_changed = sequence;
            }
            FactKind::Moved { .. } | FactKind::Passed { .. } => self.turn_changed = sequence,
            _ => {}
        }
        if let Some((hash, digest)) = digest {
            self.requests.insert(hash, digest, sequence, fact.count);
        }
        Ok(())
    }

    /// Checks first, then changes.
    fn fold_kind(&mut self, fact: &Fact) -> Folded {
        let at = fact.at;
        if self.ended.is_some() && !may_follow_the_end(&fact.kind) {
            return Err("the session has ended");
        }
        match &fact.kind {
            FactKind::Created(_) => Err("the session is created already"),
            FactKind::Joined { player, ready } => self.fold_joined(player, *ready, at),
            FactKind::Readied { seat, number, .. } => self.fold_readied(*seat, *number, at),
            FactKind::Unreadied { seat } => self.fold_unreadied(*seat, at),
            FactKind::Started { game, opener, .. } => self.fold_started(*game, *opener, at),
            FactKind::Moved { mv, auto } => self.fold_moved(*mv, auto.is_some(), at),
            FactKind::Passed { seat } => self.fold_passed(*seat),
            FactKind::Offered { offer, kind } => self.fold_offered(fact.by.seat(), *offer, *kind),
            FactKind::OfferAccepted { offer, kind, .. } => {
                let open = self.open_offer(*offer)?;
                if open.kind != *kind {
                    return Err("the offer is of another kind");
                }
                self.close_offer(open, None);
                Ok(())
            }
            FactKind::OfferDeclined { offer }
            | FactKind::OfferWithdrawn { offer }
            | FactKind::OfferLapsed { offer } => {
                let open = self.open_offer(*offer)?;
                self.close_offer(open, Some(at));
                Ok(())
            }
            FactKind::GameEnded(result) => self.fold_game_ended(result, at),
            FactKind::Left { seat, .. } => {
                if self.left[*seat] {
                    return Err("the player has left already");
                }
                self.left[*seat] = true;
                Ok(())
            }
            FactKind::SessionEnded { ending, series } => {
                if self.game_on {
                    return Err("a game is on");
                }
                self.ended = Some(Ended {
                    at,
                    ending: *ending,
                    series: *series,
                });
                self.idle = Idle::STOPPED;
                self.countdown = None;
                self.absences
                    .iter_mut()
                    .for_each(|(_, absence)| absence.time = None);
                Ok(())
            }
            FactKind::ClockCompensated(outage) => self.fold_compensated(outage),
            FactKind::AbsenceBegun { seat } => self.fold_absence_begun(*seat, at),
            FactKind::AbsenceEnded { seat } => match self.absences[*seat].time.take() {
                Some(_) => Ok(()),
                None => Err("the player is not absent"),
            },
            FactKind::Rematched { next } => {
                if self.ended.is_none() || self.next.is_some() {
                    return Err("no rematch is possible");
                }
                self.next = Some(*next);
                Ok(())
            }
        }
    }

    fn fold_joined(&mut self, player: &Arc<Player>, ready: bool, at: Instant) -> Folded {
        if self.player(Seat::Two).is_some() {
            return Err("seat 2 is taken");
        }
        if player.id == self.creation.player_one.id {
            return Err("one player on both seats");
        }
        self.joined = Some(Arc::clone(player));
        self.ready[Seat::Two].ready = ready;
        self.weigh_countdown(at);
        Ok(())
    }

    fn fold_readied(&mut self, seat: Seat, number: GuessNumber, at: Instant) -> Folded {
        self.check_getting_ready(seat)?;
        if self.ready[seat].ready {
            return Err("the player is ready already");
        }
        if number.0.is_some_and(|number| number > limits::NUMBER_MAX) {
            return Err("the number is too large");
        }
        let readiness = &mut self.ready[seat];
        readiness.ready = true;
        readiness.number = number;
        self.weigh_countdown(at);
        Ok(())
    }

    fn fold_unreadied(&mut self, seat: Seat, at: Instant) -> Folded {
        self.check_getting_ready(seat)?;
        let readiness = &mut self.ready[seat];
        if !readiness.ready {
            return Err("the player is not ready");
        }
        readiness.ready = false;
        readiness.number = GuessNumber(None);
        readiness.unreadies = readiness.unreadies.saturating_add(1);
        self.weigh_countdown(at);
        Ok(())
    }

    fn check_getting_ready(&self, seat: Seat) -> Folded {
        if self.game_on {
            return Err("a game is on");
        }
        if self.player(seat).is_none() {
            return Err("the seat is open");
        }
        Ok(())
    }

    /// Starts or stops the countdown and the idle time after a change of seats or ready flags (S-1 to S-4).
    pub(crate) fn weigh_countdown(&mut self, at: Instant) {
        let both_seated = self.player(Seat::Two).is_some();
        let waiting_for = match (self.ready[Seat::One].ready, self.ready[Seat::Two].ready) {
            (true, false) => Some(Seat::Two),
            (false, true) => Some(Seat::One),
            _ => None,
        };
        match waiting_for.filter(|_| both_seated) {
            Some(seat) => {
                let time = Interval::new(at, self.settings().ready_time);
                self.countdown = Some(Countdown { seat, time });
                self.idle.suspend(at);
            }
            None => {
                self.countdown = None;
                self.idle.resume(at);
            }
        }
    }

    fn fold_started(&mut self, number: u8, opener: Seat, at: Instant) -> Folded {
        if self.game_on {
            return Err("a game is on");
        }
        if !self.ready.0.iter().all(|readiness| readiness.ready) {
            return Err("not both players are ready");
        }
        if usize::from(number) != self.results.len() + 1 {
            return Err("the game's number does not follow");
        }
        let position = self.settings().game.position();
        let Some(opener_colour) = position.to_act() else {
            return Err("nobody can act in the start position");
        };
        self.game = Some(Game {
            number,
            opener,
            opener_colour,
            started: at,
            position,
            ply: 1,
            moves: Vec::with_capacity(64),
            clock_start: at,
            left: PerSeat::from_fn(|_| self.settings().total_time),
            timeouts: PerSeat::default(),
            taken: Arc::default(),
            touched_by_outage: false,
        });
        self.game_on = true;
        self.countdown = None;
        self.idle = Idle::STOPPED;
        self.ready = PerSeat::default();
        self.offers.all_mut().for_each(|offer| offer.made = 0);
        self.absences
            .iter_mut()
            .for_each(|(_, absence)| absence.begun = 0);
        Ok(())
    }

    fn fold_moved(&mut self, mv: Move, auto: bool, at: Instant) -> Folded {
        let animation = self.settings().animation;
        let game = self
            .game
            .as_mut()
            .filter(|_| self.game_on)
            .ok_or("no game is on")?;
        if mv.is_pass() {
            return Err("a pass is a fact of its own");
        }
        let mover = game.to_act().ok_or("the game is over")?;
        let (position, _) = game.position.play(mv).map_err(|_| "the move is illegal")?;
        // A move made during the animation costs nothing: its clock has not started (S-8).
        let used = at.since(game.clock_start);
        if let Some(left) = &mut game.left[mover] {
            *left = left.minus(used);
        }
        if auto {
            game.timeouts[mover] = game.timeouts[mover].saturating_add(1);
            Arc::make_mut(&mut game.taken).push(Taken {
                ply: game.ply,
                seat: mover,
                deadline: at,
            });
        }
        game.position = position;
        game.moves.push(mv);
        game.ply = game.ply.saturating_add(1);
        game.clock_start = at.after(animation);
        Ok(())
    }

    fn fold_passed(&mut self, seat: Seat) -> Folded {
        let game = self
            .game
            .as_mut()
            .filter(|_| self.game_on)
            .ok_or("no game is on")?;
        if game.to_act() != Some(seat) {
            return Err("another is to act");
        }
        let pass = pass(&game.position);
        let (position, _) = game.position.play(pass).map_err(|_| "the player can move")?;
        // The clock's start stays: a pass adds no animation (S-8).
        game.position = position;
        game.moves.push(pass);
        game.ply = game.ply.saturating_add(1);
        Ok(())
    }

    fn fold_offered(&mut self, by: Option<Seat>, offer: OfferId, kind: OfferKind) -> Folded {
        let seat = by.ok_or("nobody made the offer")?;
        if offer.0 != self.offers.made.saturating_add(1) {
            return Err("the offer's number does not follow");
        }
        if self.offers.state(seat, kind).open.is_some() {
            return Err("an offer of the kind is open");
        }
        if (kind == OfferKind::Rematch) != self.ended.is_some() {
            return Err("an offer of the kind is not possible here");
        }
        self.offers.made = offer.0;
        let state = self.offers.state_mut(seat, kind);
        state.open = Some(offer);
        state.made = state.made.saturating_add(1);
        Ok(())
    }

    fn open_offer(&self, offer: OfferId) -> Result<OpenOffer, &'static str> {
        self.offers.find(offer).ok_or("the offer is not open")
    }

    /// Closes an offer; from `wait` on its maker waits before the next of the kind (S-14).
    fn close_offer(&mut self, open: OpenOffer, wait: Option<Instant>) {
        let state = self.offers.state_mut(open.seat, open.kind);
        state.open = None;
        state.wait = wait
            .map(|at| Interval::new(at, limits::OFFER_WAIT))
            .or(state.wait);
    }

    fn fold_game_ended(&mut self, result: &GameResult, at: Instant) -> Folded {
        let idle = Idle::started(at, self.settings().idle_time);
        let game = self
            .game
            .as_mut()
            .filter(|_| self.game_on)
            .ok_or("no game is on")?;
        if result.game != game.number {
            return Err("the result is of another game");
        }
        let by_clock = matches!(
            result.reason,
            GameEndReason::TotalTime | GameEndReason::TimeoutCount
        );
        if by_clock && let Some(seat) = game.to_act() {
            if let Some(left) = &mut game.left[seat] {
                *left = left.minus(at.since(game.clock_start));
            }
            if result.reason == GameEndReason::TimeoutCount {
                game.timeouts[seat] = game.timeouts[seat].saturating_add(1);
            }
            Arc::make_mut(&mut game.taken).push(Taken {
                ply: game.ply,
                seat,
                deadline: at,
            });
        }
        self.game_on = false;
        self.idle = idle;
        self.ready = PerSeat::from_fn(|_| Readiness::default());
        Arc::make_mut(&mut self.results).push(*result);
        Ok(())
    }

    fn fold_compensated(&mut self, outage: &Outage) -> Folded {
        if outage.id <= self.outages_seen {
            return Err("the outage was taken into account already");
        }
        if outage.to <= outage.from {
            return Err("the outage is empty");
        }
        self.outages_seen = outage.id;
        self.idle.compensate(outage);
        if let Some(countdown) = &mut self.countdown {
            countdown.time.compensate(outage);
        }
        for (_, absence) in self.absences.iter_mut() {
            if let Some(time) = &mut absence.time {
                time.compensate(outage);
            }
        }
        for offer in self.offers.all_mut() {
            if let Some(wait) = &mut offer.wait {
                wait.compensate(outage);
            }
        }
        if let Some(game) = self.game.as_mut().filter(|_| self.game_on) {
            // Both clocks of the player to act share their start, and none of them has run out: it would have fired.
            game.clock_start = compensated(game.clock_start, outage);
            game.touched_by_outage = true;
        }
        Ok(())
    }

    fn fold_absence_begun(&mut self, seat: Seat, at: Instant) -> Folded {
        let limit = self.settings().absence.ok_or("absence is not limited here")?;
        if self.player(seat).is_none() {
            return Err("the seat is open");
        }
        let absence = &mut self.absences[seat];
        if absence.time.is_some() {
            return Err("the player is absent already");
        }
        absence.time = Some(Interval::new(at, limit));
        absence.begun = absence.begun.saturating_add(1);
        Ok(())
    }
}

/// What may happen after a session's end: a rematch, and what belongs to it (S-5).
fn may_follow_the_end(kind: &FactKind) -> bool {
    matches!(
        kind,
        FactKind::Offered { .. }
            | FactKind::OfferAccepted { .. }
            | FactKind::OfferDeclined { .. }
            | FactKind::OfferWithdrawn { .. }
            | FactKind::OfferLapsed { .. }
            | FactKind::Rematched { .. }
            | FactKind::Left { .. }
    )
}

/// The pass of a game.
fn pass(position: &Position) -> Move {
    match position {
        Position::Reversi(_) => Move::Reversi(reversi::Move::Pass),
    }
}
