//! What a command counts, for others to look at while it runs (`docs/statistics.md#metrics`).
//!
//! A thread of its own answers over TCP (`--metrics`) and over a socket of this user's (`top`). It
//! reads the snapshots that progress lines read, when it is asked, and touches nothing else of a
//! stream: one who asks too often, too slowly or nonsense costs that thread's time alone.

pub(crate) mod client;
mod connection;
pub(crate) mod local;
mod page;
mod server;
mod stream;
pub(crate) mod tables;
pub(crate) mod text;

use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use samplewire::receiver::StatsHandle;
use samplewire::{DeviceInfo, Transmitter};

use crate::console::Console;
use crate::failure::Failure;

use local::LocalSocket;
use server::{Listener, Server};
pub(crate) use stream::{About, Direction, View};

/// Answers until it is dropped.
#[derive(Debug)]
pub(crate) struct Exporter {
    registry: Registry,
    /// Closing it ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    /// Its file goes when the thread has ended.
    _local: Option<LocalSocket>,
}

impl Exporter {
    /// Answers for `verb`: for this user's `top`, and over TCP at `address`. Prints where, since the
    /// port may be one that the system chose; warns where `top` cannot see it.
    ///
    /// # Errors
    /// [`Failure::Metrics`] when `address` cannot be listened at.
    pub(crate) fn start(
        verb: &'static str,
        address: Option<SocketAddr>,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let mut listeners = Vec::new();
        if let Some(address) = address {
            let failed = |source| Failure::Metrics { address, source };
            let listener = TcpListener::bind(address).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed)?;
            let bound = listener.local_addr().map_err(failed)?;
            console.note(format_args!("metrics: http://{bound}/metrics"));
            listeners.push(Listener::Tcp(listener));
        }
        let local = match LocalSocket::bind() {
            Ok((local, listener)) => {
                listeners.push(Listener::Unix(listener));
                Some(local)
            }
            Err(error) => {
                console.warn(format_args!("`samplewire top` does not see this: {error}"));
                None
            }
        };
        let registry = Registry::of(verb);
        let (stop, stopped) = UnixStream::pair()?;
        let server = Server::new(listeners, stopped, registry.clone());
        let thread =
            std::thread::Builder::new().name("metrics".into()).spawn(move || server.run())?;
        Ok(Self { registry, stop: Some(stop), thread: Some(thread), _local: local })
    }

    /// The list of what is told of.
    pub(crate) const fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("answering does not panic");
        }
    }
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
}

struct Listed {
    id: u64,
    about: About,
    look: Look,
}

/// Gives the counters of the moment; short, and never waits for a stream.
type Look = Box<dyn Fn() -> View + Send>;

impl Registry {
    /// A list without entries.
    pub(crate) fn of(verb: &'static str) -> Self {
        Self { verb, list: Arc::default() }
    }

    /// Tells of a stream until the entry is dropped.
    pub(crate) fn add(&self, about: About, look: impl Fn() -> View + Send + 'static) -> Entry {
        let mut list = lock(&self.list);
        let id = list.next_id;
        list.next_id += 1;
        list.entries.push(Listed { id, about, look: Box::new(look) });
        Entry { id, registry: self.clone() }
    }

    /// Tells of the stream of that number that a device sends.
    pub(crate) fn add_device(&self, stream: u16, transmitter: &Transmitter) -> Entry {
        self.add(About::sent(stream, transmitter), stream::of_transmitter(transmitter))
    }

    /// Tells of streams that this end opened.
    pub(crate) fn add_opened<'a>(
        &self,
        receivers: impl IntoIterator<Item = (&'a DeviceInfo, StatsHandle)>,
        transmitter: Option<&Transmitter>,
    ) -> Vec<Entry> {
        let received = receivers.into_iter().map(|(info, stats)| {
            self.add(About::opened(info, Direction::Receive), stream::of_receiver(info, stats))
        });
        let sent = transmitter.and_then(|transmitter| {
            let about = About::opened(transmitter.device()?, Direction::Transmit);
            Some(self.add(about, stream::of_transmitter(transmitter)))
        });
        received.chain(sent).collect()
    }

    /// What is told at this moment, as Prometheus reads it.
    pub(crate) fn page(&self) -> String {
        let views: Vec<(About, View)> = lock(&self.list)
            .entries
            .iter()
            .map(|listed| (listed.about.clone(), (listed.look)()))
            .collect();
        page::render(self.verb, &views)
    }
}

/// A stream that is told of.
#[derive(Debug)]
pub(crate) struct Entry {
    id: u64,
    registry: Registry,
}

impl Entry {
    /// Tells of the stream from elsewhere: it was opened anew.
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

/// What a loop of its own counts, as others see it: told now and then, never per packet.
#[derive(Debug)]
pub(crate) struct Told<T>(Arc<Mutex<T>>);

impl<T: Clone> Told<T> {
    /// Tells this at first.
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Tells.
    pub(crate) fn set(&self, value: T) {
        *lock(&self.0) = value;
    }

    /// What was told last.
    pub(crate) fn get(&self) -> T {
        lock(&self.0).clone()
    }
}

impl<T> Clone for Told<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Nothing that is guarded here is left half done by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
