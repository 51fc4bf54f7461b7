//! The body of a process's answer on its way to a page.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::HttpBody;
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::server::connection::Busy;

/// The body of an answer, of a bounded length and time.
pub(super) struct BoundedBody {
    body: Incoming,
    left_bytes: usize,
    timeout: Pin<Box<Sleep>>,
    _busy: Busy,
}

impl BoundedBody {
    pub(super) fn new(body: Incoming, busy: Busy) -> Self {
        let timeout = Box::pin(sleep(BODY_TIMEOUT));
        Self { body, left_bytes: BODY_BYTES_MAX, timeout, _busy: busy }
    }
}

impl HttpBody for BoundedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.timeout.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map(|frame| {
            let frame = frame?.map_err(io::Error::other);
            let len = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
            match self.left_bytes.checked_sub(len) {
                Some(left) => {
                    self.left_bytes = left;
                    Some(frame)
                }
                None => Some(Err(io::ErrorKind::FileTooLarge.into())),
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The time for the body of an answer.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest body. A list of 16,384 gaps as CSV has about 1 MiB.
const BODY_BYTES_MAX: usize = 16 << 20;
