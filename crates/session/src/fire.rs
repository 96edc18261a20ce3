//! Firing: what deadlines and outages do to a session, each at its own instant (S-10 to S-12).

use tablemate_engine::policy;

use crate::draft::Draft;
use crate::fact::{Actor, Fact, FactKind, GameEndReason, Outage, Outcome, SessionEnding};
use crate::limits;
use crate::seat::Seat;
use crate::secret::{GuessNumber, Purpose};
use crate::session::Session;
use crate::settings::NotReadyAction;
use crate::time::Instant;

/// What runs out. The order is that of S-10 at one instant (outages come before all of them, a bot's move after the
/// per-move time).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deadline {
    TotalTime,
    MoveTime,
    Absence(Seat),
    AutoReady(Seat),
    Idle,
    /// The time for a rematch, while one is offered.
    Rematch,
}

impl Session {
    /// The next instant at which something happens by itself; it has passed only after that (S-10). `None`: nothing does.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.first_deadline().map(|(at, _)| at)
    }

    /// Fires what has passed at `now`, in order, each at its own instant (S-11), outages of the shard included (S-12);
    /// at most [`limits::DEADLINES_PER_CALL_MAX`] deadlines. Returns the facts, already taken in, and whether more has
    /// passed: then commit and call again.
    ///
    /// `outages` are those of the shard in order of their ids; ones that the session has seen are skipped.
    pub fn advance(&mut self, now: Instant, outages: &[Outage]) -> (Vec<Fact>, bool) {
        let mut fired = Vec::new();
        let mut fires = 0;
        while let Some(due) = self.first_due(now, outages) {
            if fires == limits::DEADLINES_PER_CALL_MAX {
                return (fired, true);
            }
            fires += 1;
            let facts = match due {
                Due::Outage(outage) => {
                    // Nobody could write inside the outage, so no fact is later than its end.
                    let at = outage.to.max(self.last);
                    let mut draft = Draft::new(self, at);
                    draft.record(Actor::Server, FactKind::ClockCompensated(outage));
                    draft.finish()
                }
                Due::Deadline(at, deadline) => self.fire(at.max(self.last), deadline),
            };
            if facts.is_empty() {
                // Only after a damaged log: what cannot be fired must not be tried for ever.
                break;
            }
            fired.extend(facts);
        }
        (fired, false)
    }

    fn first_due(&self, now: Instant, outages: &[Outage]) -> Option<Due> {
        let deadline = self.first_deadline();
        let outage = outages
            .iter()
            .find(|outage| outage.id > self.outages_seen && outage.from < outage.to)
            .filter(|_| self.ended.is_none());
        match (deadline, outage) {
            // What ran out before the outage began had its time (S-12).
            (Some((at, deadline)), Some(outage)) if at <= outage.from => Some(Due::Deadline(at, deadline)),
            (_, Some(outage)) => Some(Due::Outage(*outage)),
            (Some((at, deadline)), None) if now > at => Some(Due::Deadline(at, deadline)),
            _ => None,
        }
    }

    fn first_deadline(&self) -> Option<(Instant, Deadline)> {
        if self.ended.is_some() {
            let until = self.rematch_until()?;
            let offered = !self.offers.open().is_empty();
            return offered.then_some((until, Deadline::Rematch));
        }
        let game = self.game_on();
        let total_time = game
            .and_then(|game| game.total_interval())
            .map(|total| (total.deadline(), Deadline::TotalTime));
        let move_time = game.map(|game| {
            let deadline = game.move_interval(self.settings()).deadline();
            (deadline, Deadline::MoveTime)
        });
        let absence = |seat| {
            self.absences[seat]
                .time
                .map(|time| (time.deadline(), Deadline::Absence(seat)))
        };
        let countdown = self
            .countdown
            .map(|countdown| (countdown.time.deadline(), Deadline::AutoReady(countdown.seat)));
        let idle = self.idle.deadline().map(|at| (at, Deadline::Idle));
        [
            total_time,
            move_time,
            absence(Seat::One),
            absence(Seat::Two),
            countdown,
            idle,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn fire(&mut self, at: Instant, deadline: Deadline) -> Vec<Fact> {
        let mut draft = Draft::new(self, at);
        match deadline {
            Deadline::TotalTime => draft.lose_by_clock(GameEndReason::TotalTime),
            Deadline::MoveTime => draft.time_out(),
            Deadline::Absence(seat) => draft.leave(Actor::Server, seat, true),
            Deadline::AutoReady(seat) => match draft.session.settings().not_ready {
                NotReadyAction::AutoReady => {
                    let readied = FactKind::Readied {
                        seat,
                        number: GuessNumber(None),
                        auto: true,
                    };
                    draft.record(Actor::Server, readied);
                    draft.start_if_ready();
                }
                NotReadyAction::Cancel => draft.end_session(Actor::Server, SessionEnding::Cancelled),
            },
            Deadline::Idle => draft.end_session(Actor::Server, SessionEnding::Idle),
            Deadline::Rematch => draft.lapse_offers(None),
        }
        draft.finish()
    }
}

enum Due {
    Deadline(Instant, Deadline),
    Outage(Outage),
}

impl Draft<'_> {
    /// The per-move time of the player to act has run out (S-9).
    fn time_out(&mut self) {
        let Some((game, seat)) = self
            .session
            .game_on()
            .and_then(|game| Some((game, game.to_act()?)))
        else {
            return;
        };
        let rule = &self.session.settings().timeout;
        let loses = rule.loses_at().is_some_and(|n| game.timeouts(seat) + 1 >= n);
        let chosen = rule.policy().filter(|_| !loses).and_then(|policy| {
            let sequence = self.session.sequence + 1;
            let secret = &self.session.creation.secret;
            let seed = secret.draw(Purpose::AutoMove, game.number, sequence);
            policy::choose(&game.position, policy, seed).map(|mv| (mv, policy))
        });
        match chosen {
            Some((mv, policy)) => self.make_move(Actor::Server, seat, mv, Some(policy)),
            None => self.lose_by_clock(GameEndReason::TimeoutCount),
        }
    }

    fn lose_by_clock(&mut self, reason: GameEndReason) {
        if let Some(loser) = self.session.game_on().and_then(|game| game.to_act()) {
            self.end_game(Actor::Server, reason, Outcome::Wins(loser.other()));
            self.after_game();
        }
    }
}
