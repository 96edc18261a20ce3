//! What a Redis URL says: where the servers are and in which shape, who we are to them, how long we wait for them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Result, StoreError};

/// The port of a Redis when nothing is said.
const REDIS_PORT: u16 = 6_379;
/// The port of a Sentinel when nothing is said.
const SENTINEL_PORT: u16 = 26_379;
/// The longest limit that can be set.
const LIMIT_MAX: Duration = Duration::from_secs(60);
/// The most replicas that a commit can wait for.
const REPLICAS_MAX: u8 = 16;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    pub(super) fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }

    /// `host:port`, `[v6]:port`, or what Redis writes for a v6 address: `v6:port`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(Self::new(host, port.parse().ok()?))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// How the servers are arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One server.
    Single(Address),
    /// A master that Sentinels watch over: whom they call `service` now.
    Sentinel {
        sentinels: Vec<Address>,
        service: String,
    },
    /// A cluster, known by some of its nodes.
    Cluster(Vec<Address>),
}

/// Who we are to a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

impl fmt::Debug for Account {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Which certificates count, and which one we show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tls {
    /// Certificates of authorities in PEM; the system's own when nothing is said.
    pub(super) ca_file: Option<PathBuf>,
    /// Our certificate and its key in PEM.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// How long Redis is waited for, and for how many replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedisSettings {
    /// How long making a connection may take.
    pub connect: Duration,
    /// How long one answer may take.
    pub command: Duration,
    /// How long one operation may take with all its tries.
    pub total: Duration,
    /// How many replicas must have a change before it is acknowledged; 0: none is waited for.
    pub min_replicas: u8,
    /// How long they are waited for.
    pub wait: Duration,
}

impl Default for RedisSettings {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(500),
            command: Duration::from_millis(500),
            total: Duration::from_secs(2),
            min_replicas: 0,
            wait: Duration::from_millis(500),
        }
    }
}

impl RedisSettings {
    /// Sets what is called `name` in URLs to `text`.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub fn set(&mut self, name: &str, text: &str) -> std::result::Result<(), String> {
        let limit = || match text.parse().map(Duration::from_millis) {
            Ok(limit) if limit >= Duration::from_millis(1) && limit <= LIMIT_MAX => Ok(limit),
            _ => Err(format!(
                "{name} is not a number of milliseconds from 1 to {}",
                LIMIT_MAX.as_millis()
            )),
        };
        match name {
            "connect_ms" => self.connect = limit()?,
            "command_ms" => self.command = limit()?,
            "total_ms" => self.total = limit()?,
            "wait_ms" => self.wait = limit()?,
            "min_replicas" => match text.parse() {
                Ok(count) if count <= REPLICAS_MAX => self.min_replicas = count,
                _ => return Err(format!("{name} is not a number from 0 to {REPLICAS_MAX}")),
            },
            _ => return Err("there is no parameter of this name".to_owned()),
        }
        Ok(())
    }
}

/// A Redis URL, taken apart. It shows itself without secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    pub(super) shape: Shape,
    pub(super) tls: Option<Tls>,
    pub(super) account: Account,
    pub(super) sentinel_account: Account,
    pub(super) database: u32,
    /// Limits.
    pub settings: RedisSettings,
}

impl RedisUrl {
    /// Whether a URL of this scheme is one of ours.
    pub(crate) fn knows(url: &str) -> bool {
        url.starts_with("redis:")
            || url.starts_with("rediss:")
            || url.starts_with("redis+")
            || url.starts_with("rediss+")
    }
}

fn bad(why: impl Into<String>) -> StoreError {
    StoreError::BadUrl { why: why.into() }
}

/// What `%` sequences stand for. No part of the text is repeated in an error: it may be a password.
fn decoded(what: &str, text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(bad(format!(
                "{what} holds a % that two hexadecimal digits do not follow (write % as %25)"
            )));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    String::from_utf8(bytes).map_err(|_| bad(format!("{what} is not UTF-8")))
}

fn account(userinfo: &str) -> Result<Account> {
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let part = |what, text: &str| match text {
        "" => Ok(None),
        text => decoded(what, text).map(Some),
    };
    Ok(Account {
        user: part("the user's name", user)?,
        password: part("the password", password)?,
    })
}

fn address(text: &str, default_port: u16) -> Result<Address> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest
                .split_once(']')
                .ok_or_else(|| bad("an address begins with [ and has no ]"))?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some("")))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("")),
        },
    };
    let well_formed = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._:%".contains(&byte));
    let port = match port {
        Some("") => Some(default_port),
        Some(port) => port.parse().ok().filter(|port| *port != 0),
        None => None,
    };
    match port {
        Some(port) if well_formed => Ok(Address::new(host, port)),
        _ => Err(bad(
            "expected HOST or HOST:PORT (several with commas between them where the shape allows it)",
        )),
    }
}

impl FromStr for RedisUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| bad("it has no :// after its scheme"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // A password may hold a slash or an at sign only written as %2F and %40, but people forget it: then the URL is
        // refused for its address.
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (userinfo, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let account = account(userinfo)?;
        let addresses = |port| {
            hosts
                .split(',')
                .map(|text| address(text, port))
                .collect::<Result<Vec<_>>>()
        };
        let (tls, kind) = match scheme.strip_prefix("rediss") {
            Some(kind) => (Some(Tls::default()), kind),
            None => (None, scheme.strip_prefix("redis").unwrap_or("+?")),
        };
        let mut path = path.split('/');
        let mut segment = || path.next().unwrap_or_default();
        let shape = match kind {
            "" => Shape::Single(address(hosts, REDIS_PORT)?),
            "+sentinel" => {
                let service = decoded("the service", segment())?;
                if service.is_empty() {
                    return Err(bad(
                        "it names no service: redis+sentinel://HOST:PORT,HOST:PORT/SERVICE",
                    ));
                }
                Shape::Sentinel {
                    sentinels: addresses(SENTINEL_PORT)?,
                    service,
                }
            }
            "+cluster" => Shape::Cluster(addresses(REDIS_PORT)?),
            _ => {
                return Err(bad(
                    "its scheme is none of redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster",
                ));
            }
        };
        let database = match segment() {
            "" => 0,
            _ if matches!(shape, Shape::Cluster(_)) => return Err(bad("a cluster has no database numbers")),
            text => text
                .parse()
                .map_err(|_| bad("the database is not a number such as /0"))?,
        };
        if !segment().is_empty() {
            return Err(bad("its path goes on after the database"));
        }
        let mut url = Self {
            shape,
            tls,
            account,
            sentinel_account: Account::default(),
            database,
            settings: RedisSettings::default(),
        };
        let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
        let (mut cert, mut key) = (None, None);
        for parameter in parameters {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = decoded(name, value)?;
            match name {
                "ca_file" => url.tls_of(name)?.ca_file = Some(value.into()),
                "cert_file" => {
                    url.tls_of(name)?;
                    cert = Some(value.into());
                }
                "key_file" => {
                    url.tls_of(name)?;
                    key = Some(value.into());
                }
                "sentinel_user" | "sentinel_password" if !matches!(url.shape, Shape::Sentinel { .. }) => {
                    return Err(bad(format!("{name} is for redis+sentinel:// only")));
                }
                "sentinel_user" => url.sentinel_account.user = Some(value),
                "sentinel_password" => url.sentinel_account.password = Some(value),
                _ => url
                    .settings
                    .set(name, &value)
                    .map_err(|why| bad(format!("parameter {name:?}: {why}")))?,
            }
        }
        match (cert, key, &mut url.tls) {
            (None, None, _) | (_, _, None) => {}
            (Some(cert), Some(key), Some(tls)) => tls.identity = Some((cert, key)),
            _ => return Err(bad("cert_file and key_file go together")),
        }
        if url.account.user.is_some() && url.account.password.is_none()
            || url.sentinel_account.user.is_some() && url.sentinel_account.password.is_none()
        {
            return Err(bad("it names a user and no password"));
        }
        Ok(url)
    }
}

impl RedisUrl {
    fn tls_of(&mut self, name: &str) -> Result<&mut Tls> {
        self.tls
            .as_mut()
            .ok_or_else(|| bad(format!("{name} is for rediss:// URLs only")))
    }
}

impl fmt::Display for RedisUrl {
    /// Where it leads, without who we are and with nothing that is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.tls.is_some() { "s" } else { "" };
        let list = |addresses: &[Address]| {
            let texts: Vec<String> = addresses.iter().map(Address::to_string).collect();
            texts.join(",")
        };
        match &self.shape {
            Shape::Single(address) => write!(f, "redis{s}://{address}/{}", self.database),
            Shape::Sentinel { sentinels, service } => {
                write!(
                    f,
                    "redis{s}+sentinel://{}/{service}/{}",
                    list(sentinels),
                    self.database
                )
            }
            Shape::Cluster(nodes) => write!(f, "redis{s}+cluster://{}/", list(nodes)),
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> RedisUrl {
        url.parse().unwrap()
    }

    #[test]
    fn every_shape_has_its_url() {
        let single = parse("redis://localhost");
        assert_eq!(single.shape, Shape::Single(Address::new("localhost", 6379)));
        assert_eq!(single.settings, RedisSettings::default());
        let single = parse("rediss://ann:p%40ss%2Fword@[::1]:7000/3?ca_file=/etc/ca.pem&command_ms=250");
        assert_eq!(single.shape, Shape::Single(Address::new("::1", 7000)));
        assert_eq!(single.account.password.as_deref(), Some("p@ss/word"));
        assert_eq!((single.database, single.settings.command.as_millis()), (3, 250));
        assert_eq!(single.tls.unwrap().ca_file, Some("/etc/ca.pem".into()));
        let sentinel = parse("redis+sentinel://:pw@a:1,b,c:3/games/1?sentinel_user=s&sentinel_password=q");
        assert_eq!(
            sentinel.shape,
            Shape::Sentinel {
                sentinels: vec![
                    Address::new("a", 1),
                    Address::new("b", 26379),
                    Address::new("c", 3)
                ],
                service: "games".to_owned()
            }
        );
        assert_eq!((sentinel.database, sentinel.account.user), (1, None));
        assert_eq!(sentinel.sentinel_account.password.as_deref(), Some("q"));
        let cluster = parse("rediss+cluster://a:1,b:2/?min_replicas=1&wait_ms=300");
        assert_eq!(
            cluster.shape,
            Shape::Cluster(vec![Address::new("a", 1), Address::new("b", 2)])
        );
        assert_eq!(cluster.settings.min_replicas, 1);
    }

    #[test]
    fn bad_urls_are_told_why_and_secrets_are_not_repeated() {
        for (url, why) in [
            ("redis:", "://"),
            ("redis://", "HOST"),
            ("redis://:x:y/", "HOST"),
            ("redis://a:0/", "HOST"),
            ("redis://a:70000/", "HOST"),
            ("redis://a,b/", "HOST"),
            ("redis://a b/", "HOST"),
            ("redis://[::1/", "no ]"),
            ("redis://u:se/cret@a/", "HOST"),
            ("redis://u:secret@a/x", "database"),
            ("redis://a/1/2", "path"),
            ("redis://user@a/", "no password"),
            ("redis://u:secret%zz@a/", "%25"),
            ("redis+sentinel://a:1", "service"),
            ("redis+cluster://a:1/1", "database numbers"),
            ("redis+secret://a", "scheme"),
            ("redis://a/?ca_file=secret", "rediss"),
            ("redis://a/?sentinel_password=secret", "redis+sentinel"),
            ("rediss://a/?cert_file=x", "together"),
            ("redis://a/?total_ms=0", "total_ms"),
            ("redis://a/?min_replicas=secret", "min_replicas"),
            ("redis://a/?such=secret", "such"),
        ] {
            let error = url.parse::<RedisUrl>().unwrap_err().to_string();
            assert!(error.contains(why), "{url}: {error}");
            assert!(
                !error.contains("secret") && !error.contains("cret@"),
                "{url}: {error}"
            );
        }
        let shown = format!(
            "{0} {0:?}",
            parse("redis+sentinel://u:secret@a/s?sentinel_password=secret")
        );
        assert_eq!(shown, "redis+sentinel://a:26379/s/0 redis+sentinel://a:26379/s/0");
    }
}
