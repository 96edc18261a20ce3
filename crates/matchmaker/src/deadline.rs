//! The time that a caller gives a call. tonic ends a call whose `grpc-timeout` has passed with CANCELLED; here it ends a
//! moment earlier with DEADLINE_EXCEEDED and a reason.

use std::future::Future;
use std::time::Duration;

use tonic::{Request, Status};

use crate::errors;

/// How long a call may take when its caller gave no deadline.
const CALL_TIME_MAX: Duration = Duration::from_secs(15);
/// How much earlier than the caller we give up, so that the caller hears the reason.
const MARGIN: Duration = Duration::from_millis(5);

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(Duration);

impl Budget {
    /// What the caller gives this call.
    pub fn of<T>(request: &Request<T>) -> Self {
        let given = request
            .metadata()
            .get("grpc-timeout")
            .and_then(|value| value.to_str().ok())
            .and_then(parse);
        Self(
            given
                .unwrap_or(CALL_TIME_MAX)
                .min(CALL_TIME_MAX)
                .saturating_sub(MARGIN),
        )
    }
}

/// Does `work` in the time given. What was sent to the store by then may still be done.
pub(crate) async fn within<T, E>(
    budget: Budget,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Status>
where
    Status: From<E>,
{
    match tokio::time::timeout(budget.0, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(errors::too_late().into()),
    }
}

/// `grpc-timeout`: at most eight digits and a unit.
fn parse(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if number.len() > 8 || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.saturating_mul(3_600)),
        "M" => Duration::from_secs(number.saturating_mul(60)),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tablemate_protocol::convert::Reason;

    use super::*;

    #[tokio::test]
    async fn a_call_whose_time_ran_out_says_deadline_exceeded() {
        let mut request = Request::new(());
        request.set_timeout(Duration::from_millis(10));
        let budget = Budget::of(&request);
        let status = within::<(), Status>(budget, std::future::pending())
            .await
            .unwrap_err();
        assert_eq!(status.code(), tonic::Code::DeadlineExceeded);
        assert_eq!(Reason::of(&status), Some(Reason::DeadlineExceeded));
    }

    #[test]
    fn every_unit_is_read_and_nonsense_is_none() {
        for (text, duration) in [
            ("2H", Duration::from_secs(7_200)),
            ("3M", Duration::from_secs(180)),
            ("4S", Duration::from_secs(4)),
            ("5m", Duration::from_millis(5)),
            ("6u", Duration::from_micros(6)),
            ("7n", Duration::from_nanos(7)),
        ] {
            assert_eq!(parse(text), Some(duration));
        }
        for text in ["", "S", "1", "-1S", "123456789S", "1é", "1x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
