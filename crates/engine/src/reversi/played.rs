//! What a move did, for those who show it.

use std::fmt;
use std::ops::Deref;

use super::bits::{RAYS_DOWN, RAYS_UP};
use super::{Move, Square};
use crate::Colour;

/// What one accepted move did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// Who moved.
    pub by: Colour,
    /// The move.
    pub mv: Move,
    /// The turned discs: direction by direction, each from the new disc outward. Empty for a pass.
    pub turned: Turned,
}

/// The most discs one move can turn: five in each of three lines of the new disc and four in the other.
const TURNED_MAX: usize = 19;

/// The discs turned by a move, without heap. Reads as a slice of squares.
#[derive(Clone, Copy)]
pub struct Turned {
    squares: [Square; TURNED_MAX],
    len: u8,
}

impl Turned {
    pub(crate) const NONE: Turned = Turned {
        squares: [Square::A1; TURNED_MAX],
        len: 0,
    };

    /// The squares of `turned` (from the move on `square`) in animation order: by direction (east, south, south-east,
    /// south-west, then west, north, north-west, north-east), in each by distance from the new disc.
    pub(crate) fn ordered(square: Square, turned: u64) -> Turned {
        let mut ordered = Turned::NONE;
        let index = usize::from(square.index());
        for ray in RAYS_UP[index] {
            let mut run = turned & ray;
            while run != 0 {
                ordered.push(run.trailing_zeros());
                run &= run - 1;
            }
        }
        for ray in RAYS_DOWN[index] {
            let mut run = turned & ray;
            while run != 0 {
                let farthest_up = 63 - run.leading_zeros();
                ordered.push(farthest_up);
                run &= !(1 << farthest_up);
            }
        }
        ordered
    }

    fn push(&mut self, index: u32) {
        if let Some(slot) = self.squares.get_mut(usize::from(self.len)) {
            *slot = Square::masked(index);
            self.len += 1;
        }
    }

    /// The squares in animation order.
    #[must_use]
    pub fn as_slice(&self) -> &[Square] {
        self.squares.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Deref for Turned {
    type Target = [Square];

    fn deref(&self) -> &[Square] {
        self.as_slice()
    }
}

impl PartialEq for Turned {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Turned {}

impl fmt::Debug for Turned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
