//! Small helpers for messages of the API.

use std::time::Duration;

use tablemate_client::v1;
use tablemate_client::v1::event::Kind;

/// The longest time that a setting allows: for games that no clock shall decide.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A duration as the API writes it.
pub fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or_default(),
    }
}

/// What events say about how a game stands.
#[derive(Debug, Default)]
pub struct Follower {
    /// The turn to be made next; none before the start and after the end.
    pub next: Option<v1::Turn>,
    /// The result of the game that ended last.
    pub result: Option<v1::GameResult>,
    /// How the session ended.
    pub ending: Option<v1::SessionEnding>,
    /// Passes seen.
    pub passes: u64,
}

impl Follower {
    /// Takes the next event.
    pub fn take(&mut self, event: &v1::Event) {
        match &event.kind {
            Some(Kind::Started(started)) => {
                self.next = started.next;
                self.result = None;
            }
            Some(Kind::Moved(moved)) => self.next = moved.next,
            Some(Kind::Passed(passed)) => {
                self.passes = self.passes.saturating_add(1);
                self.next = passed.next;
            }
            Some(Kind::ClockCompensated(compensated)) if compensated.next.is_some() => {
                self.next = compensated.next;
            }
            Some(Kind::GameEnded(ended)) => {
                self.next = None;
                self.result.clone_from(&ended.result);
            }
            Some(Kind::SessionEnded(ended)) => self.ending = Some(ended.ending()),
            _ => {}
        }
    }

    /// Takes all events of a command's receipt.
    pub fn take_receipt(&mut self, receipt: Option<&v1::Receipt>) {
        for event in receipt.into_iter().flat_map(|receipt| &receipt.events) {
            self.take(event);
        }
    }

    /// The turn to be made, when there is one: a turn without a seat means that the game is over.
    pub fn turn(&self) -> Option<&v1::Turn> {
        self.next.as_ref().filter(|turn| turn.seat != 0)
    }
}
