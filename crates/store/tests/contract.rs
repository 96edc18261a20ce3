//! The contract suite, against both stores.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tablemate_session::Millis;
use tablemate_store::contract::{SHARDS, Subject};
use tablemate_store::testing::RedisServer;
use tablemate_store::{
    DeploymentWish, EmbeddedStore, HallStore, PlayerStore, RedisStore, SessionStore, Stores, WorkerStore,
};

fn wish() -> DeploymentWish {
    // A threshold that no pause of the machine under test reaches.
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

fn stores<S: SessionStore + HallStore + PlayerStore + WorkerStore>(store: &Arc<S>) -> Stores {
    Stores {
        sessions: store.clone(),
        halls: store.clone(),
        players: store.clone(),
        workers: store.clone(),
    }
}

mod embedded {
    use super::*;

    async fn open() -> Subject {
        let store = Arc::new(EmbeddedStore::open(wish()).unwrap());
        Subject {
            stores: stores(&store),
            other: stores(&store),
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
            stores: stores(&store),
            other: stores(&other),
            hands: store,
            keep: Box::new(server),
        }
    }

    tablemate_store::contract_tests!(open);
}
