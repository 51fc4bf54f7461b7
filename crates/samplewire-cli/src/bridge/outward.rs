//! From a stream to ZeroMQ.

use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};

use samplewire::SampleIndex;
use samplewire::receiver::{Block, ReceiveStream};
use samplewire_record::account::{Account, HeldUp};
use samplewire_record::sigmf::RecordedGap;

use super::ending::Ending;
use super::report::Report;
use super::shape::Shape;
use super::wait::Waiting;
use super::watch::Watch;
use samplewire_zmtp::{Offered, Socket};

/// What replaces missing samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapFill {
    /// As many zeros: the sample count still tracks time. A gap longer than a minute is not filled.
    Zeros,
    /// Nothing: the samples after a gap directly follow those before it.
    Skip,
}

/// The longest run of zeros of a stream: a peer states how long a gap is, and must not keep the
/// sockets busy with it.
fn zeros_max(rate_hz: f64) -> u64 {
    // The peer states the rate too.
    if rate_hz > 0.0 { ((60.0 * rate_hz) as u64).min(ZEROS_MAX) } else { ZEROS_MAX }
}

/// A minute of 286 MS/s.
const ZEROS_MAX: u64 = 1 << 34;

/// The sockets that send samples, and the samples on their way to them.
pub(crate) struct Outward {
    shape: Shape,
    gaps: GapFill,
    /// Maximum samples in a message.
    items_max: usize,
    lanes: Vec<Lane>,
    scratch: Vec<u8>,
    waiting: Waiting,
    watch: Watch,
}

/// A socket, and the message that it sends next.
struct Lane {
    socket: Socket,
    message: Vec<u8>,
}

/// Received samples that are in no message yet.
#[derive(Default)]
struct Pending {
    /// Zeros that precede the block.
    zeros: u64,
    block: Option<Block>,
    /// Bytes of the block that are already in messages.
    taken_bytes: usize,
}

impl Outward {
    /// # Errors
    /// The system has no free file descriptor.
    pub(crate) fn new(
        shape: Shape,
        gaps: GapFill,
        items_max: usize,
        sockets: Vec<Socket>,
    ) -> io::Result<Self> {
        let room = items_max * shape.item_bytes();
        let lanes = sockets.into_iter().map(|socket| {
            let message = Vec::with_capacity(room);
            Lane { socket, message }
        });
        let scratch = Vec::with_capacity(items_max * shape.stream.sample_bytes());
        let (lanes, waiting, watch) = (lanes.collect(), Waiting::new()?, Watch::default());
        Ok(Self { shape, gaps, items_max, lanes, scratch, waiting, watch })
    }

    /// Its counts, which other threads may read.
    pub(crate) const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Carries a stream until it ends, or both directions end.
    ///
    /// # Errors
    /// The system call that waits failed.
    pub(super) fn pump(
        &mut self,
        receiver: &mut ReceiveStream,
        ending: &Ending,
        report: &mut dyn Report,
    ) -> io::Result<Account> {
        let info = receiver.info();
        let mut account = Account::new(info.first_index, None);
        let mut held_up = HeldUp::new(info.rate_hz());
        let zeros_max = zeros_max(info.rate_hz());
        let mut is_warned = false;
        let mut pending = Pending::default();
        let mut has_more = true;
        while has_more && !ending.has_come() {
            self.turn(Instant::now(), report);
            while self.room() > 0 {
                if pending.is_empty() {
                    match self.waiting.poll_next(receiver) {
                        Poll::Pending => break,
                        // The stream itself reports how it ended.
                        Poll::Ready(None | Some(Err(_))) => {
                            has_more = false;
                            break;
                        }
                        Poll::Ready(Some(Ok(block))) => {
                            for gap in block.gaps() {
                                let gap = RecordedGap::from(gap);
                                let is_held_up = held_up.before(&gap, || receiver.stats().stalls);
                                if gap.not_repaired > 0 {
                                    account.note_host_drops(report.host_drops(receiver));
                                }
                                let gap = account.take_gap(&gap, is_held_up).unwrap_or(gap);
                                report.gap(&gap, is_held_up);
                            }
                            report.samples(block.index(), block.bytes());
                            pending = self.follow(&mut account, block);
                            if pending.zeros > zeros_max {
                                if !std::mem::replace(&mut is_warned, true) {
                                    report.not_filled(pending.zeros);
                                }
                                pending.zeros = 0;
                            }
                        }
                    }
                }
                self.append(&mut pending);
            }
            if !self.send() && has_more {
                self.wait()?;
            }
        }
        Ok(account)
    }

    /// Accounts for a block, and returns what precedes it: zeros for gaps, and for indexes that
    /// were left out on purpose after the first sample.
    fn follow(&self, account: &mut Account, block: Block) -> Pending {
        let gaps: u64 = block.gaps().iter().map(|gap| gap.count()).sum();
        let expected: SampleIndex = account.range().end;
        let has_begun = account.delivered() > 0;
        let left_out = if has_begun { block.index().saturating_sub(expected) } else { 0 };
        account.take_samples(block.index(), block.len());
        let zeros = match self.gaps {
            GapFill::Zeros => gaps + left_out,
            GapFill::Skip => 0,
        };
        self.watch.add_missing(gaps);
        Pending { zeros, block: Some(block), taken_bytes: 0 }
    }

    /// How many more samples fit into the messages.
    fn room(&self) -> usize {
        let item_bytes = self.shape.item_bytes();
        let longest = self.lanes.iter().map(|lane| lane.message.len() / item_bytes).max();
        self.items_max - longest.unwrap_or(0)
    }

    /// Moves as many samples into the messages as fit.
    fn append(&mut self, pending: &mut Pending) {
        let room = self.room();
        let zeros = pending.zeros.min(room as u64) as usize;
        if zeros > 0 {
            let len_bytes = zeros * self.shape.item_bytes();
            for lane in &mut self.lanes {
                lane.message.resize(lane.message.len() + len_bytes, self.shape.zero());
            }
            pending.zeros -= zeros as u64;
            self.watch.add_zeros(zeros as u64);
        }
        let Some(block) = &pending.block else { return };
        let left = &block.bytes()[pending.taken_bytes..];
        let frame_bytes = self.shape.frame_bytes();
        let frames = (left.len() / frame_bytes).min(room - zeros);
        let taken = &left[..frames * frame_bytes];
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            self.shape.split(taken, at, &mut self.scratch, &mut lane.message);
        }
        self.watch.add_samples(frames as u64);
        pending.taken_bytes += taken.len();
        if pending.zeros == 0 && pending.taken_bytes == block.bytes().len() {
            // Returns the memory, and with it the credit.
            pending.block = None;
        }
    }

    /// Sends the messages that a peer accepts; returns whether one was sent.
    fn send(&mut self) -> bool {
        let mut is_any = false;
        for lane in self.lanes.iter_mut().filter(|lane| !lane.message.is_empty()) {
            if lane.socket.offer(&lane.message) == Offered::Taken {
                lane.message.clear();
                is_any = true;
            }
        }
        if is_any {
            self.watch.set_sockets(self.lanes.iter().map(|lane| lane.socket.counts()));
        }
        is_any
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

    fn wait(&self) -> io::Result<()> {
        self.waiting.wait(self.lanes.iter().map(|lane| (&lane.socket, false)))
    }

    /// Waits until all remaining samples are delivered, or no peer accepts any for [`LINGER`].
    /// Returns the number of undelivered samples.
    ///
    /// # Errors
    /// The system call that waits failed.
    pub(super) fn drain(&mut self, report: &mut dyn Report) -> io::Result<u64> {
        let mut until = Instant::now() + LINGER;
        loop {
            let now = Instant::now();
            self.turn(now, report);
            if self.send() {
                until = now + LINGER;
            }
            let item_bytes = self.shape.item_bytes();
            let left = self.lanes.iter().map(|lane| lane.message.len() / item_bytes).max();
            let left = left.unwrap_or(0) as u64;
            let is_sending = self.lanes.iter().any(|lane| lane.socket.is_sending());
            if (left == 0 && !is_sending) || now >= until {
                return Ok(left);
            }
            self.wait()?;
        }
    }
}

impl Pending {
    const fn is_empty(&self) -> bool {
        self.zeros == 0 && self.block.is_none()
    }
}

/// How long remaining samples wait for a peer at the end.
const LINGER: Duration = Duration::from_secs(2);
