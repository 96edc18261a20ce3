//! The hash table of one search: what is known about positions visited before.
//!
//! It lives for one call, so that an answer never depends on what was searched before. Entries hold the whole
//! position: two positions are never taken for each other.

/// What is known about a position. `lower ≤ value ≤ upper`, in hundredths of a disc.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    own: u64,
    opp: u64,
    pub(crate) lower: i16,
    pub(crate) upper: i16,
    /// The depth those bounds were found at; [`EXACT_DEPTH`] for true values.
    pub(crate) depth: u8,
    /// The best move's square, or [`NO_SQUARE`].
    pub(crate) best: u8,
}

/// Depth of bounds on the true value of the game: above every depth of a limited search.
pub(crate) const EXACT_DEPTH: u8 = u8::MAX;
/// No move is known to be best.
pub(crate) const NO_SQUARE: u8 = 64;

const NOTHING: Entry = Entry {
    own: 0,
    opp: 0,
    lower: i16::MIN,
    upper: i16::MAX,
    depth: 0,
    best: NO_SQUARE,
};

/// A table with a fixed number of entries, or none at all.
pub(crate) struct Table {
    entries: Vec<Entry>,
}

impl Table {
    /// A table of 2^`bits` entries of 24 bytes; without any (and without heap) when `bits` is 0.
    pub(crate) fn new(bits: u32) -> Table {
        if bits == 0 {
            return Table { entries: Vec::new() };
        }
        Table {
            entries: vec![NOTHING; 1 << bits.min(24)],
        }
    }

    #[inline(always)]
    fn index(&self, own: u64, opp: u64) -> usize {
        let mixed = (own ^ opp.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mixed = mixed ^ mixed >> 32;
        mixed as usize & self.entries.len().wrapping_sub(1)
    }

    /// What is known about this position.
    #[inline(always)]
    pub(crate) fn get(&self, own: u64, opp: u64) -> Option<&Entry> {
        let entry = self.entries.get(self.index(own, opp))?;
        (entry.own == own && entry.opp == opp).then_some(entry)
    }

    /// Notes that the position's value lies between the bounds. The newest search of the greatest depth wins.
    #[inline(always)]
    pub(crate) fn put(&mut self, own: u64, opp: u64, depth: u8, best: u8, lower: i32, upper: i32) {
        let index = self.index(own, opp);
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        let (mut lower, mut upper) = (lower as i16, upper as i16);
        if entry.own == own && entry.opp == opp && entry.depth == depth {
            // The same search with another window: both bounds hold.
            lower = lower.max(entry.lower);
            upper = upper.min(entry.upper);
        }
        *entry = Entry {
            own,
            opp,
            lower,
            upper,
            depth,
            best,
        };
    }
}
