//! Connections of this user's other programs: `docs/web.md#sockets`.
//!
//! The program has accepted them at a socket that admits this user only, and has read the first request.
//! So they need no token. They read the account and get frames; they change nothing.

use std::convert::Infallible;
use std::future;
use std::io::Cursor;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::connection::{Connection, Connections};
use super::{App, reading};

/// Hands connections of this user's other programs over to the page.
#[derive(Clone, Debug)]
pub struct LocalAnswers(mpsc::Sender<Handed>);

/// A connection, and the bytes that were read from it.
#[derive(Debug)]
pub(crate) struct Handed {
    stream: UnixStream,
    read: Vec<u8>,
}

impl LocalAnswers {
    /// Creates both ends.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<Handed>) {
        let (sender, receiver) = mpsc::channel(HANDED_MAX);
        (Self(sender), receiver)
    }

    /// Answers the requests of a connection, from which `read` was read. Returns whether there is room for
    /// it; without room it is closed. The call does not wait.
    pub fn take(&self, stream: UnixStream, read: Vec<u8>) -> bool {
        self.0.try_send(Handed { stream, read }).is_ok()
    }
}

/// Serves connections until it is dropped.
pub(super) async fn serve(app: &Arc<App>, mut handed: mpsc::Receiver<Handed>) -> Infallible {
    let router = reading().with_state(Arc::clone(app));
    // Apart from those of browsers: neither takes a place of the other.
    let connections = Connections::new();
    while let Some(Handed { stream, read }) = handed.recv().await {
        let stream =
            stream.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(stream));
        // Without a file descriptor this connection is closed, and others go on.
        let Ok(stream) = stream else { continue };
        let (reader, writer) = stream.into_split();
        let stream = tokio::io::join(Cursor::new(read).chain(reader), writer);
        connections.serve(app, stream, router.clone(), Connection::known());
    }
    // The program offers no socket.
    future::pending().await
}

/// Connections that wait for the page's thread.
const HANDED_MAX: usize = 16;
