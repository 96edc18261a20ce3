//! What one watcher of a session saw, and whether it can be true. Pure: it is fed with events and asked for
//! contradictions.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use prost::Message as _;
use tablemate_client::v1::event::Kind;
use tablemate_client::v1::{self, GameEndReason, Outcome};
use tablemate_engine::reversi::{Move, Position};

use crate::commands::load::stats::{Broken, Violation};

/// One watcher's account of a session.
#[derive(Debug, Default)]
pub struct Witness {
    /// Whether no digests are kept, because nobody will compare.
    alone: bool,
    /// The board, followed by the rules.
    position: Option<Position>,
    /// The turn to be made, when a game is on.
    turn: Option<v1::Turn>,
    /// A digest of each event by its sequence.
    digests: BTreeMap<u64, u64>,
    /// The sequence of the snapshot that the account begins with.
    base: Option<u64>,
    last: u64,
    /// Moves of players in the log, by sequence: the ply and the move.
    moved: BTreeMap<u64, (u32, String)>,
    /// Own moves that were acknowledged, by sequence.
    acknowledged: BTreeMap<u64, (u32, String)>,
    results: BTreeMap<u32, v1::GameResult>,
    ending: Option<v1::SessionEnding>,
    violations: Vec<Violation>,
}

/// A watcher's account at the end of a session, to be compared with another's.
#[derive(Debug, Default)]
pub struct Testimony {
    digests: BTreeMap<u64, u64>,
    /// The results of its games.
    pub results: BTreeMap<u32, v1::GameResult>,
    /// How it ended.
    pub ending: Option<v1::SessionEnding>,
    /// The last sequence.
    pub last: u64,
}

impl Witness {
    /// A witness whose account will not be compared with another's.
    pub fn alone() -> Witness {
        Witness {
            alone: true,
            ..Witness::default()
        }
    }

    /// Begins, or begins anew, with a snapshot.
    pub fn snapshot(&mut self, session: &v1::Session) {
        self.base = Some(session.sequence);
        self.last = session.sequence;
        // What came before may belong to a log that was lost: only what is acknowledged still counts.
        self.digests.clear();
        self.moved.clear();
        self.results.clear();
        self.ending = None;
        let lost = self.acknowledged.split_off(&session.sequence.saturating_add(1));
        for (sequence, (ply, mv)) in lost {
            self.violations.push(Broken::LostCommand.because(format!(
                "move {mv} of ply {ply} was acknowledged as event {sequence}, the session has {} events only",
                session.sequence
            )));
        }
        self.turn = session.turn;
        self.position = if session.position.is_empty() {
            None
        } else {
            self.parse(&session.position)
        };
        for result in &session.results {
            self.results.insert(result.game_number, *result);
        }
        if session.ending() != v1::SessionEnding::Unspecified {
            self.ending = Some(session.ending());
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, mut event: v1::Event) {
        let sequence = event.sequence;
        if self.last != 0 && sequence != self.last.saturating_add(1) {
            self.violations
                .push(Broken::StreamGap.because(format!("event {sequence} came after event {}", self.last)));
        }
        self.last = sequence;
        if !self.alone {
            // Words are for one player; all else must be the same for both.
            event.notices.clear();
            let mut hasher = DefaultHasher::new();
            event.encode_to_vec().hash(&mut hasher);
            self.digests.insert(sequence, hasher.finish());
        }
        let automatic = event.actor.is_some_and(|actor| actor.automatic);
        match event.kind {
            Some(Kind::Started(started)) => {
                self.position = self.parse(&started.position);
                self.turn = started.next;
                self.check_counts(sequence, started.counts);
            }
            Some(Kind::Moved(moved)) => {
                self.make(sequence, &moved.r#move, moved.colour());
                self.check_counts(sequence, moved.counts);
                self.turn = moved.next;
                if !automatic {
                    self.moved.insert(sequence, (moved.ply, moved.r#move));
                }
            }
            Some(Kind::Passed(passed)) => {
                self.make(sequence, Move::Pass.as_str(), passed.colour());
                self.turn = passed.next;
            }
            Some(Kind::GameEnded(ended)) => {
                self.turn = None;
                self.game_ended(sequence, ended.result.unwrap_or_default());
            }
            Some(Kind::ClockCompensated(compensated)) if compensated.next.is_some() => {
                self.turn = compensated.next;
            }
            Some(Kind::SessionEnded(ended)) => {
                let before = self.ending.replace(ended.ending());
                if before.is_some() {
                    self.violations.push(
                        Broken::DoubledResult.because(format!("event {sequence} ends the session again")),
                    );
                }
            }
            _ => {}
        }
    }

    /// Takes the receipt of an own move.
    pub fn acknowledged(&mut self, sequence: u64, ply: u32, mv: String) {
        self.acknowledged.insert(sequence, (ply, mv));
    }

    /// The turn to be made by a player, when a game is on. A pass that is forced, or the end, is told by the next event:
    /// nobody has to act before that.
    pub fn turn(&self) -> Option<&v1::Turn> {
        let acts = self
            .position
            .is_none_or(|position| !position.must_pass() && !position.is_over());
        self.turn.as_ref().filter(|turn| turn.seat != 0 && acts)
    }

    /// The board.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// Whether the session has ended.
    pub fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    /// The account at the end, and all that cannot be true in it.
    pub fn close(mut self) -> (Testimony, Vec<Violation>) {
        for (sequence, (ply, mv)) in &self.acknowledged {
            // What lies before the first snapshot was not seen.
            if self.base.is_some_and(|base| *sequence <= base) {
                continue;
            }
            match self.moved.get(sequence) {
                Some(moved) if moved == &(*ply, mv.clone()) => {}
                Some((other_ply, other)) => self.violations.push(Broken::LostCommand.because(format!(
                    "move {mv} of ply {ply} was acknowledged as event {sequence}, which is {other} of ply {other_ply}"
                ))),
                None => self.violations.push(Broken::LostCommand.because(format!(
                    "move {mv} of ply {ply} was acknowledged as event {sequence}, which is not among the events"
                ))),
            }
        }
        if self.ending == Some(v1::SessionEnding::SeriesComplete) && self.results.is_empty() {
            self.violations
                .push(Broken::Contradiction.because("the session is complete without a result"));
        }
        let testimony = Testimony {
            digests: self.digests,
            results: self.results,
            ending: self.ending,
            last: self.last,
        };
        (testimony, self.violations)
    }

    fn contradiction(&mut self, text: String) {
        self.violations.push(Broken::Contradiction.because(text));
    }

    fn parse(&mut self, text: &str) -> Option<Position> {
        text.parse()
            .map_err(|error| self.contradiction(format!("position {text:?}: {error}")))
            .ok()
    }

    fn make(&mut self, sequence: u64, mv: &str, colour: v1::Colour) {
        let Some(position) = self.position else { return };
        let to_act = position.to_act().map(|colour| match colour {
            tablemate_engine::Colour::Black => v1::Colour::Black,
            tablemate_engine::Colour::White => v1::Colour::White,
        });
        if to_act != Some(colour) {
            self.contradiction(format!("event {sequence}: {colour:?} acted out of turn"));
        }
        let played = mv
            .parse::<Move>()
            .map_err(|error| error.to_string())
            .and_then(|mv| position.play(mv).map_err(|error| error.to_string()));
        match played {
            Ok((next, _)) => self.position = Some(next),
            Err(error) => self.contradiction(format!("event {sequence}: {mv}: {error}")),
        }
    }

    fn check_counts(&mut self, sequence: u64, counts: Option<v1::DiscCounts>) {
        let (Some(position), Some(counts)) = (self.position, counts) else {
            return;
        };
        let [black, white] = position.counts().map(u32::from);
        if (counts.black, counts.white) != (black, white) {
            self.contradiction(format!(
                "event {sequence} counts {}–{} discs, the board has {black}–{white}",
                counts.black, counts.white
            ));
        }
    }

    fn game_ended(&mut self, sequence: u64, result: v1::GameResult) {
        self.check_counts(sequence, result.counts);
        let on_board = matches!(
            result.reason(),
            GameEndReason::NoMoves | GameEndReason::WipeOut | GameEndReason::BoardFull
        );
        if let Some(position) = self.position {
            if position.is_over() != on_board {
                self.contradiction(format!(
                    "event {sequence} ends the game with {:?}, but the board says otherwise",
                    result.reason()
                ));
            }
            let expected = position.outcome().map(|outcome| match outcome.winner {
                None => Outcome::Draw,
                Some(winner) => {
                    let seat_1 = match result.seat_1_colour() {
                        v1::Colour::White => tablemate_engine::Colour::White,
                        _ => tablemate_engine::Colour::Black,
                    };
                    if winner == seat_1 {
                        Outcome::Seat1Wins
                    } else {
                        Outcome::Seat2Wins
                    }
                }
            });
            if on_board && expected != Some(result.outcome()) {
                self.contradiction(format!(
                    "event {sequence} says {:?}, the board {expected:?}",
                    result.outcome()
                ));
            }
        }
        let number = result.game_number;
        if self.results.insert(number, result).is_some() {
            self.violations.push(
                Broken::DoubledResult.because(format!("event {sequence} is another result of game {number}")),
            );
        }
    }
}

impl Testimony {
    /// What this watcher and another one of the same session were told differently.
    pub fn contradictions(&self, other: &Testimony) -> Vec<Violation> {
        let mut found = Vec::new();
        for (sequence, digest) in &self.digests {
            if other.digests.get(sequence).is_some_and(|other| other != digest) {
                found.push(Broken::Contradiction.because(format!(
                    "event {sequence} was told differently to the two players"
                )));
            }
        }
        if self.results != other.results {
            found.push(Broken::Contradiction.because("the two players were told different results"));
        }
        if self.ending != other.ending {
            found.push(Broken::Contradiction.because(format!(
                "the session ended {:?} for one and {:?} for the other",
                self.ending, other.ending
            )));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "---------------------------OX------XO--------------------------- X";

    fn event(sequence: u64, kind: Kind) -> v1::Event {
        v1::Event {
            sequence,
            game_number: 1,
            kind: Some(kind),
            ..Default::default()
        }
    }

    fn started(sequence: u64) -> v1::Event {
        let kind = v1::GameStarted {
            position: START.to_owned(),
            seat_1_colour: v1::Colour::Black.into(),
            ..Default::default()
        };
        event(sequence, Kind::Started(kind))
    }

    fn moved(sequence: u64, ply: u32, mv: &str, colour: v1::Colour) -> v1::Event {
        let kind = v1::MoveMade {
            ply,
            r#move: mv.to_owned(),
            colour: colour.into(),
            ..Default::default()
        };
        event(sequence, Kind::Moved(kind))
    }

    fn ended(sequence: u64, outcome: Outcome) -> v1::Event {
        let result = v1::GameResult {
            game_number: 1,
            reason: GameEndReason::Resignation.into(),
            outcome: outcome.into(),
            ..Default::default()
        };
        event(sequence, Kind::GameEnded(v1::GameEnded { result: Some(result) }))
    }

    fn account(events: Vec<v1::Event>) -> Witness {
        let mut witness = Witness::default();
        for event in events {
            witness.event(event);
        }
        witness
    }

    fn violations(witness: Witness) -> Vec<Violation> {
        witness.close().1
    }

    fn good() -> Vec<v1::Event> {
        vec![
            started(1),
            moved(2, 1, "d3", v1::Colour::Black),
            moved(3, 2, "c5", v1::Colour::White),
            ended(4, Outcome::Seat1Wins),
        ]
    }

    #[test]
    fn a_true_account_has_no_violation() {
        let mut witness = account(good());
        witness.acknowledged(2, 1, "d3".into());
        assert!(violations(witness).is_empty());
    }

    #[test]
    fn a_gap_is_found_s22() {
        let mut events = good();
        events.remove(1);
        assert!(!violations(account(events)).is_empty());
        let mut events = good();
        events.insert(1, started(1));
        assert!(!violations(account(events)).is_empty());
    }

    #[test]
    fn an_acknowledged_move_that_is_not_in_the_log_is_found() {
        for (sequence, ply, mv) in [(5, 1, "d3"), (2, 3, "d3"), (2, 1, "c4")] {
            let mut witness = account(good());
            witness.acknowledged(sequence, ply, mv.into());
            assert_eq!(violations(witness).len(), 1, "{sequence} {ply} {mv}");
        }
    }

    #[test]
    fn an_acknowledged_move_that_a_resynchronisation_takes_away_is_found() {
        let mut witness = account(good());
        witness.acknowledged(3, 2, "c5".into());
        witness.snapshot(&v1::Session {
            sequence: 2,
            ..Default::default()
        });
        assert_eq!(violations(witness).len(), 1);
    }

    #[test]
    fn a_second_result_is_found_s20() {
        let mut events = good();
        events.push(ended(5, Outcome::Seat1Wins));
        assert_eq!(violations(account(events)).len(), 1);
    }

    #[test]
    fn an_illegal_move_and_a_wrong_turn_are_found() {
        let illegal = vec![started(1), moved(2, 1, "a1", v1::Colour::Black)];
        assert_eq!(violations(account(illegal)).len(), 1);
        let wrong_turn = vec![started(1), moved(2, 1, "d3", v1::Colour::White)];
        assert_eq!(violations(account(wrong_turn)).len(), 1);
    }

    #[test]
    fn two_accounts_must_agree_where_they_overlap() {
        let full = account(good()).close().0;
        let late = account(good().split_off(2)).close().0;
        assert!(full.contradictions(&late).is_empty());

        let mut other = good();
        other[3] = ended(4, Outcome::Seat2Wins);
        let other = account(other).close().0;
        // The event and the result.
        assert_eq!(full.contradictions(&other).len(), 2);
    }

    #[test]
    fn words_are_for_one_player() {
        let mut events = good();
        events[1].notices.push(v1::Notice::default());
        let with_words = account(events).close().0;
        assert!(account(good()).close().0.contradictions(&with_words).is_empty());
    }
}
