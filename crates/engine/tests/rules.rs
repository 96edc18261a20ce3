//! against a slow reference written straight from the rules: an array of squares and a walk in each of the
//! eight directions.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]
use proptest::prelude::*;
use tablemate_engine::reversi::{
    EndReason, IllegalMove, MarginMethod, Move, Position, PositionError, Square, SquareSet, Start,
    StartError, margin_half_discs, transcript,
};
use tablemate_engine::{Colour, game, search};

const DIRECTIONS: [(i8, i8); 8] = [
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
    (0, -1),
    (1, -1),
];

/// The slow reference.
#[derive(Clone, PartialEq, Debug)]
struct Reference([[Option<Colour>; 8]; 8]);

impl Reference {
    fn of(position: &Position) -> Reference {
        let mut board = Reference([[None; 8]; 8]);
        for square in Square::ALL {
            board.0[usize::from(square.row())][usize::from(square.column())] = position.at(square);
        }
        board
    }

    fn at(&self, x: i8, y: i8) -> Option<Option<Colour>> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        self.0.get(y)?.get(x).copied()
    }

    /// The discs a new disc of `colour` turns, direction by direction: an unbroken run of the other's discs
    /// closed by an own disc.
    fn turned(&self, square: Square, colour: Colour) -> Vec<Vec<Square>> {
        let (x, y) = (square.column() as i8, square.row() as i8);
        if self.at(x, y) != Some(None) {
            return Vec::new();
        }
        let mut runs = Vec::new();
        for (dx, dy) in DIRECTIONS {
            let mut run = Vec::new();
            let (mut cx, mut cy) = (x + dx, y + dy);
            while self.at(cx, cy) == Some(Some(colour.other())) {
                run.push(Square::at(cx as u8, cy as u8).expect("on the board"));
                (cx, cy) = (cx + dx, cy + dy);
            }
            if self.at(cx, cy) == Some(Some(colour)) && !run.is_empty() {
                runs.push(run);
            }
        }
        runs
    }

    fn legal(&self, colour: Colour) -> Vec<Square> {
        Square::ALL
            .into_iter()
            .filter(|square| !self.turned(*square, colour).is_empty())
            .collect()
    }

    fn place(&mut self, square: Square, colour: Colour) {
        let turned = self.turned(square, colour).concat();
        for square in turned.into_iter().chain([square]) {
            self.0[usize::from(square.row())][usize::from(square.column())] = Some(colour);
        }
    }

    fn count(&self, colour: Colour) -> usize {
        self.0.iter().flatten().filter(|it| **it == Some(colour)).count()
    }

    /// Convention A: a pass is a ply, an ended game is one leaf.
    fn perft(&self, colour: Colour, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let legal = self.legal(colour);
        if legal.is_empty() {
            let over = self.legal(colour.other()).is_empty();
            return if over {
                1
            } else {
                self.perft(colour.other(), depth - 1)
            };
        }
        let after = |square| {
            let mut next = self.clone();
            next.place(square, colour);
            next.perft(colour.other(), depth - 1)
        };
        legal.into_iter().map(after).sum()
    }
}

/// What must hold of every position, against the reference.
fn check(position: &Position) {
    let reference = Reference::of(position);
    let [black, white] = position.counts().map(usize::from);
    assert_eq!(
        [black, white],
        [reference.count(Colour::Black), reference.count(Colour::White)]
    );
    assert_eq!(position.empties().len(), 64 - black - white);
    let (blacks, whites) = (reference.legal(Colour::Black), reference.legal(Colour::White));
    match position.to_act() {
        None => assert!(
            blacks.is_empty() && whites.is_empty(),
            "R-7: over only when neither can move"
        ),
        Some(colour) => {
            let (own, other) = if colour == Colour::Black {
                (&blacks, &whites)
            } else {
                (&whites, &blacks)
            };
            assert_eq!(&position.placements().collect::<Vec<_>>(), own, "R-2");
            assert_eq!(position.must_pass(), own.is_empty(), "R-5, R-6");
            assert!(
                !own.is_empty() || !other.is_empty(),
                "R-7: going on only while somebody can move"
            );
        }
    }
    // `legal_moves` are exactly the moves that `play` accepts.
    let legal: Vec<Move> = position.legal_moves().collect();
    assert_eq!(legal.len(), position.legal_moves().len());
    for mv in (0..=64).filter_map(Move::from_code) {
        let result = position.play(mv);
        assert_eq!(result.is_ok(), legal.contains(&mv), "{mv}");
        assert_eq!(position.is_legal(mv), legal.contains(&mv), "{mv}");
        match (mv, result) {
            (Move::Place(square), Ok((next, played))) => {
                let colour = position.to_act().expect("somebody moved");
                let mut runs = reference.turned(square, colour);
                // direction by direction, each from the new disc outward. The order of the directions is free.
                let turned: Vec<Square> = played.turned.iter().collect();
                let mut rest: &[Square] = &turned;
                assert_eq!(played.turned.len(), turned.len());
                assert_eq!(played.turned.set(), turned.iter().copied().collect());
                while let Some(first) = rest.first() {
                    let index = runs
                        .iter()
                        .position(|run| run.first() == Some(first))
                        .expect("R-12: a run starts");
                    let run = runs.swap_remove(index);
                    assert!(rest.starts_with(&run), "R-12: {rest:?} starts with {run:?}");
                    rest = &rest[run.len()..];
                }
                assert!(runs.is_empty(), "R-3: every run turns");
                assert_eq!((played.by, played.mv), (colour, mv));
                let mut expected = reference.clone();
                expected.place(square, colour);
                assert_eq!(Reference::of(&next), expected, "R-4");
                assert!(
                    next.to_act().is_none_or(|to_act| to_act == colour.other()),
                    "R-1: colours alternate"
                );
                // A position depends on the discs and who acts alone, not on how it came about.
                let (black, white) = (next.discs(Colour::Black), next.discs(Colour::White));
                assert_eq!(Position::new(black, white, next.to_act()), Ok(next));
            }
            (Move::Pass, Ok((next, played))) => {
                assert_eq!(Reference::of(&next), reference, "R-6: a pass changes no disc");
                assert_eq!(next.to_act(), position.to_act().map(Colour::other));
                assert!(played.turned.is_empty() && !next.must_pass());
            }
            (_, Err(reason)) => {
                let expected = match mv {
                    _ if position.is_over() => IllegalMove::GameOver,
                    Move::Pass => IllegalMove::MustMove,
                    Move::Place(square) if position.at(square).is_some() => IllegalMove::Occupied { square },
                    Move::Place(square) => IllegalMove::TurnsNothing { square },
                };
                assert_eq!(reason, expected);
            }
        }
    }
    let outcome = position.outcome();
    assert_eq!(outcome.is_some(), position.is_over());
    if let Some(outcome) = outcome {
        let reason = match (black, white) {
            _ if black + white == 64 => EndReason::BoardFull,
            (0, _) | (_, 0) => EndReason::WipeOut,
            _ => EndReason::NoMoves,
        };
        assert_eq!(outcome.reason, reason, "R-7");
        let winner = (black != white).then_some(if black > white {
            Colour::Black
        } else {
            Colour::White
        });
        assert_eq!(outcome.winner, winner, "R-8");
        assert_eq!(outcome.counts, position.counts());
    }
}

/// Any discs anywhere, with whoever can move to move.
fn any_position() -> impl Strategy<Value = Position> {
    (any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(discs, colours, thin, black)| {
        let discs = if thin & 1 == 0 { discs } else { discs | thin };
        let (blacks, whites) = (discs & colours, discs & !colours);
        let (blacks, whites) = (SquareSet::from_bits(blacks), SquareSet::from_bits(whites));
        let to_act = if black { Colour::Black } else { Colour::White };
        Position::new(blacks, whites, Some(to_act))
            .or_else(|_| Position::new(blacks, whites, None))
            .expect("disjoint discs make a position")
    })
}

/// A position some plies into a game of random moves.
fn reached_position() -> impl Strategy<Value = Position> {
    (
        any::<bool>(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..70),
    )
        .prop_map(|(parallel, choices)| {
            let mut position = if parallel { Start::Parallel } else { Start::Crossed }.position();
            for choice in choices {
                let moves: Vec<Move> = position.legal_moves().collect();
                if moves.is_empty() {
                    break;
                }
                position = position.play(*choice.get(&moves)).expect("a legal move").0;
            }
            position
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn r2_to_r12_any_position_agrees_with_the_reference(position in any_position()) {
        check(&position);
    }

    #[test]
    fn r2_to_r12_reached_positions_agree_with_the_reference(position in reached_position()) {
        check(&position);
    }

    #[test]
    fn r10_margins(black in 0_u8..=64, white in 0_u8..=64) {
        prop_assume!(black + white <= 64);
        let [raw, to_winner, split] = MarginMethod::ALL.map(|method| margin_half_discs([black, white], method));
        let difference = i16::from(black) - i16::from(white);
        let empties = 64 - i16::from(black) - i16::from(white);
        prop_assert_eq!(raw, 2 * difference);
        // Europe: each side is credited half of the empty squares, so the difference is the raw one.
        prop_assert_eq!(split, (2 * i16::from(black) + empties) - (2 * i16::from(white) + empties));
        let expected = match difference { 0 => 0, d if d > 0 => 2 * (d + empties), d => 2 * (d - empties) };
        prop_assert_eq!(to_winner, expected);
        for method in MarginMethod::ALL {
            prop_assert_eq!(margin_half_discs([white, black], method), -margin_half_discs([black, white], method));
        }
    }
}

#[test]
fn r1_starts() {
    let discs = |names: [&str; 2]| {
        names
            .map(|name| name.parse::<Square>().expect("a square"))
            .into_iter()
            .collect()
    };
    let crossed = Start::Crossed.position();
    assert_eq!(crossed.discs(Colour::Black), discs(["e4", "d5"]));
    assert_eq!(crossed.discs(Colour::White), discs(["d4", "e5"]));
    let parallel = Start::Parallel.position();
    assert_eq!(parallel.discs(Colour::White), discs(["d4", "e4"]));
    assert_eq!(parallel.discs(Colour::Black), discs(["d5", "e5"]));
    for position in [crossed, parallel] {
        assert_eq!(position.to_act(), Some(Colour::Black));
        check(&position);
    }
    assert_eq!(Start::default(), Start::Crossed);
}

#[test]
fn r1_a_start_may_begin_with_a_pass_but_not_be_over() {
    // Only white can move: black on a1 is turned from c1.
    let text = "OX------ -------- -------- -------- -------- -------- -------- -------- X";
    let start: Start = text.parse().expect("white can move");
    assert!(start.position().must_pass());
    let (next, _) = start.position().play(Move::Pass).expect("the pass is forced");
    assert_eq!(next.to_act(), Some(Colour::White));

    let over: Position = format!("X{} -", "-".repeat(63)).parse().expect("marked as over");
    assert_eq!(Start::from_position(over), Err(StartError::Over));
    assert_eq!(
        Start::from_position(Start::Parallel.position()),
        Ok(Start::Parallel)
    );
}

#[test]
fn r1_perft_of_the_reference_is_the_same() {
    for (start, depth) in [(Start::Crossed, 6), (Start::Parallel, 6)] {
        let position = start.position();
        let slow = Reference::of(&position).perft(Colour::Black, depth);
        assert_eq!(search::perft(&position, depth), slow);
        assert_eq!(search::perft_full(&position, depth), slow);
    }
}

#[test]
fn r5_no_voluntary_pass() {
    assert_eq!(
        Start::Crossed.position().play(Move::Pass),
        Err(IllegalMove::MustMove)
    );
}

#[test]
fn r7_wipe_out_after_nine_moves() {
    let game = transcript::read(Start::Crossed.position(), "F5D6C5F6E7F4G5E6E3").expect("a legal game");
    assert_eq!(game.moves.len(), 9);
    let outcome = game.position.outcome().expect("the game is over");
    assert_eq!(
        (outcome.reason, outcome.winner, outcome.counts),
        (EndReason::WipeOut, Some(Colour::Black), [13, 0])
    );
    assert_eq!(outcome.margin_half_discs(MarginMethod::EmptiesToWinner), 128);
    assert_eq!(outcome.margin_half_discs(MarginMethod::Raw), 26);
    assert_eq!(game.position.play(Move::Pass), Err(IllegalMove::GameOver));
    assert_eq!(
        game.position.play(Move::Place(Square::A1)),
        Err(IllegalMove::GameOver)
    );
}

#[test]
fn r7_reasons_in_their_order() {
    let over = |squares: String| {
        let position: Position = format!("{squares} -").parse().expect("a position that is over");
        position.outcome().expect("over")
    };
    // A full board of one colour is BOARD_FULL, although the other has no disc.
    assert_eq!(over("X".repeat(64)).reason, EndReason::BoardFull);
    assert_eq!(over(format!("O{}", "-".repeat(63))).reason, EndReason::WipeOut);
    let apart = over(format!("O{}X", "-".repeat(62)));
    assert_eq!((apart.reason, apart.winner), (EndReason::NoMoves, None));
    assert_eq!(game::EndReason::from(apart.reason).as_str(), "NO_MOVES");
}

#[test]
fn r12_nineteen_discs_turn_at_most() {
    // White everywhere but on d4 and on the rim, which is black: every ray of d4 is a full run.
    let rim = |square: Square| [0, 7].contains(&square.column()) || [0, 7].contains(&square.row());
    let black: SquareSet = Square::ALL.into_iter().filter(|square| rim(*square)).collect();
    let white: SquareSet = Square::ALL
        .into_iter()
        .filter(|square| !rim(*square) && *square != Square::D4)
        .collect();
    let position = Position::new(black, white, Some(Colour::Black)).expect("d4 is legal");
    let (_, played) = position.play(Move::Place(Square::D4)).expect("d4 is legal");
    assert_eq!(played.turned.len(), 19);
    check(&position);
}

#[test]
fn positions_are_validated() {
    let set = |bits| SquareSet::from_bits(bits);
    let overlap = Position::new(set(0b110), set(0b011), Some(Colour::Black));
    assert_eq!(overlap, Err(PositionError::Overlap { square: Square::B1 }));
    let nobody = Position::new(set(1), set(0), Some(Colour::White));
    assert_eq!(
        nobody,
        Err(PositionError::NobodyCanMove {
            colour: Colour::White
        })
    );
    let not_over = Position::new(set(0b001), set(0b010), None);
    assert_eq!(
        not_over,
        Err(PositionError::NotOver {
            colour: Colour::Black
        })
    );
}

#[test]
fn move_codes_are_stable() {
    for code in 0..=64 {
        let mv = game::Move::from_code(tablemate_engine::GameKind::Reversi, code).expect("a move");
        assert_eq!(mv.code(), code);
        assert_eq!(game::Move::parse(mv.kind(), &mv.to_string()), Ok(mv));
    }
    assert_eq!(
        game::Move::from_code(tablemate_engine::GameKind::Reversi, 65),
        None
    );
    assert_eq!(
        game::Move::from_code(tablemate_engine::GameKind::Reversi, 256),
        None
    );
    assert_eq!(Move::Place(Square::H8).code(), 63);
    assert_eq!(Move::Pass.to_string(), "pass");
    assert_eq!(size_of::<Option<Square>>(), 1);
    assert_eq!(size_of::<Option<Move>>(), 1);
}
