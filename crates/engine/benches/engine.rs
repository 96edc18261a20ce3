//! Speed of the rules and the search: `cargo bench -p tablemate-engine`.
//!
//! Positions come from games of random legal moves, the same in every run. First the 99th percentile of the default
//! auto-move is printed, which divan does not show.

use std::hint::black_box;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use tablemate_engine::game;
use tablemate_engine::policy::{self, Policy};
use tablemate_engine::reversi::{Move, Position, Start};
use tablemate_engine::search::{self, Level};

fn main() {
    print_auto_move_percentiles();
    divan::main();
}

/// Every position with a choice of moves from `games` games of random moves.
fn positions(games: u64) -> Vec<Position> {
    let mut positions = Vec::new();
    for game in 0..games {
        let mut position = Start::Crossed.position();
        for ply in 0.. {
            let Some(mv) = random_move(position, game << 8 | ply) else {
                break;
            };
            let Ok((next, _)) = position.play(mv) else { break };
            position = next;
            if position.placements().len() > 1 {
                positions.push(position);
            }
        }
    }
    positions
}

fn random_move(position: Position, seed: u64) -> Option<Move> {
    policy::choose(&game::Position::from(position), Policy::Random, seed).map(|game::Move::Reversi(mv)| mv)
}

/// Of the positions of some games those with about this many empty squares, at most `count`.
fn with_empties(games: u64, empties: std::ops::RangeInclusive<usize>, count: usize) -> Vec<game::Position> {
    let fitting = positions(games)
        .into_iter()
        .filter(|position| empties.contains(&position.empties().len()));
    fitting.map(game::Position::from).take(count).collect()
}

fn print_auto_move_percentiles() {
    let positions: Vec<_> = positions(200).into_iter().map(game::Position::from).collect();
    for (name, policy) in [
        ("engine, lowest level", Policy::Engine { level: Level::LOWEST }),
        ("greedy", Policy::Greedy),
        ("random", Policy::Random),
    ] {
        let mut times: Vec<Duration> = positions
            .iter()
            .map(|position| {
                let start = Instant::now();
                black_box(policy::choose(black_box(position), policy, 1));
                start.elapsed()
            })
            .collect();
        times.sort();
        let at = |percent: usize| {
            times
                .get(times.len() * percent / 100)
                .copied()
                .unwrap_or_default()
        };
        let longest = times.last().copied().unwrap_or_default();
        println!(
            "auto-move, {name}: {} positions, p50 {:?}, p99 {:?}, longest {longest:?}",
            times.len(),
            at(50),
            at(99)
        );
    }
}

/// Position with its legal moves found, from the discs alone.
#[divan::bench]
fn legal_moves(bencher: Bencher) {
    let positions: Vec<_> = positions(20);
    let parts: Vec<_> = positions
        .iter()
        .filter_map(|position| {
            let black = position.discs(tablemate_engine::Colour::Black);
            let white = position.discs(tablemate_engine::Colour::White);
            Some((black, white, Some(position.to_act()?)))
        })
        .collect();
    bencher.counter(ItemsCount::new(parts.len())).bench(|| {
        parts
            .iter()
            .filter_map(|&(black, white, to_act)| Position::new(black, white, to_act).ok())
            .map(|position| position.placements().bits())
            .fold(0, u64::wrapping_add)
    });
}

/// The first legal move played, turned discs listed and the next position made ready.
#[divan::bench]
fn play(bencher: Bencher) {
    let positions: Vec<_> = positions(20);
    bencher.counter(ItemsCount::new(positions.len())).bench(|| {
        for position in &positions {
            if let Some(mv) = position.legal_moves().next() {
                let _ = black_box(position.play(mv));
            }
        }
    });
}

/// Leaves of perft 9 from the usual start, the last ply counted in bulk.
#[divan::bench(sample_count = 20)]
fn perft_9_bulk(bencher: Bencher) {
    let start = Start::Crossed.position();
    bencher
        .counter(ItemsCount::new(3_005_288_usize))
        .bench(|| search::perft(black_box(&start), 9));
}

/// Leaves of perft 9 from the usual start, every leaf position made.
#[divan::bench(sample_count = 20)]
fn perft_9_full(bencher: Bencher) {
    let start = Start::Crossed.position();
    bencher
        .counter(ItemsCount::new(3_005_288_usize))
        .bench(|| search::perft_full(black_box(&start), 9));
}

/// A move of the engine, averaged over positions of the midgame.
#[divan::bench(args = 1..=8_u8, sample_count = 3, sample_size = 1)]
fn auto_move_midgame(bencher: Bencher, level: u8) {
    let positions = with_empties(40, 24..=40, 8);
    bench_engine(bencher, &positions, level);
}

/// A move of the engine, averaged over positions with 12 to 16 empty squares.
#[divan::bench(args = 1..=8_u8, sample_count = 3, sample_size = 1)]
fn auto_move_endgame(bencher: Bencher, level: u8) {
    let positions = with_empties(40, 12..=16, 8);
    bench_engine(bencher, &positions, level);
}

fn bench_engine(bencher: Bencher, positions: &[game::Position], level: u8) {
    let policy = Policy::Engine {
        level: Level::new(level).unwrap_or_default(),
    };
    bencher.counter(ItemsCount::new(positions.len())).bench(|| {
        for position in positions {
            black_box(policy::choose(position, policy, 0));
        }
    });
}
