//! What tells the streams of a connection that it is about to end.

use http::Extensions;
use tokio_util::sync::CancellationToken;

/// In the extensions of every request: begins when the request's connection has to go. A stream that hears it says why
/// it ends and ends, so that its reader resumes over another connection; a call that is answered soon need not look.
#[derive(Clone, Debug, Default)]
pub struct Ending(CancellationToken);

impl Ending {
    /// The end of the connection that begins with `token`.
    #[must_use]
    pub(crate) const fn new(token: CancellationToken) -> Self {
        Self(token)
    }

    /// The end of the connection that a request came by; one that never begins when another server served it.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Waits until it begins.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// Begins.
    pub(crate) fn begin(&self) {
        self.0.cancel();
    }
}
