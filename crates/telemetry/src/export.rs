//! The OTLP exporters, on a runtime of their own.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::runtime::Runtime;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, registry::LookupSpan};

use crate::config::{Config, Error, check_endpoint};
use crate::context;

/// How long each of traces and metrics may take for its last export.
const LAST_EXPORT_MAX: Duration = Duration::from_secs(5);

/// How long the exporters' own runtime may take to end.
const RUNTIME_END_MAX: Duration = Duration::from_secs(1);

/// The providers of traces and metrics. Their network I/O runs on a runtime of its own, one thread, so that the last
/// export still has one when the service's runtime has ended, and no busy service starves it.
#[derive(Debug)]
pub(crate) struct Exporters {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    runtime: Runtime,
}

impl Exporters {
    /// The exporters for `config`; none when it names no endpoint.
    pub(crate) fn new(config: &Config) -> Result<Option<Self>, Error> {
        if !(0.0..=1.0).contains(&config.sample_ratio) {
            return Err(Error::SampleRatio(config.sample_ratio));
        }
        let Some(endpoint) = &config.otlp_endpoint else {
            return Ok(None);
        };
        check_endpoint(endpoint)?;

        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("telemetry")
            .enable_all()
            .build()?;
        // The exporters' channels start their tasks on the runtime they are made in.
        let entered = runtime.enter();
        let spans = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .build()?;
        let metrics = MetricExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .build()?;
        drop(entered);

        let resource = Resource::builder()
            .with_service_name(config.service_name)
            .with_attribute(KeyValue::new("service.version", config.service_version))
            .build();
        // A caller's decision holds; only traces that begin here are thinned out.
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(config.sample_ratio)));
        let tracers = SdkTracerProvider::builder()
            .with_batch_exporter(spans)
            .with_sampler(sampler)
            .with_resource(resource.clone())
            .build();
        let meters = SdkMeterProvider::builder()
            .with_periodic_exporter(metrics)
            .with_resource(resource)
            .build();
        Ok(Some(Self {
            tracers,
            meters,
            runtime,
        }))
    }

    /// The layer that turns Tablemate's own spans into exported ones. Those of libraries stay out: they would be
    /// most of the volume, and the exporter's own would feed themselves. Log lines stay out too: what they say is for
    /// the log, and a line at level DEBUG costs nothing as long as no log wants it.
    pub(crate) fn trace_layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.tracers.tracer("tablemate"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_filter(
                filter_fn(|metadata| {
                    metadata.is_span()
                        && metadata.target().starts_with("tablemate")
                        && *metadata.level() <= Level::DEBUG
                })
                .with_max_level_hint(LevelFilter::DEBUG),
            )
    }

    /// Makes the meters the process's own and lets the layers see that there is somebody to tell.
    pub(crate) fn install(&self) {
        global::set_meter_provider(self.meters.clone());
        context::set_exporting();
    }

    /// The last export, bounded in time. Blocks: never call it on a thread that runs async tasks.
    pub(crate) fn shutdown(self) {
        // A collector that is gone must not keep a service from stopping; the SDK has logged what was lost.
        let _ = self.tracers.shutdown_with_timeout(LAST_EXPORT_MAX);
        let _ = self.meters.shutdown_with_timeout(LAST_EXPORT_MAX);
        self.runtime.shutdown_timeout(RUNTIME_END_MAX);
    }
}
