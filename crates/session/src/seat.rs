//! The two seats of a session, and things of which each seat has one.

use std::fmt;
use std::ops::{Index, IndexMut};

/// A seat: fixed for a session. It owns player, clocks, offers and results; colours change from game to game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Seat {
    /// Seat 1: always taken.
    One,
    /// Seat 2: may be open until somebody joins (S-27).
    Two,
}

impl Seat {
    /// Both seats in order.
    pub const ALL: [Self; 2] = [Self::One, Self::Two];

    /// The other seat.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::One => Self::Two,
            Self::Two => Self::One,
        }
    }

    /// 1 or 2.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// The seat with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            _ => None,
        }
    }

    /// 0 or 1: the place in an array by seat.
    #[must_use]
    pub const fn index(self) -> usize {
        self.number() as usize - 1
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seat {}", self.number())
    }
}

/// One of each for the two seats, indexed by [`Seat`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PerSeat<T>(pub [T; 2]);

impl<T> PerSeat<T> {
    /// The two things, seat 1 first.
    pub const fn new(one: T, two: T) -> Self {
        Self([one, two])
    }

    /// What `make` gives for each seat.
    pub fn from_fn(mut make: impl FnMut(Seat) -> T) -> Self {
        Self(Seat::ALL.map(&mut make))
    }

    /// What `change` makes of each of them.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> PerSeat<U> {
        PerSeat(self.0.map(change))
    }

    /// Both with their seats, seat 1 first.
    pub fn iter(&self) -> impl Iterator<Item = (Seat, &T)> {
        Seat::ALL.into_iter().zip(self.0.iter())
    }

    /// Both, to be changed, seat 1 first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Seat, &mut T)> {
        Seat::ALL.into_iter().zip(self.0.iter_mut())
    }
}

impl<T> Index<Seat> for PerSeat<T> {
    type Output = T;

    fn index(&self, seat: Seat) -> &T {
        match seat {
            Seat::One => &self.0[0],
            Seat::Two => &self.0[1],
        }
    }
}

impl<T> IndexMut<Seat> for PerSeat<T> {
    fn index_mut(&mut self, seat: Seat) -> &mut T {
        match seat {
            Seat::One => &mut self.0[0],
            Seat::Two => &mut self.0[1],
        }
    }
}
