//! What a scenario plays on: a store of some shape, services, a network between them.

use anyhow::{Context, Result, bail};
use tablemate_store::testing::{RedisCluster, RedisServer, SentinelSet};
use tablemate_tests::{Services, Shape};
use tempfile::TempDir;

use crate::proxy::Proxy;

/// Which store a scenario needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// One Redis, in memory only.
    Memory,
    /// One Redis that keeps an append-only file, synced as told.
    Aof(&'static str),
    /// One Redis that keeps an append-only file on a small disk of its own.
    SmallDisk,
    /// One Redis, each service behind a network of its own.
    Proxied,
    /// A master, two replicas, three Sentinels.
    Sentinel,
    /// A cluster of three masters with a replica each.
    Cluster,
}

/// A running store.
pub enum Store {
    /// One Redis.
    Single(RedisServer),
    /// With Sentinels.
    Sentinel(SentinelSet),
    /// A cluster.
    Cluster(RedisCluster),
}

/// What a scenario plays on.
pub struct Stage {
    /// The services.
    pub services: Services,
    /// The store.
    pub store: Store,
    /// The networks, one for each game service and one for all matchmakers, where there are any.
    pub networks: Vec<Proxy>,
    /// The disk of the store's own, where it has one.
    pub disk: Option<SmallDisk>,
    _folder: TempDir,
}

/// How many processes of each kind there are.
pub const SHAPE: Shape = Shape::of(2, 2);

impl Stage {
    /// Starts everything; `flags` are for all services.
    pub async fn set(kind: StoreKind, flags: &[&str]) -> Result<Self> {
        let folder = TempDir::new()?;
        let dir = folder.path().display().to_string();
        let mut networks = Vec::new();
        let mut disk = None;
        let (store, urls) = match kind {
            StoreKind::Memory => single(RedisServer::start()),
            StoreKind::Aof(sync) => single(RedisServer::start_with(&[
                "--appendonly",
                "yes",
                "--appendfsync",
                sync,
                "--dir",
                &dir,
            ])),
            StoreKind::SmallDisk => {
                let small = SmallDisk::mount(folder.path())?;
                disk = Some(small);
                single(RedisServer::start_with(&[
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "everysec",
                    "--dir",
                    &dir,
                    "--auto-aof-rewrite-percentage",
                    "0",
                ]))
            }
            StoreKind::Proxied => {
                let redis = RedisServer::start();
                for _ in 0..=SHAPE.game_services {
                    networks.push(Proxy::to(redis.port()).await?);
                }
                let urls = networks.iter().map(Proxy::url).collect();
                (Store::Single(redis), urls)
            }
            StoreKind::Sentinel => {
                let set = SentinelSet::start(2, 3);
                let url = set.url();
                (Store::Sentinel(set), vec![url])
            }
            StoreKind::Cluster => {
                let cluster = RedisCluster::start(3, 1);
                let url = cluster.url();
                (Store::Cluster(cluster), vec![url])
            }
        };
        let flags = flags.iter().map(ToString::to_string).collect();
        Ok(Self {
            services: Services::start(SHAPE, urls, flags)?,
            store,
            networks,
            disk,
            _folder: folder,
        })
    }

    /// The store, when it is one Redis.
    pub fn single(&mut self) -> Result<&mut RedisServer> {
        match &mut self.store {
            Store::Single(redis) => Ok(redis),
            _ => bail!("this scenario needs one Redis"),
        }
    }

    /// The store, when there are Sentinels.
    pub fn sentinel(&mut self) -> Result<&mut SentinelSet> {
        match &mut self.store {
            Store::Sentinel(set) => Ok(set),
            _ => bail!("this scenario needs Sentinels"),
        }
    }

    /// The store, when it is a cluster.
    pub fn cluster(&mut self) -> Result<&mut RedisCluster> {
        match &mut self.store {
            Store::Cluster(cluster) => Ok(cluster),
            _ => bail!("this scenario needs a cluster"),
        }
    }
}

fn single(redis: RedisServer) -> (Store, Vec<String>) {
    let url = redis.url();
    (Store::Single(redis), vec![url])
}

/// A file system of a few megabytes; unmounted when dropped.
pub struct SmallDisk {
    path: std::path::PathBuf,
}

impl SmallDisk {
    /// Mounts one over this folder. Needs root.
    fn mount(path: &std::path::Path) -> Result<Self> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
            .arg(path)
            .output()
            .context("mount")?;
        if !mounted.status.success() {
            bail!(
                "a small disk needs root and a system that lets it mount: {}",
                String::from_utf8_lossy(&mounted.stderr).trim()
            );
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Fills what is left.
    pub fn fill(&self) -> Result<()> {
        let mut file = std::fs::File::create(self.ballast())?;
        let block = vec![0_u8; 64 * 1_024];
        // Ends by "no space left on device".
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
        Ok(())
    }

    /// Frees it again.
    pub fn free(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.ballast())?)
    }

    fn ballast(&self) -> std::path::PathBuf {
        self.path.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.path)
            .status();
    }
}
