//! Judging and firing, off the async threads when the engine may have to search for a move.

use std::sync::Arc;

use tablemate_engine::policy::Policy;
use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_session::command::{Applied, Request};
use tablemate_session::fact::Fact;
use tablemate_session::session::Session;
use tablemate_session::{Instant, Millis};

use super::outages::Known;
use super::{Core, errors};

/// The highest level of the engine at which eight searches together take less than a commit may wait.
const QUICK_LEVEL_MAX: u8 = 2;

impl Core {
    /// Judges a request on a copy of the session; in the pool for searches when the server has to find a move.
    pub(super) async fn apply(
        &self,
        session: &Arc<Session>,
        request: Request,
        now: Instant,
        outages: &Known,
    ) -> Result<(Arc<Session>, Applied), Refusal> {
        let mut next = Arc::clone(session);
        if !searches(session, now) {
            let applied = Arc::make_mut(&mut next).apply(&request, now, outages);
            return Ok((next, applied));
        }
        let outages = Arc::clone(outages);
        self.search(move || {
            let applied = Arc::make_mut(&mut next).apply(&request, now, &outages);
            (next, applied)
        })
        .await
    }

    /// Fires what has passed on a copy of the session; in the pool for searches when the server has to find a move.
    pub(super) async fn advance(
        &self,
        session: &Arc<Session>,
        now: Instant,
        outages: &Known,
    ) -> Result<(Arc<Session>, Vec<Fact>), Refusal> {
        let mut next = Arc::clone(session);
        if !searches(session, now) {
            let (facts, _) = Arc::make_mut(&mut next).advance(now, outages);
            return Ok((next, facts));
        }
        // A search that takes a while is committed before the next one begins.
        let until = match session.next_deadline() {
            Some(deadline) if searches_deep(session, now) => now.min(deadline.after(Millis(1))),
            _ => now,
        };
        let outages = Arc::clone(outages);
        self.search(move || {
            let (facts, _) = Arc::make_mut(&mut next).advance(until, &outages);
            (next, facts)
        })
        .await
    }

    /// Runs work that may take a while off the async threads, a bounded number at a time.
    async fn search<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if self.options.searches_max == 0 {
            return Ok(work());
        }
        let _permit = self
            .searches
            .acquire()
            .await
            .map_err(|_| errors::shutting_down())?;
        let span = tracing::Span::current();
        tokio::task::spawn_blocking(move || span.in_scope(work))
            .await
            .map_err(|error| {
                tracing::error!(%error, "a search ended early");
                Refusal::new(Reason::Internal, "internal error")
            })
    }
}

/// The deadline that has passed at `now`.
pub(super) fn due(session: &Session, now: Instant) -> Option<Instant> {
    session.next_deadline().filter(|deadline| now > *deadline)
}

/// Whether judging at `now` may have to search: something has passed, and the engine moves for who is late.
fn searches(session: &Session, now: Instant) -> bool {
    engine_level(session).is_some() && due(session, now).is_some()
}

/// The same for searches that take more than a moment each.
pub(super) fn searches_deep(session: &Session, now: Instant) -> bool {
    engine_level(session).is_some_and(|level| level > QUICK_LEVEL_MAX) && due(session, now).is_some()
}

fn engine_level(session: &Session) -> Option<u8> {
    match session.settings().timeout.policy() {
        Some(Policy::Engine { level }) => Some(level.number()),
        _ => None,
    }
}
