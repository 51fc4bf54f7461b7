//! Sending a stream: the program fills quanta, an I/O thread cuts them into packets and repairs.

mod canceller;
mod dull;
mod events;
mod held;
mod options;
mod outbox;
mod outflow;
mod play;
mod send_options;
mod shared;
mod slicer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use samplewire_circuit::{Pool, PoolConfig, Quantum};
use samplewire_io::{Capabilities, Link, Resilient, Udp};
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::{SendSlot, SenderConfig};
use samplewire_proto::wire::{CloseReason, Flags};

use crate::calls::Caller;
use crate::device::{Device, DeviceConfig};
use crate::driver::Port;
use crate::endpoint::{Accepted, Entry, Opened, Sending, Side};
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::opening;
use crate::quantum::{self, HOLD_MAX};
use crate::real_time::Granted;
use crate::receiver;
use crate::source::StreamInfo;

pub use canceller::Canceller;
pub use events::{PlayEvent, PlayEventKind, PlayEvents};
use held::Held;
pub use options::TransmitterOptions;
use outflow::Submit;
pub(crate) use outflow::{OUTBOX_PACKETS, Outflow};
pub use play::{Overflow, PlayError, PlaySummary};
pub use send_options::SendOptions;
use shared::Shared;
pub use shared::{Session, SessionEnd, Snapshot as TransmitterSnapshot};
pub(crate) use slicer::Form;

/// The sending end of a stream: a device that waits to be opened, one receiver at a time, or a
/// program that opens a device which plays.
///
/// [`Transmitter::wait_session`], then [`Transmitter::play`] or [`Transmitter::send_burst`] a
/// source, or fill quanta with [`Transmitter::quantum`] and [`Transmitter::submit`]; end with
/// [`Transmitter::finish`].
#[derive(Debug)]
pub struct Transmitter {
    info: StreamInfo,
    /// The device, where this end opened.
    device: Option<DeviceInfo>,
    local: SocketAddr,
    port: Port,
    memory_bytes: usize,
    pool: Pool,
    submit: rtrb::Producer<Submit>,
    shared: Arc<Shared>,
    seen_session: u64,
    /// The index after what was submitted last.
    next_index: SampleIndex,
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

/// Counters of a transmitter; good also when that is gone.
#[derive(Clone, Debug)]
pub struct StatsHandle {
    shared: Arc<Shared>,
}

impl StatsHandle {
    /// Counters as of some milliseconds ago.
    pub fn stats(&self) -> TransmitterSnapshot {
        self.shared.with_state(|state| state.snapshot)
    }

    /// The open session, when there is one.
    pub fn session(&self) -> Option<Session> {
        self.shared.with_state(|state| state.session)
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
        let sends = std::slice::from_ref(info);
        let config = DeviceConfig { sends, plays: None, clock: None };
        let mut device = Device::listen_over(link, config, options)?;
        Ok(device.transmitters.pop().expect("the port sends"))
    }

    /// Opens the stream of the device at `address` that plays. The session is there at once:
    /// [`Transmitter::wait_session`] gives it when the device has said how much it takes.
    ///
    /// # Errors
    /// Nothing answers, the device refuses, or an option is out of range.
    ///
    /// # Blocking
    /// Until the stream is open, at most for the time that the options set.
    pub fn open(address: SocketAddr, options: &SendOptions) -> Result<Self, OpenError> {
        let link = Udp::client(address, &options.udp)?;
        Self::open_over(Box::new(link), address, options)
    }

    /// Like [`Transmitter::open`], over a link of the caller's: with faults, a capture, in memory.
    ///
    /// # Errors
    /// See [`Transmitter::open`].
    ///
    /// # Blocking
    /// See [`Transmitter::open`].
    pub fn open_over(
        link: Box<dyn Link>,
        address: SocketAddr,
        options: &SendOptions,
    ) -> Result<Self, OpenError> {
        let sender_config = sender_config(options.link_bps)?;
        let config = options.open_config()?;
        let link = Resilient::new(link);
        let port = receiver::Port::for_one("samplewire-tx", link, &options.real_time)?;
        let Accepted { place, accept, at } = port.open_first(address, config, options.limits())?;
        let device = opening::describe(address, &accept)?;
        opening::check_offer(&device, &accept)?;
        let form = opening::form(&device, &accept);
        let terms = opening::terms(&accept, options.window);
        let held = (HOLD_MAX, device.rate_hz());
        let packet_samples = terms.packet_samples as usize;
        let quantum_packets =
            quantum::packets(form.payload_bytes, packet_samples, held, terms.window);
        let quantum_bytes = (quantum_packets as usize + 1) * form.payload_bytes;
        let sizes = (terms.window, quantum_packets, quantum_bytes);
        let huge_pages = options.real_time.wants_huge_pages();
        let (mut outflow, handle) = outflow(sender_config, sizes, huge_pages, port.caller(place))?;
        outflow.begin(at, terms, form, address, quantum_packets)?;
        let side = Side::Opener(Opened::new(address, &accept));
        let mut drive = port.serve(place, Entry::Sending(Box::new(Sending::new(outflow, side))))?;
        drive.granted.ask_memory(&options.real_time, handle.pool.pages());
        let about = (device.stream_info(), port.local_addr());
        let mut transmitter = Self::of_port(handle, about, port.memory_bytes(), drive);
        transmitter.device = Some(device);
        Ok(transmitter)
    }

    /// The program's half of a port.
    pub(crate) fn of_port(
        handle: Handle,
        (info, local): (StreamInfo, SocketAddr),
        batch_bytes: usize,
        port: Port,
    ) -> Self {
        let Handle { pool, submit, shared, memory_bytes } = handle;
        Self {
            info,
            device: None,
            local,
            port,
            memory_bytes: memory_bytes + batch_bytes,
            pool,
            submit,
            shared,
            seen_session: 0,
            next_index: 0,
        }
    }

    /// What the device said of the stream, where this end opened it.
    pub const fn device(&self) -> Option<&DeviceInfo> {
        self.device.as_ref()
    }

    /// The stream.
    pub const fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// The local address; that of a device is the one which receivers open.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What the link was granted.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.port.capabilities
    }

    /// What was had of the [`RealTime`](crate::RealTime) options.
    pub const fn granted(&self) -> &Granted {
        &self.port.granted
    }

    /// Does what is due, where no I/O thread does ([`Waits::Inline`](crate::Waits::Inline)): for a
    /// program that does not come to another call that waits.
    pub fn turn(&self) {
        self.port.drive.turn();
    }

    /// All memory taken for the stream, in bytes: quanta, slots, rings.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Counters as of some milliseconds ago.
    pub fn stats(&self) -> TransmitterSnapshot {
        self.shared.with_state(|state| state.snapshot)
    }

    /// A handle on these counters, for a look at them while the transmitter is in use.
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle { shared: Arc::clone(&self.shared) }
    }

    /// What ends a session from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { shared: Arc::clone(&self.shared) }
    }

    /// What takes the events of the device, where this end opened it: late packets and underflows.
    pub fn play_events(&self) -> Option<PlayEvents> {
        self.device.is_some().then(|| PlayEvents { shared: Arc::clone(&self.shared) })
    }

    /// The index after what was submitted last, or the session's first.
    pub const fn next_index(&self) -> SampleIndex {
        self.next_index
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
        (self.seen_session, self.next_index) = (session.id, session.first_index);
        Ok(Some(session))
    }

    /// A quantum to fill for `session`; `None` when none becomes free within `timeout`: the
    /// receiver takes no more for now.
    ///
    /// Who gives a `timeout` also waits while a MiB is ready to be sent, so that samples are sent
    /// from a cache. Who cannot wait gives none, and has all quanta.
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
        self.wait_until(timeout, |_| self.take(session, !timeout.is_zero())).transpose()
    }

    /// A quantum to fill for `session`; where none is free, or a MiB is ready to be sent, `waker` is
    /// woken when one may be. One waker at a time, and no other call that waits meanwhile.
    ///
    /// Where no I/O thread runs ([`Waits::Inline`](crate::Waits::Inline)) this does what is due, and
    /// wakes at once.
    ///
    /// # Errors
    /// The session has ended.
    pub fn poll_quantum(
        &mut self,
        session: &Session,
        waker: &Waker,
    ) -> Poll<Result<Filling, TransmitError>> {
        if let Some(taken) = self.take(session, true) {
            return Poll::Ready(taken);
        }
        if self.port.drive.is_inline() {
            self.port.drive.turn();
            waker.wake_by_ref();
            return Poll::Pending;
        }
        self.shared.bell.announce_to(waker);
        self.take(session, true).map_or(Poll::Pending, Poll::Ready)
    }

    /// A free quantum for `session`, or its error; none for who waits while enough is ready to be sent.
    fn take(&self, session: &Session, waits: bool) -> Option<Result<Filling, TransmitError>> {
        if let Some(error) = session_error(&self.shared, session.id) {
            return Some(Err(error));
        }
        let ready = self.submit.buffer().capacity() - self.submit.slots();
        if waits && ready >= self.shared.ahead_max {
            return None;
        }
        let mut quantum = self.pool.take()?;
        let room_bytes = session.quantum_packets as usize * session.payload_bytes;
        quantum.set_len(room_bytes + session.payload_bytes);
        Some(Ok(Filling { quantum, session: session.id, room_bytes }))
    }

    /// Sends the first `len_bytes` bytes of a filled quantum; `index` is that of the first sample.
    ///
    /// An index that is not the end of the last quantum needs [`Flags::OVERFLOW`] (samples were
    /// lost at the source) or [`Flags::START`] (set on purpose). Less than whole packets ends a
    /// burst, and so does [`Flags::END_OF_BURST`], also without samples.
    ///
    /// # Panics
    /// When `len_bytes` exceeds the quantum or is no whole number of samples, or the index lies
    /// before the end of the last quantum of the session, or after it without a reason.
    pub fn submit(&mut self, filling: Filling, len_bytes: usize, index: SampleIndex, flags: Flags) {
        assert!(len_bytes <= filling.room_bytes, "{len_bytes} bytes exceed the quantum");
        assert!(
            len_bytes.is_multiple_of(self.info.frame_bytes()),
            "{len_bytes} bytes split a sample"
        );
        let expected = self.next_index;
        let may_jump = flags.contains(Flags::START) || flags.contains(Flags::OVERFLOW);
        assert!(
            index == expected || (index > expected && may_jump),
            "index {index} does not follow {expected}"
        );
        if len_bytes > 0 || flags.contains(Flags::END_OF_BURST) {
            self.next_index = index + (len_bytes / self.info.frame_bytes()) as u64;
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
        self.start_finish(session, lost, reason);
        self.wait_end(session)
    }

    /// Ends the session after all that was submitted; [`Transmitter::poll_end`] has its end.
    #[doc(hidden)]
    pub fn start_finish(&mut self, session: &Session, lost: u64, reason: CloseReason) {
        self.push(Submit::Close { session: session.id, lost, reason });
    }

    /// How the session ended, or why the port broke, once it has.
    #[doc(hidden)]
    pub fn poll_end(&self, session: &Session) -> Option<TransmitError> {
        session_error(&self.shared, session.id)
    }

    /// Ends the session with what has departed.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// Until the receiver has that, or is dead.
    pub fn cancel(&mut self, session: &Session) -> Result<SessionEnd, TransmitError> {
        self.shared.cancel(session.id);
        self.wait_end(session)
    }

    /// Says why the session takes no more samples, if it does not.
    fn check(&self, session: &Session) -> Result<(), TransmitError> {
        session_error(&self.shared, session.id).map_or(Ok(()), Err)
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
            if !self.port.drive.turn() {
                std::thread::yield_now();
            }
        }
        self.shared.submitted();
        self.port.drive.turn();
    }

    fn wait_until<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&Shared) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = look(&self.shared) {
            return Some(found);
        }
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map_or(WAIT_MAX, |at| at.saturating_duration_since(Instant::now()));
            if self.port.granted.waits.is_program_spinning() {
                self.port.drive.turn();
                let found = look(&self.shared);
                if found.is_some() || left.is_zero() {
                    return found;
                }
                std::hint::spin_loop();
                continue;
            }
            if left.is_zero() {
                return None;
            }
            self.shared.bell.announce();
            if let Some(found) = look(&self.shared) {
                return Some(found);
            }
            self.shared.bell.wait(left.min(WAIT_MAX));
            if let Some(found) = look(&self.shared) {
                return Some(found);
            }
        }
    }
}

impl Drop for Transmitter {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// The program's half of an [`Outflow`].
pub(crate) struct Handle {
    pub(crate) pool: Pool,
    submit: rtrb::Producer<Submit>,
    shared: Arc<Shared>,
    memory_bytes: usize,
}

/// Makes both halves: a window, the packets and the bytes of a quantum.
pub(crate) fn outflow(
    config: SenderConfig,
    (window, quantum_packets, quantum_bytes): (u32, u32, usize),
    huge_pages: bool,
    caller: Caller,
) -> Result<(Outflow, Handle), OpenError> {
    let quanta = quantum::of_window(window, quantum_packets);
    let pool = Pool::new(PoolConfig::new(quanta, quantum_bytes).huge_pages(huge_pages))?;
    let held = Held::new(window, quanta);
    let (submit, submitted) = rtrb::RingBuffer::new(quanta + COMMANDS_MAX);
    let slots = (window as usize).next_power_of_two();
    let memory_bytes = pool.memory_bytes() + held.memory_bytes() + slots * size_of::<SendSlot>();
    let ahead_max = (AHEAD_BYTES / quantum_bytes).max(AHEAD_QUANTA_MIN);
    let shared = Arc::new(Shared::new(caller, ahead_max));
    let outflow = Outflow::new(config, held, submitted, Arc::clone(&shared));
    Ok((outflow, Handle { pool, submit, shared, memory_bytes }))
}

/// The sender's choices.
pub(crate) fn sender_config(link_bps: u64) -> Result<SenderConfig, OpenError> {
    SenderConfig::default().with_link_bps(link_bps).map_err(|_| {
        let (option, value) = ("link rate", link_bps);
        OpenError::OptionRange { option, value, range: "10000..=10^13 bit/s" }
    })
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

/// What a program that can wait is ahead of the link: some milliseconds at 1 Gb/s, and no more than
/// a cache holds.
const AHEAD_BYTES: usize = 1 << 20;

const AHEAD_QUANTA_MIN: usize = 4;

/// Commands that wait in the ring besides quanta.
const COMMANDS_MAX: usize = 4;

/// The longest sleep of a waiting program.
const WAIT_MAX: Duration = Duration::from_millis(200);
