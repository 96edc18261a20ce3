//! The same two questions, four axes at a time in AVX2 registers.
//!
//! Only for callers that have found out at run time that the processor has these features. Tests compare every answer
//! with the portable one's.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_or_si128, _mm_unpackhi_epi64, _mm256_add_epi64, _mm256_and_si256,
    _mm256_andnot_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi64, _mm256_extracti128_si256,
    _mm256_or_si256, _mm256_set1_epi64x, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_sllv_epi64,
    _mm256_srlv_epi64, _mm256_sub_epi64,
};

use super::{INNER, RAYS_DOWN, RAYS_UP};

/// Lanes in the order of the ray tables: row, column, the two diagonals.
#[inline]
#[target_feature(enable = "avx2")]
fn steps() -> __m256i {
    _mm256_setr_epi64x(1, 8, 9, 7)
}

#[inline]
#[target_feature(enable = "avx2")]
fn any_lane(lanes: __m256i) -> u64 {
    let halves = _mm_or_si128(
        _mm256_castsi256_si128(lanes),
        _mm256_extracti128_si256::<1>(lanes),
    );
    _mm_cvtsi128_si64(_mm_or_si128(halves, _mm_unpackhi_epi64(halves, halves))) as u64
}

#[inline]
#[target_feature(enable = "avx2")]
fn rays(table: &[u64; 4]) -> __m256i {
    let [row, column, falling, rising] = *table;
    _mm256_setr_epi64x(row as i64, column as i64, falling as i64, rising as i64)
}

/// As [`super::mobility`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn mobility(own: u64, opp: u64) -> u64 {
    let step = steps();
    let two_steps = _mm256_add_epi64(step, step);
    let inner = INNER as i64;
    let runs = _mm256_and_si256(
        _mm256_set1_epi64x(opp as i64),
        _mm256_setr_epi64x(inner, -1, inner, inner),
    );
    let own_lanes = _mm256_set1_epi64x(own as i64);

    let mut up = _mm256_and_si256(runs, _mm256_sllv_epi64(own_lanes, step));
    let mut down = _mm256_and_si256(runs, _mm256_srlv_epi64(own_lanes, step));
    up = _mm256_or_si256(up, _mm256_and_si256(runs, _mm256_sllv_epi64(up, step)));
    down = _mm256_or_si256(down, _mm256_and_si256(runs, _mm256_srlv_epi64(down, step)));
    let pairs_up = _mm256_and_si256(runs, _mm256_sllv_epi64(runs, step));
    let pairs_down = _mm256_srlv_epi64(pairs_up, step);
    up = _mm256_or_si256(up, _mm256_and_si256(pairs_up, _mm256_sllv_epi64(up, two_steps)));
    down = _mm256_or_si256(
        down,
        _mm256_and_si256(pairs_down, _mm256_srlv_epi64(down, two_steps)),
    );
    up = _mm256_or_si256(up, _mm256_and_si256(pairs_up, _mm256_sllv_epi64(up, two_steps)));
    down = _mm256_or_si256(
        down,
        _mm256_and_si256(pairs_down, _mm256_srlv_epi64(down, two_steps)),
    );

    any_lane(_mm256_or_si256(
        _mm256_sllv_epi64(up, step),
        _mm256_srlv_epi64(down, step),
    )) & !(own | opp)
}

/// As [`super::flips`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(crate) fn flips(index: u32, own: u64, opp: u64) -> u64 {
    let index = (index & 63) as usize;
    let zero = _mm256_setzero_si256();
    let own_lanes = _mm256_set1_epi64x(own as i64);
    let opp_lanes = _mm256_set1_epi64x(opp as i64);

    // Upwards the first square without a disc of the other's is the lowest: closing, if own is there.
    let ray = rays(&RAYS_UP[index]);
    let stops = _mm256_andnot_si256(opp_lanes, ray);
    let lowest = _mm256_and_si256(stops, _mm256_sub_epi64(zero, stops));
    let closing = _mm256_and_si256(lowest, own_lanes);
    // closing - 1 where there is one, 0 where there is none (the comparison gives -1 there).
    let before = _mm256_add_epi64(
        closing,
        _mm256_sub_epi64(_mm256_set1_epi64x(-1), _mm256_cmpeq_epi64(closing, zero)),
    );
    let turned_up = _mm256_and_si256(ray, before);

    // Downwards it is the highest: everything from it on is filled, so that what is left lies before it.
    let ray = rays(&RAYS_DOWN[index]);
    let step = steps();
    let two_steps = _mm256_add_epi64(step, step);
    let four_steps = _mm256_add_epi64(two_steps, two_steps);
    let stops = _mm256_andnot_si256(opp_lanes, ray);
    let mut filled = _mm256_or_si256(stops, _mm256_srlv_epi64(stops, step));
    filled = _mm256_or_si256(filled, _mm256_srlv_epi64(filled, two_steps));
    filled = _mm256_or_si256(filled, _mm256_srlv_epi64(filled, four_steps));
    let highest = _mm256_andnot_si256(_mm256_srlv_epi64(filled, step), stops);
    let closing = _mm256_and_si256(highest, own_lanes);
    let open = _mm256_cmpeq_epi64(closing, zero);
    let turned_down = _mm256_andnot_si256(open, _mm256_andnot_si256(filled, ray));

    any_lane(_mm256_or_si256(turned_up, turned_down))
}
