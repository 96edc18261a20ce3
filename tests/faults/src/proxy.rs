//! The network between a service and Redis, to be cut and slowed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// How the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Carries everything at once.
    Good,
    /// Carries everything, this much later.
    Slow(Duration),
    /// Carries nothing and says nothing: connections stay open and are silent.
    Silent,
    /// Connections break, new ones are refused.
    Cut,
}

/// A TCP proxy on a free port of the loopback interface.
pub struct Proxy {
    port: u16,
    network: watch::Sender<Network>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// A good network to this port.
    pub async fn to(target: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (network, state) = watch::channel(Network::Good);
        let state = Arc::new(state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = watch::Receiver::clone(&state);
                if *state.borrow() != Network::Cut {
                    tokio::spawn(carry(client, target, state));
                }
            }
        });
        Ok(Self { port, network, task })
    }

    /// The URL of Redis through it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Makes the network so.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, target: u16, mut state: watch::Receiver<Network>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = one_way(from_client, to_server, state.clone()) => {}
        () = one_way(from_server, to_client, state.clone()) => {}
        _ = state.wait_for(|network| *network == Network::Cut) => {}
    }
}

/// Carries bytes one way, each chunk late by what the network was when it came, in order.
async fn one_way(
    mut from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin,
    state: watch::Receiver<Network>,
) {
    let (sender, mut chunks) = mpsc::channel::<(Instant, Vec<u8>)>(1_024);
    let mut network = state.clone();
    let reader = async move {
        let mut buffer = vec![0; 16 * 1_024];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let late = match *state.borrow() {
                Network::Slow(late) => late,
                _ => Duration::ZERO,
            };
            let chunk = buffer.get(..count).unwrap_or_default().to_vec();
            if sender.send((Instant::now() + late, chunk)).await.is_err() {
                break;
            }
        }
    };
    let writer = async move {
        while let Some((at, chunk)) = chunks.recv().await {
            tokio::time::sleep_until(at).await;
            if network
                .wait_for(|network| *network != Network::Silent)
                .await
                .is_err()
            {
                break;
            }
            if to.write_all(&chunk).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        // What was read is still written.
        ((), ()) = async { tokio::join!(reader, writer) } => {}
    }
}
