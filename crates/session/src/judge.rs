//! Judging: what a command makes of a session, or why it is refused.

use tablemate_engine::game::Move;

use crate::command::{Applied, Command, Outcome, Request};
use crate::draft::Draft;
use crate::fact::{
    self, Actor, Creation, Fact, FactKind, GameEndReason, OfferId, OfferKind, Outage, SessionEnding,
};
use crate::ids::SessionId;
use crate::limits;
use crate::player::Player;
use crate::reason::Reason;
use crate::requests::Digest;
use crate::seat::Seat;
use crate::secret::{GuessNumber, RequestHash};
use crate::session::{CreateError, OpenOffer, Phase, Session};
use crate::settings::OpenerRule;
use crate::time::Instant;

use std::sync::Arc;

type Judged = Result<(), Reason>;

impl Session {
    /// Creates a session at `at`. The facts are its log so far: `Created`, and the start of the first game when both
    /// players are ready (S-1).
    ///
    /// # Errors
    /// [`CreateError`] with all settings out of bounds, one player on both seats, or an open seat that is ready.
    pub fn create(creation: Creation, at: Instant) -> Result<(Self, Vec<Fact>), CreateError> {
        let (mut session, mut created) = Self::created(creation, at)?;
        let mut draft = Draft::new(&mut session, at);
        draft.start_if_ready();
        let started = draft.finish();
        created.count = created
            .count
            .saturating_add(u8::try_from(started.len()).unwrap_or(u8::MAX));
        let mut log = vec![created];
        log.extend(started);
        Ok((session, log))
    }

    /// The log that makes a session id unusable: created and ended `ABORTED` in one commit, so that a slow creator
    /// meets it.
    ///
    /// # Errors
    /// As [`Session::create`].
    pub fn tombstone(creation: Creation, at: Instant) -> Result<(Self, Vec<Fact>), CreateError> {
        let (mut session, mut created) = Self::created(creation, at)?;
        let mut draft = Draft::new(&mut session, at);
        draft.end_session(Actor::Server, SessionEnding::Aborted);
        let ended = draft.finish();
        created.count = 2;
        let mut log = vec![created];
        log.extend(ended);
        Ok((session, log))
    }

    fn created(creation: Creation, at: Instant) -> Result<(Self, Fact), CreateError> {
        creation.settings.validate().map_err(CreateError::Settings)?;
        match &creation.player_two {
            Some(player) if player.id == creation.player_one.id => return Err(CreateError::SamePlayer),
            None if creation.ready[Seat::Two] => return Err(CreateError::OpenSeatReady),
            _ => {}
        }
        let creation = Arc::new(creation);
        let created = Fact {
            at,
            by: Actor::Server,
            request: None,
            count: 1,
            kind: FactKind::Created(Arc::clone(&creation)),
        };
        Ok((Self::of_creation(creation, at), created))
    }

    /// Judges a command at `now`, in this order: a known request id is answered by what it did (S-25); deadlines that
    /// have passed fire (S-11); the expected sequence and the ply are compared (S-26); the command is judged. What
    /// fired and what was accepted is in the session afterwards, also when the command was refused: commit it, or drop
    /// this copy of the session.
    ///
    /// A `now` before the session's last instant counts as that instant (S-7). For `outages` see [`Session::advance`].
    pub fn apply(&mut self, request: &Request, now: Instant, outages: &[Outage]) -> Applied {
        let hash = self.hash_of(request);
        if let Some(known) = hash.and_then(|hash| self.requests.find(hash)) {
            let outcome = if known.digest == self.digest_of_command(&request.command) {
                Outcome::Replayed {
                    first: known.first,
                    last: known.first + u64::from(known.count.max(1)) - 1,
                }
            } else {
                Outcome::Rejected(Reason::RequestIdReused)
            };
            return Applied {
                fired: Vec::new(),
                outcome,
                at: now.max(self.last),
                judged_before: None,
            };
        }
        let (fired, more_due) = self.advance(now, outages);
        if more_due {
            return Applied {
                fired,
                outcome: Outcome::MoreDue,
                at: now.max(self.last),
                judged_before: None,
            };
        }
        let at = now.max(self.last);
        let judged_before = self.next_deadline();
        let mut draft = Draft::of_request(self, at, hash);
        let outcome = match draft.judge(request) {
            Ok(()) => Outcome::Accepted(draft.finish_command()),
            Err(reason) => Outcome::Rejected(reason),
        };
        Applied {
            fired,
            outcome,
            at,
            judged_before,
        }
    }

    /// The hash of a request's id, for those that can have been accepted: a join by another than the player of seat 2
    /// is no repetition, whatever its id.
    fn hash_of(&self, request: &Request) -> Option<RequestHash> {
        if let Command::Join { player, .. } = &request.command
            && self
                .player(Seat::Two)
                .is_some_and(|seated| seated.id != player.id)
        {
            return None;
        }
        let id = request.id.as_ref()?;
        Some(self.creation.secret.request_hash(request.by.seat()?, id))
    }

    /// What stands for a command when its request id comes again.
    fn digest_of_command(&self, command: &Command) -> Digest {
        match command {
            Command::Join { player, ready, .. } => self.digest_join(player, *ready),
            Command::SetReady { ready, number } => {
                Digest::new(SET_READY, u32::from(*ready), number_code(*number))
            }
            Command::Play { ply, mv } => {
                let kind = self.settings().game.kind();
                let code = Move::parse(kind, mv).map_or(NO_MOVE, |mv| mv.code());
                Digest::new(PLAY, *ply, code)
            }
            Command::Resign => Digest::new(RESIGN, 0, 0),
            Command::MakeOffer { kind, .. } => Digest::new(MAKE_OFFER, kind_code(*kind), 0),
            Command::AnswerOffer { offer, accept, .. } => {
                Digest::new(ANSWER_OFFER, offer.0, u32::from(*accept))
            }
            Command::WithdrawOffer { offer } => Digest::new(WITHDRAW_OFFER, offer.0, 0),
            Command::Leave => Digest::new(LEAVE, 0, 0),
            Command::Absent { .. } | Command::Present { .. } | Command::CloseRematch | Command::Abort => {
                Digest::new(OTHER, 0, 0)
            }
        }
    }

    /// The same for the command that made this fact as its first one. Asked before the fact is taken in.
    pub(crate) fn digest_of_fact(&self, fact: &Fact) -> Digest {
        match &fact.kind {
            FactKind::Joined { player, ready } => self.digest_join(player, *ready),
            FactKind::Readied { number, .. } => Digest::new(SET_READY, 1, number_code(number.0)),
            FactKind::Unreadied { .. } => Digest::new(SET_READY, 0, 0),
            FactKind::Moved { mv, .. } => {
                let ply = self.game_on().map_or(0, |game| game.ply);
                Digest::new(PLAY, ply, mv.code())
            }
            FactKind::GameEnded(_) => Digest::new(RESIGN, 0, 0),
            FactKind::Offered { kind, .. } => Digest::new(MAKE_OFFER, kind_code(*kind), 0),
            FactKind::OfferAccepted {
                kind, by_offer: true, ..
            } => Digest::new(MAKE_OFFER, kind_code(*kind), 0),
            FactKind::OfferAccepted { offer, .. } => Digest::new(ANSWER_OFFER, offer.0, 1),
            FactKind::OfferDeclined { offer } => Digest::new(ANSWER_OFFER, offer.0, 0),
            FactKind::OfferWithdrawn { offer } => Digest::new(WITHDRAW_OFFER, offer.0, 0),
            FactKind::Left { .. } => Digest::new(LEAVE, 0, 0),
            _ => Digest::new(OTHER, 0, 0),
        }
    }

    fn digest_join(&self, player: &Player, ready: bool) -> Digest {
        let hash = self.creation.secret.digest_join(&player.id, ready);
        Digest::of_hash(JOIN, hash)
    }

    fn stale(&self) -> Reason {
        Reason::Stale {
            sequence: self.sequence,
            ply: self.game_on().map_or(0, |game| game.ply),
        }
    }

    /// Compares the expected sequence with the last change of what the command depends on (S-26).
    fn check_expected(&self, expected: Option<u64>, changed: u64) -> Judged {
        match expected {
            Some(expected) if expected < changed || expected > self.sequence => Err(self.stale()),
            _ => Ok(()),
        }
    }
}

// Kinds of commands in their digests.
const JOIN: u8 = 1;
const SET_READY: u8 = 2;
const PLAY: u8 = 3;
const RESIGN: u8 = 4;
const MAKE_OFFER: u8 = 5;
const ANSWER_OFFER: u8 = 6;
const WITHDRAW_OFFER: u8 = 7;
const LEAVE: u8 = 8;
const OTHER: u8 = 9;

/// What stands for a text that is no move: no move has this code.
const NO_MOVE: u32 = u32::MAX;

const fn kind_code(kind: OfferKind) -> u32 {
    match kind {
        OfferKind::Exit => 1,
        OfferKind::Draw => 2,
        OfferKind::Rematch => 3,
    }
}

fn number_code(number: Option<u8>) -> u32 {
    number.map_or(0, |number| u32::from(number) + 1)
}

impl Draft<'_> {
    /// Judges a command and records what it makes. Records nothing when it refuses.
    fn judge(&mut self, request: &Request) -> Judged {
        let (by, command) = (request.by, &request.command);
        match command {
            Command::Play { ply, mv } => {
                let seat = self.seated(by)?;
                return self.judge_play(by, seat, *ply, mv, request.expected_sequence);
            }
            // An offer that changed is gone: the answer says so itself.
            Command::AnswerOffer { .. } | Command::WithdrawOffer { .. } => {
                self.session.check_expected(request.expected_sequence, 0)?;
            }
            _ => {
                let changed = self.session.phase_changed;
                self.session.check_expected(request.expected_sequence, changed)?;
            }
        }
        match command {
            Command::Play { .. } => Ok(()),
            Command::Join {
                player,
                ready,
                invitation,
            } => {
                if by.seat() != Some(Seat::Two) {
                    return Err(Reason::NotSeated);
                }
                self.check_join(player)?;
                if self.session.creation.invitation != Some(*invitation) {
                    return Err(Reason::BadInvitation);
                }
                let joined = FactKind::Joined {
                    player: Arc::new(player.clone()),
                    ready: *ready,
                };
                self.record(by, joined);
                self.start_if_ready();
                Ok(())
            }
            Command::SetReady { ready, number } => {
                let seat = self.seated(by)?;
                self.judge_ready(by, seat, *ready, *number)
            }
            Command::Resign => {
                let seat = self.seated(by)?;
                self.judge_resign(by, seat)
            }
            Command::MakeOffer { kind, next } => {
                let seat = self.seated(by)?;
                self.judge_offer(by, seat, *kind, *next)
            }
            Command::AnswerOffer { offer, accept, next } => {
                let seat = self.seated(by)?;
                let open = self.open_offer(*offer, seat.other())?;
                if *accept {
                    return self.accept(by, open, false, *next);
                }
                self.record(by, FactKind::OfferDeclined { offer: open.id });
                Ok(())
            }
            Command::WithdrawOffer { offer } => {
                let seat = self.seated(by)?;
                let open = self.open_offer(*offer, seat)?;
                self.record(by, FactKind::OfferWithdrawn { offer: open.id });
                Ok(())
            }
            Command::Leave => {
                let seat = self.seated(by)?;
                if self.session.left[seat] {
                    return Err(Reason::NoChange);
                }
                if self.session.phase() == Phase::Ended
                    && self.session.rematch_until().is_none_or(|until| self.at > until)
                {
                    return Err(Reason::SessionEnded);
                }
                self.leave(by, seat, false);
                Ok(())
            }
            Command::Absent { seat } => self.judge_absent(by, *seat),
            Command::Present { seat } => {
                if by != Actor::Server {
                    return Err(Reason::NotSeated);
                }
                if self.session.absences[*seat].time.is_none() {
                    return Err(Reason::NoChange);
                }
                self.record(by, FactKind::AbsenceEnded { seat: *seat });
                Ok(())
            }
            Command::CloseRematch => {
                if by != Actor::Server {
                    return Err(Reason::NotSeated);
                }
                if self.session.phase() != Phase::Ended || self.session.offers.open().is_empty() {
                    return Err(Reason::NoChange);
                }
                self.lapse_offers(None);
                Ok(())
            }
            Command::Abort => {
                if by.seat().is_some() {
                    return Err(Reason::NotSeated);
                }
                if self.session.phase() == Phase::Ended {
                    return Err(Reason::SessionEnded);
                }
                if self.session.game_on {
                    self.end_game(by, GameEndReason::Aborted, fact::Outcome::NotSettled);
                }
                self.end_session(by, SessionEnding::Aborted);
                Ok(())
            }
        }
    }

    /// The seat of a player's command.
    fn seated(&self, by: Actor) -> Result<Seat, Reason> {
        by.seat()
            .filter(|seat| self.session.player(*seat).is_some())
            .ok_or(Reason::NotSeated)
    }

    fn check_join(&self, player: &Player) -> Judged {
        if player.id == self.session.creation.player_one.id {
            return Err(Reason::SamePlayer);
        }
        match self.session.player(Seat::Two) {
            Some(seated) if seated.id == player.id => Err(Reason::NoChange),
            Some(_) => Err(Reason::SeatTaken),
            None if self.session.phase() == Phase::Ended => Err(Reason::SessionEnded),
            None => Ok(()),
        }
    }

    fn judge_play(&mut self, by: Actor, seat: Seat, ply: u32, text: &str, expected: Option<u64>) -> Judged {
        let taken = self.session.game().and_then(|game| game.taken(ply, seat));
        let too_late = taken.map(|deadline| Reason::MoveTooLate {
            deadline,
            now: self.at,
        });
        let Some(game) = self.session.game_on() else {
            return Err(too_late.unwrap_or(match self.session.phase() {
                Phase::Ended => Reason::SessionEnded,
                _ => Reason::GameNotOn,
            }));
        };
        if ply != game.ply {
            return Err(too_late.unwrap_or_else(|| self.session.stale()));
        }
        self.session.check_expected(expected, self.session.turn_changed)?;
        if game.to_act() != Some(seat) {
            return Err(Reason::NotYourTurn);
        }
        let illegal = |why| Reason::IllegalMove {
            mv: text.chars().filter(|c| !c.is_control()).take(16).collect(),
            why,
        };
        let mv = game
            .position
            .parse_move(text)
            .map_err(|error| illegal((&error).into()))?;
        game.position.play(mv).map_err(|error| illegal((&error).into()))?;
        self.make_move(by, seat, mv, None);
        Ok(())
    }

    fn judge_ready(&mut self, by: Actor, seat: Seat, ready: bool, number: Option<u8>) -> Judged {
        match self.session.phase() {
            Phase::Ended => return Err(Reason::SessionEnded),
            Phase::Playing => return Err(Reason::GameOn),
            Phase::Open | Phase::Waiting => {}
        }
        if let Some(number) = number {
            if number > limits::NUMBER_MAX {
                return Err(Reason::NumberOutOfRange { number });
            }
            let guessing = self.session.settings().opener_rule() == OpenerRule::Guess
                && self.session.game.is_none()
                && self.session.creation.previous.is_none();
            if !ready || !guessing {
                return Err(Reason::NumberNotAllowed);
            }
        }
        let now = self.session.ready[seat];
        match (now.ready, ready) {
            (true, true) if number.is_some() && number != now.number.0 => Err(Reason::AlreadyReady),
            (true, true) | (false, false) => Err(Reason::NoChange),
            (false, true) => {
                let readied = FactKind::Readied {
                    seat,
                    number: GuessNumber(number),
                    auto: false,
                };
                self.record(by, readied);
                self.start_if_ready();
                Ok(())
            }
            (true, false) if now.unreadies >= limits::UNREADIES_MAX => Err(Reason::ReadyLimit),
            (true, false) => {
                self.record(by, FactKind::Unreadied { seat });
                Ok(())
            }
        }
    }

    fn check_game_on(&self) -> Judged {
        match self.session.phase() {
            Phase::Playing => Ok(()),
            Phase::Ended => Err(Reason::SessionEnded),
            Phase::Open | Phase::Waiting => Err(Reason::GameNotOn),
        }
    }

    fn judge_resign(&mut self, by: Actor, seat: Seat) -> Judged {
        self.check_game_on()?;
        if let Some(allowed_from) = self.session.resign_allowed_from()
            && self.at < allowed_from
        {
            return Err(Reason::ResignTooEarly { allowed_from });
        }
        self.end_game(by, GameEndReason::Resignation, fact::Outcome::Wins(seat.other()));
        self.after_game();
        Ok(())
    }

    fn judge_offer(&mut self, by: Actor, seat: Seat, kind: OfferKind, next: Option<SessionId>) -> Judged {
        match kind {
            OfferKind::Exit => self.check_game_on()?,
            OfferKind::Draw if !self.session.settings().game.allows_draw_offers() => {
                return Err(Reason::OfferNotAllowed { kind });
            }
            OfferKind::Draw => self.check_game_on()?,
            OfferKind::Rematch => self.check_rematch()?,
        }
        let opposite = self.session.offers.state(seat.other(), kind).open;
        if let Some(id) = opposite {
            let open = OpenOffer {
                id,
                seat: seat.other(),
                kind,
            };
            return self.accept(by, open, true, next);
        }
        let state = self.session.offers.state(seat, kind);
        if state.open.is_some() {
            return Err(Reason::NoChange);
        }
        if state.made >= limits::OFFERS_MAX {
            return Err(Reason::OfferLimit);
        }
        if let Some(wait) = state.wait
            && self.at < wait.deadline()
        {
            let allowed_from = wait.deadline();
            return Err(Reason::OfferTooSoon { allowed_from });
        }
        let offer = OfferId(self.session.offers.made.saturating_add(1));
        self.record(by, FactKind::Offered { offer, kind });
        Ok(())
    }

    fn check_rematch(&self) -> Judged {
        let until = self.session.rematch_until();
        if until.is_none_or(|until| self.at > until) {
            let kind = OfferKind::Rematch;
            return Err(Reason::OfferNotAllowed { kind });
        }
        Ok(())
    }

    /// An open offer that `maker` made.
    fn open_offer(&self, offer: OfferId, maker: Seat) -> Result<OpenOffer, Reason> {
        self.session
            .offers
            .find(offer)
            .filter(|open| open.seat == maker)
            .ok_or(Reason::OfferGone)
    }

    fn accept(&mut self, by: Actor, open: OpenOffer, by_offer: bool, next: Option<SessionId>) -> Judged {
        let accepted = FactKind::OfferAccepted {
            offer: open.id,
            kind: open.kind,
            by_offer,
        };
        match open.kind {
            OfferKind::Exit => {
                self.record(by, accepted);
                self.end_game(
                    Actor::Server,
                    GameEndReason::AgreedExit,
                    fact::Outcome::NotSettled,
                );
                self.end_session(Actor::Server, SessionEnding::AgreedExit);
            }
            OfferKind::Draw => {
                self.record(by, accepted);
                self.end_game(Actor::Server, GameEndReason::AgreedDraw, fact::Outcome::Draw);
                self.after_game();
            }
            OfferKind::Rematch => {
                // The service computes the id before it asks; without one there is nothing to agree on.
                let next = next.ok_or(Reason::OfferNotAllowed { kind: open.kind })?;
                self.record(by, accepted);
                self.record(Actor::Server, FactKind::Rematched { next });
                self.lapse_offers(None);
            }
        }
        Ok(())
    }

    fn judge_absent(&mut self, by: Actor, seat: Seat) -> Judged {
        if by != Actor::Server {
            return Err(Reason::NotSeated);
        }
        if self.session.phase() == Phase::Ended {
            return Err(Reason::SessionEnded);
        }
        let absence = self.session.absences[seat];
        if self.session.player(seat).is_none() {
            return Err(Reason::NotSeated);
        }
        if self.session.settings().absence.is_none() || absence.time.is_some() {
            return Err(Reason::NoChange);
        }
        if absence.begun >= limits::ABSENCES_MAX {
            return Err(Reason::NoChange);
        }
        self.record(by, FactKind::AbsenceBegun { seat });
        Ok(())
    }
}
