//! A bot: a client like any other that plays what the engine says.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tablemate_client::{Client, Error, Reason, Update, UpdateKind, Watch, WatchFrom, v1};
use tablemate_engine::game;
use tablemate_engine::policy::{self, Policy};
use tablemate_engine::reversi::{Move, Position};
use tablemate_engine::search::Level;

use crate::board::clock::ServerClock;
use crate::board::table::{Table, other};

/// How a bot plays.
#[derive(Clone, Debug)]
pub struct Bot {
    /// Its player id.
    pub player_id: String,
    /// How strong it is.
    pub level: Level,
    /// How long it waits after the discs of the last move lie still, so that people can follow.
    pub pause: Duration,
}

/// What the engine plays in a position. Searches for as long as its level takes: not for an async thread.
#[must_use]
pub fn chosen(position: &Position, level: Level) -> Option<Move> {
    let policy = Policy::Engine { level };
    // The engine's choice is a function of position and level; the seed decides nothing.
    let chosen = policy::choose(&game::Position::from(*position), policy, 0)?;
    let game::Move::Reversi(chosen) = chosen;
    Some(chosen)
}

impl Bot {
    /// Plays a session to its end, and the rematches that are asked of it.
    ///
    /// # Errors
    ///
    /// The service cannot be reached any more, or refuses what it should not.
    pub async fn play(self, client: Client, session_id: String) -> anyhow::Result<()> {
        let mut next = Some(session_id);
        while let Some(session_id) = next {
            next = Seated::new(&self, &client, &session_id).play().await?;
        }
        Ok(())
    }
}

/// A bot in one session.
struct Seated<'a> {
    bot: &'a Bot,
    client: &'a Client,
    session_id: &'a str,
    watch: Watch,
    table: Table,
    clock: ServerClock,
    /// The last ply (of the game) that it has moved for.
    moved: Option<(u32, u32)>,
}

impl<'a> Seated<'a> {
    fn new(bot: &'a Bot, client: &'a Client, session_id: &'a str) -> Seated<'a> {
        Seated {
            bot,
            client,
            session_id,
            watch: client.watch(session_id, bot.player_id.clone(), WatchFrom::Snapshot),
            table: Table::default(),
            clock: ServerClock::default(),
            moved: None,
        }
    }

    /// Plays until there is nothing more to play; gives the session of a rematch.
    async fn play(mut self) -> anyhow::Result<Option<String>> {
        while let Some(update) = self.watch.next().await {
            self.hear(&update.context("the bot lost the session")?);
            if !self.table.next_session_id.is_empty() {
                return Ok(Some(self.table.next_session_id));
            }
            match self.react().await {
                Err(error) if !happens(&error) => return Err(error).context("the bot was refused"),
                _ => {}
            }
        }
        Ok(None)
    }

    fn hear(&mut self, update: &Update) {
        if let Some(now) = &update.server_now {
            self.clock.hear(crate::board::table::ms(now), Instant::now());
        }
        match &update.kind {
            UpdateKind::Snapshot(session) | UpdateKind::Resynchronise(session) => {
                self.table = Table::of(session, &self.bot.player_id);
                self.moved = None;
            }
            UpdateKind::Event(event) => {
                self.table.apply(event, &self.bot.player_id);
            }
            UpdateKind::Presence(_) | UpdateKind::Heartbeat { .. } => {}
        }
    }

    async fn react(&mut self) -> Result<(), Error> {
        let Some(me) = self.table.me else {
            return Ok(());
        };
        if let Some(offer) = self.table.offer_of(other(me)).copied() {
            // A bot is glad to stop or to play again, but a draw is decided on the board.
            let accept = offer.kind() != v1::OfferKind::Draw;
            let request = v1::AnswerOfferRequest {
                session_id: self.session_id.to_owned(),
                player_id: self.bot.player_id.clone(),
                offer_id: offer.offer_id,
                accept,
                ..Default::default()
            };
            self.client.answer_offer(request).await?;
            return Ok(());
        }
        let ready = self.table.seat(me).is_some_and(|seat| seat.ready);
        if self.table.phase == v1::SessionPhase::Waiting && !ready {
            let request = v1::SetReadyRequest {
                session_id: self.session_id.to_owned(),
                player_id: self.bot.player_id.clone(),
                ready: true,
                ..Default::default()
            };
            self.client.set_ready(request).await?;
            return Ok(());
        }
        self.make_move().await
    }

    async fn make_move(&mut self) -> Result<(), Error> {
        let (Some(turn), Some(grid)) = (self.table.my_turn(), self.table.grid) else {
            return Ok(());
        };
        let ply = (self.table.game_number, turn.ply);
        let position = grid.position(Some(turn.colour));
        // Where it has to pass the service does so.
        let Some(position) = position.filter(|position| !position.must_pass()) else {
            return Ok(());
        };
        if self.moved == Some(ply) {
            return Ok(());
        }
        self.moved = Some(ply);
        let level = self.bot.level;
        let chosen = tokio::task::spawn_blocking(move || chosen(&position, level)).await;
        let Ok(Some(chosen)) = chosen else {
            return Ok(());
        };
        let still_ms = turn
            .clock_start_ms
            .saturating_sub(self.clock.now_ms(Instant::now()));
        tokio::time::sleep(Duration::from_millis(still_ms).saturating_add(self.bot.pause)).await;
        let request = v1::PlayRequest {
            session_id: self.session_id.to_owned(),
            player_id: self.bot.player_id.clone(),
            ply: turn.ply,
            r#move: chosen.to_string(),
            ..Default::default()
        };
        self.client.play(request).await?;
        Ok(())
    }
}

/// Whether a refusal only says that the session went on meanwhile: the stream tells how.
fn happens(error: &Error) -> bool {
    let passing = [
        Reason::Stale,
        Reason::MoveTooLate,
        Reason::NotYourTurn,
        Reason::GameNotOn,
        Reason::GameOn,
        Reason::SessionEnded,
        Reason::OfferGone,
        Reason::NoChange,
        Reason::PlayerBusy,
    ];
    passing.into_iter().any(|reason| error.is(reason))
}
