//! The connection to Redis: one multiplexed connection that reconnects, bounded waits, errors by what they mean.

use std::time::{Duration, Instant as Monotonic};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{Client, Cmd, IntoConnectionInfo, ProtocolVersion, RedisError, ServerErrorKind, Value};

use super::scripts::{SCRIPTS, Script};
use crate::error::{Result, StoreError};

/// How long one answer may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long making a connection may take.
const CONNECTION_TIMEOUT: Duration = Duration::from_millis(500);
/// How long one operation may take with all its tries, waiting for a reconnection included.
const BUDGET: Duration = Duration::from_secs(2);
/// How often an operation is tried.
const TRIES_MAX: usize = 3;
/// How long to wait before another try.
const RETRY_DELAY: Duration = Duration::from_millis(30);
/// After how long unacknowledged data ends a connection.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(3);

/// What an operation does, for what a missing answer means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It only reads.
    Reads,
    /// It may change something. All such operations can be repeated: they tell when they were done before.
    Writes,
}

/// A script with its keys and arguments, ready to be sent: `EVALSHA hash count key… arg…`.
pub(super) struct Call {
    script: &'static Script,
    command: Cmd,
}

impl Call {
    pub(super) fn new<K>(script: &'static Script, keys: K) -> Self
    where
        K: IntoIterator<Item = Vec<u8>, IntoIter: ExactSizeIterator>,
    {
        // Room for most calls without growing.
        let mut command = Cmd::with_capacity(24, 512);
        let keys = keys.into_iter();
        command.arg("EVALSHA").arg(script.hash.as_str()).arg(keys.len());
        keys.for_each(|key| {
            command.arg(key);
        });
        Self { script, command }
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.command.arg(bytes);
        self
    }

    pub(super) fn number(mut self, number: u64) -> Self {
        // Lua counts in floating point: beyond this it could not tell neighbours apart.
        const EXACT_MAX: u64 = (1 << 53) - 1;
        self.command.arg(number.min(EXACT_MAX));
        self
    }

    /// The same with the script's text in place of its hash.
    fn with_text(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(self.script.text.as_str());
        for arg in self.command.args_iter().skip(2) {
            if let redis::Arg::Simple(bytes) = arg {
                command.arg(bytes);
            }
        }
        command
    }
}

/// What is sent in one trip.
#[derive(Clone, Copy)]
enum Request<'a> {
    /// A script, by its hash.
    Script(&'a Call),
    /// Several commands, and how many.
    Pipeline(&'a redis::Pipeline, usize),
    /// A plain command.
    Command(&'a Cmd),
}

impl Request<'_> {
    async fn send(self, manager: &mut ConnectionManager) -> redis::RedisResult<Value> {
        match self {
            Self::Command(command) => answer(manager.send_packed_command(command).await),
            Self::Pipeline(pipeline, count) => manager
                .send_packed_commands(pipeline, 0, count)
                .await
                .map(Value::Array),
            Self::Script(call) => match answer(manager.send_packed_command(&call.command).await) {
                Err(error) if is_noscript(&error) => {
                    // The server has forgotten its scripts (a restart): this one comes along.
                    answer(manager.send_packed_command(&call.with_text()).await)
                }
                other => other,
            },
        }
    }
}

/// Makes an error of what the server calls one.
fn answer(answer: redis::RedisResult<Value>) -> redis::RedisResult<Value> {
    answer.and_then(|value| value.extract_error())
}

/// The connection.
#[derive(Clone)]
pub(super) struct Link {
    client: Client,
    manager: ConnectionManager,
}

impl Link {
    /// Connects, and loads all scripts.
    pub(super) async fn open(url: &str) -> Result<Self> {
        let bad_url = |error: RedisError| StoreError::BadUrl {
            why: error.category().to_owned(),
        };
        let info = url.into_connection_info().map_err(bad_url)?;
        let keepalive = TcpKeepalive::new()
            .with_time(Duration::from_secs(10))
            .with_interval(Duration::from_secs(3));
        let tcp = TcpSettings::default()
            .set_keepalive(keepalive)
            .set_user_timeout(TCP_USER_TIMEOUT);
        // RESP2 lost a command on a killed connection where RESP3 lost none.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let info = info.set_tcp_settings(tcp).set_redis_settings(settings);
        let client = Client::open(info).map_err(bad_url)?;
        let connecting = ConnectionManager::new_with_config(client.clone(), config());
        let manager = match tokio::time::timeout(BUDGET, connecting).await {
            Ok(connected) => connected.map_err(|error| failure("connect", &error, Effect::Reads))?,
            Err(_) => {
                return Err(StoreError::Unavailable {
                    why: "connecting took too long".to_owned(),
                });
            }
        };
        let link = Self { client, manager };
        link.load_scripts().await?;
        Ok(link)
    }

    /// A connection of its own for subscriptions, which hands everything pushed to `sender`.
    pub(super) async fn subscriber(
        &self,
        sender: tokio::sync::mpsc::UnboundedSender<redis::PushInfo>,
    ) -> Result<ConnectionManager> {
        let config = config().set_push_sender(sender).set_automatic_resubscription();
        ConnectionManager::new_with_config(self.client.clone(), config)
            .await
            .map_err(|error| failure("connect for subscriptions", &error, Effect::Reads))
    }

    async fn load_scripts(&self) -> Result<()> {
        for script in SCRIPTS.all() {
            let mut command = redis::cmd("SCRIPT");
            command.arg("LOAD").arg(script.text.as_str());
            self.command("load a script", &command, Effect::Reads).await?;
        }
        Ok(())
    }

    /// Runs a script; gives its answer and when it was here.
    pub(super) async fn call(&self, call: &Call, effect: Effect) -> Result<(Value, Monotonic)> {
        self.tried(call.script.name, effect, Request::Script(call)).await
    }

    /// Runs several scripts in one trip; gives their answers in order and when the last was here.
    pub(super) async fn call_all(&self, calls: &[Call], effect: Effect) -> Result<(Vec<Value>, Monotonic)> {
        let Some(what) = calls.first().map(|call| call.script.name) else {
            return Ok((Vec::new(), Monotonic::now()));
        };
        let mut pipeline = redis::pipe();
        for call in calls {
            pipeline.add_command(call.command.clone());
        }
        for reloaded in [false, true] {
            let sent = self.tried(what, effect, Request::Pipeline(&pipeline, calls.len()));
            let (answers, received) = match sent.await? {
                (Value::Array(answers), received) => (answers, received),
                (_, received) => (Vec::new(), received),
            };
            let mut failed = answers.iter().filter_map(|answer| match answer {
                Value::ServerError(error) => Some(RedisError::from(error.clone())),
                _ => None,
            });
            match failed.next() {
                None => return Ok((answers, received)),
                Some(error) if is_noscript(&error) && !reloaded => self.load_scripts().await?,
                Some(error) => return Err(failure(what, &error, effect)),
            }
        }
        Err(StoreError::Unavailable {
            why: "the server forgets its scripts".to_owned(),
        })
    }

    /// Runs a plain command.
    pub(super) async fn command(&self, what: &'static str, command: &Cmd, effect: Effect) -> Result<Value> {
        let sent = self.tried(what, effect, Request::Command(command));
        Ok(sent.await?.0)
    }

    /// Tries until there is an answer, the server refuses, or time or patience end.
    async fn tried(
        &self,
        what: &'static str,
        effect: Effect,
        request: Request<'_>,
    ) -> Result<(Value, Monotonic)> {
        let mut manager = self.manager.clone();
        // Whether some try may have been carried out although no answer came.
        let mut may_be_done = false;
        let tries = async {
            let mut tried = 1;
            loop {
                let error = match request.send(&mut manager).await {
                    Ok(value) => return Ok((value, Monotonic::now())),
                    Err(error) => error,
                };
                let is_answer =
                    !error.is_io_error() && !error.is_unrecoverable_error() && !error.is_timeout();
                if is_answer {
                    return Err(failure(what, &error, effect));
                }
                may_be_done |= !error.is_connection_refusal();
                if tried == TRIES_MAX {
                    return Err(failure(
                        what,
                        &error,
                        if may_be_done { effect } else { Effect::Reads },
                    ));
                }
                tried += 1;
                tracing::debug!(
                    what,
                    tried,
                    category = error.category(),
                    "store call failed, trying again"
                );
                tokio::time::sleep(RETRY_DELAY).await;
            }
        };
        match tokio::time::timeout(BUDGET, tries).await {
            Ok(answer) => answer,
            Err(_) => Err(unanswered(
                effect,
                format!("{what} took more than {} ms", BUDGET.as_millis()),
            )),
        }
    }
}

fn config() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_connection_timeout(Some(CONNECTION_TIMEOUT))
        .set_number_of_retries(2)
        .set_min_delay(Duration::from_millis(20))
        .set_max_delay(Duration::from_millis(200))
        .set_pipeline_buffer_size(1_024)
}

fn is_noscript(error: &RedisError) -> bool {
    error.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript)
}

fn unanswered(effect: Effect, why: String) -> StoreError {
    match effect {
        Effect::Reads => StoreError::Unavailable { why },
        Effect::Writes => StoreError::OutcomeUnknown { why },
    }
}

/// What an error of the client or the server means.
pub(super) fn failure(what: &'static str, error: &RedisError, effect: Effect) -> StoreError {
    let detail = error.detail().unwrap_or_default();
    let why = || format!("{what}: {error}");
    let denied = "The user executing the script";
    match error.code() {
        Some("WRONGTYPE") => StoreError::WrongType { what },
        Some("NOPERM" | "NOAUTH" | "WRONGPASS") => StoreError::Denied {
            what,
            why: detail.to_owned(),
        },
        Some("OOM") => StoreError::Full {
            why: detail.to_owned(),
        },
        Some("ERR") if detail.contains(denied) => StoreError::Denied {
            what,
            why: detail.to_owned(),
        },
        Some("ERR") => StoreError::Corrupt {
            what,
            why: detail.to_owned(),
        },
        // All of these are refusals before anything was done.
        Some(_) => StoreError::Unavailable { why: why() },
        None => unanswered(effect, why()),
    }
}
