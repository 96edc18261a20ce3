//! The addresses of one kind of service and the connections to them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tablemate_telemetry::{ClientTrace, client_trace_layer};
use tonic::transport::Endpoint;
use tower::Layer as _;

use crate::v1::matchmaking_service_client::MatchmakingServiceClient;
use crate::v1::player_service_client::PlayerServiceClient;
use crate::v1::result_service_client::ResultServiceClient;
use crate::v1::session_service_client::SessionServiceClient;
use crate::{Config, Error};

/// How long an address that could not be reached is passed over while others can.
const DOWN: Duration = Duration::from_secs(1);

/// A connection whose calls pass the caller's trace context on.
pub(crate) type Channel = ClientTrace<tonic::transport::Channel>;

fn connect_lazy(endpoint: &Endpoint) -> Channel {
    client_trace_layer().layer(endpoint.connect_lazy())
}

/// One connection for calls, with the stubs that use it.
#[derive(Debug)]
pub(crate) struct Slot {
    address: Arc<Address>,
    pub(crate) session: SessionServiceClient<Channel>,
    pub(crate) player: PlayerServiceClient<Channel>,
    pub(crate) matchmaking: MatchmakingServiceClient<Channel>,
}

/// One address.
#[derive(Debug)]
pub(crate) struct Address {
    endpoint: Endpoint,
    /// Milliseconds after the pool's birth until which the address is passed over.
    down_until_ms: AtomicU64,
    streams: Mutex<Vec<StreamConnection>>,
}

/// A connection that streams share. The number of its leases is the number of streams.
#[derive(Debug)]
struct StreamConnection {
    channel: Channel,
    lease: Lease,
}

/// Keeps a place on a shared connection while a stream is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lease(Arc<()>);

/// The addresses of one kind of service.
#[derive(Debug)]
pub(crate) struct Pool {
    born: Instant,
    slots: Vec<Slot>,
    addresses: Vec<Arc<Address>>,
    next: AtomicUsize,
    streams_per_connection: usize,
}

impl Pool {
    pub(crate) fn new(addresses: &[String], config: &Config) -> Result<Pool, Error> {
        if addresses.is_empty() {
            return Err(Error::NoAddress);
        }
        let addresses = addresses
            .iter()
            .map(|address| Address::new(address, config).map(Arc::new))
            .collect::<Result<Vec<_>, Error>>()?;
        // Neighbours are of different addresses, so that the next attempt of a call goes to another replica.
        let slots = (0..config.connections.max(1))
            .flat_map(|_| &addresses)
            .map(Slot::new)
            .collect();
        Ok(Pool {
            born: Instant::now(),
            slots,
            addresses,
            // Clients that start together do not all begin with the first replica.
            next: AtomicUsize::new(rand::random::<u32>() as usize),
            streams_per_connection: config.streams_per_connection.max(1),
        })
    }

    /// A ticket for a call; each of its attempts picks with it.
    pub(crate) fn turn(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The connection for an attempt: the next in turn whose address is not known to be down, else the next in turn.
    pub(crate) fn slot(&self, turn: usize) -> Option<&Slot> {
        let count = self.slots.len();
        let mut order = (0..count).map(|step| &self.slots[turn.wrapping_add(step) % count]);
        let first = order.next()?;
        if !self.is_down(&first.address) {
            return Some(first);
        }
        Some(order.find(|slot| !self.is_down(&slot.address)).unwrap_or(first))
    }

    /// A connection for a stream, by the same turns, and the lease to hold while the stream is open.
    pub(crate) fn stream(&self, turn: usize) -> Option<(Arc<Address>, Channel, Lease)> {
        let count = self.addresses.len();
        let mut order = (0..count).map(|step| &self.addresses[turn.wrapping_add(step) % count]);
        let first = order.next()?;
        let address = if self.is_down(first) {
            order.find(|address| !self.is_down(address)).unwrap_or(first)
        } else {
            first
        };
        let (channel, lease) = address.stream(self.streams_per_connection);
        Some((address.clone(), channel, lease))
    }

    /// Remembers that an address could not be reached.
    pub(crate) fn mark_down(&self, address: &Address) {
        let until = self.born.elapsed().saturating_add(DOWN);
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        address.down_until_ms.store(until, Ordering::Relaxed);
    }

    fn is_down(&self, address: &Address) -> bool {
        let until = address.down_until_ms.load(Ordering::Relaxed);
        until != 0 && self.born.elapsed().as_millis() < u128::from(until)
    }
}

impl Slot {
    fn new(address: &Arc<Address>) -> Slot {
        let channel = connect_lazy(&address.endpoint);
        Slot {
            address: address.clone(),
            session: SessionServiceClient::new(channel.clone()),
            player: PlayerServiceClient::new(channel.clone()),
            matchmaking: MatchmakingServiceClient::new(channel),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }
}

impl Address {
    fn new(text: &str, config: &Config) -> Result<Address, Error> {
        let refused = |reason: String| Error::Address {
            address: text.to_owned(),
            reason,
        };
        let uri = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let endpoint = Endpoint::from_shared(uri).map_err(|error| refused(error.to_string()))?;
        if endpoint.uri().scheme_str() != Some("http") {
            return Err(refused("only http:// is supported".to_owned()));
        }
        if endpoint.uri().host().is_none_or(str::is_empty) {
            return Err(refused("no host".to_owned()));
        }
        let endpoint = endpoint
            .connect_timeout(Duration::from_secs(2).min(config.attempt_timeout))
            .timeout(config.attempt_timeout)
            // Without these a replica that vanished without a word would be noticed only by the silence of streams.
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10));
        Ok(Address {
            endpoint,
            down_until_ms: AtomicU64::new(0),
            streams: Mutex::default(),
        })
    }

    fn stream(&self, limit: usize) -> (Channel, Lease) {
        let mut connections = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let free = connections
            .iter()
            .find(|connection| Arc::strong_count(&connection.lease.0) <= limit);
        if let Some(connection) = free {
            return (connection.channel.clone(), connection.lease.clone());
        }
        let connection = StreamConnection {
            channel: connect_lazy(&self.endpoint),
            lease: Lease::default(),
        };
        let taken = (connection.channel.clone(), connection.lease.clone());
        connections.push(connection);
        taken
    }
}

/// Opens a stub for results on a connection for streams.
pub(crate) fn result_stub(channel: Channel) -> ResultServiceClient<Channel> {
    ResultServiceClient::new(channel)
}
