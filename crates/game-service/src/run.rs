//! The whole service on bound listeners, from start to end.

use std::future::Future;
use std::time::Duration;

use tablemate_serve::{Life, UNREADY_TIME};
use tablemate_store::{StoreError, Stores};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::config::{Config, Options};
use crate::game::{Game, INTERNAL_SERVICES, PUBLIC_SERVICES};
use crate::serve::{add_reflection, serve};

/// Where the service listens: bound by the caller, so that a test can take any free port.
#[derive(Debug)]
pub struct Listeners {
    /// For everybody.
    pub public: TcpListener,
    /// For our own processes; `None`: nowhere.
    pub internal: Option<TcpListener>,
}

impl Listeners {
    /// Binds what the configuration names.
    ///
    /// # Errors
    /// When an address cannot be bound.
    pub async fn bind(config: &Config) -> std::io::Result<Self> {
        let public = TcpListener::bind(config.listen).await?;
        let internal = match config.internal_listen {
            Some(address) => Some(TcpListener::bind(address).await?),
            None => None,
        };
        Ok(Self { public, internal })
    }
}

/// Why the service ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store could not be opened.
    #[error("cannot open the store")]
    Store(#[from] StoreError),
    /// A task of ours was lost.
    #[error("a task ended badly")]
    Task(#[from] tokio::task::JoinError),
    /// The API's descriptors are broken.
    #[error("cannot offer reflection")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// Opens the store and serves until `shutdown`, then drains.
///
/// # Errors
/// [`RunError`] when the store cannot be opened or serving fails.
pub async fn run(
    config: Config,
    listeners: Listeners,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    let stores = tablemate_store::open(&config.store, config.wish).await?;
    run_on(stores, config.options, config.life, listeners, shutdown).await
}

/// Serves on stores that are open already.
///
/// # Errors
/// As [`run`].
pub async fn run_on(
    stores: Stores,
    options: Options,
    life: Life,
    listeners: Listeners,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    let game = Game::start(stores, options);
    let stopping = CancellationToken::new();
    let mut servers = tokio::task::JoinSet::new();
    let mut healths = Vec::new();
    // Our own processes finish what a caller began (a joining, for one): they get the public services too.
    let all: Vec<&str> = PUBLIC_SERVICES.into_iter().chain(INTERNAL_SERVICES).collect();
    let ports = [
        (Some(listeners.public), &PUBLIC_SERVICES[..], false),
        (listeners.internal, &all[..], true),
    ];
    for (listener, services, internal) in ports {
        let Some(listener) = listener else { continue };
        let mut routes = Routes::builder();
        game.add_public(&mut routes);
        if internal {
            game.add_internal(&mut routes);
        }
        add_reflection(&mut routes, services)?;
        let (health, health_service) = tonic_health::server::health_reporter();
        routes.add_service(health_service);
        for service in services {
            health.set_service_status(*service, ServingStatus::Serving).await;
        }
        healths.push((health, services));
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, internal, "serving");
        }
        servers.spawn(serve(
            listener,
            routes.routes(),
            game.guard(),
            life,
            stopping.clone(),
        ));
    }

    let failed = tokio::select! {
        () = shutdown => None,
        ended = servers.join_next() => ended,
    };
    tracing::info!(drain_seconds = life.grace.as_secs(), "stopping");
    for (health, services) in &healths {
        not_serving(health, services).await;
    }
    tokio::time::sleep(UNREADY_TIME.min(life.grace)).await;
    // Streams end with a reason while their connections are still there; those end when all is said, or are cut off.
    game.close();
    stopping.cancel();
    for (health, services) in &mut healths {
        forget(health, services).await;
    }
    let drained = tokio::time::timeout(life.grace, async {
        game.stop(life.grace).await;
        while servers.join_next().await.is_some() {}
    });
    if drained.await.is_err() {
        tracing::warn!("not everything ended in time, the rest is cut off");
        servers.shutdown().await;
        game.stop(Duration::ZERO).await;
    }
    match failed {
        Some(Err(error)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Ends the streams of those who watch our health: they would use up the whole grace.
async fn forget(health: &mut HealthReporter, services: &[&str]) {
    for service in services.iter().chain(&[""]) {
        health.clear_service_status(service).await;
    }
}

async fn not_serving(health: &HealthReporter, services: &[&str]) {
    for service in services.iter().chain(&[""]) {
        health
            .set_service_status(*service, ServingStatus::NotServing)
            .await;
    }
}
