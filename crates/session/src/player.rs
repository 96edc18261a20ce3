//! What a session knows of its players: frozen when they were seated.

use crate::ids::PlayerId;

/// A seated player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// Who it is.
    pub id: PlayerId,
    /// The rating when the player was seated; the opponent's record is updated with it (S-20).
    pub rating: Rating,
    /// How often the player opened lately, for [`OpenerRule::Balanced`](crate::settings::OpenerRule::Balanced).
    pub openings: Openings,
}

impl Player {
    /// A player with the rating and the history of a newcomer.
    #[must_use]
    pub fn new(id: PlayerId) -> Self {
        Self {
            id,
            rating: Rating::default(),
            openings: Openings::default(),
        }
    }
}

/// A Glicko-2 rating in integers, so that a log means the same on every platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rating {
    /// The rating in hundredths: 150 000 is 1500.
    pub rating_centi: i32,
    /// The deviation in hundredths: 35 000 is 350.
    pub deviation_centi: u32,
    /// The volatility in millionths: 60 000 is 0.06.
    pub volatility_micro: u32,
}

impl Default for Rating {
    /// A newcomer: 1500, deviation 350, volatility 0.06.
    fn default() -> Self {
        Self {
            rating_centi: 150_000,
            deviation_centi: 35_000,
            volatility_micro: 60_000,
        }
    }
}

/// How often a player opened among the last (at most 20) games of the kind (S-29).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Openings {
    /// Games that the player opened.
    pub opened: u8,
    /// Games counted.
    pub games: u8,
}

impl Openings {
    /// Games opened less games not opened: who has less of it opens next.
    #[must_use]
    pub fn balance(self) -> i16 {
        2 * i16::from(self.opened) - i16::from(self.games)
    }
}
