//! One of our binaries as a process of its own, its log kept in a file.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a process may take until its port answers.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// A port that was free a moment ago.
///
/// # Errors
/// When the system has none.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The path of one of the workspace's binaries, built on the first call, unless `TABLEMATE_BINARIES_BUILT` says that
/// they are up to date.
///
/// # Errors
/// When the folder of build results is not where cargo puts it.
pub fn binary(name: &str) -> Result<PathBuf> {
    static BUILT: Once = Once::new();
    // …/target/debug/deps/some_test-0123, or …/target/debug/some_binary → …/target/debug
    let own = std::env::current_exe()?;
    let mut folder = own.parent().context("a program lies in a folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("a test lies in target/PROFILE/deps")?;
    }
    let release = folder.ends_with("release");
    BUILT.call_once(|| {
        if std::env::var_os("TABLEMATE_BINARIES_BUILT").is_some() {
            return;
        }
        let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
        cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        cargo.args(["build", "--quiet", "--workspace", "--bins"]);
        if release {
            cargo.arg("--release");
        }
        let built = cargo.status();
        assert!(
            built.as_ref().is_ok_and(ExitStatus::success),
            "cargo build --bins: {built:?}"
        );
    });
    let path = folder.join(name);
    if !path.is_file() {
        bail!("there is no binary at {}", path.display());
    }
    Ok(path)
}

/// A running process. Killed when dropped; its log is printed when a test panics meanwhile.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts a binary with these arguments; it must listen on `address` soon.
    ///
    /// # Errors
    /// When it cannot be started, or ends or stays silent at its start.
    pub fn start(
        name: &str,
        label: &str,
        folder: &Path,
        address: SocketAddr,
        arguments: &[String],
    ) -> Result<Self> {
        let log = folder.join(format!("{label}.log"));
        let file = File::options().create(true).append(true).open(&log)?;
        let child = Command::new(binary(name)?)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("start {name}"))?;
        let mut process = Self {
            name: label.to_owned(),
            child,
            log,
            address,
        };
        process.wait_for_port()?;
        Ok(process)
    }

    fn wait_for_port(&mut self) -> Result<()> {
        let begun = Instant::now();
        while TcpStream::connect_timeout(&self.address, Duration::from_millis(200)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended at its start: {status}\n{}", self.name, self.log_text());
            }
            if begun.elapsed() > START_PATIENCE {
                bail!(
                    "{} does not listen on {}\n{}",
                    self.name,
                    self.address,
                    self.log_text()
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it at once, as `kill -9` does.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to stop (SIGTERM) and waits for its end.
    ///
    /// # Errors
    /// When it does not end within `patience`.
    pub fn terminate(&mut self, patience: Duration) -> Result<ExitStatus> {
        let asked = Command::new("kill")
            .args(["-TERM", &self.id().to_string()])
            .status()?;
        if !asked.success() {
            bail!("kill -TERM: {asked}");
        }
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if begun.elapsed() > patience {
                bail!(
                    "{} did not end within {patience:?}\n{}",
                    self.name,
                    self.log_text()
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let text = self.log_text();
            let tail: Vec<&str> = text.lines().rev().take(40).collect();
            eprintln!("--- the log of {} ends with:", self.name);
            for line in tail.into_iter().rev() {
                eprintln!("{line}");
            }
        }
    }
}
