//! The search behind auto-moves, bots and analysis. Limits are depths and counts, never time, so the answer to a
//! position and a limit is the same on every machine.

pub(crate) mod evaluation;
mod kernel;
mod level;
mod perft;
mod table;

pub use level::{Level, UnknownLevel};
pub use perft::{perft, perft_full};

use crate::reversi::{Move, Position, Square};
use crate::simd::dispatch;
use kernel::Context;
use table::Table;

/// How far a search may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Plies of the full-width search; at least 1, and at most 60 (less and more count as these).
    pub depth: u8,
    /// With at most this many empty squares the rest of the game is searched to its end.
    pub exact_empties: u8,
    /// Entries of the hash table as a power of two, at most 24; 0 is no table and no heap. It lives for one search.
    pub table_bits: u8,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best move found: a pass when it is forced.
    pub best: Move,
    /// Its value for the player to act, in hundredths of a disc; the true final margin (empty squares to the winner)
    /// when `exact`.
    pub score: i32,
    /// The depth reached in plies; the number of empty squares when `exact`.
    pub depth: u8,
    /// Whether the score is the true value of the game.
    pub exact: bool,
    /// Positions visited.
    pub nodes: u64,
}

/// Searches for the best move of the player to act; `None` when the game is over. Of equally good moves the one that
/// the search looks at first is kept, so equal inputs give equal answers.
#[must_use]
pub fn search(position: &Position, limits: Limits) -> Option<Found> {
    position.to_act()?;
    if position.must_pass() {
        let (after, _) = position.play(Move::Pass).ok()?;
        let found = search(&after, limits)?;
        return Some(Found {
            best: Move::Pass,
            score: -found.score,
            ..found
        });
    }
    let mut context = Context {
        table: Table::new(u32::from(limits.table_bits)),
        nodes: 0,
    };
    let empties = position.empties().len();
    let (own, opp) = position.own_and_opp();
    let mut order = RootOrder::new(position);

    if empties <= usize::from(limits.exact_empties) {
        if empties > 8 {
            // A look ahead at small cost puts the likely best moves first.
            deepen(&mut context, own, opp, (empties as u32 / 3).min(8), &mut order);
        }
        let (square, discs) = solve_root(&mut context, own, opp, order.squares());
        let (best, score) = (Move::Place(Square::masked(square)), 100 * discs);
        return Some(Found {
            best,
            score,
            depth: empties as u8,
            exact: true,
            nodes: context.nodes,
        });
    }

    let depth = u32::from(limits.depth.clamp(1, 60));
    let (square, score) = deepen(&mut context, own, opp, depth, &mut order);
    let best = Move::Place(Square::masked(square));
    Some(Found {
        best,
        score,
        depth: depth as u8,
        exact: false,
        nodes: context.nodes,
    })
}

/// The true value of the game for the player to act, in discs with empty squares to the winner, and a best move. A game
/// that is over has its final margin from black's side and no move. Cost grows about threefold with each empty square.
#[must_use]
pub fn solve(position: &Position, table_bits: u8) -> (i8, Option<Found>) {
    let limits = Limits {
        depth: 1,
        exact_empties: 64,
        table_bits,
    };
    match search(position, limits) {
        Some(found) => ((found.score / 100) as i8, Some(found)),
        None => {
            let (own, opp) = position.own_and_opp();
            (kernel::final_discs(own, opp) as i8, None)
        }
    }
}

/// Iterative deepening: each depth puts its best move first for the next. Without a table only the first and the last
/// depth are worth their cost.
fn deepen(context: &mut Context, own: u64, opp: u64, depth: u32, order: &mut RootOrder) -> (u32, i32) {
    let mut found = (0, 0);
    for depth in 1..=depth {
        found = limited_root(context, own, opp, depth, order.squares());
        order.put_first(found.0);
    }
    found
}

fn limited_root(context: &mut Context, own: u64, opp: u64, depth: u32, squares: &[u32]) -> (u32, i32) {
    dispatch!(kernel, limited_root(context, own, opp, depth, squares))
}

fn solve_root(context: &mut Context, own: u64, opp: u64, squares: &[u32]) -> (u32, i32) {
    dispatch!(kernel, solve_root(context, own, opp, squares))
}

/// The moves of the position that is searched, in the order they are tried.
struct RootOrder {
    squares: [u32; 64],
    len: usize,
}

impl RootOrder {
    fn new(position: &Position) -> RootOrder {
        let mut order = RootOrder {
            squares: [0; 64],
            len: position.placements().len(),
        };
        for (slot, square) in order.squares.iter_mut().zip(position.placements()) {
            *slot = u32::from(square.index());
        }
        order
    }

    fn squares(&self) -> &[u32] {
        self.squares.get(..self.len).unwrap_or_default()
    }

    /// Moves a square to the front; the others keep their order.
    fn put_first(&mut self, square: u32) {
        if let Some(index) = self.squares().iter().position(|it| *it == square)
            && let Some(head) = self.squares.get_mut(..=index)
        {
            head.rotate_right(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reversi::{Start, transcript};

    /// The answer must not depend on the processor: both compilations visit the same positions.
    #[test]
    fn r16_portable_code_finds_the_same() {
        const GAME: &str = "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2";
        let mut searched = 0;
        for plies in 0..=GAME.len() / 2 {
            let read = transcript::read(Start::Crossed.position(), &GAME[..plies * 2]).expect("a legal game");
            let (own, opp) = read.position.own_and_opp();
            let squares: Vec<u32> = read
                .position
                .placements()
                .map(|square| u32::from(square.index()))
                .collect();
            let mut contexts = [12, 12].map(|bits| Context {
                table: Table::new(bits),
                nodes: 0,
            });
            let [here, portable] = &mut contexts;
            assert_eq!(
                limited_root(here, own, opp, 5, &squares),
                kernel::portable::limited_root(portable, own, opp, 5, &squares)
            );
            assert_eq!(here.nodes, portable.nodes);
            searched += here.nodes;
        }
        assert!(searched > 1_000);
    }
}
