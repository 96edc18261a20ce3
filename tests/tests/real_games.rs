//! Thousands of real tournament games, played through the API by `tablemate replay`, on both stores: every final score
//! must be the recorded one.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tablemate_store::testing::RedisServer;
use tablemate_tests::binary;

/// The folder of real games; `None` when there is none and nothing demands it.
fn data() -> Result<Option<PathBuf>> {
    let folder = match std::env::var_os("TABLEMATE_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")),
    }
    .join("reversi");
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    if std::env::var_os("CI").is_some() {
        bail!(
            "there are no real games at {}, and under CI nothing may be skipped",
            folder.display()
        );
    }
    eprintln!(
        "SKIPPED: there are no real games at {}; TABLEMATE_DATA can name another place",
        folder.display()
    );
    Ok(None)
}

/// Replays every file of games on `store`; gives what was printed.
fn replay(store: &str) -> Result<Option<String>> {
    let Some(folder) = data()? else { return Ok(None) };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        let of_games = path
            .extension()
            .is_some_and(|ending| ["wtb", "tsv", "ggf"].iter().any(|one| ending == *one));
        files.extend(of_games.then_some(path));
    }
    if files.is_empty() {
        bail!("there is no file of games in {}", folder.display());
    }
    let output = Command::new(binary("tablemate")?)
        .env("LANG", "en_US.UTF-8")
        .args(["replay", "--store", store])
        .args(&files)
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!(
            "{}\n{printed}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    println!("{printed}");
    Ok(Some(printed))
}

/// The number in the line that begins with `name`.
fn figure(printed: &str, name: &str) -> Result<u64> {
    let line = printed
        .lines()
        .find(|line| line.trim_start().starts_with(name))
        .with_context(|| format!("no line `{name}` in:\n{printed}"))?;
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    Ok(digits.parse()?)
}

fn check(printed: Option<String>) -> Result<()> {
    let Some(printed) = printed else { return Ok(()) };
    assert!(figure(&printed, "games")? > 0);
    assert_eq!(figure(&printed, "mismatches")?, 0);
    Ok(())
}

#[test]
fn r13_real_games_end_with_their_recorded_scores_on_the_embedded_store() -> Result<()> {
    check(replay("memory:")?)
}

#[test]
fn r13_real_games_end_with_their_recorded_scores_on_redis() -> Result<()> {
    let redis = RedisServer::start();
    check(replay(&redis.url())?)
}
