//! A port of DPDK with its frames.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};

use samplewire_io::ether::{CardChecks, Verdict};

use super::eal::Eal;
use super::{DpdkError, check};
use crate::options::DpdkOptions;

/// An open port. The device belongs to it alone, and is taken off when it is dropped.
#[derive(Debug)]
pub(crate) struct Device {
    port: u16,
    granted: Granted,
    /// The last burst.
    received: [Received; BURST],
    received_len: usize,
    /// The frame of it that is read next.
    next: usize,
    /// Frames that are written and that no ring has yet.
    written: [*mut c_void; BURST],
    written_len: usize,
    /// Empty frames.
    empty: [*mut c_void; BURST],
    empty_len: usize,
}

/// How a port is started; as `samplewire_dpdk_shape` of the shim.
#[derive(Debug)]
#[repr(C)]
struct Shape {
    frame_bytes: u32,
    mtu_bytes: u16,
    queues: u16,
    descriptors: u16,
}

/// What was granted; as `samplewire_dpdk_granted` of the shim.
#[derive(Debug)]
#[repr(C)]
struct Granted {
    pool: *mut c_void,
    memory_bytes: u64,
    speed_mbps: u32,
    mac: [u8; 6],
}

/// A received frame; as `samplewire_dpdk_received` of the shim.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Received {
    frame: *mut c_void,
    bytes: *const u8,
    len_bytes: u32,
    ip: u8,
    udp: u8,
}

impl Device {
    /// Starts EAL if need be, and the device.
    pub(crate) fn open(options: &DpdkOptions) -> Result<Self, DpdkError> {
        options.check()?;
        let _eal = Eal::start(&options.eal)?;
        let device = options.device.clone();
        let name = CString::new(device.as_str()).expect("the options were checked");
        let mut port = 0;
        // SAFETY: `name` is a string, `port` is written to, and both outlive the call.
        let attached = check(unsafe { samplewire_dpdk_attach(name.as_ptr(), &raw mut port) });
        if let Err(source) = attached {
            return Err(DpdkError::Attach { device, source });
        }
        let shape = Shape {
            frame_bytes: options.frame_bytes(),
            mtu_bytes: options.mtu_bytes,
            queues: options.queues,
            descriptors: options.descriptors,
        };
        let mut granted = Granted { pool: null_mut(), memory_bytes: 0, speed_mbps: 0, mac: [0; 6] };
        // SAFETY: the port was attached, and the structures have the layout of the shim's.
        let started = unsafe { samplewire_dpdk_start(port, &raw const shape, &raw mut granted) };
        if let Err(source) = check(started) {
            // SAFETY: the port is ours. Its pool, if there is one, is freed after the driver has released its
            // queues, which may hold frames of it; none was given to this process.
            unsafe { samplewire_dpdk_stop(port, granted.pool) };
            return Err(DpdkError::Start { device, source });
        }
        let none = Received { frame: null_mut(), bytes: null(), len_bytes: 0, ip: 0, udp: 0 };
        Ok(Self {
            port,
            granted,
            received: [none; BURST],
            received_len: 0,
            next: 0,
            written: [null_mut(); BURST],
            written_len: 0,
            empty: [null_mut(); BURST],
            empty_len: 0,
        })
    }

    /// Its hardware address.
    pub(crate) const fn mac(&self) -> [u8; 6] {
        self.granted.mac
    }

    /// Memory of its frames.
    pub(crate) const fn memory_bytes(&self) -> u64 {
        self.granted.memory_bytes
    }

    /// The speed of its line in bits a second, as it was at the start; `None` where it was not known.
    pub(crate) fn line_bps(&self) -> Option<u64> {
        let speed_mbps = u64::from(self.granted.speed_mbps);
        (speed_mbps > 0).then_some(speed_mbps * 1_000_000)
    }

    /// Takes a burst of a queue; false when it has none. All frames of the last burst were read.
    ///
    /// It has room for a whole burst each time: vector drivers return no frames to a caller with room for
    /// less than four.
    pub(crate) fn receive(&mut self, queue: u16) -> bool {
        debug_assert!(!self.has_received(), "the frames would be lost");
        self.release();
        let into = self.received.as_mut_ptr();
        // SAFETY: the port is started with this queue, which no other thread uses as `self` is borrowed
        // exclusively; `into` has room for `BURST`.
        let count = unsafe { samplewire_dpdk_receive(self.port, queue, into, BURST as u16) };
        self.received_len = usize::from(count);
        self.received_len > 0
    }

    /// Whether frames of the last burst are not read yet.
    pub(crate) const fn has_received(&self) -> bool {
        self.next < self.received_len
    }

    /// The next frame of the last burst, and the checksums that the card has checked; no bytes for a frame
    /// in several pieces, which is longer than the MTU.
    pub(crate) fn next_received(&mut self) -> Option<(&[u8], CardChecks)> {
        if !self.has_received() {
            self.release();
            return None;
        }
        let Received { bytes, len_bytes, ip, udp, .. } = self.received[self.next];
        self.next += 1;
        // SAFETY: the shim has set both for a frame that is ours until `release`, which needs `self`
        // exclusively. DPDK's memory is initialised, and nothing else writes to it.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, len_bytes as usize) };
        Some((bytes, CardChecks { ip: verdict(ip), udp: verdict(udp) }))
    }

    /// Gives the frames of the last burst back.
    fn release(&mut self) {
        let mut frames = [null_mut(); BURST];
        for (to, from) in frames.iter_mut().zip(&self.received[..self.received_len]) {
            *to = from.frame;
        }
        free(&mut frames[..self.received_len]);
        self.received_len = 0;
        self.next = 0;
    }

    /// The memory of the next frame that leaves, which has stale bytes; `None` while there is no room.
    pub(crate) fn next_frame(&mut self, len_bytes: usize) -> Option<&mut [u8]> {
        if self.written_len == BURST && !self.flush() {
            return None;
        }
        if self.empty_len == 0 {
            let into = self.empty.as_mut_ptr();
            // SAFETY: the pool is the port's, and `into` has room for so many.
            let taken = unsafe { samplewire_dpdk_take(self.granted.pool, into, BURST as u32) };
            check(taken).ok()?;
            self.empty_len = BURST;
        }
        let frame = self.empty[self.empty_len - 1];
        let len = u16::try_from(len_bytes).ok()?;
        // SAFETY: the frame is empty and ours.
        let bytes = NonNull::new(unsafe { samplewire_dpdk_begin(frame, len) })?;
        self.empty_len -= 1;
        self.written[self.written_len] = frame;
        self.written_len += 1;
        // SAFETY: the frame has so many initialised bytes there, and is ours until `flush`, which needs
        // `self` exclusively.
        Some(unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), len_bytes) })
    }

    /// Offers the written frames to the device; whether it took some, or there were none.
    pub(crate) fn flush(&mut self) -> bool {
        if self.written_len == 0 {
            return true;
        }
        let (frames, count) = (self.written.as_mut_ptr(), self.written_len as u16);
        // SAFETY: the port is started, its send queue is this value's alone, and the frames are ours; those
        // that are taken are the driver's from here on.
        let sent = usize::from(unsafe { samplewire_dpdk_send(self.port, frames, count) });
        self.written.copy_within(sent..self.written_len, 0);
        self.written_len -= sent;
        sent > 0
    }

    /// Whether written frames wait for room.
    pub(crate) const fn has_written(&self) -> bool {
        self.written_len > 0
    }

    /// Frames that found no room at the device, as far as its driver counts them.
    pub(crate) fn missed(&self) -> u64 {
        // SAFETY: the port is started.
        unsafe { samplewire_dpdk_missed(self.port) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _eal = Eal::running();
        self.release();
        free(&mut self.written[..self.written_len]);
        free(&mut self.empty[..self.empty_len]);
        // SAFETY: the port is ours. The driver gives its frames back as the port stops and closes, all other
        // frames of the pool are back, and the pool is freed after that, so nothing refers to it.
        unsafe { samplewire_dpdk_stop(self.port, self.granted.pool) };
    }
}

// SAFETY: DPDK lets any thread use a queue, one at a time; methods that use a queue borrow the value
// exclusively, and frames have no thread affinity.
unsafe impl Send for Device {}

fn free(frames: &mut [*mut c_void]) {
    if !frames.is_empty() {
        // SAFETY: the callers own these frames and forget them.
        unsafe { samplewire_dpdk_free(frames.as_mut_ptr(), frames.len() as u32) };
    }
}

fn verdict(word: u8) -> Verdict {
    match word {
        1 => Verdict::Right,
        2 => Verdict::Wrong,
        _ => Verdict::Unknown,
    }
}

/// Frames of one call: as many as the shim has places for.
const BURST: usize = 32;

// SAFETY: as in shim/shim.c, which is compiled with the same types.
unsafe extern "C" {
    fn samplewire_dpdk_attach(device: *const c_char, port: *mut u16) -> c_int;
    fn samplewire_dpdk_start(port: u16, shape: *const Shape, granted: *mut Granted) -> c_int;
    fn samplewire_dpdk_stop(port: u16, pool: *mut c_void);
    fn samplewire_dpdk_receive(port: u16, queue: u16, into: *mut Received, count: u16) -> u16;
    fn samplewire_dpdk_send(port: u16, frames: *mut *mut c_void, count: u16) -> u16;
    fn samplewire_dpdk_take(pool: *mut c_void, frames: *mut *mut c_void, count: u32) -> c_int;
    fn samplewire_dpdk_begin(frame: *mut c_void, len_bytes: u16) -> *mut u8;
    fn samplewire_dpdk_free(frames: *mut *mut c_void, count: u32);
    fn samplewire_dpdk_missed(port: u16) -> u64;
}
