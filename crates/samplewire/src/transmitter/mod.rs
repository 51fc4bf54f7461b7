//! Sending a stream: the program fills quanta, an I/O thread cuts them into packets and repairs.

mod canceller;
mod events;
mod feedback_flood;
mod flow;
mod listener;
mod outbox;
mod play;
mod retransmit_buffer;
mod shared;
mod slicer;
mod slot;
mod writes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use samplewire_circuit::{Pool, PoolConfig, Quantum};
use samplewire_io::Capabilities;
use samplewire_proto::sender::{self, SendSlot, SenderConfig};
use samplewire_proto::wire::{CloseReason, Flags};
use samplewire_proto::{SampleIndex, TaiClock};

pub use crate::counters::TransmitterSnapshot;
use crate::endpoint::{Accepted, Entry, Opened, Sending, Side};
use crate::error::OpenError;
use crate::format::{FormError, FormSample, check_form};
use crate::info::DeviceInfo;
use crate::opening;
use crate::options::SendOptions;
use crate::port::Route;
use crate::published::publisher;
use crate::quantum::{self, HOLD_MAX};
use crate::real_time::Granted;
use crate::receiver;
use crate::source::StreamInfo;
use crate::wakeups::WakeHandle;

pub use canceller::Canceller;
pub use events::{PlayEvent, PlayEventKind, PlayEvents};
use flow::Submit;
pub(crate) use flow::{OUTBOX_PACKETS, SendFlow};
pub use listener::Listener;
pub use play::{Overflow, PlayError, PlaySummary};
use retransmit_buffer::RetransmitBuffer;
pub use shared::{Session, SessionEnd};
use shared::{Shared, SharedWriter};
pub(crate) use slicer::Form;
use slot::{Slot, Submitter};
pub(crate) use writes::Writes;

/// The sending end of an open stream: of a device that a receiver has opened
/// ([`Listener::accept`]), or of a program that opened a device which plays ([`SendOptions::open`]).
///
/// [`SendStream::send`] samples, [`SendStream::play`] or [`SendStream::send_burst`] a source, or fill
/// quanta in place with [`SendStream::quantum`] and [`SendStream::submit`]; end with
/// [`SendStream::finish`]. Dropping it before that ends the stream with what has departed.
#[derive(Debug)]
pub struct SendStream {
    session: Session,
    /// The device, where this end opened.
    device: Option<DeviceInfo>,
    /// The index after what was submitted last.
    next_index: SampleIndex,
    /// What [`SendStream::send`] fills, and how many bytes of it are.
    begun: Option<(Filling, usize)>,
    /// `None` only while it is dropped.
    submitter: Option<Submitter>,
    slot: Slot,
}

/// A stream that is being opened over an endpoint that is stepped.
#[derive(Debug)]
pub struct PendingSender {
    address: SocketAddr,
    options: SendOptions,
    answer: receiver::Answer,
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

/// Counters of a stream that is sent; good also when its handles are gone.
#[derive(Clone, Debug)]
pub struct StatsHandle {
    shared: Arc<Shared>,
}

impl StatsHandle {
    /// Counters as of some milliseconds ago.
    pub fn stats(&self) -> TransmitterSnapshot {
        self.shared.snapshot()
    }

    /// The open session, when there is one.
    pub fn session(&self) -> Option<Session> {
        self.shared.session()
    }
}

/// Why samples were not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The session has ended.
    #[error("the session has ended: {}", .0.end.words("the peer"))]
    Ended(Box<SessionEnd>),
    /// The I/O thread broke.
    #[error("the port failed: {0}")]
    Port(String),
    /// The device sends no stream.
    #[error("the device sends no stream: name one with DeviceOptions::sends")]
    NoStream,
    /// A quantum has less room.
    #[error("{len_bytes} bytes exceed the {room_bytes} of the quantum")]
    Length {
        /// How many there were to be.
        len_bytes: usize,
        /// The room.
        room_bytes: usize,
    },
    /// The bytes end within a sample.
    #[error("{len_bytes} bytes are no whole number of samples of {frame_bytes} bytes")]
    SplitSample {
        /// How many there were.
        len_bytes: usize,
        /// A sample of all channels.
        frame_bytes: usize,
    },
    /// An index lies before the end of what was sent, or after it without a reason.
    #[error("index {index} does not follow {expected}")]
    Index {
        /// The index given.
        index: SampleIndex,
        /// The end of what was sent.
        expected: SampleIndex,
    },
    /// The samples are not of the stream's format.
    #[error(transparent)]
    Form(#[from] FormError),
}

impl SendStream {
    /// Starts to open a stream over an endpoint that is stepped; `seed` is what the opening may draw
    /// from.
    ///
    /// # Errors
    /// An option is out of range, or the port has failed.
    #[doc(hidden)]
    pub fn start_opening(
        port: &receiver::Port,
        address: SocketAddr,
        options: &SendOptions,
        seed: [u8; 16],
    ) -> Result<PendingSender, OpenError> {
        options.sender_config(0, 0)?;
        let answer = port.ask(address, options.send_config()?, options.limits(), seed)?;
        Ok(PendingSender { address, options: options.clone(), answer })
    }

    /// The stream of an opening, or its error, once that is settled.
    #[doc(hidden)]
    pub fn poll_opening(
        port: &receiver::Port,
        opening: &PendingSender,
    ) -> Option<Result<Self, OpenError>> {
        let accepted = port.poll_answer(&opening.answer)?;
        Some(accepted.and_then(|it| {
            Self::begin(port, Route::unknown(opening.address), &it, &opening.options)
        }))
    }

    /// Begins a stream that a device has accepted.
    pub(crate) fn begin(
        port: &receiver::Port,
        route: Route,
        accepted: &Accepted,
        options: &SendOptions,
    ) -> Result<Self, OpenError> {
        let &Accepted { place, ref accept, at, .. } = accepted;
        let address = route.peer;
        let device = opening::describe(address, accept)?;
        let sender_config =
            options.sender_config(device.rate_numerator, device.rate_denominator)?;
        opening::check_offer(&device, accept)?;
        let form = opening::form(&device, accept);
        let terms = opening::terms(accept, options.window);
        let packet_samples = terms.packet_samples as usize;
        let quantum_packets = quantum::packets(
            form.payload_bytes,
            packet_samples,
            HOLD_MAX,
            device.rate_hz(),
            terms.window,
        );
        let quantum_bytes = (quantum_packets as usize + 1) * form.payload_bytes;
        let sizes = FlowSizes { window: terms.window, quantum_packets, quantum_bytes };
        let huge_pages = options.real_time.wants_huge_pages();
        let (mut flow, handle) = flow(sender_config, sizes, huge_pages, port.wake_handle(place))?;
        let session = flow.begin(at, terms, form, route, quantum_packets)?;
        let side = Side::Opener(Opened::new(address, accept));
        let mut drive = port.serve(place, Entry::Sending(Box::new(Sending::new(flow, side))))?;
        drive.granted.ask_memory(&options.real_time, handle.pool.pages());
        let (info, local) = (device.stream_info(), port.local_addr());
        let (slot, submitter) = Slot::new(handle, info, local, port.memory_bytes(), drive);
        let mut stream = Self::new(session, submitter, slot);
        stream.device = Some(device);
        Ok(stream)
    }

    /// The program's end of an open session.
    fn new(session: Session, submitter: Submitter, slot: Slot) -> Self {
        let (next_index, submitter) = (session.first_index, Some(submitter));
        Self { session, device: None, next_index, begun: None, submitter, slot }
    }

    /// The terms of the stream, and its peer.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What the device said of the stream, where this end opened it.
    pub const fn device(&self) -> Option<&DeviceInfo> {
        self.device.as_ref()
    }

    /// What the samples are.
    pub const fn info(&self) -> &StreamInfo {
        &self.slot.info
    }

    /// The local address; that of a device is the one which receivers open.
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
    /// program that does not come to another call that waits.
    pub fn turn(&self) {
        self.slot.port.drive.turn();
    }

    /// All memory taken for the stream, in bytes: quanta, slots, rings.
    pub const fn memory_bytes(&self) -> usize {
        self.slot.memory_bytes
    }

    /// Counters as of some milliseconds ago.
    pub fn stats(&self) -> TransmitterSnapshot {
        self.slot.shared.snapshot()
    }

    /// A handle on these counters, for a look at them while the stream is in use.
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle { shared: Arc::clone(&self.slot.shared) }
    }

    /// What ends the stream from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { shared: Arc::clone(&self.slot.shared), session: Some(self.session.id) }
    }

    /// What takes the events of the device, where this end opened it: late packets and underflows.
    pub fn play_events(&self) -> Option<PlayEvents> {
        self.device.is_some().then(|| PlayEvents { shared: Arc::clone(&self.slot.shared) })
    }

    /// States the time of each index, for example each second by the converter's clock. The receiver
    /// gets it with the next MARK (`docs/protocol.md#4.8`). With `None` it is stated no
    /// longer, and the receiver keeps the last one. It holds for later sessions of a listener, too.
    /// Neither waits nor allocates.
    pub fn set_tai_clock(&mut self, clock: Option<TaiClock>) {
        if let Some(submitter) = &mut self.submitter {
            submitter.tai_clock.publish(&clock);
        }
    }

    /// The index after what was sent or submitted last, or the session's first.
    pub fn next_index(&self) -> SampleIndex {
        let begun_bytes = self.begun.as_ref().map_or(0, |(_, len_bytes)| *len_bytes);
        self.next_index + (begun_bytes / self.slot.info.frame_bytes()) as u64
    }

    /// Waits until the receiver has reported how much it takes; `false` when `timeout` passes first.
    /// A stream that a [`Listener`] gave is ready.
    ///
    /// # Errors
    /// The stream has ended, or the I/O thread broke.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn wait_ready(&self, timeout: Duration) -> Result<bool, SendError> {
        let id = self.session.id;
        let found = self.slot.wait_until(timeout, |shared| {
            let ready = || (shared.open_session() == Some(id)).then_some(Ok(true));
            shared.error_of(Some(id)).map(Err).or_else(ready)
        });
        found.unwrap_or(Ok(false))
    }

    /// Fails once the stream takes no more samples.
    ///
    /// # Errors
    /// The stream has ended, or the I/O thread broke.
    pub fn check(&self) -> Result<(), SendError> {
        self.slot.shared.error_of(Some(self.session.id)).map_or(Ok(()), Err)
    }

    /// Sends samples that follow on those before, copied into quanta. They depart by full quanta; the
    /// rest waits for the next call, [`SendStream::flush`] or [`SendStream::finish`].
    ///
    /// # Errors
    /// `T` is not the stream's format, or the stream has ended: what was copied before is not taken
    /// back.
    ///
    /// # Blocking
    /// While the receiver takes no more.
    pub fn send<T: FormSample>(&mut self, samples: &[T]) -> Result<(), SendError> {
        check_form::<T>(&self.slot.info)?;
        self.send_bytes(bytemuck::cast_slice(samples))
    }

    /// Like [`SendStream::send`], of samples as they go over the wire: little-endian, channels
    /// interleaved.
    ///
    /// # Errors
    /// The bytes end within a sample, or see [`SendStream::send`].
    ///
    /// # Blocking
    /// See [`SendStream::send`].
    pub fn send_bytes(&mut self, mut bytes: &[u8]) -> Result<(), SendError> {
        self.check_whole(bytes.len())?;
        while !bytes.is_empty() {
            let (mut filling, begun_bytes) = match self.begun.take() {
                Some(begun) => begun,
                None => match self.quantum(WAIT_MAX)? {
                    Some(filling) => (filling, 0),
                    None => continue,
                },
            };
            let room = &mut filling.bytes_mut()[begun_bytes..];
            let (now, later) = bytes.split_at(bytes.len().min(room.len()));
            let is_full = now.len() == room.len();
            room[..now.len()].copy_from_slice(now);
            self.begun = Some((filling, begun_bytes + now.len()));
            if is_full {
                self.flush();
            }
            bytes = later;
        }
        Ok(())
    }

    /// Hands what [`SendStream::send`] has in a quantum that is not full over to be sent. Where that
    /// is no whole number of packets, it ends a burst.
    pub fn flush(&mut self) {
        if let Some((filling, len_bytes)) = self.begun.take() {
            self.push_samples(filling, len_bytes, self.next_index, Flags::NONE);
        }
    }

    /// A quantum to fill; `None` when none becomes free within `timeout`: the
    /// receiver takes no more for now.
    ///
    /// With a `timeout` it also waits while a MiB is ready to be sent, so that samples are sent from a
    /// cache. With a `timeout` of zero all quanta are available.
    ///
    /// # Errors
    /// The stream has ended.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn quantum(&mut self, timeout: Duration) -> Result<Option<Filling>, SendError> {
        self.slot.wait_until(timeout, |_| self.take(!timeout.is_zero())).transpose()
    }

    /// A quantum to fill; where none is free, or a MiB is ready to be sent, `waker` is
    /// woken when one may be. One waker at a time, and no other call that waits meanwhile.
    ///
    /// Where no I/O thread runs ([`Waits::Inline`](crate::Waits::Inline)) this does what is due, and
    /// wakes at once.
    ///
    /// # Errors
    /// The session has ended.
    pub fn poll_quantum(&mut self, waker: &Waker) -> Poll<Result<Filling, SendError>> {
        if let Some(taken) = self.take(true) {
            return Poll::Ready(taken);
        }
        if self.slot.port.drive.is_inline() {
            self.slot.port.drive.turn();
            waker.wake_by_ref();
            return Poll::Pending;
        }
        self.slot.shared.bell.announce_to(waker);
        self.take(true).map_or(Poll::Pending, Poll::Ready)
    }

    /// A free quantum, or the stream's error; none if `waits` is set while enough samples are ready
    /// to be sent.
    fn take(&self, waits: bool) -> Option<Result<Filling, SendError>> {
        let (session, shared) = (&self.session, &self.slot.shared);
        if let Some(error) = shared.error_of(Some(session.id)) {
            return Some(Err(error));
        }
        let ring = &self.submitter.as_ref()?.ring;
        let ready = ring.buffer().capacity() - ring.slots();
        if waits && ready >= shared.ahead_max {
            return None;
        }
        let mut quantum = self.slot.pool.take()?;
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
    /// What [`SendStream::send`] has begun leaves before it.
    ///
    /// # Errors
    /// `len_bytes` exceeds the quantum or is no whole number of samples, or the index lies before the
    /// end of what was sent, or after it without a reason. The quantum is free again, and nothing of
    /// it is sent.
    pub fn submit(
        &mut self,
        filling: Filling,
        len_bytes: usize,
        index: SampleIndex,
        flags: Flags,
    ) -> Result<(), SendError> {
        let room_bytes = filling.room_bytes;
        if len_bytes > room_bytes {
            return Err(SendError::Length { len_bytes, room_bytes });
        }
        self.check_whole(len_bytes)?;
        let expected = self.next_index();
        let may_jump = flags.contains(Flags::START) || flags.contains(Flags::OVERFLOW);
        if index < expected || (index > expected && !may_jump) {
            return Err(SendError::Index { index, expected });
        }
        self.flush();
        if len_bytes > 0 || flags.contains(Flags::END_OF_BURST) {
            self.push_samples(filling, len_bytes, index, flags);
        }
        Ok(())
    }

    fn check_whole(&self, len_bytes: usize) -> Result<(), SendError> {
        let frame_bytes = self.slot.info.frame_bytes();
        if !len_bytes.is_multiple_of(frame_bytes) {
            return Err(SendError::SplitSample { len_bytes, frame_bytes });
        }
        Ok(())
    }

    fn push_samples(
        &mut self,
        filling: Filling,
        len_bytes: usize,
        index: SampleIndex,
        flags: Flags,
    ) {
        self.next_index = index + (len_bytes / self.slot.info.frame_bytes()) as u64;
        let Filling { quantum, session, .. } = filling;
        self.push(Submit::Samples { session, quantum, len_bytes, index, flags });
    }

    /// Ends the stream after all that was submitted, and waits until the receiver has it all.
    /// `lost` samples were lost at the source after the last.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// Until the receiver has everything, or is dead.
    pub fn finish(&mut self, lost: u64) -> Result<SessionEnd, SendError> {
        self.finish_for(lost, CloseReason::Finished)
    }

    /// Like [`SendStream::finish`], with a reason for the receiver.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// See [`SendStream::finish`].
    pub fn finish_for(&mut self, lost: u64, reason: CloseReason) -> Result<SessionEnd, SendError> {
        self.start_finish(lost, reason);
        self.wait_end()
    }

    /// Ends the stream after all that was submitted; [`SendStream::check`] fails with its end.
    #[doc(hidden)]
    pub fn start_finish(&mut self, lost: u64, reason: CloseReason) {
        self.flush();
        self.push(Submit::Close { session: self.session.id, lost, reason });
    }

    /// Ends the stream with what has departed.
    ///
    /// # Errors
    /// The I/O thread broke.
    ///
    /// # Blocking
    /// Until the receiver has that, or is dead.
    pub fn cancel(&mut self) -> Result<SessionEnd, SendError> {
        self.slot.shared.cancel(self.session.id);
        self.wait_end()
    }

    fn wait_end(&mut self) -> Result<SessionEnd, SendError> {
        let id = self.session.id;
        loop {
            match self.slot.wait_until(WAIT_MAX, |shared| shared.error_of(Some(id))) {
                Some(SendError::Ended(end)) => return Ok(*end),
                Some(error) => return Err(error),
                None => {}
            }
        }
    }

    fn push(&mut self, submit: Submit) {
        let Some(Submitter { ring, .. }) = &mut self.submitter else { return };
        // The ring holds all quanta and some commands, so it is full only for a moment.
        let mut submit = submit;
        while let Err(rtrb::PushError::Full(back)) = ring.push(submit) {
            if ring.is_abandoned() {
                return;
            }
            submit = back;
            if !self.slot.port.drive.turn() {
                std::thread::yield_now();
            }
        }
        self.slot.shared.submitted();
        self.slot.port.drive.turn();
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        if self.check().is_ok() {
            self.slot.shared.cancel(self.session.id);
        }
        if let Some(submitter) = self.submitter.take() {
            self.slot.claim.give_back(submitter);
        }
    }
}

/// The program's half of a [`SendFlow`].
pub(crate) struct Handle {
    pub(crate) pool: Pool,
    submitter: Submitter,
    shared: Arc<Shared>,
    memory_bytes: usize,
}

impl Handle {
    /// The stream may go over RDMA: states the memory of that, which an opening takes.
    pub(crate) fn may_write(&mut self, window: u32) {
        self.memory_bytes += Writes::memory_bytes(window);
    }
}

/// Sizes of a stream that is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowSizes {
    /// In packets.
    pub(crate) window: u32,
    pub(crate) quantum_packets: u32,
    pub(crate) quantum_bytes: usize,
}

/// Makes both halves.
pub(crate) fn flow(
    config: SenderConfig,
    sizes: FlowSizes,
    huge_pages: bool,
    wake_handle: WakeHandle,
) -> Result<(SendFlow, Handle), OpenError> {
    let FlowSizes { window, quantum_packets, quantum_bytes } = sizes;
    let quanta = quantum::of_window(window, quantum_packets);
    let pool = Pool::new(PoolConfig::new(quanta, quantum_bytes).huge_pages(huge_pages))?;
    let held = RetransmitBuffer::new(window, quanta);
    let (ring, submitted) = rtrb::RingBuffer::new(quanta + COMMANDS_MAX);
    let slots = (window as usize).next_power_of_two();
    let memory_bytes = pool.memory_bytes() + held.memory_bytes() + slots * size_of::<SendSlot>();
    let ahead_max = (AHEAD_BYTES / quantum_bytes).max(AHEAD_QUANTA_MIN);
    let writer = SharedWriter::new(wake_handle, ahead_max);
    let shared = Arc::clone(&writer.shared);
    let tai_clock = publisher(&None);
    let flow = SendFlow::new(config, held, submitted, tai_clock.reader(), writer);
    let submitter = Submitter { ring, tai_clock };
    Ok((flow, Handle { pool, submitter, shared, memory_bytes }))
}

/// The sender's choices.
pub(crate) fn sender_config(
    link_bps: u64,
    control: sender::Control,
) -> Result<SenderConfig, OpenError> {
    let config = SenderConfig::default().with_link_bps(link_bps).map_err(|_| {
        let (option, value) = ("link rate", link_bps);
        OpenError::OptionRange { option, value, range: "10^4 to 10^13 bit/s" }
    })?;
    Ok(config.with_control(control).expect("its rates were checked, and no line is named"))
}

/// What a program that can wait is ahead of the link: some milliseconds at 1 Gb/s, and no more than
/// a cache holds.
const AHEAD_BYTES: usize = 1 << 20;

const AHEAD_QUANTA_MIN: usize = 4;

/// Commands that wait in the ring besides quanta.
const COMMANDS_MAX: usize = 4;

/// The longest sleep of a waiting program.
const WAIT_MAX: Duration = Duration::from_millis(200);
