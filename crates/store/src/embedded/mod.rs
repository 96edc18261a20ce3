//! The store in this process: for development, tests and small single-node use. Nothing is shared, nothing outlives
//! the process.

mod clock;
mod halls;
mod players;
mod sessions;
#[cfg(feature = "testing")]
mod tamper;
mod workers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tablemate_session::{Instant, Millis, SessionId, TicketId};

pub(crate) use clock::{Clock, Source};

#[cfg(any(test, feature = "testing"))]
pub use clock::ManualTime;

use crate::deployment::{Deployment, DeploymentWish};
use crate::error::Result;
use crate::hall_store::HallId;
use crate::hub::Hub;
use crate::session_store::Live;
use crate::worker_store::WorkerId;

/// The store in this process.
pub struct EmbeddedStore {
    deployment: Deployment,
    clock: Clock,
    shards: Vec<Mutex<sessions::Shard>>,
    halls: Mutex<HashMap<HallId, halls::Hall>>,
    players: Mutex<players::Players>,
    workers: Mutex<HashMap<WorkerId, Instant>>,
    applied_kept: Millis,
    live: Arc<Hub<SessionId, Live>>,
    outboxes: Arc<Hub<u16, Option<u16>>>,
    tickets: Arc<Hub<(HallId, TicketId), ()>>,
}

impl EmbeddedStore {
    /// An empty store, on the operating system's clock.
    ///
    /// # Errors
    /// [`StoreError::BadArgument`](crate::StoreError::BadArgument) for a wish out of bounds, and
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) when the operating system gives no random bytes.
    pub fn open(wish: DeploymentWish) -> Result<Self> {
        tracing::warn!("the embedded store is not shared with other processes and ends with this one");
        Self::with_source(wish, Source::System)
    }

    /// An empty store on a clock that a test sets by hand.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(any(test, feature = "testing"))]
    pub fn with_manual_time(wish: DeploymentWish, time: Arc<ManualTime>) -> Result<Self> {
        Self::with_source(wish, Source::Manual(time))
    }

    fn with_source(wish: DeploymentWish, source: Source) -> Result<Self> {
        let deployment = Deployment::born(&wish)?;
        let shards = (0..deployment.shards).map(|_| Mutex::default()).collect();
        Ok(Self {
            deployment,
            clock: Clock::new(source),
            shards,
            halls: Mutex::default(),
            players: Mutex::default(),
            workers: Mutex::default(),
            applied_kept: wish
                .applied_kept
                .unwrap_or(crate::player_store::APPLIED_KEPT_DEFAULT),
            live: Hub::new(|_| ()),
            outboxes: Hub::new(|_| ()),
            tickets: Hub::new(|_| ()),
        })
    }

    /// Now, where no step of the clock matters.
    fn clock_now(&self) -> Instant {
        self.clock.read(usize::MAX).0
    }
}
