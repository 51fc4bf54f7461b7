//! An AF_XDP socket of one queue, through `libc`.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::ring::{Consumer, Producer, RingMap};
use super::umem::Umem;
use crate::sockopt;

/// The four rings of a queue, and the socket that they belong to.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) fill: Producer<u64>,
    pub(super) completion: Consumer<u64>,
    pub(super) receive: Consumer<libc::xdp_desc>,
    pub(super) transmit: Producer<libc::xdp_desc>,
    socket: OwnedFd,
}

/// What a socket is bound to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) interface: u32,
    pub(super) queue: u32,
    /// Packets may lie in several frames.
    pub(super) has_fragments: bool,
    /// The driver writes into the frames; else the kernel copies.
    pub(super) is_zero_copy: bool,
}

impl Queue {
    /// Opens a socket whose rings have so many entries, and binds it to a queue. `first` is a socket of
    /// another queue that shares the memory.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `EOPNOTSUPP` or `EINVAL` where the driver cannot do what the binding
    /// wants, `EBUSY` where the queue is taken, `ENOBUFS` where memory may not be locked.
    pub(super) fn open(
        umem: &Umem,
        entries: u32,
        binding: Binding,
        first: Option<&Self>,
    ) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
        // SAFETY: the kernel has given this descriptor to no one else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        sockopt::set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER_BYTES)?;
        if first.is_none() {
            register(&socket, umem)?;
        }
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            sockopt::set(&socket, libc::SOL_XDP, ring, entries as i32)?;
        }
        let offsets = offsets(&socket)?;
        let fd = socket.as_fd();
        let fill = RingMap::new(fd, FILL_RING, offsets.fr, entries)?;
        let completion = RingMap::new(fd, COMPLETION_RING, offsets.cr, entries)?;
        let receive = RingMap::new(fd, RECEIVE_RING, offsets.rx, entries)?;
        let transmit = RingMap::new(fd, TRANSMIT_RING, offsets.tx, entries)?;
        bind(&socket, binding, first)?;
        Ok(Self {
            fill: Producer::new(fill),
            completion: Consumer::new(completion),
            receive: Consumer::new(receive),
            transmit: Producer::new(transmit),
            socket,
        })
    }

    /// Whether the driver writes into the frames.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn is_zero_copy(&self) -> io::Result<bool> {
        let mut flags = 0_u32;
        // SAFETY: `xdp_options` is one word, which any bytes fill.
        unsafe { get(&self.socket, libc::XDP_OPTIONS, &mut flags) }?;
        Ok(flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Frames that found no room since the socket was opened.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn dropped(&self) -> io::Result<u64> {
        // rx_dropped, rx_invalid_descs, tx_invalid_descs, rx_ring_full, rx_fill_ring_empty_descs, ..
        let mut counts = [0_u64; 6];
        // SAFETY: `xdp_statistics` is six words of 64 bits, which any bytes fill.
        unsafe { get(&self.socket, libc::XDP_STATISTICS, &mut counts) }?;
        // A packet for which there was no frame is in the first of these, and again in the fifth.
        Ok(counts[0] + counts[3])
    }

    /// Has the driver look for frames to receive into.
    pub(super) fn wake(&self) {
        // SAFETY: no bytes are received; the pointers are null with length 0.
        unsafe {
            let (fd, none) = (self.socket.as_raw_fd(), std::ptr::null_mut());
            let (address, len) = (std::ptr::null_mut(), std::ptr::null_mut());
            libc::recvfrom(fd, none, 0, libc::MSG_DONTWAIT, address, len);
        }
    }

    /// Has the kernel take what is in the transmit ring. `false` where it takes the rest later.
    ///
    /// # Errors
    /// `ENETDOWN` or `ENXIO` where the interface is down or gone.
    pub(super) fn kick(&mut self) -> io::Result<bool> {
        // The kernel takes some 32 entries a call and then answers EAGAIN.
        let mut room = self.transmit.room();
        for _ in 0..KICKS_MAX {
            // SAFETY: no bytes are sent; the pointers are null with length 0.
            let answer = unsafe {
                let (fd, none) = (self.socket.as_raw_fd(), std::ptr::null());
                libc::sendto(fd, none, 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
            };
            if answer >= 0 {
                return Ok(true);
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // EBUSY: the interface has dropped one, and the next may pass.
                Some(libc::EAGAIN | libc::EBUSY) if self.transmit.room() > room => {
                    room = self.transmit.room();
                }
                // No room in the socket or for completions: it comes back.
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS) => return Ok(false),
                _ => return Err(error),
            }
        }
        Ok(false)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Registers the memory with the kernel.
fn register(socket: &OwnedFd, umem: &Umem) -> io::Result<()> {
    // The form of Linux 5.4 to today: later members are zero.
    let registration = Registration {
        base: umem.base().as_ptr() as u64,
        len_bytes: umem.len_bytes() as u64,
        frame_bytes: umem.frame_bytes() as u32,
        headroom_bytes: 0,
        flags: 0,
        metadata_bytes: 0,
    };
    let len_bytes = size_of_val(&registration) as libc::socklen_t;
    // SAFETY: the pointer covers `registration`, whose length is given. The kernel pins the memory that
    // it names, which is mapped, and writes only into frames that it is given in a ring.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            libc::XDP_UMEM_REG,
            (&raw const registration).cast(),
            len_bytes,
        )
    })?;
    Ok(())
}

fn offsets(socket: &OwnedFd) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: all bytes zero are valid numbers.
    let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
    // SAFETY: the structure consists of numbers, which any bytes fill.
    unsafe { get(socket, libc::XDP_MMAP_OFFSETS, &mut offsets) }?;
    Ok(offsets)
}

fn bind(socket: &OwnedFd, binding: Binding, first: Option<&Queue>) -> io::Result<()> {
    let mut flags = libc::XDP_USE_NEED_WAKEUP;
    flags |= if binding.is_zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
    flags |= if binding.has_fragments { libc::XDP_USE_SG } else { 0 };
    let shared = first.map_or(0, |first| first.socket.as_raw_fd() as u32);
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        // A socket that shares memory takes over how the first was bound.
        sxdp_flags: if first.is_some() { libc::XDP_SHARED_UMEM } else { flags },
        sxdp_ifindex: binding.interface,
        sxdp_queue_id: binding.queue,
        sxdp_shared_umem_fd: shared,
    };
    let len_bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer covers `address`, whose length is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len_bytes) })?;
    Ok(())
}

/// Reads an option of AF_XDP.
///
/// # Safety
/// Any bytes are a valid `T`.
unsafe fn get<T>(socket: &OwnedFd, option: i32, value: &mut T) -> io::Result<()> {
    let mut len_bytes = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointers cover `value` and its length; the kernel writes no more than that, and
    // any bytes are valid by the caller's contract.
    check(unsafe {
        let (fd, value) = (socket.as_raw_fd(), (&raw mut *value).cast());
        libc::getsockopt(fd, libc::SOL_XDP, option, value, &raw mut len_bytes)
    })?;
    Ok(())
}

fn check(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// `xdp_umem_reg` of Linux.
#[repr(C)]
struct Registration {
    base: u64,
    len_bytes: u64,
    frame_bytes: u32,
    headroom_bytes: u32,
    flags: u32,
    metadata_bytes: u32,
}

/// Offsets by which the rings of a socket are mapped.
const RECEIVE_RING: u64 = 0;
const TRANSMIT_RING: u64 = 0x8000_0000;
const FILL_RING: u64 = 0x1_0000_0000;
const COMPLETION_RING: u64 = 0x1_8000_0000;

/// Of copies that the interface has not sent; the kernel bounds it by `net.core.wmem_max`.
const SEND_BUFFER_BYTES: i32 = 8 << 20;

/// Bounds the calls of one send: 2,048 packets.
const KICKS_MAX: usize = 64;
