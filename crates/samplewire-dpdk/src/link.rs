//! The link: a station of its own over a port of DPDK.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use samplewire_io::ether::{UdpStation, Way};
use samplewire_io::{
    Batch, Capabilities, FrameCounts, Link, LinkError, Meta, Outgoing, Sleep, Waker,
};
use samplewire_proto::Nanos;

use crate::options::DpdkOptions;
use crate::sys::{Device, DpdkError};

/// A UDP port over DPDK.
///
/// The device is polled: a spinning thread receives a packet at once, a waiting one within some 0.1 ms, and
/// after 10 ms without packets within 1 ms. ARP and ping are answered in calls of the link, so it needs a thread
/// that calls it, as the I/O thread of a stream does.
///
/// A received packet is copied once, to the batch; a sent one once, to the device's memory. A packet to a
/// station that is not known yet is lost while ARP looks for it.
#[derive(Debug)]
pub struct DpdkLink {
    device: Device,
    station: UdpStation,
    local: SocketAddr,
    mtu_bytes: usize,
    queues: u16,
    /// The queue that is read first.
    turn: u16,
    epoch: Instant,
    waker: Waker,
    drops: Drops,
    /// Waits in a row before which nothing had come.
    quiet_waits: u32,
    is_full: bool,
    /// Whether the last `recv` left frames: a wait does not sleep.
    may_have_more: bool,
    log: DpdkLog,
    /// The content of `log`.
    logged: Logged,
}

/// The counts of a link, also while a stream owns it, and after its end.
#[derive(Clone, Debug, Default)]
pub struct DpdkLog(Arc<Mutex<Logged>>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Logged {
    counts: FrameCounts,
    device_dropped: u64,
}

impl DpdkLog {
    /// Frames that carried no packet of the port, as of the link's last call.
    pub fn counts(&self) -> FrameCounts {
        self.read().counts
    }

    /// Frames of all flows that found no room at the device since the link was opened, read every 10 ms; 0
    /// where its driver does not count them.
    pub fn device_dropped(&self) -> u64 {
        self.read().device_dropped
    }

    fn read(&self) -> Logged {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frames that found no room.
#[derive(Debug, Default)]
struct Drops {
    /// At the device, when the link was opened, and as read last.
    before: u64,
    at_device: u64,
    /// Packets of the port that were too long for the batch.
    here: u32,
    read_at: Nanos,
}

impl DpdkLink {
    /// Opens the device; the first link of a process starts DPDK. The calling thread keeps its CPUs, which
    /// DPDK's start changes. A device that was closed may be opened again.
    ///
    /// # Errors
    /// See [`DpdkError`].
    pub fn open(options: &DpdkOptions) -> Result<Self, DpdkError> {
        let waker = Waker::new().map_err(DpdkError::Waker)?;
        let device = Device::open(options)?;
        let port = if options.udp_port == 0 { some_port() } else { options.udp_port };
        let station = UdpStation::new(options.network, port, device.mac());
        let missed = device.missed();
        Ok(Self {
            local: station.local_addr().into(),
            station,
            mtu_bytes: usize::from(options.mtu_bytes),
            queues: options.queues,
            turn: 0,
            epoch: Instant::now(),
            waker,
            drops: Drops { before: missed, at_device: missed, ..Drops::default() },
            quiet_waits: 0,
            is_full: false,
            may_have_more: false,
            log: DpdkLog::default(),
            logged: Logged::default(),
            device,
        })
    }

    /// A handle on its counts.
    pub fn log(&self) -> DpdkLog {
        self.log.clone()
    }

    /// Memory of the device's frames in bytes: all that it ever takes.
    pub const fn memory_bytes(&self) -> u64 {
        self.device.memory_bytes()
    }

    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// Takes bursts of a queue into the batch. It stops when the queue is empty or the batch is full, and
    /// after `BURSTS_MAX`.
    fn take_bursts(&mut self, now: Nanos, queue: u16, batch: &mut Batch) {
        for _ in 0..BURSTS_MAX {
            if batch.len() == batch.packets_max() {
                break;
            }
            if !self.device.receive(queue) {
                return;
            }
            self.take(now, batch);
        }
        self.may_have_more = true;
    }

    /// Takes frames of the last burst into the batch, as many as it has room for.
    fn take(&mut self, now: Nanos, batch: &mut Batch) {
        while batch.len() < batch.packets_max() {
            let Some((bytes, checks)) = self.device.next_received() else { return };
            if let Some(datagram) = self.station.handle(now, bytes, checks) {
                let start = datagram.payload_offset_bytes;
                let meta = Meta {
                    peer: datagram.source,
                    ecn: datagram.ecn,
                    dropped: self.drops.of_packets(),
                    packets_per_drop: 1,
                };
                let payload = &bytes[start..start + datagram.payload_bytes];
                if batch.push(payload, meta).is_err() {
                    self.drops.here = self.drops.here.wrapping_add(1);
                }
            } else {
                self.send_own();
            }
        }
    }

    /// Sends the station's own frame, if there is one and room for it.
    fn send_own(&mut self) {
        let Some(frame) = self.station.poll_frame() else { return };
        match self.device.next_frame(frame.len()) {
            Some(into) => into.copy_from_slice(frame),
            None => self.station.frame_lost(),
        }
    }

    /// Writes a packet; false when there is no room.
    fn push(&mut self, now: Nanos, packet: &Outgoing<'_>) -> Result<bool, LinkError> {
        let (len_bytes, peer) = (packet.len_bytes(), packet.peer);
        if samplewire_io::link::header_bytes(&peer) + len_bytes > self.mtu_bytes {
            return Err(LinkError::TooLong { len_bytes, peer });
        }
        match self.station.way(now, peer) {
            Way::To(ethernet) => {
                // It is known, and asked for again now and then.
                self.send_own();
                let Some(into) = self.device.next_frame(UdpStation::frame_bytes(packet)) else {
                    return Ok(false);
                };
                self.station.write(ethernet, packet, into);
                Ok(true)
            }
            Way::Unknown => {
                self.send_own();
                Ok(true)
            }
            Way::NoRoute => {
                let source = io::Error::from_raw_os_error(ENETUNREACH);
                Err(LinkError::System { operation: "route", address: peer, source })
            }
        }
    }

    /// Shows the counts to other threads.
    fn log_counts(&mut self) {
        let device_dropped = self.drops.at_device();
        let logged = Logged { counts: self.station.counts(), device_dropped };
        if logged != self.logged {
            self.logged = logged;
            *self.log.0.lock().unwrap_or_else(PoisonError::into_inner) = logged;
        }
    }
}

impl Link for DpdkLink {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "dpdk",
            mtu_bytes: self.mtu_bytes,
            receive_buffer_bytes: 0,
            send_buffer_bytes: 0,
            segmentation: false,
            ecn: true,
            interface: None,
            bypass: None,
        }
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let now = self.now();
        self.is_full = false;
        let mut sent = 0;
        let mut result = Ok(());
        for packet in packets {
            match self.push(now, packet) {
                Ok(true) => sent += 1,
                Ok(false) => {
                    self.is_full = true;
                    break;
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.device.flush();
        self.log_counts();
        // The error comes again when its packet is offered first.
        if sent > 0 { Ok(sent) } else { result.map(|()| 0) }
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        let now = self.now();
        self.drops.read(now, &self.device);
        self.may_have_more = false;
        // The last batch may have had no room for them.
        self.take(now, batch);
        let first = self.turn;
        // Each queue is first in its turn, and frames of strangers have an end in each.
        self.turn = (first + 1) % self.queues;
        for step in 0..self.queues {
            self.take_bursts(now, (first + step) % self.queues, batch);
        }
        self.device.flush();
        self.log_counts();
        if !batch.is_empty() {
            self.quiet_waits = 0;
        }
        Ok(())
    }

    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        self.device.flush();
        let is_quiet = self.quiet_waits >= QUIET_WAITS;
        self.quiet_waits = self.quiet_waits.saturating_add(1);
        // Nothing of DPDK wakes a thread.
        sleep.at_most(if self.may_have_more {
            Duration::ZERO
        } else if self.is_full || self.device.has_written() {
            FULL_PAUSE
        } else if is_quiet {
            QUIET_PAUSE
        } else {
            PAUSE
        });
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn is_full(&self) -> bool {
        self.is_full
    }

    fn line_bps(&mut self, _peer: SocketAddr) -> Option<u64> {
        self.device.line_bps()
    }
}

impl Drops {
    /// Reads the device's count now and then: a driver may need a system call for it.
    fn read(&mut self, now: Nanos, device: &Device) {
        if now >= self.read_at + READ_PAUSE {
            self.read_at = now;
            self.at_device = device.missed();
        }
    }

    /// Frames of all flows that the device has dropped since the link was opened.
    const fn at_device(&self) -> u64 {
        self.at_device.wrapping_sub(self.before)
    }

    /// Packets of the port that were dropped; unknown once the device has dropped frames, which may be of
    /// any flow.
    fn of_packets(&self) -> Option<u32> {
        (self.at_device() == 0).then_some(self.here)
    }
}

/// A port that an earlier link is unlikely to have had: packets to that one may still arrive.
fn some_port() -> u16 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed = since.as_nanos() as u64 ^ u64::from(std::process::id()) << 7;
    DYNAMIC_PORTS | (mixed % (1 << 14)) as u16
}

/// The first of the ports that no service has (RFC 6335).
const DYNAMIC_PORTS: u16 = 49_152;

/// Of Linux: the network is unreachable.
const ENETUNREACH: i32 = 101;

/// Bursts of one queue in a call, also where none of their frames is for the port.
const BURSTS_MAX: u32 = 8;

/// While packets come, and afterwards.
const PAUSE: Duration = Duration::from_micros(100);
const QUIET_PAUSE: Duration = Duration::from_millis(1);
const QUIET_WAITS: u32 = 100;

/// While the device has no room.
const FULL_PAUSE: Duration = Duration::from_micros(50);

/// Between two readings of the device's counts.
const READ_PAUSE: Nanos = Nanos::from_millis(10);
