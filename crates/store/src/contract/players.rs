//! Players' records (S-20).

use bytes::Bytes;

use super::{Subject, player, session};
use crate::Tag;
use crate::hall_store::Kind;
use crate::player_store::{ApplyAnswer, ApplyResult, GAMES_LISTED_MAX, PlayerRecord, ResultId};

const KIND: Kind = Kind(1);

fn result(game: u16) -> ResultId {
    ResultId {
        session: session(1, 1),
        game,
        correction: 0,
    }
}

fn apply(game: u16, expected_version: u64, record: &'static str) -> ApplyResult {
    ApplyResult {
        player: player("ann"),
        kind: KIND,
        result: result(game),
        tag: Tag([1, 2, 3, 4]),
        expected_version,
        record: Some(Bytes::from_static(record.as_bytes())),
        change: Bytes::from(format!("change {game}")),
        listing: Some(Bytes::from(format!("game {game}"))),
    }
}

async fn record(subject: &Subject) -> PlayerRecord {
    subject.other.players.record(&player("ann"), KIND).await.unwrap()
}

fn is(version: u64, bytes: &'static str) -> PlayerRecord {
    PlayerRecord {
        version,
        bytes: Some(Bytes::from_static(bytes.as_bytes())),
    }
}

pub async fn a_result_is_applied_once(subject: &Subject) {
    let players = &subject.stores.players;
    assert_eq!(record(subject).await, PlayerRecord::default());
    assert_eq!(
        players.apply_result(&apply(1, 0, "+2")).await.unwrap(),
        ApplyAnswer::Applied
    );
    assert_eq!(record(subject).await, is(1, "+2"));
    // Whatever the caller computed since: the result is the same, so nothing is applied.
    for repeated in [apply(1, 0, "+2"), apply(1, 1, "+4")] {
        let answer = subject.other.players.apply_result(&repeated).await.unwrap();
        assert_eq!(answer, ApplyAnswer::AlreadyApplied);
    }
    assert_eq!(record(subject).await, is(1, "+2"));
    assert_eq!(
        players.games(&player("ann"), KIND, 0, 9).await.unwrap(),
        ["game 1"]
    );
    let applied = players
        .applied(&player("ann"), KIND, result(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (applied.tag, applied.change),
        (Tag([1, 2, 3, 4]), Bytes::from_static(b"change 1"))
    );
    assert_eq!(
        players.applied(&player("ann"), KIND, result(2)).await.unwrap(),
        None
    );
    // A correction (S-21) is a result of its own.
    let mut void = apply(1, 1, "+0");
    void.result.correction = 1;
    assert_eq!(players.apply_result(&void).await.unwrap(), ApplyAnswer::Applied);
    // Another kind, another player: other records.
    assert_eq!(
        players.record(&player("ann"), Kind(2)).await.unwrap(),
        PlayerRecord::default()
    );
    assert_eq!(
        players.record(&player("bob"), KIND).await.unwrap(),
        PlayerRecord::default()
    );
}

pub async fn a_contradiction_is_told(subject: &Subject) {
    let players = &subject.stores.players;
    players.apply_result(&apply(1, 0, "+2")).await.unwrap();
    let other = ApplyResult {
        tag: Tag([9; 4]),
        ..apply(1, 1, "-2")
    };
    assert_eq!(
        players.apply_result(&other).await.unwrap(),
        ApplyAnswer::Contradiction {
            tag: Tag([1, 2, 3, 4])
        }
    );
    assert_eq!(record(subject).await, is(1, "+2"));
}

pub async fn a_stale_record_is_not_overwritten(subject: &Subject) {
    let players = &subject.stores.players;
    let current = PlayerRecord::default();
    let answer = players.apply_result(&apply(1, 3, "x")).await.unwrap();
    assert_eq!(answer, ApplyAnswer::VersionMismatch { current });
    players.apply_result(&apply(1, 0, "+2")).await.unwrap();
    let answer = players.apply_result(&apply(2, 0, "+2")).await.unwrap();
    assert_eq!(answer, ApplyAnswer::VersionMismatch { current: is(1, "+2") });
    assert_eq!(
        players.apply_result(&apply(2, 1, "+4")).await.unwrap(),
        ApplyAnswer::Applied
    );
    assert_eq!(record(subject).await, is(2, "+4"));
}

pub async fn an_unrated_game_is_only_listed(subject: &Subject) {
    let players = &subject.stores.players;
    players.apply_result(&apply(1, 0, "+2")).await.unwrap();
    let unrated = ApplyResult {
        record: None,
        ..apply(2, 0, "")
    };
    assert_eq!(
        players.apply_result(&unrated).await.unwrap(),
        ApplyAnswer::Applied
    );
    assert_eq!(
        players.apply_result(&unrated).await.unwrap(),
        ApplyAnswer::AlreadyApplied
    );
    assert_eq!(record(subject).await, is(1, "+2"));
    assert_eq!(
        players.games(&player("ann"), KIND, 0, 9).await.unwrap(),
        ["game 2", "game 1"]
    );
    let unlisted = ApplyResult {
        listing: None,
        ..apply(3, 1, "+4")
    };
    assert_eq!(
        players.apply_result(&unlisted).await.unwrap(),
        ApplyAnswer::Applied
    );
    assert_eq!(players.games(&player("ann"), KIND, 0, 9).await.unwrap().len(), 2);
}

pub async fn games_are_listed_newest_first(subject: &Subject) {
    let players = &subject.stores.players;
    let count = u16::try_from(GAMES_LISTED_MAX).unwrap() + 10;
    for game in 1..=count {
        players
            .apply_result(&apply(game, u64::from(game) - 1, "r"))
            .await
            .unwrap();
    }
    let ann = player("ann");
    let games = |offset, limit| players.games(&ann, KIND, offset, limit);
    assert_eq!(
        games(0, 2).await.unwrap(),
        [format!("game {count}"), format!("game {}", count - 1)]
    );
    assert_eq!(games(1, 1).await.unwrap(), [format!("game {}", count - 1)]);
    assert_eq!(games(0, 1_000).await.unwrap().len(), GAMES_LISTED_MAX);
    assert_eq!(games(GAMES_LISTED_MAX, 5).await.unwrap().len(), 0);
    assert_eq!(games(0, 0).await.unwrap().len(), 0);
}

/// S-20: whoever settles at once with others, every result counts once.
pub async fn concurrent_results_all_count(subject: &Subject) {
    let mut tasks = Vec::new();
    // Every game is settled by two workers.
    for number in 0..16_u16 {
        let stores = if number % 2 == 0 {
            subject.stores.clone()
        } else {
            subject.other.clone()
        };
        tasks.push(tokio::spawn(async move {
            let (ann, mut current) = (player("ann"), PlayerRecord::default());
            loop {
                let points: u32 = current
                    .bytes
                    .as_deref()
                    .map_or(0, |bytes| std::str::from_utf8(bytes).unwrap().parse().unwrap());
                let apply = ApplyResult {
                    player: ann.clone(),
                    record: Some(Bytes::from((points + 2).to_string())),
                    ..apply(number / 2, current.version, "")
                };
                match stores.players.apply_result(&apply).await.unwrap() {
                    ApplyAnswer::VersionMismatch { current: newer } => current = newer,
                    ApplyAnswer::Applied => return 1,
                    ApplyAnswer::AlreadyApplied => return 0,
                    other => panic!("{other:?}"),
                }
            }
        }));
    }
    let mut applied = 0;
    for task in tasks {
        applied += task.await.unwrap();
    }
    assert_eq!(applied, 8);
    assert_eq!(record(subject).await, is(8, "16"));
}
