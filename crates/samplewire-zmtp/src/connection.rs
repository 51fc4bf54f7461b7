//! One peer of a socket: its input, its output, and its state.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::control::Control;
use crate::decoder::{COMMAND_BYTES_MAX, Decoder, Step};
use crate::wire::{Kind, Violation, greeting, message_head, ready};

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    kind: Kind,
    stream: TcpStream,
    decoder: Decoder,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    output: VecDeque<u8>,
    /// Deadline for the handshake.
    until: Instant,
    /// This end connected, and the other end has not answered.
    is_dialling: bool,
    control: Control,
    /// A message with samples has begun and not ended.
    is_in_samples: bool,
    /// REQ: an answer is pending.
    is_awaiting: bool,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The peer disconnected.
    Gone,
    /// The peer violated the protocol.
    Sent(Violation),
}

impl From<io::Error> for Leave {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<Violation> for Leave {
    fn from(violation: Violation) -> Self {
        Self::Sent(violation)
    }
}

impl Connection {
    /// Starts to connect to `peer`, without waiting.
    ///
    /// # Errors
    /// The system has no free socket, or no route.
    pub(super) fn dial(kind: Kind, peer: SocketAddr, queue_bytes: usize) -> io::Result<Self> {
        let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &peer) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let mut connection = Self::over(kind, TcpStream::from(socket), peer, queue_bytes)?;
        connection.is_dialling = true;
        Ok(connection)
    }

    /// Wraps an accepted connection.
    ///
    /// # Errors
    /// The socket rejects an option.
    pub(super) fn over(
        kind: Kind,
        stream: TcpStream,
        peer: SocketAddr,
        queue_bytes: usize,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let input_bytes = if kind.is_inward() { INPUT_BYTES } else { CONTROL_INPUT_BYTES };
        let mut output = VecDeque::with_capacity(OVERHEAD_BYTES + queue_bytes);
        output.extend(greeting());
        output.extend(ready(kind));
        Ok(Self {
            peer,
            kind,
            stream,
            decoder: Decoder::new(kind),
            input: vec![0; input_bytes].into(),
            start: 0,
            end: 0,
            output,
            until: Instant::now() + HANDSHAKE_MAX,
            is_dialling: false,
            control: Control::new(kind),
            is_in_samples: false,
            is_awaiting: false,
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The events to wait for; `takes_samples` if received samples would be read.
    pub(super) fn interest(&self, takes_samples: bool) -> PollFlags {
        let is_read = match self.kind {
            _ if !self.is_ready() => !self.is_dialling,
            Kind::Rep => !self.is_asking(),
            Kind::Pub | Kind::Push => true,
            Kind::Sub | Kind::Pull | Kind::Req => takes_samples,
        };
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, is_read);
        interest.set(PollFlags::OUT, self.is_dialling || !self.output.is_empty());
        interest
    }

    /// Whether the handshake is complete.
    pub(super) const fn is_ready(&self) -> bool {
        self.decoder.is_ready()
    }

    /// Number of bytes in the output queue.
    pub(super) fn queued_bytes(&self) -> usize {
        self.output.len()
    }

    /// REQ: whether an answer is pending.
    pub(super) const fn is_awaiting(&self) -> bool {
        self.is_awaiting
    }

    /// REP: whether a request is pending.
    pub(super) fn is_asking(&self) -> bool {
        self.control.is_asking()
    }

    /// PUB: whether the peer subscribes to a message with this beginning.
    pub(super) fn subscribes_to(&self, message: &[u8]) -> bool {
        self.control.subscribes_to(message)
    }

    /// Whether a message with samples has begun and not ended.
    pub(super) const fn is_in_samples(&self) -> bool {
        self.is_in_samples
    }

    /// Remaining bytes of a message with samples that has begun.
    pub(super) const fn missing_bytes(&self) -> u64 {
        if self.is_in_samples { self.decoder.left_bytes() } else { 0 }
    }

    /// Sends queued bytes, and reads all input except samples. Returns whether this call completed
    /// the handshake.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn turn(&mut self, now: Instant) -> Result<bool, Leave> {
        if !self.is_ready() && now > self.until {
            return Err(if self.is_dialling { Leave::Gone } else { Violation::Slow.into() });
        }
        if self.is_dialling {
            if let Some(error) = self.stream.take_error()? {
                return Err(error.into());
            }
            match self.stream.peer_addr() {
                Ok(_) => self.is_dialling = false,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        // The input after the handshake is samples.
        self.flush()?;
        let was_ready = self.is_ready();
        self.read_control()?;
        let is_new = !was_ready && self.is_ready();
        if is_new && self.kind == Kind::Sub {
            self.put(&[], SUBSCRIBE_ALL);
        }
        self.flush()?;
        Ok(is_new)
    }

    /// Queues a message after `frames`.
    fn put(&mut self, frames: &[u8], message: &[u8]) {
        let (head, head_bytes) = message_head(message.len(), false);
        self.output.extend(frames);
        self.output.extend(&head[..head_bytes]);
        self.output.extend(message);
    }

    /// Sends a message, or the part that the system accepts at once.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Leave> {
        let output = &mut self.output;
        self.control.answer(|way_back| output.extend(way_back));
        self.put(&[], message);
        self.flush()
    }

    /// REQ: requests samples.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn ask(&mut self) -> Result<(), Leave> {
        self.put(DELIMITER, REQUEST);
        self.is_awaiting = true;
        self.flush()
    }

    /// Sends as many queued bytes as the system accepts.
    fn flush(&mut self) -> Result<(), Leave> {
        while !self.output.is_empty() {
            let (first, second) = self.output.as_slices();
            match self.stream.write_vectored(&[IoSlice::new(first), IoSlice::new(second)]) {
                Ok(0) => return Err(Leave::Gone),
                Ok(len) => drop(self.output.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads samples of at most one message to the start of `out`; returns 0 if there are none.
    /// `item_bytes` is the size of a sample. In a message of several parts, the last part has the
    /// samples; the others are a topic or a routing envelope.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn read_samples(
        &mut self,
        out: &mut [u8],
        item_bytes: usize,
    ) -> Result<usize, Leave> {
        let mut filled = 0;
        for _ in 0..STEPS_MAX {
            if filled == out.len() || !self.is_ready() {
                break;
            }
            let room = if self.is_in_samples { out.len() - filled } else { usize::MAX };
            let step = match self.step(room) {
                // The bytes already read count; the next call returns the error again.
                Err(_) if filled > 0 => break,
                step => step?,
            };
            match step {
                Step::Wait => break,
                Step::Part { len_bytes, has_more: false, .. } => {
                    if self.kind == Kind::Req && !std::mem::take(&mut self.is_awaiting) {
                        return Err(Violation::Unasked.into());
                    }
                    if !len_bytes.is_multiple_of(item_bytes as u64) {
                        return Err(Violation::Split { len_bytes, item_bytes }.into());
                    }
                    self.is_in_samples = len_bytes > 0;
                }
                Step::Bytes { len, is_last } if self.is_in_samples => {
                    let taken = &self.input[self.start - len..self.start];
                    out[filled..filled + len].copy_from_slice(taken);
                    filled += len;
                    self.is_in_samples = !is_last;
                    if is_last {
                        break;
                    }
                }
                Step::Skip(_) | Step::Ready(_) | Step::Part { .. } | Step::Bytes { .. } => {}
            }
        }
        Ok(filled)
    }

    /// Reads the handshake, and after it the input of a socket that sends samples.
    fn read_control(&mut self) -> Result<(), Leave> {
        for _ in 0..STEPS_MAX {
            if self.is_asking() || (self.is_ready() && self.kind.is_inward()) {
                break;
            }
            match self.step(usize::MAX)? {
                Step::Wait => return Ok(()),
                Step::Part { skip, len_bytes, has_more } => {
                    let head = &self.input[self.start - skip..self.start];
                    self.control.begin(head, len_bytes, has_more)?;
                }
                Step::Bytes { len, is_last } => {
                    self.control.take(&self.input[self.start - len..self.start], is_last)?;
                }
                Step::Skip(_) | Step::Ready(_) => {}
            }
        }
        // A peer that waits for an answer sends nothing, so only this shows a disconnect.
        if self.is_asking() && self.stream.peek(&mut [0]).is_ok_and(|len| len == 0) {
            return Err(Leave::Gone);
        }
        Ok(())
    }

    /// The next step, of at most `room` bytes. Its bytes leave the input, and stay readable until
    /// the next call.
    fn step(&mut self, room: usize) -> Result<Step, Leave> {
        loop {
            let end = self.end.min(self.start.saturating_add(room));
            let step = self.decoder.next(&self.input[self.start..end])?;
            match step {
                Step::Wait => {
                    if !self.fill()? {
                        return Ok(Step::Wait);
                    }
                }
                Step::Skip(len)
                | Step::Ready(len)
                | Step::Part { skip: len, .. }
                | Step::Bytes { len, .. } => {
                    self.start += len;
                    return Ok(step);
                }
            }
        }
    }

    /// Reads available bytes; `false` if there are none.
    fn fill(&mut self) -> Result<bool, Leave> {
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(Leave::Gone),
                Ok(len) => {
                    self.end += len;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Maximum output bytes for greeting, READY, heads and envelopes, in addition to messages.
const OVERHEAD_BYTES: usize = 1_024;

/// Input buffer of a socket that receives samples.
const INPUT_BYTES: usize = 256 << 10;

/// Input buffer of a socket that receives requests or subscriptions.
const CONTROL_INPUT_BYTES: usize = 4 << 10;

// A command must fit into one buffer; a head has at most 9 bytes.
const _: () = assert!(CONTROL_INPUT_BYTES as u64 > COMMAND_BYTES_MAX + 9);

/// Maximum steps for one peer before the others get their turn: parts without samples cost their
/// sender very little.
const STEPS_MAX: usize = 1_024;

/// Time limit for the handshake, including the connection.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// An empty part: it precedes a request and its answer.
const DELIMITER: &[u8] = &[1, 0];

/// The request of srsRAN's receivers: one byte, which its transmitters ignore.
const REQUEST: &[u8] = &[0];

/// A message of a SUB that subscribes to everything.
const SUBSCRIBE_ALL: &[u8] = &[1];
