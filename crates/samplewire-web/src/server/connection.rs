//! Connections: their number, and the limits of a request.
//!
//! At the limit, the oldest connection that has not shown the token is closed; without one, the oldest that
//! is idle: a browser opens another when it needs one; without one, the oldest over which a list of gaps is
//! written. So strangers cannot keep a user out by holding connections, a download goes on while another
//! connection is idle, and a page beyond the last place gets the reason.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use super::{App, supervise};
use crate::source::lock;

/// A connection as its requests see it.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// It has shown the token.
    is_known: AtomicBool,
    /// A list of gaps is being written; other responses are short.
    is_busy: AtomicBool,
    /// It has become a page's WebSocket.
    is_viewer: AtomicBool,
    close: Notify,
}

impl Connection {
    /// A connection that needs no token.
    pub(super) fn known() -> Self {
        Self { is_known: true.into(), ..Self::default() }
    }

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

    /// How much is lost when another connection gets its place, 0 for the least; `None` if none may.
    fn rank(&self) -> Option<u8> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let rank = u8::from(is(&self.is_known)) + u8::from(is(&self.is_busy));
        (!is(&self.is_viewer)).then_some(rank)
    }
}

/// A connection over which a list of gaps is being written, until this is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Connection>);

impl Busy {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        // Relaxed: as above.
        connection.is_busy.store(true, Ordering::Relaxed);
        Self(connection)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Relaxed);
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
    pub(super) fn serve(
        &self,
        app: &Arc<App>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
        connection: Connection,
    ) {
        let connection = Arc::new(connection);
        if !self.admit(&connection) {
            // Dropping the stream closes it.
            return;
        }
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
            let ranks = list.iter().map(|it| it.upgrade()?.rank());
            let spare = ranks.enumerate().filter_map(|(at, rank)| Some((rank?, at))).min();
            let Some((_, at)) = spare else { return false };
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
pub(super) const HEAD_BYTES_MAX: usize = 8 << 10;
/// Headers of a request.
const HEADERS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Arc<Connection> {
        let connection = Arc::new(Connection::default());
        connection.know();
        connection
    }

    /// All places, taken by connections that have shown the token.
    fn full() -> (Connections, Vec<Arc<Connection>>) {
        let connections = Connections::new();
        let open: Vec<_> = (0..CONNECTIONS_MAX).map(|_| known()).collect();
        assert!(open.iter().all(|it| connections.admit(it)));
        (connections, open)
    }

    fn is_open(connections: &Connections, connection: &Arc<Connection>) -> bool {
        lock(&connections.0).iter().any(|it| it.as_ptr() == Arc::as_ptr(connection))
    }

    #[test]
    fn place_is_made_where_least_is_lost() {
        let (connections, open) = full();
        open[0].view();
        let busy = Busy::new(Arc::clone(&open[1]));
        let stranger = Arc::new(Connection::default());
        assert!(connections.admit(&stranger));
        assert!(!is_open(&connections, &open[2]), "the oldest that is idle");
        let mut pages = Vec::new();
        let mut page = || {
            pages.push(known());
            let is_admitted = connections.admit(&pages[pages.len() - 1]);
            pages[pages.len() - 1].view();
            is_admitted
        };
        assert!(page());
        assert!(!is_open(&connections, &stranger), "one without the token is before the others");
        assert!(is_open(&connections, &open[3]));
        assert!((3..CONNECTIONS_MAX).all(|_| page()));
        assert!(open[3..].iter().all(|it| !is_open(&connections, it)));
        assert!(is_open(&connections, &open[1]), "a list is written while others are idle");
        assert!(page(), "strangers and lists keep no user out");
        assert!(!is_open(&connections, &open[1]));
        assert!(!page() && is_open(&connections, &open[0]), "all are pages");
        drop(busy);
    }

    #[test]
    fn connection_is_idle_again_behind_its_list() {
        let (connections, open) = full();
        let mut busy: Vec<_> = open.iter().map(|it| Busy::new(Arc::clone(it))).collect();
        drop(busy.remove(5));
        assert!(connections.admit(&known()));
        assert!(is_open(&connections, &open[0]) && !is_open(&connections, &open[5]));
    }
}
