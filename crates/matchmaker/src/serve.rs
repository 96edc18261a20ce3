//! The service and the loops put together, and the server around them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tablemate_protocol::FILE_DESCRIPTOR_SET;
use tablemate_protocol::v1::matchmaking_service_server::{self, MatchmakingServiceServer};
use tablemate_serve::UNREADY_TIME;
use tablemate_store::{StoreError, Stores};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::ServiceBuilder;
use tracing::{info, warn};

use crate::api::Api;
use crate::config::{Config, Options};
use crate::games::GameServices;
use crate::loops::{self, Tools};
use crate::matches::Matches;
use crate::metrics::Metrics;
use crate::settlement::{Releaser, Settler};

/// The largest request: settings with the longest list of viewers fit many times.
const REQUEST_BYTES_MAX: usize = 256 * 1_024;

/// Why the matchmaker did not start or stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// The store cannot be opened, or gives no name to this worker.
    #[error("cannot open the store")]
    Store(#[from] StoreError),
    /// The service's own descriptors cannot be served.
    #[error("cannot offer reflection")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// A task of ours was lost.
    #[error("a task ended badly")]
    Task(#[from] tokio::task::JoinError),
}

/// The matchmaker on given stores: a gRPC service and worker loops. For a process that has more than these in it.
#[derive(Clone)]
pub struct Matchmaker {
    api: Api,
    tools: Tools,
    stop_streams: CancellationToken,
}

impl Matchmaker {
    /// The matchmaker of a hall. Must be made inside a runtime, after telemetry is set up.
    #[must_use]
    pub fn new(options: Options, stores: Stores) -> Self {
        let games = GameServices::new(&options.game_services);
        Self::over(options, stores, games)
    }

    /// The same over given links to the game services, whatever `options.game_services` says.
    #[must_use]
    pub fn over(options: Options, stores: Stores, games: GameServices) -> Self {
        let metrics = Metrics::new();
        let hall = options.hall;
        let lifetime = options.ticket_lifetime;
        let matches = Matches::new(&stores, hall.clone(), games.clone(), lifetime, metrics.clone());
        let releaser = Releaser::new(&stores, hall.clone(), metrics.clone());
        let stop_streams = CancellationToken::new();
        let api = Api::new(
            &stores,
            hall.clone(),
            games.clone(),
            matches.clone(),
            releaser.clone(),
            lifetime,
            metrics.clone(),
            stop_streams.clone(),
        );
        let tools = Tools {
            settler: Settler::new(&stores, metrics.clone()),
            stores,
            hall,
            games,
            matches,
            releaser,
            metrics,
            config: Arc::new(options.loops),
            leave: CancellationToken::new(),
            stop: CancellationToken::new(),
        };
        Self {
            api,
            tools,
            stop_streams,
        }
    }

    /// The gRPC service, to be added to a server.
    #[must_use]
    pub fn service(&self) -> MatchmakingServiceServer<Api> {
        MatchmakingServiceServer::new(self.api.clone()).max_decoding_message_size(REQUEST_BYTES_MAX)
    }

    /// The worker loops, until [`stop`](Self::stop).
    ///
    /// # Errors
    /// The store's, when this worker gets no name.
    pub fn loops(&self) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        loops::run(self.tools.clone())
    }

    /// Ends watch streams with a reason, and the loops as soon as other workers look after their shards.
    pub fn stop(&self) {
        self.stop_streams.cancel();
        self.tools.leave.cancel();
    }
}

/// Serves on `listener` until `shutdown`: readiness off, streams ended, shards handed over, calls in flight awaited for
/// at most `config.life.grace`.
///
/// # Errors
/// [`RunError`] when it cannot start, or failed.
pub async fn run(
    config: Config,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    let stores = tablemate_store::open(&config.store, config.wish).await?;
    run_on(config, stores, listener, shutdown).await
}

/// [`run`] on stores that are open already, whatever `config.store` says.
///
/// # Errors
/// As [`run`].
pub async fn run_on(
    config: Config,
    stores: Stores,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    if let Ok(address) = listener.local_addr() {
        info!(%address, hall = config.options.hall.as_str(), "matchmaker listens");
    }
    let matchmaker = Matchmaker::new(config.options, stores);
    let (mut health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<MatchmakingServiceServer<Api>>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // So that tools can show the details of errors.
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
            // The descriptors are of all services; these are the ones that are here.
            .with_service_name(matchmaking_service_server::SERVICE_NAME)
            .with_service_name("grpc.health.v1.Health")
    };
    let reflection_v1 = reflection().build_v1()?;
    // Older tools ask for the alpha version only.
    let reflection_alpha = reflection().build_v1alpha()?;
    let close = CancellationToken::new();
    let mut routes = Routes::builder();
    routes
        .add_service(health_service)
        .add_service(reflection_v1)
        .add_service(reflection_alpha)
        .add_service(matchmaker.service());
    let service = ServiceBuilder::new()
        .layer(tablemate_telemetry::server_trace_layer())
        .service(routes.routes().prepare());
    let mut server = tokio::spawn(tablemate_serve::serve(
        listener,
        service,
        config.life,
        close.clone(),
    ));
    let mut loops = tokio::spawn(matchmaker.loops());

    tokio::select! {
        () = shutdown => {}
        ended = &mut server => return Ok(ended?),
        ended = &mut loops => return ended?.map_err(RunError::from),
    }
    info!("matchmaker stops");
    unready(&mut health, config.life.grace).await;
    matchmaker.stop();
    close.cancel();
    let drained = tokio::time::timeout(config.life.grace, async {
        let served = (&mut server).await;
        let looped = (&mut loops).await;
        served?;
        looped??;
        Ok::<_, RunError>(())
    });
    match drained.await {
        Ok(ended) => ended,
        Err(_) => {
            warn!("not everything ended in time, the rest is cut off");
            server.abort();
            loops.abort();
            Ok(())
        }
    }
}

/// Says that no new work is taken, and gives probes a moment to hear it.
async fn unready(health: &mut HealthReporter, grace: Duration) {
    health.set_not_serving::<MatchmakingServiceServer<Api>>().await;
    // The process as a whole: what a probe asks for that names no service.
    health.set_service_status("", ServingStatus::NotServing).await;
    tokio::time::sleep(UNREADY_TIME.min(grace)).await;
    // The streams of those who watch our health would use up the whole grace.
    for service in [matchmaking_service_server::SERVICE_NAME, ""] {
        health.clear_service_status(service).await;
    }
}
