//! What is refused, what is tried again and for how long, and what an error says about what was done.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tablemate_session::Millis;
use tablemate_store::contract::{SHARDS, Writer, heard, log, session};
use tablemate_store::session_store::Live;
use tablemate_store::testing::{Proxy, RedisServer, SentinelSet};
use tablemate_store::{CommitAnswer, DeploymentWish, RedisStore, StoreError, Stores};

fn wish() -> DeploymentWish {
    DeploymentWish {
        shards: Some(SHARDS),
        outage_threshold: Some(Millis::seconds(60)),
        applied_kept: None,
    }
}

async fn refused(url: &str) -> StoreError {
    tablemate_store::connect(url, wish())
        .await
        .err()
        .expect("a refusal")
}

/// A store behind a proxy, with a session in it.
async fn behind(proxy: &Proxy, parameters: &str) -> (Stores, Writer) {
    let url = format!("redis://127.0.0.1:{}/?{parameters}", proxy.port());
    let stores = tablemate_store::connect(&url, wish()).await.unwrap();
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["created"]).await;
    (stores, writer)
}

/// A server that refuses before it does anything is asked again, and the caller hears nothing of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_for_now_are_tried_again() {
    let server = RedisServer::start();
    let proxy = Proxy::to(server.port()).await;
    let (stores, mut writer) = behind(&proxy, "").await;
    let mut facts = vec!["created".to_owned()];
    for error in [
        "LOADING Redis is loading the dataset in memory",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down",
        "BUSY Redis is busy running a script",
        "READONLY You can't write against a read only replica.",
        "NOSCRIPT No matching script.",
    ] {
        for _ in 0..3 {
            proxy.refuse_next(error);
        }
        if error.starts_with("NOSCRIPT") {
            // The text comes along at once.
            assert_eq!(proxy.planned(), 3);
        }
        facts.push(error.to_owned());
        let commit = writer.commit(&[error]);
        let answer = stores.sessions.commit(&commit).await;
        assert!(
            matches!(answer, Ok(CommitAnswer::Committed { .. })),
            "{error}: {answer:?}"
        );
        writer.cursor = commit.after();
    }
    assert_eq!(log(&stores, session(0, 1)).await, facts);
}

/// When it refuses for too long, nothing was done, and the error says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_that_lasts_is_no_unknown_outcome() {
    let server = RedisServer::start();
    let proxy = Proxy::to(server.port()).await;
    let (stores, writer) = behind(&proxy, "total_ms=250").await;
    for _ in 0..1_000 {
        proxy.refuse_next("LOADING Redis is loading the dataset in memory");
    }
    let started = Instant::now();
    let error = stores.sessions.commit(&writer.commit(&["b"])).await.unwrap_err();
    let took = started.elapsed();
    assert!(
        matches!(&error, StoreError::Unavailable { why } if why.contains("loading")),
        "{error}"
    );
    assert!(
        took >= Duration::from_millis(200) && took < Duration::from_millis(900),
        "{took:?}"
    );
    let tries = 1_000 - proxy.planned();
    assert!((3..60).contains(&tries), "{tries} tries");
}

/// The answer is lost each time: nobody can say, until somebody asks on a better way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_lost_leave_an_unknown_outcome() {
    let server = RedisServer::start();
    let proxy = Proxy::to(server.port()).await;
    let (stores, writer) = behind(&proxy, "total_ms=300").await;
    proxy.lose_all_replies(true);
    let commit = writer.commit(&["b"]);
    let error = stores.sessions.commit(&commit).await.unwrap_err();
    assert!(matches!(error, StoreError::OutcomeUnknown { .. }), "{error}");
    assert!(proxy.lost() >= 2, "tried again");
    let read = stores
        .sessions
        .read(session(0, 1), writer.cursor, 0)
        .await
        .unwrap_err();
    assert!(
        matches!(read, StoreError::Unavailable { .. }),
        "a read has no outcome: {read}"
    );

    let other = tablemate_store::connect(&server.url(), wish()).await.unwrap();
    assert_eq!(log(&other, session(0, 1)).await, ["created", "b"]);
    let again = other.sessions.commit(&commit).await.unwrap();
    assert!(matches!(again, CommitAnswer::Committed { .. }), "{again:?}");
    assert_eq!(log(&other, session(0, 1)).await, ["created", "b"], "once");
}

/// "Nothing was changed" is true of the last try only: one before it may have changed something.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_a_lost_answer_is_an_unknown_outcome() {
    let server = RedisServer::start();
    let proxy = Proxy::to(server.port()).await;
    let (stores, writer) = behind(&proxy, "").await;
    for error in [
        "OOM command not allowed",
        "MISCONF Errors writing to disk",
        "NOPERM no",
    ] {
        proxy.refuse_next(error);
        let alone = stores.sessions.commit(&writer.commit(&["b"])).await.unwrap_err();
        assert!(
            matches!(
                alone,
                StoreError::Full { .. } | StoreError::Unavailable { .. } | StoreError::Denied { .. }
            ),
            "{alone}"
        );
        proxy.lose_next_reply();
        proxy.refuse_next(error);
        let after = stores.sessions.commit(&writer.commit(&["b"])).await.unwrap_err();
        assert!(matches!(after, StoreError::OutcomeUnknown { .. }), "{after}");
    }
}

/// A server that hangs: the limits hold, and what it does when it wakes up is done once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_waited_for_as_long_as_allowed() {
    let server = RedisServer::start();
    let url = format!("{}?connect_ms=100&command_ms=100&total_ms=400", server.url());
    let stores = tablemate_store::connect(&url, wish()).await.unwrap();
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["created"]).await;
    server.pause();
    let commit = writer.commit(&["b"]);
    let started = Instant::now();
    let error = stores.sessions.commit(&commit).await.unwrap_err();
    let took = started.elapsed();
    assert!(matches!(error, StoreError::OutcomeUnknown { .. }), "{error}");
    assert!(took < Duration::from_millis(900), "{took:?}");
    server.resume();
    let deadline = Instant::now() + Duration::from_secs(5);
    let answer = loop {
        match stores.sessions.commit(&commit).await {
            Ok(answer) => break answer,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    // The window of its now has passed: it was done while nobody heard, or is refused and judged again.
    match answer {
        CommitAnswer::Committed { .. } => {
            assert_eq!(log(&stores, session(0, 1)).await, ["created", "b"]);
        }
        CommitAnswer::NowRefused { .. } => assert_eq!(log(&stores, session(0, 1)).await, ["created"]),
        other => panic!("{other:?}"),
    }
}

/// Games are not for eviction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_evicts_is_refused_at_the_start_and_later() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let evicting = RedisServer::start_with(&["--maxmemory", "100mb", "--maxmemory-policy", policy]);
        let error = refused(&evicting.url()).await.to_string();
        assert!(error.contains(policy) && error.contains("noeviction"), "{error}");
    }
    let server = RedisServer::start();
    let stores = tablemate_store::connect(&server.url(), wish()).await.unwrap();
    let mut writer = Writer::new(&stores, session(0, 1));
    writer.write(&["created"]).await;
    assert_eq!(server.say("CONFIG SET maxmemory-policy allkeys-random"), "OK");
    let _ = server.run(&[b"CLIENT", b"KILL", b"TYPE", b"normal"]);
    let error = loop {
        match stores.sessions.commit(&writer.commit(&["b"])).await {
            Err(StoreError::Unavailable { why }) => break why,
            Err(StoreError::OutcomeUnknown { why }) => break why,
            // The connection that was killed had this one still.
            Ok(answer) => assert!(matches!(
                answer,
                CommitAnswer::Committed { .. } | CommitAnswer::Conflict { .. }
            )),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(error.contains("noeviction"), "{error}");
    assert_eq!(server.say("CONFIG SET maxmemory-policy noeviction"), "OK");
    let deadline = Instant::now() + Duration::from_secs(5);
    while stores.sessions.present(session(0, 1)).await.is_err() {
        assert!(Instant::now() < deadline, "it is taken again when it is fit");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_too_old_or_a_replica_is_refused_and_one_that_loads_is_waited_for() {
    let server = RedisServer::start();
    let proxy = Proxy::to(server.port()).await;
    let url = format!("redis://127.0.0.1:{}/", proxy.port());
    proxy.lie(Some(("redis_version:7", "redis_version:6")));
    let error = refused(&url).await;
    assert!(
        matches!(&error, StoreError::Incompatible { stored, .. } if stored.starts_with('6')),
        "{error}"
    );

    proxy.lie(Some(("\nloading:0", "\nloading:1")));
    let error = refused(&format!("{url}?total_ms=200")).await;
    assert!(error.to_string().contains("loading"), "{error}");
    let (loaded, opened) = tokio::join!(
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            proxy.lie(None);
        },
        tablemate_store::connect(&url, wish())
    );
    let () = loaded;
    opened.unwrap();

    let of = server.port().to_string();
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &of]);
    let deadline = Instant::now() + Duration::from_secs(10);
    let error = loop {
        // While it takes over its master's data it says that it loads.
        match refused(&replica.url()).await {
            StoreError::Unavailable { .. } if Instant::now() < deadline => {}
            error => break error,
        }
    };
    assert!(
        matches!(error, StoreError::Incompatible { setting: "role", .. }),
        "{error}"
    );
}

/// Accounts of Redis and of the Sentinels; what is secret is never repeated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_are_used_and_never_shown() {
    let set = SentinelSet::start(0, 1);
    let (server, sentinel) = (&set.servers[0], &set.sentinels[0]);
    assert_eq!(server.say("ACL SETUSER games on >p@ss/word ~* &* +@all"), "OK");
    assert_eq!(sentinel.say("ACL SETUSER asker on >s3cret ~* &* +@all"), "OK");
    let port = server.port();
    let single = |account: &str| format!("redis://{account}@127.0.0.1:{port}/");
    let good = tablemate_store::connect(&single("games:p%40ss%2Fword"), wish())
        .await
        .unwrap();
    Writer::new(&good, session(0, 1)).write(&["a"]).await;
    let watched = set.url().replace("://", "://games:p%40ss%2Fword@");
    // From now on nobody gets in without an account.
    assert_eq!(sentinel.say("ACL SETUSER default off"), "OK");
    assert_eq!(server.say("ACL SETUSER default off"), "OK");
    let url = format!("{watched}?sentinel_user=asker&sentinel_password=s3cret");
    let stores = tablemate_store::connect(&url, wish()).await.unwrap();
    assert_eq!(log(&stores, session(0, 1)).await, ["a"]);
    for (url, denied) in [
        (single("games:wr0ng"), true),
        (single("nobody:wr0ng"), true),
        (set.url(), false),
        (
            format!("{watched}?sentinel_user=asker&sentinel_password=wr0ng"),
            true,
        ),
        (
            watched.replace("p%40ss", "wr0ng") + "?sentinel_user=asker&sentinel_password=s3cret",
            true,
        ),
    ] {
        let error = refused(&url).await;
        assert_eq!(
            matches!(error, StoreError::Denied { .. }),
            denied || matches!(error, StoreError::Denied { .. }),
            "{error}"
        );
        let shown = format!("{error} {error:?}");
        for secret in ["wr0ng", "s3cret", "word"] {
            assert!(!shown.replace("password", "").contains(secret), "{shown}");
        }
    }
}

/// A folder with an authority, a server's certificate for 127.0.0.1, and a client's.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let ca_cert = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::from_params(&ca, &ca_key);
    write("ca.pem", ca_cert.pem());
    for (name, host) in [
        ("server", "127.0.0.1"),
        ("client", "client"),
        ("stranger", "10.0.0.1"),
    ] {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec![host.to_owned()]).unwrap();
        // One that is called as its authority would be taken for one that signed itself.
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        write(
            &format!("{name}.pem"),
            params.signed_by(&key, &issuer).unwrap().pem(),
        );
        write(&format!("{name}.key"), key.serialize_pem());
    }
    // Another authority, which signed nothing here.
    let mut other = rcgen::CertificateParams::new(Vec::new()).unwrap();
    other.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    write(
        "other.pem",
        other
            .self_signed(&rcgen::KeyPair::generate().unwrap())
            .unwrap()
            .pem(),
    );
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_is_spoken_with_whom_an_authority_vouches_for() {
    let folder = certificates();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let start = |name: &str, clients: &str| {
        let port = RedisServer::free_port();
        let (cert, key) = (file(&format!("{name}.pem")), file(&format!("{name}.key")));
        let server = RedisServer::start_with(&[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            &cert,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &file("ca.pem"),
            "--tls-auth-clients",
            clients,
        ]);
        (server, port)
    };
    let (_server, port) = start("server", "no");
    let url = format!("rediss://127.0.0.1:{port}/");
    let store = RedisStore::open(&format!("{url}?ca_file={}", file("ca.pem")), wish())
        .await
        .unwrap();
    let stores = Stores::of(&Arc::new(store));
    let mut watch = stores.sessions.subscribe(session(0, 1)).await.unwrap();
    Writer::new(&stores, session(0, 1)).write(&["a"]).await;
    assert!(matches!(heard(&mut watch).await, Live::Entries { .. }));

    for untrusted in [url.clone(), format!("{url}?ca_file={}", file("other.pem"))] {
        let error = refused(&untrusted).await;
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    }
    for unreadable in ["/nowhere/ca.pem".to_owned(), file("server.key")] {
        let error = refused(&format!("{url}?ca_file={unreadable}")).await;
        assert!(matches!(error, StoreError::BadUrl { .. }), "{error}");
    }
    // Vouched for, but for another host.
    let (_stranger, port) = start("stranger", "no");
    let error = refused(&format!("rediss://127.0.0.1:{port}/?ca_file={}", file("ca.pem"))).await;
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    // One that wants to see a certificate too.
    let (_wary, port) = start("server", "yes");
    let url = format!(
        "rediss://127.0.0.1:{port}/?ca_file={}&total_ms=300",
        file("ca.pem")
    );
    let error = refused(&url).await;
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    let shown = format!(
        "{url}&cert_file={}&key_file={}",
        file("client.pem"),
        file("client.key")
    );
    tablemate_store::connect(&shown, wish()).await.unwrap();
}
