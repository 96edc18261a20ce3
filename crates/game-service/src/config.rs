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

/// The gRPC game-state service: creates, runs and shows sessions.
#[derive(Debug, Clone, Parser)]
#[command(name = "tablemate-game", version)]
pub struct Args {
    /// Where the public services listen
    #[arg(
        long,
        env = "TABLEMATE_LISTEN",
        default_value = "127.0.0.1:7400",
        value_name = "ADDRESS"
    )]
    pub listen: String,

    /// Where InternalService listens, for the matchmaker; "none" leaves it out
    #[arg(
        long,
        env = "TABLEMATE_INTERNAL_LISTEN",
        default_value = "127.0.0.1:7401",
        value_name = "ADDRESS"
    )]
    pub internal_listen: String,

    /// The store: memory: (in this process, for development), redis://HOST:PORT/,
    /// redis+sentinel://HOST:PORT,HOST:PORT/SERVICE or redis+cluster://HOST:PORT,HOST:PORT/ (rediss for TLS)
    #[arg(
        long,
        env = "TABLEMATE_STORE",
        hide_env_values = true,
        default_value = "memory:",
        value_name = "URL"
    )]
    pub store: String,

    /// The hall in which players are unique
    #[arg(long, env = "TABLEMATE_HALL", default_value = "main", value_name = "NAME")]
    pub hall: String,

    /// The number of shards the store must have; the first process of a deployment decides it (64 when nothing is said)
    #[arg(long, env = "TABLEMATE_SHARDS", value_name = "NUMBER")]
    pub shards: Option<String>,

    /// After how many seconds without any writing game service a shard had an outage; kept in the store (5 when nothing
    /// is said)
    #[arg(long, env = "TABLEMATE_OUTAGE_THRESHOLD_SECONDS", value_name = "SECONDS")]
    pub outage_threshold_seconds: Option<String>,

    /// How many hours a finished session can still be read
    #[arg(
        long,
        env = "TABLEMATE_RETENTION_HOURS",
        default_value = "24",
        value_name = "HOURS"
    )]
    pub retention_hours: String,

    /// How many calls are worked on at once; more are refused with RESOURCE_EXHAUSTED
    #[arg(
        long,
        env = "TABLEMATE_CALLS_MAX",
        default_value = "4096",
        value_name = "NUMBER"
    )]
    pub calls_max: String,

    /// How many watch and result streams are open at once; more are refused with RESOURCE_EXHAUSTED
    #[arg(
        long,
        env = "TABLEMATE_STREAMS_MAX",
        default_value = "100000",
        value_name = "NUMBER"
    )]
    pub streams_max: String,

    /// How many sessions are kept warm in memory
    #[arg(
        long,
        env = "TABLEMATE_WARM_SESSIONS_MAX",
        default_value = "50000",
        value_name = "NUMBER"
    )]
    pub warm_sessions_max: String,

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
    /// Where the public services listen; `main` binds it.
    pub listen: SocketAddr,
    /// Where InternalService listens; `None`: nowhere.
    pub internal_listen: Option<SocketAddr>,
    /// The store's URL.
    pub store: StoreUrl,
    /// What the store must have been born with.
    pub wish: DeploymentWish,
    /// How long connections live, and calls in flight may take to end at shutdown.
    pub life: Life,
    /// The rest.
    pub options: Options,
}

/// Settings of the service itself, wherever it runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The hall in which players are unique (S-28).
    pub hall: HallId,
    /// How long a finished session can still be read.
    pub retention: Millis,
    /// How many calls are worked on at once.
    pub calls_max: usize,
    /// How many streams are open at once.
    pub streams_max: usize,
    /// How many sessions are kept warm.
    pub warm_sessions_max: usize,
    /// How many searches run at once; 0: each runs where it is needed, on no thread of its own, so that a test's run can
    /// be repeated step by step.
    pub searches_max: usize,
    /// How often a silent watch stream shows a sign of life.
    pub heartbeat: Duration,
    /// How long a watcher may take for one message before it is cut off.
    pub slow_reader: Duration,
    /// How long a call may take when its caller gave no deadline.
    pub call_time_max: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hall: HallId::default(),
            retention: Millis::hours(24),
            calls_max: 4_096,
            streams_max: 100_000,
            warm_sessions_max: 50_000,
            searches_max: std::thread::available_parallelism().map_or(1, usize::from),
            heartbeat: Duration::from_secs(5),
            slow_reader: Duration::from_secs(5),
            call_time_max: Duration::from_secs(15),
        }
    }
}

impl Default for Config {
    /// What the flags' defaults say, on any free port of the loopback interface.
    fn default() -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            listen: any,
            internal_listen: Some(any),
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
        let listen = address(&mut bad, "--listen", &self.listen);
        let internal_listen = if self.internal_listen == "none" {
            None
        } else {
            Some(address(&mut bad, "--internal-listen", &self.internal_listen))
        };
        let hall = HallId::new(&self.hall).unwrap_or_else(|| {
            bad.push(format!(
                "--hall {:?}: expected 1 to 32 of a-z, 0-9 and -",
                self.hall
            ));
            HallId::default()
        });
        let shards = self.shards.as_ref().map(|text| {
            number(
                &mut bad,
                "--shards",
                text,
                1,
                u64::from(tablemate_store::deployment::SHARDS_MAX),
            )
        });
        let outage_threshold = self
            .outage_threshold_seconds
            .as_ref()
            .map(|text| Millis::seconds(number(&mut bad, "--outage-threshold-seconds", text, 1, 3_600)));
        let retention = number(&mut bad, "--retention-hours", &self.retention_hours, 1, 24 * 365);
        let calls_max = number(&mut bad, "--calls-max", &self.calls_max, 1, 1_000_000);
        let streams_max = number(&mut bad, "--streams-max", &self.streams_max, 1, 100_000_000);
        let warm_sessions_max = number(
            &mut bad,
            "--warm-sessions-max",
            &self.warm_sessions_max,
            1,
            100_000_000,
        );
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
            internal_listen,
            store,
            wish: DeploymentWish {
                shards: shards.and_then(|shards| u16::try_from(shards).ok()),
                outage_threshold,
                ..DeploymentWish::default()
            },
            life: Life {
                age: (age > 0).then(|| Duration::from_secs(age)),
                grace: Duration::from_secs(drain),
            },
            options: Options {
                hall,
                retention: Millis::hours(retention),
                calls_max: usize::try_from(calls_max).unwrap_or(usize::MAX),
                streams_max: usize::try_from(streams_max).unwrap_or(usize::MAX),
                warm_sessions_max: usize::try_from(warm_sessions_max).unwrap_or(usize::MAX),
                ..Options::default()
            },
        })
    }
}

fn address(bad: &mut Vec<String>, flag: &str, text: &str) -> SocketAddr {
    text.parse().unwrap_or_else(|_| {
        bad.push(format!(
            "{flag} {text:?}: expected an address and port such as 127.0.0.1:7400"
        ));
        SocketAddr::from(([127, 0, 0, 1], 0))
    })
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
        Args::try_parse_from(std::iter::once("tablemate-game").chain(flags.iter().copied())).unwrap()
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        let config = args(&[]).config().unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:7400");
        assert_eq!(config.internal_listen.map(|address| address.port()), Some(7401));
        assert_eq!(config.store, StoreUrl::Memory);
    }

    #[test]
    fn all_bad_values_are_told_at_once() {
        let bad = args(&[
            "--listen",
            "here",
            "--hall",
            "Main Hall",
            "--shards",
            "0",
            "--drain-seconds",
            "soon",
            "--store",
            "redis://user:secret@/",
            "--redis-total-ms",
            "never",
        ])
        .config()
        .unwrap_err();
        assert_eq!(bad.len(), 6, "{bad:?}");
        assert!(!format!("{bad:?}").contains("secret"));
    }

    #[test]
    fn the_internal_port_can_be_left_out() {
        assert_eq!(
            args(&["--internal-listen", "none"])
                .config()
                .unwrap()
                .internal_listen,
            None
        );
    }
}
