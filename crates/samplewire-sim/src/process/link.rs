//! A process's end of the network, as its endpoint sees it: one packet or some frames arrive in a turn
//! at most, and what departs is taken when the turn is over.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samplewire_io::ether::{EtherError, EtherLink};
use samplewire_io::{Batch, Capabilities, Ecn, Link, LinkError, Meta, Outgoing, Waker};

use crate::net::address_of;
use crate::packets::ProcessId;

/// What lies between an endpoint and the network.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    arriving: Option<Meta>,
    arriving_bytes: Vec<u8>,
    departing: Vec<Departing>,
    departing_bytes: Vec<u8>,
}

/// A packet that departs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departing {
    pub(crate) to: SocketAddr,
    pub(crate) is_ect: bool,
    start: usize,
    end: usize,
}

/// Packets that departed in a turn.
#[derive(Debug, Default)]
pub(crate) struct Departed {
    packets: Vec<Departing>,
    bytes: Vec<u8>,
}

impl Departed {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Departing, &[u8])> {
        self.packets.iter().map(|it| (it, &self.bytes[it.start..it.end]))
    }
}

impl Departed {
    /// Lets `change` change packets, and says of each whether it did.
    pub(crate) fn change(&mut self, mut change: impl FnMut(SocketAddr, &mut Vec<u8>) -> bool) {
        for packet in &mut self.packets {
            let mut bytes = self.bytes[packet.start..packet.end].to_vec();
            if change(packet.to, &mut bytes) {
                packet.start = self.bytes.len();
                self.bytes.extend_from_slice(&bytes);
                packet.end = self.bytes.len();
            }
        }
    }
}

impl Mailbox {
    /// Puts a packet where the endpoint finds it in its next turn.
    pub(crate) fn put(&mut self, bytes: &[u8], meta: Meta) {
        self.arriving_bytes.clear();
        self.arriving_bytes.extend_from_slice(bytes);
        self.arriving = Some(meta);
    }

    /// Takes what has departed, in exchange for what was taken before.
    pub(crate) fn take(&mut self, departed: &mut Departed) {
        departed.packets.clear();
        departed.bytes.clear();
        std::mem::swap(&mut departed.packets, &mut self.departing);
        std::mem::swap(&mut departed.bytes, &mut self.departing_bytes);
    }
}

/// The link of one process.
#[derive(Debug)]
pub(crate) struct MailLink {
    me: ProcessId,
    mailbox: Arc<Mutex<Mailbox>>,
    waker: Waker,
    line_bps: Option<u64>,
}

impl MailLink {
    pub(crate) fn new(me: ProcessId, mailbox: &Arc<Mutex<Mailbox>>) -> io::Result<Self> {
        Ok(Self { me, mailbox: Arc::clone(mailbox), waker: Waker::new()?, line_bps: None })
    }

    /// With an interface of this speed.
    pub(crate) fn with_line_bps(mut self, line_bps: u64) -> Self {
        self.line_bps = Some(line_bps);
        self
    }
}

impl Link for MailLink {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "simulated",
            mtu_bytes: BYTES_MAX,
            receive_buffer_bytes: 0,
            send_buffer_bytes: 0,
            segmentation: false,
            ecn: true,
            interface: None,
            bypass: None,
        }
    }

    fn local_addr(&self) -> SocketAddr {
        address_of(self.me)
    }

    fn line_bps(&mut self, _peer: SocketAddr) -> Option<u64> {
        self.line_bps
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let Mailbox { departing, departing_bytes, .. } = &mut *lock(&self.mailbox);
        for packet in packets {
            let start = departing_bytes.len();
            packet.parts.iter().for_each(|part| departing_bytes.extend_from_slice(part));
            let (to, is_ect) = (packet.peer, packet.ecn != Ecn::NotEct);
            departing.push(Departing { to, is_ect, start, end: departing_bytes.len() });
        }
        Ok(packets.len())
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        let mut mailbox = lock(&self.mailbox);
        if let Some(meta) = mailbox.arriving.take() {
            batch.push(&mailbox.arriving_bytes, meta).expect("a batch has room for one packet");
        }
        Ok(())
    }

    fn wait(&mut self, _timeout: Duration) -> Result<(), LinkError> {
        unreachable!("an endpoint that is stepped does not wait")
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

/// Frames, one behind another.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Where each ends, and whether a link has changed it.
    ends: Vec<(usize, bool)>,
    bytes: Vec<u8>,
}

impl Frames {
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Appends a frame, and returns its bytes.
    pub(crate) fn push(&mut self, frame: &[u8], is_corrupted: bool) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frame);
        self.ends.push((self.bytes.len(), is_corrupted));
        &mut self.bytes[start..]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        (0..self.len()).map(|place| self.get(place))
    }

    fn get(&self, place: usize) -> (&[u8], bool) {
        let start = if place == 0 { 0 } else { self.ends[place - 1].0 };
        let (end, is_corrupted) = self.ends[place];
        (&self.bytes[start..end], is_corrupted)
    }
}

/// What lies between a station and the network.
#[derive(Debug, Default)]
pub(crate) struct FrameBox {
    arriving: Frames,
    /// Of those so many were taken.
    taken: usize,
    departing: Frames,
}

impl FrameBox {
    /// Puts frames where the endpoint finds them in its next turn.
    pub(crate) fn put(&mut self, frames: &Frames) {
        self.arriving.clear();
        self.taken = 0;
        frames.iter().for_each(|(bytes, is_corrupted)| {
            self.arriving.push(bytes, is_corrupted);
        });
    }

    /// Frames that the endpoint has not taken.
    pub(crate) const fn arriving(&self) -> usize {
        self.arriving.len() - self.taken
    }

    /// Takes what has departed, in exchange for what was taken before.
    pub(crate) fn take(&mut self, departed: &mut Frames) {
        departed.clear();
        std::mem::swap(departed, &mut self.departing);
    }
}

/// The link of one station.
#[derive(Debug)]
pub(crate) struct FrameLink {
    frames: Arc<Mutex<FrameBox>>,
    /// Its descriptor: nothing waits for it.
    waker: Waker,
}

impl FrameLink {
    pub(crate) fn new(frames: &Arc<Mutex<FrameBox>>) -> io::Result<Self> {
        Ok(Self { frames: Arc::clone(frames), waker: Waker::new()? })
    }
}

impl AsFd for FrameLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl EtherLink for FrameLink {
    fn name(&self) -> &str {
        "simulated"
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        let FrameBox { arriving, taken, .. } = &mut *lock(&self.frames);
        if *taken == arriving.len() {
            return Ok(None);
        }
        let (frame, _) = arriving.get(*taken);
        *taken += 1;
        let len = frame.len().min(into.len());
        into[..len].copy_from_slice(&frame[..len]);
        Ok(Some(len))
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        lock(&self.frames).departing.push(frame, false);
        Ok(true)
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn forget(&mut self) -> usize {
        0
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        Ok(None)
    }
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // What panicked is the failure of its run.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The largest packet.
const BYTES_MAX: usize = 9_000;
