//! The end of a process's telemetry, at the right moment.

use std::future::Future;
use std::thread;
use std::time::Duration;

use crate::config::{Config, Error};
use crate::export::Exporters;

/// How long tasks that are still running after the main future may take to end.
const TASKS_END_MAX: Duration = Duration::from_secs(5);

/// Exports what is still waiting when it is shut down or dropped. Both block, for seconds when the collector is slow:
/// keep it until the asynchronous runtime has ended, as [`run`] does.
#[must_use = "what is still to be exported is exported when the guard is dropped"]
#[derive(Debug)]
pub struct Guard {
    exporters: Option<Exporters>,
}

impl Guard {
    pub(crate) fn new(exporters: Option<Exporters>) -> Self {
        Self { exporters }
    }

    /// Lets the process's layers export.
    pub(crate) fn install(&self) {
        if let Some(exporters) = &self.exporters {
            exporters.install();
        }
    }

    /// Exports what is still waiting. Call it after the runtime has ended.
    pub fn shutdown(mut self) {
        self.flush();
    }

    /// The exporters have a runtime of their own and are shut down on a thread of their own, so that even a guard that
    /// is dropped inside a task loses nothing and cannot wait for itself; the task's thread is blocked meanwhile.
    fn flush(&mut self) {
        let Some(exporters) = self.exporters.take() else {
            return;
        };
        let started = thread::Builder::new()
            .name("telemetry-end".to_owned())
            .spawn(move || exporters.shutdown());
        if let Ok(thread) = started {
            // A panic in there was printed by the panic hook, and there is nothing left to save.
            let _ = thread.join();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Sets telemetry up, runs `main` on a new multi-threaded runtime, ends the runtime, and exports what is still
/// waiting: the whole frame of a binary.
///
/// # Errors
///
/// What `main` returned, or [`Error`] when telemetry or the runtime could not be set up.
pub fn run<F, Fut, T, E>(config: Config, main: F) -> Result<T, E>
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: From<Error>,
{
    let guard = crate::init(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    // `main` is called inside the runtime: what it makes before its first await may need one.
    let result = runtime.block_on(async { main().await });
    runtime.shutdown_timeout(TASKS_END_MAX);
    guard.shutdown();
    result
}
