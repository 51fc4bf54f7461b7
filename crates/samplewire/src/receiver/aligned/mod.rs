//! Several streams of one device that begin at one index: their common samples, and the gaps of
//! each.

mod alignment;
mod interleaved;
mod opening;
mod tags;

use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use samplewire_circuit::{Sample, Tag, ViewError};
use samplewire_io::{Capabilities, Link};
use samplewire_proto::stream::End;
use samplewire_proto::{Gap, SampleIndex, TaiClock};

use super::port::{Port, PortShare};
use super::{Block, LaneCounts, PortStats, ReceiveStream, ReceiverSnapshot, StatsHandle};
use crate::deadline::Deadline;
use crate::error::{OpenError, ReceiveError};
use crate::info::DeviceInfo;
use crate::options::ReceiveOptions;
use crate::real_time::Granted;

use alignment::{Alignment, Step};
pub use interleaved::Interleaved;
use tags::PendingTags;

/// The receiving end of several streams of one device, which all begin at one index.
///
/// [`AlignedStreams::next_within`] returns the same indexes of all streams, borrowed from each
/// stream's own memory: it copies and allocates nothing. A gap in one stream is a gap in all, and
/// names the stream. A stream that stalls holds the others up for at most their windows: they get
/// no credit beyond. When one stream ends, all do.
///
/// ```
/// use std::time::Duration;
/// use samplewire::DeviceOptions;
/// use samplewire::receiver::AlignedItem;
/// use samplewire::source::{CounterSource, ReadSamples, counter_sample};
/// use samplewire::transmitter::Overflow;
///
/// // A device that counts on two streams.
/// let counter = || CounterSource::new(1e6, 0).expect("a rate in range");
/// let infos = [counter().info().clone(), counter().info().clone()];
/// let device = infos.into_iter().fold(samplewire::device(), DeviceOptions::sends);
/// let device = device.listen("127.0.0.1:0")?;
/// for mut listener in device.listeners {
///     std::thread::spawn(move || {
///         let mut stream = listener.accept(Duration::from_secs(5)).unwrap().unwrap();
///         stream.play(&mut counter(), Overflow::Wait, || false)
///     });
/// }
///
/// let mut aligned = samplewire::receive().streams(0..2).open_aligned(device.address)?;
/// let mut samples = 0;
/// while samples < 100_000 {
///     match aligned.next_within(Duration::from_secs(5))?.expect("samples come in time") {
///         AlignedItem::Samples(block) => {
///             for stream in block.streams() {
///                 assert_eq!(stream.bytes()[..4], counter_sample(block.index(), 0));
///             }
///             samples += block.len();
///         }
///         AlignedItem::Gap(lost) => panic!("stream {} misses {:?}", lost.stream, lost.gap),
///     }
/// }
/// aligned.close();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AlignedStreams {
    receivers: Box<[ReceiveStream]>,
    info: DeviceInfo,
    alignment: Alignment<Block>,
    /// For each stream.
    tags: Box<[PendingTags]>,
    port: PortShare,
    granted: Granted,
    /// Why each stream ended, if it did.
    errors: Box<[Option<ReceiveError>]>,
    end: Option<ReceiveError>,
}

/// The next item.
#[derive(Clone, Debug, PartialEq)]
pub enum AlignedItem<B> {
    /// Samples.
    Samples(B),
    /// Indexes that are missing.
    Gap(StreamGap),
}

/// A gap, and its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamGap {
    /// The number of the stream.
    pub stream: u16,
    /// The missing indexes that were not reported before, and their cause.
    pub gap: Gap,
}

/// The final counters of several streams.
#[derive(Clone, Debug)]
pub struct AlignedStats {
    /// The counters of each stream, and what happened to its indexes.
    pub streams: Vec<(ReceiverSnapshot, LaneCounts)>,
    /// The counts of the port that belong to no stream.
    pub port: PortStats,
}

/// The same indexes of all streams, without a gap inside.
#[derive(Clone, Debug)]
pub struct AlignedBlock<'a> {
    receivers: &'a [ReceiveStream],
    alignment: &'a Alignment<Block>,
    tags: &'a [PendingTags],
    range: Range<SampleIndex>,
}

/// The samples of one stream.
#[derive(Clone, Debug)]
pub struct StreamSamples<'a> {
    block: &'a Block,
    bytes: &'a [u8],
    tags: &'a [Tag],
}

impl AlignedStreams {
    /// See [`ReceiveOptions::open_aligned_over`].
    pub(crate) fn open_over(
        link: Box<dyn Link>,
        address: SocketAddr,
        options: &ReceiveOptions,
    ) -> Result<Self, OpenError> {
        if options.several_streams().is_none() {
            options.check_aligned()?;
            let receiver = options.open_over(link, address)?;
            return Ok(Self::of(Box::new([receiver]), PortShare::default()));
        }
        Self::open_on(&Port::of(link, options)?, address, options)
    }

    /// See [`Port::open_aligned`].
    pub(super) fn open_on(
        port: &Port,
        address: SocketAddr,
        options: &ReceiveOptions,
    ) -> Result<Self, OpenError> {
        let receivers = opening::open(port, address, options)?;
        Ok(Self::of(receivers.into_boxed_slice(), port.share()))
    }

    fn of(receivers: Box<[ReceiveStream]>, port: PortShare) -> Self {
        let info = opening::joined(&receivers);
        let alignment = Alignment::new(receivers.len(), info.first_index);
        let tags = receivers.iter().map(|_| PendingTags::default()).collect();
        let errors = receivers.iter().map(|_| None).collect();
        let mut granted = receivers[0].granted().clone();
        receivers[1..].iter().for_each(|receiver| granted.merge(receiver.granted()));
        Self { receivers, info, alignment, tags, port, granted, errors, end: None }
    }

    /// The description of the combined stream, with all channels in the order of the options.
    pub const fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The device's description of each stream.
    pub fn infos(&self) -> impl ExactSizeIterator<Item = &DeviceInfo> {
        self.receivers.iter().map(ReceiveStream::info)
    }

    /// See [`ReceiveStream::tai_clock`], for each stream.
    pub fn tai_clocks(&self) -> impl ExactSizeIterator<Item = Option<TaiClock>> {
        self.receivers.iter().map(ReceiveStream::tai_clock)
    }

    /// The capabilities that the link got.
    pub fn capabilities(&self) -> &Capabilities {
        self.receivers[0].capabilities()
    }

    /// The local address of the port that the streams use.
    pub fn local_addr(&self) -> SocketAddr {
        self.receivers[0].local_addr()
    }

    /// The [`RealTime`](crate::RealTime) options that were granted: to the I/O thread, and to the
    /// memory of all streams.
    pub const fn granted(&self) -> &Granted {
        &self.granted
    }

    /// All memory allocated for the streams, in bytes. None is allocated later.
    pub fn memory_bytes(&self) -> usize {
        self.port.memory_bytes
            + self.receivers.iter().map(ReceiveStream::memory_bytes).sum::<usize>()
    }

    /// Counters of each stream, some milliseconds old, and what happened to its indexes.
    pub fn stats(&self) -> impl ExactSizeIterator<Item = (ReceiverSnapshot, LaneCounts)> {
        let stats = |(lane, receiver): (usize, &ReceiveStream)| {
            (receiver.stats(), self.alignment.counts(lane))
        };
        self.receivers.iter().enumerate().map(stats)
    }

    /// The counts of the port that belong to no stream: packets whose stream is unknown.
    pub fn port_stats(&self) -> PortStats {
        self.port.stats()
    }

    /// The description of each stream, and a handle to its counters.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = (&DeviceInfo, StatsHandle)> {
        self.receivers.iter().map(ReceiveStream::counters)
    }

    /// Returns the next common samples, or the next gap; `None` after `timeout`.
    ///
    /// # Errors
    /// [`ReceiveError::Stream`] if one has ended, [`ReceiveError::Apart`] if one has skipped to
    /// another index than the others; all are closed.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn next_within(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<AlignedItem<AlignedBlock<'_>>>, ReceiveError> {
        self.next_up_to(u64::MAX, Deadline::after(timeout))
    }

    /// Like [`AlignedStreams::next_within`], with a maximum number of samples.
    fn next_up_to(
        &mut self,
        samples_max: u64,
        deadline: Deadline,
    ) -> Result<Option<AlignedItem<AlignedBlock<'_>>>, ReceiveError> {
        self.tags.iter_mut().for_each(PendingTags::forget_given);
        let range = loop {
            if let Some(end) = &self.end {
                return Err(end.duplicate());
            }
            match self.alignment.poll(samples_max) {
                Step::Samples(range) => break range,
                Step::Gap { lane, gap } => {
                    let stream = self.stream_of(lane);
                    return Ok(Some(AlignedItem::Gap(StreamGap { stream, gap })));
                }
                Step::NeedsInput if self.fill(deadline) => {}
                Step::NeedsInput => return Ok(None),
                Step::Over => self.finish(),
                Step::Apart { lane, at, next } => {
                    self.stop();
                    let stream = self.stream_of(lane);
                    self.end = Some(ReceiveError::Apart { stream, next, at });
                }
            }
        };
        self.tags.iter_mut().for_each(|tags| tags.give(range.end));
        let (receivers, alignment, tags) = (&*self.receivers, &self.alignment, &*self.tags);
        Ok(Some(AlignedItem::Samples(AlignedBlock { receivers, alignment, tags, range })))
    }

    /// Ends the streams, waits until the device knows, and returns the final counters.
    ///
    /// # Blocking
    /// For some round trips, at most about a second.
    pub fn close(self) -> AlignedStats {
        // Packets of closed streams must not count.
        let port = self.port.stats();
        self.stop();
        let counts: Vec<_> =
            (0..self.receivers.len()).map(|lane| self.alignment.counts(lane)).collect();
        // Its blocks hold quanta.
        drop(self.alignment);
        let snapshots = self.receivers.into_iter().map(ReceiveStream::close);
        let streams = snapshots.zip(counts).collect();
        AlignedStats { streams, port }
    }

    /// Takes the next blocks of the streams that need input, and waits for them; `false` after the
    /// deadline.
    fn fill(&mut self, deadline: Deadline) -> bool {
        let mut waits_for = None;
        for lane in 0..self.receivers.len() {
            if self.alignment.needs_input(lane) && !self.take(lane, Duration::ZERO) {
                waits_for = waits_for.or(Some(lane));
            }
        }
        // Without this stream nothing continues, unless another one ends.
        let Some(lane) = waits_for.filter(|_| !self.has_ended()) else { return true };
        let left = deadline.left();
        self.take(lane, left.min(WAIT_MAX)) || left > WAIT_MAX || self.has_ended()
    }

    /// Takes the next block of a stream, or its end; `false` if neither comes in time.
    fn take(&mut self, lane: usize, timeout: Duration) -> bool {
        match self.receivers[lane].next_within(timeout) {
            Ok(Some(block)) => {
                let gaps = block.gaps.clone();
                self.tags[lane].put(block.tags());
                let samples =
                    (!block.is_empty()).then(|| (block.index(), block.len() as u64, block));
                self.alignment.put(lane, &gaps, samples);
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.errors[lane].get_or_insert(error);
                self.alignment.end(lane);
                true
            }
        }
    }

    fn has_ended(&self) -> bool {
        (0..self.receivers.len()).any(|lane| self.alignment.has_ended(lane))
    }

    /// Handles the end of a stream; if several have ended, prefers one that ended unexpectedly.
    fn finish(&mut self) {
        self.stop();
        let ended = (0..self.receivers.len()).filter(|&lane| self.alignment.has_ended(lane));
        let is_finished = |lane: &usize| {
            matches!(self.errors[*lane], Some(ReceiveError::Closed(End::Finished { .. })))
        };
        let lane = ended.min_by_key(is_finished).expect("a lane is over");
        let stream = self.stream_of(lane);
        let error = Box::new(self.errors[lane].take().expect("it has ended"));
        self.end = Some(ReceiveError::Stream { stream, error });
    }

    fn stop(&self) {
        self.receivers.iter().for_each(|receiver| receiver.shared.stop());
    }

    fn stream_of(&self, lane: usize) -> u16 {
        self.receivers[lane].info.stream
    }
}

impl<'a> AlignedBlock<'a> {
    /// The index of the first sample.
    pub const fn index(&self) -> SampleIndex {
        self.range.start
    }

    /// Number of samples of each stream, each with all channels.
    pub const fn len(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }

    /// Always false: a block has samples.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples of each stream, in the order of the options.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = StreamSamples<'a>> + use<'a> {
        let (alignment, tags, range) = (self.alignment, self.tags, self.range.clone());
        let samples = move |(lane, receiver): (usize, &'a ReceiveStream)| {
            let (first, block) = alignment.samples(lane);
            let frame_bytes = receiver.info.frame_bytes();
            let at = |index: SampleIndex| (index - first) as usize * frame_bytes;
            let bytes = &block.bytes()[at(range.start)..at(range.end)];
            StreamSamples { block, bytes, tags: tags[lane].given() }
        };
        self.receivers.iter().enumerate().map(samples)
    }
}

impl<'a> StreamSamples<'a> {
    /// The samples as on the wire: little-endian, channels interleaved.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The samples as a slice of `T` without a copy; a `T` spans one or more components.
    ///
    /// # Errors
    /// The length of the bytes is not a multiple of `T`, or they are not aligned for it.
    pub fn samples<T: Sample>(&self) -> Result<&'a [T], ViewError> {
        samplewire_circuit::view(self.bytes)
    }

    /// When the last sample of the stream's own block became deliverable at this host.
    pub const fn arrived_at(&self) -> Instant {
        self.block.arrived_at()
    }

    /// The events at these samples, at the index after the last, and at earlier indexes without
    /// samples; each is returned once. If there are too many, only the first ones.
    pub const fn tags(&self) -> &'a [Tag] {
        self.tags
    }
}

/// The longest sleep while a stream needs input: another may have ended.
const WAIT_MAX: Duration = Duration::from_millis(20);
