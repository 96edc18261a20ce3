//! The codec of the log: what is written is read back, what nobody wrote is refused, and entries are small.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::prelude::*;
use tablemate_engine::game::{EndReason, Move};
use tablemate_engine::policy::Policy;
use tablemate_engine::reversi::{MarginMethod, Start};
use tablemate_engine::search::Level;
use tablemate_engine::{Colour, GameKind};
use tablemate_protocol::storage::fact::{DecodeError, decode, encode};
use tablemate_session::command::{Command, Outcome as Answer, Request};
use tablemate_session::fact::*;
use tablemate_session::player::{Openings, Player, Rating};
use tablemate_session::seat::{PerSeat, Seat};
use tablemate_session::secret::{GuessNumber, RequestHash, Secret};
use tablemate_session::settings::*;
use tablemate_session::{Instant, Millis, PlayerId, RequestId, Session, SessionId};

fn seat() -> impl Strategy<Value = Seat> {
    prop_oneof![Just(Seat::One), Just(Seat::Two)]
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Random),
        Just(Policy::Greedy),
        (1u8..=8).prop_map(|level| Policy::Engine {
            level: Level::new(level).unwrap()
        }),
    ]
}

fn millis() -> impl Strategy<Value = Millis> {
    any::<u64>().prop_map(Millis)
}

fn session_id() -> impl Strategy<Value = SessionId> {
    any::<[u8; 12]>().prop_map(SessionId::from_bytes)
}

fn player() -> impl Strategy<Value = Player> {
    (
        "[a-z黑白]{1,30}",
        any::<i32>(),
        any::<u32>(),
        any::<u32>(),
        any::<(u8, u8, bool)>(),
    )
        .prop_map(
            |(id, rating_centi, deviation_centi, volatility_micro, (opened, games, newcomer))| Player {
                id: PlayerId::new(&id).unwrap(),
                rating: if newcomer {
                    Rating::default()
                } else {
                    Rating {
                        rating_centi,
                        deviation_centi,
                        volatility_micro,
                    }
                },
                openings: Openings { opened, games },
            },
        )
}

fn start() -> impl Strategy<Value = Start> {
    let played = proptest::collection::vec(any::<prop::sample::Index>(), 1..20).prop_map(|choices| {
        let mut position = Start::Crossed.position();
        for choice in choices {
            let moves: Vec<_> = position.legal_moves().collect();
            let next = position.play(*choice.get(&moves)).unwrap().0;
            if next.is_over() {
                break;
            }
            position = next;
        }
        Start::from_position(position).unwrap()
    });
    prop_oneof![Just(Start::Crossed), Just(Start::Parallel), played]
}

prop_compose! {
    fn settings()(
        start in start(),
        margin in prop::sample::select(&MarginMethod::ALL[..]),
        (scored_series, rated, cancel) in any::<(bool, bool, bool)>(),
        games in any::<u32>(),
        opener in prop_oneof![
            Just(None), Just(Some(OpenerRule::AsSeated)), Just(Some(OpenerRule::Draw)),
            Just(Some(OpenerRule::Guess)), Just(Some(OpenerRule::Balanced)),
        ],
        times in (millis(), millis(), millis(), millis(), millis(), millis()),
        total_time in proptest::option::of(millis()),
        absence in proptest::option::of(millis()),
        timeout in prop_oneof![
            policy().prop_map(TimeoutRule::Move),
            Just(TimeoutRule::Lose),
            (1u32..2000, policy()).prop_map(|(n, policy)| TimeoutRule::LoseAfter { n, policy }),
        ],
        watch in prop_oneof![
            Just(Watch::Anyone), Just(Watch::Players),
            proptest::collection::vec("[a-z]{1,9}", 0..5)
                .prop_map(|ids| Watch::List(ids.iter().map(|id| PlayerId::new(id).unwrap()).collect())),
        ],
    ) -> Settings {
        Settings {
            game: GameSettings::Reversi(ReversiSettings { start, margin, scored_series }),
            games,
            opener,
            ready_time: times.0,
            not_ready: if cancel { NotReadyAction::Cancel } else { NotReadyAction::AutoReady },
            idle_time: times.1,
            move_time: times.2,
            total_time,
            animation: times.3,
            resign_guard: times.4,
            timeout,
            rated,
            watch,
            absence,
            spectator_delay: times.5,
        }
    }
}

prop_compose! {
    fn creation()(
        id in session_id(),
        secret in any::<[u8; 32]>(),
        settings in settings(),
        player_one in player(),
        player_two in proptest::option::of(player()),
        (one, two) in any::<(bool, bool)>(),
        invitation in proptest::option::of(any::<[u8; 16]>()),
        previous in proptest::option::of((session_id(), seat())),
        outages_known in any::<u64>(),
    ) -> Creation {
        Creation {
            id,
            secret: Secret::new(secret),
            settings,
            player_one,
            player_two,
            ready: PerSeat::new(one, two),
            invitation: invitation.map(InvitationHash),
            previous: previous.map(|(session, opener)| Previous { session, opener }),
            outages_known,
        }
    }
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        seat().prop_map(Outcome::Wins),
        Just(Outcome::Draw),
        Just(Outcome::NotSettled)
    ]
}

prop_compose! {
    fn result()(
        game in any::<u8>(),
        reason in prop::sample::select(vec![
            GameEndReason::Board(EndReason::NoMoves), GameEndReason::Board(EndReason::WipeOut),
            GameEndReason::Board(EndReason::BoardFull), GameEndReason::Resignation, GameEndReason::AgreedDraw,
            GameEndReason::AgreedExit, GameEndReason::ForcedExit, GameEndReason::TotalTime,
            GameEndReason::TimeoutCount, GameEndReason::Aborted,
        ]),
        outcome in outcome(),
        colour_one in prop::sample::select(&Colour::ALL[..]),
        counts in any::<[u8; 2]>(),
        margin_half_discs in any::<u16>(),
        (one, two) in any::<(i32, i32)>(),
        escape in proptest::option::of(seat()),
        touched_by_outage in any::<bool>(),
    ) -> GameResult {
        GameResult {
            game, reason, outcome, colour_one, counts, margin_half_discs,
            points: PerSeat::new(one, two), escape, touched_by_outage,
        }
    }
}

fn offer_kind() -> impl Strategy<Value = OfferKind> {
    prop_oneof![
        Just(OfferKind::Exit),
        Just(OfferKind::Draw),
        Just(OfferKind::Rematch)
    ]
}

fn kind() -> impl Strategy<Value = FactKind> {
    let offer = || any::<u32>().prop_map(OfferId);
    let a_move = || (0u32..=64).prop_map(|code| Move::from_code(GameKind::Reversi, code).unwrap());
    let found = prop_oneof![
        Just(OpenerFound::AsSeated),
        Just(OpenerFound::Drawn),
        Just(OpenerFound::Alternated),
        any::<[u8; 4]>().prop_map(|[one, two, a, b]| OpenerFound::Guess {
            numbers: PerSeat::new(one, two),
            drawn: PerSeat::new(a > 99, b > 99),
        }),
        any::<(i16, i16, bool)>().prop_map(|(one, two, drawn)| OpenerFound::Balanced {
            balances: PerSeat::new(one, two),
            drawn,
        }),
    ];
    let ending = prop::sample::select(vec![
        SessionEnding::SeriesComplete,
        SessionEnding::Idle,
        SessionEnding::Left,
        SessionEnding::AgreedExit,
        SessionEnding::Cancelled,
        SessionEnding::Aborted,
    ]);
    let series =
        (outcome(), any::<(u32, u32, i32)>()).prop_map(|(outcome, (one, two, margin_half_discs))| {
            SeriesResult {
                outcome,
                half_points: PerSeat::new(one, two),
                margin_half_discs,
            }
        });
    prop_oneof![
        creation().prop_map(|creation| FactKind::Created(Arc::new(creation))),
        (player(), any::<bool>()).prop_map(|(player, ready)| FactKind::Joined {
            player: Arc::new(player),
            ready
        }),
        (seat(), any::<Option<u8>>(), any::<bool>()).prop_map(|(seat, number, auto)| FactKind::Readied {
            seat,
            number: GuessNumber(number),
            auto
        }),
        seat().prop_map(|seat| FactKind::Unreadied { seat }),
        (any::<u8>(), seat(), found).prop_map(|(game, opener, found)| FactKind::Started {
            game,
            opener,
            found
        }),
        (a_move(), proptest::option::of(policy())).prop_map(|(mv, auto)| FactKind::Moved { mv, auto }),
        seat().prop_map(|seat| FactKind::Passed { seat }),
        (offer(), offer_kind()).prop_map(|(offer, kind)| FactKind::Offered { offer, kind }),
        (offer(), offer_kind(), any::<bool>()).prop_map(|(offer, kind, by_offer)| FactKind::OfferAccepted {
            offer,
            kind,
            by_offer
        }),
        offer().prop_map(|offer| FactKind::OfferDeclined { offer }),
        offer().prop_map(|offer| FactKind::OfferWithdrawn { offer }),
        offer().prop_map(|offer| FactKind::OfferLapsed { offer }),
        result().prop_map(FactKind::GameEnded),
        (seat(), any::<bool>()).prop_map(|(seat, absent)| FactKind::Left { seat, absent }),
        (ending, proptest::option::of(series))
            .prop_map(|(ending, series)| FactKind::SessionEnded { ending, series }),
        (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(id, from, length)| FactKind::ClockCompensated(
            Outage {
                id,
                from: Instant(from.into()),
                to: Instant(u64::from(from) + u64::from(length)),
            }
        )),
        seat().prop_map(|seat| FactKind::AbsenceBegun { seat }),
        seat().prop_map(|seat| FactKind::AbsenceEnded { seat }),
        session_id().prop_map(|next| FactKind::Rematched { next }),
    ]
}

prop_compose! {
    fn fact()(
        at in any::<u64>(),
        by in prop_oneof![
            Just(Actor::Server), Just(Actor::Operator), seat().prop_map(Actor::Player), seat().prop_map(Actor::Backend),
        ],
        request in proptest::option::of(any::<u64>().prop_map(RequestHash)),
        count in any::<u8>(),
        kind in kind(),
    ) -> Fact {
        Fact { at: Instant(at), by, request, count, kind }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(fact in fact(), elapsed in any::<u64>()) {
        let previous = Instant(fact.at.0.saturating_sub(elapsed));
        prop_assert_eq!(decode(previous, &encode(previous, &fact)), Ok(fact));
    }

    #[test]
    fn bytes_that_nobody_wrote_give_an_error_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(Instant(5), &bytes);
    }

    #[test]
    fn damaged_entries_give_an_error_or_another_fact_and_no_panic(
        fact in fact(), at in any::<prop::sample::Index>(), by in 1u8..,
    ) {
        let mut bytes = encode(Instant::ZERO, &fact);
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        let _ = decode(Instant::ZERO, &bytes);
        let _ = decode(Instant(u64::MAX), &bytes[..at]);
    }

    #[test]
    fn a_players_move_takes_at_most_18_bytes(
        elapsed in 0u64..2_000_000, request in any::<u64>(), code in 0u32..64, backend in any::<bool>(), count in 1u8..8,
    ) {
        let seat = Seat::Two;
        let fact = Fact {
            at: Instant(1_800_000_000_000 + elapsed),
            by: if backend { Actor::Backend(seat) } else { Actor::Player(seat) },
            request: Some(RequestHash(request)),
            count,
            kind: FactKind::Moved { mv: Move::from_code(GameKind::Reversi, code).unwrap(), auto: None },
        };
        let length = encode(Instant(1_800_000_000_000), &fact).len();
        prop_assert!(length <= 18, "{length} bytes");
    }
}

fn creation_of(settings: Settings) -> Creation {
    Creation {
        id: SessionId::new(3, [9; 10]),
        secret: Secret::new([5; 32]),
        settings,
        player_one: Player::new(PlayerId::new("player-number-0001").unwrap()),
        player_two: Some(Player::new(PlayerId::new("player-number-0002").unwrap())),
        ready: PerSeat::new(true, true),
        invitation: None,
        previous: None,
        outages_known: 0,
    }
}

#[test]
fn a_finished_game_of_60_moves_leaves_room_for_the_store() {
    let settings = Settings::of(GameSettings::Reversi(ReversiSettings::default()));
    let start = Instant(1_800_000_000_000);
    let (mut session, mut log) = Session::create(creation_of(settings), start).unwrap();
    let mut now = start;
    while let Some(turn) = session.turn() {
        now = now.after(Millis(4_321));
        let mv = session.game().unwrap().position().legal_moves().next().unwrap();
        let play = Command::Play {
            ply: turn.ply,
            mv: mv.to_string().into(),
        };
        let id = RequestId::new(&format!("{:032x}", turn.ply)).unwrap();
        let applied = session.apply(&Request::player(turn.seat, id, play), now, &[]);
        let Answer::Accepted(facts) = applied.outcome else {
            panic!("refused: {applied:?}")
        };
        log.extend(facts);
    }
    let mut previous = Instant::ZERO;
    let mut read = Vec::new();
    let mut bytes_total = 0;
    for fact in &log {
        let bytes = encode(previous, fact);
        // Each entry costs the store a tag of 4 bytes and a list element's 2 to 4.
        bytes_total += bytes.len() + 4 + 4;
        read.push(decode(previous, &bytes).unwrap());
        previous = fact.at;
    }
    assert_eq!(Session::fold(&read), Ok(session));
    assert!(log.len() > 60, "{} facts", log.len());
    assert!(bytes_total < 1_900, "{bytes_total} bytes for {} facts", log.len());
}

#[test]
fn a_newer_format_says_so() {
    let settings = Settings::of(GameSettings::Reversi(ReversiSettings::default()));
    let created = Fact {
        at: Instant(0),
        by: Actor::Server,
        request: None,
        count: 0,
        kind: FactKind::Created(Arc::new(creation_of(settings))),
    };
    let mut bytes = encode(Instant(0), &created);
    // The version is the first field of the creation: tag 8, value 1.
    let place = bytes.windows(2).position(|pair| pair == [8, 1]).unwrap();
    bytes[place + 1] = 2;
    assert_eq!(decode(Instant(0), &bytes), Err(DecodeError::Newer { version: 2 }));
    assert_eq!(decode(Instant(0), &[]), Err(DecodeError::UnknownKind));
    assert!(matches!(
        decode(Instant(0), &[0xff]),
        Err(DecodeError::Malformed(_))
    ));
}
