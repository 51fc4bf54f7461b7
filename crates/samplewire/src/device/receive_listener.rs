//! The program's handle on streams that are sent to this device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use samplewire_circuit::wait::Bell;
use samplewire_io::Capabilities;
use samplewire_proto::stream::Underflow;

use crate::driver::Port;
use crate::info::DeviceInfo;
use crate::real_time::Granted;
use crate::receiver::{BlockQueue, ReceiveStream};
use crate::source::StreamInfo;
use crate::sync::{Mutex, lock};
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

/// The port of a device broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the port failed: {0}")]
pub struct PortError(pub(super) String);

impl ReceiveListener {
    /// The stream that this device takes.
    pub const fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// What the link was granted.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.port.capabilities
    }

    /// What was had of the [`RealTime`](crate::RealTime) options.
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
        let until = Instant::now().checked_add(timeout);
        loop {
            if let Some(arrived) = self.shared.take()? {
                let Arrived { id, underflow, info, block_queue } = arrived;
                let claim = Some(Arc::clone(&self.claim));
                let receiver = ReceiveStream::of_flow(info, block_queue, self.port.clone(), claim);
                return Ok(Some(AcceptedStream { id, underflow, receiver }));
            }
            let left = until.map_or(WAIT_MAX, |at| at.saturating_duration_since(Instant::now()));
            if self.port.granted.waits.is_program_spinning() {
                self.port.drive.turn();
                std::hint::spin_loop();
                if !left.is_zero() || self.shared.has_news() {
                    continue;
                }
            }
            if left.is_zero() {
                return Ok(None);
            }
            self.shared.bell.announce();
            if !self.shared.has_news() {
                self.shared.bell.wait(left.min(WAIT_MAX));
            }
        }
    }
}

impl Drop for ReceiveListener {
    fn drop(&mut self) {
        self.shared.close();
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

/// What the I/O thread and the program share between streams.
pub(crate) struct Shared {
    bell: Bell,
    /// No program takes another stream.
    is_closed: AtomicBool,
    stop: AtomicBool,
    state: Mutex<State>,
    wake_handle: WakeHandle,
}

#[derive(Default)]
struct State {
    arrived: Option<Arrived>,
    failure: Option<String>,
}

impl Shared {
    pub(crate) fn new(wake_handle: WakeHandle) -> Self {
        let state = Mutex::new(State::default());
        let (is_closed, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { bell: Bell::new(), is_closed, stop, state, wake_handle }
    }

    /// One that was not taken is replaced: it has ended.
    pub(crate) fn put(&self, arrived: Arrived) {
        lock(&self.state).arrived = Some(arrived);
        self.bell.ring();
    }

    fn take(&self) -> Result<Option<Arrived>, PortError> {
        let mut state = lock(&self.state);
        match &state.failure {
            Some(failure) => Err(PortError(failure.clone())),
            None => Ok(state.arrived.take()),
        }
    }

    fn has_news(&self) -> bool {
        let state = lock(&self.state);
        state.arrived.is_some() || state.failure.is_some()
    }

    pub(crate) fn fail(&self, failure: String) {
        lock(&self.state).failure = Some(failure);
        self.bell.ring();
    }

    fn close(&self) {
        // Relaxed: it orders nothing, and an opening that just misses it ends with the claim.
        self.is_closed.store(true, Ordering::Relaxed);
        // A stream that was not taken is dropped here, and not with the last stream that was.
        let arrived = lock(&self.state).arrived.take();
        drop(arrived);
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

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("stop", &self.stop).finish_non_exhaustive()
    }
}

/// The longest sleep of a waiting program.
const WAIT_MAX: Duration = Duration::from_millis(200);
