//! Configuration: flags and `TABLEMATE_*` environment variables with the same names.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use tablemate_serve::Life;
use tablemate_session::Millis;
use tablemate_store::args::RedisArgs;
use tablemate_store::hall_store::HallId;
use tablemate_store::{DeploymentWish, StoreUrl};
use tablemate_telemetry::TelemetryArgs;
use tonic::transport::Uri;

use crate::loops::LoopConfig;

/// The matchmaking service and the worker loops: pairs players, fires deadlines, settles results.
#[derive(Debug, Clone, Parser)]
#[command(name = "tablemate-matchmaker", version)]
pub struct Args {
    /// Where the service listens
    #[arg(
        long,
        env = "TABLEMATE_LISTEN",
        default_value = "127.0.0.1:7500",
        value_name = "ADDRESS"
    )]
    pub listen: String,

    /// The store: redis://HOST:PORT/, redis+sentinel://HOST:PORT,HOST:PORT/SERVICE, redis+cluster://HOST:PORT,HOST:PORT/
    /// (rediss for TLS), or memory: (in this process, of no use with a game service in another one)
    #[arg(
        long,
        env = "TABLEMATE_STORE",
        hide_env_values = true,
        default_value = "memory:",
        value_name = "URL"
    )]
    pub store: String,

    /// A game service's internal address; may be given several times, or with commas between
    #[arg(
        long = "game-service",
        env = "TABLEMATE_GAME_SERVICE",
        default_value = "http://127.0.0.1:7401",
        value_delimiter = ',',
        value_name = "URL"
    )]
    pub game_services: Vec<String>,

    /// The hall in which players are unique
    #[arg(long, env = "TABLEMATE_HALL", default_value = "main", value_name = "NAME")]
    pub hall: String,

    /// The number of shards the store must have; the first process of a deployment decides it (64 when nothing is said)
    #[arg(long, env = "TABLEMATE_SHARDS", value_name = "NUMBER")]
    pub shards: Option<String>,

    /// How many seconds a ticket waits before it expires
    #[arg(
        long = "ticket-expiry",
        env = "TABLEMATE_TICKET_EXPIRY",
        default_value = "300",
        value_name = "SECONDS"
    )]
    pub ticket_expiry: String,

    /// How many seconds lie between two heartbeats of this worker; after three without one its shards go to others
    #[arg(
        long,
        env = "TABLEMATE_HEARTBEAT_SECONDS",
        default_value = "1",
        value_name = "SECONDS"
    )]
    pub heartbeat_seconds: String,

    /// How often, in ms, each shard is asked for new deadlines; what is known to come sooner is waited for exactly
    #[arg(
        long,
        env = "TABLEMATE_DEADLINE_POLL_MS",
        default_value = "100",
        value_name = "MS"
    )]
    pub deadline_poll_ms: String,

    /// How many sessions of a shard are fired in one call
    #[arg(
        long,
        env = "TABLEMATE_FIRE_LIMIT",
        default_value = "256",
        value_name = "NUMBER"
    )]
    pub fire_limit: String,

    /// How many shards are fired at once
    #[arg(
        long,
        env = "TABLEMATE_FIRE_PARALLEL",
        default_value = "16",
        value_name = "NUMBER"
    )]
    pub fire_parallel: String,

    /// How many hours a result stays readable in the store's outbox after it was settled
    #[arg(
        long,
        env = "TABLEMATE_OUTBOX_HOURS",
        default_value = "168",
        value_name = "HOURS"
    )]
    pub outbox_hours: String,

    /// After how many seconds, a tenth more or less, a connection is asked to end, so that load moves to new replicas; 0:
    /// never
    #[arg(
        long,
        env = "TABLEMATE_CONNECTION_AGE_SECONDS",
        default_value = "1800",
        value_name = "SECONDS"
    )]
    pub connection_age_seconds: String,

    /// How long calls in flight may take to end at shutdown, and on a connection that was asked to end
    #[arg(
        long,
        env = "TABLEMATE_DRAIN_SECONDS",
        default_value = "10",
        value_name = "SECONDS"
    )]
    pub drain_seconds: String,

    /// How Redis is waited for.
    #[command(flatten)]
    pub redis: RedisArgs,

    /// Logs, traces and metrics.
    #[command(flatten)]
    pub telemetry: TelemetryArgs,
}

/// What [`run`](crate::run) needs, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the service listens; `main` binds it.
    pub listen: SocketAddr,
    /// The store's URL.
    pub store: StoreUrl,
    /// What the store must have been born with.
    pub wish: DeploymentWish,
    /// How long connections live, and calls in flight may take to end at shutdown.
    pub life: Life,
    /// The rest.
    pub options: Options,
}

/// Settings of the service and the loops themselves, wherever they run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The hall in which players are unique (S-28).
    pub hall: HallId,
    /// The game services' internal addresses; at least one.
    pub game_services: Vec<Uri>,
    /// How long a ticket waits before it expires.
    pub ticket_lifetime: Millis,
    /// How the worker loops run.
    pub loops: LoopConfig,
}

impl Default for Options {
    /// What the flags' defaults say.
    fn default() -> Self {
        Self {
            hall: HallId::default(),
            game_services: vec![Uri::from_static("http://127.0.0.1:7401")],
            ticket_lifetime: Millis::minutes(5),
            loops: LoopConfig::default(),
        }
    }
}

impl Default for Config {
    /// What the flags' defaults say, on any free port of the loopback interface.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            store: StoreUrl::Memory,
            wish: DeploymentWish::default(),
            life: Life::default(),
            options: Options::default(),
        }
    }
}

impl Args {
    /// The configuration that these flags mean.
    ///
    /// # Errors
    /// A line for every bad value, all at once.
    pub fn config(&self) -> Result<Config, Vec<String>> {
        let mut bad = Vec::new();
        let listen = self.listen.parse().unwrap_or_else(|_| {
            bad.push(format!(
                "--listen {:?}: expected an address and port such as 127.0.0.1:7500",
                self.listen
            ));
            SocketAddr::from(([127, 0, 0, 1], 0))
        });
        let game_services: Vec<Uri> = self
            .game_services
            .iter()
            .filter_map(|text| game_service(&mut bad, text))
            .collect();
        if self.game_services.is_empty() {
            bad.push("--game-service: expected at least one address".to_owned());
        }
        let hall = HallId::new(&self.hall).unwrap_or_else(|| {
            bad.push(format!(
                "--hall {:?}: expected 1 to 32 of a-z, 0-9 and -",
                self.hall
            ));
            HallId::default()
        });
        let shards_max = u64::from(tablemate_store::deployment::SHARDS_MAX);
        let shards = self
            .shards
            .as_ref()
            .map(|text| number(&mut bad, "--shards", text, 1, shards_max));
        let ticket_expiry = number(&mut bad, "--ticket-expiry", &self.ticket_expiry, 1, 24 * 3_600);
        let heartbeat = number(&mut bad, "--heartbeat-seconds", &self.heartbeat_seconds, 1, 60);
        let deadline_poll = number(&mut bad, "--deadline-poll-ms", &self.deadline_poll_ms, 1, 60_000);
        let fire_limit = number(&mut bad, "--fire-limit", &self.fire_limit, 1, 1_000);
        let fire_parallel = number(&mut bad, "--fire-parallel", &self.fire_parallel, 1, 1_024);
        let outbox = number(&mut bad, "--outbox-hours", &self.outbox_hours, 1, 24 * 7);
        let age = number(
            &mut bad,
            "--connection-age-seconds",
            &self.connection_age_seconds,
            0,
            7 * 24 * 3_600,
        );
        let drain = number(&mut bad, "--drain-seconds", &self.drain_seconds, 0, 3_600);
        let store = self.redis.store(&self.store, &mut bad);
        if !bad.is_empty() {
            return Err(bad);
        }
        Ok(Config {
            listen,
            store,
            wish: DeploymentWish {
                shards: shards.and_then(|shards| u16::try_from(shards).ok()),
                ..DeploymentWish::default()
            },
            life: Life {
                age: (age > 0).then(|| Duration::from_secs(age)),
                grace: Duration::from_secs(drain),
            },
            options: Options {
                hall,
                game_services,
                ticket_lifetime: Millis::seconds(ticket_expiry),
                loops: LoopConfig {
                    heartbeat: Duration::from_secs(heartbeat),
                    deadline_poll: Duration::from_millis(deadline_poll),
                    fire_limit: u32::try_from(fire_limit).unwrap_or(u32::MAX),
                    fire_parallel: usize::try_from(fire_parallel).unwrap_or(usize::MAX),
                    outbox_kept: Millis::hours(outbox),
                    ..LoopConfig::default()
                },
            },
        })
    }
}

fn game_service(bad: &mut Vec<String>, text: &str) -> Option<Uri> {
    let uri = text.parse::<Uri>().ok();
    let uri = uri.filter(|uri| uri.scheme_str() == Some("http") && uri.authority().is_some());
    if uri.is_none() {
        bad.push(format!(
            "--game-service {text:?}: expected an address such as http://127.0.0.1:7401"
        ));
    }
    uri
}

fn number(bad: &mut Vec<String>, flag: &str, text: &str, min: u64, max: u64) -> u64 {
    match text.parse() {
        Ok(number) if (min..=max).contains(&number) => number,
        _ => {
            bad.push(format!("{flag} {text:?}: expected a number from {min} to {max}"));
            min
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(flags: &[&str]) -> Args {
        Args::try_parse_from(std::iter::once("tablemate-matchmaker").chain(flags.iter().copied())).unwrap()
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        let config = args(&[]).config().unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:7500");
        assert_eq!(config.options.game_services, Options::default().game_services);
        assert_eq!(config.options.ticket_lifetime, Options::default().ticket_lifetime);
        assert_eq!(
            config.options.loops.outbox_kept,
            LoopConfig::default().outbox_kept
        );
    }

    #[test]
    fn several_game_services_can_be_named() {
        let config = args(&[
            "--game-service",
            "http://127.0.0.1:1,http://127.0.0.1:2",
            "--game-service=http://[::1]:3",
        ]);
        assert_eq!(config.config().unwrap().options.game_services.len(), 3);
    }

    #[test]
    fn all_bad_values_are_told_at_once() {
        let bad = args(&[
            "--listen=here",
            "--game-service=ftp://x",
            "--hall=Main Hall",
            "--ticket-expiry=0",
            "--fire-limit=1001",
            "--drain-seconds=soon",
        ]);
        assert_eq!(bad.config().unwrap_err().len(), 6);
    }
}
