//! Accepting, serving, ageing, closing.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tower::{Service, ServiceExt as _};

use crate::Ending;

/// How many calls one connection may have open at once, streams included.
const STREAMS_MAX: u32 = 4_096;
/// How often a silent connection is asked whether it is there, and how long it may take to say so: a peer that vanished
/// must not hold its streams open.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How long a connection that has to go may take for its first request. One that was opened and never used says nothing,
/// not even goodbye, and would use up the whole grace.
const FIRST_REQUEST: Duration = Duration::from_millis(500);
/// How long to wait when nothing can be accepted, for want of file descriptors as a rule.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// How much an age is drawn around what is set, so that connections made together do not end together.
const JITTER: f64 = 0.1;

/// How long connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// After about this time, a tenth more or less, a connection is asked to end, so that load moves to new replicas.
    /// `None`: never.
    pub age: Option<Duration>,
    /// How long calls may take to end on a connection that was asked to; then it is cut off.
    pub grace: Duration,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            age: Some(Duration::from_secs(30 * 60)),
            grace: Duration::from_secs(10),
        }
    }
}

impl Life {
    /// As long as they want, with so much grace at shutdown.
    #[must_use]
    pub const fn ageless(grace: Duration) -> Self {
        Self { age: None, grace }
    }

    /// Waits for an age drawn anew.
    async fn age(self) {
        match self.age {
            Some(age) => {
                let factor = 1.0 + JITTER * (2.0 * rand::random::<f64>() - 1.0);
                tokio::time::sleep(age.mul_f64(factor)).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// Serves on a bound listener until `stop`; then no connection is accepted, and those that are there end as at the end
/// of their age: their streams are told, calls finish, and what is left after the grace is cut off. Dropping the future
/// cuts off everything at once.
pub async fn serve<S, B>(listener: TcpListener, service: S, life: Life, stop: CancellationToken)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // All connections are in here and end with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, service.clone(), life, stop.child_token()));
                }
                Err(error) => {
                    tracing::debug!(%error, "nothing can be accepted");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
        }
    }
    // Whoever comes from here on is refused by the system, and goes elsewhere at once.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection<S, B>(stream: TcpStream, service: S, life: Life, end: CancellationToken)
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Without it small messages wait for each other; a connection that is broken already says so soon enough.
    let _ = stream.set_nodelay(true);
    let ending = Ending::new(end.clone());
    let spoke = Arc::new(AtomicBool::new(false));
    let service = service.map_request({
        let (ending, spoke) = (ending.clone(), Arc::clone(&spoke));
        move |request: Request<Incoming>| {
            spoke.store(true, Ordering::Relaxed);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ending.clone());
            request
        }
    });
    let mut builder = Builder::new(TokioExecutor::new()).http2_only();
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE);
    let service = TowerToHyperService::new(service);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));

    tokio::select! {
        served = serving.as_mut() => return ended(served),
        () = end.cancelled() => {}
        () = life.age() => {}
    }
    // The streams first: what they say now still goes out over this connection.
    ending.begin();
    serving.as_mut().graceful_shutdown();
    let cut_off = async {
        let first = FIRST_REQUEST.min(life.grace);
        tokio::time::sleep(first).await;
        if spoke.load(Ordering::Relaxed) {
            tokio::time::sleep(life.grace.saturating_sub(first)).await;
        }
    };
    tokio::select! {
        served = serving.as_mut() => ended(served),
        () = cut_off => tracing::debug!("a connection did not end in time and is cut off"),
    }
}

fn ended(served: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = served {
        tracing::debug!(%error, "a connection failed");
    }
}
