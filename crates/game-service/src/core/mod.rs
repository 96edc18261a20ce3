//! The heart of the service, without gRPC: sessions judged on warm copies and confirmed by the store.

mod codec;
mod create;
pub(crate) mod errors;
mod fire;
mod judge;
mod look;
mod metrics;
mod outages;
mod outbox;
mod players;
mod pool;
mod pulse;
mod rematch;
mod seats;
mod show;
mod warm;
mod write;

use tablemate_store::Stores;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::Options;
use metrics::Metrics;
use outages::Outages;
use warm::WarmCopies;

pub(crate) use codec::decode;
pub(crate) use create::{Wanted, parse as parse_creation};
pub(crate) use judge::{Ask, Done, Who};
pub(crate) use look::{Fresh, Log};
pub(crate) use players::store_kind;
pub(crate) use pulse::run as run_pulses;
pub(crate) use rematch::Agreed;
pub(crate) use seats::Joining;
pub(crate) use show::{Shown, delay_of, viewer_of};

/// What all calls of this replica share.
pub(crate) struct Core {
    pub stores: Stores,
    pub options: Options,
    /// Cancelled when this replica begins to stop.
    pub closing: CancellationToken,
    /// What is counted.
    pub metrics: Metrics,
    warm: WarmCopies,
    outages: Outages,
    searches: Semaphore,
}

impl Core {
    /// The core on these stores.
    pub fn new(stores: Stores, options: Options, closing: CancellationToken) -> Self {
        Self {
            warm: WarmCopies::new(options.warm_sessions_max),
            outages: Outages::new(stores.sessions.deployment().shards),
            searches: Semaphore::new(options.searches_max.max(1)),
            metrics: Metrics::new(),
            closing,
            options,
            stores,
        }
    }
}
