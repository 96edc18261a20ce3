//! What the layers cost a call when nothing is exported and INFO is logged, as most processes run:
//! `cargo bench -p tablemate-telemetry`. The service beneath them answers at once.
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

use std::convert::Infallible;
use std::hint::black_box;
use std::task::{Context, Poll, Waker};

use divan::Bencher;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Empty, StreamBody};
use tablemate_telemetry::{Config, client_trace_layer, init, server_trace_layer};
use tower::{Layer, Service};

fn main() {
    let _guard = init(&Config::new("bench")).unwrap();
    divan::main();
}

type Call = Request<Empty<bytes::Bytes>>;

/// Answers with one frame, the trailers of a call that went well.
fn service()
-> impl Service<Call, Response = Response<impl Body<Data = bytes::Bytes> + Unpin>, Error = Infallible> {
    tower::service_fn(|_: Call| {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
        let frame = Ok::<_, Infallible>(http_body::Frame::trailers(trailers));
        let body = StreamBody::new(tokio_stream::iter([frame]));
        std::future::ready(Ok(Response::new(body)))
    })
}

fn request() -> Call {
    let uri = http::Uri::from_static("/tablemate.v1.SessionService/Play");
    Request::builder().uri(uri).body(Empty::new()).unwrap()
}

/// One call, its answer read to the end. Nothing ever waits, so no runtime is needed.
fn call<S, B>(service: &mut S, request: Call)
where
    S: Service<Call, Response = Response<B>, Error = Infallible>,
    B: Body + Unpin,
{
    let mut cx = Context::from_waker(Waker::noop());
    let mut answer = std::pin::pin!(service.call(request));
    let Poll::Ready(Ok(response)) = answer.as_mut().poll(&mut cx) else {
        return;
    };
    let mut body = response.into_body();
    while let Poll::Ready(Some(frame)) = std::pin::pin!(body.frame()).poll(&mut cx) {
        black_box(frame.is_ok());
    }
}

#[divan::bench]
fn bare(bencher: Bencher) {
    let mut service = service();
    bencher
        .with_inputs(request)
        .bench_local_values(|request| call(&mut service, request));
}

#[divan::bench]
fn server_layer(bencher: Bencher) {
    let mut service = server_trace_layer().layer(service());
    bencher
        .with_inputs(request)
        .bench_local_values(|request| call(&mut service, request));
}

#[divan::bench]
fn client_layer(bencher: Bencher) {
    let mut service = client_trace_layer().layer(service());
    bencher
        .with_inputs(request)
        .bench_local_values(|request| call(&mut service, request));
}
