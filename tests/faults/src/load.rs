//! `tablemate load` as a process of its own, and what it says at the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tablemate_tests::{Services, binary};
use tokio::process::{Child, Command};

/// How hard the deployment is worked.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Simulated players; two make a game.
    pub players: u32,
    /// For how long they begin games.
    pub seconds: u64,
    /// How long they think on the average, in ms.
    pub think_ms: u64,
    /// How long they wait for an answer, in seconds.
    pub patience: u64,
}

/// What the load saw, as its report says.
#[derive(Debug, Default, Deserialize)]
pub struct Report {
    /// Games that ended.
    pub games: u64,
    /// Moves that were acknowledged.
    pub moves: u64,
    /// Watchers that were told to begin anew.
    pub resynchronised: u64,
    /// The longest time in which nobody's call was answered well.
    pub longest_silence_ms: f64,
    /// Times of the calls, by name.
    pub calls: BTreeMap<String, Times>,
    /// How often each promise was broken, by name.
    pub broken: BTreeMap<String, u64>,
    /// The first violations.
    pub violations: Vec<Violation>,
}

/// Times of a kind of call, in ms, retries included.
#[derive(Debug, Default, Deserialize)]
pub struct Times {
    /// The longest.
    pub max: f64,
}

/// One thing that was wrong.
#[derive(Debug, Deserialize)]
pub struct Violation {
    /// Which promise was broken.
    pub broken: String,
    /// How it was seen.
    pub text: String,
}

impl Report {
    /// How often this promise was broken.
    pub fn broken(&self, name: &str) -> u64 {
        self.broken.get(name).copied().unwrap_or(0)
    }
}

impl Load {
    /// Starts the players against all services; what is acknowledged is written to `journal`.
    pub fn start(&self, services: &Services, journal: &Path) -> Result<Running> {
        let mut command = Command::new(binary("tablemate")?);
        command.args([
            "load",
            "--json",
            "--repeats=0.2",
            &format!("--players={}", self.players),
            &format!("--duration={}s", self.seconds),
            &format!("--think={}ms", self.think_ms),
            &format!("--patience={}s", self.patience),
            // Short enough for the server to have to move now and then.
            "--move-time=4s",
        ]);
        command.arg("--journal").arg(journal);
        for address in services.game_addresses() {
            command.arg(format!("--server={address}"));
        }
        for address in services.matchmaker_addresses() {
            command.arg(format!("--matchmaker={address}"));
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.kill_on_drop(true);
        Ok(Running {
            child: command.spawn().context("start tablemate load")?,
        })
    }
}

/// A load that is on.
pub struct Running {
    child: Child,
}

impl Running {
    /// Waits for its end.
    pub async fn finish(self) -> Result<Report> {
        let output = self.child.wait_with_output().await?;
        let printed = String::from_utf8_lossy(&output.stdout);
        match serde_json::from_str(&printed) {
            Ok(report) => Ok(report),
            Err(error) => bail!(
                "tablemate load: {}, its report: {error}\n{printed}\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
}
