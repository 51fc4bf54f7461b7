//! Plays a stream into an output, by a clock or as fast as it comes.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use samplewire_circuit::TagKind;
use samplewire_proto::SampleIndex;
use samplewire_proto::play::{Entry, Line, Piece, PlayCounts, Step, Underrun, UnderrunCause};
use samplewire_proto::stream::{End, Underflow};
use samplewire_proto::wire::CloseReason;

use super::SampleClock;
use crate::error::ReceiveError;
use crate::receiver::{Block, ReceiveStream, ReceiverSnapshot};

/// Plays one stream (`docs/protocol.md#6.10`).
///
/// A sample is in time if it is in order at this host before its instant. Zeros are played for
/// every other sample, and it belongs to an [`Underrun`]. If it arrives later, it is late and is
/// dropped. Between bursts nothing is played, and the output sees the index jump. Blocks that wait to
/// be played reduce the sender's credit.
pub struct Player<'a, O: ?Sized> {
    receiver: ReceiveStream,
    clock: Option<SampleClock>,
    underflow: Underflow,
    output: &'a mut O,
    line: Line<Box<[Entry]>>,
    /// The blocks of the play queue.
    blocks: VecDeque<Block>,
    frame_bytes: usize,
    zeros: Box<[u8]>,
    /// An index that was set on purpose, whose samples have not come.
    starts_at: Option<SampleIndex>,
    is_stopped: bool,
    /// Whether the stream has ended.
    is_over: bool,
}

/// Where a [`Player`] puts samples: a converter, or a file.
///
/// ```
/// use samplewire::SampleIndex;
/// use samplewire::device::PlayerOutput;
///
/// /// Keeps what is played in memory.
/// struct Kept(Vec<u8>);
///
/// impl PlayerOutput for Kept {
///     type Error = std::convert::Infallible;
///
///     fn write(&mut self, _first: SampleIndex, bytes: &[u8]) -> Result<(), Self::Error> {
///         self.0.extend_from_slice(bytes);
///         Ok(())
///     }
/// }
/// ```
pub trait PlayerOutput {
    /// Why it takes no more.
    type Error;

    /// Takes samples, the first of which has the index `first`. Between bursts indexes are left
    /// out.
    ///
    /// # Errors
    /// It takes no more.
    fn write(&mut self, first: SampleIndex, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Called before zeros are played for samples that are missing at their time. Default: nothing
    /// happens.
    #[expect(unused_variables, reason = "the names document the parameters")]
    fn missing(&mut self, due: Range<SampleIndex>, cause: UnderrunCause) {}

    /// Whether [`Self::hole`] takes zeros by work that does not depend on how many they are, as a
    /// file does that keeps them as a hole. Default: no.
    fn has_holes(&mut self) -> bool {
        false
    }

    /// Takes `samples` zeros, the first of which has the index `first`. It is called only where
    /// [`Self::has_holes`]; default: nothing happens.
    ///
    /// # Errors
    /// It takes no more.
    #[expect(unused_variables, reason = "the names document the parameters")]
    fn hole(&mut self, first: SampleIndex, samples: u64) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// How playing ended.
#[derive(Debug)]
pub struct Played {
    /// How the stream ended; `None` if the port released it before the end was known.
    pub end: Option<End>,
    /// Whether it was ended here because samples were missing at their time.
    pub is_stopped: bool,
    /// The counts of the player.
    pub counts: PlayCounts,
    /// The first index of the first burst, and the index after the last played sample.
    pub indexes: Range<SampleIndex>,
    /// Counters of the receiver.
    pub stats: ReceiverSnapshot,
}

impl<'a, O: PlayerOutput + ?Sized> Player<'a, O> {
    /// Plays `receiver` into `output`; without a clock as fast as samples come.
    pub fn new(
        mut receiver: ReceiveStream,
        clock: Option<SampleClock>,
        underflow: Underflow,
        output: &'a mut O,
    ) -> Self {
        receiver.leave_position();
        let frame_bytes = receiver.info().frame_bytes();
        // A block takes at least one place of the window, and has gaps before it.
        let blocks_max = receiver.items_max() / 2;
        let entries = vec![Entry::default(); 2 * blocks_max + ENTRIES_OF_A_BLOCK];
        let line = Line::new(entries.into_boxed_slice(), receiver.info().packet_samples);
        let blocks = VecDeque::new();
        let zeros = vec![0; ZEROS_BYTES.max(frame_bytes) / frame_bytes * frame_bytes].into();
        let (starts_at, is_stopped, is_over) = (None, false, false);
        Self {
            receiver,
            clock,
            underflow,
            output,
            line,
            blocks,
            frame_bytes,
            zeros,
            starts_at,
            is_stopped,
            is_over,
        }
    }

    /// The stream that is played.
    pub const fn receiver(&self) -> &ReceiveStream {
        &self.receiver
    }

    /// The current counts.
    pub const fn counts(&self) -> &PlayCounts {
        self.line.counts()
    }

    /// Plays for about `span`, and reports each finished underrun. Returns `false` once the stream
    /// has ended and all of it has been played.
    ///
    /// # Errors
    /// The output rejects samples.
    ///
    /// # Blocking
    /// For about `span`.
    pub fn run(
        &mut self,
        span: Duration,
        mut report: impl FnMut(&Underrun),
    ) -> Result<bool, O::Error> {
        let until = Instant::now().checked_add(span);
        loop {
            // Samples taken before this read of the clock were in time for everything that is due
            // by then.
            let now = Instant::now();
            while self.take_within(Duration::ZERO) {}
            if self.is_over {
                self.line.end_stream();
            }
            let is_done = self.play_due(now, &mut report)?;
            self.note(now);
            if self.is_over && self.line.is_empty() {
                return Ok(false);
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(now));
            if left.is_zero() {
                return Ok(true);
            }
            if !is_done {
                continue;
            }
            let span = self.idle_span(now).min(left);
            if self.is_over || !self.has_room() {
                std::thread::sleep(span);
            } else {
                self.take_within(span);
            }
        }
    }

    /// Takes a block if there is room; returns whether one came.
    fn take_within(&mut self, span: Duration) -> bool {
        if self.is_over || !self.has_room() {
            return false;
        }
        match self.receiver.next_within(span) {
            Ok(Some(block)) => {
                self.take(block);
                true
            }
            Ok(None) | Err(ReceiveError::Interrupted) => false,
            Err(_) => {
                self.is_over = true;
                false
            }
        }
    }

    /// Closes the stream, even early, and returns the totals.
    pub fn finish(self) -> Played {
        let end = self.receiver.end().and_then(|end| end.as_ref().ok()).copied();
        let first_index = self.receiver.info().first_index;
        let indexes = self.line.indexes().unwrap_or(first_index..first_index);
        let (counts, is_stopped) = (*self.line.counts(), self.is_stopped);
        // Blocks hold quanta.
        drop(self.blocks);
        let stats = self.receiver.close();
        Played { end, is_stopped, counts, indexes, stats }
    }

    fn has_room(&self) -> bool {
        self.line.room() >= ENTRIES_OF_A_BLOCK
    }

    fn take(&mut self, block: Block) {
        let (first, end) = (block.index(), block.index() + block.len() as u64);
        for gap in block.gaps() {
            self.line.push_gap(gap.first, gap.end(), gap.cause).expect("there is room for a block");
        }
        let mut ends_burst = false;
        // Tags may come before their samples, and the end of a burst together with the next
        // samples.
        for tag in block.tags() {
            match tag.kind {
                TagKind::Start => self.starts_at = Some(tag.index),
                TagKind::EndOfBurst if tag.index == end && !block.is_empty() => ends_burst = true,
                TagKind::EndOfBurst => self.line.end_burst(tag.index),
                _ => {}
            }
        }
        if block.is_empty() {
            return;
        }
        let is_start = self.starts_at.take_if(|index| *index == first).is_some();
        let in_time = self.clock.map_or(0, |clock| clock.index_at(block.arrived_at()));
        self.line.push(Piece { first, end, in_time, is_start }).expect("there is room for a block");
        self.blocks.push_back(block);
        if ends_burst {
            self.line.end_burst(end);
        }
    }

    /// Plays what is due, limited to [`STEP_BYTES`] of work, so that a peer cannot cause unlimited
    /// work in one call. Returns `false` if more is due.
    fn play_due(
        &mut self,
        now: Instant,
        report: &mut impl FnMut(&Underrun),
    ) -> Result<bool, O::Error> {
        // Without a clock there are no underruns.
        let due_end = self.clock.map_or(self.line.end().unwrap_or(0), |clock| clock.index_at(now));
        let from = self.line.next_at().or(self.line.next()).unwrap_or(due_end);
        let step_samples = match self.output.has_holes() {
            // Zeros take little work, and samples are limited by the window.
            true => u64::MAX,
            false => (STEP_BYTES / self.frame_bytes).max(1) as u64,
        };
        let step_end = from.saturating_add(step_samples);
        let (is_cut, due_end) = (step_end < due_end, step_end.min(due_end));
        let (mut is_idle, mut done_bytes) = (true, 0);
        let is_missing = self.receiver.is_missing();
        let dry = if is_missing { UnderrunCause::RepairLate } else { UnderrunCause::SenderBehind };
        while !self.is_stopped {
            if done_bytes >= STEP_BYTES {
                return Ok(false);
            }
            let step = self.line.poll(due_end, dry);
            is_idle &= step.is_none();
            match step {
                None => return Ok(is_idle || !is_cut),
                Some(Step::Report(underrun)) => report(&underrun),
                Some(Step::Play(due)) => {
                    let block = &self.blocks[0];
                    let at = |index| (index - block.index()) as usize * self.frame_bytes;
                    let bytes = &block.bytes()[at(due.start)..at(due.end)];
                    done_bytes += bytes.len();
                    self.output.write(due.start, bytes)?;
                }
                Some(Step::Release) => drop(self.blocks.pop_front()),
                Some(Step::Zeros(due)) if self.underflow == Underflow::Zeros => {
                    let cause = self.line.underrun().map_or(dry, |underrun| underrun.cause);
                    self.output.missing(due.clone(), cause);
                    done_bytes += self.play_zeros(due)?;
                }
                Some(Step::Zeros(_)) => {
                    self.is_stopped = true;
                    self.receiver.stop_for(CloseReason::Underflow);
                    if let Some(underrun) = self.line.underrun() {
                        report(&underrun);
                    }
                }
            }
        }
        // The play queue ends here.
        self.line.stop();
        self.blocks.clear();
        Ok(true)
    }

    /// Plays zeros: long ranges as a hole if the output supports it, short ones as bytes. Returns the
    /// work in bytes.
    fn play_zeros(&mut self, mut due: Range<SampleIndex>) -> Result<usize, O::Error> {
        let samples_max = (self.zeros.len() / self.frame_bytes) as u64;
        let samples = due.end - due.start;
        if samples > samples_max && self.output.has_holes() {
            self.output.hole(due.start, samples)?;
            return Ok(self.zeros.len());
        }
        while !due.is_empty() {
            let count = samples_max.min(due.end - due.start);
            self.output.write(due.start, &self.zeros[..count as usize * self.frame_bytes])?;
            due.start += count;
        }
        Ok(samples as usize * self.frame_bytes)
    }

    /// Time until samples are due, or may become due, limited to a short pause.
    fn idle_span(&self, now: Instant) -> Duration {
        let due = match (&self.clock, self.line.next_at()) {
            (Some(clock), Some(next)) => clock.instant_of(next).saturating_duration_since(now),
            _ => PAUSE_MAX,
        };
        due.clamp(PAUSE_MIN, PAUSE_MAX)
    }

    /// Reports the played position to the sender.
    fn note(&self, now: Instant) {
        let position = match (&self.clock, self.line.next()) {
            (Some(clock), _) => clock.index_at(now),
            (None, Some(next)) => next,
            (None, None) => self.receiver.info().first_index,
        };
        let counts = self.line.counts();
        self.receiver.note_play(position, counts.late_packets, counts.underrun_samples);
    }
}

impl<O: ?Sized> std::fmt::Debug for Player<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Player").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}

/// Work between two checks of the clock, of new blocks, and of a stop.
const STEP_BYTES: usize = 1 << 20;

/// Zeros are written in pieces of this size; longer ranges become a hole if the output supports it.
const ZEROS_BYTES: usize = 64 << 10;

/// A block, and the gaps before it, each of which may be a separate entry.
const ENTRIES_OF_A_BLOCK: usize = 1 + Block::GAPS_MAX;

/// Bounds of a sleep: at least this long, so that several samples are played at a time.
const PAUSE_MIN: Duration = Duration::from_micros(200);
const PAUSE_MAX: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
