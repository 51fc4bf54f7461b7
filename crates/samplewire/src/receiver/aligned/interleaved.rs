//! Several streams of one device as one that has the channels of all.

use std::time::{Duration, Instant};

use samplewire_circuit::{Loan, Pool, PoolConfig, Quantum};
use samplewire_io::Capabilities;

use super::super::block::Gaps;
use super::{
    AlignedBlock, AlignedItem, AlignedStats, AlignedStreams, Block, LaneCounts, ReceiveStream,
};
use crate::error::{OpenError, ReceiveError};
use crate::info::DeviceInfo;
use crate::real_time::Granted;
use crate::receiver::{PortStats, ReceiverSnapshot, Stalls, StatsHandle};

/// Several streams of one device, read as one: sample by sample the channels of the first stream,
/// of the second and so on.
///
/// Samples are copied once, into memory of its own, which is taken at the opening: while the program
/// holds all of it nothing more is taken from the streams. One stream alone is not copied.
#[derive(Debug)]
pub struct Interleaved {
    aligned: AlignedStreams,
    /// `None` where there is one stream.
    pool: Option<Pool>,
    /// A quantum that a gap has left empty.
    spare: Option<Quantum>,
    stalls: Stalls,
}

impl Interleaved {
    /// Of streams that are aligned, with windows of at most so many packets at this end.
    pub(crate) fn of(aligned: AlignedStreams, window: u32) -> Result<Self, OpenError> {
        let pool = match aligned.receivers.len() {
            1 => None,
            _ => Some(pool(&aligned)?),
        };
        let info = &aligned.info;
        let stalls = Stalls::new(2 * info.window.max(window), info.packet_samples);
        Ok(Self { aligned, pool, spare: None, stalls })
    }

    /// The streams as one that has the channels of all.
    pub const fn info(&self) -> &DeviceInfo {
        self.aligned.info()
    }

    /// What the device said of each stream.
    pub fn infos(&self) -> impl ExactSizeIterator<Item = &DeviceInfo> {
        self.aligned.infos()
    }

    /// See [`AlignedStreams::granted`].
    pub fn granted(&self) -> &Granted {
        self.aligned.granted()
    }

    /// What the link was granted.
    pub fn capabilities(&self) -> &Capabilities {
        self.aligned.capabilities()
    }

    /// All memory taken, in bytes. None is taken later.
    pub fn memory_bytes(&self) -> usize {
        self.aligned.memory_bytes() + self.pool.as_ref().map_or(0, Pool::memory_bytes)
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

    /// The last times that the program held the streams up. Of several streams, it held all memory of
    /// its own when more was to come; one stream alone has no memory besides its own.
    pub fn stalls(&self) -> Stalls {
        match &self.aligned.receivers[..] {
            [one] => one.stats().stalls,
            _ => self.stalls,
        }
    }

    /// The next samples or gap; `None` when `timeout` passes first, also because the program holds
    /// all memory. Of several streams, blocks carry no tags.
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
                    // Its gaps were items before it, and tags that came without samples are its own.
                    let block = block.with(Gaps::new(), self.aligned.tags[0].given());
                    Some(AlignedItem::Samples(block))
                }
                Some(AlignedItem::Gap(gap)) => Some(AlignedItem::Gap(gap)),
                None => None,
            });
        };
        let until = Instant::now().checked_add(timeout);
        let mut quantum = match self.spare.take().or_else(|| pool.take()) {
            Some(quantum) => quantum,
            None => {
                let began = Instant::now();
                let taken = take_before(pool, until);
                let lasted_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.stalls.note(self.aligned.alignment.next_index(), lasted_ns);
                let Some(quantum) = taken else { return Ok(None) };
                quantum
            }
        };
        let frame_bytes = self.aligned.info.frame_bytes();
        let samples_max = (quantum.capacity() / frame_bytes) as u64;
        let item = match self.aligned.next_up_to(samples_max, until) {
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

/// As much memory as the largest window of a stream has at this end, but for a few packets.
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

/// Waits for a quantum that the program gives back.
fn take_before(pool: &Pool, until: Option<Instant>) -> Option<Quantum> {
    loop {
        if let Some(quantum) = pool.take() {
            return Some(quantum);
        }
        let left = until.map_or(FULL_PAUSE, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return None;
        }
        std::thread::sleep(left.min(FULL_PAUSE));
    }
}

/// Copies the samples of all streams to their places; when the last of them was in order.
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

/// The common sizes, without a call for each sample.
fn scatter<const N: usize>(frames: &[u8], places: &mut [u8], frame_bytes: usize) {
    for (frame, place) in frames.as_chunks::<N>().0.iter().zip(places.chunks_mut(frame_bytes)) {
        if let Some(place) = place.first_chunk_mut::<N>() {
            *place = *frame;
        }
    }
}

/// What a quantum holds at most, to the next sample; more than any packet.
const QUANTUM_BYTES: usize = 256 << 10;

/// However small the windows are; their quanta are smaller then.
const QUANTA_MIN: usize = 16;

/// How often it is looked whether the program has given memory back.
const FULL_PAUSE: Duration = Duration::from_micros(200);
