//! From ZeroMQ to a stream.

use std::io;
use std::task::Poll;
use std::time::Instant;

use samplewire::transmitter::{Filling, SendError, SendStream};
use samplewire_proto::wire::Flags;

use super::ending::Ending;
use super::report::Report;
use super::shape::Shape;
use super::wait::Waiting;
use super::watch::Watch;
use samplewire_zmtp::{Kind, Socket};

/// The sockets that samples come from, and their open quantum.
pub(crate) struct Inward {
    shape: Shape,
    lanes: Vec<Lane>,
    scratch: Vec<u8>,
    waiting: Waiting,
    watch: Watch,
}

/// A socket, and the received samples that are in no quantum yet: the first bytes of a buffer.
struct Lane {
    socket: Socket,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

/// A quantum that is being filled.
struct Open {
    filling: Filling,
    len_bytes: usize,
}

impl Inward {
    /// # Errors
    /// The system has no file descriptor.
    pub(crate) fn new(shape: Shape, sockets: Vec<Socket>) -> io::Result<Self> {
        let lanes = sockets.into_iter().map(|socket| {
            let buffer = vec![0; BUFFER_BYTES].into();
            Lane { socket, buffer, start: 0, end: 0 }
        });
        let (lanes, waiting, watch) = (lanes.collect(), Waiting::new()?, Watch::default());
        Ok(Self { shape, lanes, scratch: Vec::new(), waiting, watch })
    }

    /// Its counts, which other threads may read.
    pub(crate) const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Carries samples into a session until both directions end. The first sample is `lead` samples
    /// ahead of what the other end plays then. Samples depart at once, even if they do not fill a
    /// packet: the peer that sent them may wait for the answer.
    ///
    /// # Errors
    /// The session has ended.
    pub(super) fn pump(
        &mut self,
        stream: &mut SendStream,
        lead: u64,
        ending: &Ending,
        report: &mut dyn Report,
    ) -> Result<(), PumpError> {
        let stats = stream.stats_handle();
        let mut open: Option<Open> = None;
        let mut index = stream.session().first_index;
        let mut flags = if lead > 0 { Flags::START } else { Flags::NONE };
        while !ending.has_come() {
            self.turn(Instant::now(), report);
            let items = self.fill();
            let is_full = match &mut open {
                Some(open) if items > 0 => self.join(open, items),
                None if items > 0 => match stream.poll_quantum(self.waiting.waker()) {
                    Poll::Pending => {
                        self.wait()?;
                        continue;
                    }
                    Poll::Ready(filling) => {
                        let filling = filling?;
                        self.join(open.insert(Open { filling, len_bytes: 0 }), items)
                    }
                },
                _ => false,
            };
            if let Some(Open { mut filling, len_bytes }) = open.take_if(|_| is_full || items == 0) {
                if flags.contains(Flags::START) {
                    index = index.max(stats.stats().stream.position_of_peer) + lead;
                }
                report.samples(index, &filling.bytes_mut()[..len_bytes]);
                stream.submit(filling, len_bytes, index, flags)?;
                (index, flags) = (stream.next_index(), Flags::NONE);
            }
            if items == 0 {
                stream.check()?;
                self.wait()?;
            }
        }
        Ok(())
    }

    /// Reads received samples as far as there is room; returns how many samples all sockets have.
    fn fill(&mut self) -> usize {
        for lane in &mut self.lanes {
            if lane.start == lane.end {
                (lane.start, lane.end) = (0, 0);
            } else if lane.end == lane.buffer.len() {
                lane.buffer.copy_within(lane.start..lane.end, 0);
                (lane.start, lane.end) = (0, lane.end - lane.start);
            }
            lane.end += lane.socket.read(&mut lane.buffer[lane.end..]);
        }
        self.watch.set_sockets(self.lanes.iter().map(|lane| lane.socket.counts()));
        let item_bytes = self.shape.item_bytes();
        let items = self.lanes.iter().map(|lane| (lane.end - lane.start) / item_bytes);
        items.min().unwrap_or(0)
    }

    /// Moves samples into a quantum; returns whether it is full.
    fn join(&mut self, open: &mut Open, items: usize) -> bool {
        let (item_bytes, frame_bytes) = (self.shape.item_bytes(), self.shape.frame_bytes());
        let room = &mut open.filling.bytes_mut()[open.len_bytes..];
        let frames = items.min(room.len() / frame_bytes);
        let left_bytes = room.len() - frames * frame_bytes;
        let out = &mut room[..frames * frame_bytes];
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            let taken = lane.start..lane.start + frames * item_bytes;
            self.shape.join(&lane.buffer[taken], at, &mut self.scratch, out);
            lane.start += frames * item_bytes;
        }
        open.len_bytes += frames * frame_bytes;
        self.watch.add_samples(frames as u64);
        left_bytes < frame_bytes
    }

    /// Does the pending work at the sockets.
    pub(super) fn turn(&mut self, now: Instant, report: &mut dyn Report) {
        for lane in &mut self.lanes {
            lane.socket.turn(now);
            while let Some(notice) = lane.socket.notice() {
                report.notice(&lane.socket, &notice);
            }
        }
        report.passes(now);
    }

    /// Does the pending work while no session wants samples. A SUB stays disconnected meanwhile:
    /// publishing continues, and a stream must begin with the samples that are published then.
    pub(super) fn idle(&mut self, now: Instant, report: &mut dyn Report) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.socket.kind() == Kind::Sub) {
            lane.socket.leave();
            (lane.start, lane.end) = (0, 0);
        }
        if self.lanes.iter().all(|lane| lane.socket.kind() != Kind::Sub) {
            self.turn(now, report);
        }
    }

    fn wait(&self) -> io::Result<()> {
        let lanes = self.lanes.iter();
        self.waiting
            .wait(lanes.map(|lane| (&lane.socket, lane.end - lane.start < lane.buffer.len())))
    }
}

/// Why a pump stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum PumpError {
    /// The session has ended, or the port broke.
    #[error(transparent)]
    Transmit(#[from] SendError),
    /// The system call that waits failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Bytes read from a socket before they are handed on.
const BUFFER_BYTES: usize = 256 << 10;
