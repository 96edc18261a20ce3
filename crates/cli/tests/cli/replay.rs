//! Real games through the API of an embedded service.

use tempfile::TempDir;

use crate::tool::{file, run, text};

/// The shortest wipe-out there is: 13–0.
const WIPE_OUT: &str = "F5D6C5F6E7F4G5E6E3";
/// A tournament game with passes.
const HEADER: &str = "year\tindex\tblack_score\ttheoretical_black_score\ttheoretical_depth\ttranscript\n";

/// The number behind a name in the report.
fn number(report: &str, name: &str) -> u64 {
    let line = report
        .lines()
        .find(|line| line.trim_start().starts_with(name))
        .unwrap_or_else(|| panic!("no {name} in {report}"));
    line.split_whitespace()
        .last()
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap()
}

#[test]
fn scores_are_compared_with_the_empties_given_to_the_winner_r10() {
    let folder = TempDir::new().unwrap();
    let lines = format!(
        "{HEADER}2000\t1\t64\t64\t24\t{WIPE_OUT}\n\
         2000\t2\t20\t20\t24\tF5D6C5\n\
         1977\t0\t34\t41\t24\tF5D6C3F3F4D3C4G6F6E6C5C6D7D8E7G5E3D2G4H3F7B5H5G3B4B6C8B8C7E8F8G8H4H6E2D1C1A3A6A5E1F2G7C2A4H8A2B7F1B3B1B2H7A7A8A1G1G2H2H1\n"
    );
    let path = file(&folder, "games.tsv", lines);
    let run = run(&["replay", text(&path)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(number(&run.stdout, "games"), 3);
    assert_eq!(number(&run.stdout, "moves "), 9 + 3 + 60);
    assert_eq!(number(&run.stdout, "unfinished"), 1);
    assert_eq!(number(&run.stdout, "final scores compared"), 2);
    assert_eq!(number(&run.stdout, "mismatches"), 0);
    // Not a terminal: no progress bar, nothing else to say.
    assert!(run.stderr.is_empty(), "{run:?}");
}

#[test]
fn a_score_that_does_not_fit_is_a_mismatch() {
    let folder = TempDir::new().unwrap();
    let path = file(
        &folder,
        "games.tsv",
        format!("{HEADER}2000\t1\t51\t64\t24\t{WIPE_OUT}\n"),
    );
    let run = run(&["replay", text(&path)]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(number(&run.stdout, "mismatches"), 1);
    assert!(run.stderr.contains("record 1"), "{run:?}");
    assert!(
        run.stderr.contains("+64") && run.stderr.contains("+38"),
        "{run:?}"
    );
}

#[test]
fn a_ggf_game_is_played_from_its_own_start_and_its_score_is_raw_r10_r14() {
    let folder = TempDir::new().unwrap();
    // White to move has no move: the game begins with a pass, and black's h1 wipes white out with 7 discs.
    let board = "8 ***OOOO- -------- -------- -------- -------- -------- -------- -------- O";
    let pass = format!("(;GM[Othello]PB[a]PW[b]RE[+8.000]BO[{board}]W[PA]B[h1];)");
    let usual = "8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *";
    let wipe_out = format!(
        "(;GM[Othello]PB[a]PW[b]RE[+13.000]BO[{usual}]B[f5]W[d6]B[c5]W[f6]B[e7]W[f4]B[g5]W[e6]B[e3];)"
    );
    let path = file(&folder, "games.ggf", format!("{pass}\n{wipe_out}\n"));
    let run = run(&["replay", text(&path)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(number(&run.stdout, "games"), 2);
    assert_eq!(number(&run.stdout, "passes"), 1);
    assert_eq!(number(&run.stdout, "final scores compared"), 2);
}

#[test]
fn good_games_are_played_beside_bad_ones_only_when_asked_to() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "games.txt", format!("{WIPE_OUT}\nA1\n"));
    let run = run(&["replay", "--keep-going", text(&path)]);
    assert_eq!(run.code, 2, "{run:?}");
    assert_eq!(number(&run.stdout, "games"), 1);
    assert!(run.stderr.contains("record 2"), "{run:?}");
}
