//! Making connections: TCP and TLS settings, who we are, and whether the server at the other end is fit to keep games.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ErrorKind, IntoConnectionInfo,
    ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError, TlsCertificates, Value,
};
use tokio::sync::mpsc::UnboundedSender;

use super::fault::{answer, failure};
use super::scripts::SCRIPTS;
use super::url::{Account, Address, RedisSettings, RedisUrl, Shape, Tls};
use crate::error::{Result, StoreError};

/// After how long a silent connection is probed, and how often.
const KEEPALIVE: Duration = Duration::from_secs(10);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(3);
/// After how long unacknowledged data ends a connection.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);
/// How many commands a connection takes before senders wait.
const PIPELINE_MAX: usize = 1_024;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Commands, answered one by one.
    Commands,
    /// Commands that are acknowledged together once replicas have them.
    Waits,
    /// Subscriptions.
    Pushes,
    /// Questions to a Sentinel.
    Sentinel,
}

/// What a server pushed, and on which connection.
pub(super) struct Pushed {
    pub(super) address: Address,
    pub(super) generation: u64,
    pub(super) push: PushInfo,
}

/// Why there is no connection. Nothing was sent.
#[derive(Clone, Debug)]
pub(super) enum NoConnection {
    /// It could not be made now.
    Unreachable(String),
    /// The server is a replica.
    Replica(String),
    /// Trying again will not help before somebody changes something.
    Unfit(StoreError),
}

impl NoConnection {
    /// As a caller hears it, at the start.
    pub(super) fn at_start(self) -> StoreError {
        match self {
            Self::Unreachable(why) => StoreError::Unavailable { why },
            Self::Replica(_) => StoreError::Incompatible {
                setting: "role",
                stored: "replica (read-only)".to_owned(),
                wanted: "master".to_owned(),
            },
            Self::Unfit(error) => error,
        }
    }
}

/// Makes connections.
pub(super) struct Dial {
    account: Account,
    sentinel_account: Account,
    database: u32,
    clustered: bool,
    tls: Option<TlsCertificates>,
    pub(super) settings: RedisSettings,
    pushes: UnboundedSender<Pushed>,
}

impl Dial {
    pub(super) fn new(url: &RedisUrl, pushes: UnboundedSender<Pushed>) -> Result<Self> {
        Ok(Self {
            account: url.account.clone(),
            sentinel_account: url.sentinel_account.clone(),
            database: url.database,
            clustered: matches!(url.shape, Shape::Cluster(_)),
            tls: url.tls.as_ref().map(certificates).transpose()?,
            settings: url.settings,
            pushes,
        })
    }

    /// A client for the server at `address`.
    pub(super) fn client(&self, address: &Address, purpose: Purpose) -> redis::RedisResult<Client> {
        let (host, port) = (address.host.clone(), address.port);
        let to = match self.tls {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
        };
        let (account, database) = match purpose {
            Purpose::Sentinel => (&self.sentinel_account, 0),
            _ => (&self.account, self.database),
        };
        // RESP2 lost a command on a killed connection where RESP3 lost none.
        let mut redis = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_db(database.into());
        if let Some(user) = &account.user {
            redis = redis.set_username(user);
        }
        if let Some(password) = &account.password {
            redis = redis.set_password(password);
        }
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE_EVERY);
        let tcp = TcpSettings::default()
            .set_keepalive(keepalive)
            .set_user_timeout(TCP_USER_TIMEOUT);
        let info = to
            .into_connection_info()?
            .set_tcp_settings(tcp)
            .set_redis_settings(redis);
        match &self.tls {
            None => Client::open(info),
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
        }
    }

    /// Connects. A master that is to take commands is looked at first.
    pub(super) async fn connect(
        &self,
        address: &Address,
        purpose: Purpose,
        generation: u64,
    ) -> std::result::Result<MultiplexedConnection, NoConnection> {
        let client = self
            .client(address, purpose)
            .map_err(|error| refused(address, &error))?;
        let settings = &self.settings;
        let answer_within = match purpose {
            Purpose::Waits => settings.wait.saturating_add(settings.command),
            _ => settings.command,
        };
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(Some(answer_within))
            .set_pipeline_buffer_size(PIPELINE_MAX);
        if purpose == Purpose::Pushes {
            let (pushes, address) = (self.pushes.clone(), address.clone());
            config = config.set_push_sender(move |push| {
                pushes.send(Pushed {
                    address: address.clone(),
                    generation,
                    push,
                })
            });
        }
        let connecting = client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = match tokio::time::timeout(settings.connect, connecting).await {
            Ok(connected) => connected.map_err(|error| refused(address, &error))?,
            Err(_) => {
                return Err(NoConnection::Unreachable(format!(
                    "{address} did not accept a connection within {} ms",
                    settings.connect.as_millis()
                )));
            }
        };
        if matches!(purpose, Purpose::Commands | Purpose::Waits) {
            self.look(address, &mut connection).await?;
        }
        Ok(connection)
    }

    /// Whether the server is a master, ready, new enough, and keeps what it is given; sees to it that it has the
    /// scripts.
    async fn look(
        &self,
        address: &Address,
        connection: &mut MultiplexedConnection,
    ) -> std::result::Result<(), NoConnection> {
        let info = ask(address, connection, &redis::cmd("INFO")).await?;
        let info = Info::of(&info).ok_or_else(|| unfit("INFO", "unreadable", "readable"))?;
        self.judge(address, &info)?;
        let mut exists = redis::cmd("SCRIPT");
        exists.arg("EXISTS");
        for script in SCRIPTS.all() {
            exists.arg(script.hash.as_str());
        }
        let known = match ask(address, connection, &exists).await? {
            Value::Array(known) => known,
            _ => Vec::new(),
        };
        for (at, script) in SCRIPTS.all().into_iter().enumerate() {
            if matches!(known.get(at), Some(Value::Int(1) | Value::Boolean(true))) {
                continue;
            }
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(script.text.as_str());
            ask(address, connection, &load).await?;
        }
        Ok(())
    }

    fn judge(&self, address: &Address, info: &Info) -> std::result::Result<(), NoConnection> {
        let major = info
            .redis_version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        if major.is_none_or(|major: u32| major < 7) {
            return Err(unfit("Redis version", &info.redis_version, "7 or newer"));
        }
        match (info.redis_mode.as_str(), self.clustered) {
            ("sentinel", _) => return Err(unfit("server", "a Sentinel", "a Redis (or redis+sentinel://)")),
            ("cluster", false) => {
                return Err(unfit(
                    "server",
                    "a node of a cluster",
                    "a single Redis (or redis+cluster://)",
                ));
            }
            ("standalone", true) => return Err(unfit("server", "a single Redis", "a node of a cluster")),
            _ => {}
        }
        // Before the role: a server that loads has no data to judge by, and may become anything.
        if info.loading {
            return Err(NoConnection::Unreachable(format!(
                "{address} is loading its data"
            )));
        }
        if info.replica {
            return Err(NoConnection::Replica(format!("{address} is a read-only replica")));
        }
        // Without a limit nothing is evicted today; somebody will set one, and games would go silently.
        if info.maxmemory_policy != "noeviction" {
            return Err(unfit(
                "maxmemory-policy",
                &info.maxmemory_policy,
                "noeviction: every key is somebody's game",
            ));
        }
        Ok(())
    }
}

fn unfit(setting: &'static str, stored: &str, wanted: &str) -> NoConnection {
    NoConnection::Unfit(StoreError::Incompatible {
        setting,
        stored: stored.to_owned(),
        wanted: wanted.to_owned(),
    })
}

/// What an error while connecting means.
fn refused(address: &Address, error: &RedisError) -> NoConnection {
    match error.kind() {
        ErrorKind::RESP3NotSupported => unfit("Redis version", "older than 6", "7 or newer"),
        ErrorKind::AuthenticationFailed => NoConnection::Unfit(StoreError::Denied {
            what: "authentication",
            why: format!("{address} does not know this user and password"),
        }),
        ErrorKind::InvalidClientConfig => NoConnection::Unfit(StoreError::BadUrl {
            why: error.to_string(),
        }),
        _ => match failure("connect", error) {
            StoreError::Denied { what, why } => NoConnection::Unfit(StoreError::Denied { what, why }),
            _ => NoConnection::Unreachable(format!("{address}: {error}")),
        },
    }
}

/// One question while the connection is not yet shared.
async fn ask(
    address: &Address,
    connection: &mut MultiplexedConnection,
    command: &redis::Cmd,
) -> std::result::Result<Value, NoConnection> {
    answer(connection.send_packed_command(command).await).map_err(|error| refused(address, &error))
}

/// What INFO says that matters here.
#[derive(Default)]
struct Info {
    redis_version: String,
    redis_mode: String,
    maxmemory_policy: String,
    replica: bool,
    loading: bool,
}

impl Info {
    fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
            Value::VerbatimString { text, .. } | Value::SimpleString(text) => text,
            _ => return None,
        };
        let mut info = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.trim_end().split_once(':') else {
                continue;
            };
            match name {
                "redis_version" => value.clone_into(&mut info.redis_version),
                "redis_mode" => value.clone_into(&mut info.redis_mode),
                "maxmemory_policy" => value.clone_into(&mut info.maxmemory_policy),
                "role" => info.replica = value != "master",
                // Also while a replica takes over a copy of its master.
                "loading" | "async_loading" => info.loading |= value != "0",
                _ => {}
            }
        }
        Some(info)
    }
}

/// Reads the certificates, and makes aws-lc the provider of cryptography.
fn certificates(tls: &Tls) -> Result<TlsCertificates> {
    // Fails when there is one already: then that one is used.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let read = |path: &std::path::Path| {
        std::fs::read(path).map_err(|error| StoreError::BadUrl {
            why: format!("cannot read {}: {error}", path.display()),
        })
    };
    let certificates = TlsCertificates {
        root_cert: tls.ca_file.as_deref().map(read).transpose()?,
        client_tls: match &tls.identity {
            None => None,
            Some((cert, key)) => Some(ClientTlsConfig {
                client_cert: read(cert)?,
                client_key: read(key)?,
            }),
        },
    };
    // An empty list of authorities would vouch for nobody, and look like somebody else's fault.
    if let (Some(pem), Some(path)) = (&certificates.root_cert, &tls.ca_file) {
        const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
        if !pem.windows(BEGIN.len()).any(|window| window == BEGIN) {
            return Err(StoreError::BadUrl {
                why: format!("{} holds no certificate in PEM", path.display()),
            });
        }
    }
    // What cannot be used is told now, not at the first connection.
    let anywhere = ConnectionAddr::TcpTls {
        host: "localhost".to_owned(),
        port: 1,
        insecure: false,
        tls_params: None,
    };
    Client::build_with_tls(
        anywhere.into_connection_info().map_err(|error| bad_tls(&error))?,
        certificates.clone(),
    )
    .map_err(|error| bad_tls(&error))?;
    Ok(certificates)
}

fn bad_tls(error: &RedisError) -> StoreError {
    StoreError::BadUrl {
        why: format!("the certificates cannot be used: {error}"),
    }
}

/// A [`Dial`] that everybody shares.
pub(super) type SharedDial = Arc<Dial>;
