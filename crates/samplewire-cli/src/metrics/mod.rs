//! The counters of a command, readable while it runs (`docs/statistics.md#metrics`).
//!
//! A separate thread answers over TCP (`--metrics`) and over a socket of this user (`top`). On a
//! request it reads the same snapshots as progress lines, and touches nothing else of a stream. A
//! client that sends too many, slow or invalid requests thus costs only the time of that thread.
//! The counters are up to 20 ms old.
//!
//! Over the socket of this user, calls below `/api/` are for a page ([`Registry::pass_api`]): spectra and
//! gaps. The thread reads the head of such a request, and passes the connection on.

pub(crate) mod client;
mod connection;
pub(crate) mod counters;
pub(crate) mod latency;
pub(crate) mod local;
mod page;
mod server;
mod stream;
pub(crate) mod tables;
pub(crate) mod text;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use samplewire::receiver::StatsHandle;
use samplewire::{DeviceInfo, SendStream};
use samplewire_io::HostDropCounts;

use local::LocalSocket;
use server::{Listener, Server};
pub(crate) use stream::{About, Direction, View, ended};
pub(crate) use tables::PortFigures;

/// Answers requests until it is dropped.
#[derive(Debug)]
pub(crate) struct Exporter {
    registry: Registry,
    /// Closing it ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    /// Its file is removed after the thread has ended.
    local: Option<LocalSocket>,
}

/// Where the counters of a process can be read.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Over TCP; the system may have chosen the port.
    pub(crate) tcp: Option<SocketAddr>,
    /// Why this user's `top` does not see the process, if it does not.
    pub(crate) unseen: Option<String>,
}

/// The counters cannot be exported at an address.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {source}")]
pub(crate) struct ExportError {
    pub(crate) address: SocketAddr,
    pub(crate) source: io::Error,
}

impl Exporter {
    /// Starts to answer for `verb`: for this user's `top`, and over TCP at `address`.
    ///
    /// # Errors
    /// It cannot listen at `address`; none without an address.
    pub(crate) fn start(
        verb: &'static str,
        address: Option<SocketAddr>,
    ) -> Result<(Self, Reach), ExportError> {
        let (mut listeners, mut reach) = (Vec::new(), Reach::default());
        if let Some(address) = address {
            let failed = |source| ExportError { address, source };
            let listener = TcpListener::bind(address).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed)?;
            reach.tcp = Some(listener.local_addr().map_err(failed)?);
            listeners.push(Listener::Tcp(listener));
        }
        let mut local = None;
        match LocalSocket::bind() {
            Ok((socket, listener)) => {
                listeners.push(Listener::Unix(listener));
                local = Some(socket);
            }
            Err(error) => reach.unseen = Some(error.to_string()),
        }
        let registry = Registry::of(verb);
        let is_asked = !listeners.is_empty();
        let served = match (is_asked.then(|| serve(listeners, registry.clone())), address) {
            (Some(Err(source)), Some(address)) => return Err(ExportError { address, source }),
            (Some(Err(error)), None) => {
                reach.unseen = Some(error.to_string());
                None
            }
            (Some(Ok(served)), _) => Some(served),
            (None, _) => None,
        };
        let local = local.filter(|_| served.is_some());
        let (stop, thread) = served.unzip();
        Ok((Self { registry, stop, thread, local }, reach))
    }

    /// Whether other programs of this user can read the streams.
    pub(crate) const fn is_seen(&self) -> bool {
        self.local.is_some()
    }

    /// The list of exported streams.
    pub(crate) const fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // The thread has already reported a panic, and the streams do not depend on it.
            let _is_whole = thread.join().is_ok();
        }
    }
}

/// Answers in a separate thread, until the returned socket is closed.
fn serve(listeners: Vec<Listener>, registry: Registry) -> io::Result<(UnixStream, JoinHandle<()>)> {
    let (stop, stopped) = UnixStream::pair()?;
    let server = Server::new(listeners, stopped, registry);
    let thread = std::thread::Builder::new().name("metrics".into()).spawn(move || server.run())?;
    Ok((stop, thread))
}

/// The streams of a command.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    verb: &'static str,
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default)]
struct List {
    next_id: u64,
    entries: Vec<Listed>,
    /// The ports of a switch.
    switch: Option<Exported<Vec<PortFigures>>>,
    /// Takes connections of this user that call a page.
    api: Option<Api>,
}

/// Takes a connection, and the bytes that were read from it.
#[derive(Clone)]
pub(crate) struct Api(Arc<dyn Fn(UnixStream, Vec<u8>) + Send + Sync>);

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

struct Listed {
    id: u64,
    about: About,
    look: Look,
}

/// Returns the current counters; short, and never waits for a stream.
type Look = Box<dyn Fn() -> View + Send>;

impl Registry {
    /// Creates an empty list.
    pub(crate) fn of(verb: &'static str) -> Self {
        Self { verb, list: Arc::default() }
    }

    /// Exports a stream until the entry is dropped.
    pub(crate) fn add(&self, about: About, look: impl Fn() -> View + Send + 'static) -> Entry {
        let mut list = lock(&self.list);
        let id = list.next_id;
        list.next_id += 1;
        list.entries.push(Listed { id, about, look: Box::new(look) });
        Entry { id, registry: self.clone() }
    }

    /// Exports the stream with this number that a device sends.
    pub(crate) fn add_device(&self, stream: u16, listener: &samplewire::Listener) -> Entry {
        let look = stream::of_sender(listener.stats_handle(), None);
        self.add(About::sent(stream, listener), look)
    }

    /// Exports streams that this end opened. What the host drops of them belongs to all: the first
    /// exports it.
    pub(crate) fn add_opened<'a>(
        &self,
        receivers: impl IntoIterator<Item = (&'a DeviceInfo, StatsHandle)>,
        mut host: Option<Exported<HostDropCounts>>,
        sender: Option<&SendStream>,
    ) -> Vec<Entry> {
        let received = receivers.into_iter().map(|(info, stats)| {
            let look = stream::of_receiver(info, stats, host.take());
            self.add(About::opened(info, Direction::Receive), look)
        });
        let sent = sender.and_then(|sender| {
            let device = sender.device()?;
            let look = stream::of_sender(sender.stats_handle(), Some(device.address));
            Some(self.add(About::opened(device, Direction::Transmit), look))
        });
        received.chain(sent).collect()
    }

    /// Exports the ports of a switch.
    pub(crate) fn add_switch(&self, ports: Exported<Vec<PortFigures>>) {
        lock(&self.list).switch = Some(ports);
    }

    /// Passes connections of this user to a page when they call `/api/..`, with the bytes that were
    /// read; `take` does not wait.
    pub(crate) fn pass_api(&self, take: impl Fn(UnixStream, Vec<u8>) + Send + Sync + 'static) {
        lock(&self.list).api = Some(Api(Arc::new(take)));
    }

    /// See [`Self::pass_api`].
    fn api(&self) -> Option<Api> {
        lock(&self.list).api.clone()
    }

    /// The current page, in the format of Prometheus.
    pub(crate) fn page(&self) -> String {
        let list = lock(&self.list);
        let ports = list.switch.as_ref().map(Exported::get).unwrap_or_default();
        let views: Vec<(About, View)> =
            list.entries.iter().map(|listed| (listed.about.clone(), (listed.look)())).collect();
        page::render(self.verb, list.api.is_some(), &views, &ports)
    }
}

/// An exported stream.
#[derive(Debug)]
pub(crate) struct Entry {
    id: u64,
    registry: Registry,
}

impl Entry {
    /// Exports counters from another source: the stream was opened again.
    pub(crate) fn set(&self, look: impl Fn() -> View + Send + 'static) {
        let mut list = lock(&self.registry.list);
        let listed = list.entries.iter_mut().find(|listed| listed.id == self.id);
        listed.expect("it is listed until it is dropped").look = Box::new(look);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        lock(&self.registry.list).entries.retain(|listed| listed.id != self.id);
    }
}

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listed").field("about", &self.about).finish_non_exhaustive()
    }
}

/// A copy of a loop's own counts for other threads: updated now and then, never per packet.
#[derive(Debug, Default)]
pub(crate) struct Exported<T>(Arc<Mutex<T>>);

impl<T: Clone> Exported<T> {
    /// Creates the copy.
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Updates the copy.
    pub(crate) fn set(&self, value: T) {
        *lock(&self.0) = value;
    }

    /// Returns the last copy.
    pub(crate) fn get(&self) -> T {
        lock(&self.0).clone()
    }
}

impl<T> Clone for Exported<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Locks a mutex, even after a panic: no guarded data is ever half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
