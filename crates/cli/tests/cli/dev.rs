//! `tablemate dev` as a process that others use.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::tool::{command, file, run, text};

/// Ends the process when a test fails.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_says_where_it_listens_serves_and_ends_when_told() {
    let mut command = command(&["dev", "--listen", "127.0.0.1:0", "--log", "error"]);
    let mut dev = Dev(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(dev.0.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first
        .split_whitespace()
        .find(|word| word.starts_with("127.0.0.1:"))
        .unwrap();
    // What is to be tried next names this address.
    let mut hints = String::new();
    while !hints.contains("ListSessions") {
        hints += &lines.next().unwrap().unwrap();
    }
    assert!(hints.contains(&format!("play --server {address}")), "{hints}");
    assert!(
        hints.contains(&format!("grpcurl -plaintext {address} list")),
        "{hints}"
    );

    let folder = TempDir::new().unwrap();
    let games = file(&folder, "games.txt", "F5D6C5F6E7F4G5E6E3\n");
    let replayed = run(&["replay", "--server", address, text(&games)]);
    assert_eq!(replayed.code, 0, "{replayed:?}");

    let told = std::process::Command::new("kill")
        .args(["-TERM", &dev.0.id().to_string()])
        .status()
        .unwrap();
    assert!(told.success());
    assert!(dev.0.wait().unwrap().success());
}

#[test]
fn an_address_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = run(&["dev", "--listen", &address]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains(&address), "{run:?}");
}
