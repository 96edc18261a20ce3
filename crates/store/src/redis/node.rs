//! One server: its connections, each made when it is needed and made anew when it failed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant as Monotonic};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Value};

use super::dial::{NoConnection, Purpose, SharedDial};
use super::durable::Durable;
use super::fault::{Fault, answer};
use super::url::Address;
use crate::hub::lock;

/// For how long a failed try to connect is everybody's answer.
const HOLD_OFF: Duration = Duration::from_millis(40);

/// A connection that works as far as is known.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) connection: MultiplexedConnection,
    pub(super) generation: u64,
}

type Dialling = Shared<BoxFuture<'static, Result<Live, NoConnection>>>;

#[derive(Default)]
struct State {
    live: Option<Live>,
    dialling: Option<Dialling>,
    failed: Option<(Monotonic, NoConnection)>,
}

/// Counts the connections of this process.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// One connection to one server, for one purpose.
pub(super) struct Lane {
    dial: SharedDial,
    address: Address,
    purpose: Purpose,
    state: Mutex<State>,
}

impl Lane {
    pub(super) fn new(dial: SharedDial, address: Address, purpose: Purpose) -> Arc<Self> {
        Arc::new(Self {
            dial,
            address,
            purpose,
            state: Mutex::default(),
        })
    }

    /// The connection; makes it if there is none, once for all who wait.
    pub(super) async fn get(self: &Arc<Self>) -> Result<Live, NoConnection> {
        let dialling = {
            let mut state = lock(&self.state);
            if let Some(live) = &state.live {
                return Ok(live.clone());
            }
            match (&state.dialling, &state.failed) {
                (Some(dialling), _) => dialling.clone(),
                (None, Some((at, why))) if at.elapsed() < HOLD_OFF => return Err(why.clone()),
                (None, _) => {
                    let dialling = self.dialled(GENERATIONS.fetch_add(1, Ordering::Relaxed));
                    state.dialling = Some(dialling.clone());
                    dialling
                }
            }
        };
        dialling.await
    }

    fn dialled(self: &Arc<Self>, generation: u64) -> Dialling {
        let lane = Arc::clone(self);
        // A task of its own: whoever asked first may go away.
        let task = tokio::spawn(async move {
            let connected = lane.dial.connect(&lane.address, lane.purpose, generation).await;
            let connected = connected.map(|connection| Live {
                connection,
                generation,
            });
            let mut state = lock(&lane.state);
            state.dialling = None;
            match &connected {
                Ok(live) => (state.live, state.failed) = (Some(live.clone()), None),
                Err(why) => state.failed = Some((Monotonic::now(), why.clone())),
            }
            connected
        });
        task.map(|ended| ended.unwrap_or_else(|_| Err(NoConnection::Unreachable("stopping".to_owned()))))
            .boxed()
            .shared()
    }

    /// This connection is not to be used any more; those who wait for its answers still may get them.
    pub(super) fn retire(&self, generation: u64) {
        let mut state = lock(&self.state);
        if state
            .live
            .as_ref()
            .is_some_and(|live| live.generation == generation)
        {
            state.live = None;
        }
    }

    /// None of its connections is to be used any more.
    pub(super) fn retire_any(&self) {
        lock(&self.state).live = None;
    }

    /// Whether this connection is the one in use.
    pub(super) fn is_live(&self, generation: u64) -> bool {
        let state = lock(&self.state);
        state
            .live
            .as_ref()
            .is_some_and(|live| live.generation == generation)
    }

    /// Whether PING is answered by PONG.
    pub(super) async fn is_in_step(self: &Arc<Self>) -> bool {
        match self.send("ping", &redis::cmd("PING"), false, &mut false).await {
            Ok(Value::SimpleString(pong)) => pong == "PONG",
            _ => false,
        }
    }

    /// Sends a command, after ASKING if asked to, and waits for its answer. `sent` is set as soon as it may be sent.
    pub(super) async fn send(
        self: &Arc<Self>,
        what: &'static str,
        command: &Cmd,
        asking: bool,
        sent: &mut bool,
    ) -> Result<Value, Fault> {
        let mut live = self.get().await.map_err(Fault::NoConnection)?;
        *sent = true;
        let answered = if asking {
            let mut pipeline = redis::pipe();
            pipeline.cmd("ASKING").add_command(command.clone());
            let answers = live.connection.send_packed_commands(&pipeline, 0, 2).await;
            answers.map(|mut answers| answers.pop().unwrap_or(Value::Nil))
        } else {
            live.connection.send_packed_command(command).await
        };
        answer(answered).map_err(|error| {
            let fault = Fault::of(what, &error);
            if matches!(fault, Fault::Lost(_) | Fault::ReadOnly(_)) {
                self.retire(live.generation);
            }
            fault
        })
    }
}

/// A server of ours.
pub(super) struct Node {
    pub(super) address: Address,
    pub(super) commands: Arc<Lane>,
    pub(super) pushes: Arc<Lane>,
    durable: OnceLock<Durable>,
    dial: SharedDial,
}

impl Node {
    pub(super) fn new(dial: &SharedDial, address: Address) -> Arc<Self> {
        let lane = |purpose| Lane::new(Arc::clone(dial), address.clone(), purpose);
        Arc::new(Self {
            commands: lane(Purpose::Commands),
            pushes: lane(Purpose::Pushes),
            durable: OnceLock::new(),
            dial: Arc::clone(dial),
            address,
        })
    }

    /// Where commands go that are acknowledged only when replicas have them.
    pub(super) fn durable(&self) -> &Durable {
        self.durable
            .get_or_init(|| Durable::new(&self.dial, &self.address))
    }
}
