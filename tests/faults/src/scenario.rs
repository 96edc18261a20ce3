//! The faults, each with what is promised under it.

use std::time::Duration;

use anyhow::{Context, Result};
use tablemate_store::shards::{hash_tags, slot};
use tokio::time::sleep;

use crate::proxy::Network;
use crate::stage::{SHAPE, Stage, StoreKind};

/// What the configuration promises when this happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Nothing acknowledged is lost, nothing happens twice, no watcher sees a gap, no game is stuck.
    Everything,
    /// The last moments before the fault may be lost, with the games and results in them. What is left is sound:
    /// nothing happens twice, and no game is stuck.
    TailMayBeLost,
}

/// A way to break things.
pub struct Scenario {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What happens.
    pub what: &'static str,
    /// On which store.
    pub store: StoreKind,
    /// Flags of all services.
    pub flags: &'static [&'static str],
    /// What is promised.
    pub promise: Promise,
    /// What is done.
    pub fault: Fault,
}

/// What is done to the stage.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Nothing: what the load does by itself.
    None,
    /// `kill -9` of one game service after the other, again and again.
    KillGameServices,
    /// The same with matchmakers.
    KillMatchmakers,
    /// No matchmaker for this long.
    NoMatchmakers(Duration),
    /// No game service for this long.
    NoGameServices(Duration),
    /// SIGTERM and a new process, one after the other.
    Rollout,
    /// `kill -9` of Redis, and a new start from its file.
    RestartRedis,
    /// SIGSTOP of Redis for this long.
    PauseRedis(Duration),
    /// The disk of Redis is full for this long.
    FullDisk(Duration),
    /// The network of one game service is so for this long.
    OneNetwork(Network, Duration),
    /// All networks are so for this long.
    AllNetworks(Network, Duration),
    /// `kill -9` of the master; the Sentinels make another.
    KillMaster,
    /// The master is silent until the Sentinels have made another, then comes back and thinks it is master still.
    TwoMasters,
    /// `kill -9` of a cluster's master; its replica takes over.
    KillClusterMaster,
    /// The slot of a shard moves to another master, key by key, and back.
    Reshard,
}

/// As many shards as a deployment has by default.
const SHARDS: u16 = 64;
const SECOND: Duration = Duration::from_secs(1);

impl Fault {
    /// Does it, and mends it.
    pub async fn inject(self, stage: &mut Stage) -> Result<()> {
        match self {
            Fault::None => sleep(10 * SECOND).await,
            Fault::KillGameServices => {
                for round in 0..6 {
                    let number = round % SHAPE.game_services;
                    stage.services.game_services[number].kill()?;
                    sleep(SECOND).await;
                    stage.services.restart_game_service(number)?;
                    sleep(SECOND).await;
                }
            }
            Fault::KillMatchmakers => {
                for round in 0..6 {
                    let number = round % SHAPE.matchmakers;
                    stage.services.matchmakers[number].kill()?;
                    sleep(SECOND).await;
                    stage.services.restart_matchmaker(number)?;
                    sleep(SECOND).await;
                }
            }
            Fault::NoMatchmakers(time) => {
                for number in 0..SHAPE.matchmakers {
                    stage.services.matchmakers[number].kill()?;
                }
                sleep(time).await;
                for number in 0..SHAPE.matchmakers {
                    stage.services.restart_matchmaker(number)?;
                }
            }
            Fault::NoGameServices(time) => {
                for number in 0..SHAPE.game_services {
                    stage.services.game_services[number].kill()?;
                }
                sleep(time).await;
                for number in 0..SHAPE.game_services {
                    stage.services.restart_game_service(number)?;
                }
            }
            Fault::Rollout => {
                for number in 0..SHAPE.game_services {
                    stage.services.game_services[number].terminate(30 * SECOND)?;
                    stage.services.restart_game_service(number)?;
                    sleep(2 * SECOND).await;
                }
                for number in 0..SHAPE.matchmakers {
                    stage.services.matchmakers[number].terminate(30 * SECOND)?;
                    stage.services.restart_matchmaker(number)?;
                    sleep(2 * SECOND).await;
                }
            }
            Fault::RestartRedis => {
                for _ in 0..2 {
                    stage.single()?.stop();
                    sleep(SECOND).await;
                    stage.single()?.start_again();
                    sleep(5 * SECOND).await;
                }
            }
            Fault::PauseRedis(time) => {
                stage.single()?.pause();
                sleep(time).await;
                stage.single()?.resume();
            }
            Fault::FullDisk(time) => {
                let disk = stage.disk.as_ref().context("this scenario needs a small disk")?;
                disk.fill()?;
                sleep(time).await;
                disk.free()?;
            }
            Fault::OneNetwork(network, time) => {
                let one = stage.networks.first().context("this scenario needs networks")?;
                one.set(network);
                sleep(time).await;
                one.set(Network::Good);
            }
            Fault::AllNetworks(network, time) => {
                for one in &stage.networks {
                    one.set(network);
                }
                sleep(time).await;
                for one in &stage.networks {
                    one.set(Network::Good);
                }
            }
            Fault::KillMaster => {
                let set = stage.sentinel()?;
                let master = set.master().context("a master")?;
                set.servers[master].stop();
                let _ = tokio::task::block_in_place(|| set.master_after(master));
                sleep(5 * SECOND).await;
            }
            Fault::TwoMasters => {
                let set = stage.sentinel()?;
                let master = set.master().context("a master")?;
                set.servers[master].pause();
                let _ = tokio::task::block_in_place(|| set.master_after(master));
                set.servers[master].resume();
                sleep(5 * SECOND).await;
            }
            Fault::KillClusterMaster => {
                let cluster = stage.cluster()?;
                cluster.nodes[0].stop();
                sleep(8 * SECOND).await;
            }
            Fault::Reshard => {
                let cluster = stage.cluster()?;
                tokio::task::block_in_place(|| reshard(cluster));
            }
        }
        Ok(())
    }
}

/// Moves the slots of four shards to another master and back, a few keys at a time.
fn reshard(cluster: &tablemate_store::testing::RedisCluster) {
    for tag in hash_tags(SHARDS).iter().take(4) {
        let slot = slot(tag);
        let home = cluster.owner(slot);
        let other = (home + 1) % 3;
        for (from, to) in [(home, other), (other, home)] {
            cluster.begin_move(slot, from, to);
            while cluster.move_keys(slot, from, to, 3) {
                std::thread::sleep(Duration::from_millis(20));
            }
            cluster.end_move(slot, to);
        }
    }
}

/// WAIT for one replica, so that a fail-over loses nothing that was acknowledged.
const WAIT: &[&str] = &["--redis-min-replicas=1"];

/// All scenarios, in the order of the table.
pub const ALL: &[Scenario] = &[
    Scenario {
        name: "nothing",
        what: "nothing is broken",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::None,
    },
    Scenario {
        name: "kill-game-services",
        what: "kill -9 of each game service, 6 times",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::KillGameServices,
    },
    Scenario {
        name: "kill-matchmakers",
        what: "kill -9 of each matchmaker, 6 times",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::KillMatchmakers,
    },
    Scenario {
        name: "no-matchmakers",
        what: "all matchmakers gone for 10 s",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::NoMatchmakers(Duration::from_secs(10)),
    },
    Scenario {
        name: "no-game-services",
        what: "all game services gone for 20 s",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::NoGameServices(Duration::from_secs(20)),
    },
    Scenario {
        name: "rollout",
        what: "all services replaced one by one (SIGTERM)",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::Rollout,
    },
    Scenario {
        name: "redis-paused",
        what: "SIGSTOP of Redis for 10 s",
        store: StoreKind::Memory,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::PauseRedis(Duration::from_secs(10)),
    },
    Scenario {
        name: "redis-restart-always",
        what: "kill -9 of Redis, twice; AOF always",
        store: StoreKind::Aof("always"),
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::RestartRedis,
    },
    Scenario {
        name: "redis-restart-everysec",
        what: "kill -9 of Redis, twice; AOF everysec",
        store: StoreKind::Aof("everysec"),
        flags: &[],
        promise: Promise::TailMayBeLost,
        fault: Fault::RestartRedis,
    },
    Scenario {
        name: "disk-full",
        what: "the disk of Redis' AOF full for 8 s",
        store: StoreKind::SmallDisk,
        flags: &[],
        promise: Promise::TailMayBeLost,
        fault: Fault::FullDisk(Duration::from_secs(8)),
    },
    Scenario {
        name: "network-cut",
        what: "one game service cut off from Redis for 8 s",
        store: StoreKind::Proxied,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::OneNetwork(Network::Cut, Duration::from_secs(8)),
    },
    Scenario {
        name: "network-silent",
        what: "one game service's packets to Redis vanish for 8 s",
        store: StoreKind::Proxied,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::OneNetwork(Network::Silent, Duration::from_secs(8)),
    },
    Scenario {
        name: "network-all-cut",
        what: "all services cut off from Redis for 8 s",
        store: StoreKind::Proxied,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::AllNetworks(Network::Cut, Duration::from_secs(8)),
    },
    Scenario {
        name: "network-slow",
        what: "40 ms each way to Redis for 10 s",
        store: StoreKind::Proxied,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::AllNetworks(Network::Slow(Duration::from_millis(40)), Duration::from_secs(10)),
    },
    Scenario {
        name: "sentinel-failover",
        what: "kill -9 of the master, Sentinels make another",
        store: StoreKind::Sentinel,
        flags: &[],
        promise: Promise::TailMayBeLost,
        fault: Fault::KillMaster,
    },
    Scenario {
        name: "sentinel-failover-wait",
        what: "the same, commits wait for one replica",
        store: StoreKind::Sentinel,
        flags: WAIT,
        promise: Promise::Everything,
        fault: Fault::KillMaster,
    },
    Scenario {
        name: "two-masters",
        what: "the master cut off, another made, the old one back",
        store: StoreKind::Sentinel,
        flags: &[],
        promise: Promise::TailMayBeLost,
        fault: Fault::TwoMasters,
    },
    Scenario {
        name: "two-masters-wait",
        what: "the same, commits wait for one replica",
        store: StoreKind::Sentinel,
        flags: WAIT,
        promise: Promise::Everything,
        fault: Fault::TwoMasters,
    },
    Scenario {
        name: "cluster-failover",
        what: "kill -9 of a cluster's master",
        store: StoreKind::Cluster,
        flags: &[],
        promise: Promise::TailMayBeLost,
        fault: Fault::KillClusterMaster,
    },
    Scenario {
        name: "cluster-failover-wait",
        what: "the same, commits wait for one replica",
        store: StoreKind::Cluster,
        flags: WAIT,
        promise: Promise::Everything,
        fault: Fault::KillClusterMaster,
    },
    Scenario {
        name: "reshard",
        what: "the slots of four live shards moved to another master and back",
        store: StoreKind::Cluster,
        flags: &[],
        promise: Promise::Everything,
        fault: Fault::Reshard,
    },
];
