//! The service without a server: what it does in the background, and its routes.

use std::sync::Arc;
use std::time::Duration;

use tablemate_protocol::v1;
use tablemate_store::Stores;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::RoutesBuilder;

use crate::config::Options;
use crate::core::{Core, run_pulses};
use crate::serve::{GuardLayer, REQUEST_BYTES_MAX};
use crate::services::{InternalServer, PlayerServer, ResultServer, SessionServer};
use crate::watch::Watches;

/// Full names of the services for everybody.
pub const PUBLIC_SERVICES: [&str; 3] = [
    "tablemate.v1.SessionService",
    "tablemate.v1.PlayerService",
    "tablemate.v1.ResultService",
];
/// Full names of the services for our own processes.
pub const INTERNAL_SERVICES: [&str; 1] = ["tablemate.v1.InternalService"];

/// A replica of the game service. Cheap to clone.
#[derive(Clone)]
pub struct Game {
    core: Arc<Core>,
    watches: Arc<Watches>,
    tasks: TaskTracker,
    guard: GuardLayer,
    closing: CancellationToken,
    stopped: CancellationToken,
}

impl Game {
    /// Starts what the service does in the background (pulses), on the current runtime.
    #[must_use]
    pub fn start(stores: Stores, options: Options) -> Self {
        let closing = CancellationToken::new();
        let stopped = CancellationToken::new();
        let tasks = TaskTracker::new();
        let guard = GuardLayer::new(options.calls_max, options.call_time_max);
        let core = Arc::new(Core::new(stores, options, closing.clone()));
        tokio::spawn(run_pulses(Arc::clone(&core), stopped.clone()));
        Self {
            watches: Watches::new(Arc::clone(&core), tasks.clone()),
            core,
            tasks,
            guard,
            closing,
            stopped,
        }
    }

    /// Adds the services for everybody.
    pub fn add_public(&self, routes: &mut RoutesBuilder) {
        let core = || Arc::clone(&self.core);
        let sessions = SessionServer {
            core: core(),
            watches: Arc::clone(&self.watches),
        };
        let results = ResultServer {
            core: core(),
            tasks: self.tasks.clone(),
        };
        routes
            .add_service(
                v1::session_service_server::SessionServiceServer::new(sessions)
                    .max_decoding_message_size(REQUEST_BYTES_MAX),
            )
            .add_service(
                v1::player_service_server::PlayerServiceServer::new(PlayerServer { core: core() })
                    .max_decoding_message_size(REQUEST_BYTES_MAX),
            )
            .add_service(
                v1::result_service_server::ResultServiceServer::new(results)
                    .max_decoding_message_size(REQUEST_BYTES_MAX),
            );
    }

    /// Adds the services for our own processes.
    pub fn add_internal(&self, routes: &mut RoutesBuilder) {
        let internal = InternalServer {
            core: Arc::clone(&self.core),
        };
        routes.add_service(
            v1::internal_service_server::InternalServiceServer::new(internal)
                .max_decoding_message_size(REQUEST_BYTES_MAX),
        );
    }

    /// The layer that bounds the calls of this replica, whatever ports they come by.
    #[must_use]
    pub fn guard(&self) -> GuardLayer {
        self.guard.clone()
    }

    /// Begins to stop: streams end with "resume elsewhere"; calls in flight go on.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Stops: waits for streams to end, at most so long, and stops what goes on in the background.
    pub async fn stop(&self, limit: Duration) {
        self.close();
        self.tasks.close();
        if tokio::time::timeout(limit, self.tasks.wait()).await.is_err() {
            tracing::warn!(streams = self.tasks.len(), "streams did not end in time");
        }
        self.stopped.cancel();
    }
}
