//! For tests, of this crate and of others: a real Redis on a free port, and what a test may do to a store behind its
//! back. Panics are the tests' own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tablemate_session::{Millis, SessionId};

pub use crate::embedded::ManualTime;

/// From now on this thread draws what would be the operating system's random bytes from `seed`, so that a run on one
/// thread can be repeated.
pub fn seed_entropy(seed: u64) {
    crate::entropy::seeded::set(seed);
}

/// How often another port is tried when somebody else takes the one that was free.
const STARTS_MAX: usize = 5;
/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// A `redis-server` of this test's own: started on a free port of the loopback interface, in memory only, killed when
/// dropped.
pub struct RedisServer {
    running: Option<Running>,
    port: u16,
}

/// A server, and a shell that kills it when this process ends without doing so (a test runner that is killed drops
/// nothing).
struct Running {
    server: Child,
    watchdog: Child,
}

impl Running {
    fn of(server: Child) -> Self {
        let watchdog = Command::new("sh")
            .args(["-c", "read end; kill -9 \"$0\"", &server.id().to_string()])
            // Closed when this process ends, however.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        Self { server, watchdog }
    }

    fn stop(mut self) {
        // The watchdog first: it must not kill another process that got the server's number.
        for child in [&mut self.watchdog, &mut self.server] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl RedisServer {
    /// Starts one.
    ///
    /// # Panics
    /// When `redis-server` is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        for _ in 0..STARTS_MAX {
            let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
            let port = probe.local_addr().expect("its address").port();
            drop(probe);
            if let Some(server) = spawn(port) {
                let running = Some(Running::of(server));
                return Self { running, port };
            }
        }
        panic!("redis-server did not start on any of {STARTS_MAX} free ports");
    }

    /// The URL of its database 0.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills it; all data is lost.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }

    /// Starts it again, empty, on the same port.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_again(&mut self) {
        self.stop();
        let server = spawn(self.port).expect("redis-server starts again on its port");
        self.running = Some(Running::of(server));
    }

    /// Runs a command and gives the raw answer; for tests that look behind the store.
    ///
    /// # Panics
    /// When the server does not answer, or with an error.
    #[must_use]
    pub fn run(&self, command: &[&[u8]]) -> redis::Value {
        let client = redis::Client::open(self.url()).expect("a URL");
        let mut connection = client.get_connection().expect("a connection");
        let (name, args) = command.split_first().expect("a command");
        let mut command = redis::cmd(std::str::from_utf8(name).expect("a name"));
        args.iter().for_each(|arg| {
            command.arg(*arg);
        });
        command.query(&mut connection).expect("an answer")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a server and waits until it answers; `None` when it ends before that.
fn spawn(port: u16) -> Option<Child> {
    let started = Command::new("redis-server")
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            panic!("cannot start redis-server (7 or newer must be installed and on the PATH): {error}")
        }
    };
    let deadline = Instant::now() + START_TIMEOUT;
    while Instant::now() < deadline {
        if child.try_wait().expect("the server's state").is_some() {
            return None;
        }
        if process_id(port) == Some(child.id()) {
            return Some(child);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// The process id of the server on this port: another one than ours may have been quicker.
fn process_id(port: u16) -> Option<u32> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"INFO server\r\nQUIT\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer
        .lines()
        .find_map(|line| line.strip_prefix("process_id:")?.trim().parse().ok())
}

/// What a test does to a store behind its back.
#[async_trait]
pub trait Tamper: Send + Sync {
    /// Sets a shard's last sign of life back by this much; nothing when there was none.
    async fn age_pulse(&self, shard: u16, by: Millis);

    /// A fail-over lost the log's tail: only its first `kept` entries are left.
    async fn lose_tail(&self, session: SessionId, kept: usize);
}
