//! `tablemate play`, `watch` and `export` on a service in another process, driven line by line as a script would.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::tool::{Run, command, finished, run};

/// `tablemate dev` on a free port, ended with the test.
struct Dev {
    child: Child,
    address: String,
    /// Kept open: a service that cannot print any more would end.
    _out: Lines<BufReader<ChildStdout>>,
}

impl Dev {
    fn start() -> Dev {
        let mut command = command(&["dev", "--listen", "127.0.0.1:0"]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = out.next().unwrap().unwrap();
        let address = first
            .split_whitespace()
            .find(|word| word.starts_with("127.0.0.1:"))
            .unwrap()
            .to_owned();
        Dev {
            child,
            address,
            _out: out,
        }
    }

    /// The arguments, with the address of this service.
    fn at<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let mut args = args.to_vec();
        args.extend(["--server", &self.address]);
        args
    }

    fn run(&self, args: &[&str]) -> Run {
        run(&self.at(args))
    }

    /// Somebody at the table.
    fn person(&self, lang: &str, args: &[&str]) -> Person {
        let mut args = args.to_vec();
        args.insert(0, "play");
        args.extend(QUICK);
        let mut command = command(&self.at(&args));
        let mut child = command
            .env("LANG", lang)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || out.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Person {
            child: Some(child),
            lines,
            seen: String::new(),
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long a line may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Nothing is waited for, and whoever creates the session opens.
const QUICK: [&str; 6] = ["--animation", "0s", "--pause", "0s", "--opener", "as-seated"];
/// Black to move: b1 leaves white without a move, c5 then takes white's last disc.
const PASSING: &str = "X-OX----------------------------XO------------------------------ X";

/// A `tablemate play` on pipes.
struct Person {
    child: Option<Child>,
    lines: mpsc::Receiver<String>,
    seen: String,
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Person {
    fn types(&mut self, line: &str) -> &mut Person {
        let input = self.child.as_mut().unwrap().stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        self
    }

    /// Reads on until a line holds the text; gives that line.
    fn until(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("{text:?} did not come after:\n{}", self.seen);
            };
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Nothing more is typed: all that was and will be printed.
    fn ends(mut self) -> Run {
        drop(self.child.as_mut().unwrap().stdin.take());
        let mut out = std::mem::take(&mut self.seen);
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => out.push_str(&(line + "\n")),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("it does not end after:\n{out}"),
            }
        }
        let mut run = finished(self.child.take().unwrap().wait_with_output().unwrap());
        run.stdout = out;
        run
    }
}

/// The session named in the line `Session ID: …`.
fn session_of(line: &str) -> String {
    let id = line.strip_prefix("Session ").unwrap().split(':').next().unwrap();
    id.to_owned()
}

#[test]
fn without_a_service_play_watch_and_export_say_what_to_do() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    for args in [&["play"][..], &["watch", "x"], &["export", "x"]] {
        let mut args = args.to_vec();
        args.extend(["--server", &address]);
        let run = run(&args);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("tablemate dev"), "{run:?}");
    }
}

#[test]
fn bots_on_both_seats_play_a_game_that_can_be_watched_and_exported() {
    let dev = Dev::start();
    let shown = dev.run(&[
        "play",
        "--bots",
        "--pause",
        "0s",
        "--animation",
        "0s",
        "--level",
        "1",
    ]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let session = session_of(shown.stdout.lines().next().unwrap());
    let result = shown
        .stdout
        .lines()
        .find(|line| line.starts_with("Game 1: ● "))
        .unwrap();
    assert!(result.contains("Points: "), "{result}");

    // The transcript replays to the board that was shown last.
    let exported = dev.run(&["export", &session]);
    assert_eq!(exported.code, 0, "{exported:?}");
    let mut position = tablemate_engine::reversi::Start::Crossed.position();
    let moves = exported.stdout.trim();
    for at in (0..moves.len()).step_by(2) {
        while position.must_pass() {
            position = position.play("pass".parse().unwrap()).unwrap().0;
        }
        position = position.play(moves[at..at + 2].parse().unwrap()).unwrap().0;
    }
    assert!(position.is_over());
    let [black, white] = position.counts();
    assert!(result.contains(&format!(" {black} - {white} ")), "{result}");
    let ggf = dev.run(&["export", &session, "--format", "ggf", "--game", "1"]);
    assert!(ggf.stdout.starts_with("(;GM[Othello]"), "{ggf:?}");
    let none = dev.run(&["export", &session, "--game", "2"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""), "{none:?}");

    // A finished session is shown and left.
    let watched = dev.run(&["watch", &session]);
    assert_eq!(watched.code, 0, "{watched:?}");
    assert!(watched.stdout.contains(result), "{watched:?}");
    let json = dev.run(&["watch", &session, "--json"]);
    let json: serde_json::Value = serde_json::from_str(json.stdout.trim()).unwrap();
    assert_eq!(json["snapshot"]["phase"], "SESSION_PHASE_ENDED");
}

#[test]
fn s13_s14_s5_a_scripted_person_plays_a_bot_and_plays_again() {
    let dev = Dev::start();
    let mut ann = dev.person("en_GB.UTF-8", &["--player", "ann", "--level", "1"]);
    let first = session_of(&ann.until("Session "));
    // A script need not wait: each line is done when its time has come.
    ann.types("ready")
        .types("resign")
        .types("d3")
        .types("zebra")
        .types("exit");
    ann.until("Do not know \"zebra\"");
    ann.until("Too early to resign: possible from ");
    ann.until(" 1. ● ann d3, turns 1");
    ann.until("Your opponent accepts");
    ann.until("no result (both agreed to stop)");
    let run = ann.ends();
    assert_eq!(run.code, 0, "{run:?}");

    let script = ["--player", "ann", "--start", PASSING, "--level", "1"];
    let mut ann = dev.person("en_GB.UTF-8", &script);
    let second = session_of(&ann.until("Session "));
    assert_ne!(first, second);
    ann.types("ready").types("b1").types("c5");
    ann.until("Your opponent has no legal move; you move again");
    ann.until("Game 1: ● ann 7 - 0");
    ann.types("rematch");
    ann.until("Your opponent accepts");
    let third = session_of(&ann.until("Session "));
    assert_ne!(second, third);
    ann.types("quit");
    let run = ann.ends();
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn s23_the_pass_is_told_in_chinese_with_the_words_of_the_rule() {
    let dev = Dev::start();
    let mut ming = dev.person(
        "zh_CN.UTF-8",
        &["--player", "小明", "--start", PASSING, "--ready"],
    );
    ming.until("轮到您下子（● 黑），第 1 手");
    ming.types("b1").types("c5");
    ming.until("│ 由于对方无子可下，您可继续下子 │");
    ming.until("第 1 局：● 小明 7 - 0 ");
    let run = ming.ends();
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn two_people_meet_in_the_pool_and_one_leaves() {
    let dev = Dev::start();
    let mut ann = dev.person("en_GB.UTF-8", &["--vs", "human", "--player", "ann", "--ready"]);
    ann.until("Looking for an opponent for ann");
    let mut bob = dev.person("en_GB.UTF-8", &["--vs", "human", "--player", "bob", "--ready"]);
    let sessions = [&mut ann, &mut bob].map(|person| session_of(&person.until("Session ")));
    assert_eq!(sessions[0], sessions[1]);
    ann.until("turn (");
    bob.types("leave");
    ann.until("Your opponent has left");
    ann.until("A player has left; the session is closed");
    assert_eq!(ann.ends().code, 0);
    assert_eq!(bob.ends().code, 0);
}

#[test]
fn s22_s27_an_invited_person_joins_and_a_watcher_gets_everything_after_a_cursor() {
    let dev = Dev::start();
    let mut ann = dev.person(
        "en_GB.UTF-8",
        &["--create", "--player", "ann", "--start", PASSING],
    );
    let invitation = ann.until("tablemate play --join ");
    let words: Vec<String> = invitation.split_whitespace().map(str::to_owned).collect();
    let (session, token) = (words[3].as_str(), words[4].as_str());

    let mut watch = command(&dev.at(&["watch", session, "--json"]));
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let first = BufReader::new(watch.stdout.take().unwrap())
        .lines()
        .next()
        .unwrap();
    let snapshot: serde_json::Value = serde_json::from_str(&first.unwrap()).unwrap();
    let cursor = snapshot["cursor"].as_str().unwrap();
    watch.kill().unwrap();
    watch.wait().unwrap();

    let wrong = dev.run(&["play", "--join", session, "wrong", "--player", "eve"]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    let mut bob = dev.person(
        "en_GB.UTF-8",
        &["--join", session, token, "--player", "bob", "--ready"],
    );
    ann.types("ready");
    bob.until("ann's turn (● black), move 1");
    ann.types("b1").types("c5");
    bob.until("You have no legal move; your opponent moves again");
    bob.until("Game 1: ");
    assert_eq!(ann.ends().code, 0);
    assert_eq!(bob.ends().code, 0);

    let rest = dev.run(&["watch", session, "--json", "--cursor", cursor]);
    let events: Vec<serde_json::Value> = rest
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].clone())
        .collect();
    let begin: u64 = snapshot["snapshot"]["sequence"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    for (event, expected) in events.iter().zip(begin + 1..) {
        assert_eq!(event["sequence"], expected.to_string(), "{rest:?}");
    }
    assert!(
        events.iter().any(|event| event.get("passed").is_some()),
        "{rest:?}"
    );
    assert!(events.last().unwrap().get("sessionEnded").is_some(), "{rest:?}");
    let told = dev.run(&["watch", session, "--cursor", cursor]);
    assert!(
        told.stdout
            .contains("○ white bob has no legal move; ann moves again."),
        "{told:?}"
    );
}
