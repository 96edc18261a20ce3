//! Bad input: exit code 2, with file, record, move number and reason; a bad command line: 64.

use tempfile::TempDir;

use crate::tool::{command, file, finished, run, text};

const WIPE_OUT: &str = "F5D6C5F6E7F4G5E6E3";

#[test]
fn an_illegal_move_is_named_with_file_record_move_and_reason_r13() {
    let folder = TempDir::new().unwrap();
    let lines = format!("{WIPE_OUT}\n\n{WIPE_OUT}\nF5D6A1\n{WIPE_OUT}\nf5z9\nF5F6F6\n");
    let path = file(&folder, "games.txt", lines);
    let run = run(&["replay", text(&path)]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stdout.is_empty(), "{run:?}");
    let told: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(told.len(), 4, "{run:?}");
    for (line, place) in told.iter().zip([
        "record 3 (line 4), move 3:",
        "record 5 (line 6), move 2:",
        "record 6 (line 7), move 3:",
    ]) {
        assert!(
            line.starts_with(&format!("{}: {place} ", text(&path))),
            "{line} {place}"
        );
    }
    assert!(told[0].contains("A1"), "{}", told[0]);
    assert!(told[3].starts_with('3'), "{}", told[3]);
}

#[test]
fn a_wthor_file_is_checked_before_anything_is_played_r13() {
    let folder = TempDir::new().unwrap();
    let mut wthor = vec![0; 16];
    wthor[4] = 2;
    // Two records: 5 6 is f5, 6 4 is d6; the second's second move is off the board.
    for moves in [[56, 64], [56, 99]] {
        let mut record = [0; 68];
        record[6] = 32;
        record[8..10].copy_from_slice(&moves);
        wthor.extend(record);
    }
    let path = file(&folder, "games.wtb", &wthor);
    let bad_move = run(&["replay", text(&path)]);
    assert_eq!(bad_move.code, 2, "{bad_move:?}");
    assert!(
        bad_move.stderr.contains("record 2, move 2: byte 99"),
        "{bad_move:?}"
    );

    wthor.truncate(100);
    let path = file(&folder, "short.wtb", &wthor);
    let short = run(&["replay", text(&path)]);
    assert_eq!(short.code, 2, "{short:?}");
    assert!(short.stderr.contains("the header says 2 games"), "{short:?}");
}

#[test]
fn a_ggf_game_is_checked_r13() {
    let folder = TempDir::new().unwrap();
    let board = "8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *";
    let game = format!("(;GM[Othello]PB[a]PW[b]BO[{board}]B[d3]W[c5]B[a1];)");
    let path = file(&folder, "games.ggf", game);
    let run = run(&["replay", text(&path)]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("record 1 (line 1), move 3"), "{run:?}");
}

#[test]
fn files_that_hold_nothing_to_read_are_named() {
    let folder = TempDir::new().unwrap();
    let empty = file(&folder, "empty.txt", "\n\n");
    let binary = file(&folder, "binary.tsv", [0x46, 0x35, 0xff, 0xfe]);
    let missing = folder.path().join("missing.tsv");
    let run = run(&["replay", text(&empty), text(&binary), text(&missing)]);
    assert_eq!(run.code, 2, "{run:?}");
    for path in [&empty, &binary, &missing] {
        assert!(run.stderr.contains(text(path)), "{run:?}");
    }
}

#[test]
fn the_language_is_that_of_the_environment() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "games.txt", "A1");
    let run = finished(
        command(&["replay", text(&path)])
            .env("LANG", "zh_CN.UTF-8")
            .output()
            .unwrap(),
    );
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("1 条记录无法读取"), "{run:?}");
}

#[test]
fn a_bad_command_line_is_another_matter() {
    for args in [
        vec![],
        vec!["nonsense"],
        vec!["replay"],
        vec!["replay", "x", "--store", "postgres://x"],
        vec!["replay", "x", "--concurrency", "0"],
    ] {
        let run = run(&args);
        assert_eq!(run.code, 64, "{args:?}: {run:?}");
    }
    let help = run(&["--help"]);
    assert_eq!(help.code, 0);
    for name in ["dev", "play", "watch", "export", "replay", "load"] {
        assert!(help.stdout.contains(name), "{help:?}");
    }
}

#[test]
fn a_service_that_nobody_started_is_told_at_once() {
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .to_string();
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "games.txt", WIPE_OUT);
    for args in [
        ["replay", text(&path), "--server", &address].as_slice(),
        &["load", "--duration", "1s", "--server", &address],
        &["load", "--direct", "--duration", "1s", "--server", &address],
    ] {
        let run = run(args);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(
            run.stderr.contains(&format!("no service listens on {address}")),
            "{run:?}"
        );
        assert!(run.stdout.is_empty(), "{run:?}");
    }
}
