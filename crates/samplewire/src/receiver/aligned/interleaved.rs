//! Several streams of one device, combined into one stream with all their channels.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire_circuit::{Loan, Pool, PoolConfig, Quantum};
use samplewire_io::Capabilities;
use samplewire_proto::TaiClock;

use super::super::block::Gaps;
use super::{
    AlignedBlock, AlignedItem, AlignedStats, AlignedStreams, Block, LaneCounts, ReceiveStream,
};
use crate::deadline::Deadline;
use crate::error::{OpenError, ReceiveError};
use crate::info::DeviceInfo;
use crate::real_time::Granted;
use crate::receiver::{PortStats, ReceiverSnapshot, Stalls, StatsHandle};

/// Several streams of one device, read as one: for each sample the channels of the first stream,
/// then of the second and so on.
///
/// Samples are copied once, into separate memory that is allocated at the opening. While the
/// program holds all of it, the streams are not read. A single stream is not copied.
#[derive(Debug)]
pub struct Interleaved {
    aligned: AlignedStreams,
    /// `None` for a single stream.
    pool: Option<Pool>,
    /// A quantum that a gap has left empty.
    spare: Option<Quantum>,
    stalls: Stalls,
}

impl Interleaved {
    /// Wraps aligned streams, whose windows at this end have at most this many packets.
    pub(crate) fn of(aligned: AlignedStreams, window: u32) -> Result<Self, OpenError> {
        let pool = match aligned.receivers.len() {
            1 => None,
            _ => Some(pool(&aligned)?),
        };
        let info = &aligned.info;
        let stalls = Stalls::new(2 * info.window.max(window), info.packet_samples);
        Ok(Self { aligned, pool, spare: None, stalls })
    }

    /// The description of the combined stream, with all channels.
    pub const fn info(&self) -> &DeviceInfo {
        self.aligned.info()
    }

    /// The device's description of each stream.
    pub fn infos(&self) -> impl ExactSizeIterator<Item = &DeviceInfo> {
        self.aligned.infos()
    }

    /// See [`AlignedStreams::granted`].
    pub fn granted(&self) -> &Granted {
        self.aligned.granted()
    }

    /// The capabilities that the link got.
    pub fn capabilities(&self) -> &Capabilities {
        self.aligned.capabilities()
    }

    /// See [`AlignedStreams::local_addr`].
    pub fn local_addr(&self) -> SocketAddr {
        self.aligned.local_addr()
    }

    /// All allocated memory, in bytes. None is allocated later.
    pub fn memory_bytes(&self) -> usize {
        self.aligned.memory_bytes() + self.pool.as_ref().map_or(0, Pool::memory_bytes)
    }

    /// See [`AlignedStreams::tai_clocks`].
    pub fn tai_clocks(&self) -> impl ExactSizeIterator<Item = Option<TaiClock>> {
        self.aligned.tai_clocks()
    }

    /// See [`AlignedStreams::stats`].
    pub fn stats(&self) -> impl ExactSizeIterator<Item = (ReceiverSnapshot, LaneCounts)> {
        self.aligned.stats()
    }

    /// See [`AlignedStreams::port_stats`].
    pub fn port_stats(&self) -> PortStats {
        self.aligned.port_stats()
    }

    /// See [`AlignedStreams::counters`].
    pub fn counters(&self) -> impl ExactSizeIterator<Item = (&DeviceInfo, StatsHandle)> {
        self.aligned.counters()
    }

    /// The last times that the program held the streams up. With several streams, this means that
    /// the program held all separate memory when more samples came. A single stream has only its
    /// own memory.
    pub fn stalls(&self) -> Stalls {
        match &self.aligned.receivers[..] {
            [one] => one.stats().stalls,
            _ => self.stalls,
        }
    }

    /// Returns the next samples or gap; `None` after `timeout`, or if the program holds all memory
    /// for that time. With several streams, blocks carry no tags.
    ///
    /// # Errors
    /// See [`AlignedStreams::next_within`].
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn next_within(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<AlignedItem<Block>>, ReceiveError> {
        let Some(pool) = &self.pool else {
            let item = self.aligned.next_within(timeout)?;
            return Ok(match item {
                Some(AlignedItem::Samples(_)) => {
                    let block = self.aligned.alignment.take_samples(0);
                    // The block's gaps were items before it; earlier tags without samples are added
                    // to it.
                    let block = block.with(Gaps::new(), self.aligned.tags[0].given());
                    Some(AlignedItem::Samples(block))
                }
                Some(AlignedItem::Gap(gap)) => Some(AlignedItem::Gap(gap)),
                None => None,
            });
        };
        let deadline = Deadline::after(timeout);
        let mut quantum = match self.spare.take().or_else(|| pool.take()) {
            Some(quantum) => quantum,
            None => {
                let began = Instant::now();
                let taken = take_before(pool, deadline);
                let lasted_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.stalls.note(self.aligned.alignment.next_index(), lasted_ns);
                let Some(quantum) = taken else { return Ok(None) };
                quantum
            }
        };
        let frame_bytes = self.aligned.info.frame_bytes();
        let samples_max = (quantum.capacity() / frame_bytes) as u64;
        let item = match self.aligned.next_up_to(samples_max, deadline) {
            Ok(Some(AlignedItem::Samples(block))) => {
                let (index, len_samples) = (block.index(), block.len());
                quantum.set_len(len_samples * frame_bytes);
                let at = interleave(&block, quantum.data_mut(), frame_bytes);
                let range = 0..quantum.len();
                let samples = Loan::new(quantum.share(), range).expect("all that it holds");
                let block = Block::new(Some(samples), index, len_samples, at);
                return Ok(Some(AlignedItem::Samples(block)));
            }
            Ok(Some(AlignedItem::Gap(gap))) => Ok(Some(AlignedItem::Gap(gap))),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        self.spare = Some(quantum);
        item
    }

    /// See [`AlignedStreams::close`].
    ///
    /// # Blocking
    /// See [`AlignedStreams::close`].
    pub fn close(self) -> AlignedStats {
        self.aligned.close()
    }
}

/// Allocates almost as much memory as the largest window of a stream at this end.
fn pool(aligned: &AlignedStreams) -> Result<Pool, samplewire_circuit::PoolError> {
    let of_window = |it: &ReceiveStream| it.window as usize * usize::from(it.info.payload_bytes);
    let window_bytes = aligned.receivers.iter().map(of_window).max().unwrap_or(0);
    let payload_bytes = usize::from(aligned.info.payload_bytes);
    let frame_bytes = aligned.info.frame_bytes();
    let about = (window_bytes / QUANTA_MIN).clamp(payload_bytes, QUANTUM_BYTES);
    let quantum_bytes = (about / frame_bytes).max(1) * frame_bytes;
    let quanta = (window_bytes / quantum_bytes).max(QUANTA_MIN);
    Pool::new(PoolConfig::new(quanta, quantum_bytes))
}

/// Waits for a quantum that the program returns.
fn take_before(pool: &Pool, deadline: Deadline) -> Option<Quantum> {
    loop {
        if let Some(quantum) = pool.take() {
            return Some(quantum);
        }
        let left = deadline.left();
        if left.is_zero() {
            return None;
        }
        std::thread::sleep(left.min(FULL_PAUSE));
    }
}

/// Copies the samples of all streams to their places; returns when the last of them became
/// deliverable.
fn interleave(block: &AlignedBlock<'_>, out: &mut [u8], frame_bytes: usize) -> Instant {
    let (mut offset, mut at) = (0, None);
    for stream in block.streams() {
        let part_bytes = stream.bytes().len() / block.len();
        let places = &mut out[offset..];
        match part_bytes {
            2 => scatter::<2>(stream.bytes(), places, frame_bytes),
            4 => scatter::<4>(stream.bytes(), places, frame_bytes),
            8 => scatter::<8>(stream.bytes(), places, frame_bytes),
            16 => scatter::<16>(stream.bytes(), places, frame_bytes),
            _ => {
                let frames = stream.bytes().chunks_exact(part_bytes);
                for (frame, place) in frames.zip(places.chunks_mut(frame_bytes)) {
                    place[..part_bytes].copy_from_slice(frame);
                }
            }
        }
        offset += part_bytes;
        at = at.max(Some(stream.arrived_at()));
    }
    at.expect("there is a stream")
}

/// A common size, without a call for each sample.
fn scatter<const N: usize>(frames: &[u8], places: &mut [u8], frame_bytes: usize) {
    for (frame, place) in frames.as_chunks::<N>().0.iter().zip(places.chunks_mut(frame_bytes)) {
        if let Some(place) = place.first_chunk_mut::<N>() {
            *place = *frame;
        }
    }
}

/// Maximum size of a quantum, rounded to a whole sample; larger than any packet.
const QUANTUM_BYTES: usize = 256 << 10;

/// Applies even to small windows; their quanta are smaller then.
const QUANTA_MIN: usize = 16;

/// The interval between checks whether the program has returned memory.
const FULL_PAUSE: Duration = Duration::from_micros(200);
