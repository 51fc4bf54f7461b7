//! What the handles of a stream that is sent share: those of a listener, and of each stream it gave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use samplewire_circuit::{Pool, Publisher};
use samplewire_proto::TaiClock;

use super::Handle;
use super::flow::Submit;
use super::shared::Shared;
use crate::driver::Port;
use crate::source::StreamInfo;
use crate::sync::{Mutex, lock};

/// The program's half of a [`SendFlow`](super::SendFlow), less the [`Submitter`].
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) info: StreamInfo,
    pub(super) local: SocketAddr,
    pub(super) memory_bytes: usize,
    pub(super) pool: Pool,
    pub(super) shared: Arc<Shared>,
    /// Before the port: the last handle of that waits for the end of what the claim ends.
    pub(super) claim: Arc<Claim>,
    pub(super) port: Port,
}

/// What one handle at a time has: the way to the I/O thread.
#[derive(Debug)]
pub(super) struct Submitter {
    pub(super) ring: rtrb::Producer<Submit>,
    /// The time of each index, if the program states it.
    pub(super) tai_clock: Publisher<Option<TaiClock>>,
}

/// Held by all handles: the port lets go of its half that sends with the last of them.
#[derive(Debug)]
pub(super) struct Claim {
    shared: Arc<Shared>,
    /// The submitter, while no stream has it. Each stream takes it once and gives it back once, in threads
    /// of the program: the I/O thread never locks this.
    submitter: Mutex<Option<Submitter>>,
}

impl Slot {
    /// With the submitter, for the first handle.
    pub(super) fn new(
        handle: Handle,
        info: StreamInfo,
        local: SocketAddr,
        batch_bytes: usize,
        port: Port,
    ) -> (Self, Submitter) {
        let Handle { pool, submitter, shared, memory_bytes } = handle;
        let claim = Claim { shared: Arc::clone(&shared), submitter: Mutex::new(None) };
        let (memory_bytes, claim) = (memory_bytes + batch_bytes, Arc::new(claim));
        (Self { info, local, memory_bytes, pool, shared, claim, port }, submitter)
    }

    /// Waits until `look` finds something, at most for `timeout`; does what is due where no I/O
    /// thread does.
    pub(super) fn wait_until<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&Shared) -> Option<T>,
    ) -> Option<T> {
        self.port.wait_until(&self.shared.bell, timeout, || look(&self.shared))
    }
}

impl Claim {
    /// The submitter, where no stream has it.
    pub(super) fn take(&self) -> Option<Submitter> {
        lock(&self.submitter).take()
    }

    /// A stream is dropped: the next one may have the submitter.
    pub(super) fn give_back(&self, submitter: Submitter) {
        *lock(&self.submitter) = Some(submitter);
        self.shared.listener_bell.ring();
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shared.stop();
    }
}
