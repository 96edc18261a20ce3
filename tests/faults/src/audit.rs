//! An auditor who was not there: compares what players were told with what the services say afterwards, by the public
//! API alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use tablemate_client::v1::stream_results_response::Entry;
use tablemate_client::{Client, UpdateKind, WatchFrom, v1};

/// How many sessions are read at once.
const AT_ONCE: usize = 16;
/// How long the settlement of the last results may take.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

/// What the auditor found.
#[derive(Debug, Default)]
pub struct Audit {
    /// Sessions that are there.
    pub sessions: u64,
    /// Acknowledged moves that were looked for.
    pub moves: u64,
    /// Acknowledged moves that no log has.
    pub lost: u64,
    /// Results of one game that are there more than once or differ, and games more in a player's record than results.
    pub doubled_results: u64,
    /// Sessions that nobody was told about: another one was made for the same match.
    pub doubled_sessions: u64,
    /// Sessions that have not ended, and results that are missing in the stream or in a player's record.
    pub stuck: u64,
    /// What was found, in words.
    pub findings: Vec<String>,
}

/// A line of the journal.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Told {
    Matched {
        session: String,
        player: String,
        seat: u32,
    },
    Moved {
        session: String,
        ply: u32,
        #[serde(rename = "move")]
        mv: String,
        sequence: u64,
    },
}

/// What the journal says of one session.
#[derive(Debug, Default)]
struct Account {
    seats: BTreeMap<u32, String>,
    moves: BTreeMap<u64, (u32, String)>,
}

/// One session as its log says.
#[derive(Debug, Default)]
struct Log {
    moves: BTreeMap<u64, (u32, String)>,
    ends: u64,
    over: bool,
}

impl Audit {
    /// Compares the journal with the services.
    pub async fn of(client: &Client, journal: &Path) -> Result<Self> {
        let accounts = read_journal(journal)?;
        let mut audit = Self::default();
        audit.check_list(client, &accounts).await?;
        let mut checks = futures::stream::iter(accounts.iter().map(|(session, account)| async move {
            let log = read_log(client, session).await?;
            anyhow::Ok((session, account, log))
        }))
        .buffer_unordered(AT_ONCE);
        let mut ends = HashMap::new();
        while let Some((session, account, log)) = checks.try_next().await? {
            audit.moves += account.moves.len() as u64;
            match log {
                Some(log) => {
                    ends.insert(session.clone(), log.ends);
                    audit.check_log(session, account, &log);
                }
                None => {
                    audit.lost += account.moves.len() as u64 + 1;
                    audit.find(format!(
                        "session {session} was told to its players and is not there"
                    ));
                }
            }
        }
        drop(checks);
        audit.check_results(client, &ends).await?;
        Ok(audit)
    }

    fn find(&mut self, text: String) {
        if self.findings.len() < 20 {
            self.findings.push(text);
        }
    }

    /// Every session there is must have been told to somebody.
    async fn check_list(&mut self, client: &Client, accounts: &BTreeMap<String, Account>) -> Result<()> {
        let mut page_token = String::new();
        let mut seen = BTreeSet::new();
        loop {
            let asked = v1::ListSessionsRequest {
                page_size: 100,
                page_token: page_token.clone(),
                unfinished_only: false,
            };
            let page = client.list_sessions(asked).await?;
            for session in page.sessions {
                if !seen.insert(session.session_id.clone()) {
                    continue;
                }
                if !accounts.contains_key(&session.session_id) {
                    self.doubled_sessions += 1;
                    self.find(format!(
                        "session {} of {} and {} was told to nobody",
                        session.session_id, session.seat_1_player_id, session.seat_2_player_id
                    ));
                }
            }
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        self.sessions = seen.len() as u64;
        Ok(())
    }

    fn check_log(&mut self, session: &str, account: &Account, log: &Log) {
        for (sequence, told) in &account.moves {
            if log.moves.get(sequence) != Some(told) {
                self.lost += 1;
                self.find(format!(
                    "session {session}: {told:?} was acknowledged as event {sequence}, the log has {:?}",
                    log.moves.get(sequence)
                ));
            }
        }
        if !log.over {
            self.stuck += 1;
            self.find(format!("session {session} of {:?} has not ended", account.seats));
        }
        if log.ends > 1 {
            self.doubled_results += 1;
            self.find(format!("session {session}: its game ended {} times", log.ends));
        }
    }

    /// Every game that ended has one result, and its players' records have it once.
    async fn check_results(&mut self, client: &Client, ends: &HashMap<String, u64>) -> Result<()> {
        let mut results: BTreeMap<String, v1::ResultEntry> = BTreeMap::new();
        let mut stream = client.results("", false);
        while let Some(entry) = stream.next().await {
            let Entry::Result(result) = entry? else { continue };
            if let Some(before) = results.insert(result.result_id.clone(), result) {
                self.doubled_results += 1;
                self.find(format!("result {} is in the stream twice", before.result_id));
            }
        }
        let with_result: BTreeSet<&str> = results
            .values()
            .map(|result| result.session_id.as_str())
            .collect();
        for (session, ends) in ends {
            if *ends > 0 && !with_result.contains(session.as_str()) {
                self.stuck += 1;
                self.find(format!(
                    "session {session}: its game ended, but the stream has no result"
                ));
            }
        }
        let mut games: BTreeMap<&str, u64> = BTreeMap::new();
        for result in results.values() {
            let outcome = result
                .result
                .as_ref()
                .map_or(v1::Outcome::Unspecified, v1::GameResult::outcome);
            if matches!(
                outcome,
                v1::Outcome::Seat1Wins | v1::Outcome::Seat2Wins | v1::Outcome::Draw
            ) {
                for player in [&result.seat_1_player_id, &result.seat_2_player_id] {
                    *games.entry(player).or_default() += 1;
                }
            }
        }
        let until = tokio::time::Instant::now() + SETTLED_WITHIN;
        for (player, results) in games {
            let recorded = loop {
                let recorded = games_in_record(client, player).await?;
                if recorded >= results || tokio::time::Instant::now() > until {
                    break recorded;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            };
            if recorded != results {
                let wrong = recorded.abs_diff(results);
                if recorded > results {
                    self.doubled_results += wrong;
                } else {
                    self.stuck += wrong;
                }
                self.find(format!(
                    "player {player}: {recorded} games in the record, {results} results"
                ));
            }
        }
        Ok(())
    }
}

fn read_journal(path: &Path) -> Result<BTreeMap<String, Account>> {
    let text = std::fs::read_to_string(path).context("the load's journal")?;
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    for line in text.lines() {
        match serde_json::from_str(line).with_context(|| format!("the journal's {line:?}"))? {
            Told::Matched {
                session,
                player,
                seat,
            } => {
                accounts.entry(session).or_default().seats.insert(seat, player);
            }
            Told::Moved {
                session,
                ply,
                mv,
                sequence,
            } => {
                let account = accounts.entry(session).or_default();
                account.moves.insert(sequence, (ply, mv));
            }
        }
    }
    Ok(accounts)
}

/// Everything in a session's log; `None` when there is no such session.
async fn read_log(client: &Client, session: &str) -> Result<Option<Log>> {
    let from = WatchFrom::After {
        cursor: "0".to_owned(),
        sequence: Some(0),
    };
    let asked = v1::GetSessionRequest {
        session_id: session.to_owned(),
        viewer_id: String::new(),
    };
    let last = match client.get_session(asked).await {
        Ok(answer) => answer.session.unwrap_or_default().sequence,
        Err(error) if error.is(tablemate_client::Reason::SessionNotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut watch = client.watch(session, "", from);
    let mut log = Log::default();
    while watch.sequence().is_none_or(|sequence| sequence < last) {
        let Some(update) = watch.next().await else { break };
        let UpdateKind::Event(event) = update?.kind else {
            continue;
        };
        match event.kind {
            Some(v1::event::Kind::Moved(moved)) => {
                log.moves.insert(event.sequence, (moved.ply, moved.r#move));
            }
            Some(v1::event::Kind::GameEnded(_)) => log.ends += 1,
            Some(v1::event::Kind::SessionEnded(_)) => log.over = true,
            _ => {}
        }
    }
    Ok(Some(log))
}

async fn games_in_record(client: &Client, player: &str) -> Result<u64> {
    let asked = v1::GetPlayerRequest {
        player_id: player.to_owned(),
        game_kind: v1::GameKind::Reversi.into(),
    };
    let record = client.get_player(asked).await?.player.unwrap_or_default();
    Ok(record
        .wins
        .saturating_add(record.draws)
        .saturating_add(record.losses))
}
