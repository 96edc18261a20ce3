//! Heartbeats.

use tablemate_session::Millis;

use super::{Subject, pass};
use crate::worker_store::WorkerId;

pub async fn workers_know_each_other(subject: &Subject) {
    let (one, other) = (WorkerId::new("one").unwrap(), WorkerId::new("other").unwrap());
    let long = Millis::seconds(30);
    assert_eq!(
        subject.stores.workers.heartbeat(&one, long).await.unwrap(),
        std::slice::from_ref(&one)
    );
    let both = [one.clone(), other.clone()];
    assert_eq!(
        subject
            .other
            .workers
            .heartbeat(&other, Millis(200))
            .await
            .unwrap(),
        both
    );
    assert_eq!(subject.stores.workers.heartbeat(&one, long).await.unwrap(), both);
    pass(Millis(250)).await;
    assert_eq!(
        subject.stores.workers.heartbeat(&one, long).await.unwrap(),
        std::slice::from_ref(&one)
    );
    subject.stores.workers.leave(&one).await.unwrap();
    subject.stores.workers.leave(&one).await.unwrap();
    assert_eq!(
        subject.other.workers.heartbeat(&other, long).await.unwrap(),
        [other]
    );
    assert_eq!(WorkerId::new("with space"), None);
    assert_ne!(WorkerId::random().unwrap(), WorkerId::random().unwrap());
}
