//! Connections: their number, and the limits of a request.
//!
//! At the limit, the oldest connection that has not shown the token is closed; without one, the oldest that
//! is no page's WebSocket: a browser opens another when it needs one. So strangers cannot keep a user
//! out by holding connections, and a page beyond the last place gets the reason.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::{App, supervise};
use crate::source::lock;

/// A connection as its requests see it.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// It has shown the token.
    is_known: AtomicBool,
    /// It has become a page's WebSocket.
    is_viewer: AtomicBool,
    close: Notify,
}

impl Connection {
    /// Notes that the connection has shown the token.
    pub(super) fn know(&self) {
        // Relaxed: only this thread reads it.
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Notes that the connection is a page's WebSocket.
    pub(super) fn view(&self) {
        // Relaxed: as above.
        self.is_viewer.store(true, Ordering::Relaxed);
    }

    /// Whether another connection may have its place.
    fn is_spare(&self, may_be_known: bool) -> bool {
        let is_viewer = self.is_viewer.load(Ordering::Relaxed);
        !is_viewer && (may_be_known || !self.is_known.load(Ordering::Relaxed))
    }
}

/// All connections, oldest first. One is open while its service, or the viewer that it became, holds it.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<VecDeque<Weak<Connection>>>);

impl Connections {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Serves a connection in a task, if there is room or room can be made.
    pub(super) fn serve(&self, app: &Arc<App>, stream: TcpStream, router: Router) {
        let connection = Arc::new(Connection::default());
        if !self.admit(&connection) {
            // Dropping the stream closes it.
            return;
        }
        // Frames leave at once. A failure only costs time.
        let _is_set = stream.set_nodelay(true).is_ok();
        let service = TowerToHyperService::new(router.layer(Extension(Arc::clone(&connection))));
        let task = async move {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new());
            builder.header_read_timeout(HEAD_TIMEOUT);
            builder.max_buf_size(HEAD_BYTES_MAX);
            builder.max_headers(HEADERS_MAX);
            let served = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
            tokio::select! {
                // A client that breaks HTTP ends its own connection only.
                _ended = served => {}
                () = connection.close.notified() => {}
            }
        };
        tokio::spawn(supervise(Arc::clone(app), task));
    }

    fn admit(&self, connection: &Arc<Connection>) -> bool {
        let mut list = lock(&self.0);
        list.retain(|it| it.strong_count() > 0);
        if list.len() >= CONNECTIONS_MAX {
            let spare = |may_be_known: bool| {
                let mut open = list.iter().map(Weak::upgrade);
                open.position(|it| it.is_some_and(|it| it.is_spare(may_be_known)))
            };
            let Some(at) = spare(false).or_else(|| spare(true)) else { return false };
            if let Some(oldest) = list.remove(at).and_then(|it| it.upgrade()) {
                oldest.close.notify_one();
            }
        }
        list.push_back(Arc::downgrade(connection));
        true
    }
}

/// Open connections.
const CONNECTIONS_MAX: usize = 32;
/// The time for the head of a request, and between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Headers of a request.
const HEADERS_MAX: usize = 64;
