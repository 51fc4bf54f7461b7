//! The thread that answers: a few connections at a time, none of which can block another.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Registry;
use super::connection::{Connection, Wire};

/// A socket that accepts clients.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }

    fn accept(&self) -> io::Result<Box<dyn Wire>> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (wire, _) = listener.accept()?;
                wire.set_nonblocking(true)?;
                Box::new(wire)
            }
            Self::Unix(listener) => {
                let (wire, _) = listener.accept()?;
                wire.set_nonblocking(true)?;
                Box::new(wire)
            }
        })
    }
}

/// Answers until the other end of `stopped` is closed.
pub(super) struct Server {
    listeners: Vec<Listener>,
    stopped: UnixStream,
    page: Page,
    /// Oldest first.
    connections: Vec<Connection>,
}

/// The page with its age. All requests within that age get the same page, so their number does not
/// load the streams' threads.
struct Page {
    registry: Registry,
    made: Option<(Instant, String)>,
}

impl Page {
    fn get(&mut self, now: Instant) -> &str {
        if self.made.as_ref().is_some_and(|(at, _)| now >= *at + PAGE_AGE_MAX) {
            self.made = None;
        }
        &self.made.get_or_insert_with(|| (now, self.registry.page())).1
    }
}

impl Server {
    pub(super) const fn new(
        listeners: Vec<Listener>,
        stopped: UnixStream,
        registry: Registry,
    ) -> Self {
        let page = Page { registry, made: None };
        Self { listeners, stopped, page, connections: Vec::new() }
    }

    pub(super) fn run(mut self) {
        loop {
            let ready = match self.wait() {
                Ok(ready) => ready,
                Err(Errno::INTR) => continue,
                // For example out of memory: the command continues without this thread.
                Err(_) => return,
            };
            let [stopped, ready @ ..] = &ready[..] else { return };
            if *stopped {
                return;
            }
            let (asked, moved) = ready.split_at(self.listeners.len());
            let now = Instant::now();
            let mut moved = moved.iter();
            let page = &mut self.page;
            let api = page.registry.api();
            self.connections.retain_mut(|connection| {
                let is_ready = moved.next().is_some_and(|is_ready| *is_ready);
                connection.until() > now
                    && (!is_ready || connection.advance(|| page.get(now).to_owned(), api.as_ref()))
            });
            for (at, _) in asked.iter().enumerate().filter(|(_, is_asked)| **is_asked) {
                self.accept(at, now);
            }
        }
    }

    /// Waits until there is work; returns which of the end, the listeners and the connections have
    /// any.
    fn wait(&self) -> Result<Vec<bool>, Errno> {
        let listeners =
            self.listeners.iter().map(|it| PollFd::from_borrowed_fd(it.fd(), PollFlags::IN));
        let connections =
            self.connections.iter().map(|it| PollFd::from_borrowed_fd(it.fd(), it.wants()));
        let mut fds: Vec<PollFd<'_>> = std::iter::once(PollFd::new(&self.stopped, PollFlags::IN))
            .chain(listeners)
            .chain(connections)
            .collect();
        let until = self.connections.iter().map(Connection::until).min();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // One millisecond more, so that the time is over on return.
        let left = left.map(|left| left + Duration::from_millis(1));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        poll(&mut fds, timeout.as_ref())?;
        Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
    }

    fn accept(&mut self, at: usize, now: Instant) {
        match self.listeners[at].accept() {
            Ok(wire) => {
                // A client that sends its request at once is answered at once. When the table is
                // full, the oldest client is closed.
                if self.connections.len() == CONNECTIONS_MAX {
                    self.connections.remove(0);
                }
                let mut connection = Connection::new(wire, now);
                let api = self.page.registry.api();
                if connection.advance(|| self.page.get(now).to_owned(), api.as_ref()) {
                    self.connections.push(connection);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // For example no free file descriptors: the next attempt would fail too.
            Err(_) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Maximum number of unanswered connections.
const CONNECTIONS_MAX: usize = 16;

/// The interval at which the streams' threads update their counters.
const PAGE_AGE_MAX: Duration = Duration::from_millis(20);

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::JoinHandle;

    use samplewire::format::Format;
    use samplewire::source::StreamInfo;

    use super::*;
    use crate::metrics::{About, Direction, View};

    #[test]
    fn page_is_rendered_at_most_once_per_interval() {
        let mut page = Page { registry: Registry::of("test"), made: None };
        let asked = Arc::new(AtomicUsize::new(0));
        let about = About {
            device: "[::1]:9100".parse().unwrap(),
            stream: 0,
            direction: Direction::Receive,
            info: StreamInfo::new(Format::Sc16, 1, 1e6).unwrap(),
        };
        let count = Arc::clone(&asked);
        let _entry = page.registry.add(about, move || {
            count.fetch_add(1, Ordering::Relaxed);
            View::default()
        });
        let start = Instant::now();
        for micros in 0..50_000 {
            page.get(start + Duration::from_micros(micros));
        }
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    /// Starts a server without streams; closing the socket ends it.
    fn start() -> (SocketAddr, UnixStream, JoinHandle<()>) {
        start_with(Registry::of("test"), Vec::new())
    }

    fn start_with(
        registry: Registry,
        others: Vec<Listener>,
    ) -> (SocketAddr, UnixStream, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        let listeners = std::iter::once(Listener::Tcp(listener)).chain(others).collect();
        let server = Server::new(listeners, stopped, registry);
        (address, stop, std::thread::spawn(move || server.run()))
    }

    fn answer_to(address: SocketAddr, request: &[u8]) -> String {
        let mut wire = TcpStream::connect(address).unwrap();
        wire.write_all(request).unwrap();
        let mut answer = String::new();
        wire.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn slow_client_holds_up_no_other_and_the_end_waits_for_none() {
        let (address, stop, thread) = start();
        let mut slow: Vec<TcpStream> = Vec::new();
        for _ in 0..3 * CONNECTIONS_MAX {
            let mut wire = TcpStream::connect(address).unwrap();
            wire.write_all(b"GET /metrics HTTP/1.1\r\nX-Slow: ").unwrap();
            slow.push(wire);
        }
        let page = answer_to(address, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(page.contains("\nsamplewire_info{"), "{page}");
        // The oldest connections were closed; the last ones are still served.
        for (wire, is_heard) in [(&slow[0], false), (&slow[3 * CONNECTIONS_MAX - 1], true)] {
            wire.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let mut wire = wire;
            let waits = match wire.read(&mut [0]) {
                Ok(len) => len > 0,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            };
            assert_eq!(waits, is_heard);
        }
        let started = Instant::now();
        drop(stop);
        thread.join().unwrap();
        assert!(started.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn only_this_user_reaches_the_page_and_only_by_whole_requests() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.sock");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let registry = Registry::of("test");
        let (taken, passed) = std::sync::mpsc::channel();
        registry.pass_api(move |wire, read| taken.send((wire, read)).unwrap());
        let (address, _stop, _thread) = start_with(registry, vec![Listener::Unix(listener)]);
        let call = b"GET /api/account HTTP/1.1\r\n\r\n";
        assert!(
            answer_to(address, call).starts_with("HTTP/1.1 404 "),
            "over TCP there are counters"
        );
        let local = |request: &[u8]| {
            let mut wire = UnixStream::connect(&path).unwrap();
            wire.write_all(request).unwrap();
            let mut answer = String::new();
            wire.read_to_string(&mut answer).unwrap();
            answer
        };
        assert!(local(b"GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        assert!(local(b"POST /api/account HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        let endless = [b"GET /api/gaps HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 8_300]].concat();
        assert!(local(&endless).starts_with("HTTP/1.1 431 "));
        assert!(passed.try_recv().is_err());
        let mut wire = UnixStream::connect(&path).unwrap();
        for piece in call.chunks(7) {
            wire.write_all(piece).unwrap();
        }
        let (mut other, read) = passed.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(read, call);
        other.write_all(b"whole").unwrap();
        drop(other);
        let mut answer = String::new();
        wire.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "whole");
    }

    #[test]
    fn request_that_comes_in_pieces_or_has_no_end_is_answered() {
        let (address, _stop, _thread) = start();
        let mut wire = TcpStream::connect(address).unwrap();
        for piece in ["GE", "T /metrics HT", "TP/1.1\r\n", "Host: x\r\n\r", "\n"] {
            wire.write_all(piece.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut answer = String::new();
        wire.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let endless = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 8_300]].concat();
        assert!(answer_to(address, &endless).starts_with("HTTP/1.1 431 "));
        assert!(answer_to(address, b"GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        // A client that disconnects early.
        drop(TcpStream::connect(address).unwrap());
        let page = answer_to(address, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    }
}
