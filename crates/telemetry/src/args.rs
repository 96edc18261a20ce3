//! The flags that every binary has.

use clap::Args;

use crate::config::{Config, DEFAULT_LOG_FILTER, LogFormat};

/// The usual variable of OpenTelemetry, heard when neither the flag nor `TABLEMATE_OTLP_ENDPOINT` is there.
const OTEL_ENDPOINT_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Logs, traces and metrics; flatten it into a binary's arguments.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Logs, traces and metrics")]
pub struct TelemetryArgs {
    /// Which log lines are written: a level (error, warn, info, debug, trace) or directives such as
    /// "warn,tablemate=debug"
    #[arg(long, global = true, env = "TABLEMATE_LOG", value_name = "FILTER")]
    pub log: Option<String>,

    /// How log lines look; auto: pretty on a terminal, else json
    #[arg(
        long,
        global = true,
        env = "TABLEMATE_LOG_FORMAT",
        value_enum,
        default_value_t
    )]
    pub log_format: LogFormat,

    /// Where traces and metrics go by OTLP over gRPC, such as http://127.0.0.1:4317; nowhere when not given.
    /// OTEL_EXPORTER_OTLP_ENDPOINT is heard too
    #[arg(long, global = true, env = "TABLEMATE_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,

    /// The share of the traces begun here that is exported, 0 to 1; a caller's trace is exported when the caller's is
    #[arg(
        long,
        global = true,
        env = "TABLEMATE_OTLP_SAMPLE_RATIO",
        value_name = "RATIO",
        default_value_t = 1.0
    )]
    pub otlp_sample_ratio: f64,
}

impl TelemetryArgs {
    /// The configuration of the process that calls itself `service_name`, with INFO as its usual log level.
    #[must_use]
    pub fn config(&self, service_name: &'static str) -> Config {
        self.config_with_log(service_name, DEFAULT_LOG_FILTER)
    }

    /// As [`config`](Self::config), with another filter when the caller named none: a program that draws on the
    /// terminal wants fewer lines there.
    #[must_use]
    pub fn config_with_log(&self, service_name: &'static str, default_filter: &str) -> Config {
        Config {
            log_filter: given(self.log.clone()).unwrap_or_else(|| default_filter.to_owned()),
            log_format: self.log_format,
            otlp_endpoint: given(self.otlp_endpoint.clone())
                .or_else(|| given(std::env::var(OTEL_ENDPOINT_VARIABLE).ok())),
            sample_ratio: self.otlp_sample_ratio,
            ..Config::new(service_name)
        }
    }
}

/// An empty variable is as good as none: container files often leave one.
fn given(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Binary {
        #[command(flatten)]
        telemetry: TelemetryArgs,
    }

    fn config(flags: &[&str]) -> Config {
        let all = std::iter::once("binary").chain(flags.iter().copied());
        Binary::try_parse_from(all).unwrap().telemetry.config("binary")
    }

    #[test]
    fn nothing_said_means_info_and_no_export() {
        assert_eq!(config(&[]), Config::new("binary"));
    }

    #[test]
    fn flags_are_taken() {
        let config = config(&[
            "--log",
            "debug",
            "--log-format=json",
            "--otlp-endpoint=http://127.0.0.1:1",
            "--otlp-sample-ratio=0.25",
        ]);
        assert_eq!(config.log_filter, "debug");
        assert_eq!(config.log_format, LogFormat::Json);
        assert_eq!(config.otlp_endpoint.as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(config.sample_ratio, 0.25);
    }

    #[test]
    fn an_empty_endpoint_is_none() {
        assert_eq!(config(&["--otlp-endpoint", " "]).otlp_endpoint, None);
    }
}
