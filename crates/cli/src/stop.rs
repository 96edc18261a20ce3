//! Signals that ask the process to end: the terminal is put back before it does.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for SIGINT, SIGTERM and SIGHUP (Ctrl-C where there are no signals).
#[derive(Debug)]
pub struct Stop {
    #[cfg(unix)]
    signals: [Signal; 3],
}

impl Stop {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn new() -> io::Result<Stop> {
        Ok(Stop {
            #[cfg(unix)]
            signals: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            ],
        })
    }

    /// Waits until somebody asks.
    #[cfg(unix)]
    pub async fn asked(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }

    /// Waits until somebody asks.
    #[cfg(not(unix))]
    pub async fn asked(&mut self) {
        // Without signals there is nothing to hear: then it never stops this way.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
