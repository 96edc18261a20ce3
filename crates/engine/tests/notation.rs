//! R-13 and R-14: transcripts, GGF, and positions as text.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use proptest::prelude::*;
use tablemate_engine::reversi::notation::{self, PositionTextError, Problem, ProblemError};
use tablemate_engine::reversi::transcript::{self, TranscriptReason};
use tablemate_engine::reversi::{
    IllegalMove, Move, MoveError, Position, PositionError, Square, SquareError, Start, ggf,
};

const CROSSED: &str = "---------------------------OX------XO--------------------------- X";

/// A game of random moves up to some ply.
fn any_game() -> impl Strategy<Value = (Start, Vec<Move>, Position)> {
    (
        any::<bool>(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..70),
    )
        .prop_map(|(parallel, choices)| {
            let start = if parallel { Start::Parallel } else { Start::Crossed };
            let (mut position, mut played) = (start.position(), Vec::new());
            for choice in choices {
                let moves: Vec<Move> = position.legal_moves().collect();
                if moves.is_empty() {
                    break;
                }
                played.push(*choice.get(&moves));
                position = position.play(played[played.len() - 1]).expect("a legal move").0;
            }
            if position.must_pass() {
                played.push(Move::Pass);
                position = position.play(Move::Pass).expect("a forced pass").0;
            }
            (start, played, position)
        })
}

proptest! {
    #[test]
    fn r13_transcripts_round_trip((start, moves, position) in any_game()) {
        let text = transcript::write(moves.iter().copied());
        let read = transcript::read(start.position(), &text).expect("what was written is readable");
        prop_assert_eq!((&read.moves, read.position), (&moves, position));
        let upper = transcript::read(start.position(), &text.to_uppercase()).expect("upper case is read");
        prop_assert_eq!(&upper.moves, &moves);
        for pass in ["ps", "PA", "--", "pass"] {
            let explicit: Vec<String> =
                moves.iter().map(|mv| if *mv == Move::Pass { pass.to_owned() } else { mv.to_string() }).collect();
            for separator in ["", " ", ",\n"] {
                let read = transcript::read(start.position(), &explicit.join(separator)).expect("explicit passes");
                prop_assert_eq!((&read.moves, read.position), (&moves, position));
            }
        }
    }

    #[test]
    fn r13_ggf_round_trips((start, moves, position) in any_game(), name in "[^\r\n]{0,20}") {
        let game = ggf::Game {
            line: 1,
            black: Some(name.clone()),
            white: None,
            place: Some("a [b\\c] d".to_owned()),
            date: None,
            variant: Some("8".to_owned()),
            start,
            moves: moves.into_iter().map(|mv| ggf::GameMove {
                mv, evaluation: (mv != Move::Pass).then_some(-2.25), seconds: Some(0.5),
            }).collect(),
            result: Some(ggf::GameResult { difference: -6, end: ggf::ResultEnd::Resigned }),
            position,
        };
        let text = ggf::write(&game);
        let read: Vec<_> = ggf::read(&text).collect();
        prop_assert_eq!(read, [Ok(game)]);
    }

    #[test]
    fn r14_positions_round_trip((_, _, position) in any_game()) {
        prop_assert_eq!(position.to_string().parse(), Ok(position));
        prop_assert_eq!(position.to_string().to_lowercase().parse(), Ok(position));
        prop_assert_eq!(position.to_string().replace('-', ".").parse(), Ok(position));
        prop_assert_eq!(notation::read_ggf_board(&notation::write_ggf_board(&position)), Ok(position));
        if let Ok(start) = Start::from_position(position) {
            prop_assert_eq!(start.to_string().parse(), Ok(start));
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in any::<String>()) {
        let _ = text.parse::<Position>();
        let _ = text.parse::<Problem>();
        let _ = text.parse::<Start>();
        let _ = text.parse::<Move>();
        let _ = notation::read_ggf_board(&text);
        let _ = transcript::read(Start::Crossed.position(), &text);
        let _ = ggf::read(&text).count();
        let _ = ggf::read(&format!("(;GM[Othello]{text}")).count();
    }

    #[test]
    fn almost_right_text_makes_no_reader_panic(
        text in r"(\(;|;\)|\[|\]|B\[[a-h][1-8]|W\[pass|BO\[8 |RE\[|[-*O]{8} |[a-h][1-9]|ps|é|\\|\n| ){0,40}",
    ) {
        let _ = transcript::read(Start::Crossed.position(), &text);
        let _ = ggf::read(&text).count();
        let _ = ggf::read(&format!("(;GM[Othello]{text}")).count();
    }
}

#[test]
fn r13_an_illegal_move_is_refused_with_its_number_and_the_reason() {
    let refused = |text: &str| transcript::read(Start::Crossed.position(), text).expect_err("refused");
    let error = refused("f5d6c3f5");
    assert_eq!((error.ply, error.text.as_str()), (4, "f5"));
    assert_eq!(
        error.reason,
        TranscriptReason::Illegal(IllegalMove::Occupied { square: Square::F5 })
    );
    assert_eq!(error.to_string(), r#"move 4 ("f5"): f5 is occupied"#);

    let error = refused("f5 D6 a1");
    assert_eq!((error.ply, error.text.as_str()), (3, "a1"));
    assert_eq!(
        error.reason,
        TranscriptReason::Illegal(IllegalMove::TurnsNothing { square: Square::A1 })
    );
    assert_eq!(refused("f5i9").reason, TranscriptReason::OffBoard);
    assert_eq!(refused("f5d9").reason, TranscriptReason::OffBoard);
    assert_eq!(refused("f5d").reason, TranscriptReason::Malformed);
    assert_eq!(refused("f5é6").reason, TranscriptReason::Malformed);
    for pass in ["ps", "pa", "--"] {
        let error = refused(&format!("f5{pass}d6"));
        assert_eq!(
            (error.ply, error.reason),
            (2, TranscriptReason::Illegal(IllegalMove::MustMove))
        );
    }
    let error = refused("F5D6C5F6E7F4G5E6E3a1");
    assert_eq!(
        (error.ply, error.reason),
        (10, TranscriptReason::Illegal(IllegalMove::GameOver))
    );
}

#[test]
fn r13_passes_count_as_plies_in_move_numbers() {
    // White on a1, black on b1: only white can move, so the first move stands at ply 2.
    let start: Position = format!("OX{} X", "-".repeat(62)).parse().expect("white can move");
    let read = transcript::read(start, "c1").expect("white's move");
    assert_eq!(read.moves, [Move::Pass, Move::Place(Square::C1)]);
    assert_eq!(
        transcript::read(start, "psc1").expect("explicit").moves,
        read.moves
    );
    assert_eq!(transcript::read(start, "d1").expect_err("turns nothing").ply, 2);
    // Without any move the forced pass has still happened.
    assert_eq!(transcript::read(start, "").expect("empty").moves, [Move::Pass]);
}

#[test]
fn r13_ggf_is_read_liberally() {
    let two = "2 (;GM[Othello]PC[x]BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]\
               B[F5/1.5/2]ZZ[q][r]W[d6//3.25];)(;GM[Othello]B[d3];)\r\n\r\n(;\n GM[Othello]\n B[e6]\n ;W[f6] )\n";
    let games: Vec<_> = ggf::read(two).map(|game| game.expect("readable")).collect();
    let moves: Vec<Vec<String>> = games
        .iter()
        .map(|game| game.moves.iter().map(|played| played.mv.to_string()).collect())
        .collect();
    assert_eq!(moves, [vec!["f5", "d6"], vec!["d3"], vec!["e6", "f6"]]);
    assert_eq!(games.iter().map(|game| game.line).collect::<Vec<_>>(), [1, 1, 3]);
    assert_eq!(
        (games[0].moves[0].evaluation, games[0].moves[0].seconds),
        (Some(1.5), Some(2.0))
    );
    assert_eq!(
        (games[0].moves[1].evaluation, games[0].moves[1].seconds),
        (None, Some(3.25))
    );
    assert_eq!(ggf::read("").count(), 0);
}

#[test]
fn r13_ggf_errors_say_where_and_why_and_the_next_game_is_read() {
    let text = "(;GM[Othello]B[f5]W[f5];)\n(;GM[Go]B[d3];)\n(;GM[Othello]B[d3]W[e3\n(;GM[Othello]W[d3];)(;GM[Othello]B[d3];)\n\
                what\n(;BO[10 *];)(;B[f5]B[d6];)(;B[x9];)(;B[pass];)(;GM[Othello]B[d3]";
    let read: Vec<_> = ggf::read(text).collect();
    let shown: Vec<String> = read
        .iter()
        .map(|game| {
            game.as_ref().map_or_else(
                |error| error.to_string(),
                |game| format!("{} moves", game.moves.len()),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "game 1 (line 1), move 2: move \"f5\": f5 is occupied",
            "game 2 (line 2): a game of \"Go\", not Othello",
            // Its unclosed value reaches into the next game, which is read all the same.
            "game 3 (line 3), move 2: move \"e3\\n(;GM[Othello\": not a move: expected a square such as d3, or pass",
            "game 4 (line 4), move 1: move \"d3\" by white, whose turn it is not",
            "1 moves",
            "game 6 (line 5): not a game: \"what\\n(;BO[10 *];\"",
            "game 7 (line 6): board: a board of size 10: only 8 is supported",
            "game 8 (line 6), move 2: move \"d6\" by black, whose turn it is not",
            "game 9 (line 6), move 1: move \"x9\": off the board: columns are a to h, rows 1 to 8",
            "game 10 (line 6), move 1: move \"pass\": a player with a legal move must move",
            "game 11 (line 6): the text ends inside the game",
        ]
    );
}

#[test]
fn r14_bad_positions_are_refused_with_the_reason() {
    let refused = |text: &str| text.parse::<Position>().expect_err("refused");
    assert_eq!(CROSSED.parse(), Ok(Start::Crossed.position()));
    assert_eq!(format!(" {CROSSED};\r\n").parse(), Ok(Start::Crossed.position()));
    assert_eq!(refused(""), PositionTextError::Length { found: 0 });
    assert_eq!(refused(&CROSSED[1..]), PositionTextError::Length { found: 64 });
    assert_eq!(
        refused(&format!("-{CROSSED}")),
        PositionTextError::Length { found: 66 }
    );
    let bad = CROSSED.replacen('-', "?", 1);
    assert_eq!(
        refused(&bad),
        PositionTextError::Character {
            number: 1,
            character: '?'
        }
    );
    let bad = CROSSED.replacen('-', "é", 1);
    assert_eq!(
        refused(&bad),
        PositionTextError::Character {
            number: 1,
            character: 'é'
        }
    );
    assert_eq!(
        refused(&CROSSED.replace(" X", " ?")),
        PositionTextError::Side { character: '?' }
    );
    let nobody = refused(&format!("{} X", "-".repeat(64)));
    let colour = tablemate_engine::Colour::Black;
    assert_eq!(
        nobody,
        PositionTextError::Position(PositionError::NobodyCanMove { colour })
    );
    let not_over = refused(&CROSSED.replace(" X", " -"));
    assert_eq!(
        not_over,
        PositionTextError::Position(PositionError::NotOver { colour })
    );
    assert_eq!(
        notation::read_ggf_board("10 ----"),
        Err(PositionTextError::BoardSize {
            size: "10".to_owned()
        })
    );
}

#[test]
fn r14_problem_lines() {
    let line = format!("{CROSSED}; D3:+0; C4:-2;");
    let problem: Problem = line.parse().expect("a problem");
    assert_eq!(
        problem.scores,
        [(Move::Place(Square::D3), 0), (Move::Place(Square::C4), -2)]
    );
    assert_eq!(problem.to_string(), line);
    let refused = |line: String| line.parse::<Problem>().expect_err("refused");
    assert!(matches!(
        refused(format!("{CROSSED}; D3")),
        ProblemError::Entry { number: 1, .. }
    ));
    assert!(matches!(
        refused(format!("{CROSSED}; D3:+0; C4:+65")),
        ProblemError::Entry { number: 2, .. }
    ));
    assert!(matches!(
        refused(format!("{CROSSED}; Z3:+0")),
        ProblemError::Move { number: 1, .. }
    ));
    assert!(matches!(
        refused(format!("{CROSSED}; A1:+0")),
        ProblemError::Illegal { number: 1, .. }
    ));
}

#[test]
fn moves_and_squares_are_read_in_either_case() {
    assert_eq!("D3".parse(), Ok(Move::Place(Square::D3)));
    assert_eq!("PASS".parse(), Ok(Move::Pass));
    assert_eq!("i1".parse::<Move>(), Err(MoveError::OffBoard));
    assert_eq!("a10".parse::<Move>(), Err(MoveError::OffBoard));
    assert_eq!("a0".parse::<Square>(), Err(SquareError::OffBoard));
    assert_eq!("3d".parse::<Square>(), Err(SquareError::Malformed));
    assert_eq!("".parse::<Square>(), Err(SquareError::Malformed));
    for square in Square::ALL {
        assert_eq!(square.to_string().parse(), Ok(square));
    }
}
