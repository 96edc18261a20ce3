//! A master, its replicas, and Sentinels that watch over them.

use tempfile::TempDir;

use super::redis::{RedisServer, until};

/// What the Sentinels call the master.
const SERVICE: &str = "games";

/// A master with replicas and Sentinels, on free ports.
pub struct SentinelSet {
    /// All servers; the first is the master at the start.
    pub servers: Vec<RedisServer>,
    /// The Sentinels.
    pub sentinels: Vec<RedisServer>,
    _folder: TempDir,
}

impl SentinelSet {
    /// Starts them. A master that is silent for half a second counts as down when most Sentinels say so.
    ///
    /// # Panics
    /// When they do not find each other.
    #[must_use]
    pub fn start(replicas: usize, sentinels: usize) -> Self {
        let folder = TempDir::new().expect("a folder");
        let master = RedisServer::start();
        let mut servers = vec![master];
        for _ in 0..replicas {
            let of = servers[0].port().to_string();
            servers.push(RedisServer::start_with(&[
                "--replicaof",
                "127.0.0.1",
                &of,
                "--repl-diskless-sync-delay",
                "0",
            ]));
        }
        let replicated = format!("connected_slaves:{replicas}");
        until("the replicas are there", || {
            let info = servers[0].say("INFO replication");
            info.contains(&replicated) && info.matches("state=online").count() == replicas
        });
        let quorum = sentinels / 2 + 1;
        let watching: Vec<RedisServer> = (0..sentinels)
            .map(|number| {
                RedisServer::started(|_| {
                    let file = folder.path().join(format!("sentinel-{number}.conf"));
                    let text = format!(
                        "sentinel monitor {SERVICE} 127.0.0.1 {} {quorum}\n\
                         sentinel down-after-milliseconds {SERVICE} 500\n\
                         sentinel failover-timeout {SERVICE} 4000\n",
                        servers[0].port()
                    );
                    std::fs::write(&file, text).expect("a configuration file");
                    vec![file.display().to_string(), "--sentinel".to_owned()]
                })
            })
            .collect();
        let set = Self {
            servers,
            sentinels: watching,
            _folder: folder,
        };
        let known = [format!("slaves={replicas}"), format!("sentinels={sentinels}")];
        for sentinel in &set.sentinels {
            until("the Sentinels know each other and the replicas", || {
                let info = sentinel.say("INFO sentinel");
                known.iter().all(|part| info.contains(part))
            });
        }
        set
    }

    /// The URL of its database 0.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<String> = self
            .sentinels
            .iter()
            .map(|sentinel| format!("127.0.0.1:{}", sentinel.port()))
            .collect();
        format!("redis+sentinel://{}/{SERVICE}", hosts.join(","))
    }

    /// The number of the server that most Sentinels call the master.
    ///
    /// # Panics
    /// When they name a server that is none of these.
    #[must_use]
    pub fn master(&self) -> Option<usize> {
        let mut votes = vec![0; self.servers.len()];
        for sentinel in &self.sentinels {
            let info = sentinel.say("INFO sentinel");
            let port = info
                .split(",address=127.0.0.1:")
                .nth(1)
                .and_then(|rest| rest.split(',').next()?.parse::<u16>().ok());
            if let Some(number) = self.servers.iter().position(|server| Some(server.port()) == port) {
                votes[number] += 1;
            }
        }
        votes.iter().position(|votes| votes * 2 > self.sentinels.len())
    }

    /// Has the Sentinels replace the master although nothing is wrong with it.
    ///
    /// # Panics
    /// When they refuse.
    pub fn fail_over(&self) {
        until("the Sentinels agree to a fail-over", || {
            self.sentinels[0].say(&format!("SENTINEL FAILOVER {SERVICE}")) == "OK"
        });
    }

    /// Waits until another server than `before` is the master.
    ///
    /// # Panics
    /// When none becomes it.
    #[must_use]
    pub fn master_after(&self, before: usize) -> usize {
        let mut now = before;
        until("there is another master", || {
            now = self.master().unwrap_or(before);
            now != before
        });
        now
    }
}
