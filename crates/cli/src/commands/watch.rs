//! `tablemate watch`: a session in this terminal.

use std::io::{self, Write as _};
use std::time::Duration;

use tablemate_client::v1::event::Kind;
use tablemate_client::v1::watch_session_response::Message;
use tablemate_client::{Client, Update, UpdateKind, Watch, WatchFrom, v1};

use super::play::LangArg;
use crate::board::editor::Edit;
use crate::board::picture::Glyphs;
use crate::exit::Exit;
use crate::i18n::Lang;
use crate::i18n::game::Voice;
use crate::json::WatchJson;
use crate::reach::Reach;
use crate::stage::Stage;
use crate::stop::Stop;
use crate::terminal;
use crate::typing::{self, Typed};

/// How often the screen is looked at anew.
const TICK: Duration = Duration::from_millis(100);

/// Arguments of `tablemate watch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    #[command(flatten)]
    reach: Reach,
    /// Begin after this cursor, with a line for each event, instead of with a snapshot
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Print every message as JSON, one a line
    #[arg(long)]
    json: bool,
    /// Who watches, where not everybody may: a player id
    #[arg(long, value_name = "PLAYER", default_value = "", hide_default_value = true)]
    viewer: String,
    /// Print line after line instead of painting the screen (as on a pipe)
    #[arg(long)]
    plain: bool,
    /// X and O instead of discs
    #[arg(long)]
    ascii: bool,
    /// The language: zh or en; without it, that of LC_ALL, LC_MESSAGES or LANG
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    lang: Option<LangArg>,
}

/// Runs the command.
pub async fn run(args: Args, lang: Lang) -> anyhow::Result<Exit> {
    let lang = LangArg::or(args.lang, lang);
    let client = args.reach.client(lang).await?;
    let done = if args.json {
        print_json(&args, &client, lang).await
    } else {
        show(&args, &client, lang).await
    };
    match done {
        Err(error) if is_broken_pipe(&error) => Ok(Exit::Success),
        Err(error) => Err(error),
        Ok(()) => Ok(Exit::Success),
    }
}

fn watch(args: &Args, client: &Client) -> Watch {
    let from = match &args.cursor {
        Some(cursor) => WatchFrom::After {
            cursor: cursor.clone(),
            sequence: None,
        },
        None => WatchFrom::Snapshot,
    };
    client.watch(args.session.clone(), args.viewer.clone(), from)
}

/// Prints the stream's messages, heartbeats aside, until the session has ended.
async fn print_json(args: &Args, client: &Client, lang: Lang) -> anyhow::Result<()> {
    let json = WatchJson::new()?;
    let mut watch = watch(args, client);
    let mut stop = Stop::new()?;
    loop {
        let update = tokio::select! {
            update = watch.next() => update,
            () = stop.asked() => return Ok(()),
        };
        let update = match update {
            Some(Ok(update)) => update,
            Some(Err(error)) => anyhow::bail!("{}", lang.refused(&error, 0)),
            None => return Ok(()),
        };
        let over = is_over(&update);
        if let Some(message) = message(update, &watch) {
            let mut out = io::stdout().lock();
            writeln!(out, "{}", json.line(&message)?)?;
            out.flush()?;
        }
        if over {
            return Ok(());
        }
    }
}

/// The message that an update came as; `None` for a heartbeat.
fn message(update: Update, watch: &Watch) -> Option<v1::WatchSessionResponse> {
    let message = match update.kind {
        UpdateKind::Snapshot(session) => Message::Snapshot(*session),
        UpdateKind::Resynchronise(session) => Message::Resynchronise(*session),
        UpdateKind::Event(event) => Message::Event(*event),
        UpdateKind::Presence(presence) => Message::Presence(presence),
        UpdateKind::Heartbeat { .. } => return None,
    };
    let cursor = match watch.position() {
        WatchFrom::After { cursor, .. } => cursor,
        WatchFrom::Snapshot => String::new(),
    };
    Some(v1::WatchSessionResponse {
        server_now: update.server_now,
        cursor,
        message: Some(message),
    })
}

/// Whether a spectator has seen the last of a session. (A rematch is a session of its own.)
fn is_over(update: &Update) -> bool {
    match &update.kind {
        UpdateKind::Snapshot(session) | UpdateKind::Resynchronise(session) => {
            session.phase() == v1::SessionPhase::Ended
        }
        UpdateKind::Event(event) => matches!(event.kind, Some(Kind::SessionEnded(_))),
        UpdateKind::Presence(_) | UpdateKind::Heartbeat { .. } => false,
    }
}

/// Draws the board, or prints what happens where there is no screen.
async fn show(args: &Args, client: &Client, lang: Lang) -> anyhow::Result<()> {
    let voice = Voice {
        lang,
        glyphs: if args.ascii {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
    };
    // After a cursor there is no board to begin with: its events are told.
    let on_screen = terminal::is_capable() && !args.plain && args.cursor.is_none();
    let mut stage = if on_screen {
        Stage::on_screen(voice, &args.viewer, lang.watch_hint(), false)?
    } else {
        Stage::in_lines(voice, &args.viewer, Box::new(io::stdout()))
    };
    if args.cursor.is_some() {
        let request = v1::GetSessionRequest {
            session_id: args.session.clone(),
            viewer_id: args.viewer.clone(),
        };
        match client.get_session(request).await {
            Ok(answer) => stage.begin_without_board(&answer.session.unwrap_or_default()),
            Err(error) => anyhow::bail!("{}", lang.refused(&error, 0)),
        }
    }
    let mut watch = watch(args, client);
    let result = show_on(&mut stage, &mut watch, on_screen, lang).await;
    let left = stage.leave();
    if result? == Ended::Stopped
        && let WatchFrom::After { cursor, .. } = watch.position()
    {
        writeln!(io::stdout().lock(), "{}", lang.resume_at(&cursor))?;
    }
    Ok(left?)
}

/// How watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The session is over.
    Over,
    /// The watcher had enough.
    Stopped,
}

async fn show_on(stage: &mut Stage, watch: &mut Watch, on_screen: bool, lang: Lang) -> anyhow::Result<Ended> {
    let mut stop = Stop::new()?;
    let mut tick = tokio::time::interval(TICK);
    // Without a screen nothing is typed: the standard input is left alone.
    let mut keys = on_screen.then(typing::keys);
    let mut over = false;
    loop {
        tokio::select! {
            update = watch.next(), if !over => match update {
                Some(Ok(update)) => {
                    stage.hear(&update)?;
                    over = is_over(&update);
                }
                Some(Err(error)) => anyhow::bail!("{}", lang.refused(&error, stage.now_ms())),
                None => over = true,
            },
            typed = key(&mut keys) => {
                if matches!(typed, Typed::Interrupt | Typed::Line(_) | Typed::Edit(Edit::Insert('q'))) {
                    return Ok(Ended::Stopped);
                }
                if typed == Typed::End {
                    keys = None;
                }
            }
            () = stop.asked() => return Ok(Ended::Stopped),
            _ = tick.tick() => stage.tick()?,
        }
        if over && stage.is_still() {
            return Ok(Ended::Over);
        }
    }
}

/// The next key; never where there are none.
async fn key(keys: &mut Option<tokio::sync::mpsc::Receiver<Typed>>) -> Typed {
    match keys {
        Some(keys) => keys.recv().await.unwrap_or(Typed::End),
        None => std::future::pending().await,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
