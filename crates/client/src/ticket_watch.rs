//! Watching a ticket until it is matched.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use tonic::Status;

use crate::resumable::{Opened, Resumable, Source, Take};
use crate::{Client, Error, v1};

/// A ticket now and at each change, on whatever replica answers; ends when it is matched, cancelled or expired.
pub struct TicketWatch {
    stream: Resumable<TicketSource>,
}

impl TicketWatch {
    pub(crate) fn new(client: Client, ticket_id: String, player_id: String) -> TicketWatch {
        let source = TicketSource {
            client: client.clone(),
            ticket_id,
            player_id,
        };
        TicketWatch {
            stream: Resumable::new(client, source),
        }
    }

    /// The ticket at its next change; the first answer is the ticket as it stands. `None` after the last one.
    ///
    /// # Errors
    ///
    /// The service refused (an unknown ticket), or no replica answered within the stream's budget.
    pub async fn next(&mut self) -> Option<Result<v1::Ticket, Error>> {
        self.stream.next().await
    }

    /// Waits until the ticket is no longer searching.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub async fn settled(&mut self) -> Result<v1::Ticket, Error> {
        while let Some(ticket) = self.next().await {
            let ticket = ticket?;
            if is_final(&ticket) {
                return Ok(ticket);
            }
        }
        Err(Error::Contract(
            "a ticket's stream ended before the ticket".to_owned(),
        ))
    }
}

impl Stream for TicketWatch {
    type Item = Result<v1::Ticket, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll(context)
    }
}

impl fmt::Debug for TicketWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketWatch")
            .field("ticket_id", &self.stream.source.ticket_id)
            .finish_non_exhaustive()
    }
}

fn is_final(ticket: &v1::Ticket) -> bool {
    matches!(
        ticket.state(),
        v1::TicketState::Matched | v1::TicketState::Cancelled | v1::TicketState::Expired
    )
}

struct TicketSource {
    client: Client,
    ticket_id: String,
    player_id: String,
}

impl Source for TicketSource {
    type Message = v1::WatchTicketResponse;
    type Item = v1::Ticket;

    fn open(&self, turn: usize) -> BoxFuture<'static, Result<Opened<Self::Message>, Status>> {
        let request = v1::WatchTicketRequest {
            ticket_id: self.ticket_id.clone(),
            player_id: self.player_id.clone(),
        };
        Box::pin(self.client.clone().open_ticket(turn, request))
    }

    fn take(&mut self, message: Self::Message) -> Take<v1::Ticket> {
        match message.ticket {
            Some(ticket) if is_final(&ticket) => Take::Last(ticket),
            Some(ticket) => Take::Item(ticket),
            None => Take::Nothing,
        }
    }
}
