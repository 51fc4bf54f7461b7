//! The host's end of a link. During an opening and a closing it runs the device, which has no thread.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samplewire::Listener;
use samplewire_io::{Batch, Capabilities, Link, LinkError, Outgoing, Waker};

/// A device that is run by the other end of its link, while it is there.
#[derive(Clone, Default)]
pub(crate) struct Driven(Arc<(AtomicBool, Mutex<Option<Listener>>)>);

impl Driven {
    /// From now on the link runs the device.
    pub(crate) fn lend(&self, device: Listener) {
        *self.0.1.lock().expect("nothing panics while it holds this lock") = Some(device);
        // Relaxed: there is one thread.
        self.0.0.store(true, Ordering::Relaxed);
    }

    /// From now on the caller runs it.
    pub(crate) fn take_back(&self) -> Listener {
        self.0.0.store(false, Ordering::Relaxed);
        let mut device = self.0.1.lock().expect("nothing panics while it holds this lock");
        device.take().expect("the link has the device")
    }

    fn turn(&self) {
        if self.0.0.load(Ordering::Relaxed)
            && let Some(device) =
                &*self.0.1.lock().expect("nothing panics while it holds this lock")
        {
            device.turn();
        }
    }
}

/// A link to a [`Driven`] device. It never waits: the clock stands still meanwhile.
pub(crate) struct Coupled<L> {
    link: L,
    device: Driven,
}

impl<L: Link> Coupled<L> {
    pub(crate) fn new(link: L, device: &Driven) -> Self {
        Self { link, device: device.clone() }
    }
}

impl<L: Link> Link for Coupled<L> {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        self.link.send(packets)
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.device.turn();
        self.link.recv(batch)
    }
    fn wait(&mut self, _timeout: Duration) -> Result<(), LinkError> {
        self.device.turn();
        Ok(())
    }
    fn waker(&self) -> Waker {
        self.link.waker()
    }
    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.link.make_room(packets, packet_bytes);
    }
    fn is_full(&self) -> bool {
        self.link.is_full()
    }
}
