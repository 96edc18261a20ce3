//! A person at the table: everything that happens meets here, one thing at a time, and nothing blocks the input line.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use anyhow::Context as _;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use tablemate_client::{Client, Error, Reason, WatchFrom, v1};
use tablemate_engine::reversi::{IllegalMove, Move, Square};
use tablemate_engine::search::Level;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::seat::{Asked, Seat, Wish, matched};
use crate::board::input::{self, Command, OfferWhat};
use crate::board::table::{Table, other};
use crate::board::text::{Ink, Line};
use crate::bot;
use crate::exit::Exit;
use crate::i18n::Lang;
use crate::stage::Stage;
use crate::stop::Stop;
use crate::typing::Typed;

/// How often the screen is looked at anew.
const TICK: Duration = Duration::from_millis(100);
/// How strong the engine is that gives hints.
const HINT_LEVEL: u8 = 5;

/// What came of a command.
type Done = Result<Answer, Error>;

/// What came of a command that was done.
#[derive(Debug)]
enum Answer {
    /// Words to show.
    Words(String),
    /// The service did it: its last event has this sequence.
    Receipt(u64),
    /// There is nothing to say.
    Nothing,
}

/// A call that is on its way and is answered by a receipt.
macro_rules! sent {
    ($client:ident.$call:ident($request:ident)) => {
        Box::pin(async move {
            let answer = $client.$call($request).await?;
            Ok(Answer::of(answer.receipt))
        })
    };
}

impl Answer {
    fn of(receipt: Option<v1::Receipt>) -> Answer {
        receipt.map_or(Answer::Nothing, |receipt| Answer::Receipt(receipt.last_sequence))
    }
}

/// A person at the table.
pub struct Person {
    client: Client,
    wish: Wish,
    stage: Stage,
    typed: mpsc::Receiver<Typed>,
    /// Commands come from a file or a program: each waits until it can be done, so that a script need not know when.
    held: bool,
    waiting: VecDeque<Command>,
    /// Nothing more will be typed.
    silent: bool,
    /// Commands under way.
    doing: FuturesUnordered<BoxFuture<'static, Done>>,
    /// The last event of what was done here last: what waits is done when it has been seen.
    done_at: u64,
    /// The first `quit` during a game, or the first `leave`, was answered with a warning.
    warned: Option<Command>,
    bots: JoinSet<anyhow::Result<()>>,
    lang: Lang,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    Away,
}

impl Person {
    /// A person who sits down where the wish says.
    pub fn new(client: Client, wish: Wish, stage: Stage, typed: mpsc::Receiver<Typed>, held: bool) -> Person {
        let lang = stage.voice.lang;
        Person {
            client,
            wish,
            stage,
            typed,
            held,
            waiting: VecDeque::new(),
            silent: false,
            doing: FuturesUnordered::new(),
            done_at: 0,
            warned: None,
            bots: JoinSet::new(),
            lang,
        }
    }

    /// Plays until the person has enough.
    pub async fn play(mut self) -> anyhow::Result<Exit> {
        let result = self.sit_and_play().await;
        // The terminal is put back before anything else is printed, whatever came.
        let left = self.stage.leave();
        match result {
            // Whoever read our lines is gone: that is how pipes end.
            Err(error) if is_broken_pipe(&error) => Ok(Exit::Success),
            Err(error) => Err(error),
            Ok(exit) => {
                left?;
                Ok(exit)
            }
        }
    }

    async fn sit_and_play(&mut self) -> anyhow::Result<Exit> {
        let mut stop = Stop::new()?;
        let asked = match self.wish.ask(&self.client).await {
            Ok(asked) => asked,
            Err(error) => anyhow::bail!("{}", self.lang.refused(&error, self.stage.now_ms())),
        };
        let mut seat = match asked {
            Asked::Seated(seat) => seat,
            Asked::Searching(ticket) => match self.search(*ticket, &mut stop).await? {
                Some(seat) => seat,
                None => return Ok(Exit::Success),
            },
        };
        for bot in seat.bots.drain(..) {
            self.bots
                .spawn(bot.play(self.client.clone(), seat.session_id.clone()));
        }
        self.invite(&seat)?;
        let mut session_id = seat.session_id;
        loop {
            match self.session(&session_id, &mut stop).await? {
                Some(next) => session_id = next,
                None => return Ok(Exit::Success),
            }
        }
    }

    /// Waits until somebody asks for the same game. `None`: the person does not want to wait any more.
    async fn search(&mut self, ticket: v1::Ticket, stop: &mut Stop) -> anyhow::Result<Option<Seat>> {
        let searching = self.lang.searching(self.wish.player_id());
        self.stage.say(Line::of(searching, Ink::Strong))?;
        let mut watch = self
            .client
            .watch_ticket(ticket.ticket_id.clone(), ticket.player_id.clone());
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                settled = watch.settled() => {
                    let settled = settled.context("the ticket was lost")?;
                    let state = settled.state();
                    return match matched(settled) {
                        Some(seat) => Ok(Some(seat)),
                        None => anyhow::bail!("{}", self.lang.not_matched(state)),
                    };
                }
                typed = self.typed.recv(), if !self.silent => {
                    if self.typed_while_searching(typed)? == Go::Away {
                        break;
                    }
                }
                () = stop.asked() => break,
                _ = tick.tick() => self.stage.tick()?,
            }
        }
        let cancel = v1::CancelTicketRequest {
            ticket_id: ticket.ticket_id,
            player_id: ticket.player_id,
            ..Default::default()
        };
        match self.client.cancel_ticket(cancel).await {
            Err(error) if error.is(Reason::AlreadyMatched) => {
                self.stage.answer(self.lang.matched_meanwhile(), Ink::Warn)?
            }
            Err(error) => return Err(error).context("the ticket could not be cancelled"),
            Ok(_) => self.stage.answer(self.lang.cancelled(), Ink::Plain)?,
        }
        Ok(None)
    }

    fn typed_while_searching(&mut self, typed: Option<Typed>) -> io::Result<Go> {
        let line = match typed {
            Some(Typed::Interrupt) => return Ok(Go::Away),
            Some(Typed::End) | None => {
                self.silent = true;
                return Ok(Go::On);
            }
            Some(typed) => self.edit(typed),
        };
        match line.as_deref().map(input::parse) {
            Some(Ok(Some(Command::Quit | Command::Leave))) if !self.held => Ok(Go::Away),
            Some(Ok(Some(command))) if self.held => {
                self.waiting.push_back(command);
                Ok(Go::On)
            }
            Some(Err(error)) => {
                self.stage.answer(error.text(self.lang), Ink::Bad)?;
                Ok(Go::On)
            }
            _ => Ok(Go::On),
        }
    }

    fn invite(&mut self, seat: &Seat) -> io::Result<()> {
        let Some(token) = &seat.invitation_token else {
            return Ok(());
        };
        self.stage.say(Line::of(self.lang.invite(), Ink::Strong))?;
        self.stage.say(Line::of(
            format!("tablemate play --join {} {token}", seat.session_id),
            Ink::Warn,
        ))
    }

    /// Plays one session; gives the one that a rematch leads to.
    async fn session(&mut self, session_id: &str, stop: &mut Stop) -> anyhow::Result<Option<String>> {
        let viewer_id = if self.wish.is_demonstration() {
            ""
        } else {
            self.wish.player_id()
        };
        let mut watch = self.client.watch(session_id, viewer_id, WatchFrom::Snapshot);
        let mut tick = tokio::time::interval(TICK);
        let mut following = true;
        self.done_at = 0;
        loop {
            tokio::select! {
                update = watch.next(), if following => match update {
                    Some(Ok(update)) => self.stage.hear(&update)?,
                    Some(Err(error)) => {
                        anyhow::bail!("{}", self.lang.refused(&error, self.stage.now_ms()));
                    }
                    None => following = false,
                },
                typed = self.typed.recv(), if !self.silent => {
                    if self.hear_typed(typed)? == Go::Away {
                        return Ok(None);
                    }
                }
                Some(done) = self.doing.next() => self.done(done)?,
                Some(ended) = self.bots.join_next() => {
                    if let Ok(Err(error)) = ended {
                        self.stage.answer(format!("{error:#}"), Ink::Bad)?;
                    }
                }
                () = stop.asked() => return Ok(None),
                _ = tick.tick() => self.stage.tick()?,
            }
            if self.do_waiting()? == Go::Away {
                return Ok(None);
            }
            let Some(table) = &self.stage.table else {
                continue;
            };
            if !table.next_session_id.is_empty() {
                return Ok(Some(table.next_session_id.clone()));
            }
            if self.is_over(table, following) {
                return Ok(None);
            }
        }
    }

    /// Whether there is nothing more to wait for.
    fn is_over(&self, table: &Table, following: bool) -> bool {
        if table.ending.is_none() || !self.doing.is_empty() {
            return false;
        }
        let rematch = table.rematch_possible() && following && !self.wish.is_demonstration();
        // Who typed `rematch` from a file waits for the answer to it.
        let offered = table.me.and_then(|me| table.offer_of(me)).is_some();
        let more_typed = !self.waiting.is_empty() || !self.silent || offered;
        !(rematch && more_typed)
    }

    /// Takes something typed; gives the line when one is finished.
    fn edit(&mut self, typed: Typed) -> Option<String> {
        match (typed, &mut self.stage.editor) {
            (Typed::Line(line), _) => Some(line),
            (Typed::Edit(edit), Some(editor)) => {
                editor.edit(edit);
                None
            }
            (Typed::Enter, Some(editor)) => Some(editor.take()),
            _ => None,
        }
    }

    fn hear_typed(&mut self, typed: Option<Typed>) -> io::Result<Go> {
        let line = match typed {
            Some(Typed::Interrupt) => return Ok(Go::Away),
            Some(Typed::End) | None => {
                self.silent = true;
                return Ok(Go::On);
            }
            Some(typed) => self.edit(typed),
        };
        let Some(line) = line else {
            return Ok(Go::On);
        };
        self.stage.forget_answer();
        match input::parse(&line) {
            Ok(Some(command)) if self.held => {
                self.waiting.push_back(command);
                Ok(Go::On)
            }
            Ok(Some(command)) => self.command(command),
            Ok(None) => Ok(Go::On),
            Err(error) => {
                self.stage.answer(error.text(self.lang), Ink::Bad)?;
                Ok(Go::On)
            }
        }
    }

    /// Does what waits, as far as it can be done now: one thing after the other.
    fn do_waiting(&mut self) -> io::Result<Go> {
        while self.doing.is_empty() {
            let (Some(command), Some(table)) = (self.waiting.front(), &self.stage.table) else {
                break;
            };
            if table.sequence < self.done_at || !can_be_done(command, table) {
                break;
            }
            if let Some(command) = self.waiting.pop_front()
                && self.command(command)? == Go::Away
            {
                return Ok(Go::Away);
            }
        }
        Ok(Go::On)
    }

    fn command(&mut self, command: Command) -> io::Result<Go> {
        let confirmed = self.held || self.warned.as_ref() == Some(&command);
        self.warned = None;
        let Some(table) = &self.stage.table else {
            return Ok(if command == Command::Quit {
                Go::Away
            } else {
                Go::On
            });
        };
        let playing = table.turn.is_some();
        match command {
            Command::Quit if playing && !confirmed && table.me.is_some() => {
                self.stage.answer(self.lang.really_quit(), Ink::Warn)?;
                self.warned = Some(Command::Quit);
            }
            Command::Quit => return Ok(Go::Away),
            Command::Leave if playing && !confirmed => {
                self.stage.answer(self.lang.really_leave(), Ink::Warn)?;
                self.warned = Some(Command::Leave);
            }
            Command::Help => {
                for (what, means) in self.lang.help() {
                    self.stage
                        .say(Line::of(format!("{what:<17} {means}"), Ink::Faint))?;
                }
            }
            Command::Board => self.stage.show_board()?,
            Command::Moves => {
                let text = self.lang.legal_moves(table.legal(), table.turn.is_some());
                self.stage.answer(text, Ink::Plain)?;
            }
            Command::Hint => match hint(table, self.lang) {
                Some(hint) => self.doing.push(hint),
                None => self.stage.answer(self.lang.no_game(), Ink::Bad)?,
            },
            _ if table.me.is_none() => self.stage.answer(self.lang.only_look(), Ink::Bad)?,
            Command::Place(square) => match self.place(table, square) {
                Ok(done) => self.doing.push(done),
                Err(why) => self.stage.answer(why, Ink::Bad)?,
            },
            command => match self.call(table, &command) {
                Some(done) => self.doing.push(done),
                None => self.stage.answer(self.lang.no_open_offer(), Ink::Bad)?,
            },
        }
        Ok(Go::On)
    }

    /// A move. What is plainly impossible is told at once; the service judges the rest.
    fn place(&self, table: &Table, square: Square) -> Result<BoxFuture<'static, Done>, String> {
        let Some(turn) = table.turn else {
            return Err(self.lang.no_game().to_owned());
        };
        if table.me != Some(turn.seat) {
            return Err(self.lang.not_your_turn().to_owned());
        }
        let position = table.grid.and_then(|grid| grid.position(Some(turn.colour)));
        if let Some(Err(illegal)) = position.map(|position| position.play(Move::Place(square))) {
            return Err(self.illegal(&illegal));
        }
        let request = v1::PlayRequest {
            session_id: table.session_id.clone(),
            player_id: self.wish.player_id().to_owned(),
            ply: turn.ply,
            r#move: square.to_string(),
            ..Default::default()
        };
        let client = self.client.clone();
        Ok(sent!(client.play(request)))
    }

    fn illegal(&self, illegal: &IllegalMove) -> String {
        match illegal {
            IllegalMove::Occupied { square } => self.lang.occupied(square.as_str()),
            IllegalMove::TurnsNothing { square } => self.lang.turns_nothing(square.as_str()),
            IllegalMove::GameOver | IllegalMove::MustMove => self.lang.no_game().to_owned(),
        }
    }

    /// A command that the service does; `None` when it is about an offer that is not there.
    fn call(&self, table: &Table, command: &Command) -> Option<BoxFuture<'static, Done>> {
        let client = self.client.clone();
        let session_id = table.session_id.clone();
        let player_id = self.wish.player_id().to_owned();
        let mine = table.me.unwrap_or(1);
        let done: BoxFuture<'static, Done> = match command {
            Command::Resign => {
                let request = v1::ResignRequest {
                    session_id,
                    player_id,
                    ..Default::default()
                };
                sent!(client.resign(request))
            }
            Command::Leave => {
                let request = v1::LeaveSessionRequest {
                    session_id,
                    player_id,
                    ..Default::default()
                };
                sent!(client.leave_session(request))
            }
            Command::Ready(number) => {
                let request = v1::SetReadyRequest {
                    session_id,
                    player_id,
                    ready: true,
                    number: *number,
                    ..Default::default()
                };
                sent!(client.set_ready(request))
            }
            Command::Unready => {
                let request = v1::SetReadyRequest {
                    session_id,
                    player_id,
                    ready: false,
                    ..Default::default()
                };
                sent!(client.set_ready(request))
            }
            Command::Offer(what) => {
                let kind = match what {
                    OfferWhat::Exit => v1::OfferKind::Exit,
                    OfferWhat::Draw => v1::OfferKind::Draw,
                    OfferWhat::Rematch => v1::OfferKind::Rematch,
                };
                let request = v1::MakeOfferRequest {
                    session_id,
                    player_id,
                    kind: kind.into(),
                    ..Default::default()
                };
                sent!(client.make_offer(request))
            }
            Command::Accept | Command::Decline => {
                let request = v1::AnswerOfferRequest {
                    session_id,
                    player_id,
                    offer_id: table.offer_of(other(mine))?.offer_id,
                    accept: *command == Command::Accept,
                    ..Default::default()
                };
                sent!(client.answer_offer(request))
            }
            Command::Withdraw => {
                let request = v1::WithdrawOfferRequest {
                    session_id,
                    player_id,
                    offer_id: table.offer_of(mine)?.offer_id,
                    ..Default::default()
                };
                sent!(client.withdraw_offer(request))
            }
            _ => return None,
        };
        Some(done)
    }

    fn done(&mut self, done: Done) -> io::Result<()> {
        match done {
            Ok(Answer::Words(text)) => self.stage.answer(text, Ink::Good),
            Ok(Answer::Receipt(sequence)) => {
                self.done_at = sequence;
                Ok(())
            }
            Ok(Answer::Nothing) => Ok(()),
            Err(error) => {
                let text = self.lang.refused(&error, self.stage.now_ms());
                self.stage.answer(text, Ink::Bad)
            }
        }
    }
}

/// Whether a command from a script has come to its time.
fn can_be_done(command: &Command, table: &Table) -> bool {
    let ended = table.ending.is_some();
    let playing = table.turn.is_some();
    match command {
        // In a demonstration there is no turn of one's own to wait for.
        _ if table.me.is_none() => true,
        Command::Place(_) | Command::Hint | Command::Moves => {
            ended || (table.my_turn().is_some() && !table.legal().is_empty())
        }
        Command::Resign | Command::Offer(OfferWhat::Exit | OfferWhat::Draw) | Command::Leave => {
            ended || playing
        }
        Command::Offer(OfferWhat::Rematch) => ended,
        Command::Ready(_) | Command::Unready => ended || playing || table.phase == v1::SessionPhase::Waiting,
        Command::Accept | Command::Decline => {
            ended || table.me.and_then(|me| table.offer_of(other(me))).is_some()
        }
        Command::Withdraw => ended || table.me.and_then(|me| table.offer_of(me)).is_some(),
        Command::Board | Command::Help | Command::Quit => true,
    }
}

/// What the engine would play, found off the async threads.
fn hint(table: &Table, lang: Lang) -> Option<BoxFuture<'static, Done>> {
    let turn = table.turn?;
    let position = table.grid?.position(Some(turn.colour))?;
    let level = Level::new(HINT_LEVEL).unwrap_or_default();
    Some(Box::pin(async move {
        let chosen = tokio::task::spawn_blocking(move || bot::chosen(&position, level)).await;
        let words = chosen.ok().flatten().map(|chosen| lang.hint(chosen.as_str()));
        Ok(words.map_or(Answer::Nothing, Answer::Words))
    }))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
