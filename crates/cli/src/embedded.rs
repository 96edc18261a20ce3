//! Game service and matchmaker inside this process, on one gRPC port.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Where the embedded service keeps its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreChoice {
    /// In the process; gone when it ends.
    Memory,
    /// In Redis, at this URL.
    Redis(String),
}

impl FromStr for StoreChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "memory" => Ok(StoreChoice::Memory),
            url if url.starts_with("redis://") || url.starts_with("unix://") => {
                Ok(StoreChoice::Redis(url.to_owned()))
            }
            _ => Err("expected `memory` or `redis://host:port`".to_owned()),
        }
    }
}

impl fmt::Display for StoreChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreChoice::Memory => f.write_str("memory"),
            StoreChoice::Redis(url) => f.write_str(url),
        }
    }
}

/// A running service inside this process.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
}

impl Embedded {
    /// Starts game service and matchmaker on one port.
    pub async fn start(_store: &StoreChoice, _listen: &str) -> anyhow::Result<Embedded> {
        anyhow::bail!("the embedded service is not wired yet")
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it: calls in flight finish, streams end.
    pub async fn stop(self) -> anyhow::Result<()> {
        Ok(())
    }
}
