//! The way from the datapath to the file: buffers that go round between the link's thread and a
//! writer's, and are never waited for.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::link::Ecn;
use crate::pcapng::{Direction, PcapngPacket, PcapngWriter};

/// The datapath's end.
#[derive(Debug)]
pub(super) struct Recorder {
    filling: Option<Chunk>,
    free: Receiver<Chunk>,
    /// `None` once it was closed.
    filled: Option<SyncSender<Chunk>>,
    thread: Option<JoinHandle<()>>,
    outcome: Arc<Outcome>,
}

impl Recorder {
    /// Writes the file's head and starts the writer.
    ///
    /// # Errors
    /// Those of `out`, and of starting a thread.
    pub(super) fn new(out: impl Write + Send + 'static, interface: &str) -> io::Result<Self> {
        let mut writer = PcapngWriter::new(out, &[interface])?;
        writer.flush()?;
        let outcome = Arc::new(Outcome::default());
        let (give_free, free) = sync_channel(CHUNKS);
        let (filled, take_filled) = sync_channel::<Chunk>(CHUNKS);
        for _ in 0..CHUNKS {
            give_free.try_send(Chunk::new()).expect("the channel has room for all chunks");
        }
        let shared = Arc::clone(&outcome);
        let thread = std::thread::Builder::new()
            .name("samplewire-capture".into())
            .spawn(move || write_all(writer, &take_filled, &give_free, &shared))?;
        Ok(Self { filling: None, free, filled: Some(filled), thread: Some(thread), outcome })
    }

    /// Records a packet whose bytes are `parts`, or counts it as skipped where the writer is
    /// behind.
    pub(super) fn record(&mut self, packet: Packet, parts: [&[u8]; 3]) {
        if self.filling.as_ref().is_some_and(|chunk| !chunk.has_room(packet.len_bytes)) {
            self.submit();
        }
        if self.filling.is_none() {
            self.filling = self.free.try_recv().ok();
        }
        match &mut self.filling {
            Some(chunk) if chunk.has_room(packet.len_bytes) => chunk.push(packet, parts),
            _ => self.outcome.count_skipped(&[packet]),
        }
    }

    /// The time of the oldest packet that the writer does not have.
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        Some(self.filling.as_ref()?.packets.first()?.time_ns)
    }

    /// Gives the writer what there is.
    pub(super) fn submit(&mut self) {
        if let (Some(chunk), Some(filled)) = (self.filling.take(), &self.filled) {
            filled.try_send(chunk).expect("the channel has room for all chunks");
        }
    }

    /// Waits until all is written.
    pub(super) fn close(&mut self) {
        self.submit();
        self.filled = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the writer keeps its errors and does not panic");
        }
    }

    pub(super) fn outcome(&self) -> &Arc<Outcome> {
        &self.outcome
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// What is recorded of a packet besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Since the Unix epoch.
    pub(super) time_ns: u64,
    pub(super) outbound: bool,
    pub(super) kind: Kind,
    pub(super) len_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A UDP payload: the file has made-up headers.
    Datagram { source: SocketAddr, destination: SocketAddr, ecn: Ecn },
    /// A whole frame of Ethernet.
    Frame,
}

/// How the capture is going. The counters are statistics and order nothing: Relaxed.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) written: AtomicU64,
    pub(super) skipped: AtomicU64,
    /// Of both: frames.
    frames: AtomicU64,
    frames_skipped: AtomicU64,
    pub(super) error: Mutex<Option<io::Error>>,
}

impl Outcome {
    pub(super) fn get(&self, counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    fn count(&self, counter: &AtomicU64, packets: u64) {
        counter.fetch_add(packets, Ordering::Relaxed);
    }

    fn count_skipped(&self, packets: &[Packet]) {
        let frames = frames_of(packets);
        self.count(&self.skipped, packets.len() as u64);
        self.count(&self.frames, frames);
        self.count(&self.frames_skipped, frames);
    }

    fn count_written(&self, packets: &[Packet]) {
        self.count(&self.written, packets.len() as u64);
        self.count(&self.frames, frames_of(packets));
    }

    fn fail(&self, error: io::Error) {
        let mut first = self.error.lock().expect("nothing panics while it holds this lock");
        first.get_or_insert(error);
    }
}

/// Packets on their way to the writer.
#[derive(Debug)]
struct Chunk {
    packets: Vec<Packet>,
    bytes: Vec<u8>,
}

impl Chunk {
    fn new() -> Self {
        Self { packets: Vec::with_capacity(CHUNK_PACKETS), bytes: Vec::with_capacity(CHUNK_BYTES) }
    }

    fn has_room(&self, len_bytes: usize) -> bool {
        self.packets.len() < CHUNK_PACKETS && self.bytes.len() + len_bytes <= CHUNK_BYTES
    }

    fn push(&mut self, packet: Packet, parts: [&[u8]; 3]) {
        self.packets.push(packet);
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
    }
}

/// The writer's thread: writes until the datapath's end is closed, then the statistics.
fn write_all(
    mut writer: PcapngWriter<impl Write>,
    filled: &Receiver<Chunk>,
    free: &SyncSender<Chunk>,
    outcome: &Outcome,
) {
    let mut times_ns: Option<(u64, u64)> = None;
    let mut failed = false;
    let mut ethernet = None;
    loop {
        let mut chunk = match filled.try_recv() {
            Ok(chunk) => chunk,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                // A reader of the growing file sees all of it.
                if let Err(error) = writer.flush() {
                    failed = true;
                    outcome.fail(error);
                }
                match filled.recv() {
                    Ok(chunk) => chunk,
                    Err(_) => break,
                }
            }
        };
        if let (Some(first), Some(last)) = (chunk.packets.first(), chunk.packets.last()) {
            let start_ns = times_ns.map_or(first.time_ns, |(start_ns, _)| start_ns);
            times_ns = Some((start_ns, last.time_ns));
        }
        let mut written = 0_usize;
        if !failed && let Err(error) = write_chunk(&mut writer, &chunk, &mut ethernet, &mut written)
        {
            failed = true;
            outcome.fail(error);
        }
        outcome.count_written(&chunk.packets[..written]);
        outcome.count_skipped(&chunk.packets[written..]);
        chunk.packets.clear();
        chunk.bytes.clear();
        // Fails only once the datapath's end is gone, which then needs no buffer.
        drop(free.try_send(chunk));
    }
    let (start_ns, end_ns) = times_ns.unwrap_or_default();
    let [frames, frames_skipped] =
        [&outcome.frames, &outcome.frames_skipped].map(|it| outcome.get(it));
    let skipped = outcome.get(&outcome.skipped);
    let packets = outcome.get(&outcome.written) + skipped;
    let mut end = || {
        let times_ns = start_ns..=end_ns;
        writer.statistics(0, times_ns.clone(), packets - frames, skipped - frames_skipped)?;
        if let Some(interface) = ethernet {
            writer.statistics(interface, times_ns, frames, frames_skipped)?;
        }
        writer.flush()
    };
    if !failed && let Err(error) = end() {
        outcome.fail(error);
    }
}

fn frames_of(packets: &[Packet]) -> u64 {
    packets.iter().filter(|packet| matches!(packet.kind, Kind::Frame)).count() as u64
}

/// The interface of frames is described before the first of them, so that a file without any has one
/// interface.
fn write_chunk(
    writer: &mut PcapngWriter<impl Write>,
    chunk: &Chunk,
    ethernet: &mut Option<u32>,
    written: &mut usize,
) -> io::Result<()> {
    let mut rest = &chunk.bytes[..];
    for packet in &chunk.packets {
        let (bytes, after) = rest.split_at(packet.len_bytes);
        rest = after;
        let direction = if packet.outbound { Direction::Outbound } else { Direction::Inbound };
        match packet.kind {
            Kind::Datagram { source, destination, ecn } => {
                let packet = PcapngPacket {
                    interface: 0,
                    time_ns: packet.time_ns,
                    direction,
                    source,
                    destination,
                    ecn,
                    wire_len_bytes: None,
                    comment: "",
                };
                writer.packet(&packet, bytes)?;
            }
            Kind::Frame => {
                let interface = match *ethernet {
                    Some(interface) => interface,
                    None => *ethernet.insert(writer.add_ethernet("frames")?),
                };
                writer.frame(interface, packet.time_ns, direction, bytes)?;
            }
        }
        *written += 1;
    }
    Ok(())
}

/// 32 MiB in all: 25 ms at 10 Gb/s for a disk that stops.
const CHUNKS: usize = 32;

const CHUNK_BYTES: usize = 1 << 20;

const CHUNK_PACKETS: usize = 4_096;
