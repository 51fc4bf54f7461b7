//! One peer of a socket: its bytes in, its bytes out, and what it wants.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::control::Control;
use super::decoder::{COMMAND_BYTES_MAX, Decoder, Step};
use super::wire::{Kind, Violation, greeting, message_head, ready};

/// A connection, from its first byte on.
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
    /// Until when the handshake must be done.
    until: Instant,
    /// It was dialled, and the other end has not answered.
    is_dialling: bool,
    control: Control,
    /// A message with samples has begun and not ended.
    is_in_samples: bool,
    /// REQ: an answer is to come.
    is_awaiting: bool,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The peer is gone.
    Gone,
    /// It breaks the rules.
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
    /// Goes to `peer`, without waiting for it.
    ///
    /// # Errors
    /// The system has no socket, or no way there.
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

    /// One that came.
    ///
    /// # Errors
    /// The socket does not take its options.
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

    /// What to wait for; `takes_samples` where what comes would be read.
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

    /// Whether hands have been shaken.
    pub(super) const fn is_ready(&self) -> bool {
        self.decoder.is_ready()
    }

    /// Bytes that wait to be sent.
    pub(super) fn queued_bytes(&self) -> usize {
        self.output.len()
    }

    /// REQ: whether an answer is to come.
    pub(super) const fn is_awaiting(&self) -> bool {
        self.is_awaiting
    }

    /// REP: whether an answer is wanted.
    pub(super) fn is_asking(&self) -> bool {
        self.control.is_asking()
    }

    /// PUB: whether the peer wants a message that begins so.
    pub(super) fn subscribes_to(&self, message: &[u8]) -> bool {
        self.control.subscribes_to(message)
    }

    /// Whether a message with samples has begun and not ended.
    pub(super) const fn is_in_samples(&self) -> bool {
        self.is_in_samples
    }

    /// Of a message with samples that has begun, the bytes that have not come.
    pub(super) const fn missing_bytes(&self) -> u64 {
        if self.is_in_samples { self.decoder.left_bytes() } else { 0 }
    }

    /// Sends what can be sent, and reads what is no samples. Says whether hands were shaken in it.
    ///
    /// # Errors
    /// The connection is over.
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
        // What is left after the handshake is samples.
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

    /// Puts a message into what is to be sent, behind `frames`.
    fn put(&mut self, frames: &[u8], message: &[u8]) {
        let (head, head_bytes) = message_head(message.len(), false);
        self.output.extend(frames);
        self.output.extend(&head[..head_bytes]);
        self.output.extend(message);
    }

    /// Sends a message, or what the system takes of it at once.
    ///
    /// # Errors
    /// The connection is over.
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Leave> {
        let output = &mut self.output;
        self.control.answer(|way_back| output.extend(way_back));
        self.put(&[], message);
        self.flush()
    }

    /// REQ: asks for samples.
    ///
    /// # Errors
    /// The connection is over.
    pub(super) fn ask(&mut self) -> Result<(), Leave> {
        self.put(DELIMITER, REQUEST);
        self.is_awaiting = true;
        self.flush()
    }

    /// Sends what the system takes.
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

    /// Takes samples of at most one message to the front of `out`; 0 where there are none now.
    /// `item_bytes` is a sample. Of several parts the last has the samples, and those before it are a
    /// topic or a way back.
    ///
    /// # Errors
    /// The connection is over.
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
                // What was read counts; the error comes again.
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

    /// Reads the handshake, and after it what comes to a socket that gives samples.
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
        // Who waits for an answer sends nothing; that it is gone is seen nowhere else.
        if self.is_asking() && self.stream.peek(&mut [0]).is_ok_and(|len| len == 0) {
            return Err(Leave::Gone);
        }
        Ok(())
    }

    /// What comes next, of at most `room` bytes; taken from the input, where it can be looked at until
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

    /// Reads what has come; `false` where nothing has.
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

/// What of greeting, READY, heads and ways back stands in the output beside messages, at most.
const OVERHEAD_BYTES: usize = 1_024;

/// What is read at once where samples come in.
const INPUT_BYTES: usize = 256 << 10;

/// The same where requests or subscriptions come in.
const CONTROL_INPUT_BYTES: usize = 4 << 10;

// What is looked at must lie in one buffer; a head is 9 bytes at most.
const _: () = assert!(CONTROL_INPUT_BYTES as u64 > COMMAND_BYTES_MAX + 9);

/// What is looked at of a peer before others have their turn: parts without samples cost their sender
/// as little as a flood.
const STEPS_MAX: usize = 1_024;

/// How long a peer may take to shake hands, or to answer at all.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// An empty part before others: a request, and its answer, begin with it.
const DELIMITER: &[u8] = &[1, 0];

/// What srsRAN's receivers send: one byte. Its transmitters look at none of it.
const REQUEST: &[u8] = &[0];

/// A message of a SUB: it wants everything.
const SUBSCRIBE_ALL: &[u8] = &[1];
