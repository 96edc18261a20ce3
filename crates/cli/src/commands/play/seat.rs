//! How a person comes to a seat: against a bot, through the pool, by an invitation, or back to an old one.

use std::time::Duration;

use tablemate_client::{Client, Error, v1};
use tablemate_engine::search::Level;

use super::{Args, Versus};
use crate::bot::Bot;

/// A player id has at most so many bytes.
const ID_MAX_BYTES: usize = 128;

/// What was asked for on the command line.
#[derive(Debug)]
pub struct Wish {
    player_id: String,
    how: How,
    settings: v1::SessionSettings,
    ready: bool,
    levels: [Level; 2],
    pause: Duration,
}

#[derive(Debug)]
enum How {
    VersusBot,
    Pool,
    Create,
    Join { session_id: String, token: String },
    Resume { session_id: String },
    Bots,
}

/// A seat, or the way to it.
#[derive(Debug)]
pub enum Asked {
    /// The session is there.
    Seated(Seat),
    /// Nobody has asked for the same game yet.
    Searching(Box<v1::Ticket>),
}

/// A session to be played or looked at.
#[derive(Debug)]
pub struct Seat {
    /// The session.
    pub session_id: String,
    /// With seat 2 open: what the other player shows to join.
    pub invitation_token: Option<String>,
    /// The bots that play in it.
    pub bots: Vec<Bot>,
}

impl Seat {
    fn of(session_id: String) -> Seat {
        Seat {
            session_id,
            invitation_token: None,
            bots: Vec::new(),
        }
    }
}

impl Wish {
    /// Reads the command line.
    pub fn of(args: &Args) -> Wish {
        let how = match (&args.join, &args.resume) {
            _ if args.bots => How::Bots,
            (Some(invitation), _) => How::Join {
                session_id: invitation.first().cloned().unwrap_or_default(),
                token: invitation.get(1).cloned().unwrap_or_default(),
            },
            (_, Some(session_id)) => How::Resume {
                session_id: session_id.clone(),
            },
            _ if args.create => How::Create,
            _ if args.vs == Versus::Human => How::Pool,
            _ => How::VersusBot,
        };
        let player_id = if args.bots {
            made_up("bot-1")
        } else {
            args.player.clone().unwrap_or_else(guest)
        };
        Wish {
            player_id,
            how,
            settings: args.rules.settings(),
            ready: args.ready,
            levels: [args.level, args.level_2],
            pause: args.pause,
        }
    }

    /// The person's player id.
    pub fn player_id(&self) -> &str {
        &self.player_id
    }

    /// Whether nobody but bots plays.
    pub fn is_demonstration(&self) -> bool {
        matches!(self.how, How::Bots)
    }

    /// Asks the service for the seat.
    pub async fn ask(&self, client: &Client) -> Result<Asked, Error> {
        match &self.how {
            How::VersusBot => {
                let bot = self.bot(made_up("bot"), 0);
                self.with_bots(client, &self.player_id, self.ready, vec![bot])
                    .await
            }
            How::Bots => {
                let bots = vec![self.bot(self.player_id.clone(), 0), self.bot(made_up("bot-2"), 1)];
                self.with_bots(client, &self.player_id, true, bots).await
            }
            How::Pool => self.queue(client).await,
            How::Create => {
                let request = v1::CreateSessionRequest {
                    seat_1_player_id: self.player_id.clone(),
                    settings: Some(self.settings.clone()),
                    seat_1_ready: self.ready,
                    ..Default::default()
                };
                let answer = client.create_session(request).await?;
                Ok(Asked::Seated(Seat {
                    invitation_token: Some(answer.invitation_token),
                    ..Seat::of(answer.session_id)
                }))
            }
            How::Join { session_id, token } => {
                let request = v1::JoinSessionRequest {
                    session_id: session_id.clone(),
                    player_id: self.player_id.clone(),
                    invitation_token: token.clone(),
                    ready: self.ready,
                    ..Default::default()
                };
                client.join_session(request).await?;
                Ok(Asked::Seated(Seat::of(session_id.clone())))
            }
            How::Resume { session_id } => Ok(Asked::Seated(Seat::of(session_id.clone()))),
        }
    }

    fn bot(&self, player_id: String, which: usize) -> Bot {
        Bot {
            player_id,
            level: self.levels.get(which).copied().unwrap_or_default(),
            pause: self.pause,
        }
    }

    /// A session whose seat 2 a bot of this process has. It is created as such and not looked for in the pool: a ticket
    /// there could be paired with anybody.
    async fn with_bots(
        &self,
        client: &Client,
        seat_1: &str,
        seat_1_ready: bool,
        bots: Vec<Bot>,
    ) -> Result<Asked, Error> {
        let seat_2 = bots.last().map(|bot| bot.player_id.clone()).unwrap_or_default();
        let request = v1::CreateSessionRequest {
            seat_1_player_id: seat_1.to_owned(),
            seat_2_player_id: seat_2,
            settings: Some(self.settings.clone()),
            seat_1_ready,
            seat_2_ready: true,
            ..Default::default()
        };
        let answer = client.create_session(request).await?;
        Ok(Asked::Seated(Seat {
            bots,
            ..Seat::of(answer.session_id)
        }))
    }

    async fn queue(&self, client: &Client) -> Result<Asked, Error> {
        let request = v1::CreateTicketRequest {
            player_id: self.player_id.clone(),
            settings: Some(self.settings.clone()),
            ready: self.ready,
            ..Default::default()
        };
        let ticket = client.create_ticket(request).await?.ticket.unwrap_or_default();
        if ticket.state() == v1::TicketState::Matched {
            return Ok(Asked::Seated(Seat::of(ticket.session_id)));
        }
        Ok(Asked::Searching(Box::new(ticket)))
    }
}

/// The session of a ticket that is searching no more; `None` when it was cancelled or has expired.
pub fn matched(ticket: v1::Ticket) -> Option<Seat> {
    (ticket.state() == v1::TicketState::Matched).then(|| Seat::of(ticket.session_id))
}

/// A player id for somebody who gave none: the login's name, and some letters, so that two terminals of one person can
/// play each other.
fn guest() -> String {
    let login = ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.is_empty() && name.len() <= ID_MAX_BYTES / 2 && !name.contains(char::is_control));
    made_up(login.as_deref().unwrap_or("guest"))
}

fn made_up(name: &str) -> String {
    let letters: String = tablemate_client::request_id().chars().take(6).collect();
    format!("{name}-{letters}")
}
