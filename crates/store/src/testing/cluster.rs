//! A Redis Cluster.

use tempfile::TempDir;

use super::redis::{RedisServer, free_port, until};
use crate::shards::SLOTS;

/// A cluster on free ports: its masters share the slots evenly, each with the same number of replicas.
pub struct RedisCluster {
    /// The masters at the start, in the order of their slots, then the replicas: the first of each, the second of each…
    pub nodes: Vec<RedisServer>,
    ids: Vec<String>,
    masters: usize,
    _folder: TempDir,
}

impl RedisCluster {
    /// Starts one. A node that is silent for a second counts as down; what the others serve goes on.
    ///
    /// # Panics
    /// When it does not come together.
    #[must_use]
    pub fn start(masters: usize, replicas: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut buses = Vec::new();
        let nodes: Vec<RedisServer> = (0..masters * (1 + replicas))
            .map(|_| {
                let bus = std::cell::Cell::new(0);
                let node = RedisServer::started(|port| {
                    bus.set(free_port());
                    let arguments = [
                        "--save".to_owned(),
                        String::new(),
                        "--appendonly".to_owned(),
                        "no".to_owned(),
                        "--cluster-enabled".to_owned(),
                        "yes".to_owned(),
                        "--cluster-node-timeout".to_owned(),
                        "1000".to_owned(),
                        "--cluster-require-full-coverage".to_owned(),
                        "no".to_owned(),
                        "--cluster-config-file".to_owned(),
                        folder
                            .path()
                            .join(format!("nodes-{port}.conf"))
                            .display()
                            .to_string(),
                        "--cluster-port".to_owned(),
                        bus.get().to_string(),
                        "--repl-diskless-sync-delay".to_owned(),
                        "0".to_owned(),
                    ];
                    arguments.to_vec()
                });
                buses.push(bus.get());
                node
            })
            .collect();
        let ids = nodes.iter().map(|node| node.say("CLUSTER MYID")).collect();
        let cluster = Self {
            nodes,
            ids,
            masters,
            _folder: folder,
        };
        for (number, node) in cluster.nodes.iter().enumerate() {
            // Epochs that differ from the start need not be sorted out.
            assert_eq!(
                node.say(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1)),
                "OK"
            );
            if number < masters {
                let (from, to) = cluster.range(number);
                assert_eq!(node.say(&format!("CLUSTER ADDSLOTSRANGE {from} {to}")), "OK");
            }
            if number > 0 {
                let (port, bus) = (node.port(), buses[number]);
                let met = cluster.nodes[0].say(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
                assert_eq!(met, "OK");
            }
        }
        cluster.come_together(masters);
        if replicas > 0 {
            for number in masters..cluster.nodes.len() {
                let of = &cluster.ids[number % masters];
                until("the replica knows its master", || {
                    cluster.nodes[number].say(&format!("CLUSTER REPLICATE {of}")) == "OK"
                });
            }
            for number in 0..masters {
                until("the replicas are there", || {
                    let info = cluster.nodes[number].say("INFO replication");
                    info.matches("state=online").count() == replicas
                });
            }
            cluster.come_together(masters);
        }
        cluster
    }

    /// Waits until every node sees a cluster that is whole.
    fn come_together(&self, masters: usize) {
        let (all, size) = (self.nodes.len(), masters);
        for node in &self.nodes {
            until("the cluster is whole", || {
                let info = node.say("CLUSTER INFO");
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{all}\r"))
                    && info.contains(&format!("cluster_size:{size}\r"))
                    && info.contains(&format!("cluster_slots_ok:{SLOTS}\r"))
            });
        }
    }

    /// The slots of the master of this number at the start, from and to.
    fn range(&self, number: usize) -> (usize, usize) {
        let slots = usize::from(SLOTS);
        (
            number * slots / self.masters,
            (number + 1) * slots / self.masters - 1,
        )
    }

    /// The number of the master that a slot belongs to at the start.
    ///
    /// # Panics
    /// Never: every slot belongs to one.
    #[must_use]
    pub fn owner(&self, slot: u16) -> usize {
        let owns = |number: &usize| {
            let (from, to) = self.range(*number);
            (from..=to).contains(&usize::from(slot))
        };
        (0..self.masters).find(owns).expect("an owner")
    }

    /// The URL, by all masters.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<String> = self.nodes[..self.masters]
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()))
            .collect();
        format!("redis+cluster://{}/", hosts.join(","))
    }

    /// Empties all masters.
    ///
    /// # Panics
    /// When one does not answer.
    pub fn flush(&self) {
        for node in &self.nodes[..self.masters] {
            assert_eq!(node.say("FLUSHALL"), "OK");
        }
    }

    /// Begins to move a slot: from now on its keys may lie on either side.
    ///
    /// # Panics
    /// When the nodes refuse.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let importing = format!("CLUSTER SETSLOT {slot} IMPORTING {}", self.ids[from]);
        assert_eq!(self.nodes[to].say(&importing), "OK");
        let migrating = format!("CLUSTER SETSLOT {slot} MIGRATING {}", self.ids[to]);
        assert_eq!(self.nodes[from].say(&migrating), "OK");
    }

    /// Moves up to `count` keys of a slot on the move; whether there were any.
    ///
    /// # Panics
    /// When the nodes refuse.
    #[must_use]
    pub fn move_keys(&self, slot: u16, from: usize, to: usize, count: usize) -> bool {
        let (slot, count) = (slot.to_string(), count.to_string());
        let keys = self.nodes[from].run(&[b"CLUSTER", b"GETKEYSINSLOT", slot.as_bytes(), count.as_bytes()]);
        let redis::Value::Array(keys) = keys else {
            panic!("keys")
        };
        for key in &keys {
            let redis::Value::BulkString(key) = key else {
                panic!("a key")
            };
            let port = self.nodes[to].port().to_string();
            let _ = self.nodes[from].run(&[b"MIGRATE", b"127.0.0.1", port.as_bytes(), key, b"0", b"5000"]);
        }
        !keys.is_empty()
    }

    /// Ends the move of a slot.
    ///
    /// # Panics
    /// When the nodes refuse.
    pub fn end_move(&self, slot: u16, to: usize) {
        // The new owner first: it gets a new epoch, and tells the others.
        let order = std::iter::once(to).chain((0..self.masters).filter(|number| *number != to));
        for number in order {
            let now = format!("CLUSTER SETSLOT {slot} NODE {}", self.ids[to]);
            assert_eq!(self.nodes[number].say(&now), "OK");
        }
    }
}
