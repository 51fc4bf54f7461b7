//! Sending a stream: the program fills quanta, an I/O thread cuts them into packets and repairs.

mod dull;
mod engine;
mod held;
mod offer;
mod options;
mod outbox;
mod play;
mod shared;
mod slicer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_circuit::{Pool, PoolConfig, Quantum};
use samplewire_io::{Batch, Link, Udp};
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::{SendSlot, SenderConfig};
use samplewire_proto::session::{ListenConfig, Listener, StreamSlot};
use samplewire_proto::wire::{CloseReason, Flags};

use crate::error::OpenError;
use crate::port::{BATCH_PACKETS, Clock, PACKET_BYTES_MAX, seed};
use crate::receiver::WINDOW_DEFAULT;
use crate::source::StreamInfo;

use engine::{Engine, Submit};
use held::Held;
use offer::Offer;
pub use options::TransmitterOptions;
pub use play::{Overflow, PlayError, PlaySummary};
use shared::Shared;
pub use shared::{Session, SessionEnd, Snapshot as TransmitterSnapshot};

/// The sending end of a stream: a device that waits to be opened, one receiver at a time.
///
/// [`Transmitter::wait_session`], then [`Transmitter::play`] a source, or fill quanta with
/// [`Transmitter::quantum`] and [`Transmitter::submit`] and end with [`Transmitter::finish`].
#[derive(Debug)]
pub struct Transmitter {
    info: StreamInfo,
    local: SocketAddr,
    capabilities: samplewire_io::Capabilities,
    memory_bytes: usize,
    pool: Pool,
    submit: rtrb::Producer<Submit>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    seen_session: u64,
}

/// A quantum to fill: [`Filling::bytes_mut`] is room for whole packets of the session.
#[derive(Debug)]
pub struct Filling {
    quantum: Quantum,
    session: u64,
    room_bytes: usize,
}

impl Filling {
    /// Room for samples: little-endian, channels interleaved.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.quantum.data_mut()[..self.room_bytes]
    }
}

/// Why samples can no longer be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransmitError {
    /// The session has ended.
    #[error("the session has ended: {:?}", .0.end)]
    Ended(Box<SessionEnd>),
    /// The I/O thread broke.
    #[error("the port failed: {0}")]
    Port(String),
}

impl Transmitter {
    /// Listens on `address` with the stream that `info` describes.
    ///
    /// # Errors
    /// The port is in use, or an option is out of range.
    pub fn listen(
        address: SocketAddr,
        info: &StreamInfo,
        options: &TransmitterOptions,
    ) -> Result<Self, OpenError> {
        let link = Udp::bind(address, &options.udp)?;
        Self::listen_over(Box::new(link), info, options)
    }

    /// Like [`Transmitter::listen`], over a link of the caller's: with faults, a capture, in memory.
    ///
    /// # Errors
    /// See [`Transmitter::listen`].
    pub fn listen_over(
        link: Box<dyn Link>,
        info: &StreamInfo,
        options: &TransmitterOptions,
    ) -> Result<Self, OpenError> {
        let capabilities = link.capabilities();
        let offer = Offer::new(info, options, capabilities.mtu_bytes)?;
        let config = SenderConfig::default().with_link_bps(options.link_bps).map_err(|_| {
            let (option, value) = ("link rate", options.link_bps);
            OpenError::OptionRange { option, value, range: "10000..=10^13 bit/s, or 0" }
        })?;
        let mtu_bytes = options.packet_bytes_max.min(capabilities.mtu_bytes).max(576) as u16;
        let listen = ListenConfig::new().with_packet_bytes_max(mtu_bytes).map_err(|_| {
            let (option, value) = ("mtu", u64::from(mtu_bytes));
            OpenError::OptionRange { option, value, range: "576..=9000 bytes" }
        })?;
        let boot_id = u64::from_be_bytes(*seed()?.first_chunk().expect("16 bytes"));
        let listener = Listener::new([StreamSlot::default(); 1], listen, seed()?, boot_id);
        let quanta = offer.window.div_ceil(offer.quantum_packets) as usize + crate::quantum::SPARE;
        let pool = Pool::new(PoolConfig::new(quanta, offer.quantum_bytes()))?;
        let held = Held::new(offer.window, quanta);
        let (submit, submitted) = rtrb::RingBuffer::new(quanta + COMMANDS_MAX);
        let slots = (offer.window as usize).next_power_of_two();
        let batch = Batch::new(BATCH_PACKETS, PACKET_BYTES_MAX);
        let memory_bytes = pool.memory_bytes()
            + held.memory_bytes()
            + slots * size_of::<SendSlot>()
            + batch.memory_bytes();
        let shared = Arc::new(Shared::new(link.waker()));
        let local = link.local_addr();
        let engine = Engine::new(
            (link, Clock::start()),
            listener,
            (offer, config),
            held,
            submitted,
            Arc::clone(&shared),
        );
        let thread = std::thread::Builder::new()
            .name("samplewire-tx".to_owned())
            .spawn(move || engine.run(batch))?;
        Ok(Self {
            info: info.clone(),
            local,
            capabilities,
            memory_bytes,
            pool,
            submit,
            shared,
            thread: Some(thread),
            seen_session: 0,
        })
    }

    /// The stream.
    pub const fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// The address that receivers open.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What the link was granted.
    pub const fn capabilities(&self) -> &samplewire_io::Capabilities {
        &self.capabilities
    }

    /// All memory taken for the stream, in bytes: quanta, slots, rings.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Counters as of some milliseconds ago.
    pub fn stats(&self) -> TransmitterSnapshot {
        self.shared.with_state(|state| state.snapshot)
    }

    /// The open session, when a receiver has opened one since the last call that returned one;
    /// `None` when `timeout` passes first.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn wait_session(&mut self, timeout: Duration) -> Result<Option<Session>, TransmitError> {
        let seen = self.seen_session;
        let session = self.wait_until(timeout, |shared| {
            shared.with_state(|state| match &state.failure {
                Some(failure) => Some(Err(TransmitError::Port(failure.clone()))),
                None => state.session.filter(|session| session.id > seen).map(Ok),
            })
        });
        let Some(session) = session.transpose()? else { return Ok(None) };
        self.seen_session = session.id;
        Ok(Some(session))
    }

    /// A quantum to fill for `session`; `None` when none becomes free within `timeout`: the
    /// receiver takes no more for now.
    ///
    /// # Errors
    /// The session has ended.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn quantum(
        &mut self,
        session: &Session,
        timeout: Duration,
    ) -> Result<Option<Filling>, TransmitError> {
        let pool = self.pool.clone();
        let taken = self.wait_until(timeout, |shared| match session_error(shared, session.id) {
            Some(error) => Some(Err(error)),
            None => pool.take().map(Ok),
        });
        let Some(mut quantum) = taken.transpose()? else { return Ok(None) };
        let room_bytes = session.quantum_packets as usize * session.payload_bytes;
        quantum.set_len(room_bytes + session.payload_bytes);
        Ok(Some(Filling { quantum, session: session.id, room_bytes }))
    }

    /// Sends the first `len_bytes` bytes of a filled quantum; `index` is that of the first sample.
    ///
    /// An index that is not the end of the last quantum needs [`Flags::OVERFLOW`] (samples were
    /// lost at the source) or [`Flags::START`] (set on purpose). Less than whole packets ends a
    /// burst.
    ///
    /// # Panics
    /// When `len_bytes` exceeds the quantum or is no whole number of samples.
    pub fn submit(&mut self, filling: Filling, len_bytes: usize, index: SampleIndex, flags: Flags) {
        assert!(len_bytes <= filling.room_bytes, "{len_bytes} bytes exceed the quantum");
        assert!(
            len_bytes.is_multiple_of(self.info.frame_bytes()),
            "{len_bytes} bytes split a sample"
        );
        if len_bytes > 0 {
            let Filling { quantum, session, .. } = filling;
            self.push(Submit::Samples { session, quantum, len_bytes, index, flags });
        }
    }

    /// Ends the session after all that was submitted, and waits until the receiver has it all.
    /// `lost` samples were lost at the source after the last.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// Until the receiver has everything, or is dead.
    pub fn finish(&mut self, session: &Session, lost: u64) -> Result<SessionEnd, TransmitError> {
        self.finish_for(session, lost, CloseReason::Finished)
    }

    /// Like [`Transmitter::finish`], and tells the receiver why the stream ends.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// See [`Transmitter::finish`].
    pub fn finish_for(
        &mut self,
        session: &Session,
        lost: u64,
        reason: CloseReason,
    ) -> Result<SessionEnd, TransmitError> {
        self.push(Submit::Close { session: session.id, lost, reason });
        self.wait_end(session)
    }

    /// Ends the session with what has departed.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// Until the receiver has that, or is dead.
    pub fn cancel(&mut self, session: &Session) -> Result<SessionEnd, TransmitError> {
        self.push(Submit::Cancel { session: session.id });
        self.wait_end(session)
    }

    fn wait_end(&mut self, session: &Session) -> Result<SessionEnd, TransmitError> {
        loop {
            match self.wait_until(WAIT_MAX, |shared| session_error(shared, session.id)) {
                Some(TransmitError::Ended(end)) => return Ok(*end),
                Some(error) => return Err(error),
                None => {}
            }
        }
    }

    fn push(&mut self, submit: Submit) {
        // The ring holds all quanta and some commands, so it is full only for a moment.
        let mut submit = submit;
        while let Err(rtrb::PushError::Full(back)) = self.submit.push(submit) {
            if self.submit.is_abandoned() {
                return;
            }
            submit = back;
            std::thread::yield_now();
        }
        self.shared.submitted();
    }

    fn wait_until<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&Shared) -> Option<T>,
    ) -> Option<T> {
        let until = Instant::now().checked_add(timeout);
        loop {
            if let Some(found) = look(&self.shared) {
                return Some(found);
            }
            let left = until.map_or(WAIT_MAX, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            self.shared.bell.announce();
            if let Some(found) = look(&self.shared) {
                return Some(found);
            }
            self.shared.bell.wait(left.min(WAIT_MAX));
        }
    }
}

impl Drop for Transmitter {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the I/O thread does not panic");
        }
    }
}

/// Why `session` takes no more samples, if it does not.
fn session_error(shared: &Shared, session: u64) -> Option<TransmitError> {
    shared.with_state(|state| {
        if let Some(failure) = &state.failure {
            return Some(TransmitError::Port(failure.clone()));
        }
        match (&state.session, state.ended) {
            (Some(open), _) if open.id == session => None,
            (_, Some((_, end))) => Some(TransmitError::Ended(Box::new(end))),
            (_, None) => None,
        }
    })
}

/// Commands that wait in the ring besides quanta.
const COMMANDS_MAX: usize = 4;

/// The longest sleep of a waiting program.
const WAIT_MAX: Duration = Duration::from_millis(200);
