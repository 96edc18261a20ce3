//! What a process says about its logs, traces and metrics.

use clap::ValueEnum;
use http::Uri;
use thiserror::Error as ThisError;

/// The log filter when nothing is said: everything from INFO up, save the exporters' chatter.
pub const DEFAULT_LOG_FILTER: &str = "info,opentelemetry=warn";

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// Pretty when standard error is a terminal, else JSON
    #[default]
    Auto,
    /// For people: lines with colours (none when NO_COLOR is set)
    Pretty,
    /// For machines: one JSON object a line
    Json,
}

/// What [`init`](crate::init) sets up.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// OpenTelemetry's `service.name`, such as `tablemate-game`.
    pub service_name: &'static str,
    /// OpenTelemetry's `service.version`.
    pub service_version: &'static str,
    /// Which log lines are written, as `tracing`'s directives: `info`, `warn,tablemate=debug`, …
    pub log_filter: String,
    /// How a log line looks.
    pub log_format: LogFormat,
    /// Where traces and metrics go by OTLP over gRPC: `http://host:4317`. None: nowhere.
    pub otlp_endpoint: Option<String>,
    /// The share of traces begun in this process that is exported, 0.0 to 1.0. A trace that a caller began is
    /// exported when the caller exports it.
    pub sample_ratio: f64,
}

impl Config {
    /// Logs from INFO up, nothing exported.
    #[must_use]
    pub fn new(service_name: &'static str) -> Self {
        Self {
            service_name,
            service_version: env!("CARGO_PKG_VERSION"),
            log_filter: DEFAULT_LOG_FILTER.to_owned(),
            log_format: LogFormat::Auto,
            otlp_endpoint: None,
            sample_ratio: 1.0,
        }
    }
}

/// Why telemetry could not be set up. The texts never repeat an endpoint: it may hold a password.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The log filter cannot be read.
    #[error("log filter {filter:?}: {reason}")]
    LogFilter {
        /// The filter as it was given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The OTLP endpoint cannot be used.
    #[error("OTLP endpoint: {0}")]
    Endpoint(&'static str),
    /// The sample ratio is no number from 0 to 1.
    #[error("sample ratio {0}: not from 0 to 1")]
    SampleRatio(f64),
    /// Logs were set up before in this process.
    #[error("telemetry was set up before in this process")]
    AlreadySet,
    /// A thread or a runtime could not be started.
    #[error("starting a runtime: {0}")]
    Runtime(#[from] std::io::Error),
    /// An OTLP exporter could not be made.
    #[error("OTLP exporter: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Checks an OTLP endpoint before the exporter sees it, so that a typing error stops the start, not the export.
pub(crate) fn check_endpoint(endpoint: &str) -> Result<(), Error> {
    let uri: Uri = endpoint
        .parse()
        .map_err(|_| Error::Endpoint("not a URL such as http://host:4317"))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            return Err(Error::Endpoint(
                "https is not built in; use http to a collector nearby",
            ));
        }
        _ => return Err(Error::Endpoint("not a URL that starts with http://")),
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(Error::Endpoint("no host in it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_checked_and_never_repeated() {
        assert!(check_endpoint("http://127.0.0.1:4317").is_ok());
        assert!(check_endpoint("http://collector.observability.svc:4317/").is_ok());
        for wrong in [
            "",
            "collector:4317",
            "https://u:secret@collector:4317",
            "ftp://collector",
            "http://",
        ] {
            let error = check_endpoint(wrong).unwrap_err();
            assert!(matches!(error, Error::Endpoint(_)), "{wrong}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
