//! Files of games as they come: other column orders, other line ends, truncated, garbage.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use proptest::prelude::*;
use tablemate_engine::record::{self, FileKind, GameRecord, RecordError};
use tablemate_engine::reversi::wthor::{HEADER_BYTES, RECORD_BYTES};
use tablemate_engine::reversi::{MarginMethod, Start};

const WIPE_OUT: &str = "F5D6C5F6E7F4G5E6E3";

fn read(name: &str, text: &str) -> Vec<Result<GameRecord, RecordError>> {
    record::read_any(name, text.as_bytes())
}

fn shown(records: Vec<Result<GameRecord, RecordError>>) -> Vec<String> {
    records
        .into_iter()
        .map(|record| match record {
            Ok(game) => format!(
                "{}: {} moves, finished {}, score {:?}",
                game.location,
                game.moves.len(),
                game.finished,
                game.score_matches()
            ),
            Err(error) => error.to_string(),
        })
        .collect()
}

/// A WTHOR file of games given as black's score and moves.
fn wthor(games: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = vec![20, 25, 11, 30];
    file.extend((games.len() as u32).to_le_bytes());
    file.extend([0, 0, 0xe9, 7, 8, 0, 24, 0]);
    assert_eq!(file.len(), HEADER_BYTES);
    for (score, moves) in games {
        file.extend([1, 0, 2, 0, 3, 0, *score, *score]);
        file.extend(*moves);
        file.resize(file.len() + 60 - moves.len(), 0);
    }
    file
}

const WIPE_OUT_BYTES: [u8; 9] = [56, 64, 53, 66, 75, 46, 57, 65, 35];

#[test]
fn r13_bare_transcripts_one_a_line() {
    let text = format!(
        "\u{feff}\r\n{WIPE_OUT}\r\n\r\n  f5 d6 c3  \r\n# a comment\r\n\"F5D6\"\r\nf5d6a1\nhello\nf5d6ps\n\n"
    );
    assert_eq!(
        shown(read("games.txt", &text)),
        [
            "record 1 (line 2): 9 moves, finished true, score None",
            "record 2 (line 4): 3 moves, finished false, score None",
            "record 3 (line 6): 2 moves, finished false, score None",
            "record 4 (line 7), move 3: \"a1\": a1 turns no disc",
            "record 5 (line 8), move 1: \"he\": not a move",
            "record 6 (line 9), move 3: \"ps\": a player with a legal move must move",
        ]
    );
}

#[test]
fn r13_columns_are_found_by_their_names() {
    let text = format!(
        "Transcript\tBlack Score\tBlack\tWhite\r\n{WIPE_OUT}\t64\tAda\tBen\r\n{WIPE_OUT}\t13\t\t\r\nf5d6\t40\n{WIPE_OUT}\t65\n"
    );
    let records = read("x.tsv", &text);
    let first = records[0].as_ref().expect("readable");
    assert_eq!(first.players, [Some("Ada".to_owned()), Some("Ben".to_owned())]);
    assert_eq!(
        first.expected_score.map(|score| (score.difference, score.method)),
        Some((64, MarginMethod::EmptiesToWinner))
    );
    assert_eq!(
        shown(records),
        [
            "record 1 (line 2): 9 moves, finished true, score Some(true)",
            "record 2 (line 3): 9 moves, finished true, score Some(false)",
            "record 3 (line 4): 2 moves, finished false, score None",
            "record 4 (line 5): a score of \"65\": expected 0 to 64 discs",
        ]
    );
    let csv = format!("eOthello_game_id,winner,game_moves\n1,1,{WIPE_OUT}\n2,-1\n");
    assert_eq!(
        shown(read("x.csv", &csv)),
        [
            "record 1 (line 2): 9 moves, finished true, score None",
            "record 2 (line 3): 2 columns, but the header puts the transcript in column 3",
        ]
    );
    // The usual columns are known even when their header row was cut off, and any column may be the transcript.
    let cut =
        format!("1977\t3\t64\t64\t24\t{WIPE_OUT}\nsome game\t{WIPE_OUT}\na\tb\n1980\t1\t32\t32\t24\t\n");
    assert_eq!(
        shown(read("", &cut)),
        [
            "record 1 (line 1): 9 moves, finished true, score Some(true)",
            "record 2 (line 2): 9 moves, finished true, score None",
            "record 3 (line 3): no transcript in \"a\\tb\"",
            "record 4 (line 4): 0 moves, finished false, score None",
        ]
    );
}

#[test]
fn r13_wthor_files() {
    let good = wthor(&[(64, &WIPE_OUT_BYTES), (13, &WIPE_OUT_BYTES), (40, &[56, 64])]);
    assert_eq!(
        record::detect("anything", &wthor(&[(200, &WIPE_OUT_BYTES)])),
        FileKind::Wthor
    );
    assert_eq!(
        shown(record::read_any("X.WTB", &good)),
        [
            "record 1: 9 moves, finished true, score Some(true)",
            "record 2: 9 moves, finished true, score Some(false)",
            "record 3: 2 moves, finished false, score None",
        ]
    );
    assert_eq!(
        shown(record::read_any("x.wtb", &good[..good.len() - 1])),
        [
            "record 1: 9 moves, finished true, score Some(true)",
            "record 2: 9 moves, finished true, score Some(false)",
            "record 3: the header says 3 games, which is 220 bytes; the file has 219",
        ]
    );
    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(
        shown(record::read_any("x.wtb", &longer))
            .last()
            .map(String::as_str),
        Some("file: the header says 3 games, which is 220 bytes; the file has 221")
    );
    let bad = wthor(&[
        (64, &[56, 56]),
        (64, &[56, 99]),
        (64, &[56, 0, 64]),
        (65, &[56]),
        (64, &[11]),
    ]);
    assert_eq!(
        shown(record::read_any("x.wtb", &bad)),
        [
            "record 1, move 2: byte 56: f5 is occupied",
            "record 2, move 2: byte 99: not a square: expected 10 × row + column, 11 to 88",
            "record 3, move 2: byte 64: a move after the end mark",
            "record 4: a score of \"65\": expected 0 to 64 discs",
            "record 5, move 1: byte 11: a1 turns no disc",
        ]
    );
    assert_eq!(
        shown(record::read_any("x.wtb", &good[..10])),
        ["file: 10 bytes are no WTHOR file: its header alone has 16"]
    );
    let mut ten = good;
    ten[12] = 10;
    assert_eq!(
        shown(record::read_any("x.wtb", &ten)),
        ["file: a board of size 10: only 8 is supported"]
    );
}

#[test]
fn r13_ggf_files_are_told_by_their_contents() {
    let game = "\u{feff}\r\n 1 (;GM[Othello]PB[a]PW[b]TY[8]RE[+13.000]B[F5]W[D6]B[C5]W[F6]B[E7]W[F4]B[G5]W[E6]B[E3]W[pass];)\r\n";
    let records = read("games", game);
    assert_eq!(records[0].as_ref().map(|game| game.start), Ok(Start::Crossed));
    // The pass after the end is not a ply: the game ends with the last move.
    assert_eq!(
        shown(records),
        ["record 1 (line 2): 9 moves, finished true, score Some(true)"]
    );
    let timed_out = game.replace("+13.000", "-64.00:t");
    assert_eq!(
        shown(read("games", &timed_out)),
        ["record 1 (line 2): 9 moves, finished true, score None"]
    );
}

#[test]
fn files_without_games_are_an_error() {
    for name in ["x.txt", "x.ggf", ""] {
        assert_eq!(shown(read(name, "")), ["file: no games in the file"]);
        assert_eq!(shown(read(name, " \r\n\n")), ["file: no games in the file"]);
    }
    assert_eq!(
        shown(read("x.tsv", "year\ttranscript\n")),
        ["file: no games in the file"]
    );
    assert_eq!(
        shown(record::read_any("x.wtb", &wthor(&[]))),
        ["file: no games in the file"]
    );
    assert_eq!(
        shown(record::read_any("x.txt", b"f5d6\n\xff\x01")),
        ["file: neither a WTHOR file nor text: byte 6 is a control character"]
    );
}

#[test]
fn names_in_an_older_encoding_do_not_hide_the_games() {
    let ggf =
        b"(;GM[Othello]PC[x]PB[Andr\xe9]PW[M\xfcller]TY[8]BO[8 -------- -------- -------- ---O*--- ---*O--- \
                -------- -------- -------- *]B[d3]W[c5];)\n";
    assert_eq!(
        shown(record::read_any("x.ggf", ggf)),
        ["record 1 (line 1): 2 moves, finished false, score None"]
    );
    let tsv = b"player\ttranscript\nAndr\xe9\tF5D6\nM\xfcller\tf5a1\n";
    let read = shown(record::read_any("x.tsv", tsv));
    assert_eq!(read[0], "record 1 (line 2): 2 moves, finished false, score None");
    assert!(read[1].contains("a1 turns no disc"), "{read:?}");
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), name in "(x.wtb|x.ggf|x.txt|)") {
        prop_assert!(!record::read_any(&name, &bytes).is_empty());
        let _ = record::read_wthor(&bytes);
        let _ = record::read_tsv(&String::from_utf8_lossy(&bytes));
        let _ = record::read_ggf(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_wthor_moves_are_read_or_refused(
        moves in prop::collection::vec(any::<u8>(), 0..=60), score in any::<u8>(), cut in 0..=RECORD_BYTES,
    ) {
        let file = wthor(&[(score, &moves), (32, &[])]);
        prop_assert_eq!(record::read_any("x.wtb", &file).len(), 2);
        prop_assert_eq!(record::read_any("x.wtb", &file[..file.len() - cut]).len(), 2);
    }
}
