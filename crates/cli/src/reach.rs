//! Finding a running service.

use std::time::Duration;

use tablemate_client::{Client, Config};
use tokio::net::TcpStream;

use crate::i18n::Lang;

/// Where `tablemate dev` and `tablemate-game` listen when nothing is said.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7400";

/// How long an address may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// Where the running service is.
#[derive(Clone, Debug, clap::Args)]
pub struct Reach {
    /// Address of a game service, `host:port`; may be given several times
    #[arg(
        long = "server",
        value_name = "ADDRESS",
        env = "TABLEMATE_SERVER",
        value_delimiter = ',',
        default_value = DEFAULT_ADDRESS
    )]
    pub servers: Vec<String>,
    /// Address of a matchmaker, `host:port`; may be given several times. Without one, the game services' addresses are
    /// asked
    #[arg(
        long = "matchmaker",
        value_name = "ADDRESS",
        env = "TABLEMATE_MATCHMAKER",
        value_delimiter = ','
    )]
    pub matchmakers: Vec<String>,
}

impl Reach {
    /// A client of the service.
    ///
    /// # Errors
    ///
    /// Nobody listens, with what can be done about it; or an address cannot be read.
    pub async fn client(&self, lang: Lang) -> anyhow::Result<Client> {
        let client = Client::with_config(&self.servers, &self.matchmakers, Config::default())?;
        if !any_listens(&self.servers).await {
            anyhow::bail!("{}", lang.nobody_listens(&self.servers.join(", ")));
        }
        Ok(client)
    }
}

/// Whether anybody accepts a connection at one of the addresses.
pub async fn any_listens(addresses: &[String]) -> bool {
    for address in addresses {
        let host_and_port = address
            .trim_start_matches("http://")
            .trim_start_matches("https://")
            .trim_end_matches('/');
        let connecting = TcpStream::connect(host_and_port);
        if let Ok(Ok(_)) = tokio::time::timeout(CONNECT_MAX, connecting).await {
            return true;
        }
    }
    false
}
