//! A way to a server that can be cut, or lose what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A TCP proxy on a free port.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    lose_next: AtomicBool,
    lose_all: AtomicBool,
    lost: AtomicUsize,
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

    /// The next answer to a script is not handed on: what was asked is done, but nobody hears, and the connection breaks.
    pub fn lose_next_reply(&self) {
        self.state.lose_next.store(true, Ordering::SeqCst);
    }

    /// The same for every answer to a script, until told otherwise.
    pub fn lose_all_replies(&self, lose: bool) {
        self.state.lose_all.store(lose, Ordering::SeqCst);
    }

    /// How many answers were lost.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.state.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries bytes both ways. Only replies to scripts are lost, not those to keep-alives of other connections.
async fn carry(mut client: TcpStream, port: u16, state: Arc<State>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (mut asked, mut answered) = ([0; 4096], [0; 4096]);
    let mut last_was_script = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                last_was_script = asked[..count].windows(7).any(|window| window == b"EVALSHA");
                if server.write_all(&asked[..count]).await.is_err() { return }
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                let lose = state.lose_all.load(Ordering::SeqCst)
                    || last_was_script && state.lose_next.swap(false, Ordering::SeqCst);
                if last_was_script && lose {
                    state.lost.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                if client.write_all(&answered[..count]).await.is_err() { return }
            }
        }
    }
}
