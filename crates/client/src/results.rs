//! Reading results (S-21).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use tonic::Status;

use crate::resumable::{Opened, Resumable, Source, Take};
use crate::v1::stream_results_response::Entry;
use crate::{Client, Error, v1};

/// Results after a cursor, at least once, in order per session, resumed on any replica.
pub struct Results {
    stream: Resumable<ResultSource>,
}

impl Results {
    pub(crate) fn new(client: Client, cursor: String, follow: bool) -> Results {
        let source = ResultSource {
            client: client.clone(),
            cursor,
            follow,
        };
        Results {
            stream: Resumable::new(client, source),
        }
    }

    /// The next entry; `None` at the end of a stream that does not follow.
    ///
    /// # Errors
    ///
    /// The service refused (an unreadable cursor), or no replica answered within the stream's budget.
    pub async fn next(&mut self) -> Option<Result<Entry, Error>> {
        self.stream.next().await
    }

    /// Where to resume after the last entry that was handed out.
    #[must_use]
    pub fn cursor(&self) -> &str {
        &self.stream.source.cursor
    }
}

impl Stream for Results {
    type Item = Result<Entry, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll(context)
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results")
            .field("cursor", &self.stream.source.cursor)
            .finish_non_exhaustive()
    }
}

struct ResultSource {
    client: Client,
    cursor: String,
    follow: bool,
}

impl Source for ResultSource {
    type Message = v1::StreamResultsResponse;
    type Item = Entry;

    fn open(&self, turn: usize) -> BoxFuture<'static, Result<Opened<Self::Message>, Status>> {
        let request = v1::StreamResultsRequest {
            cursor: self.cursor.clone(),
            follow: self.follow,
        };
        Box::pin(self.client.clone().open_results(turn, request))
    }

    fn take(&mut self, message: Self::Message) -> Take<Entry> {
        self.cursor = message.cursor;
        message.entry.map_or(Take::Nothing, Take::Item)
    }

    fn closed(&mut self) -> bool {
        !self.follow
    }
}
