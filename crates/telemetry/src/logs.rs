//! The log lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, Layer, registry::LookupSpan};

use crate::config::{Config, Error, LogFormat};

/// The layer that writes log lines. Its filter is its own: what is exported does not depend on what is logged.
pub(crate) fn layer<S>(config: &Config) -> Result<Box<dyn Layer<S> + Send + Sync>, Error>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let filter = EnvFilter::builder()
        .parse(&config.log_filter)
        .map_err(|error| Error::LogFilter {
            filter: config.log_filter.clone(),
            reason: error.to_string(),
        })?;
    let pretty = match config.log_format {
        LogFormat::Pretty => true,
        LogFormat::Json => false,
        LogFormat::Auto => std::io::stderr().is_terminal(),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    Ok(if pretty {
        let no_colours = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colours = std::io::stderr().is_terminal() && !no_colours;
        lines.with_ansi(colours).with_filter(filter).boxed()
    } else {
        lines
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .with_filter(filter)
            .boxed()
    })
}
