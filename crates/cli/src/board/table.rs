//! The table that a person looks at: a snapshot and the events after it, folded into what there is to show.

use tablemate_engine::Colour;
use tablemate_engine::reversi::{Square, SquareSet};
use tablemate_protocol::convert::time::{instant, millis};
use tablemate_protocol::v1;
use tablemate_protocol::v1::event::Kind;

use super::grid::Grid;
use super::picture::{Flip, Progress};

/// A seat as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seat {
    /// The player; empty while the seat is open.
    pub player_id: String,
    /// Whether the player is ready for the next game.
    pub ready: bool,
    /// Whether the player is connected.
    pub present: bool,
    /// The colour in the current or last game.
    pub colour: Option<Colour>,
    /// What was left of the total time when the seat's clock last stopped, in ms.
    pub total_left_ms: u64,
    /// The rating when the session was created.
    pub rating: f64,
}

/// A turn as it is shown. Instants are milliseconds of the shard's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The ply to be made, from 1.
    pub ply: u32,
    /// The seat to act.
    pub seat: u32,
    /// The colour to act.
    pub colour: Colour,
    /// When its clock starts (S-8).
    pub clock_start_ms: u64,
    /// When it runs out.
    pub deadline_ms: u64,
}

/// The last move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastMove {
    /// The new disc and what it turned.
    pub flip: Flip,
    /// When it was made.
    pub at_ms: u64,
    /// Until when it is animated (S-8).
    pub shown_ms: u64,
}

/// A session as one viewer sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The session.
    pub session_id: String,
    /// The viewer's seat; `None` is a spectator.
    pub me: Option<u32>,
    /// The phase.
    pub phase: v1::SessionPhase,
    /// The settings, defaults filled in.
    pub settings: v1::SessionSettings,
    /// Seats 1 and 2.
    pub seats: [Seat; 2],
    /// The current or last game, from 1; 0 before the first.
    pub game_number: u32,
    /// The discs; `None` before the first game.
    pub grid: Option<Grid>,
    /// The turn while a game is on.
    pub turn: Option<Turn>,
    /// The last move of the game.
    pub last: Option<LastMove>,
    /// The open offers.
    pub offers: Vec<v1::Offer>,
    /// The results so far.
    pub results: Vec<v1::GameResult>,
    /// How the session ended.
    pub ending: Option<v1::SessionEnding>,
    /// When the ready countdown ends.
    pub countdown_ms: Option<u64>,
    /// When resigning becomes possible.
    pub resign_from_ms: Option<u64>,
    /// The rematch of this session; empty: none.
    pub next_session_id: String,
    /// The last event folded in.
    pub sequence: u64,
}

impl Table {
    /// The table of a snapshot, as `viewer_id` (empty: a spectator) sees it.
    #[must_use]
    pub fn of(session: &v1::Session, viewer_id: &str) -> Table {
        let mut table = Table {
            session_id: session.session_id.clone(),
            phase: session.phase(),
            settings: session.settings.clone().unwrap_or_default(),
            game_number: session.game_number,
            grid: session.position.parse().ok(),
            turn: session.turn.as_ref().and_then(turn),
            offers: session.offers.clone(),
            results: session.results.clone(),
            ending: ending(session.ending()),
            countdown_ms: session.countdown_deadline.as_ref().map(ms),
            resign_from_ms: session.resign_allowed_from.as_ref().map(ms),
            next_session_id: session.next_session_id.clone(),
            sequence: session.sequence,
            ..Table::default()
        };
        for seat in &session.seats {
            if let Some(shown) = table.seat_mut(seat.number) {
                *shown = Seat {
                    player_id: seat.player_id.clone(),
                    ready: seat.ready,
                    present: seat.present,
                    colour: colour(seat.colour()),
                    total_left_ms: seat.total_left_ms,
                    rating: seat.rating,
                };
            }
        }
        if !viewer_id.is_empty() {
            table.me = [1, 2].into_iter().find(|seat| {
                table
                    .seat(*seat)
                    .is_some_and(|shown| shown.player_id == viewer_id)
            });
        }
        // A snapshot names the last move but not what it turned; it is shown without animation.
        table.last = table.last_of_snapshot(session);
        table
    }

    /// The same players and settings before anything is known of what happened.
    #[must_use]
    pub fn without_board(mut self) -> Table {
        self.grid = None;
        self.turn = None;
        self.last = None;
        self.sequence = 0;
        self.results.clear();
        self.offers.clear();
        self.ending = None;
        self.countdown_ms = None;
        self
    }

    fn last_of_snapshot(&self, session: &v1::Session) -> Option<LastMove> {
        let placed: Square = session.last_move.parse().ok()?;
        let by = self.grid?.at(placed)?;
        Some(LastMove {
            flip: Flip {
                placed,
                by,
                turned: Vec::new(),
            },
            at_ms: 0,
            shown_ms: 0,
        })
    }

    /// The seat of this number (1 or 2).
    #[must_use]
    pub fn seat(&self, number: u32) -> Option<&Seat> {
        self.seats.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    fn seat_mut(&mut self, number: u32) -> Option<&mut Seat> {
        self.seats.get_mut(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// The seat that holds a colour in the current or last game.
    #[must_use]
    pub fn seat_of(&self, colour: Colour) -> Option<u32> {
        [1, 2]
            .into_iter()
            .find(|number| self.seat(*number).is_some_and(|seat| seat.colour == Some(colour)))
    }

    /// Whether the viewer is to act.
    #[must_use]
    pub fn my_turn(&self) -> Option<Turn> {
        self.turn.filter(|turn| Some(turn.seat) == self.me)
    }

    /// Where the player to act may place.
    #[must_use]
    pub fn legal(&self) -> SquareSet {
        match (self.turn, self.grid) {
            (Some(turn), Some(grid)) => grid
                .position(Some(turn.colour))
                .map_or(SquareSet::EMPTY, |position| position.placements()),
            _ => SquareSet::EMPTY,
        }
    }

    /// The open offer of a seat, the newest first.
    #[must_use]
    pub fn offer_of(&self, seat: u32) -> Option<&v1::Offer> {
        self.offers.iter().rev().find(|offer| offer.seat == seat)
    }

    /// What is left of a seat's total time now, in ms.
    #[must_use]
    pub fn total_left_ms(&self, number: u32, now_ms: u64) -> u64 {
        let left = self.seat(number).map_or(0, |seat| seat.total_left_ms);
        match self.turn {
            Some(turn) if turn.seat == number => {
                left.saturating_sub(now_ms.saturating_sub(turn.clock_start_ms))
            }
            _ => left,
        }
    }

    /// What is left of the turn now, in ms. Before the clock starts it is the whole time.
    #[must_use]
    pub fn turn_left_ms(&self, now_ms: u64) -> Option<u64> {
        self.turn
            .map(|turn| turn.deadline_ms.saturating_sub(now_ms.max(turn.clock_start_ms)))
    }

    /// The last move and how far its turning is to be shown now.
    #[must_use]
    pub fn shown_move(&self, now_ms: u64) -> Option<(&Flip, Progress)> {
        self.last.as_ref().map(|last| {
            let length = last.shown_ms.saturating_sub(last.at_ms);
            let gone = now_ms.saturating_sub(last.at_ms);
            let progress = if gone >= length {
                Progress::Done
            } else {
                // Both are far below 2^52: nothing is lost.
                Progress::Turning(gone as f64 / length as f64)
            };
            (&last.flip, progress)
        })
    }

    /// Games of the series that were not played yet.
    #[must_use]
    pub fn games_left(&self) -> usize {
        let games = usize::try_from(self.settings.games.max(1)).unwrap_or(usize::MAX);
        games.saturating_sub(self.results.len())
    }

    /// Whether the viewer may ask for a rematch: all games were played, and none is arranged yet (S-5).
    #[must_use]
    pub fn rematch_possible(&self) -> bool {
        self.me.is_some()
            && self.ending == Some(v1::SessionEnding::SeriesComplete)
            && self.next_session_id.is_empty()
    }

    /// Somebody came or went (S-17).
    pub fn presence(&mut self, presence: &v1::Presence) {
        if let Some(seat) = self.seat_mut(presence.seat) {
            seat.present = presence.present;
        }
    }

    /// Folds an event in. One that was folded in before is left out, so that the receipt of a command and the stream
    /// may both bring it.
    ///
    /// Returns whether it was new.
    pub fn apply(&mut self, event: &v1::Event, viewer_id: &str) -> bool {
        if event.sequence <= self.sequence {
            return false;
        }
        self.sequence = event.sequence;
        let at_ms = event.at.as_ref().map_or(0, ms);
        match &event.kind {
            Some(Kind::Created(created)) => {
                self.settings = created.settings.clone().unwrap_or_default();
                self.seats[0].player_id.clone_from(&created.seat_1_player_id);
                self.seats[1].player_id.clone_from(&created.seat_2_player_id);
                self.seats[0].ready = created.seat_1_ready;
                self.seats[1].ready = created.seat_2_ready;
                self.find_me(viewer_id);
            }
            Some(Kind::Joined(joined)) => {
                self.seats[1].player_id.clone_from(&joined.player_id);
                self.seats[1].ready = joined.ready;
                self.phase = v1::SessionPhase::Waiting;
                self.find_me(viewer_id);
            }
            Some(Kind::Readied(readied)) => {
                if let Some(seat) = self.seat_mut(readied.seat) {
                    seat.ready = true;
                }
                self.countdown_ms = readied.countdown_deadline.as_ref().map(ms);
            }
            Some(Kind::Unreadied(unreadied)) => {
                if let Some(seat) = self.seat_mut(unreadied.seat) {
                    seat.ready = false;
                }
                self.countdown_ms = None;
            }
            Some(Kind::Started(started)) => self.start(event.game_number, started, at_ms),
            Some(Kind::Moved(moved)) => self.moved(moved, at_ms),
            Some(Kind::Passed(passed)) => self.set_turn(passed.next.as_ref(), at_ms),
            Some(Kind::Offered(offered)) => self.offers.extend(offered.offer),
            Some(Kind::OfferClosed(closed)) => {
                let id = closed.offer.map(|offer| offer.offer_id);
                self.offers.retain(|offer| Some(offer.offer_id) != id);
            }
            Some(Kind::GameEnded(ended)) => self.end_game(ended, at_ms),
            Some(Kind::SessionEnded(ended)) => {
                self.phase = v1::SessionPhase::Ended;
                self.ending = ending(ended.ending());
                self.turn = None;
                self.countdown_ms = None;
                self.offers.clear();
            }
            Some(Kind::ClockCompensated(compensated)) => {
                if compensated.next.is_some() {
                    self.turn = compensated.next.as_ref().and_then(turn);
                }
            }
            Some(Kind::RematchAgreed(rematch)) => {
                self.next_session_id.clone_from(&rematch.next_session_id);
                self.offers.clear();
            }
            Some(Kind::AbsenceBegun(absence)) => {
                if let Some(seat) = self.seat_mut(absence.seat) {
                    seat.present = false;
                }
            }
            Some(Kind::AbsenceEnded(absence)) => {
                if let Some(seat) = self.seat_mut(absence.seat) {
                    seat.present = true;
                }
            }
            Some(Kind::Left(_)) | None => {}
        }
        true
    }

    fn find_me(&mut self, viewer_id: &str) {
        if !viewer_id.is_empty() {
            let mine = self.seats.iter().position(|seat| seat.player_id == viewer_id);
            self.me = mine.and_then(|at| u32::try_from(at + 1).ok());
        }
    }

    fn start(&mut self, game_number: u32, started: &v1::GameStarted, at_ms: u64) {
        self.phase = v1::SessionPhase::Playing;
        self.game_number = game_number;
        self.grid = started.position.parse().ok();
        self.last = None;
        self.offers.clear();
        self.countdown_ms = None;
        let seat_1 = colour(started.seat_1_colour());
        let total_ms = setting_ms(self.settings.total_time.as_ref());
        let colours = [seat_1, seat_1.map(Colour::other)];
        for (seat, colour) in self.seats.iter_mut().zip(colours) {
            seat.colour = colour;
            seat.ready = false;
            seat.total_left_ms = total_ms;
        }
        let guard_ms = setting_ms(self.settings.resign_guard.as_ref());
        self.resign_from_ms = Some(at_ms.saturating_add(guard_ms));
        self.turn = started.next.as_ref().and_then(turn);
    }

    fn moved(&mut self, moved: &v1::MoveMade, at_ms: u64) {
        self.charge(at_ms);
        let (Ok(placed), Some(by)) = (moved.placed.parse::<Square>(), colour(moved.colour())) else {
            return;
        };
        let turned: Vec<Square> = moved
            .turned
            .iter()
            .filter_map(|square| square.parse().ok())
            .collect();
        if let Some(grid) = &mut self.grid {
            grid.put(placed, by);
            turned.iter().for_each(|square| grid.put(*square, by));
        }
        let animation_ms = setting_ms(self.settings.animation.as_ref());
        self.last = Some(LastMove {
            flip: Flip { placed, by, turned },
            at_ms,
            shown_ms: at_ms.saturating_add(animation_ms),
        });
        self.turn = moved.next.as_ref().and_then(turn);
    }

    fn set_turn(&mut self, next: Option<&v1::Turn>, at_ms: u64) {
        self.charge(at_ms);
        self.turn = next.and_then(turn);
    }

    /// Charges the time that the player to act has used up to this instant.
    fn charge(&mut self, at_ms: u64) {
        if let Some(turn) = self.turn {
            let used = at_ms.saturating_sub(turn.clock_start_ms);
            if let Some(seat) = self.seat_mut(turn.seat) {
                seat.total_left_ms = seat.total_left_ms.saturating_sub(used);
            }
        }
    }

    fn end_game(&mut self, ended: &v1::GameEnded, at_ms: u64) {
        self.charge(at_ms);
        self.turn = None;
        self.offers.clear();
        self.resign_from_ms = None;
        self.phase = v1::SessionPhase::Waiting;
        self.results.extend(ended.result);
    }
}

/// The other seat's number.
#[must_use]
pub fn other(seat: u32) -> u32 {
    3_u32.saturating_sub(seat)
}

/// The engine's colour.
#[must_use]
pub fn colour(colour: v1::Colour) -> Option<Colour> {
    match colour {
        v1::Colour::Black => Some(Colour::Black),
        v1::Colour::White => Some(Colour::White),
        v1::Colour::Unspecified => None,
    }
}

/// Milliseconds of an instant.
#[must_use]
pub fn ms(timestamp: &prost_types::Timestamp) -> u64 {
    instant(timestamp).0
}

fn setting_ms(duration: Option<&prost_types::Duration>) -> u64 {
    duration
        .and_then(|duration| millis(duration).ok())
        .unwrap_or_default()
        .0
}

fn turn(turn: &v1::Turn) -> Option<Turn> {
    if turn.seat == 0 {
        return None;
    }
    Some(Turn {
        ply: turn.ply,
        seat: turn.seat,
        colour: colour(turn.colour())?,
        clock_start_ms: turn.clock_start.as_ref().map_or(0, ms),
        deadline_ms: turn.deadline.as_ref().map_or(0, ms),
    })
}

fn ending(ending: v1::SessionEnding) -> Option<v1::SessionEnding> {
    (ending != v1::SessionEnding::Unspecified).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{ANN, BAI, Game, START_MS, event, table, waiting};
    use super::*;

    #[test]
    fn a_snapshot_says_who_looks() {
        assert_eq!(Table::of(&waiting(), BAI).me, Some(2));
        assert_eq!(Table::of(&waiting(), "carl").me, None);
        assert_eq!(Table::of(&waiting(), "").me, None, "an open seat is nobody's");
    }

    #[test]
    fn moves_turn_discs_and_hand_the_turn_over() {
        let mut game = Game::new();
        game.play("d3", 4_000);
        let seen = table(ANN, &game.events);
        assert_eq!(seen.grid.unwrap().counts(), [4, 1]);
        assert_eq!(seen.turn.unwrap().seat, 2);
        assert_eq!(seen.my_turn(), None);
        let legal: Vec<String> = seen.legal().map(|square| square.to_string()).collect();
        assert_eq!(legal, ["c3", "e3", "c5"]);
        assert!(table(BAI, &game.events).my_turn().is_some());
    }

    #[test]
    fn s6_s8_only_the_player_to_move_uses_time_and_not_during_the_animation() {
        let mut game = Game::new();
        game.play("d3", 4_000);
        let seen = table(ANN, &game.events);
        let now_ms = START_MS + 4_000;
        assert_eq!(seen.total_left_ms(1, now_ms), 596_000);
        assert_eq!(
            seen.total_left_ms(2, now_ms + 999),
            600_000,
            "the animation is free"
        );
        assert_eq!(seen.total_left_ms(2, now_ms + 3_000), 598_000);
        assert_eq!(seen.turn_left_ms(now_ms), Some(30_000));
        assert_eq!(seen.turn_left_ms(now_ms + 11_000), Some(20_000));
        assert_eq!(seen.turn_left_ms(u64::MAX), Some(0));
        assert!(matches!(
            seen.shown_move(now_ms + 500),
            Some((_, Progress::Turning(_)))
        ));
        assert!(matches!(
            seen.shown_move(now_ms + 1_000),
            Some((_, Progress::Done))
        ));
        game.play("c5", 400);
        assert_eq!(
            table(ANN, &game.events).total_left_ms(2, 0),
            600_000,
            "a move during the animation costs nothing"
        );
    }

    #[test]
    fn s22_an_event_counts_once_whoever_brings_it() {
        let mut game = Game::new();
        game.play("d3", 1_000);
        let mut seen = table(ANN, &game.events);
        let before = seen.clone();
        assert!(!seen.apply(game.events.last().unwrap(), ANN));
        assert_eq!(seen, before);
    }

    #[test]
    fn s3_s14_what_is_taken_back_is_gone() {
        let readied = v1::PlayerReadied {
            seat: 2,
            countdown_deadline: Some(prost_types::Timestamp {
                seconds: 100,
                nanos: 0,
            }),
        };
        let unreadied = v1::PlayerUnreadied { seat: 2 };
        let mut events = vec![event(2, 85_000, Kind::Readied(readied))];
        let seen = table(ANN, &events);
        assert_eq!((seen.seats[1].ready, seen.countdown_ms), (true, Some(100_000)));
        events.push(event(3, 86_000, Kind::Unreadied(unreadied)));
        let seen = table(ANN, &events);
        assert_eq!((seen.seats[1].ready, seen.countdown_ms), (false, None));

        let offer = v1::Offer {
            offer_id: 7,
            kind: v1::OfferKind::Exit.into(),
            seat: 2,
        };
        let mut game = Game::new();
        game.push(Kind::Offered(v1::OfferMade { offer: Some(offer) }));
        assert_eq!(table(ANN, &game.events).offer_of(2), Some(&offer));
        game.push(Kind::OfferClosed(v1::OfferClosed {
            offer: Some(offer),
            fate: v1::OfferFate::Declined.into(),
        }));
        assert_eq!(table(ANN, &game.events).offer_of(2), None);
    }

    #[test]
    fn s5_a_rematch_is_possible_after_the_last_game_until_there_is_one() {
        let mut game = Game::new();
        let end = v1::SessionEnded {
            ending: v1::SessionEnding::SeriesComplete.into(),
            ..Default::default()
        };
        game.push(Kind::SessionEnded(end));
        assert!(table(ANN, &game.events).rematch_possible());
        assert!(!table("carl", &game.events).rematch_possible());
        game.push(Kind::RematchAgreed(v1::RematchAgreed {
            next_session_id: "s2".to_owned(),
        }));
        assert!(!table(ANN, &game.events).rematch_possible());
    }
}
