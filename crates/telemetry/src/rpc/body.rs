//! A response body that tells how its call ended.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tonic::Code;

use super::call::Call;

pin_project! {
    /// A response body that passes everything on and notes the status in the trailers. Dropped before them, its call
    /// counts as cancelled.
    #[derive(Debug)]
    pub struct TracedBody<B> {
        #[pin]
        inner: B,
        call: Option<Box<Call>>,
    }
}

impl<B> TracedBody<B> {
    pub(crate) fn new(inner: B, call: Option<Box<Call>>) -> Self {
        Self { inner, call }
    }
}

impl<B: Body> Body for TracedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        if this.call.is_none() {
            return this.inner.poll_frame(cx);
        }
        let frame = {
            let _entered = this.call.as_ref().map(|call| call.span().enter());
            ready!(this.inner.poll_frame(cx))
        };
        let Some(call) = this.call.as_mut() else {
            return Poll::Ready(frame);
        };
        let ended = match &frame {
            Some(Ok(frame)) => frame.trailers_ref().is_some_and(|trailers| {
                call.finish_with(trailers);
                true
            }),
            Some(Err(_)) => {
                call.finish(Code::Unavailable);
                true
            }
            // The end without a status: gRPC has none, plain HTTP does.
            None => {
                call.finish(Code::Unknown);
                true
            }
        };
        if ended {
            *this.call = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
