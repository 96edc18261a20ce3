//! Squares and sets of squares.

use std::fmt;
use std::str::FromStr;

/// One of the 64 squares. a1 (top left) is 0, b1 is 1, …, h8 is 63. The type has a niche: `Option<Square>` is a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[rustfmt::skip]
#[allow(missing_docs, reason = "the names say it")]
pub enum Square {
    A1, B1, C1, D1, E1, F1, G1, H1,
    A2, B2, C2, D2, E2, F2, G2, H2,
    A3, B3, C3, D3, E3, F3, G3, H3,
    A4, B4, C4, D4, E4, F4, G4, H4,
    A5, B5, C5, D5, E5, F5, G5, H5,
    A6, B6, C6, D6, E6, F6, G6, H6,
    A7, B7, C7, D7, E7, F7, G7, H7,
    A8, B8, C8, D8, E8, F8, G8, H8,
}

impl Square {
    /// All squares in order: a1, b1, …, h8.
    #[rustfmt::skip]
    pub const ALL: [Square; 64] = [
        Square::A1, Square::B1, Square::C1, Square::D1, Square::E1, Square::F1, Square::G1, Square::H1,
        Square::A2, Square::B2, Square::C2, Square::D2, Square::E2, Square::F2, Square::G2, Square::H2,
        Square::A3, Square::B3, Square::C3, Square::D3, Square::E3, Square::F3, Square::G3, Square::H3,
        Square::A4, Square::B4, Square::C4, Square::D4, Square::E4, Square::F4, Square::G4, Square::H4,
        Square::A5, Square::B5, Square::C5, Square::D5, Square::E5, Square::F5, Square::G5, Square::H5,
        Square::A6, Square::B6, Square::C6, Square::D6, Square::E6, Square::F6, Square::G6, Square::H6,
        Square::A7, Square::B7, Square::C7, Square::D7, Square::E7, Square::F7, Square::G7, Square::H7,
        Square::A8, Square::B8, Square::C8, Square::D8, Square::E8, Square::F8, Square::G8, Square::H8,
    ];

    /// The square with this index (0 is a1, 63 is h8).
    #[must_use]
    pub const fn new(index: u8) -> Option<Square> {
        if index < 64 {
            Some(Square::ALL[index as usize])
        } else {
            None
        }
    }

    /// The square whose index is the low six bits of `index`.
    #[must_use]
    pub(crate) const fn masked(index: u32) -> Square {
        Square::ALL[(index & 63) as usize]
    }

    /// The square in this column (0 is a) and row (0 is row 1).
    #[must_use]
    pub const fn at(column: u8, row: u8) -> Option<Square> {
        if column < 8 && row < 8 {
            Square::new(row * 8 + column)
        } else {
            None
        }
    }

    /// 0 (a1) to 63 (h8).
    #[must_use]
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// 0 (a) to 7 (h).
    #[must_use]
    pub const fn column(self) -> u8 {
        self.index() & 7
    }

    /// 0 (row 1) to 7 (row 8).
    #[must_use]
    pub const fn row(self) -> u8 {
        self.index() >> 3
    }

    /// A set of this square alone.
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << self.index()
    }

    /// `d3` and the like: the column's letter in lower case, then the row's digit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        const NAMES: &str = "a1b1c1d1e1f1g1h1a2b2c2d2e2f2g2h2a3b3c3d3e3f3g3h3a4b4c4d4e4f4g4h4a5b5c5d5e5f5g5h5a6b6c6d6e6f6g6h6a7b7c7d7e7f7g7h7a8b8c8d8e8f8g8h8";
        let (_, from_here) = NAMES.split_at(self.index() as usize * 2);
        from_here.split_at(2).0
    }

    /// The square named by a column's letter (either case) and a row's digit.
    #[must_use]
    pub(crate) const fn from_ascii(column: u8, row: u8) -> Option<Square> {
        Square::at(
            column.to_ascii_lowercase().wrapping_sub(b'a'),
            row.wrapping_sub(b'1'),
        )
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no square.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SquareError {
    /// Not a letter followed by a digit.
    #[error("not a square: expected a letter a to h and a digit 1 to 8")]
    Malformed,
    /// A letter and a digit, but outside a1 to h8.
    #[error("off the board: columns are a to h, rows 1 to 8")]
    OffBoard,
}

impl FromStr for Square {
    type Err = SquareError;

    /// Reads `d3` or `D3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.as_bytes() {
            [column, row] if column.is_ascii_alphabetic() && row.is_ascii_digit() => {
                Square::from_ascii(*column, *row).ok_or(SquareError::OffBoard)
            }
            [column, row @ ..]
                if column.is_ascii_alphabetic() && !row.is_empty() && row.iter().all(u8::is_ascii_digit) =>
            {
                Err(SquareError::OffBoard)
            }
            _ => Err(SquareError::Malformed),
        }
    }
}

/// A set of squares, iterated from a1 to h8.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SquareSet(u64);

impl SquareSet {
    /// No square.
    pub const EMPTY: SquareSet = SquareSet(0);

    /// The set whose bit `n` is the square of index `n`.
    #[must_use]
    pub const fn from_bits(bits: u64) -> SquareSet {
        SquareSet(bits)
    }

    /// Bit `n` is the square of index `n`.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// How many squares.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `square` is in the set.
    #[must_use]
    pub const fn contains(self, square: Square) -> bool {
        self.0 & square.bit() != 0
    }

    /// The lowest square (a1 first).
    #[must_use]
    pub const fn first(self) -> Option<Square> {
        if self.0 == 0 {
            None
        } else {
            Some(Square::masked(self.0.trailing_zeros()))
        }
    }
}

impl Iterator for SquareSet {
    type Item = Square;

    fn next(&mut self) -> Option<Square> {
        let first = self.first()?;
        self.0 &= self.0 - 1;
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // By its path: a method call would find the iterator's own `len`, which asks this function.
        let len = SquareSet::len(*self);
        (len, Some(len))
    }
}

impl ExactSizeIterator for SquareSet {}

impl FromIterator<Square> for SquareSet {
    fn from_iter<I: IntoIterator<Item = Square>>(squares: I) -> Self {
        SquareSet(squares.into_iter().fold(0, |bits, square| bits | square.bit()))
    }
}

impl fmt::Debug for SquareSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}
