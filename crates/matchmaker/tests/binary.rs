//! The binary: bad values end it with 64, good ones start it, SIGTERM stops it.
#![allow(clippy::unwrap_used, clippy::panic)] // Tests may.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

fn matchmaker() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tablemate-matchmaker"));
    command.stdin(Stdio::null());
    command
}

#[test]
fn bad_values_are_all_told_and_end_it_with_64() {
    let ended = matchmaker()
        .args(["--listen=here", "--game-service=nowhere", "--ticket-expiry=0"])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(64));
    let told = String::from_utf8(ended.stderr).unwrap();
    for flag in ["--listen", "--game-service", "--ticket-expiry"] {
        assert!(told.contains(flag), "{told}");
    }
    let unknown = matchmaker().arg("--unknown").output().unwrap();
    assert_eq!(unknown.status.code(), Some(64));
    let by_environment = matchmaker().env("TABLEMATE_FIRE_LIMIT", "many").output().unwrap();
    assert_eq!(by_environment.status.code(), Some(64));
    assert_eq!(
        matchmaker().arg("--help").output().unwrap().status.code(),
        Some(0)
    );
}

#[test]
fn it_listens_and_ends_well_when_it_is_told_to() {
    let mut child = matchmaker()
        .args(["--listen=127.0.0.1:0", "--log-format=json"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let listens = log.find(|line| line.as_ref().unwrap().contains("matchmaker listens"));
    assert!(listens.is_some());
    let told = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(told.success());
    // Read to the end, so that it never waits for us.
    log.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
