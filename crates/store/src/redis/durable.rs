//! Commits that count only when replicas have them: many commands and one WAIT in one trip, on connections of their own.
//!
//! WAIT speaks of what its own connection wrote, and holds up everything behind it. So commands and their WAIT travel
//! together, on a few connections that do nothing else, and a batch is never sent a second time: when its connection
//! breaks, or too few replicas answer, its commands may have been done or not.

use std::sync::Arc;

use redis::{Cmd, Value};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::dial::{Purpose, SharedDial};
use super::fault::Fault;
use super::node::Lane;
use super::url::{Address, RedisSettings};

/// How many batches can wait for replicas at the same time.
const LANES: usize = 3;
/// How many commands wait for one WAIT at most.
const BATCH_MAX: usize = 128;
/// How many commands wait to be sent before callers wait themselves.
const QUEUE_MAX: usize = 1_024;

/// A command on its way.
struct Job {
    what: &'static str,
    command: Cmd,
    asking: bool,
    /// A key of the command's slot, see [`batch`].
    mark: Vec<u8>,
    reply: oneshot::Sender<Result<Value, Fault>>,
}

/// The connections of one server.
pub(super) struct Durable {
    queue: mpsc::Sender<Job>,
}

impl Durable {
    pub(super) fn new(dial: &SharedDial, address: &Address) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..LANES {
            let lane = Lane::new(Arc::clone(dial), address.clone(), Purpose::Waits);
            // Ends with the queue.
            tokio::spawn(work(lane, Arc::clone(&jobs), dial.settings));
        }
        Self { queue }
    }

    /// Sends a command and waits until enough replicas have what it did. `sent` is set as soon as it may be sent.
    pub(super) async fn send(
        &self,
        what: &'static str,
        command: &Cmd,
        asking: bool,
        mark: &[u8],
        sent: &mut bool,
    ) -> Result<Value, Fault> {
        let (reply, answer) = oneshot::channel();
        let job = Job {
            what,
            command: command.clone(),
            asking,
            mark: mark.to_vec(),
            reply,
        };
        let ended = || Fault::Lost(format!("{what}: the connection ended"));
        // Once it is in the queue it may be sent at any moment.
        *sent = true;
        self.queue.send(job).await.map_err(|_| ended())?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

async fn work(lane: Arc<Lane>, jobs: Arc<Mutex<mpsc::Receiver<Job>>>, settings: RedisSettings) {
    let mut taken = Vec::with_capacity(BATCH_MAX);
    loop {
        // Whoever is free takes what has come together meanwhile.
        let count = jobs.lock().await.recv_many(&mut taken, BATCH_MAX).await;
        if count == 0 {
            return;
        }
        // Whose caller has gone away is not sent.
        taken.retain(|job| !job.reply.is_closed());
        if !taken.is_empty() {
            batch(&lane, &mut taken, &settings).await;
        }
    }
}

/// Sends jobs and their WAIT, and answers them all.
async fn batch(lane: &Arc<Lane>, jobs: &mut Vec<Job>, settings: &RedisSettings) {
    let mut live = match lane.get().await {
        Ok(live) => live,
        Err(none) => {
            for job in jobs.drain(..) {
                let _ = job.reply.send(Err(Fault::NoConnection(none.clone())));
            }
            return;
        }
    };
    let mut pipeline = redis::pipe();
    let mut count = 2;
    for job in jobs.iter() {
        if job.asking {
            pipeline.cmd("ASKING");
            count += 1;
        }
        pipeline.add_command(job.command.clone());
        count += 1;
    }
    // A write of this connection behind them all: a commit that was found to be done already, by another connection,
    // wrote nothing here, and WAIT alone would not wait for it.
    let mark = jobs.last().map(|job| job.mark.clone()).unwrap_or_default();
    pipeline.cmd("SET").arg(mark).arg("").arg("PX").arg(1_000);
    pipeline.cmd("WAIT").arg(settings.min_replicas).arg(
        u64::try_from(settings.wait.as_millis())
            .unwrap_or(u64::MAX)
            .max(1),
    );
    let mut answers = match live.connection.send_packed_commands(&pipeline, 0, count).await {
        Ok(answers) => answers.into_iter(),
        Err(error) => {
            lane.retire(live.generation);
            for job in jobs.drain(..) {
                let _ = job.reply.send(Err(Fault::of(job.what, &error)));
            }
            return;
        }
    };
    let confirmed = confirmations(answers.next_back(), answers.next_back(), settings);
    if confirmed.is_err() {
        // A server that lost its role says so here.
        lane.retire(live.generation);
    }
    for job in jobs.drain(..) {
        if job.asking {
            answers.next();
        }
        let answered = match answers.next().unwrap_or(Value::Nil).extract_error() {
            Err(error) => Err(Fault::of(job.what, &error)),
            Ok(value) => match &confirmed {
                Ok(()) => Ok(value),
                Err(why) => Err(Fault::Unconfirmed(format!("{}: {why}", job.what))),
            },
        };
        let _ = job.reply.send(answered);
    }
}

/// Whether enough replicas have it.
fn confirmations(wait: Option<Value>, mark: Option<Value>, settings: &RedisSettings) -> Result<(), String> {
    let wanted = settings.min_replicas;
    match (wait, mark.map(Value::extract_error)) {
        (Some(Value::Int(got)), Some(Ok(_))) if got >= i64::from(wanted) => Ok(()),
        (Some(Value::Int(got)), Some(Ok(_))) => Err(format!(
            "{got} of {wanted} replicas confirmed it within {} ms",
            settings.wait.as_millis()
        )),
        _ => Err("no replica could be asked whether it has it".to_owned()),
    }
}
