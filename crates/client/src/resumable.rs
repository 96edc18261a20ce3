//! The part that all streams share: open, read, and when the connection is lost open again on the next replica.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures::Stream;
use futures::future::BoxFuture;
use tokio::time::Sleep;
use tonic::{Status, Streaming};

use crate::error::{Failure, Refusal, judge};
use crate::pool::Lease;
use crate::{Client, Error};

/// What is special to one kind of stream.
pub(crate) trait Source: Unpin {
    /// What comes over the wire.
    type Message: Unpin;
    /// What is handed to the caller.
    type Item;

    /// Opens the stream where the last one ended, on the replica whose turn it is.
    fn open(&self, turn: usize) -> BoxFuture<'static, Result<Opened<Self::Message>, Status>>;

    /// Takes a message.
    fn take(&mut self, message: Self::Message) -> Take<Self::Item>;

    /// The service closed the stream without an error. Whether that is its end; otherwise it is opened again.
    fn closed(&mut self) -> bool {
        false
    }
}

/// An open stream and the place that it holds on a shared connection.
pub(crate) type Opened<M> = (Streaming<M>, Lease);

/// What a message means.
pub(crate) enum Take<I> {
    /// Something for the caller.
    Item(I),
    /// Nothing for the caller.
    Nothing,
    /// Something for the caller, and the end.
    Last(I),
    /// The end.
    End,
    /// The service sends the watcher elsewhere, or what it sent cannot be used: open again.
    Again,
}

/// A stream that survives the loss of its connections. All its state is in here, so a caller may stop waiting for the
/// next item at any time and lose nothing.
pub(crate) struct Resumable<S: Source> {
    client: Client,
    pub(crate) source: S,
    link: Link<S::Message>,
    turn: usize,
    /// When the connection was lost, while there is none.
    lost_at: Option<Instant>,
    /// Attempts that failed since anything was heard.
    failed: u32,
    last: Option<Box<Refusal>>,
    reconnects: u64,
}

enum Link<M> {
    Waiting(Pin<Box<Sleep>>),
    Opening(BoxFuture<'static, Result<Opened<M>, Status>>),
    Open(Box<Open<M>>),
    Closed,
}

struct Open<M> {
    stream: Streaming<M>,
    _lease: Lease,
    heard_at: Instant,
    silence: Pin<Box<Sleep>>,
}

impl<S: Source> Resumable<S> {
    pub(crate) fn new(client: Client, source: S) -> Self {
        let turn = client.turn();
        Resumable {
            link: Link::Opening(source.open(turn)),
            client,
            source,
            turn,
            lost_at: Some(Instant::now()),
            failed: 0,
            last: None,
            reconnects: 0,
        }
    }

    /// How often the stream was opened again.
    pub(crate) fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// Drops the connection; the next item comes over a new one.
    pub(crate) fn drop_connection(&mut self) {
        if !matches!(self.link, Link::Closed) {
            self.again(Duration::ZERO);
        }
    }

    fn again(&mut self, wait: Duration) {
        self.turn = self.turn.wrapping_add(1);
        self.lost_at.get_or_insert_with(Instant::now);
        self.reconnects = self.reconnects.saturating_add(1);
        self.link = if wait.is_zero() {
            Link::Opening(self.source.open(self.turn))
        } else {
            Link::Waiting(Box::pin(tokio::time::sleep(wait)))
        };
    }

    /// Counts a failure; gives the error when it is to be the last.
    fn fail(&mut self, refusal: Refusal, failure: Failure) -> Option<Error> {
        if failure == Failure::Final {
            self.link = Link::Closed;
            return Some(Error::Refused(Box::new(refusal)));
        }
        self.failed = self.failed.saturating_add(1);
        let elapsed = self.lost_at.get_or_insert_with(Instant::now).elapsed();
        let config = self.client.config();
        let wait = config
            .backoff(self.failed)
            .max(refusal.retry_after.unwrap_or_default());
        if elapsed.saturating_add(wait) >= config.stream_budget {
            self.link = Link::Closed;
            return Some(Error::Unavailable {
                attempts: self.failed,
                elapsed,
                outcome_unknown: false,
                last: Box::new(refusal),
            });
        }
        tracing::debug!(%refusal, failed = self.failed, "opening the stream again");
        self.last = Some(Box::new(refusal));
        self.again(wait.max(Duration::from_millis(1)));
        None
    }

    fn fail_status(&mut self, status: &Status) -> Option<Error> {
        let refusal = Refusal::of(status);
        let failure = judge(status, &refusal);
        self.fail(refusal, failure)
    }

    /// The connection ended in a way that is nobody's refusal.
    fn fail_quietly(&mut self, message: &str) -> Option<Error> {
        let refusal = Refusal::of(&Status::unavailable(message));
        self.fail(refusal, Failure::NotDone)
    }

    /// The next item; `None` after the end.
    pub(crate) async fn next(&mut self) -> Option<Result<S::Item, Error>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<S::Item, Error>>> {
        loop {
            let error = match &mut self.link {
                Link::Closed => return Poll::Ready(None),
                Link::Waiting(sleep) => {
                    ready!(sleep.as_mut().poll(context));
                    self.link = Link::Opening(self.source.open(self.turn));
                    None
                }
                Link::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok((stream, lease)) => {
                        let silence = Box::pin(tokio::time::sleep(self.client.config().silence));
                        self.link = Link::Open(Box::new(Open {
                            stream,
                            _lease: lease,
                            heard_at: Instant::now(),
                            silence,
                        }));
                        None
                    }
                    Err(status) => self.fail_status(&status),
                },
                Link::Open(open) => match Pin::new(&mut open.stream).poll_next(context) {
                    Poll::Ready(Some(Ok(message))) => {
                        open.heard_at = Instant::now();
                        self.lost_at = None;
                        self.failed = 0;
                        match self.source.take(message) {
                            Take::Item(item) => return Poll::Ready(Some(Ok(item))),
                            Take::Nothing => None,
                            Take::Last(item) => {
                                self.link = Link::Closed;
                                return Poll::Ready(Some(Ok(item)));
                            }
                            Take::End => {
                                self.link = Link::Closed;
                                return Poll::Ready(None);
                            }
                            Take::Again => self.fail_quietly("sent elsewhere"),
                        }
                    }
                    Poll::Ready(Some(Err(status))) => self.fail_status(&status),
                    Poll::Ready(None) if self.source.closed() => {
                        self.link = Link::Closed;
                        return Poll::Ready(None);
                    }
                    Poll::Ready(None) => self.fail_quietly("the stream was closed"),
                    Poll::Pending => {
                        // One timer for many messages: it is set anew only when it has run out.
                        ready!(open.silence.as_mut().poll(context));
                        let limit = self.client.config().silence;
                        let silent = open.heard_at.elapsed();
                        if silent < limit {
                            let until = tokio::time::Instant::now() + limit.saturating_sub(silent);
                            open.silence.as_mut().reset(until);
                            None
                        } else {
                            self.fail_quietly("silent for too long")
                        }
                    }
                },
            };
            if let Some(error) = error {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}
