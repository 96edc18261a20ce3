//! What a move did, for those who show it.

use std::fmt;

use super::bits::{RAYS_DOWN, RAYS_UP};
use super::{Move, Square, SquareSet};
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

/// The discs turned by a move: a set, listed in animation order only for those who ask, because most moves are never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Turned {
    /// The new disc, from which they are listed.
    placed: Square,
    /// All of them lie on its eight rays.
    discs: u64,
}

impl Turned {
    /// What a pass turns.
    pub(crate) const NONE: Turned = Turned {
        placed: Square::A1,
        discs: 0,
    };

    pub(crate) const fn new(placed: Square, discs: u64) -> Turned {
        Turned { placed, discs }
    }

    /// The squares, unordered.
    #[must_use]
    pub const fn set(&self) -> SquareSet {
        SquareSet::from_bits(self.discs)
    }

    /// How many discs were turned.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.discs.count_ones() as usize
    }

    /// Whether none was.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.discs == 0
    }

    /// The squares in animation order: by direction (east, south, south-east, south-west, then west, north, north-west,
    /// north-east), in each by distance from the new disc.
    pub fn iter(&self) -> impl Iterator<Item = Square> + use<> {
        let Turned { placed, discs } = *self;
        let index = usize::from(placed.index());
        let up = RAYS_UP[index].into_iter().flat_map(move |ray| {
            let mut run = discs & ray;
            std::iter::from_fn(move || {
                let nearest = (run != 0).then(|| run.trailing_zeros())?;
                run &= run - 1;
                Some(Square::masked(nearest))
            })
        });
        let down = RAYS_DOWN[index].into_iter().flat_map(move |ray| {
            let mut run = discs & ray;
            std::iter::from_fn(move || {
                let nearest = (run != 0).then(|| 63 - run.leading_zeros())?;
                run &= !(1 << nearest);
                Some(Square::masked(nearest))
            })
        });
        up.chain(down)
    }
}

impl fmt::Debug for Turned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
