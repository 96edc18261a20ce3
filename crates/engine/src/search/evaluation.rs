//! The hand-made evaluation: what a position is worth for the mover when the search stops.
//!
//! Nine features, each as the mover's less the other's, with weights by the phase of the game.

/// Files of the board that matter to shifts along rows and diagonals.
const NOT_A: u64 = 0xfefe_fefe_fefe_fefe;
const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;
const CORNERS: u64 = 0x8100_0000_0000_0081;

/// A corner, the square diagonal to it, and the two squares beside it on the edges.
const CORNER_AREAS: [(u64, u64, u64); 4] = [
    (1, 1 << 9, 1 << 1 | 1 << 8),
    (1 << 7, 1 << 14, 1 << 6 | 1 << 15),
    (1 << 56, 1 << 49, 1 << 57 | 1 << 48),
    (1 << 63, 1 << 54, 1 << 62 | 1 << 55),
];

/// Number of features.
pub(crate) const FEATURES: usize = 9;

/// Weights of the features, in hundredths of a disc, at 8, 20, 32, 44 and 56 discs on the board; between them they are
/// interpolated, outside the nearest holds. Fitted by least squares to the true values of endgames that tournament games
/// and deviations from them lead to. Early positions say nothing of corners, so the first row has the second's there.
pub(crate) const WEIGHTS: [[i32; FEATURES]; 5] = [
    [112, 170, 2_097, -1_533, -7, 337, 101, 0, 561],
    [194, 140, 2_097, -1_533, -7, 337, 145, -25, 561],
    [184, 147, 1_225, -507, -32, 127, 95, 8, 818],
    [141, 139, 546, -103, -37, 115, 74, 13, 635],
    [231, 85, 108, 36, -14, 93, 86, 9, 412],
];

/// Every square next to one of `set`, along rows, columns and diagonals.
#[inline(always)]
const fn neighbours(set: u64) -> u64 {
    let rows = set | (set << 1 & NOT_A) | (set >> 1 & NOT_H);
    rows | rows << 8 | rows >> 8
}

/// Discs of `own` that can never turn again, as far as simple reasons show it: in each of the four directions the disc
/// lies on the edge of the board, in a full line, or beside a stable disc of its own.
#[inline(always)]
pub(crate) fn stable(own: u64, opp: u64) -> u64 {
    let occupied = own | opp;
    // Nothing is stable without a corner, except in full lines; those alone are rare before the end.
    if (own & CORNERS) == 0 && occupied.count_ones() < 40 {
        return 0;
    }
    let [row, column, falling, rising] = full_lines(occupied);
    let mut stable = 0;
    loop {
        let next = own
            & (row | (stable << 1 & NOT_A) | (stable >> 1 & NOT_H))
            & (column | stable << 8 | stable >> 8)
            & (falling | (stable << 9 & NOT_A) | (stable >> 9 & NOT_H))
            & (rising | (stable << 7 & NOT_H) | (stable >> 7 & NOT_A));
        if next == stable {
            return stable;
        }
        stable = next;
    }
}

/// For the four directions: the squares whose line is full, and those at the edge in that direction.
#[inline(always)]
fn full_lines(occupied: u64) -> [u64; 4] {
    const LEFT_AND_RIGHT: u64 = !(NOT_A & NOT_H);
    const TOP_AND_BOTTOM: u64 = 0xff00_0000_0000_00ff;
    const RIM: u64 = LEFT_AND_RIGHT | TOP_AND_BOTTOM;

    let mut row = occupied & (occupied >> 4);
    row &= row >> 2;
    row &= row >> 1;
    let row = (row & 0x0101_0101_0101_0101) * 0xff;

    let mut column = occupied & occupied.rotate_right(32);
    column &= column.rotate_right(16);
    column &= column.rotate_right(8);

    // Along a diagonal emptiness is spread from square to square; the edge lets nothing through.
    let empty = !occupied;
    let mut falling = empty;
    let mut rising = empty;
    let mut step = 0;
    while step < 6 {
        falling |= (falling << 9 & NOT_A) | (falling >> 9 & NOT_H);
        rising |= (rising << 7 & NOT_H) | (rising >> 7 & NOT_A);
        step += 1;
    }
    [
        row | LEFT_AND_RIGHT,
        column | TOP_AND_BOTTOM,
        !falling | RIM,
        !rising | RIM,
    ]
}

/// The features of a position, the mover's less the other's. The two sets of moves are passed in because each
/// compilation of the search has its own way to find them.
#[inline(always)]
pub(crate) fn features(own: u64, opp: u64, own_moves: u64, opp_moves: u64) -> [i32; FEATURES] {
    let empty = !(own | opp);
    let less = |a: u64, b: u64| a.count_ones() as i32 - b.count_ones() as i32;

    let mut danger_diagonal = 0;
    let mut danger_edge = 0;
    for (corner, diagonal, beside) in CORNER_AREAS {
        if empty & corner != 0 {
            danger_diagonal |= diagonal;
            danger_edge |= beside;
        }
    }
    let next_to_empty = neighbours(empty);
    [
        less(own_moves, opp_moves),
        // Own moves of the future are beside discs of the other.
        less(opp & next_to_empty, own & next_to_empty),
        less(own & CORNERS, opp & CORNERS),
        less(own & danger_diagonal, opp & danger_diagonal),
        less(own & danger_edge, opp & danger_edge),
        less(stable(own, opp), stable(opp, own)),
        // Who is to move in an odd number of empty squares makes the last move, if nobody passes.
        (empty.count_ones() & 1) as i32 * 2 - 1,
        less(own, opp),
        // Taking a corner next.
        less(own_moves & CORNERS, opp_moves & CORNERS),
    ]
}

/// The position's value for the mover in hundredths of a disc, within ±64 discs.
#[inline(always)]
pub(crate) fn evaluate(own: u64, opp: u64, own_moves: u64, opp_moves: u64) -> i32 {
    const PHASE: i32 = 12;
    let beyond = ((own | opp).count_ones() as i32 - 8).clamp(0, 4 * PHASE);
    let (phase, within) = ((beyond / PHASE).min(3), beyond - (beyond / PHASE).min(3) * PHASE);
    let (Some(early), Some(late)) = (WEIGHTS.get(phase as usize), WEIGHTS.get(phase as usize + 1)) else {
        return 0;
    };
    let features = features(own, opp, own_moves, opp_moves);
    let mut sum = 0;
    for ((feature, early), late) in features.iter().zip(early).zip(late) {
        sum += feature * (early * (PHASE - within) + late * within);
    }
    (sum / PHASE).clamp(-6_400, 6_400)
}
