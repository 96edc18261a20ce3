//! Players' records.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use tablemate_store::Tag;
use tablemate_store::contract::{player, session};
use tablemate_store::hall_store::Kind;
use tablemate_store::player_store::{ApplyAnswer, ApplyResult, ResultId};

use crate::{Real, Subject};

const NAMES: [&str; 2] = ["ann", "bob"];

#[derive(Clone, Debug)]
pub enum Operation {
    Apply {
        who: usize,
        kind: u8,
        game: u16,
        tag: u8,
        behind: u64,
        rated: bool,
        listed: bool,
    },
    Record {
        who: usize,
        kind: u8,
    },
    Games {
        who: usize,
        kind: u8,
        offset: usize,
        limit: usize,
    },
    Applied {
        who: usize,
        kind: u8,
        game: u16,
    },
}

pub struct Request {
    operation: Operation,
    version: u64,
}

type Player = (usize, u8);

#[derive(Default)]
pub struct Model {
    versions: BTreeMap<Player, u64>,
    applied: BTreeMap<(Player, u16), u8>,
    games: BTreeMap<Player, Vec<u16>>,
}

fn result(game: u16) -> ResultId {
    ResultId {
        session: session(1, 1),
        game,
        correction: 0,
    }
}

pub struct Players;

impl Subject for Players {
    type Operation = Operation;
    type Request = Request;
    type Model = Model;
    type Memory = ();

    fn operation() -> impl Strategy<Value = Operation> {
        let (who, kind, game) = (0..2_usize, 1..3_u8, 0..6_u16);
        let apply = (
            who.clone(),
            kind.clone(),
            game.clone(),
            0..2_u8,
            0..2_u64,
            any::<bool>(),
            any::<bool>(),
        );
        prop_oneof![
            4 => apply.prop_map(|(who, kind, game, tag, behind, rated, listed)| Operation::Apply {
                who, kind, game, tag, behind, rated, listed,
            }),
            1 => (who.clone(), kind.clone()).prop_map(|(who, kind)| Operation::Record { who, kind }),
            1 => (who.clone(), kind.clone(), 0..3_usize, 0..4_usize)
                .prop_map(|(who, kind, offset, limit)| Operation::Games { who, kind, offset, limit }),
            1 => (who, kind, game).prop_map(|(who, kind, game)| Operation::Applied { who, kind, game }),
        ]
    }

    fn request(model: &Model, operation: &Operation) -> Request {
        let version = match operation {
            Operation::Apply {
                who, kind, behind, ..
            } => model
                .versions
                .get(&(*who, *kind))
                .copied()
                .unwrap_or_default()
                .saturating_sub(*behind),
            _ => 0,
        };
        Request {
            operation: operation.clone(),
            version,
        }
    }

    fn expect(model: &mut Model, request: &Request) -> String {
        match request.operation {
            Operation::Apply {
                who,
                kind,
                game,
                tag,
                rated,
                listed,
                ..
            } => {
                let player = (who, kind);
                if let Some(applied) = model.applied.get(&(player, game)) {
                    return if *applied == tag {
                        "already".to_owned()
                    } else {
                        format!("contradicts {applied}")
                    };
                }
                let version = model.versions.entry(player).or_default();
                if rated && *version != request.version {
                    return format!("version {version}");
                }
                *version += u64::from(rated);
                model.applied.insert((player, game), tag);
                if listed {
                    model.games.entry(player).or_default().insert(0, game);
                }
                "applied".to_owned()
            }
            Operation::Record { who, kind } => {
                let version = model.versions.get(&(who, kind)).copied().unwrap_or_default();
                format!(
                    "{version} {:?}",
                    (version > 0).then(|| format!("record {version}"))
                )
            }
            Operation::Games {
                who,
                kind,
                offset,
                limit,
            } => {
                let games = model.games.get(&(who, kind)).cloned().unwrap_or_default();
                format!(
                    "{:?}",
                    games.into_iter().skip(offset).take(limit).collect::<Vec<_>>()
                )
            }
            Operation::Applied { who, kind, game } => {
                format!("{:?}", model.applied.get(&((who, kind), game)))
            }
        }
    }

    async fn answer(real: &Real, (): &mut (), request: &Request) -> String {
        let store = &real.stores.players;
        match request.operation {
            Operation::Apply {
                who,
                kind,
                game,
                tag,
                rated,
                listed,
                ..
            } => {
                let record = format!("record {}", request.version + 1);
                let apply = ApplyResult {
                    player: player(NAMES[who]),
                    kind: Kind(kind),
                    result: result(game),
                    tag: Tag([tag; 4]),
                    expected_version: request.version,
                    record: rated.then(|| Bytes::from(record)),
                    change: Bytes::from(vec![tag]),
                    listing: listed.then(|| Bytes::from(game.to_string())),
                };
                match store.apply_result(&apply).await.unwrap() {
                    ApplyAnswer::Applied => "applied".to_owned(),
                    ApplyAnswer::AlreadyApplied => "already".to_owned(),
                    ApplyAnswer::Contradiction { tag } => format!("contradicts {}", tag.0[0]),
                    ApplyAnswer::VersionMismatch { current } => format!("version {}", current.version),
                }
            }
            Operation::Record { who, kind } => {
                let record = store.record(&player(NAMES[who]), Kind(kind)).await.unwrap();
                let bytes = record
                    .bytes
                    .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
                format!("{} {bytes:?}", record.version)
            }
            Operation::Games {
                who,
                kind,
                offset,
                limit,
            } => {
                let games = store
                    .games(&player(NAMES[who]), Kind(kind), offset, limit)
                    .await
                    .unwrap();
                let game = |bytes: &Bytes| std::str::from_utf8(bytes).unwrap().parse::<u16>().unwrap();
                format!("{:?}", games.iter().map(game).collect::<Vec<_>>())
            }
            Operation::Applied { who, kind, game } => {
                let applied = store
                    .applied(&player(NAMES[who]), Kind(kind), result(game))
                    .await
                    .unwrap();
                format!("{:?}", applied.as_ref().map(|applied| &applied.change[0]))
            }
        }
    }
}
