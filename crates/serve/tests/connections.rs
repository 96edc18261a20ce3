//! Real connections to a server: politely ended, and cut off when that does not help.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::StreamExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use tablemate_serve::{Ending, Life, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::{Service, ServiceExt};

/// Longer than any test waits: what ends sooner was not ended by it.
const LONG: Duration = Duration::from_secs(60);
/// Shorter than [`LONG`] by far, long for a loaded machine.
const SOON: Duration = Duration::from_secs(10);

/// Answers `/slow` after a while, `/watch` with one part now and one when the connection ends, `/forever` with one part
/// and no end.
async fn answer(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let ending = Ending::of(request.extensions());
    let part = |text: &'static str| Ok::<_, Infallible>(http_body::Frame::data(bytes::Bytes::from(text)));
    let body = match request.uri().path() {
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Body::new(http_body_util::Full::from("done"))
        }
        "/watch" => {
            let last = futures::stream::once(async move {
                ending.begun().await;
                part("elsewhere")
            });
            let first = futures::stream::iter([part("hello")]);
            Body::new(http_body_util::StreamBody::new(first.chain(last)))
        }
        _ => {
            let first = futures::stream::iter([part("hello")]);
            Body::new(http_body_util::StreamBody::new(
                first.chain(futures::stream::pending()),
            ))
        }
    };
    Ok(Response::new(body))
}

struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Server {
    async fn start(life: Life) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, tower::service_fn(answer), life, stop.clone()));
        Self {
            address,
            stop,
            serving,
        }
    }

    async fn connect(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    /// Stops it; gives how long it took to end.
    async fn stop(self) -> Duration {
        let begun = Instant::now();
        self.stop.cancel();
        tokio::time::timeout(SOON, self.serving).await.unwrap().unwrap();
        begun.elapsed()
    }
}

async fn get(channel: &mut Channel, path: &str) -> Result<Response<Body>, tonic::transport::Error> {
    let request = Request::builder().uri(path).body(Body::default()).unwrap();
    channel.ready().await?.call(request).await
}

async fn part(body: &mut Body) -> Option<bytes::Bytes> {
    let frame = tokio::time::timeout(SOON, body.frame()).await.unwrap();
    frame
        .and_then(Result::ok)
        .and_then(|frame| frame.into_data().ok())
}

/// hyper waits for ever for a connection that never spoke (its issue 4170).
#[tokio::test]
async fn a_connection_that_never_spoke_holds_nothing_up() {
    let server = Server::start(Life::ageless(LONG)).await;
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    // Accepted for certain: one that came later was answered.
    get(&mut server.connect().await, "/slow").await.unwrap();
    server.stop().await;
    // The server's own greeting, and the end.
    let closed = tokio::time::timeout(SOON, idle.read_to_end(&mut Vec::new())).await;
    assert!(closed.is_ok(), "closed");
}

#[tokio::test]
async fn half_a_handshake_holds_nothing_up() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    let server = Server::start(Life::ageless(LONG)).await;
    let mut half = TcpStream::connect(server.address).await.unwrap();
    half.write_all(&PREFACE[..10]).await.unwrap();
    // This one has shaken hands, and neither confirms settings nor answers pings.
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    silent.write_all(PREFACE).await.unwrap();
    silent.write_all(SETTINGS).await.unwrap();
    let mut settings = [0; 9];
    silent.read_exact(&mut settings).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_call_in_flight_finishes_and_nobody_new_is_let_in() {
    let server = Server::start(Life::ageless(LONG)).await;
    let address = server.address;
    let mut channel = server.connect().await;
    let mut watching = get(&mut channel, "/watch").await.unwrap().into_body();
    assert_eq!(part(&mut watching).await.unwrap(), "hello");
    let slow = tokio::spawn({
        let mut channel = channel.clone();
        async move { get(&mut channel, "/slow").await }
    });
    // The call is on its way before the stop: the streams of a connection are served in order.
    get(&mut channel.clone(), "/forever").await.unwrap();
    let stopped = tokio::spawn(server.stop());
    assert_eq!(part(&mut watching).await.unwrap(), "elsewhere");
    let answered = slow.await.unwrap().unwrap().into_body().collect().await.unwrap();
    assert_eq!(answered.to_bytes(), "done");
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
    stopped.await.unwrap();
}

#[tokio::test]
async fn what_does_not_end_is_cut_off_after_the_grace() {
    let grace = Duration::from_millis(700);
    let server = Server::start(Life::ageless(grace)).await;
    let mut channel = server.connect().await;
    let mut stream = get(&mut channel, "/forever").await.unwrap().into_body();
    assert_eq!(part(&mut stream).await.unwrap(), "hello");
    let took = server.stop().await;
    assert!(took >= grace, "{took:?}");
    assert_eq!(part(&mut stream).await, None);
}

#[tokio::test]
async fn an_old_connection_is_ended_and_the_next_call_gets_another_one() {
    let life = Life {
        age: Some(Duration::from_millis(400)),
        grace: LONG,
    };
    let server = Server::start(life).await;
    let mut channel = server.connect().await;
    let begun = Instant::now();
    let mut watching = get(&mut channel, "/watch").await.unwrap().into_body();
    assert_eq!(part(&mut watching).await.unwrap(), "hello");
    assert_eq!(part(&mut watching).await.unwrap(), "elsewhere");
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(300), "{took:?}");
    // Calls go on all the time, from connection to connection, and none fails.
    while begun.elapsed() < Duration::from_millis(1_500) {
        get(&mut channel, "/slow").await.unwrap();
    }
    server.stop().await;
}

#[tokio::test]
async fn connections_made_together_do_not_end_together() {
    let life = Life {
        age: Some(Duration::from_secs(1)),
        grace: LONG,
    };
    let server = Server::start(life).await;
    let begun = Instant::now();
    let mut ends = Vec::new();
    for _ in 0..16 {
        let mut channel = server.connect().await;
        ends.push(tokio::spawn(async move {
            let mut watching = get(&mut channel, "/watch").await.unwrap().into_body();
            while part(&mut watching).await.is_some_and(|part| part != "elsewhere") {}
            begun.elapsed()
        }));
    }
    let mut took = Vec::new();
    for end in ends {
        took.push(end.await.unwrap());
    }
    took.sort();
    // 16 draws from 200 ms: that all fall within 20 ms is as good as impossible.
    assert!(took[15] - took[0] > Duration::from_millis(20), "{took:?}");
    assert!(took[0] > Duration::from_millis(800), "{took:?}");
    server.stop().await;
}
