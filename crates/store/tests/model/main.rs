//! Random operations, some sent twice as lost replies make callers do, on a plain model, on the embedded store and on a
//! real Redis: all three must answer the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod halls;
mod players;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use tablemate_session::Millis;
use tablemate_store::contract::SHARDS;
use tablemate_store::testing::{RedisServer, Tamper};
use tablemate_store::{DeploymentWish, EmbeddedStore, RedisStore, Stores};

/// A store that is not the model.
#[derive(Clone)]
struct Real {
    name: &'static str,
    stores: Stores,
    hands: Arc<dyn Tamper>,
}

impl Real {
    fn embedded() -> Self {
        let store = Arc::new(EmbeddedStore::open(wish()).unwrap());
        Self {
            name: "embedded",
            stores: Stores::of(&store),
            hands: store,
        }
    }
}

fn wish() -> DeploymentWish {
    // A threshold that no pause of the machine under test reaches.
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

/// Lets the clock go on by more than a millisecond, for all that must be before or after something.
async fn tick() {
    tokio::time::sleep(Duration::from_millis(3)).await;
}

/// What a kind of store is to the test: operations, a model, and how an operation is made on a real store.
trait Subject: 'static {
    /// What is to be done, in words ("where the log ends").
    type Operation: std::fmt::Debug + Clone;
    /// What is done, in values: the same however often it is sent.
    type Request;
    type Model: Default;
    /// What a run on one real store remembers.
    type Memory: Default;

    fn operation() -> impl Strategy<Value = Self::Operation>;

    /// The request that a caller makes who knows what the model knows.
    fn request(model: &Self::Model, operation: &Self::Operation) -> Self::Request;

    /// What the model answers.
    fn expect(model: &mut Self::Model, request: &Self::Request) -> String;

    /// What a store answers.
    async fn answer(real: &Real, memory: &mut Self::Memory, request: &Self::Request) -> String;
}

/// Runs `cases` random sequences.
fn check<S: Subject>(cases: u32, length: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let server = RedisServer::start();
    let store = Arc::new(runtime.block_on(RedisStore::open(&server.url(), wish())).unwrap());
    let redis = Real {
        name: "redis",
        stores: Stores::of(&store),
        hands: store,
    };
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let steps = proptest::collection::vec((S::operation(), 1..=2_usize), 1..length);
    let outcome = runner.run(&steps, |steps| {
        let _ = server.run(&[b"FLUSHALL"]);
        let reals = [Real::embedded(), redis.clone()];
        runtime.block_on(run::<S>(&reals, &steps))
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, steps)) => panic!("{why}\n{steps:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

async fn run<S: Subject>(reals: &[Real], steps: &[(S::Operation, usize)]) -> Result<(), TestCaseError> {
    let mut memories: Vec<S::Memory> = reals.iter().map(|_| S::Memory::default()).collect();
    let mut model = S::Model::default();
    for (number, (operation, times)) in steps.iter().enumerate() {
        let request = S::request(&model, operation);
        let mut all_answers = Vec::new();
        for (real, memory) in reals.iter().zip(&mut memories) {
            let mut answers = Vec::new();
            for _ in 0..*times {
                answers.push(S::answer(real, memory, &request).await);
            }
            all_answers.push(answers);
        }
        let expected: Vec<String> = (0..*times).map(|_| S::expect(&mut model, &request)).collect();
        for (real, answers) in reals.iter().zip(all_answers) {
            let who = real.name;
            proptest::prop_assert_eq!(&answers, &expected, "step {}, {}: {:?}", number, who, operation);
        }
    }
    Ok(())
}

#[test]
fn sessions_are_as_the_model_says() {
    check::<sessions::Sessions>(200, 40);
}

#[test]
fn halls_are_as_the_model_says() {
    check::<halls::Halls>(200, 40);
}

#[test]
fn players_are_as_the_model_says() {
    check::<players::Players>(100, 30);
}
