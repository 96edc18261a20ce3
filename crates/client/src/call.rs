//! One call with its attempts.

use std::future::Future;
use std::time::Instant;

use tonic::{Code, Request, Response, Status};

use crate::error::{Failure, Refusal, judge};
use crate::pool::{Pool, Slot};
use crate::{Config, Error};

/// Sends a request until it is answered, refused, or the budget is used up.
pub(crate) async fn call<Q, A, F, Fut>(
    pool: &Pool,
    config: &Config,
    rpc: &'static str,
    request: Q,
    send: F,
) -> Result<A, Error>
where
    Q: Clone,
    F: Fn(&Slot, Request<Q>) -> Fut,
    Fut: Future<Output = Result<Response<A>, Status>>,
{
    let mut turn = pool.turn();
    let mut attempts = 0_u32;
    let mut outcome_unknown = false;
    let mut began = None;
    loop {
        let slot = pool.slot(turn).ok_or(Error::NoAddress)?;
        let began = *began.get_or_insert_with(Instant::now);
        let status = match send(slot, Request::new(request.clone())).await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => status,
        };
        attempts = attempts.saturating_add(1);
        let refusal = Refusal::of(&status);
        match judge(&status, &refusal) {
            Failure::Final => return Err(Error::Refused(Box::new(refusal))),
            Failure::NotDone => {}
            Failure::Unknown => outcome_unknown = true,
        }
        if is_unreachable(&status) {
            pool.mark_down(slot.address());
        }
        let wait = config
            .backoff(attempts)
            .max(refusal.retry_after.unwrap_or_default());
        let elapsed = began.elapsed();
        if elapsed.saturating_add(wait) >= config.budget {
            return Err(Error::Unavailable {
                attempts,
                elapsed,
                outcome_unknown,
                last: Box::new(refusal),
            });
        }
        tracing::debug!(rpc, attempts, %refusal, wait_ms = wait.as_millis() as u64, "trying again");
        tokio::time::sleep(wait).await;
        turn = turn.wrapping_add(1);
    }
}

/// Whether the status says that no connection could be made or kept, rather than that the service is busy.
pub(crate) fn is_unreachable(status: &Status) -> bool {
    use std::error::Error as _;
    status.source().is_some() && matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled)
}
