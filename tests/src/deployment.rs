//! A whole deployment: Redis, game services, matchmakers, each a process of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::{Deref, DerefMut};

use anyhow::{Context as _, Result};
use tablemate_client::{Client, Config};
use tablemate_store::testing::RedisServer;
use tempfile::TempDir;

use crate::process::{Process, free_port};

/// How many processes of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Game services.
    pub game_services: usize,
    /// Matchmakers.
    pub matchmakers: usize,
    /// Shards of the store; `None`: as many as a deployment has by default.
    pub shards: Option<u16>,
}

impl Shape {
    /// So many game services and matchmakers, the default number of shards.
    #[must_use]
    pub const fn of(game_services: usize, matchmakers: usize) -> Self {
        Self {
            game_services,
            matchmakers,
            shards: None,
        }
    }
}

/// The addresses of one game service.
#[derive(Clone, Copy, Debug)]
struct GameAddresses {
    public: SocketAddr,
    internal: SocketAddr,
}

/// Running services over a store that somebody else keeps. All end when it is dropped.
pub struct Services {
    /// The game services, in the order of their start.
    pub game_services: Vec<Process>,
    /// The matchmakers, in the order of their start.
    pub matchmakers: Vec<Process>,
    games: Vec<GameAddresses>,
    matchmaker_addresses: Vec<SocketAddr>,
    /// Where each game service finds the store; the last one is the matchmakers' and everybody's who has none.
    stores: Vec<String>,
    shards: Option<u16>,
    /// Arguments that every process gets.
    shared: Vec<String>,
    folder: TempDir,
}

/// [`Services`] over a Redis of their own.
pub struct Deployment {
    services: Services,
    /// The store.
    pub redis: RedisServer,
}

impl Deref for Deployment {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl DerefMut for Deployment {
    fn deref_mut(&mut self) -> &mut Services {
        &mut self.services
    }
}

impl Deployment {
    /// Starts Redis and the processes.
    ///
    /// # Errors
    /// When one of them does not start.
    pub fn start(shape: Shape) -> Result<Self> {
        Self::start_with(shape, Vec::new())
    }

    /// As [`start`](Self::start), with these arguments for every process besides.
    ///
    /// # Errors
    /// When one of them does not start.
    pub fn start_with(shape: Shape, shared: Vec<String>) -> Result<Self> {
        let redis = RedisServer::start();
        let services = Services::start(shape, vec![redis.url()], shared)?;
        Ok(Self { services, redis })
    }
}

impl Services {
    /// Starts the processes. `stores` are URLs of one and the same store: the first game service takes the first, the
    /// second the second, …, matchmakers and those for whom there is none the last.
    ///
    /// # Errors
    /// When one of them does not start, or no URL is given.
    pub fn start(shape: Shape, stores: Vec<String>, shared: Vec<String>) -> Result<Self> {
        let mut services = Self {
            game_services: Vec::new(),
            matchmakers: Vec::new(),
            games: Vec::new(),
            matchmaker_addresses: Vec::new(),
            stores,
            shards: shape.shards,
            shared,
            folder: TempDir::new()?,
        };
        for _ in 0..shape.game_services {
            services.games.push(GameAddresses {
                public: local(free_port()?),
                internal: local(free_port()?),
            });
        }
        for _ in 0..shape.matchmakers {
            services.matchmaker_addresses.push(local(free_port()?));
        }
        for number in 0..shape.game_services {
            let process = services.game_service(number)?;
            services.game_services.push(process);
        }
        for number in 0..shape.matchmakers {
            let process = services.matchmaker(number)?;
            services.matchmakers.push(process);
        }
        Ok(services)
    }

    fn store(&self, number: usize) -> Result<String> {
        let url = self.stores.get(number).or_else(|| self.stores.last());
        Ok(format!("--store={}", url.context("no store is given")?))
    }

    fn game_service(&self, number: usize) -> Result<Process> {
        let addresses = self.games[number];
        let mut arguments = vec![
            format!("--listen={}", addresses.public),
            format!("--internal-listen={}", addresses.internal),
            self.store(number)?,
        ];
        arguments.extend(self.shards.map(|shards| format!("--shards={shards}")));
        arguments.extend(self.shared.iter().cloned());
        let label = format!("game-{number}");
        Process::start(
            "tablemate-game",
            &label,
            self.folder.path(),
            addresses.public,
            &arguments,
        )
    }

    fn matchmaker(&self, number: usize) -> Result<Process> {
        let address = self.matchmaker_addresses[number];
        let mut arguments = vec![format!("--listen={address}"), self.store(usize::MAX)?];
        for game in &self.games {
            arguments.push(format!("--game-service=http://{}", game.internal));
        }
        arguments.extend(self.shared.iter().cloned());
        let label = format!("matchmaker-{number}");
        Process::start(
            "tablemate-matchmaker",
            &label,
            self.folder.path(),
            address,
            &arguments,
        )
    }

    /// Starts an ended game service again, on its old addresses.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart_game_service(&mut self, number: usize) -> Result<()> {
        self.game_services[number] = self.game_service(number)?;
        Ok(())
    }

    /// Starts an ended matchmaker again, on its old address.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart_matchmaker(&mut self, number: usize) -> Result<()> {
        self.matchmakers[number] = self.matchmaker(number)?;
        Ok(())
    }

    /// All processes, matchmakers first.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.matchmakers.iter_mut().chain(&mut self.game_services)
    }

    /// The addresses of all game services.
    #[must_use]
    pub fn game_addresses(&self) -> Vec<String> {
        self.games.iter().map(|game| game.public.to_string()).collect()
    }

    /// The addresses of all matchmakers.
    #[must_use]
    pub fn matchmaker_addresses(&self) -> Vec<String> {
        self.matchmaker_addresses
            .iter()
            .map(SocketAddr::to_string)
            .collect()
    }

    /// A client of all replicas.
    ///
    /// # Errors
    /// When an address cannot be read.
    pub fn client(&self) -> Result<Client> {
        self.client_of(&(0..self.games.len()).collect::<Vec<_>>())
    }

    /// A client that knows only these game services, and all matchmakers.
    ///
    /// # Errors
    /// When an address cannot be read.
    pub fn client_of(&self, game_services: &[usize]) -> Result<Client> {
        let games: Vec<String> = game_services
            .iter()
            .map(|&number| self.games[number].public.to_string())
            .collect();
        let matchmakers = self.matchmaker_addresses();
        Ok(Client::with_config(&games, &matchmakers, Config::default())?)
    }
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
