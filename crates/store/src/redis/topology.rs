//! Which server serves a slot, and how to find out.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use redis::{Cmd, Value};

use super::dial::{NoConnection, Purpose, SharedDial};
use super::fault::Fault;
use super::node::{Lane, Node};
use super::url::{Address, Shape};
use crate::error::StoreError;
use crate::hub::lock;
use crate::shards::SLOTS;

/// How much longer the others are waited for once one has answered.
const OTHERS_WAIT: Duration = Duration::from_millis(100);
/// Nobody serves this slot.
const NOBODY: u16 = u16::MAX;

/// Who serves what, as last heard.
#[derive(Clone)]
pub(super) struct Topology {
    /// Counts the changes.
    pub(super) version: u64,
    /// The masters, by address.
    pub(super) masters: Vec<Arc<Node>>,
    owners: Owners,
}

#[derive(Clone)]
enum Owners {
    /// The only master serves all.
    One,
    /// For each slot a number of a master, or [`NOBODY`].
    Slots(Box<[u16]>),
}

/// The same in addresses: what a resolver found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Master(Address),
    Cluster(Vec<(u16, u16, Address)>),
}

impl Topology {
    /// Nobody serves anything yet.
    pub(super) fn nobody() -> Self {
        Self {
            version: 0,
            masters: Vec::new(),
            owners: Owners::One,
        }
    }

    /// What was found, with the nodes of before where they are the same.
    pub(super) fn of(found: Found, before: &Self, dial: &SharedDial) -> Self {
        let mut addresses: Vec<Address> = match &found {
            Found::Master(address) => vec![address.clone()],
            Found::Cluster(ranges) => ranges.iter().map(|(_, _, address)| address.clone()).collect(),
        };
        addresses.sort_unstable();
        addresses.dedup();
        let owners = match &found {
            Found::Master(_) => Owners::One,
            Found::Cluster(ranges) => {
                let mut slots = vec![NOBODY; usize::from(SLOTS)].into_boxed_slice();
                for (from, to, address) in ranges {
                    let number = addresses.binary_search(address).ok();
                    let number = number
                        .and_then(|number| u16::try_from(number).ok())
                        .unwrap_or(NOBODY);
                    if let Some(range) = slots.get_mut(usize::from(*from)..=usize::from(*to)) {
                        range.fill(number);
                    }
                }
                Owners::Slots(slots)
            }
        };
        let masters = addresses
            .into_iter()
            .map(|address| before.node(address, dial))
            .collect();
        Self {
            version: before.version + 1,
            masters,
            owners,
        }
    }

    /// The node at this address, a new one if it is none of ours.
    fn node(&self, address: Address, dial: &SharedDial) -> Arc<Node> {
        let known = self.masters.iter().find(|node| node.address == address);
        known.map_or_else(|| Node::new(dial, address.clone()), Arc::clone)
    }

    /// One slot has moved.
    pub(super) fn moved(&self, slot: u16, address: &Address, dial: &SharedDial) -> Option<Self> {
        let Owners::Slots(slots) = &self.owners else {
            return None;
        };
        let (mut masters, mut slots) = (self.masters.clone(), slots.clone());
        let known = masters.iter().position(|node| node.address == *address);
        // The new one comes last: the numbers of the others stay.
        let number = known.unwrap_or_else(|| {
            masters.push(Node::new(dial, address.clone()));
            masters.len() - 1
        });
        *slots.get_mut(usize::from(slot))? = u16::try_from(number).ok()?;
        Some(Self {
            version: self.version + 1,
            masters,
            owners: Owners::Slots(slots),
        })
    }

    /// The number of the slot's master.
    pub(super) fn owner(&self, slot: u16) -> Option<usize> {
        match &self.owners {
            Owners::One => (!self.masters.is_empty()).then_some(0),
            Owners::Slots(slots) => slots.get(usize::from(slot)).map(|number| usize::from(*number)),
        }
    }

    /// The slot's master.
    pub(super) fn serving(&self, slot: u16) -> Option<&Arc<Node>> {
        self.masters.get(self.owner(slot)?)
    }

    /// Whether both say the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        let addresses = |of: &Self| {
            of.masters
                .iter()
                .map(|node| node.address.clone())
                .collect::<Vec<_>>()
        };
        let owners = match (&self.owners, &other.owners) {
            (Owners::One, Owners::One) => true,
            (Owners::Slots(one), Owners::Slots(other)) => one == other,
            _ => false,
        };
        owners && addresses(self) == addresses(other)
    }
}

/// Finds out who serves what.
pub(super) enum Resolver {
    Single(Address),
    Sentinel(Sentinels),
    Cluster(Seeds),
}

impl Resolver {
    pub(super) fn new(shape: &Shape, dial: &SharedDial) -> Self {
        match shape {
            Shape::Single(address) => Self::Single(address.clone()),
            Shape::Sentinel { sentinels, service } => Self::Sentinel(Sentinels {
                lanes: sentinels
                    .iter()
                    .map(|address| Lane::new(Arc::clone(dial), address.clone(), Purpose::Sentinel))
                    .collect(),
                service: service.clone(),
                seen: std::sync::Mutex::default(),
            }),
            Shape::Cluster(nodes) => Self::Cluster(Seeds {
                nodes: nodes
                    .iter()
                    .map(|address| Node::new(dial, address.clone()))
                    .collect(),
            }),
        }
    }

    /// Asks.
    pub(super) async fn resolve(&self, known: &Topology) -> Result<Found, NoConnection> {
        match self {
            Self::Single(address) => Ok(Found::Master(address.clone())),
            Self::Sentinel(sentinels) => sentinels.resolve().await.map(Found::Master),
            Self::Cluster(seeds) => seeds.resolve(known).await,
        }
    }
}

/// Sends plain questions to a server.
async fn asked<const N: usize>(lane: Arc<Lane>, commands: [Cmd; N]) -> Result<Vec<Value>, NoConnection> {
    let mut answers = Vec::with_capacity(N);
    for command in commands {
        let answer = lane.send("topology", &command, false, &mut false).await;
        answers.push(answer.map_err(|fault| match fault {
            Fault::NoConnection(none) => none,
            Fault::Answered(error) => NoConnection::Unfit(error),
            Fault::Lost(why) | Fault::ReadOnly(why) | Fault::NotNow(why) => NoConnection::Unreachable(why),
            _ => NoConnection::Unreachable("an answer that is none".to_owned()),
        })?);
    }
    Ok(answers)
}

/// All answers of those who answer in time: once one has, the others are not waited for long.
async fn gathered<T>(
    mut asking: FuturesUnordered<impl Future<Output = Result<T, NoConnection>>>,
) -> Result<Vec<T>, NoConnection> {
    let (mut found, mut last) = (Vec::new(), None);
    while let Some(next) = {
        let next = asking.next();
        if found.is_empty() {
            next.await
        } else {
            tokio::time::timeout(OTHERS_WAIT, next).await.ok().flatten()
        }
    } {
        match next {
            Ok(answer) => found.push(answer),
            Err(error) => last = Some(error),
        }
    }
    match (found.is_empty(), last) {
        (false, _) => Ok(found),
        (true, Some(error)) => Err(error),
        (true, None) => Err(NoConnection::Unreachable("nobody is known to ask".to_owned())),
    }
}

/// The Sentinels of one master.
pub(super) struct Sentinels {
    lanes: Vec<Arc<Lane>>,
    service: String,
    /// The highest epoch that a master was chosen by.
    seen: std::sync::Mutex<u64>,
}

/// What one Sentinel says.
struct Vote {
    epoch: u64,
    address: Address,
}

impl Sentinels {
    async fn resolve(&self) -> Result<Address, NoConnection> {
        let asking: FuturesUnordered<_> = self
            .lanes
            .iter()
            .map(|lane| {
                let question = |name| {
                    let mut command = redis::cmd("SENTINEL");
                    command.arg(name).arg(&self.service);
                    command
                };
                let asked = asked(
                    Arc::clone(lane),
                    [question("GET-MASTER-ADDR-BY-NAME"), question("MASTER")],
                );
                async move {
                    vote(&asked.await?).ok_or_else(|| {
                        NoConnection::Unreachable(format!("the Sentinels know no service {:?}", self.service))
                    })
                }
            })
            .collect();
        let votes = gathered(asking).await.map_err(|none| match none {
            // A Sentinel answers an unknown name with an error.
            NoConnection::Unfit(StoreError::Corrupt { why, .. }) => {
                NoConnection::Unreachable(format!("service {:?}: {why}", self.service))
            }
            other => other,
        })?;
        let mut seen = lock(&self.seen);
        let chosen = choose(&votes, *seen, self.lanes.len())?;
        *seen = chosen.epoch;
        Ok(chosen.address.clone())
    }
}

/// Whom the Sentinels that answer, of `all`, are to be believed: the newest, by the epoch of the fail-over that made it
/// master.
fn choose(votes: &[Vote], seen: u64, all: usize) -> Result<&Vote, NoConnection> {
    let Some(newest) = votes.iter().max_by_key(|vote| vote.epoch) else {
        return Err(NoConnection::Unreachable("no Sentinel answers".to_owned()));
    };
    let agreeing = votes.iter().filter(|vote| vote.address == newest.address).count();
    // A few that are cut off may speak of a master that was: not believed once a newer one was seen. A majority is
    // believed whatever its epoch: Sentinels that were set up anew count from the start.
    if newest.epoch < seen && agreeing * 2 <= all {
        return Err(NoConnection::Unreachable(
            "only Sentinels that have missed a fail-over answer".to_owned(),
        ));
    }
    Ok(newest)
}

fn vote(answers: &[Value]) -> Option<Vote> {
    let [Value::Array(address), master] = answers else {
        return None;
    };
    let address = Address::new(text(address.first()?)?, text(address.get(1)?)?.parse().ok()?);
    let epoch = field(master, "config-epoch").and_then(text)?.parse().ok()?;
    Some(Vote { epoch, address })
}

/// A field of a map, or of a flat list of names and values.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Map(pairs) => pairs
            .iter()
            .find(|(key, _)| text(key) == Some(name))
            .map(|(_, value)| value),
        Value::Array(flat) => flat
            .chunks_exact(2)
            .find(|pair| text(&pair[0]) == Some(name))
            .map(|pair| &pair[1]),
        _ => None,
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        _ => None,
    }
}

/// The nodes that a cluster is known by before anything is known of it.
pub(super) struct Seeds {
    nodes: Vec<Arc<Node>>,
}

/// What one node says about its cluster.
struct Sight {
    whole: bool,
    epoch: u64,
    ranges: Vec<(u16, u16, Address)>,
}

impl Seeds {
    async fn resolve(&self, known: &Topology) -> Result<Found, NoConnection> {
        let mut asked_already = Vec::new();
        let asking: FuturesUnordered<_> = known
            .masters
            .iter()
            .chain(&self.nodes)
            .filter(|node| {
                let new = !asked_already.contains(&node.address);
                asked_already.push(node.address.clone());
                new
            })
            .map(|node| {
                let command = |name| {
                    let mut command = redis::cmd("CLUSTER");
                    command.arg(name);
                    command
                };
                // By the lane that does not look at the role: replicas know as much.
                let asked = asked(Arc::clone(&node.pushes), [command("INFO"), command("SLOTS")]);
                let host = node.address.host.clone();
                async move {
                    sight(&asked.await?, &host).ok_or_else(|| {
                        NoConnection::Unreachable("CLUSTER SLOTS answered what cannot be read".to_owned())
                    })
                }
            })
            .collect();
        let sights = gathered(asking).await?;
        // A node that is cut off says that its cluster is down, and has missed what happened since.
        let best = sights.into_iter().max_by_key(|sight| (sight.whole, sight.epoch));
        match best {
            Some(sight) if !sight.ranges.is_empty() => Ok(Found::Cluster(sight.ranges)),
            _ => Err(NoConnection::Unreachable(
                "the cluster serves no slots".to_owned(),
            )),
        }
    }
}

fn sight(answers: &[Value], host: &str) -> Option<Sight> {
    let [info, Value::Array(slots)] = answers else {
        return None;
    };
    let mut sight = Sight {
        whole: false,
        epoch: 0,
        ranges: Vec::with_capacity(slots.len()),
    };
    for line in text(info)?.lines() {
        match line.trim_end().split_once(':') {
            Some(("cluster_state", state)) => sight.whole = state == "ok",
            Some(("cluster_current_epoch", epoch)) => sight.epoch = epoch.parse().ok()?,
            _ => {}
        }
    }
    for range in slots {
        let Value::Array(range) = range else { return None };
        let [Value::Int(from), Value::Int(to), Value::Array(master), ..] = range.as_slice() else {
            return None;
        };
        let number = |value: i64| u16::try_from(value).ok().filter(|slot| *slot < SLOTS);
        let port = match master.get(1)? {
            Value::Int(port) => u16::try_from(*port).ok()?,
            _ => return None,
        };
        // No name: the one by which it was asked.
        let named = master
            .first()
            .and_then(text)
            .filter(|name| !name.is_empty() && *name != "?");
        sight.ranges.push((
            number(*from)?,
            number(*to)?,
            Address::new(named.unwrap_or(host), port),
        ));
    }
    Some(sight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn a_node_is_believed_by_what_it_says() {
        let slots = Value::Array(vec![Value::Array(vec![
            Value::Int(0),
            Value::Int(16_383),
            Value::Array(vec![bulk("10.0.0.1"), Value::Int(7_000), bulk("id")]),
        ])]);
        let answers = [bulk("cluster_state:ok\r\ncluster_current_epoch:7\r\n"), slots];
        let sight = sight(&answers, "host").unwrap();
        assert_eq!((sight.whole, sight.epoch), (true, 7));
        assert_eq!(sight.ranges, [(0, 16_383, Address::new("10.0.0.1", 7_000))]);
        let nameless = Value::Array(vec![Value::Array(vec![
            Value::Int(0),
            Value::Int(20_000),
            Value::Array(vec![Value::Nil, Value::Int(7_000)]),
        ])]);
        assert!(
            super::sight(&[bulk(""), nameless], "host").is_none(),
            "no such slot"
        );
    }

    #[test]
    fn a_sentinel_votes_with_its_epoch() {
        let address = Value::Array(vec![bulk("10.0.0.1"), bulk("7000")]);
        let master = Value::Map(vec![(bulk("config-epoch"), bulk("3"))]);
        let vote = super::vote(&[address, master]).unwrap();
        assert_eq!((vote.epoch, vote.address), (3, Address::new("10.0.0.1", 7_000)));
        assert!(super::vote(&[Value::Nil, Value::Nil]).is_none());
    }

    #[test]
    fn sentinels_that_missed_a_fail_over_are_not_believed() {
        let old = || Vote {
            epoch: 1,
            address: Address::new("old", 1),
        };
        let new = || Vote {
            epoch: 2,
            address: Address::new("new", 1),
        };
        let chosen = |votes: &[Vote], seen| choose(votes, seen, 3).map(|vote| vote.address.host.clone()).ok();
        assert_eq!(
            chosen(&[old(), old(), new()], 0).as_deref(),
            Some("new"),
            "one knows more"
        );
        assert_eq!(
            chosen(&[old()], 0).as_deref(),
            Some("old"),
            "nothing newer was seen"
        );
        assert_eq!(chosen(&[old()], 2), None, "a newer one was seen");
        assert_eq!(
            chosen(&[old(), old()], 2).as_deref(),
            Some("old"),
            "a majority, set up anew"
        );
        assert_eq!(chosen(&[], 0), None);
    }
}
