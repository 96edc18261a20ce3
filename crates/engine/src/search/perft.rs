//! Perft: the number of ways to play on for a number of plies. A pass is a ply, and an ended game is one leaf.

use crate::reversi::{Position, bits};

/// Counts the leaves `depth` plies below; the last ply is counted in bulk, by the number of its moves.
#[must_use]
pub fn perft(position: &Position, depth: u32) -> u64 {
    let (own, opp) = position.own_and_opp();
    if depth == 0 {
        1
    } else {
        walk::<true>(own, opp, depth)
    }
}

/// The same number, with every leaf position made.
#[must_use]
pub fn perft_full(position: &Position, depth: u32) -> u64 {
    let (own, opp) = position.own_and_opp();
    if depth == 0 {
        1
    } else {
        walk::<false>(own, opp, depth)
    }
}

fn walk<const BULK: bool>(own: u64, opp: u64, depth: u32) -> u64 {
    let mut moves = bits::mobility(own, opp);
    if moves == 0 {
        let over = bits::mobility(opp, own) == 0;
        return if over || depth == 1 {
            1
        } else {
            walk::<BULK>(opp, own, depth - 1)
        };
    }
    if BULK && depth == 1 {
        return u64::from(moves.count_ones());
    }
    let mut leaves = 0;
    while moves != 0 {
        let square = moves.trailing_zeros();
        moves &= moves - 1;
        let turned = bits::flips(square, own, opp);
        let (own, opp) = (opp & !turned, own | (1 << square) | turned);
        if depth == 1 {
            // The leaf must really be made, not optimised away.
            std::hint::black_box((own, opp));
            leaves += 1;
        } else {
            leaves += walk::<BULK>(own, opp, depth - 1);
        }
    }
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reversi::Start;

    #[test]
    fn r1_to_r7_perft_of_the_crossed_start_convention_a() {
        let counts: Vec<u64> = (1..=10)
            .map(|depth| perft(&Start::Crossed.position(), depth))
            .collect();
        assert_eq!(
            counts,
            [
                4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216, 3_005_288, 24_571_284
            ]
        );
    }
}
