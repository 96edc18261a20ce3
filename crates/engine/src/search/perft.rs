//! Perft: the number of ways to play on for a number of plies. A pass is a ply, and an ended game is one leaf.

use crate::reversi::Position;
use crate::simd::{dispatch, multiversion};

/// Counts the leaves `depth` plies below; the last ply is counted in bulk, by the number of its moves.
#[must_use]
pub fn perft(position: &Position, depth: u32) -> u64 {
    let (own, opp) = position.own_and_opp();
    dispatch!(kernel, bulk(own, opp, depth))
}

/// The same number, with every leaf position made.
#[must_use]
pub fn perft_full(position: &Position, depth: u32) -> u64 {
    let (own, opp) = position.own_and_opp();
    dispatch!(kernel, full(own, opp, depth))
}

mod kernel {
    use super::multiversion;

    multiversion! {
        fn bulk(own: u64, opp: u64, depth: u32) -> u64 {
            if depth == 0 {
                return 1;
            }
            let mut moves = mobility(own, opp);
            if moves == 0 {
                let over = mobility(opp, own) == 0;
                return if over { 1 } else { bulk(opp, own, depth - 1) };
            }
            if depth == 1 {
                return u64::from(moves.count_ones());
            }
            let mut leaves = 0;
            while moves != 0 {
                let square = moves.trailing_zeros();
                moves &= moves - 1;
                let turned = flips(square, own, opp);
                leaves += bulk(opp & !turned, own | (1 << square) | turned, depth - 1);
            }
            leaves
        }

        fn full(own: u64, opp: u64, depth: u32) -> u64 {
            if depth == 0 {
                return 1;
            }
            let mut moves = mobility(own, opp);
            if moves == 0 {
                let over = mobility(opp, own) == 0;
                return if over { 1 } else { full(opp, own, depth - 1) };
            }
            let mut leaves = 0;
            while moves != 0 {
                let square = moves.trailing_zeros();
                moves &= moves - 1;
                let turned = flips(square, own, opp);
                let (own, opp) = (opp & !turned, own | (1 << square) | turned);
                if depth == 1 {
                    // The leaf must really be made, not optimised away.
                    std::hint::black_box(own);
                    std::hint::black_box(opp);
                    leaves += 1;
                } else {
                    leaves += full(own, opp, depth - 1);
                }
            }
            leaves
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reversi::Start;

    /// Perft 1 to 10 of both starts in convention A: a pass is a ply, an ended game is one leaf.
    const CROSSED: [u64; 10] = [
        4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288, 24_571_284,
    ];

    fn counts(count: impl Fn(u32) -> u64) -> Vec<u64> {
        (1..=10).map(count).collect()
    }

    #[test]
    fn r1_to_r7_perft_10_of_the_crossed_start() {
        let start = Start::Crossed.position();
        assert_eq!(counts(|depth| perft(&start, depth)), CROSSED);
        assert_eq!(counts(|depth| perft_full(&start, depth)), CROSSED);
    }

    #[test]
    fn perft_10_is_the_same_in_portable_code() {
        let (own, opp) = Start::Crossed.position().own_and_opp();
        assert_eq!(counts(|depth| kernel::portable::bulk(own, opp, depth)), CROSSED);
    }

    #[test]
    fn r1_to_r7_perft_10_of_the_parallel_start() {
        // The first seven were also counted by the slow reference of `tests/rules.rs`.
        let start = Start::Parallel.position();
        let parallel = [
            4, 14, 68, 292, 1_690, 9_696, 64_794, 450_012, 3_449_900, 27_711_082,
        ];
        assert_eq!(counts(|depth| perft(&start, depth)), parallel);
    }
}
