//! Receives a stream: an I/O thread fills quanta, the program takes blocks.

mod aligned;
mod block;
mod flow;
mod hold;
mod interrupter;
mod payload_ring;
mod port;
mod shared;
mod slots;
mod stalls;

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use samplewire_circuit::{Loan, SharedQuantum};
use samplewire_io::{Capabilities, LinkError};
use samplewire_proto::stream::End;
use samplewire_proto::wire::CloseReason;
use samplewire_proto::{SampleIndex, TaiClock};

pub use crate::counters::{LaneCounts, PortStats, ReceiverSnapshot};
use crate::deadline::Deadline;
use crate::device::Claim;
use crate::driver::{self, Drive};
use crate::error::ReceiveError;
use crate::info::DeviceInfo;
use crate::real_time::Granted;

pub use aligned::{
    AlignedBlock, AlignedItem, AlignedStats, AlignedStreams, Interleaved, StreamGap, StreamSamples,
};
pub use block::Block;
pub(crate) use flow::{FlowParts, ReceiveFlow};
use flow::{Item, Run};
pub use interrupter::Interrupter;
pub(crate) use port::Answer;
pub use port::{PendingReceiver, Port};
use shared::Shared;
pub use stalls::Stalls;

#[cfg(test)]
pub(crate) use slots::card::tests::{FakeQueue as CardPeer, card_flow};

/// The receiving end of a stream.
///
/// Iterating returns [`Block`]s until the stream ends: after the sender's CLOSE, or with one error
/// if it broke off. [`ReceiveStream::end`] then states how it ended. In an async program it is a
/// [`Stream`](futures_core::Stream) of the same items. Dropping a receiver before its end closes
/// the stream.
#[derive(Debug)]
pub struct ReceiveStream {
    info: DeviceInfo,
    memory_bytes: usize,
    /// The window of this end in packets, which may differ from the device's.
    window: u32,
    block_samples_max: usize,
    items: rtrb::Consumer<Item>,
    shared: Arc<Shared>,
    capabilities: Capabilities,
    local: SocketAddr,
    granted: Granted,
    /// For a stream that was sent to a device. It is dropped before the drive: the last handle of
    /// the drive waits until the streams that the claim ends have ended.
    claim: Option<Arc<Claim>>,
    /// `None` after it was released.
    drive: Option<Arc<Drive>>,
    end: Option<Result<End, LinkError>>,
    next_index: SampleIndex,
    /// Whether iterating has returned the error that ended the stream.
    is_error_given: bool,
    /// Whether a player reports the position, instead of the samples taken.
    is_played: bool,
}

/// The counters of a receiver; valid after the receiver is gone.
#[derive(Clone, Debug)]
pub struct StatsHandle {
    shared: Arc<Shared>,
}

impl StatsHandle {
    /// Counters, some milliseconds old; after the end, the final ones.
    pub fn stats(&self) -> ReceiverSnapshot {
        self.shared.snapshot()
    }
}

impl ReceiveStream {
    /// Creates the program's half of a stream of a port.
    pub(crate) fn of_flow(
        info: DeviceInfo,
        block_queue: BlockQueue,
        port: driver::Port,
        claim: Option<Arc<Claim>>,
    ) -> Self {
        let BlockQueue { items, shared, window, block_samples_max, memory_bytes } = block_queue;
        let driver::Port { capabilities, local, granted, drive } = port;
        Self {
            next_index: info.first_index,
            info,
            memory_bytes,
            window,
            block_samples_max,
            items,
            shared,
            capabilities,
            local,
            granted,
            claim,
            drive: Some(drive),
            end: None,
            is_error_given: false,
            is_played: false,
        }
    }

    /// The device's description of the stream.
    pub const fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// All memory allocated for the stream, in bytes: quanta, slots, rings. None is allocated
    /// later.
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The capabilities that the link got.
    pub const fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// The local address of the port that the stream uses.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The [`RealTime`](crate::RealTime) options that the stream got.
    pub const fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Counters, some milliseconds old; after the end, the final ones.
    pub fn stats(&self) -> ReceiverSnapshot {
        self.shared.snapshot()
    }

    /// The time of each index by the newest time that the device has stated; `None` if it states no
    /// time or no rate.
    pub fn tai_clock(&self) -> Option<TaiClock> {
        self.info.tai_clock_by(&self.stats().stream)
    }

    /// A handle to these counters for another thread.
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle { shared: Arc::clone(&self.shared) }
    }

    /// A handle that interrupts a wait of this receiver from another thread.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { shared: Arc::clone(&self.shared) }
    }

    /// The description of the stream, and the handle to its counters.
    pub fn counters(&self) -> (&DeviceInfo, StatsHandle) {
        (&self.info, self.stats_handle())
    }

    /// How the stream ended, once iterating has ended.
    pub const fn end(&self) -> Option<&Result<End, LinkError>> {
        self.end.as_ref()
    }

    /// Returns the next block; `None` after `timeout`.
    ///
    /// # Errors
    /// [`ReceiveError`]: no further block comes. After all blocks of a complete stream it is
    /// [`ReceiveError::Closed`].
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn next_within(&mut self, timeout: Duration) -> Result<Option<Block>, ReceiveError> {
        // A program that polls many streams finds most of them empty.
        let is_look = timeout.is_zero() && !self.granted.waits.is_program_spinning();
        if is_look && self.items.is_empty() {
            return self.nothing();
        }
        let deadline = Deadline::after(timeout);
        match self.next_item(deadline) {
            Some(Item::Run { samples, run }) if !self.has_tag_at(run.end_index()) => {
                let samples = Some(self.take_run(samples, &run));
                return Ok(Some(Block::new(samples, run.index, run.len_samples, run.at)));
            }
            Some(first) => {
                if let Some(block) = self.gather(first, deadline) {
                    return Ok(Some(block));
                }
            }
            None => {}
        }
        self.nothing()
    }

    /// Builds a block with gaps or tags; `first` is the first item. It is a separate function
    /// because the usual block is built where it is returned: a block is large to move.
    #[inline(never)]
    fn gather(&mut self, first: Item, deadline: Deadline) -> Option<Block> {
        let mut block = Block::new(None, self.next_index, 0, Instant::now());
        let mut next = Some(first);
        while let Some(item) = next {
            match item {
                Item::Run { samples, run } => {
                    block.samples = Some(self.take_run(samples, &run));
                    (block.index, block.len_samples) = (run.index, run.len_samples);
                    block.at = run.at;
                    self.take_trailing_tags(&mut block);
                    return Some(block);
                }
                Item::Gap(gap) => {
                    self.next_index = gap.end();
                    block.index = gap.end();
                    block.gaps.push(gap);
                    if block.gaps.is_full() {
                        return Some(block);
                    }
                }
                // A block carries only the first tags; the others are not worth a stall.
                Item::Tag(tag) => drop(block.tags.try_push(tag)),
                Item::End(end) => {
                    self.end = Some(end);
                    break;
                }
            }
            next = self.next_item(deadline);
        }
        block.carries_something().then_some(block)
    }

    /// Waits for the next item; `None` after the deadline, or if the stream has ended.
    fn next_item(&mut self, deadline: Deadline) -> Option<Item> {
        loop {
            if let Ok(item) = self.items.pop() {
                return Some(item);
            }
            if self.end.is_some() || self.wait_for_item(deadline) {
                return None;
            }
        }
    }

    /// Passes the samples of a run to the program.
    fn take_run(&mut self, samples: SharedQuantum, run: &Run) -> Loan {
        let range = run.offset_bytes..run.offset_bytes + run.len_bytes;
        let loan = Loan::new(samples, range).expect("a run lies in its quantum");
        self.next_index = run.end_index();
        if !self.is_played {
            self.shared.set_consumed(run.index);
        }
        loan.returned_to(self.shared.clone())
    }

    /// Maximum number of samples in a block.
    pub const fn block_samples_max(&self) -> usize {
        self.block_samples_max
    }

    /// The result when there is no block: an error if none will come.
    fn nothing(&self) -> Result<Option<Block>, ReceiveError> {
        match &self.end {
            Some(Ok(end @ (End::Finished { .. } | End::Cancelled | End::ClosedByPeer(_)))) => {
                Err(ReceiveError::Closed(*end))
            }
            Some(Ok(end)) => Err(ReceiveError::Broken(*end)),
            Some(Err(error)) => Err(error.duplicate().into()),
            None if self.is_drained() => Err(ReceiveError::ThreadGone),
            None if self.shared.is_interrupted() => Err(ReceiveError::Interrupted),
            None => Ok(None),
        }
    }

    /// The last item of an iterator: the error once, unless the stream is complete.
    fn last_item(&mut self, error: ReceiveError) -> Option<Result<Block, ReceiveError>> {
        let is_given = std::mem::replace(&mut self.is_error_given, true);
        (!is_given && !error.is_closed()).then_some(Err(error))
    }

    /// Ends the stream, waits until the other side knows, and returns the final counters.
    ///
    /// # Blocking
    /// For some round trips, at most about a second.
    pub fn close(mut self) -> ReceiverSnapshot {
        self.stop();
        self.shared.snapshot()
    }

    /// Takes the tags at the end of a run into its block.
    fn take_trailing_tags(&mut self, block: &mut Block) {
        while !block.tags.is_full()
            && self.has_tag_at(self.next_index)
            && let Ok(Item::Tag(tag)) = self.items.pop()
        {
            block.tags.push(tag);
        }
    }

    /// Whether the next item is a tag with this index.
    fn has_tag_at(&mut self, index: SampleIndex) -> bool {
        matches!(self.items.peek(), Ok(Item::Tag(tag)) if tag.index == index)
    }

    /// Waits for an item; `true` after the deadline.
    fn wait_for_item(&self, deadline: Deadline) -> bool {
        if self.granted.waits.is_program_spinning() {
            return self.spin_for_item(deadline);
        }
        let left = deadline.left();
        if left.is_zero() || self.shared.is_interrupted() {
            return true;
        }
        self.shared.bell.announce();
        let is_awaited = self.items.is_empty() && !self.items.is_abandoned();
        if is_awaited && !self.shared.is_interrupted() {
            self.shared.bell.wait(left.min(SLEEP_MAX));
        }
        self.is_drained()
    }

    /// Like [`ReceiveStream::wait_for_item`], and does the pending work of a stream without a
    /// thread.
    fn spin_for_item(&self, deadline: Deadline) -> bool {
        for turn in (0..CLOCK_TURNS).cycle() {
            let is_run = self.drive.as_ref().is_some_and(|drive| drive.turn());
            if !self.items.is_empty() {
                return false;
            }
            if !is_run {
                std::hint::spin_loop();
            }
            let is_over = self.shared.is_interrupted() || self.is_drained();
            if is_over || turn == 0 && deadline.left().is_zero() {
                break;
            }
        }
        self.items.is_empty()
    }

    /// Whether the I/O thread is gone and the program has taken all items.
    fn is_drained(&self) -> bool {
        if !self.items.is_abandoned() {
            return false;
        }
        // Acquire: `is_abandoned` orders nothing, and the items pushed before it, including the
        // end, must be visible.
        fence(Ordering::Acquire);
        self.items.is_empty()
    }

    /// Maximum number of runs, gaps and tags that wait at the same time.
    pub(crate) fn items_max(&self) -> usize {
        self.items.buffer().capacity()
    }

    /// Lets a player report the position.
    pub(crate) const fn leave_position(&mut self) {
        self.is_played = true;
    }

    /// Reports the played part of the stream: the current index, late packets, and samples missing
    /// at their time (`docs/protocol.md#6.10`).
    #[doc(hidden)]
    pub fn note_play(&self, now: SampleIndex, late_packets: u64, underflow_samples: u64) {
        self.shared.set_consumed(now);
        self.shared.set_played(late_packets, underflow_samples);
    }

    /// Whether received packets wait for an earlier one.
    pub(crate) fn is_missing(&self) -> bool {
        self.shared.is_missing()
    }

    /// Requests the end of the stream, with a reason.
    #[doc(hidden)]
    pub fn stop_for(&self, reason: CloseReason) {
        self.shared.stop_for(reason);
    }

    pub(crate) fn stop(&mut self) {
        self.shared.stop();
        drop(self.claim.take());
        let Some(drive) = self.drive.take() else { return };
        match Arc::try_unwrap(drive) {
            // The port belonged to this stream alone, and ends with it.
            Ok(drive) => drop(drive),
            Err(drive) if self.end.is_none() && !drive.is_stepped() => {
                self.wait_for_the_port(&drive)
            }
            Err(_) => {}
        }
    }

    /// Waits until the port has released the stream, or for a limited time.
    fn wait_for_the_port(&self, drive: &Drive) {
        let until = Instant::now() + PORT_PATIENCE;
        while !self.items.is_abandoned() && Instant::now() < until {
            if !drive.turn() {
                std::thread::sleep(PORT_PAUSE);
            }
        }
    }
}

impl Iterator for ReceiveStream {
    type Item = Result<Block, ReceiveError>;

    /// Returns the next block. It returns one error if the stream broke off or the wait was
    /// interrupted; `None` after that, and at the end of a complete stream.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_within(SLEEP_MAX) {
                Ok(Some(block)) => return Some(Ok(block)),
                Ok(None) => {}
                Err(error) => return self.last_item(error),
            }
        }
    }
}

/// Without an I/O thread ([`Waits::Inline`](crate::Waits::Inline)) a poll does the pending work,
/// and wakes at once. No other call may wait meanwhile.
impl futures_core::Stream for ReceiveStream {
    type Item = Result<Block, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match this.next_within(Duration::ZERO) {
                Ok(Some(block)) => return Poll::Ready(Some(Ok(block))),
                Ok(None) => {}
                Err(error) => return Poll::Ready(this.last_item(error)),
            }
            if this.drive.as_ref().is_some_and(|drive| drive.is_inline()) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            this.shared.bell.announce_to(context.waker());
            let is_awaited = this.items.is_empty() && !this.items.is_abandoned();
            if is_awaited && !this.shared.is_interrupted() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for ReceiveStream {
    fn drop(&mut self) {
        // Dropping a private port waits for its end.
        self.shared.stop();
    }
}

/// The program's end of an open stream.
pub(crate) struct BlockQueue {
    items: rtrb::Consumer<Item>,
    shared: Arc<Shared>,
    window: u32,
    block_samples_max: usize,
    /// Slots and rings, in bytes.
    pub(crate) memory_bytes: usize,
}

/// The longest sleep of a waiting program: then it checks whether the I/O thread still runs.
const SLEEP_MAX: Duration = Duration::from_millis(200);

/// Turns of a spinning program between two reads of its clock. More turns could miss the deadline;
/// one read takes a tenth of a turn without work.
const CLOCK_TURNS: u32 = 8;

/// How long a port's thread may take to end a closed stream, and the interval between checks.
const PORT_PATIENCE: Duration = Duration::from_millis(1_500);
const PORT_PAUSE: Duration = Duration::from_millis(1);
