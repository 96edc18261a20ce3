//! The two questions everything rests on, in portable bit arithmetic: where may the mover place, and what turns.
//!
//! Both work on two sets of discs, the mover's (`own`) and the other's (`opp`), and know nothing of colours.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;

/// Columns b to g: where a run along a row or diagonal can have an inner disc.
const INNER: u64 = 0x7e7e_7e7e_7e7e_7e7e;

/// The squares where the mover turns at least one disc.
#[inline(always)]
#[must_use]
pub(crate) const fn mobility(own: u64, opp: u64) -> u64 {
    let inner = opp & INNER;
    (along_rows(own, inner) | along::<8>(own, opp) | along::<7>(own, inner) | along::<9>(own, inner))
        & !(own | opp)
}

/// As [`along`] over the rows. Towards higher columns an addition does it: the carry runs through the discs next to
/// `own` and falls on the square behind them; column h, never `inner`, keeps it in its row.
#[inline(always)]
const fn along_rows(own: u64, inner: u64) -> u64 {
    let up = ((own << 1) & inner).wrapping_add(inner) & !inner;
    let mut down = inner & (own >> 1);
    down |= inner & (down >> 1);
    let pair_down = inner & (inner >> 1);
    down |= pair_down & (down >> 2);
    down |= pair_down & (down >> 2);
    up | (down >> 1)
}

/// Parallel prefix (Kogge-Stone) over one axis in both senses: the squares just behind runs of `opp` next to `own`.
#[inline(always)]
const fn along<const STEP: u32>(own: u64, opp: u64) -> u64 {
    let mut up = opp & (own << STEP);
    let mut down = opp & (own >> STEP);
    up |= opp & (up << STEP);
    down |= opp & (down >> STEP);
    let pair_up = opp & (opp << STEP);
    let pair_down = pair_up >> STEP;
    up |= pair_up & (up << (2 * STEP));
    down |= pair_down & (down >> (2 * STEP));
    up |= pair_up & (up << (2 * STEP));
    down |= pair_down & (down >> (2 * STEP));
    (up << STEP) | (down >> STEP)
}

/// For each square and axis (row, column, both diagonals), the squares of the ray towards higher indices.
pub(crate) static RAYS_UP: [[u64; 4]; 64] = rays([(1, 0), (0, 1), (1, 1), (-1, 1)]);
/// For each square and axis, the squares of the ray towards lower indices. Axes as in [`RAYS_UP`].
pub(crate) static RAYS_DOWN: [[u64; 4]; 64] = rays([(-1, 0), (0, -1), (-1, -1), (1, -1)]);

const fn rays(steps: [(i8, i8); 4]) -> [[u64; 4]; 64] {
    let mut table = [[0; 4]; 64];
    let mut square = 0;
    while square < 64 {
        let mut axis = 0;
        while axis < 4 {
            let (dx, dy) = steps[axis];
            let mut x = (square % 8) as i8 + dx;
            let mut y = (square / 8) as i8 + dy;
            while 0 <= x && x < 8 && 0 <= y && y < 8 {
                table[square][axis] |= 1 << (y * 8 + x);
                x += dx;
                y += dy;
            }
            axis += 1;
        }
        square += 1;
    }
    table
}

/// The discs turned by the mover's disc on square `index` (0 to 63; higher bits are ignored), R-3 and R-4. Empty when
/// nothing turns. The square itself must be empty.
#[inline(always)]
#[must_use]
pub(crate) fn flips(index: u32, own: u64, opp: u64) -> u64 {
    let index = (index & 63) as usize;
    let mut turned = 0;
    for &ray in &RAYS_UP[index] {
        // The first square of the ray without a disc of the other's is its lowest; own there, it closes the run.
        let stops = ray & !opp;
        let closing = stops & stops.wrapping_neg() & own;
        turned |= ray & closing.wrapping_sub(u64::from(closing != 0));
    }
    for &ray in &RAYS_DOWN[index] {
        let stops = ray & !opp;
        let closing = ((1 << 63) >> (stops | 1).leading_zeros()) & own & ray;
        turned |= ray & (closing << 1).wrapping_neg();
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk along one direction, square by square.
    fn slow_flips(index: u32, own: u64, opp: u64) -> u64 {
        let (x, y) = ((index % 8) as i32, (index / 8) as i32);
        let mut turned = 0;
        for (dx, dy) in [
            (1, 0),
            (1, 1),
            (0, 1),
            (-1, 1),
            (-1, 0),
            (-1, -1),
            (0, -1),
            (1, -1),
        ] {
            let (mut cx, mut cy, mut run) = (x + dx, y + dy, 0_u64);
            while (0..8).contains(&cx) && (0..8).contains(&cy) {
                let bit = 1_u64 << (cy * 8 + cx);
                if opp & bit != 0 {
                    run |= bit;
                } else {
                    turned |= if own & bit != 0 { run } else { 0 };
                    break;
                }
                (cx, cy) = (cx + dx, cy + dy);
            }
        }
        turned
    }

    /// Pairs of disjoint sets of discs, from sparse to dense, the same in every run.
    fn boards() -> impl Iterator<Item = (u64, u64)> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        (0..20_000).map(move |round| {
            let (a, b, c) = (next(), next(), next());
            let discs = match round % 4 {
                0 => a & b,
                1 => a,
                2 => a | b,
                _ => a | b | next(),
            };
            (discs & c, discs & !c)
        })
    }

    #[test]
    fn r3_portable_flips_and_mobility_agree_with_a_walk() {
        for (own, opp) in boards() {
            let mut legal = 0;
            for index in (0..64).filter(|index| (own | opp) >> index & 1 == 0) {
                let turned = slow_flips(index, own, opp);
                assert_eq!(flips(index, own, opp), turned, "{index} {own:#x} {opp:#x}");
                legal |= u64::from(turned != 0) << index;
            }
            assert_eq!(mobility(own, opp), legal, "{own:#x} {opp:#x}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "calls the AVX2 compilation where the processor has it")]
    fn r3_avx2_agrees_with_portable_code() {
        if !crate::simd::has_avx2() {
            eprintln!("SKIPPED: this processor has no AVX2");
            return;
        }
        for (own, opp) in boards() {
            // SAFETY: `has_avx2` has found every feature these functions need.
            unsafe {
                assert_eq!(avx2::mobility(own, opp), mobility(own, opp), "{own:#x} {opp:#x}");
                for index in (0..64).filter(|index| (own | opp) >> index & 1 == 0) {
                    assert_eq!(
                        avx2::flips(index, own, opp),
                        flips(index, own, opp),
                        "{index} {own:#x} {opp:#x}"
                    );
                }
            }
        }
    }
}
