//! Several streams of one device, opened at one index and read in line.

mod interleaved;
mod line;
mod opening;
mod tags;

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use samplewire_circuit::{Sample, Tag, ViewError};
use samplewire_io::{Capabilities, Link, LinkError};
use samplewire_proto::stream::End;
use samplewire_proto::{Gap, SampleIndex};

use super::{Block, ReceiveOptions, ReceiveStream, ReceiverSnapshot, StatsHandle};
use crate::error::OpenError;
use crate::info::DeviceInfo;
use crate::real_time::Granted;

pub use interleaved::Interleaved;
pub use line::LaneCounts;
use line::{Line, Step};
use tags::PendingTags;

/// The receiving end of several streams of one device, which all begin at one index.
///
/// [`Aligned::next_within`] gives the same indexes of all streams, borrowed from the memory that
/// each has filled: nothing is copied and nothing allocated. What one of them lacks is a gap for
/// all, which names the stream. A stream that stalls holds the others for their windows, and no
/// longer: they take no credit beyond. When one ends, all do.
///
/// ```
/// use std::time::Duration;
/// use samplewire::device::{Device, DeviceConfig};
/// use samplewire::receiver::{Aligned, Piece, ReceiveOptions};
/// use samplewire::source::{CounterSource, Source, counter_sample};
/// use samplewire::transmitter::{Overflow, TransmitterOptions};
/// use samplewire_io::{Udp, UdpOptions};
///
/// // A device that counts on two streams.
/// let counter = || CounterSource::new(1e6, 0).expect("a rate in range");
/// let infos = [counter().info().clone(), counter().info().clone()];
/// let link = Udp::bind("127.0.0.1:0".parse()?, &UdpOptions::new())?;
/// let config = DeviceConfig { sends: &infos, ..DeviceConfig::default() };
/// let device = Device::listen_over(Box::new(link), config, &TransmitterOptions::new())?;
/// for mut listener in device.listeners {
///     std::thread::spawn(move || {
///         let mut stream = listener.accept(Duration::from_secs(5)).unwrap().unwrap();
///         stream.play(&mut counter(), Overflow::Wait, || false)
///     });
/// }
///
/// let mut aligned = Aligned::open(device.address, &[0, 1], &ReceiveOptions::new())?;
/// let mut samples = 0;
/// while samples < 100_000 {
///     match aligned.next_within(Duration::from_secs(5)) {
///         Some(Piece::Samples(block)) => {
///             for part in block.parts() {
///                 assert_eq!(part.bytes()[..4], counter_sample(block.index(), 0));
///             }
///             samples += block.len();
///         }
///         Some(Piece::Gap(lost)) => panic!("stream {} lacks {:?}", lost.stream, lost.gap),
///         None => panic!("nothing comes: {:?}", aligned.end()),
///     }
/// }
/// aligned.close();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Aligned {
    receivers: Box<[ReceiveStream]>,
    info: DeviceInfo,
    line: Line<Block>,
    /// Of each stream.
    tags: Box<[PendingTags]>,
    end: Option<AlignedEnd>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece<B> {
    /// Samples.
    Samples(B),
    /// Indexes that are missing.
    Gap(StreamGap),
}

/// A gap, and the stream that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamGap {
    /// The number of the stream.
    pub stream: u16,
    /// The indexes that it lacks, of which none was told before, and why.
    pub gap: Gap,
}

/// The same indexes of all streams, without a gap inside.
#[derive(Clone, Debug)]
pub struct AlignedBlock<'a> {
    receivers: &'a [ReceiveStream],
    line: &'a Line<Block>,
    tags: &'a [PendingTags],
    range: Range<SampleIndex>,
}

/// The samples of one stream.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    block: &'a Block,
    bytes: &'a [u8],
    tags: &'a [Tag],
}

/// Why no more comes.
#[derive(Debug)]
#[non_exhaustive]
pub enum AlignedEnd {
    /// A stream has ended; the others are closed.
    Stream {
        /// Its number.
        stream: u16,
        /// How it has ended.
        end: Result<End, LinkError>,
    },
    /// A stream went on at another index than the others, on purpose; all are closed.
    Apart {
        /// Its number.
        stream: u16,
        /// The index that was to come.
        next: SampleIndex,
        /// The index that it went on at.
        at: SampleIndex,
    },
}

impl Aligned {
    /// Opens these streams of the device at `address` at one index, as soon as all can begin.
    ///
    /// # Errors
    /// As [`ReceiveStream::open`], for one of them; or they cannot be aligned: of different runs of the
    /// device, rates or sample formats, or one that does not begin where it is told to.
    ///
    /// # Panics
    /// When no stream is named, or one twice.
    ///
    /// # Blocking
    /// Until the streams are open: each of some attempts, of which none begins later than twice the
    /// time that the options set, takes at most that long, and a second to close what was open.
    pub fn open(
        address: SocketAddr,
        streams: &[u16],
        options: &ReceiveOptions,
    ) -> Result<Self, OpenError> {
        Self::open_over(address, streams, options, |_| Ok(Box::new(options.link(address)?)))
    }

    /// Like [`Aligned::open`], over links of the caller's, one for each stream. One that was asked
    /// to begin at an index that had passed by then is opened anew, over another.
    ///
    /// # Errors
    /// See [`Aligned::open`], and those of `link`.
    ///
    /// # Panics
    /// See [`Aligned::open`].
    ///
    /// # Blocking
    /// See [`Aligned::open`].
    pub fn open_over<E: From<OpenError>>(
        address: SocketAddr,
        streams: &[u16],
        options: &ReceiveOptions,
        link: impl FnMut(u16) -> Result<Box<dyn Link>, E>,
    ) -> Result<Self, E> {
        let receivers = opening::open(address, streams, options, link)?;
        Ok(Self::of(receivers.into_boxed_slice()))
    }

    fn of(receivers: Box<[ReceiveStream]>) -> Self {
        let info = opening::joined(&receivers);
        let line = Line::new(receivers.len(), info.first_index);
        let tags = receivers.iter().map(|_| PendingTags::default()).collect();
        Self { receivers, info, line, tags, end: None }
    }

    /// The streams as one that has the channels of all, in the order in which they were named.
    pub const fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// What the device said of each stream.
    pub fn infos(&self) -> impl ExactSizeIterator<Item = &DeviceInfo> {
        self.receivers.iter().map(ReceiveStream::info)
    }

    /// What the links were granted, and of the [`RealTime`](crate::RealTime) options: of each stream.
    pub fn granted(&self) -> impl ExactSizeIterator<Item = (&Capabilities, &Granted)> {
        self.receivers.iter().map(|it| (it.capabilities(), it.granted()))
    }

    /// All memory taken for the streams, in bytes. None is taken later.
    pub fn memory_bytes(&self) -> usize {
        self.receivers.iter().map(ReceiveStream::memory_bytes).sum()
    }

    /// Counters of each stream as of some milliseconds ago, and what became of its indexes.
    pub fn stats(&self) -> impl ExactSizeIterator<Item = (ReceiverSnapshot, LaneCounts)> {
        let stats =
            |(lane, receiver): (usize, &ReceiveStream)| (receiver.stats(), self.line.counts(lane));
        self.receivers.iter().enumerate().map(stats)
    }

    /// What each stream is, and a handle on its counters.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = (&DeviceInfo, StatsHandle)> {
        self.receivers.iter().map(ReceiveStream::counters)
    }

    /// Why no more comes; `None` while more may come.
    pub const fn end(&self) -> Option<&AlignedEnd> {
        self.end.as_ref()
    }

    /// What all streams have next, or one of them lacks; `None` when `timeout` passes first or the
    /// streams have ended.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Piece<AlignedBlock<'_>>> {
        self.next_up_to(u64::MAX, Instant::now().checked_add(timeout))
    }

    /// Like [`Aligned::next_within`], of at most so many samples; `None` for `until` waits on.
    fn next_up_to(
        &mut self,
        samples_max: u64,
        until: Option<Instant>,
    ) -> Option<Piece<AlignedBlock<'_>>> {
        self.tags.iter_mut().for_each(PendingTags::forget_given);
        let range = loop {
            if self.end.is_some() {
                return None;
            }
            match self.line.poll(samples_max) {
                Step::Samples(range) => break range,
                Step::Gap { lane, gap } => {
                    let stream = self.stream_of(lane);
                    return Some(Piece::Gap(StreamGap { stream, gap }));
                }
                Step::Lacks if self.fill(until) => {}
                Step::Lacks => return None,
                Step::Over => self.finish(),
                Step::Apart { lane, at, next } => {
                    self.stop();
                    let stream = self.stream_of(lane);
                    self.end = Some(AlignedEnd::Apart { stream, next, at });
                }
            }
        };
        self.tags.iter_mut().for_each(|tags| tags.give(range.end));
        let (receivers, line, tags) = (&*self.receivers, &self.line, &*self.tags);
        Some(Piece::Samples(AlignedBlock { receivers, line, tags, range }))
    }

    /// Ends the streams, waits for the device to know, and returns the final counters of each.
    ///
    /// # Blocking
    /// For some round trips, at most about a second.
    pub fn close(self) -> Vec<(ReceiverSnapshot, LaneCounts)> {
        self.stop();
        let counts: Vec<_> = (0..self.receivers.len()).map(|lane| self.line.counts(lane)).collect();
        // Its blocks hold quanta.
        drop(self.line);
        self.receivers.into_iter().map(ReceiveStream::close).zip(counts).collect()
    }

    /// Takes what has come of the streams that lack something, and waits for it; `false` when the
    /// time is over.
    fn fill(&mut self, until: Option<Instant>) -> bool {
        let mut waits_for = None;
        for lane in 0..self.receivers.len() {
            if self.line.lacks(lane) && !self.take(lane, Duration::ZERO) {
                waits_for = waits_for.or(Some(lane));
            }
        }
        // Without it nothing goes on, unless another ends.
        let Some(lane) = waits_for.filter(|_| !self.has_ended()) else { return true };
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let is_last = left.is_some_and(|left| left <= WAIT_MAX);
        self.take(lane, left.unwrap_or(WAIT_MAX).min(WAIT_MAX)) || !is_last || self.has_ended()
    }

    /// Takes the next block of a stream, or its end; `false` when neither comes in time.
    fn take(&mut self, lane: usize, timeout: Duration) -> bool {
        let receiver = &mut self.receivers[lane];
        let block = receiver.next_within(timeout);
        let (has_come, is_over) = (block.is_some(), receiver.is_over());
        if let Some(block) = block {
            let gaps = block.gaps.clone();
            self.tags[lane].put(block.tags());
            let samples = (!block.is_empty()).then(|| (block.index(), block.len() as u64, block));
            self.line.put(lane, gaps.as_slice(), samples);
        }
        if is_over {
            self.line.end(lane);
        }
        has_come || is_over
    }

    fn has_ended(&self) -> bool {
        (0..self.receivers.len()).any(|lane| self.line.has_ended(lane))
    }

    /// Takes note of the end of a stream: of several, of one that was not to end.
    fn finish(&mut self) {
        self.stop();
        let ended = (0..self.receivers.len()).filter(|&lane| self.line.has_ended(lane));
        let is_finished =
            |lane: &usize| matches!(self.receivers[*lane].end(), Some(Ok(End::Finished { .. })));
        let lane = ended.min_by_key(is_finished).expect("a lane is over");
        let stream = self.stream_of(lane);
        // A thread that is gone without a word was told to stop.
        let end = self.receivers[lane].end.take().unwrap_or(Ok(End::Cancelled));
        self.end = Some(AlignedEnd::Stream { stream, end });
    }

    fn stop(&self) {
        self.receivers.iter().for_each(|receiver| receiver.shared.stop());
    }

    fn stream_of(&self, lane: usize) -> u16 {
        self.receivers[lane].info.stream
    }
}

impl From<ReceiveStream> for Aligned {
    /// One stream, which is in line with itself.
    fn from(receiver: ReceiveStream) -> Self {
        Self::of(Box::new([receiver]))
    }
}

impl fmt::Display for AlignedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream { stream, end: Ok(end) } => write!(f, "stream {stream} ended: {end:?}"),
            Self::Stream { stream, end: Err(error) } => write!(f, "stream {stream}: {error}"),
            Self::Apart { stream, next, at } => write!(
                f,
                "stream {stream} went on at index {at}, where {next} was to come: streams that set \
                 their index apart cannot be read in line"
            ),
        }
    }
}

impl<'a> AlignedBlock<'a> {
    /// The index of the first sample.
    pub const fn index(&self) -> SampleIndex {
        self.range.start
    }

    /// How many samples there are of each stream, of all its channels each.
    pub const fn len(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }

    /// Never: a block has samples.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples of each stream, in the order in which they were named.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Part<'a>> + use<'a> {
        let (line, tags, range) = (self.line, self.tags, self.range.clone());
        let part = move |(lane, receiver): (usize, &'a ReceiveStream)| {
            let (first, block) = line.piece(lane);
            let frame_bytes = receiver.info.frame_bytes();
            let at = |index: SampleIndex| (index - first) as usize * frame_bytes;
            let bytes = &block.bytes()[at(range.start)..at(range.end)];
            Part { block, bytes, tags: tags[lane].given() }
        };
        self.receivers.iter().enumerate().map(part)
    }
}

impl<'a> Part<'a> {
    /// The samples as they came over the wire: little-endian, channels interleaved.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The samples as numbers, one `T` for each part that `T` spans, without a copy.
    ///
    /// # Errors
    /// The bytes are no whole number of `T`, or not aligned for it.
    pub fn as_slice<T: Sample>(&self) -> Result<&'a [T], ViewError> {
        samplewire_circuit::view(self.bytes)
    }

    /// When the last sample of the stream's own block was in order at this host.
    pub const fn arrived_at(&self) -> Instant {
        self.block.arrived_at()
    }

    /// What changed at which of these samples, at the index after the last, and at indexes before
    /// them of which no samples were given; each once. Of a crowd the first.
    pub const fn tags(&self) -> &'a [Tag] {
        self.tags
    }
}

/// The longest sleep while a stream lacks something: another may have ended.
const WAIT_MAX: Duration = Duration::from_millis(20);
