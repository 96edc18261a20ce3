//! Refusals and their form on the wire: a status code, `google.rpc.ErrorInfo`, and what else helps the caller.

use std::collections::HashMap;
use std::time::Duration;

use tonic::Status;
use tonic_types::{ErrorDetails, FieldViolation, StatusExt as _};

use super::Reason;

/// The domain of every `google.rpc.ErrorInfo` of this API.
pub const DOMAIN: &str = "tablemate";

/// Why a call was refused, with all that the caller may know about it. Never holds what a caller may not see (S-24).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {message}", reason.as_str())]
pub struct Refusal {
    /// The stable reason.
    pub reason: Reason,
    /// For people: says what was wrong.
    pub message: String,
    /// For programs: what a client can use.
    pub metadata: Vec<(&'static str, String)>,
    /// When waiting helps: how long.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal with nothing but a reason and words.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            metadata: Vec::new(),
            retry_after: None,
        }
    }

    /// The same with one more thing for programs.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.metadata.push((key, value.to_string()));
        self
    }

    /// The same with a delay after which to try again.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        let metadata: HashMap<String, String> = refusal
            .metadata
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let mut details = ErrorDetails::with_error_info(refusal.reason.as_str(), DOMAIN, metadata);
        if let Some(delay) = refusal.retry_after {
            details.set_retry_info(Some(delay));
        }
        Status::with_error_details(refusal.reason.code(), refusal.message, details)
    }
}

/// One thing wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field, as the message spells it: `settings.move_time`.
    pub field: String,
    /// What is wrong with it.
    pub reason: Reason,
    /// For people.
    pub message: String,
}

/// Everything wrong with the arguments of a request, so that a caller hears all of it at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Nothing wrong so far.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// One thing wrong.
    #[must_use]
    pub fn one(field: impl Into<String>, reason: Reason, message: impl Into<String>) -> Self {
        let mut faults = Self::none();
        faults.add(field, reason, message);
        faults
    }

    /// Notes one more thing.
    pub fn add(&mut self, field: impl Into<String>, reason: Reason, message: impl Into<String>) {
        self.0.push(Fault {
            field: field.into(),
            reason,
            message: message.into(),
        });
    }

    /// Takes the value of a check, or notes what was wrong with it.
    pub fn take<T>(&mut self, checked: Result<T, Faults>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(faults) => {
                self.0.extend(faults.0);
                None
            }
        }
    }

    /// What was noted.
    #[must_use]
    pub fn as_slice(&self) -> &[Fault] {
        &self.0
    }

    /// Whether nothing was noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` when nothing was noted.
    ///
    /// # Errors
    /// Itself, when something was.
    pub fn into_result(self) -> Result<(), Faults> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<Faults> for Status {
    /// INVALID_ARGUMENT with all faults; `reason` is the first one's.
    fn from(faults: Faults) -> Status {
        let reason = faults.0.first().map_or(Reason::BadValue, |fault| fault.reason);
        let message = faults
            .0
            .iter()
            .map(|fault| format!("{} {}", fault.field, fault.message))
            .collect::<Vec<_>>()
            .join("; ");
        let field = faults
            .0
            .first()
            .map(|fault| fault.field.clone())
            .unwrap_or_default();
        let mut details = ErrorDetails::with_error_info(
            reason.as_str(),
            DOMAIN,
            HashMap::from([("field".to_owned(), field)]),
        );
        details.set_bad_request(
            faults
                .0
                .into_iter()
                .map(|fault| FieldViolation {
                    field: fault.field,
                    description: fault.message,
                    reason: fault.reason.as_str().to_owned(),
                    localized_message: None,
                })
                .collect::<Vec<_>>(),
        );
        Status::with_error_details(tonic::Code::InvalidArgument, message, details)
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn a_refusal_carries_code_reason_metadata_and_delay() {
        let status: Status = Refusal::new(Reason::ResignTooEarly, "not yet")
            .with("allowed_from_ms", 17)
            .retry_after(Duration::from_millis(5))
            .into();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert_eq!(Reason::of(&status), Some(Reason::ResignTooEarly));
        let details = status.get_error_details();
        assert_eq!(
            details
                .error_info()
                .map(|info| info.metadata["allowed_from_ms"].clone()),
            Some("17".into())
        );
        assert_eq!(
            details.retry_info().and_then(|retry| retry.retry_delay),
            Some(Duration::from_millis(5))
        );
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let mut faults = Faults::none();
        faults.add("request_id", Reason::Required, "is empty");
        faults.add("settings.games", Reason::BadSettings, "is 33, allowed is 1 to 32");
        let status: Status = faults.into();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(Reason::of(&status), Some(Reason::Required));
        let details = status.get_error_details();
        let fields: Vec<_> = details
            .bad_request()
            .map(|bad| {
                bad.field_violations
                    .iter()
                    .map(|violation| violation.field.clone())
                    .collect()
            })
            .unwrap_or_default();
        assert_eq!(fields, ["request_id", "settings.games"]);
    }

    #[test]
    fn names_of_reasons_are_unique_and_read_back() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_name(reason.as_str()), Some(*reason));
        }
    }
}
