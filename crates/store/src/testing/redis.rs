//! Servers of a test's own.

use std::io::{BufRead as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How often another port is tried when somebody else takes the one that was free.
const STARTS_MAX: usize = 5;
/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// A `redis-server` of this test's own: started on a free port of the loopback interface, in memory only, killed when
/// dropped.
pub struct RedisServer {
    running: Option<Running>,
    port: u16,
    arguments: Vec<String>,
    /// Its own: a replica leaves its master's data there, which no other server must find.
    folder: TempDir,
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
            // Closed when this process ends, however. A signal to the whole group must not end the watchdog first.
            .stdin(Stdio::piped())
            .process_group(0)
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

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.server.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> u16 {
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    probe.local_addr().expect("its address").port()
}

impl RedisServer {
    /// Starts one.
    ///
    /// # Panics
    /// When `redis-server` is not installed or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with these arguments besides.
    ///
    /// # Panics
    /// When `redis-server` is not installed or does not start.
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        Self::started(|_| {
            let memory_only = ["--save", "", "--appendonly", "no"];
            memory_only
                .iter()
                .chain(arguments)
                .map(ToString::to_string)
                .collect()
        })
    }

    /// Starts one with the arguments that `arguments` gives for a port.
    pub(super) fn started(arguments: impl Fn(u16) -> Vec<String>) -> Self {
        let folder = TempDir::new().expect("a folder");
        for _ in 0..STARTS_MAX {
            let port = free_port();
            let arguments = arguments(port);
            if let Some(server) = spawn(port, &arguments, folder.path()) {
                return Self {
                    running: Some(Running::of(server)),
                    port,
                    arguments,
                    folder,
                };
            }
        }
        panic!("redis-server did not start on any of {STARTS_MAX} free ports");
    }

    /// A port that was free a moment ago, for what a server shall listen on besides.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn free_port() -> u16 {
        free_port()
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

    /// Kills it; what it had in memory only is lost.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }

    /// Starts it again on the same port, with the same arguments.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_again(&mut self) {
        self.stop();
        let server = spawn(self.port, &self.arguments, self.folder.path())
            .expect("redis-server starts again on its port");
        self.running = Some(Running::of(server));
    }

    /// Stops it in its tracks (SIGSTOP): connections stay, nothing is answered.
    ///
    /// # Panics
    /// When it cannot be signalled.
    pub fn pause(&self) {
        if let Some(running) = &self.running {
            running.signal("-STOP");
        }
    }

    /// Lets it go on after [`RedisServer::pause`].
    ///
    /// # Panics
    /// When it cannot be signalled.
    pub fn resume(&self) {
        if let Some(running) = &self.running {
            running.signal("-CONT");
        }
    }

    /// Runs a command and gives the raw answer; for tests that look behind the store.
    ///
    /// # Panics
    /// When the server does not answer, or with an error.
    #[must_use]
    pub fn run(&self, command: &[&[u8]]) -> redis::Value {
        self.try_run(command).expect("an answer")
    }

    /// The same, and an error is an answer.
    ///
    /// # Errors
    /// What the server or the connection says.
    ///
    /// # Panics
    /// When there is no command.
    pub fn try_run(&self, command: &[&[u8]]) -> redis::RedisResult<redis::Value> {
        let client = redis::Client::open(self.url()).expect("a URL");
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(2))?;
        let (name, args) = command.split_first().expect("a command");
        let mut command = redis::cmd(std::str::from_utf8(name).expect("a name"));
        args.iter().for_each(|arg| {
            command.arg(*arg);
        });
        command.query(&mut connection)
    }

    /// Runs a command of words; gives its answer as text, empty when there is none that is text.
    #[must_use]
    pub fn say(&self, words: &str) -> String {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let answer = self.try_run(&words).ok();
        answer
            .and_then(|answer| redis::from_redis_value(answer).ok())
            .unwrap_or_default()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits until something is so.
///
/// # Panics
/// When it is not within 20 s.
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a server and waits until it answers; `None` when it ends before that.
fn spawn(port: u16, arguments: &[String], folder: &Path) -> Option<Child> {
    // A configuration file comes first; Sentinels have one.
    let (file, arguments) = match arguments.split_first() {
        Some((first, rest)) if !first.starts_with("--") => (Some(first), rest),
        _ => (None, arguments),
    };
    let started = Command::new("redis-server")
        .args(file)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(arguments)
        .current_dir(folder)
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
    stream.write_all(b"INFO server\r\n").ok()?;
    // A Sentinel knows no QUIT: what is looked for ends the reading.
    let mut lines = std::io::BufReader::new(stream).lines().map_while(Result::ok);
    lines.find_map(|line| line.strip_prefix("process_id:")?.trim().parse().ok())
}
