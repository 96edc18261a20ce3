//! Moves chosen for a player: when the time of a move runs out, and for bots.

use crate::game;
use crate::reversi::{self, Move, bits};
use crate::search::{self, Level};

/// How a move is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Uniform over the legal moves, by the seed.
    Random,
    /// The move that turns the most discs; ties by the lowest square (a1, b1, … h8).
    Greedy,
    /// The search's move: a function of position and level alone.
    Engine {
        /// How strong, and how expensive.
        level: Level,
    },
}

/// Chooses a move for the player to act. `seed` decides `Random` alone and must be drawn by the caller; equal inputs
/// give equal moves for ever. `None` when the game is over; a forced pass is answered by that pass.
#[must_use]
pub fn choose(position: &game::Position, policy: Policy, seed: u64) -> Option<game::Move> {
    match position {
        game::Position::Reversi(position) => choose_reversi(position, policy, seed).map(game::Move::Reversi),
    }
}

fn choose_reversi(position: &reversi::Position, policy: Policy, seed: u64) -> Option<Move> {
    let mut moves = position.legal_moves();
    if moves.len() <= 1 {
        return moves.next();
    }
    match policy {
        Policy::Random => {
            // A 64-bit draw scaled to the number of moves: the bias is below 2^-58.
            let chosen = (u128::from(mixed(seed)) * moves.len() as u128) >> 64;
            moves.nth(chosen as usize)
        }
        Policy::Greedy => greedy(position),
        Policy::Engine { level } => search::search(position, level.limits()).map(|found| found.best),
    }
}

fn greedy(position: &reversi::Position) -> Option<Move> {
    let (own, opp) = position.own_and_opp();
    let mut best = None;
    for square in position.placements() {
        let turned = bits::flips(u32::from(square.index()), own, opp).count_ones();
        // Squares come from a1 on: only more discs displace the lowest of equals.
        if best.is_none_or(|(_, most)| turned > most) {
            best = Some((square, turned));
        }
    }
    best.map(|(square, _)| Move::Place(square))
}

/// A bijection that spreads the seed (the finaliser of SplitMix64), so that small seeds choose as evenly as drawn ones.
const fn mixed(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}
