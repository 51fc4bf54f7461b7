//! A stream that a device sends, and waits for receivers of.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use samplewire_io::Capabilities;

use super::{Canceller, Handle, SendError, SendStream, Slot, StatsHandle, TransmitterSnapshot};
use crate::driver::Port;
use crate::real_time::Granted;
use crate::source::StreamInfo;

/// A stream that a device sends: receivers open it, one at a time, and [`Listener::accept`] gives a
/// [`SendStream`] for each.
///
/// A stream that was given goes on when the listener is dropped; no receiver can open another.
#[derive(Debug)]
pub struct Listener {
    seen_session: u64,
    slot: Slot,
}

impl Listener {
    /// The program's half of a stream of a port.
    pub(crate) fn of_port(
        handle: Handle,
        info: StreamInfo,
        local: SocketAddr,
        batch_bytes: usize,
        port: Port,
    ) -> Self {
        let (slot, submitter) = Slot::new(handle, info, local, batch_bytes, port);
        slot.claim.give_back(submitter);
        Self { seen_session: 0, slot }
    }

    /// What the samples are.
    pub const fn info(&self) -> &StreamInfo {
        &self.slot.info
    }

    /// The local address, which receivers open.
    pub const fn local_addr(&self) -> SocketAddr {
        self.slot.local
    }

    /// What the link was granted.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.slot.port.capabilities
    }

    /// What was granted of the [`RealTime`](crate::RealTime) options.
    pub const fn granted(&self) -> &Granted {
        &self.slot.port.granted
    }

    /// Does what is due, where no I/O thread does ([`Waits::Inline`](crate::Waits::Inline)): for a
    /// program that makes no other call that waits.
    pub fn turn(&self) {
        self.slot.port.drive.turn();
    }

    /// All memory taken for the stream, in bytes: quanta, slots, rings. Its sessions use the same.
    pub const fn memory_bytes(&self) -> usize {
        self.slot.memory_bytes
    }

    /// Counters as of some milliseconds ago.
    pub fn stats(&self) -> TransmitterSnapshot {
        self.slot.shared.snapshot()
    }

    /// A handle on these counters.
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle { shared: Arc::clone(&self.slot.shared) }
    }

    /// What ends the stream that is open, whichever that is, from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { shared: Arc::clone(&self.slot.shared), session: None }
    }

    /// The next stream that a receiver has opened; `None` when `timeout` passes first. Streams follow
    /// one another: while the program keeps one, there is no next.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn accept(&mut self, timeout: Duration) -> Result<Option<SendStream>, SendError> {
        let Self { seen_session, slot } = self;
        let shared = &slot.shared;
        let accepted = slot.port.wait_until(&shared.listener_bell, timeout, || {
            if let Some(error) = shared.error_of(None) {
                return Some(Err(error));
            }
            let session = shared.session().filter(|session| session.id > *seen_session)?;
            Some(Ok((session, slot.claim.take()?)))
        });
        let Some((session, submitter)) = accepted.transpose()? else { return Ok(None) };
        *seen_session = session.id;
        Ok(Some(SendStream::new(session, submitter, slot.clone())))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.slot.shared.close();
    }
}
