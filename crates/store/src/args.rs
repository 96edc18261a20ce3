//! The flags about the store that binaries share.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;

use crate::StoreUrl;

/// How long Redis is waited for; flatten it into a binary's arguments. What is given here goes before what the URL says.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Redis")]
pub struct RedisArgs {
    /// How long making a connection to Redis may take (500 when nothing is said; in URLs connect_ms)
    #[arg(long, env = "TABLEMATE_REDIS_CONNECT_MS", value_name = "MS")]
    pub redis_connect_ms: Option<String>,

    /// How long one answer of Redis may take (500; in URLs command_ms)
    #[arg(long, env = "TABLEMATE_REDIS_COMMAND_MS", value_name = "MS")]
    pub redis_command_ms: Option<String>,

    /// How long one operation may take with all its tries, fail-overs included (2000; in URLs total_ms)
    #[arg(long, env = "TABLEMATE_REDIS_TOTAL_MS", value_name = "MS")]
    pub redis_total_ms: Option<String>,

    /// How many replicas must have a change before it is acknowledged (0; in URLs min_replicas)
    #[arg(long, env = "TABLEMATE_REDIS_MIN_REPLICAS", value_name = "NUMBER")]
    pub redis_min_replicas: Option<String>,

    /// How long these replicas are waited for (500; in URLs wait_ms)
    #[arg(long, env = "TABLEMATE_REDIS_WAIT_MS", value_name = "MS")]
    pub redis_wait_ms: Option<String>,
}

impl RedisArgs {
    /// The store that `--store` and these flags mean; a line for every bad value goes to `bad`.
    pub fn store(&self, store: &str, bad: &mut Vec<String>) -> StoreUrl {
        let mut url = store.parse().unwrap_or_else(|error| {
            // Without the URL itself: there may be a password in it.
            bad.push(format!("--store: {error}"));
            StoreUrl::Memory
        });
        let mut settings = crate::RedisSettings::default();
        let target = match &mut url {
            StoreUrl::Redis(url) => &mut url.settings,
            // Read all the same, so that what is wrong is told.
            StoreUrl::Memory => &mut settings,
        };
        for (name, text) in [
            ("connect_ms", &self.redis_connect_ms),
            ("command_ms", &self.redis_command_ms),
            ("total_ms", &self.redis_total_ms),
            ("min_replicas", &self.redis_min_replicas),
            ("wait_ms", &self.redis_wait_ms),
        ] {
            if let Some(text) = text
                && let Err(why) = target.set(name, text)
            {
                bad.push(format!("--redis-{} {text:?}: {why}", name.replace('_', "-")));
            }
        }
        url
    }
}

/// Reads a [`StoreUrl`] from the command line without ever repeating it in an error.
#[derive(Clone, Copy, Debug)]
pub struct StoreUrlParser;

impl TypedValueParser for StoreUrlParser {
    type Value = StoreUrl;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<StoreUrl, clap::Error> {
        let refused = |why: String| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("--store: {why}\n")).with_cmd(command)
        };
        let text = value
            .to_str()
            .ok_or_else(|| refused("it is not UTF-8".to_owned()))?;
        text.parse()
            .map_err(|error: crate::StoreError| refused(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_go_before_the_url_and_bad_ones_are_all_told() {
        let args = RedisArgs {
            redis_total_ms: Some("900".to_owned()),
            redis_min_replicas: Some("2".to_owned()),
            ..RedisArgs::default()
        };
        let mut bad = Vec::new();
        let StoreUrl::Redis(url) = args.store("redis://a/?total_ms=100&command_ms=70", &mut bad) else {
            panic!("a Redis")
        };
        assert_eq!(bad, Vec::<String>::new());
        let settings = url.settings;
        assert_eq!(
            (settings.total.as_millis(), settings.command.as_millis()),
            (900, 70)
        );
        assert_eq!(settings.min_replicas, 2);
        let args = RedisArgs {
            redis_total_ms: Some("0".to_owned()),
            redis_wait_ms: Some("soon".to_owned()),
            ..RedisArgs::default()
        };
        args.store("redis://u:secret@/", &mut bad);
        assert_eq!(bad.len(), 3, "{bad:?}");
        assert!(!format!("{bad:?}").contains("secret"));
    }
}
