//! The layer around every call: a deadline, a bound on calls at once, and no answer without a reason.
//!
//! tonic answers a passed `grpc-timeout` with CANCELLED; callers are owed DEADLINE_EXCEEDED. Its own limits count per
//! connection; this one counts the process.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tablemate_protocol::convert::{Reason, Refusal};
use tokio::sync::Semaphore;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::REQUEST_BYTES_MAX;

/// Calls of our own services; health and reflection are always answered.
const OURS: &str = "/tablemate.v1.";
/// Our deadline comes a little before the transport's, which would answer with the wrong status.
const MARGIN: Duration = Duration::from_millis(5);
/// When an overloaded replica may be asked again.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Clone, Debug)]
pub struct GuardLayer {
    calls: Arc<Semaphore>,
    call_time_max: Duration,
}

impl GuardLayer {
    /// So many calls at once, each at most so long when its caller gave no deadline.
    #[must_use]
    pub fn new(calls_max: usize, call_time_max: Duration) -> Self {
        Self {
            calls: Arc::new(Semaphore::new(calls_max.min(Semaphore::MAX_PERMITS))),
            call_time_max,
        }
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service that [`GuardLayer`] makes.
#[derive(Clone, Debug)]
pub struct Guard<S> {
    inner: S,
    layer: GuardLayer,
}

impl<S, B> Service<Request<B>> for Guard<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if !request.uri().path().starts_with(OURS) {
            return Box::pin(self.inner.call(request));
        }
        let Ok(permit) = Arc::clone(&self.layer.calls).try_acquire_owned() else {
            let refusal = Refusal::new(Reason::Overloaded, "too many calls at once").retry_after(RETRY_AFTER);
            return Box::pin(std::future::ready(Ok(answer(refusal))));
        };
        let budget = budget(&request, self.layer.call_time_max);
        let call = self.inner.call(request);
        Box::pin(async move {
            // A panicked call is not looked into again: what it shared is behind locks that survive it.
            let call = AssertUnwindSafe(call).catch_unwind();
            let answered = tokio::time::timeout(budget, call).await;
            drop(permit);
            match answered {
                Ok(Ok(answered)) => answered.map(with_reason),
                Ok(Err(panic)) => Ok(panicked(panic)),
                Err(_) => Ok(answer(Refusal::new(
                    Reason::DeadlineExceeded,
                    "time is over: repeat a change with the same request id to learn what became of it",
                ))),
            }
        })
    }
}

fn answer(refusal: Refusal) -> Response<Body> {
    Status::from(refusal).into_http()
}

/// What tonic refuses by itself gets a reason too.
fn with_reason(response: Response<Body>) -> Response<Body> {
    let too_large = response
        .headers()
        .get("grpc-status")
        .is_some_and(|status| status.as_bytes() == (Code::OutOfRange as i32).to_string().as_bytes());
    if too_large {
        return answer(Refusal::new(
            Reason::MessageTooLarge,
            format!("the request has over {REQUEST_BYTES_MAX} bytes"),
        ));
    }
    response
}

/// The answer of a call that panicked: a defect, of which callers hear nothing more.
fn panicked(panic: Box<dyn Any + Send>) -> Response<Body> {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    tracing::error!(%said, "a call panicked");
    answer(Refusal::new(Reason::Internal, "internal error"))
}

/// How long the call may take: the caller's time, less a margin, or the house's.
fn budget<B>(request: &Request<B>, time_max: Duration) -> Duration {
    request
        .headers()
        .get("grpc-timeout")
        .and_then(|value| value.to_str().ok())
        .and_then(parse)
        .map_or(time_max, |given| {
            given.saturating_sub(MARGIN.min(given / 10)).min(time_max)
        })
}

/// `8` digits at most and a unit, as gRPC spells a time-out.
fn parse(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    match unit {
        'H' => Some(Duration::from_secs(number.saturating_mul(3_600))),
        'M' => Some(Duration::from_secs(number.saturating_mul(60))),
        'S' => Some(Duration::from_secs(number)),
        'm' => Some(Duration::from_millis(number)),
        'u' => Some(Duration::from_micros(number)),
        'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outs_are_read_as_grpc_spells_them() {
        assert_eq!(parse("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parse("2H"), Some(Duration::from_secs(7_200)));
        for bad in ["", "m", "12", "123456789S", "1x", "-1S"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn too_many_calls_at_once_are_refused_with_a_delay() {
        let mut guard =
            GuardLayer::new(0, Duration::from_secs(1)).layer(tower::service_fn(|_: Request<()>| async {
                Ok::<_, std::convert::Infallible>(Response::new(Body::default()))
            }));
        let call = |path: &str| Request::builder().uri(path).body(()).unwrap();
        let refused = guard
            .call(call("/tablemate.v1.SessionService/Play"))
            .await
            .unwrap();
        let status = Status::from_header_map(refused.headers()).unwrap();
        assert_eq!(Reason::of(&status), Some(Reason::Overloaded));
        let health = guard.call(call("/grpc.health.v1.Health/Check")).await.unwrap();
        assert!(Status::from_header_map(health.headers()).is_none());
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_told_to_nobody() {
        let mut guard =
            GuardLayer::new(1, Duration::from_secs(1)).layer(tower::service_fn(|_: Request<()>| async {
                if true {
                    panic!("the secret is 42");
                }
                Ok::<_, std::convert::Infallible>(Response::new(Body::default()))
            }));
        let request = Request::builder()
            .uri("/tablemate.v1.SessionService/Play")
            .body(())
            .unwrap();
        let status = Status::from_header_map(guard.call(request).await.unwrap().headers()).unwrap();
        assert_eq!(Reason::of(&status), Some(Reason::Internal));
        assert!(!status.message().contains("42"));
    }

    #[tokio::test]
    async fn a_passed_deadline_is_called_so() {
        let mut guard =
            GuardLayer::new(1, Duration::from_secs(15)).layer(tower::service_fn(|_: Request<()>| {
                std::future::pending::<Result<Response<Body>, std::convert::Infallible>>()
            }));
        let request = Request::builder()
            .uri("/tablemate.v1.SessionService/Play")
            .header("grpc-timeout", "20m")
            .body(())
            .unwrap();
        let status = Status::from_header_map(guard.call(request).await.unwrap().headers()).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(Reason::of(&status), Some(Reason::DeadlineExceeded));
    }
}
