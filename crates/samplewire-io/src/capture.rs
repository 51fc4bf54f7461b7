//! A link that writes what passes through it to a pcapng file.
//!
//! The file has raw IP packets with nanosecond timestamps and the direction of each, and on a second
//! interface the frames of a link beside it ([`Link::frames`]), if there is one. The datapath
//! copies packets into buffers that another thread writes, and never waits for it: where all
//! buffers are full, packets are missing from the file, are counted, and the count is in the
//! file's last block (isb_ifdrop).
//!
//! A packet's time is that of the call which moved it. The socket does not report which local
//! address a packet came to: on a link bound to all addresses, the file has the unspecified one.

mod frames;
mod writer;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use self::frames::FrameCapture;
use self::writer::{Kind, Outcome, Packet, Recorder};
use crate::batch::Batch;
use crate::counters::CaptureCounts;
use crate::ether::EtherLink;
use crate::favoured::{Favoured, KnownTags};
use crate::link::{Capabilities, Link, LinkError, Outgoing};
use crate::wake::{Sleep, Waker};

/// A link that passes packets on to and from `L` and records them.
///
/// Dropping it waits until the file is complete.
#[derive(Debug)]
pub struct Capture<L> {
    link: L,
    local: SocketAddr,
    /// Shared with the link of frames beside it, which is of the same thread.
    recorder: Shared,
    outcome: Arc<Outcome>,
}

type Shared = Arc<Mutex<Recorder>>;

impl<L: Link> Capture<L> {
    /// Records into a file at `path`, which is made or written over.
    ///
    /// # Errors
    /// `Capture` when it cannot be written.
    pub fn create(link: L, path: &Path) -> Result<Self, LinkError> {
        let file = File::create(path).map_err(LinkError::Capture)?;
        Self::new(link, BufWriter::with_capacity(FILE_BUFFER_BYTES, file))
    }

    /// Records into `out`, which is flushed whenever all that there is has been written.
    ///
    /// # Errors
    /// `Capture` when the file's head cannot be written.
    pub fn new(link: L, out: impl Write + Send + 'static) -> Result<Self, LinkError> {
        let local = link.local_addr();
        let interface = format!("{} {local}", link.capabilities().kind);
        let recorder = Recorder::new(out, &interface).map_err(LinkError::Capture)?;
        let outcome = Arc::clone(recorder.outcome());
        Ok(Self { link, local, recorder: Arc::new(Mutex::new(recorder)), outcome })
    }

    /// A handle to the counts, good after the link is gone.
    pub fn log(&self) -> CaptureLog {
        CaptureLog { outcome: Arc::clone(&self.outcome) }
    }

    /// Completes the file and says how many packets it has.
    ///
    /// # Errors
    /// `Capture` with the first error of writing; packets from there on are missing.
    ///
    /// # Blocking
    /// Until what has been recorded is written.
    pub fn finish(self) -> Result<CaptureCounts, LinkError> {
        lock(&self.recorder).close();
        let log = self.log();
        match log.take_error() {
            Some(error) => Err(error),
            None => Ok(log.counts()),
        }
    }

    /// Gives the writer what has waited long enough; how long the rest may still wait.
    fn submit_old(&mut self) -> Option<Duration> {
        let mut recorder = lock(&self.recorder);
        let waited = Duration::from_nanos(now_ns().saturating_sub(recorder.oldest_ns()?));
        if waited >= RECORD_WAIT {
            recorder.submit();
            return None;
        }
        Some(RECORD_WAIT - waited)
    }
}

impl<L: Link> Link for Capture<L> {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        self.link.local_addrs()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let sent = self.link.send(packets)?;
        if sent > 0 {
            let time_ns = now_ns();
            let mut recorder = lock(&self.recorder);
            for packet in &packets[..sent] {
                let (source, destination, ecn) = (self.local, packet.peer, packet.ecn);
                let kind = Kind::Datagram { source, destination, ecn };
                let len_bytes = packet.len_bytes();
                let record = Packet { time_ns, outbound: true, kind, len_bytes };
                recorder.record(record, packet.parts);
            }
        }
        self.submit_old();
        Ok(sent)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.link.recv(batch)?;
        if !batch.is_empty() {
            let time_ns = now_ns();
            let mut recorder = lock(&self.recorder);
            for (bytes, meta) in batch.iter() {
                let (source, destination, ecn) = (meta.peer, self.local, meta.ecn);
                let kind = Kind::Datagram { source, destination, ecn };
                let record = Packet { time_ns, outbound: false, kind, len_bytes: bytes.len() };
                recorder.record(record, [bytes, &[], &[]]);
            }
        }
        self.submit_old();
        Ok(())
    }

    /// Ends early, too, where a record has waited for a call.
    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        if let Some(rest) = self.submit_old() {
            sleep.at_most(rest);
        }
        self.link.begin_wait(sleep)
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        self.link.end_wait(sleep)
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn is_full(&self) -> bool {
        self.link.is_full()
    }

    fn has_room_for(&mut self, peer: Option<SocketAddr>) -> bool {
        self.link.has_room_for(peer)
    }

    fn unreachable_hint(&self) -> u64 {
        self.link.unreachable_hint()
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        self.link.line_bps(peer)
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.link.make_room(packets, packet_bytes);
    }

    /// Records the frames too, whole, on an interface of their own in the file.
    fn frames(&mut self, frames: Box<dyn EtherLink>) -> Box<dyn EtherLink> {
        let frames = self.link.frames(frames);
        Box::new(FrameCapture::new(frames, Arc::clone(&self.recorder)))
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.link.favour(favoured)
    }

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.link.steer(tags);
    }
}

impl<L> Drop for Capture<L> {
    fn drop(&mut self) {
        lock(&self.recorder).close();
    }
}

fn lock(recorder: &Shared) -> MutexGuard<'_, Recorder> {
    // A recorder is whole between two calls.
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A handle to the counts of a capture.
#[derive(Clone, Debug)]
pub struct CaptureLog {
    outcome: Arc<Outcome>,
}

impl CaptureLog {
    /// The counts; those of the whole file once the link is gone.
    pub fn counts(&self) -> CaptureCounts {
        CaptureCounts {
            written: self.outcome.get(&self.outcome.written),
            skipped: self.outcome.get(&self.outcome.skipped),
        }
    }

    /// The first error of writing, once: later calls give `None`.
    pub fn take_error(&self) -> Option<LinkError> {
        let mut error = self.outcome.error.lock().expect("nothing panics while it holds this lock");
        error.take().map(LinkError::Capture)
    }
}

fn now_ns() -> u64 {
    // A clock before 1970 is written as 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// How long a record waits for others before the writer gets it.
const RECORD_WAIT: Duration = Duration::from_millis(100);

const FILE_BUFFER_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests;
