//! The recursive searches, compiled for AVX2 and portably.
//!
//! Fail-soft principal variation search over (mover's discs, other's discs). A pass costs no depth. Values are for the
//! mover: hundredths of a disc in the limited search, whole discs (empty squares to the winner) in the solver.

use super::evaluation::{evaluate, stable};
use super::table::{EXACT_DEPTH, NO_SQUARE, Table};
use crate::simd::multiversion;

/// A value above every other, in hundredths of a disc.
pub(crate) const INFINITE: i32 = 6_500;

/// What one search carries along.
pub(crate) struct Context {
    pub(crate) table: Table,
    /// Positions visited.
    pub(crate) nodes: u64,
}

/// Moves with their promise, to be taken from the most promising on.
pub(crate) struct Moves {
    /// The promise in the upper bits (biased to be positive), 63 less the square in the lowest six.
    ranked: [u64; 64],
    len: usize,
}

impl Moves {
    #[inline(always)]
    pub(crate) const fn new() -> Moves {
        Moves {
            ranked: [0; 64],
            len: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, square: u32, promise: i32) {
        if let Some(slot) = self.ranked.get_mut(self.len) {
            *slot = ((i64::from(promise) + (1 << 32)) as u64) << 6 | u64::from(63 - (square & 63));
            self.len += 1;
        }
    }

    /// Takes the most promising square; of equals the lowest.
    #[inline(always)]
    pub(crate) fn take_best(&mut self) -> Option<u32> {
        let moves = self.ranked.get_mut(..self.len)?;
        let (mut best_index, mut best) = (0, *moves.first()?);
        for (index, &ranked) in moves.iter().enumerate() {
            if ranked > best {
                (best_index, best) = (index, ranked);
            }
        }
        moves.swap(best_index, self.len - 1);
        self.len -= 1;
        Some(63 - (best & 63) as u32)
    }
}

/// The final margin in discs, empty squares to the winner.
#[inline(always)]
pub(crate) fn final_discs(own: u64, opp: u64) -> i32 {
    let (own, opp) = (own.count_ones() as i32, opp.count_ones() as i32);
    let difference = own - opp;
    difference + difference.signum() * (64 - own - opp)
}

const CORNERS: u64 = 0x8100_0000_0000_0081;
/// The squares diagonal to the corners.
const BESIDE_CORNERS: u64 = 0x0042_0000_0000_4200;
/// The four quarters of the board, for parity.
const QUARTERS: [u64; 4] = [
    0x0000_0000_0f0f_0f0f,
    0x0000_0000_f0f0_f0f0,
    0x0f0f_0f0f_0000_0000,
    0xf0f0_f0f0_0000_0000,
];

/// The squares of the quarters with an odd number of empty squares: who moves there tends to move last there.
#[inline(always)]
fn odd_quarters(empty: u64) -> u64 {
    let mut odd = 0;
    for quarter in QUARTERS {
        if (empty & quarter).count_ones() & 1 == 1 {
            odd |= quarter;
        }
    }
    odd
}

/// At most this many empty squares are searched without a table and without counting moves.
const SHALLOW: u32 = 6;
/// From this many empty squares on what was found is kept in the table: below, finding it again is cheaper.
const TABLED: u32 = 9;

multiversion! {
    /// The static value, with the moves of both sides.
    fn value(own: u64, opp: u64) -> i32 {
        evaluate(own, opp, mobility(own, opp), mobility(opp, own))
    }

    /// How promising a move is, by what the other can do after it. `own` and `opp` are after the move, from the
    /// mover's side.
    fn promise(own: u64, opp: u64) -> i32 {
        let replies = mobility(opp, own);
        let weighted = replies.count_ones() + (replies & CORNERS).count_ones();
        -16 * weighted as i32
    }

    /// The value of the position searched `depth` plies deep.
    fn limited(context: &mut Context, own: u64, opp: u64, alpha: i32, beta: i32, depth: u32) -> i32 {
        context.nodes += 1;
        let moves = mobility(own, opp);
        if moves == 0 {
            if mobility(opp, own) == 0 {
                return 100 * final_discs(own, opp);
            }
            return -limited(context, opp, own, -beta, -alpha, depth);
        }
        if depth == 0 {
            return evaluate(own, opp, moves, mobility(opp, own));
        }

        let mut known_best = u32::from(NO_SQUARE);
        if depth >= 2 && let Some(entry) = context.table.get(own, opp) {
            known_best = u32::from(entry.best);
            if u32::from(entry.depth) == depth {
                let (lower, upper) = (i32::from(entry.lower), i32::from(entry.upper));
                if lower >= beta || lower == upper {
                    return lower;
                }
                if upper <= alpha {
                    return upper;
                }
            }
        }

        let mut list = Moves::new();
        let mut rest = moves;
        while rest != 0 {
            let square = rest.trailing_zeros();
            rest &= rest - 1;
            let bit = 1 << square;
            let mut order = 0;
            if square == known_best {
                order = 1 << 20;
            } else if depth >= 2 {
                let turned = flips(square, own, opp);
                let (own, opp) = (own | bit | turned, opp & !turned);
                order = if depth >= 4 { -value(opp, own) } else { promise(own, opp) };
            }
            if bit & CORNERS != 0 {
                order += 100;
            } else if bit & BESIDE_CORNERS != 0 {
                order -= 50;
            }
            list.push(square, order);
        }

        let (mut best, mut best_square, mut bound) = (-INFINITE, NO_SQUARE, alpha);
        while let Some(square) = list.take_best() {
            let turned = flips(square, own, opp);
            let (next_own, next_opp) = (opp & !turned, own | (1 << square) | turned);
            let value = if best == -INFINITE {
                -limited(context, next_own, next_opp, -beta, -bound, depth - 1)
            } else {
                let probe = -limited(context, next_own, next_opp, -bound - 1, -bound, depth - 1);
                if probe > bound && probe < beta {
                    -limited(context, next_own, next_opp, -beta, -probe, depth - 1)
                } else {
                    probe
                }
            };
            if value > best {
                (best, best_square) = (value, square as u8);
                bound = bound.max(value);
                if bound >= beta {
                    break;
                }
            }
        }
        if depth >= 2 {
            let lower = if best > alpha { best } else { -INFINITE };
            let upper = if best < beta { best } else { INFINITE };
            context.table.put(own, opp, depth as u8, best_square, lower, upper);
        }
        best
    }

    /// The true value in discs, with empty squares to the winner.
    fn solve(context: &mut Context, own: u64, opp: u64, alpha: i32, beta: i32) -> i32 {
        let empties = (!(own | opp)).count_ones();
        if empties <= SHALLOW {
            return solve_shallow(context, own, opp, alpha, beta, empties);
        }
        context.nodes += 1;
        let moves = mobility(own, opp);
        if moves == 0 {
            if mobility(opp, own) == 0 {
                return final_discs(own, opp);
            }
            return -solve(context, opp, own, -beta, -alpha);
        }

        // The other keeps its stable discs whatever happens.
        if alpha >= 16 {
            let ceiling = 64 - 2 * stable(opp, own).count_ones() as i32;
            if ceiling <= alpha {
                return ceiling;
            }
        }

        let mut known_best = u32::from(NO_SQUARE);
        if empties >= TABLED && let Some(entry) = context.table.get(own, opp) {
            known_best = u32::from(entry.best);
            if entry.depth == EXACT_DEPTH {
                let (lower, upper) = (i32::from(entry.lower), i32::from(entry.upper));
                if lower >= beta || lower == upper {
                    return lower;
                }
                if upper <= alpha {
                    return upper;
                }
            }
        }

        let odd = odd_quarters(!(own | opp));
        let mut list = Moves::new();
        let mut rest = moves;
        while rest != 0 {
            let square = rest.trailing_zeros();
            rest &= rest - 1;
            let bit = 1 << square;
            if square == known_best {
                list.push(square, 1 << 20);
                continue;
            }
            let turned = flips(square, own, opp);
            if turned == opp {
                return 64;
            }
            let (own, opp) = (own | bit | turned, opp & !turned);
            if empties >= 10
                && let Some(entry) = context.table.get(opp, own)
                && entry.depth == EXACT_DEPTH
                && -i32::from(entry.upper) >= beta
            {
                return -i32::from(entry.upper);
            }
            let mut order = 64 * promise(own, opp);
            if empties >= 13 {
                order -= 2 * limited(context, opp, own, -INFINITE, INFINITE, 1);
            } else if empties >= 11 {
                order -= value(opp, own);
            }
            if bit & CORNERS != 0 {
                order += 512;
            }
            if bit & odd != 0 {
                order += 256;
            }
            list.push(square, order);
        }

        let (mut best, mut best_square, mut bound) = (-65, NO_SQUARE, alpha);
        while let Some(square) = list.take_best() {
            let turned = flips(square, own, opp);
            let (next_own, next_opp) = (opp & !turned, own | (1 << square) | turned);
            let value = if best == -65 {
                -solve(context, next_own, next_opp, -beta, -bound)
            } else {
                let probe = -solve(context, next_own, next_opp, -bound - 1, -bound);
                if probe > bound && probe < beta {
                    -solve(context, next_own, next_opp, -beta, -probe)
                } else {
                    probe
                }
            };
            if value > best {
                (best, best_square) = (value, square as u8);
                bound = bound.max(value);
                if bound >= beta {
                    break;
                }
            }
        }
        if empties >= TABLED {
            let lower = if best > alpha { best } else { -64 };
            let upper = if best < beta { best } else { 64 };
            context.table.put(own, opp, EXACT_DEPTH, best_square, lower, upper);
        }
        best
    }

    /// The true value with few empty squares left: those in odd quarters first.
    fn solve_shallow(context: &mut Context, own: u64, opp: u64, alpha: i32, beta: i32, empties: u32) -> i32 {
        if empties == 1 {
            return solve_last(context, own, opp);
        }
        context.nodes += 1;
        let moves = mobility(own, opp);
        if moves == 0 {
            if mobility(opp, own) == 0 {
                return final_discs(own, opp);
            }
            return -solve_shallow(context, opp, own, -beta, -alpha, empties);
        }
        let odd = odd_quarters(!(own | opp));
        let (mut best, mut bound) = (-65, alpha);
        for mut rest in [moves & odd, moves & !odd] {
            while rest != 0 {
                let square = rest.trailing_zeros();
                rest &= rest - 1;
                let turned = flips(square, own, opp);
                let (next_own, next_opp) = (opp & !turned, own | (1 << square) | turned);
                let value = -solve_shallow(context, next_own, next_opp, -beta, -bound, empties - 1);
                if value > best {
                    best = value;
                    bound = bound.max(value);
                    if bound >= beta {
                        return best;
                    }
                }
            }
        }
        best
    }

    /// The true value with one empty square.
    fn solve_last(context: &mut Context, own: u64, opp: u64) -> i32 {
        context.nodes += 1;
        let square = (!(own | opp)).trailing_zeros();
        let own_discs = own.count_ones() as i32;
        let turned = flips(square, own, opp);
        if turned != 0 {
            return 2 * (own_discs + 1 + turned.count_ones() as i32) - 64;
        }
        let turned = flips(square, opp, own);
        if turned != 0 {
            return 2 * (own_discs - turned.count_ones() as i32) - 64;
        }
        final_discs(own, opp)
    }

    /// The best move and its value searched `depth` plies deep, over the moves in the order of `list`.
    fn limited_root(context: &mut Context, own: u64, opp: u64, depth: u32, list: &[u32]) -> (u32, i32) {
        let (mut best, mut best_square) = (-INFINITE, 0);
        for &square in list {
            let turned = flips(square, own, opp);
            let (next_own, next_opp) = (opp & !turned, own | (1 << square) | turned);
            let value = if best == -INFINITE {
                -limited(context, next_own, next_opp, -INFINITE, INFINITE, depth - 1)
            } else {
                let probe = -limited(context, next_own, next_opp, -best - 1, -best, depth - 1);
                if probe > best { -limited(context, next_own, next_opp, -INFINITE, -best, depth - 1) } else { probe }
            };
            if value > best {
                (best, best_square) = (value, square);
            }
        }
        (best_square, best)
    }

    /// The best move and its true value in discs, over the moves in the order of `list`.
    fn solve_root(context: &mut Context, own: u64, opp: u64, list: &[u32]) -> (u32, i32) {
        let (mut best, mut best_square) = (-65, 0);
        for &square in list {
            let turned = flips(square, own, opp);
            let (next_own, next_opp) = (opp & !turned, own | (1 << square) | turned);
            let value = if best == -65 {
                -solve_or_final(context, next_own, next_opp, -64, 64)
            } else {
                let probe = -solve_or_final(context, next_own, next_opp, -best - 1, -best);
                if probe > best { -solve_or_final(context, next_own, next_opp, -64, -best) } else { probe }
            };
            if value > best {
                (best, best_square) = (value, square);
            }
        }
        (best_square, best)
    }

    /// As `solve`, for a board that may be full.
    fn solve_or_final(context: &mut Context, own: u64, opp: u64, alpha: i32, beta: i32) -> i32 {
        if own | opp == u64::MAX { final_discs(own, opp) } else { solve(context, own, opp, alpha, beta) }
    }
}
