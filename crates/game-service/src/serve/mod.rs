//! From routes to a listening server: layers, health, reflection, limits.

mod guard;

use tablemate_protocol::FILE_DESCRIPTOR_SET;
use tablemate_serve::Life;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::{Routes, RoutesBuilder};
use tower::ServiceBuilder;

pub use guard::{Guard, GuardLayer};

/// The largest request: far more than any valid one needs.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Serves routes on a bound listener until `stop`, then ends the connections within their grace. Dropping the future
/// cuts them off.
pub async fn serve(
    listener: TcpListener,
    routes: Routes,
    guard: GuardLayer,
    life: Life,
    stop: CancellationToken,
) {
    let service = ServiceBuilder::new()
        .layer(tablemate_telemetry::server_trace_layer())
        .layer(guard)
        .service(routes.prepare());
    tablemate_serve::serve(listener, service, life, stop).await;
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
