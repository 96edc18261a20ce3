//! A simulated player who queues, plays, and watches.

use std::time::{Duration, Instant};

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use tablemate_client::{Error, Reason, WatchFrom, v1};

use crate::commands::load::context::Context;
use crate::commands::load::stats::{Broken, Timed, count};
use crate::commands::load::watching::Watching;

/// How long the other player's resignation, or the rest of the stream, is waited for after the stop.
const LINGER: Duration = Duration::from_secs(30);
/// How long a player waits who is told to be busy although the last session has ended.
const BUSY_WAIT: Duration = Duration::from_millis(50);
/// How often that is put up with.
const BUSY_MAX: u32 = 100;

/// What one player's games came to, for the comparison with the player's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

impl Tally {
    fn add(&mut self, result: &v1::GameResult, seat: u32) {
        match (result.outcome(), seat) {
            (v1::Outcome::Seat1Wins, 1) | (v1::Outcome::Seat2Wins, 2) => self.wins += 1,
            (v1::Outcome::Seat1Wins | v1::Outcome::Seat2Wins, _) => self.losses += 1,
            (v1::Outcome::Draw, _) => self.draws += 1,
            _ => {}
        }
    }
}

/// Plays until told to stop; gives the player's name and what the games came to.
pub async fn play(context: &Context, number: u32) -> (String, Tally) {
    let mut player = Player {
        context,
        id: format!("load-{}-{number}", context.run),
        rng: context.rng(number),
        tally: Tally::default(),
    };
    let mut busy = 0;
    while !context.stop.is_cancelled() {
        match player.find_game().await {
            Ok(Some((session_id, seat))) => {
                busy = 0;
                player.play_session(&session_id, seat).await;
            }
            Ok(None) => {}
            Err(error) if error.is(Reason::PlayerBusy) => {
                busy += 1;
                if busy == BUSY_MAX {
                    context.stats.violation(Broken::Unfinished.because(format!(
                        "player {} stays busy without a session: {error}",
                        player.id
                    )));
                    break;
                }
                tokio::time::sleep(BUSY_WAIT).await;
            }
            // Counted where it was made; not all at once again.
            Err(_) => {
                tokio::select! {
                    () = context.stop.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_millis(200)) => {}
                }
            }
        }
    }
    (player.id, player.tally)
}

struct Player<'a> {
    context: &'a Context,
    id: String,
    rng: ChaCha8Rng,
    tally: Tally,
}

impl Player<'_> {
    /// Queues, ready to play, until there is a session; `None` when there will be none.
    async fn find_game(&mut self) -> Result<Option<(String, u32)>, Error> {
        let (client, stats) = (&self.context.client, &self.context.stats);
        let began = Instant::now();
        let request = v1::CreateTicketRequest {
            player_id: self.id.clone(),
            settings: Some(self.context.settings.clone()),
            ready: true,
            ..Default::default()
        };
        let created = stats
            .call(Timed::CreateTicket, client.create_ticket(request))
            .await?;
        let mut ticket = created.ticket.unwrap_or_default();
        if ticket.state() == v1::TicketState::Searching {
            let mut watch = client.watch_ticket(&ticket.ticket_id, &self.id);
            let settled = tokio::select! {
                settled = watch.settled() => Some(settled?),
                () = self.context.stop.cancelled() => None,
            };
            match settled {
                Some(settled) => ticket = settled,
                None => return self.cancel(&ticket.ticket_id).await,
            }
        }
        if ticket.state() != v1::TicketState::Matched {
            return Ok(None);
        }
        stats.record(Timed::Matched, began.elapsed());
        self.context
            .journal
            .matched(&ticket.session_id, &self.id, ticket.seat);
        Ok(Some((ticket.session_id, ticket.seat)))
    }

    /// Stops searching; when the match came first, its session is to be played.
    async fn cancel(&mut self, ticket_id: &str) -> Result<Option<(String, u32)>, Error> {
        let (client, stats) = (&self.context.client, &self.context.stats);
        let request = v1::CancelTicketRequest {
            ticket_id: ticket_id.to_owned(),
            player_id: self.id.clone(),
            ..Default::default()
        };
        match stats
            .call(Timed::CancelTicket, client.cancel_ticket(request))
            .await
        {
            Ok(_) => Ok(None),
            Err(error) if error.is(Reason::AlreadyMatched) => {
                let request = v1::GetTicketRequest {
                    ticket_id: ticket_id.to_owned(),
                    player_id: self.id.clone(),
                };
                let ticket = client.get_ticket(request).await?.ticket.unwrap_or_default();
                if ticket.state() == v1::TicketState::Matched {
                    Ok(Some((ticket.session_id, ticket.seat)))
                } else {
                    stats.violation(Broken::Contradiction.because(format!(
                        "ticket {ticket_id}: ALREADY_MATCHED, but it is {:?}",
                        ticket.state()
                    )));
                    Ok(None)
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn play_session(&mut self, session_id: &str, seat: u32) {
        let stats = &self.context.stats;
        let watch = self
            .context
            .client
            .watch(session_id, &self.id, WatchFrom::Snapshot);
        let mut watching = Watching::new(watch);
        let outcome = self.follow(session_id, seat, &mut watching).await;
        let (witness, mut violations) = watching.close(stats);
        let complete = witness.is_over();
        let (testimony, found) = witness.close();
        violations.extend(found);
        match outcome {
            Ok(()) if complete => {}
            Ok(()) => {
                violations.push(Broken::Unfinished.because("the stream ended before the session"));
            }
            Err(error) => {
                stats.refused(Timed::EventDelivery, &error);
                violations.push(Broken::Unfinished.because(format!("the stream failed: {error}")));
            }
        }
        for violation in violations {
            stats.violation(violation.at(&format!("session {session_id}, {}", self.id)));
        }
        if !complete {
            return;
        }
        for result in testimony.results.values() {
            self.tally.add(result, seat);
        }
        let (last, results) = (testimony.last, testimony.results.clone());
        if self.context.testify(session_id, testimony) {
            self.context.game_finished();
            self.check_session(session_id, last, results.into_values().collect())
                .await;
        }
    }

    /// Plays and watches until the session is over.
    async fn follow(&mut self, session_id: &str, seat: u32, watching: &mut Watching) -> Result<(), Error> {
        let mut acted_ply = 0;
        let mut resigned = false;
        let mut give_up = None;
        while !watching.witness.is_over() {
            let stopping = self.context.stop.is_cancelled();
            if stopping && !resigned && watching.witness.turn().is_some() {
                resigned = true;
                self.resign(session_id).await;
            }
            let due = watching
                .witness
                .turn()
                .filter(|turn| turn.seat == seat && turn.ply > acted_ply)
                .map(|turn| turn.ply);
            if let Some(ply) = due.filter(|_| !resigned) {
                acted_ply = ply;
                self.think(watching).await?;
                // While the player thought, time may have run out or the game may have ended.
                let still = watching
                    .witness
                    .turn()
                    .is_some_and(|turn| turn.seat == seat && turn.ply == ply);
                if still {
                    self.make_move(session_id, ply, watching).await;
                }
                continue;
            }
            let events = watching.events;
            let more = if stopping {
                let until = *give_up.get_or_insert_with(|| tokio::time::Instant::now() + LINGER);
                match tokio::time::timeout_at(until, watching.read(&self.context.stats)).await {
                    Ok(read) => read?,
                    Err(_) => false,
                }
            } else {
                tokio::select! {
                    read = watching.read(&self.context.stats) => read?,
                    () = self.context.stop.cancelled() => true,
                }
            };
            if !more {
                break;
            }
            if watching.events > events && self.context.disconnects > 0.0 && !stopping {
                self.perhaps_disconnect(watching).await;
            }
        }
        Ok(())
    }

    /// Waits for the thinking time and reads what comes meanwhile.
    async fn think(&mut self, watching: &mut Watching) -> Result<(), Error> {
        let time = self.context.thinking(&mut self.rng);
        if time.is_zero() {
            return Ok(());
        }
        let until = tokio::time::Instant::now() + time;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(()),
                () = self.context.stop.cancelled() => return Ok(()),
                read = watching.read(&self.context.stats) => if !read? {
                    return Ok(());
                },
            }
        }
    }

    async fn make_move(&mut self, session_id: &str, ply: u32, watching: &mut Watching) {
        let Some(position) = watching.witness.position() else {
            return;
        };
        let Some(mv) = self.context.choose(position, &mut self.rng) else {
            return;
        };
        let (client, stats) = (&self.context.client, &self.context.stats);
        let request = v1::PlayRequest {
            request_id: tablemate_client::request_id(),
            session_id: session_id.to_owned(),
            player_id: self.id.clone(),
            ply,
            r#move: mv.to_string(),
            ..Default::default()
        };
        let repeat = (self.context.repeats > 0.0 && self.rng.random_bool(self.context.repeats))
            .then(|| request.clone());
        match stats.call(Timed::Play, client.play(request)).await {
            Ok(answer) => {
                count(&stats.counters.moves);
                let receipt = answer.receipt.unwrap_or_default();
                let own = receipt.events.first();
                match own.and_then(|event| Some((event.sequence, event.kind.as_ref()?))) {
                    Some((sequence, v1::event::Kind::Moved(moved))) if moved.ply == ply => {
                        watching.witness.acknowledged(sequence, ply, moved.r#move.clone());
                        self.context
                            .journal
                            .moved(session_id, &self.id, ply, &moved.r#move, sequence);
                    }
                    _ => stats.violation(Broken::Contradiction.because(format!(
                        "session {session_id}: the receipt of ply {ply} does not begin with it"
                    ))),
                }
                if let Some(request) = repeat {
                    self.repeat(request, &receipt).await;
                }
            }
            Err(error) if is_race(&error) => {}
            Err(Error::Unavailable { .. }) => {}
            Err(error) => stats.violation(Broken::Contradiction.because(format!(
                "session {session_id}: {mv} of ply {ply} was refused: {error}"
            ))),
        }
    }

    /// Sends an acknowledged move again: the answer must be the first one's (S-25).
    async fn repeat(&self, request: v1::PlayRequest, first: &v1::Receipt) {
        let (client, stats) = (&self.context.client, &self.context.stats);
        count(&stats.counters.repeats);
        let (session_id, ply) = (request.session_id.clone(), request.ply);
        match stats.call(Timed::Play, client.play(request)).await {
            Ok(answer) => {
                let again = answer.receipt.unwrap_or_default();
                let same = (again.first_sequence, again.last_sequence)
                    == (first.first_sequence, first.last_sequence)
                    && again.events == first.events;
                if !same {
                    stats.violation(Broken::Contradiction.because(format!(
                        "session {session_id}: ply {ply} was answered differently again: {first:?} and {again:?}"
                    )));
                }
            }
            Err(Error::Unavailable { .. }) => {}
            Err(error) => stats.violation(Broken::Contradiction.because(format!(
                "session {session_id}: ply {ply} was refused when repeated: {error}"
            ))),
        }
    }

    async fn resign(&self, session_id: &str) {
        let (client, stats) = (&self.context.client, &self.context.stats);
        let request = v1::ResignRequest {
            session_id: session_id.to_owned(),
            player_id: self.id.clone(),
            ..Default::default()
        };
        match stats.call(Timed::Resign, client.resign(request)).await {
            Ok(_) => {}
            Err(error) if is_race(&error) || matches!(error, Error::Unavailable { .. }) => {}
            Err(error) => stats.violation(
                Broken::Contradiction
                    .because(format!("session {session_id}: resigning was refused: {error}")),
            ),
        }
    }

    async fn perhaps_disconnect(&mut self, watching: &mut Watching) {
        if !self.rng.random_bool(self.context.disconnects) {
            return;
        }
        count(&self.context.stats.counters.disconnects);
        watching.drop_connection();
        let away = self.context.away.mul_f64(self.rng.random_range(0.0..=1.0));
        tokio::select! {
            () = tokio::time::sleep(away) => {}
            () = self.context.stop.cancelled() => {}
        }
    }

    /// The session as it stands must be what both players were told.
    async fn check_session(&self, session_id: &str, last: u64, results: Vec<v1::GameResult>) {
        let (client, stats) = (&self.context.client, &self.context.stats);
        let request = v1::GetSessionRequest {
            session_id: session_id.to_owned(),
            viewer_id: self.id.clone(),
        };
        match stats.call(Timed::GetSession, client.get_session(request)).await {
            Ok(answer) => {
                let session = answer.session.unwrap_or_default();
                if session.sequence < last || session.results != results {
                    stats.violation(Broken::Contradiction.because(format!(
                        "session {session_id}: a read shows event {} and {} results, the stream {last} and {}",
                        session.sequence,
                        session.results.len(),
                        results.len()
                    )));
                }
            }
            Err(Error::Unavailable { .. }) => {}
            Err(error) => stats.violation(
                Broken::Contradiction.because(format!("session {session_id}: reading was refused: {error}")),
            ),
        }
    }
}

/// Refusals that an honest player may meet: the clock, the server or the other player was faster.
fn is_race(error: &Error) -> bool {
    [
        Reason::Stale,
        Reason::MoveTooLate,
        Reason::NotYourTurn,
        Reason::GameNotOn,
        Reason::SessionEnded,
    ]
    .into_iter()
    .any(|reason| error.is(reason))
}
