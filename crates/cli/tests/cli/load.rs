//! Simulated players on an embedded service: short, and nothing may be wrong.

use crate::tool::{Run, run};

fn clean(run: &Run) {
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("violations: 0"), "{run:?}");
    assert!(run.stderr.is_empty(), "{run:?}");
}

fn number(run: &Run, name: &str) -> u64 {
    let line = run
        .stdout
        .lines()
        .find(|line| line.trim_start().starts_with(name))
        .unwrap_or_else(|| panic!("no {name} in {run:?}"));
    let rest = line.trim_start().strip_prefix(name).unwrap();
    let value = rest.split_whitespace().find(|word| *word != "|").unwrap();
    value.replace(',', "").parse().unwrap()
}

#[test]
fn players_who_queue_play_watch_and_come_back_see_nothing_wrong_s20_s22_s25() {
    let run = run(&[
        "load",
        "--players",
        "8",
        "--duration",
        "3s",
        "--think",
        "5ms",
        "--disconnects",
        "0.2",
        "--away",
        "20ms",
        "--repeats",
        "0.2",
    ]);
    clean(&run);
    assert!(number(&run, "games finished") >= 4, "{run:?}");
    assert!(number(&run, "streams dropped on purpose") > 0, "{run:?}");
    assert!(number(&run, "commands repeated on purpose") > 0, "{run:?}");
    assert_eq!(number(&run, "player records compared"), 8);
}

#[test]
fn a_number_of_games_bounds_the_load() {
    let run = run(&["load", "--players", "4", "--games", "4"]);
    clean(&run);
    assert!((4..8).contains(&number(&run, "games finished")), "{run:?}");
}

#[test]
fn sessions_without_matchmaking_are_played_to_their_end() {
    let run = run(&["load", "--direct", "--players", "8", "--games", "8"]);
    clean(&run);
    assert!(number(&run, "games finished") >= 8, "{run:?}");
}

#[test]
fn the_server_moves_in_idle_sessions_s9() {
    let run = run(&[
        "load",
        "--idle-sessions",
        "20",
        "--move-time",
        "1s",
        "--duration",
        "2s",
    ]);
    clean(&run);
    assert!(number(&run, "automatic moves seen") >= 20, "{run:?}");
    assert!(run.stdout.contains("(timer lateness)"), "{run:?}");
}
