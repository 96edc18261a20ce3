//! Which service a command talks to: a running one, or one started inside this process.

use anyhow::Context as _;
use tablemate_client::{Client, Config};
use tablemate_store::StoreUrl;
use tablemate_store::args::StoreUrlParser;

use crate::embedded::Embedded;
use crate::i18n::Lang;
use crate::reach::any_listens;

/// Where the service is.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// Address of a game service, `host:port`; may be given several times. Without one, a service is started inside
    /// this process.
    #[arg(
        long = "server",
        value_name = "ADDRESS",
        env = "TABLEMATE_SERVER",
        value_delimiter = ','
    )]
    pub servers: Vec<String>,
    /// Address of a matchmaker, `host:port`; may be given several times. Without one, the game services' addresses are
    /// asked.
    #[arg(
        long = "matchmaker",
        value_name = "ADDRESS",
        env = "TABLEMATE_MATCHMAKER",
        value_delimiter = ',',
        requires = "servers"
    )]
    pub matchmakers: Vec<String>,
    /// Where the service inside this process keeps its data: `memory:`, or a Redis: `redis://HOST:PORT/`,
    /// `redis+sentinel://HOST:PORT/SERVICE`, `redis+cluster://HOST:PORT/`.
    #[arg(
        long,
        value_name = "URL",
        value_parser = StoreUrlParser,
        default_value = "memory:",
        conflicts_with = "servers"
    )]
    pub store: StoreUrl,
}

/// A client and, when none was running, the service behind it.
#[derive(Debug)]
pub struct Connected {
    /// The client.
    pub client: Client,
    /// The service inside this process, to be stopped at the end.
    pub embedded: Option<Embedded>,
}

impl Target {
    /// Connects to the service, or starts one.
    ///
    /// # Errors
    ///
    /// Nobody listens, with what can be done about it; an address cannot be read; or no service can be started.
    pub async fn connect(&self, config: Config, lang: Lang) -> anyhow::Result<Connected> {
        if self.servers.is_empty() {
            let embedded = Embedded::start(&self.store, "127.0.0.1:0").await?;
            let address = embedded.address().to_string();
            let client = Client::with_config(&[address], &[], config)?;
            Ok(Connected {
                client,
                embedded: Some(embedded),
            })
        } else {
            let client =
                Client::with_config(&self.servers, &self.matchmakers, config).context("cannot connect")?;
            if !any_listens(&self.servers).await {
                anyhow::bail!("{}", lang.nobody_listens(&self.servers.join(", ")));
            }
            Ok(Connected {
                client,
                embedded: None,
            })
        }
    }
}

impl Connected {
    /// Stops the service inside this process, if there is one.
    pub async fn close(self) -> anyhow::Result<()> {
        match self.embedded {
            Some(embedded) => embedded.stop().await,
            None => Ok(()),
        }
    }
}
