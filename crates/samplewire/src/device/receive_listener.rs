//! The program's handle to streams that are sent to this device.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering, fence};
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
/// Call [`ReceiveListener::accept`], then iterate over the returned [`ReceiveStream`], or let a
/// [`Player`](super::Player) play it. An accepted stream continues after the listener is dropped,
/// but no sender can open another.
#[derive(Debug)]
pub struct ReceiveListener {
    pub(super) info: StreamInfo,
    pub(super) memory_bytes: usize,
    pub(super) shared: Arc<Shared>,
    pub(super) arrivals: rtrb::Consumer<Arrived>,
    /// Dropped before the port: the last handle of the port waits until the streams that the claim
    /// ends have ended.
    pub(super) claim: Arc<Claim>,
    pub(super) port: Port,
}

/// A stream that a sender has opened at this device.
#[derive(Debug)]
pub struct AcceptedStream {
    /// Counts the sessions of a listener, from 1.
    pub id: u64,
    /// The sender's request for samples missing at their time.
    pub underflow: Underflow,
    /// The stream; its `info` describes the sender.
    pub receiver: ReceiveStream,
}

/// Why a device accepts no stream.
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
    /// The stream that this device accepts.
    pub const fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// The capabilities that the link got.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.port.capabilities
    }

    /// The [`RealTime`](crate::RealTime) options that the device got.
    pub const fn granted(&self) -> &Granted {
        &self.port.granted
    }

    /// Memory of the quanta in bytes; each session allocates its slots and rings.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Accepts the next stream that a sender has opened; `None` after `timeout`.
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
            let is_gone = arrivals.is_abandoned();
            // Acquire: `is_abandoned` orders nothing, and streams pushed before it must be visible.
            fence(Ordering::Acquire);
            // Takes the latest stream: earlier ones have ended, and are dropped.
            let arrived = std::iter::from_fn(|| arrivals.pop().ok()).last();
            let gone = || is_gone.then(|| PortError::Failed("the I/O thread is gone".to_owned()));
            arrived.map(Ok).or_else(|| gone().map(Err))
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
        // Untaken streams are dropped here, not with the other end of the ring.
        while self.arrivals.pop().is_ok() {}
    }
}

/// A listener and its accepted streams hold it: with the last of them the port releases its
/// receiving half.
#[derive(Debug)]
pub(crate) struct Claim(Arc<Shared>);

impl Claim {
    pub(crate) fn new(shared: Arc<Shared>) -> Arc<Self> {
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

/// State that the I/O thread and the program share between streams, in addition to the ring of
/// arrived streams.
#[derive(Debug)]
pub(crate) struct Shared {
    bell: Bell,
    /// Whether no program accepts another stream.
    is_closed: AtomicBool,
    stop: AtomicBool,
    /// Why the port failed. Only the I/O thread sets it, once, so it never waits.
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
        // Release: the thread that sees the request also sees everything the program did before it.
        self.stop.store(true, Ordering::Release);
        self.wake_handle.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Maximum number of opened streams that the program has not taken. A further one waits in the I/O
/// thread.
pub(super) const ARRIVALS_MAX: usize = 4;
