//! From routes to a listening server: layers, health, reflection, limits.

mod guard;

use std::future::Future;
use std::time::Duration;

use tablemate_protocol::FILE_DESCRIPTOR_SET;
use tokio::net::TcpListener;
use tonic::service::{Routes, RoutesBuilder};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

pub use guard::{Guard, GuardLayer};

/// The largest request: far more than any valid one needs.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// How many calls one connection may have open at once, streams included.
const STREAMS_A_CONNECTION_MAX: u32 = 4_096;

/// How often a silent connection is asked whether it is there, and how long it may take to say so.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// Serves routes on a bound listener until `shutdown`; then calls in flight end. An idle connection can keep that from
/// ending for ever, so callers bound it by a time.
///
/// # Errors
/// When the transport fails.
pub async fn serve(
    listener: TcpListener,
    routes: Routes,
    guard: GuardLayer,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), tonic::transport::Error> {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder()
        .max_concurrent_streams(Some(STREAMS_A_CONNECTION_MAX))
        // A peer that vanished must not hold its streams open.
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .layer(tablemate_telemetry::server_trace_layer())
        .layer(guard)
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, shutdown)
        .await
}

/// Adds reflection of these services (full names), in both versions that clients ask for.
///
/// # Errors
/// When the descriptors cannot be read: a defect of the build.
pub fn add_reflection(
    routes: &mut RoutesBuilder,
    services: &[&str],
) -> Result<(), tonic_reflection::server::Error> {
    let builder = || {
        let all = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // So that tools can show the details of errors.
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET);
        services
            .iter()
            .chain(&["grpc.health.v1.Health"])
            .fold(all, |builder, service| builder.with_service_name(*service))
    };
    routes.add_service(builder().build_v1()?);
    routes.add_service(builder().build_v1alpha()?);
    Ok(())
}
