//! A whole deployment: Redis, game services, matchmakers, each a process of its own.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
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

/// Running processes over one Redis. All end when it is dropped.
pub struct Deployment {
    /// The game services, in the order of their start.
    pub game_services: Vec<Process>,
    /// The matchmakers, in the order of their start.
    pub matchmakers: Vec<Process>,
    /// The store.
    pub redis: RedisServer,
    games: Vec<GameAddresses>,
    matchmaking: Vec<SocketAddr>,
    shards: Option<u16>,
    /// Arguments that every process gets.
    shared: Vec<String>,
    folder: TempDir,
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
        let mut deployment = Self {
            game_services: Vec::new(),
            matchmakers: Vec::new(),
            redis: RedisServer::start(),
            games: Vec::new(),
            matchmaking: Vec::new(),
            shards: shape.shards,
            shared,
            folder: TempDir::new()?,
        };
        for _ in 0..shape.game_services {
            deployment.games.push(GameAddresses {
                public: local(free_port()?),
                internal: local(free_port()?),
            });
        }
        for number in 0..shape.game_services {
            let process = deployment.game_service(number)?;
            deployment.game_services.push(process);
        }
        for number in 0..shape.matchmakers {
            deployment.matchmaking.push(local(free_port()?));
            let process = deployment.matchmaker(number)?;
            deployment.matchmakers.push(process);
        }
        Ok(deployment)
    }

    fn game_service(&self, number: usize) -> Result<Process> {
        let addresses = self.games[number];
        let mut arguments = vec![
            format!("--listen={}", addresses.public),
            format!("--internal-listen={}", addresses.internal),
            format!("--store={}", self.redis.url()),
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
        let address = self.matchmaking[number];
        let mut arguments = vec![
            format!("--listen={address}"),
            format!("--store={}", self.redis.url()),
        ];
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

    /// Starts a killed game service again, on its old addresses.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart_game_service(&mut self, number: usize) -> Result<()> {
        self.game_services[number] = self.game_service(number)?;
        Ok(())
    }

    /// Starts a matchmaker that has ended again, on its old address.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart_matchmaker(&mut self, number: usize) -> Result<()> {
        self.matchmakers[number] = self.matchmaker(number)?;
        Ok(())
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
        let matchmakers: Vec<String> = self
            .matchmakers
            .iter()
            .map(|process| process.address.to_string())
            .collect();
        Ok(Client::with_config(&games, &matchmakers, Config::default())?)
    }
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
