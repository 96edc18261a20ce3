//! The contract suite, against both stores.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tablemate_session::Millis;
use tablemate_store::contract::{SHARDS, Subject};
use tablemate_store::testing::RedisServer;
use tablemate_store::{DeploymentWish, EmbeddedStore, RedisStore, Stores};

fn wish() -> DeploymentWish {
    // A threshold that no pause of the machine under test reaches.
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

mod embedded {
    use super::*;

    async fn open() -> Subject {
        let store = Arc::new(EmbeddedStore::open(wish()).unwrap());
        Subject {
            stores: Stores::of(&store),
            other: Stores::of(&store),
            hands: store,
            keep: Box::new(()),
        }
    }

    tablemate_store::contract_tests!(open);
}

mod redis {
    use super::*;

    async fn open() -> Subject {
        let server = RedisServer::start();
        let store = Arc::new(RedisStore::open(&server.url(), wish()).await.unwrap());
        let other = Arc::new(RedisStore::open(&server.url(), wish()).await.unwrap());
        Subject {
            stores: Stores::of(&store),
            other: Stores::of(&other),
            hands: store,
            keep: Box::new(server),
        }
    }

    tablemate_store::contract_tests!(open);
}
