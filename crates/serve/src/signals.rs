//! What tells a process to stop.

use std::future::Future;

/// SIGTERM and Ctrl-C, heard from this call on; the future ends at the first of them.
///
/// # Errors
/// When the operating system does not let us hear them.
pub fn signals() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}
