//! A way to a server that loses answers, answers by itself, or changes what the server says of itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::hub::lock;

/// A TCP proxy on a free port. What it does to scripts it does one by one: a test sends them one by one.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    plans: Mutex<VecDeque<Plan>>,
    lose_all: AtomicBool,
    lost: AtomicUsize,
    lie: Mutex<Option<(Vec<u8>, Vec<u8>)>>,
}

/// What happens to a script.
enum Plan {
    /// It is done, but nobody hears, and the connection breaks.
    Lose,
    /// It is not done, and this is the answer.
    Say(String),
}

impl Proxy {
    /// One to the server on this port of 127.0.0.1.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn to(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, Arc::clone(&shared)));
            }
        });
        Self { port, state, task }
    }

    /// Its own port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The answer to the next script that nothing is planned for is lost: what was asked is done, but nobody hears, and
    /// the connection breaks.
    pub fn lose_next_reply(&self) {
        lock(&self.state.plans).push_back(Plan::Lose);
    }

    /// The next script that nothing is planned for is refused with this error in place of being done.
    pub fn refuse_next(&self, error: &str) {
        lock(&self.state.plans).push_back(Plan::Say(format!("-{error}\r\n")));
    }

    /// Every answer to a script is lost, until told otherwise.
    pub fn lose_all_replies(&self, lose: bool) {
        self.state.lose_all.store(lose, Ordering::SeqCst);
    }

    /// In what the server answers, `truth` is replaced by `lie`, of the same length; `None` ends it.
    pub fn lie(&self, lie: Option<(&str, &str)>) {
        *lock(&self.state.lie) = lie.map(|(truth, lie)| {
            assert_eq!(truth.len(), lie.len());
            (truth.as_bytes().to_vec(), lie.as_bytes().to_vec())
        });
    }

    /// How many answers were lost.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.state.lost.load(Ordering::SeqCst)
    }

    /// How many plans are left.
    #[must_use]
    pub fn planned(&self) -> usize {
        lock(&self.state.plans).len()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    /// What the server says, with the lie in it.
    fn told(&self, answer: &mut [u8]) {
        let Some((truth, lie)) = lock(&self.lie).clone() else {
            return;
        };
        let places: Vec<usize> = answer
            .windows(truth.len())
            .enumerate()
            .filter(|(_, window)| *window == truth)
            .map(|(at, _)| at)
            .collect();
        for at in places {
            answer[at..at + lie.len()].copy_from_slice(&lie);
        }
    }
}

/// Carries bytes both ways. Only scripts are interfered with, not keep-alives of other connections.
async fn carry(mut client: TcpStream, port: u16, state: Arc<State>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut lose = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                if asked[..count].windows(7).any(|window| window == b"EVALSHA") {
                    let plan = lock(&state.plans).pop_front();
                    lose = state.lose_all.load(Ordering::SeqCst) || matches!(plan, Some(Plan::Lose));
                    if let Some(Plan::Say(error)) = plan {
                        if client.write_all(error.as_bytes()).await.is_err() { return }
                        continue;
                    }
                }
                if server.write_all(&asked[..count]).await.is_err() { return }
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                if lose {
                    state.lost.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                state.told(&mut answered[..count]);
                if client.write_all(&answered[..count]).await.is_err() { return }
            }
        }
    }
}
