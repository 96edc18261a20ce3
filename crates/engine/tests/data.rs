//! Thousands of real games and problems, where they lie: `TABLEMATE_DATA`, or `../shared/data` beside the workspace.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use std::path::PathBuf;

use tablemate_engine::record::{self, FileKind, GameRecord};
use tablemate_engine::reversi::notation::Problem;
use tablemate_engine::reversi::{self, EndReason, ggf, transcript};
use tablemate_engine::search;

/// The bytes of a data file; `None` (said loudly) when the data is absent, which under `CI` is a failure.
fn data(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("TABLEMATE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("reversi").join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let absent = format!("{} cannot be read ({error})", path.display());
            assert!(
                std::env::var_os("CI").is_none(),
                "{absent}: under CI the data must be there"
            );
            eprintln!("SKIPPED: {absent}; set TABLEMATE_DATA to the folder with the data");
            None
        }
    }
}

/// Reads a file whose every game must be readable and, when finished, have the score it claims.
fn games(name: &str, kind: FileKind) -> Option<Vec<GameRecord>> {
    let bytes = data(name)?;
    assert_eq!(record::detect(name, &bytes), kind);
    let games: Vec<_> = record::read_any(name, &bytes)
        .into_iter()
        .map(|game| game.expect("a readable game"))
        .collect();
    for game in &games {
        assert_ne!(
            game.score_matches(),
            Some(false),
            "{}: {:?}",
            game.location,
            game.position
        );
        let text = transcript::write(game.moves.iter().copied());
        let again = transcript::read(game.start.position(), &text).expect("what was written is readable");
        assert_eq!(
            (again.moves, again.position),
            (game.moves.clone(), game.position),
            "{}",
            game.location
        );
    }
    Some(games)
}

#[test]
fn r13_tournament_games_of_the_table_have_their_scores() {
    let Some(games) = games("wthor_sample.tsv", FileKind::Lines) else {
        return;
    };
    assert_eq!(games.len(), 4_621);
    let count = |wanted: &dyn Fn(&GameRecord) -> bool| games.iter().filter(|game| wanted(game)).count();
    assert!(games.iter().all(|game| game.expected_score.is_some()));
    assert!(
        count(&|game| !game.finished) > 0,
        "unfinished games are in the sample"
    );
    assert!(
        count(&|game| game.passes() >= 10) > 0,
        "games with many passes are in the sample"
    );
    let ended = |reason| {
        count(&|game: &GameRecord| {
            game.position
                .outcome()
                .is_some_and(|outcome| outcome.reason == reason)
        })
    };
    assert!(
        ended(EndReason::WipeOut) > 0 && ended(EndReason::NoMoves) > 0 && ended(EndReason::BoardFull) > 0
    );
    eprintln!(
        "{} games: {} unfinished, {} passes, {} wipe-outs, {} by no moves, {} full",
        games.len(),
        count(&|game| !game.finished),
        games.iter().map(GameRecord::passes).sum::<usize>(),
        ended(EndReason::WipeOut),
        ended(EndReason::NoMoves),
        ended(EndReason::BoardFull),
    );
}

#[test]
fn r13_tournament_games_of_2025_in_wthor_have_their_scores() {
    let Some(games) = games("WTH_2025.wtb", FileKind::Wthor) else {
        return;
    };
    assert_eq!(games.len(), 2_010);
    assert_eq!(games.last().map(|game| game.location.record), Some(2_010));
}

#[test]
fn r13_ggf_games_have_their_scores_and_are_written_back() {
    let Some(games) = games("games.ggf", FileKind::Ggf) else {
        return;
    };
    assert_eq!(games.len(), 12);
    assert!(
        games
            .iter()
            .all(|game| game.finished && game.score_matches() == Some(true))
    );
    assert!(games.iter().map(GameRecord::passes).sum::<usize>() >= 5);
    let bytes = data("games.ggf").expect("it was there a moment ago");
    let text = String::from_utf8(bytes).expect("GGF is text");
    for game in ggf::read(&text) {
        let game = game.expect("a readable game");
        let again = ggf::read(&ggf::write(&game))
            .next()
            .expect("a game")
            .expect("readable");
        assert_eq!(
            ggf::Game {
                line: game.line,
                ..again
            },
            game
        );
    }
}

#[test]
fn r14_endgame_problems_name_every_legal_move() {
    let Some(bytes) = data("ffo_40_59.obf") else {
        return;
    };
    let text = String::from_utf8(bytes).expect("problems are text");
    let problems: Vec<Problem> = text
        .lines()
        .map(|line| line.parse().unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    assert_eq!(problems.len(), 20);
    for (problem, line) in problems.iter().zip(text.lines()) {
        let mut named: Vec<reversi::Move> = problem.scores.iter().map(|(mv, _)| *mv).collect();
        named.sort();
        let legal: Vec<reversi::Move> = problem.position.legal_moves().collect();
        assert_eq!(named, legal, "{line}");
        assert_eq!(problem.to_string(), line.trim_end());
    }
}

#[test]
fn endgame_problems_of_20_and_22_empty_squares_are_solved_exactly() {
    let Some(bytes) = data("ffo_40_59.obf") else {
        return;
    };
    let text = String::from_utf8(bytes).expect("problems are text");
    // Number 40 and number 44: the others of their size take longer, and show no more.
    for line in text.lines().take(5).step_by(4) {
        let problem: Problem = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        let (score, found) = search::solve(&problem.position, 21);
        assert_eq!(score, problem.scores[0].1, "{line}");
        let found = found.expect("a move");
        assert!(
            problem.scores.contains(&(found.best, score)),
            "{line}: {}",
            found.best
        );
    }
}
