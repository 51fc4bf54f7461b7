//! The program's handle on streams that are sent to this device.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use samplewire_circuit::wait::Bell;
use samplewire_io::{Capabilities, LinkError};
use samplewire_proto::stream::Underflow;

use crate::driver::Port;
use crate::info::DeviceInfo;
use crate::real_time::Granted;
use crate::receiver::{BlockQueue, ReceiveStream};
use crate::source::StreamInfo;
use crate::wakeups::WakeHandle;

/// The receiving end of a device: it waits to be opened, by one sender at a time.
///
/// [`ReceiveListener::accept`], then iterate over the [`ReceiveStream`] that it gives, or let a
/// [`Player`](super::Player) play it. A stream that was given goes on when the listener is dropped; no
/// sender can open another.
#[derive(Debug)]
pub struct ReceiveListener {
    pub(super) info: StreamInfo,
    pub(super) memory_bytes: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) arrivals: rtrb::Consumer<Arrived>,
    /// Before the port: the last handle of that waits for the end of what the claim ends.
    pub(super) claim: Arc<Claim>,
    pub(super) port: Port,
}

/// A stream that somebody sends to this device.
#[derive(Debug)]
pub struct AcceptedStream {
    /// Counts the sessions of a listener, from 1.
    pub id: u64,
    /// What the sender wants when samples are not there in time.
    pub underflow: Underflow,
    /// What comes; its `info` tells of the sender.
    pub receiver: ReceiveStream,
}

/// Why a device takes no stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The port broke.
    #[error("the port failed: {0}")]
    Failed(String),
    /// The device plays no stream.
    #[error("the device plays no stream: name one with DeviceOptions::plays")]
    NoStream,
}

impl ReceiveListener {
    /// The stream that this device takes.
    pub const fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// What the link was granted.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.port.capabilities
    }

    /// What was granted of the [`RealTime`](crate::RealTime) options.
    pub const fn granted(&self) -> &Granted {
        &self.port.granted
    }

    /// Memory of the quanta in bytes; slots and rings come with each session.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The next stream that a sender has opened; `None` when `timeout` passes first.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn accept(&mut self, timeout: Duration) -> Result<Option<AcceptedStream>, PortError> {
        let Self { arrivals, shared, port, claim, .. } = self;
        let arrived = port.wait_until(&shared.bell, timeout, || {
            if let Some(failure) = shared.failure.get() {
                return Some(Err(PortError::Failed(failure.clone())));
            }
            // The one that was opened last: those before it have ended, and are dropped.
            std::iter::from_fn(|| arrivals.pop().ok()).last().map(Ok)
        });
        let Some(arrived) = arrived.transpose()? else { return Ok(None) };
        let Arrived { id, underflow, info, block_queue } = arrived;
        let receiver =
            ReceiveStream::of_flow(info, block_queue, port.clone(), Some(Arc::clone(claim)));
        Ok(Some(AcceptedStream { id, underflow, receiver }))
    }
}

impl Drop for ReceiveListener {
    fn drop(&mut self) {
        self.shared.close();
        // A stream that was not taken is dropped here, and not with the ring's other end.
        while self.arrivals.pop().is_ok() {}
    }
}

/// Held by a listener and by the streams that it gave: the port lets go of its half that receives with
/// the last of them.
#[derive(Debug)]
pub(crate) struct Claim(Arc<Shared>);

impl Claim {
    pub(super) fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self(shared))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A stream that has been opened and was not yet taken by the program.
pub(crate) struct Arrived {
    pub(crate) id: u64,
    pub(crate) underflow: Underflow,
    pub(crate) info: DeviceInfo,
    pub(crate) block_queue: BlockQueue,
}

impl fmt::Debug for Arrived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrived").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What the I/O thread and the program share between streams, besides the ring of those that have
/// arrived.
#[derive(Debug)]
pub(crate) struct Shared {
    bell: Bell,
    /// No program takes another stream.
    is_closed: AtomicBool,
    stop: AtomicBool,
    /// The port broke, and why. The I/O thread sets this once and waits for no one: no one else does.
    failure: OnceLock<String>,
    wake_handle: WakeHandle,
}

impl Shared {
    pub(crate) fn new(wake_handle: WakeHandle) -> Self {
        let (is_closed, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { bell: Bell::new(), is_closed, stop, failure: OnceLock::new(), wake_handle }
    }

    /// Wakes the program: a stream has arrived.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn fail(&self, error: &LinkError) {
        self.failure.get_or_init(|| error.to_string());
        self.bell.ring();
    }

    fn close(&self) {
        // Relaxed: it orders nothing, and an opening that just misses it ends with the claim.
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        // Release: nothing the program did before must be seen later than the request.
        self.stop.store(true, Ordering::Release);
        self.wake_handle.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Streams that were opened one after another while the program took none. A further one waits in the
/// I/O thread until it does.
pub(super) const ARRIVALS_MAX: usize = 4;
