//! Game service and matchmaker inside this process, on one gRPC port.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tablemate_game_service::{Game, PUBLIC_SERVICES, add_reflection, serve};
use tablemate_matchmaker::{Matchmaker, Options};
use tablemate_serve::Life;
use tablemate_store::{DeploymentWish, StoreUrl};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic_health::ServingStatus;

/// Full name of the matchmaker's service.
const MATCHMAKING_SERVICE: &str = "tablemate.v1.MatchmakingService";
/// How long calls in flight and streams may take to end.
const DRAIN: Duration = Duration::from_secs(3);

/// A running service inside this process.
pub struct Embedded {
    address: SocketAddr,
    game: Game,
    matchmaker: Matchmaker,
    close: CancellationToken,
    tasks: JoinSet<anyhow::Result<()>>,
}

impl Embedded {
    /// Starts game service and matchmaker on one port.
    pub async fn start(store: &StoreUrl, listen: &str) -> anyhow::Result<Embedded> {
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("cannot listen on {listen}"))?;
        // What outsiders must not call has a port of its own that nobody is told.
        let internal = TcpListener::bind("127.0.0.1:0")
            .await
            .context("cannot listen on the loopback interface")?;
        let address = listener.local_addr()?;
        let internal_address = internal.local_addr()?;
        let stores = tablemate_store::open(store, DeploymentWish::default())
            .await
            .with_context(|| format!("cannot open the store {store}"))?;

        let game = Game::start(stores.clone(), tablemate_game_service::Options::default());
        let options = Options {
            game_services: vec![format!("http://{internal_address}").parse()?],
            ..Options::default()
        };
        let matchmaker = Matchmaker::new(options, stores);

        let mut routes = Routes::builder();
        game.add_public(&mut routes);
        routes.add_service(matchmaker.service());
        let mut services = PUBLIC_SERVICES.to_vec();
        services.push(MATCHMAKING_SERVICE);
        add_reflection(&mut routes, &services)?;
        let (health, health_service) = tonic_health::server::health_reporter();
        routes.add_service(health_service);
        for service in services {
            health.set_service_status(service, ServingStatus::Serving).await;
        }
        let mut internal_routes = Routes::builder();
        game.add_internal(&mut internal_routes);
        // The matchmaker finishes joinings that were cut off by the public call.
        game.add_public(&mut internal_routes);

        let close = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for (listener, routes) in [(listener, routes.routes()), (internal, internal_routes.routes())] {
            let served = serve(
                listener,
                routes,
                game.guard(),
                Life::ageless(DRAIN),
                close.clone(),
            );
            tasks.spawn(async move {
                served.await;
                Ok(())
            });
        }
        let looped = matchmaker.loops();
        tasks.spawn(async move { Ok(looped.await?) });
        Ok(Embedded {
            address,
            game,
            matchmaker,
            close,
            tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until a part of it fails; never ends when all goes well.
    pub async fn failed(&mut self) -> anyhow::Error {
        match self.tasks.join_next().await {
            Some(Ok(Err(error))) => error,
            Some(Err(error)) => error.into(),
            Some(Ok(Ok(()))) | None => anyhow::anyhow!("a part of the service ended"),
        }
    }

    /// Stops it: streams end, calls in flight finish, what is left is cut off.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.matchmaker.stop();
        self.game.close();
        self.close.cancel();
        let drained = tokio::time::timeout(DRAIN, async {
            self.game.stop(DRAIN).await;
            while let Some(ended) = self.tasks.join_next().await {
                ended??;
            }
            Ok(())
        });
        // Peers that do not answer are no error.
        drained.await.unwrap_or(Ok(()))
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
