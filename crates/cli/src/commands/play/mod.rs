//! `tablemate play`: a game in this terminal.

mod person;
mod seat;
mod seconds;

use std::io;
use std::time::Duration;

use clap::ValueEnum;
use tablemate_client::v1;
use tablemate_engine::search::Level;

use crate::board::picture::Glyphs;
use crate::exit::Exit;
use crate::i18n::Lang;
use crate::i18n::game::Voice;
use crate::reach::Reach;
use crate::stage::Stage;
use crate::wire::duration;
use crate::{terminal, typing};

/// Arguments of `tablemate play`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reach: Reach,
    /// Your player id; without one, a guest's name is made up
    #[arg(long, value_name = "NAME")]
    player: Option<String>,
    /// Against whom: a bot in this process, or whoever asks for the same game
    #[arg(long, value_enum, value_name = "WHOM", default_value = "bot")]
    vs: Versus,
    /// Create a session and print the invitation for the other player
    #[arg(long, conflicts_with_all = ["vs", "join", "resume", "bots"])]
    create: bool,
    /// Join a session by its invitation
    #[arg(long, num_args = 2, value_names = ["SESSION", "TOKEN"], conflicts_with_all = ["vs", "resume", "bots"])]
    join: Option<Vec<String>>,
    /// Come back to a session in which you (`--player`) have a seat
    #[arg(long, value_name = "SESSION", requires = "player", conflicts_with_all = ["vs", "bots"])]
    resume: Option<String>,
    /// Bots on both seats: a demonstration game
    #[arg(long, conflicts_with_all = ["vs", "player"])]
    bots: bool,
    /// How strong the bot is, 1 to 8 (with --bots: that of seat 1)
    #[arg(long, value_name = "LEVEL", default_value = "3")]
    level: Level,
    /// With --bots: how strong the bot of seat 2 is, 1 to 8
    #[arg(long, value_name = "LEVEL", default_value = "2", requires = "bots")]
    level_2: Level,
    /// How long a bot waits before it moves
    #[arg(long, value_name = "TIME", default_value = "700ms", value_parser = seconds::parse)]
    pause: Duration,
    /// Be ready at once
    #[arg(long)]
    ready: bool,
    #[command(flatten)]
    rules: Rules,
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

/// Against whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Versus {
    /// A bot in this process.
    Bot,
    /// Whoever asks for the same game.
    Human,
}

/// A language on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LangArg {
    /// Simplified Chinese
    #[value(alias = "zh-CN", alias = "zh_CN")]
    Zh,
    /// English
    En,
}

impl LangArg {
    /// The language chosen, else that of the environment.
    #[must_use]
    pub fn or(chosen: Option<LangArg>, environment: Lang) -> Lang {
        match chosen {
            Some(LangArg::Zh) => Lang::Zh,
            Some(LangArg::En) => Lang::En,
            None => environment,
        }
    }
}

/// The settings of the session; what is not given is the server's default.
#[derive(Debug, Default, clap::Args)]
struct Rules {
    /// How many games, 1 to 32
    #[arg(long, value_name = "NUMBER")]
    games: Option<u32>,
    /// Time for each move, such as 30s
    #[arg(long, value_name = "TIME", value_parser = seconds::parse)]
    move_time: Option<Duration>,
    /// Total time of each player in a game, such as 10m
    #[arg(long, value_name = "TIME", value_parser = seconds::parse)]
    total_time: Option<Duration>,
    /// How long discs take to turn, such as 1s; the next clock starts after it
    #[arg(long, value_name = "TIME", value_parser = seconds::parse)]
    animation: Option<Duration>,
    /// Length of the ready countdown, such as 15s
    #[arg(long, value_name = "TIME", value_parser = seconds::parse)]
    ready_time: Option<Duration>,
    /// How long after the start resigning is refused, such as 60s
    #[arg(long, value_name = "TIME", value_parser = seconds::parse)]
    resign_guard: Option<Duration>,
    /// Who opens the first game
    #[arg(long, value_enum, value_name = "RULE")]
    opener: Option<Opener>,
    /// The start position: crossed, parallel, or 64 characters (X, O, -), a space and the side to move
    #[arg(long, value_name = "POSITION")]
    start: Option<String>,
    /// The game touches nobody's record
    #[arg(long)]
    unrated: bool,
}

/// Who opens.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Opener {
    /// Seat 1 (whoever created the session)
    AsSeated,
    /// The server draws
    Draw,
    /// Each may give a number with ready
    Guess,
    /// Whoever opened fewer of the last games
    Balanced,
}

impl Rules {
    fn settings(&self) -> v1::SessionSettings {
        let start = match self.start.as_deref() {
            None => None,
            Some("crossed") => Some(named(v1::ReversiStartName::Crossed)),
            Some("parallel") => Some(named(v1::ReversiStartName::Parallel)),
            Some(position) => Some(v1::reversi_start::Start::Position(position.to_owned())),
        };
        let reversi = v1::ReversiSettings {
            start: start.map(|start| v1::ReversiStart { start: Some(start) }),
            ..Default::default()
        };
        let opener = match self.opener {
            None => v1::OpenerRule::Unspecified,
            Some(Opener::AsSeated) => v1::OpenerRule::AsSeated,
            Some(Opener::Draw) => v1::OpenerRule::Draw,
            Some(Opener::Guess) => v1::OpenerRule::Guess,
            Some(Opener::Balanced) => v1::OpenerRule::Balanced,
        };
        v1::SessionSettings {
            game: Some(v1::session_settings::Game::Reversi(reversi)),
            games: self.games.unwrap_or_default(),
            opener_rule: opener.into(),
            move_time: self.move_time.map(duration),
            total_time: self.total_time.map(duration),
            animation: self.animation.map(duration),
            ready_time: self.ready_time.map(duration),
            resign_guard: self.resign_guard.map(duration),
            unrated: self.unrated,
            ..Default::default()
        }
    }
}

fn named(name: v1::ReversiStartName) -> v1::reversi_start::Start {
    v1::reversi_start::Start::Name(name.into())
}

/// Runs the command.
pub async fn run(args: Args, lang: Lang) -> anyhow::Result<Exit> {
    let lang = LangArg::or(args.lang, lang);
    let client = args.reach.client(lang).await?;
    let voice = Voice {
        lang,
        glyphs: if args.ascii {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
    };
    let on_screen = terminal::is_capable() && !args.plain;
    let seat = seat::Wish::of(&args);
    let viewer_id = if args.bots { "" } else { seat.player_id() };
    let (stage, typed) = if on_screen {
        let stage = Stage::on_screen(voice, viewer_id, lang.input_hint(), true)?;
        (stage, typing::keys())
    } else {
        let stage = Stage::in_lines(voice, viewer_id, Box::new(io::stdout()));
        (stage, typing::lines())
    };
    let person = person::Person::new(client, seat, stage, typed, !on_screen && !typing::by_hand());
    person.play().await
}
