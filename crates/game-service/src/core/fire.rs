//! Deadlines that nobody came by for: fired in batches when the matchmaker's worker asks (S-11). Harmless to repeat.

use futures::StreamExt;
use tablemate_protocol::convert::{Reason, Refusal};
use tablemate_session::command::Command;
use tablemate_session::seat::Seat;
use tablemate_session::session::Session;
use tablemate_session::{Instant, SessionId};
use tablemate_store::session_store::{DeleteAnswer, DueSession};

use super::judge::Ask;
use super::{Core, errors};

/// How many sessions of a batch are worked on at once.
const AT_ONCE: usize = 32;

/// What a batch did.
#[derive(Clone, Debug, Default)]
pub(crate) struct FireReport {
    /// Sessions in which something fired.
    pub sessions_fired: u32,
    /// Facts written.
    pub facts_fired: u32,
    /// Finished sessions deleted after their retention.
    pub sessions_deleted: u32,
    /// Sessions that could not be fired.
    pub sessions_failed: u32,
    /// Whether there may be more that is due.
    pub more_due: bool,
    /// The earliest deadline left in the shard.
    pub next_deadline: Option<Instant>,
    /// How late deadlines were noticed.
    pub lateness_ms: Vec<u32>,
}

enum Fired {
    Facts { facts: usize, lateness_ms: Vec<u64> },
    Deleted,
    Nothing,
}

impl Core {
    /// Fires what is due in a shard.
    pub async fn fire_due(&self, shard: u16, limit: usize) -> Result<FireReport, Refusal> {
        let due = self
            .stores
            .sessions
            .due(shard, limit)
            .await
            .map_err(errors::store)?;
        let mut report = FireReport {
            more_due: due.sessions.len() >= limit,
            ..FireReport::default()
        };
        let now = due.now;
        let fired: Vec<_> = futures::stream::iter(due.sessions)
            .map(|due| async move {
                let fired = self.fire_one(due, now).await;
                self.note(due, &fired).await;
                fired
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for fired in fired {
            match fired {
                Ok(Fired::Facts { facts, lateness_ms }) => {
                    report.sessions_fired += 1;
                    report.facts_fired = report
                        .facts_fired
                        .saturating_add(u32::try_from(facts).unwrap_or(u32::MAX));
                    let late = lateness_ms.into_iter();
                    report
                        .lateness_ms
                        .extend(late.map(|late| u32::try_from(late).unwrap_or(u32::MAX)));
                }
                Ok(Fired::Deleted) => report.sessions_deleted += 1,
                Ok(Fired::Nothing) => {}
                Err(_) => report.sessions_failed += 1,
            }
        }
        if !report.more_due {
            report.next_deadline = self
                .stores
                .sessions
                .next_due(shard)
                .await
                .map_err(errors::store)?;
        }
        Ok(report)
    }

    async fn fire_one(&self, due: DueSession, now: Instant) -> Result<Fired, Refusal> {
        let id = due.session;
        let looked = match self.fire_warm(id, now).await? {
            Some(fired) => Ok(fired),
            None => self.fresh(id).await,
        };
        let fresh = match looked {
            Ok(fresh) => fresh,
            // The index was ahead of a deletion.
            Err(refusal) if refusal.reason == Reason::SessionNotFound => return Ok(Fired::Nothing),
            Err(refusal) => return Err(refusal),
        };
        self.notice_absence(&fresh.session).await;
        if fresh.fired > 0 {
            return Ok(Fired::Facts {
                facts: fresh.fired,
                lateness_ms: fresh.lateness_ms,
            });
        }
        let next_look = self.next_look(&fresh.session);
        if fresh.session.ended().is_some() && fresh.now > next_look {
            return match self
                .stores
                .sessions
                .delete(id, fresh.cursor)
                .await
                .map_err(errors::store)?
            {
                DeleteAnswer::Deleted => {
                    self.warm.forget(id);
                    Ok(Fired::Deleted)
                }
                DeleteAnswer::NotSettled => {
                    tracing::warn!(session = %id, "retention is over, but the session is not settled");
                    Err(Refusal::new(Reason::NoChange, "not settled"))
                }
                DeleteAnswer::Diverged => Ok(Fired::Nothing),
            };
        }
        if next_look != due.deadline {
            // The index is a hint; what the log says counts.
            self.stores
                .sessions
                .repair_index(id, fresh.cursor, next_look)
                .await
                .map_err(errors::store)?;
        }
        Ok(Fired::Nothing)
    }

    /// Keeps the list of sessions that fail to fire, which the index leaves out for a while.
    async fn note(&self, due: DueSession, fired: &Result<Fired, Refusal>) {
        let noted = match fired {
            Err(refusal) => {
                tracing::warn!(session = %due.session, failures = due.failures, error = %refusal, "a deadline fails to fire");
                self.stores.sessions.mark_failing(due.session).await.map(|_| ())
            }
            Ok(_) if due.failures > 0 => self.stores.sessions.clear_failing(due.session).await,
            Ok(_) => Ok(()),
        };
        if let Err(error) = noted {
            tracing::debug!(session = %due.session, %error, "failures of firing were not noted");
        }
    }

    /// Notices players who have been away from a session that limits absence (S-17), and those who are back.
    pub async fn notice_absence(&self, session: &Session) {
        if session.settings().absence.is_none() || session.ended().is_some() {
            return;
        }
        let Ok(present) = self.stores.sessions.present(session.id()).await else {
            return;
        };
        self.notice_presence(session, present).await;
    }

    /// The same, for a session whose presence is known.
    pub async fn notice_presence(&self, session: &Session, present: [bool; 2]) {
        if session.settings().absence.is_none() || session.ended().is_some() {
            return;
        }
        let view = session.view(tablemate_session::view::Viewer::Spectator);
        for seat in Seat::ALL {
            let absent = view.seats[seat].absence_deadline.is_some();
            let command = match (absent, present[seat.index()]) {
                (false, false) if session.game_on().is_some() => Command::Absent { seat },
                (true, true) => Command::Present { seat },
                _ => continue,
            };
            self.server_command(session.id(), command).await;
        }
    }

    async fn server_command(&self, id: SessionId, command: Command) {
        if let Err(refusal) = self.command(id, &Ask::server(command)).await {
            tracing::debug!(session = %id, error = %refusal, "a command of the server was refused");
        }
    }
}
