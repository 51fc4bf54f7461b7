//! A netlink socket, through `libc`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::DUMP_BYTES_MAX;
use super::message::{HEADER_BYTES, Message, Messages};
use crate::sockopt;

/// A socket of a netlink family.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    pub(super) fn open(family: i32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, family) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has given this descriptor to no one else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let wait = libc::timeval { tv_sec: 0, tv_usec: WAIT_MICROS.into() };
        // SAFETY: the option's value is a timeval, which the pointer covers.
        let answer = unsafe {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVTIMEO);
            let len_bytes = size_of_val(&wait) as libc::socklen_t;
            libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const wait).cast(), len_bytes)
        };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        // Dumps check what they are asked for more strictly with it; older kernels do not have it.
        let _ = sockopt::set(&socket, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1);
        Ok(Self(socket))
    }

    /// Receives what the kernel sends to these groups of its first 32 multicast groups.
    pub(super) fn join(&self, groups: u32) -> io::Result<()> {
        // SAFETY: all bytes zero are a valid sockaddr_nl.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups;
        let len_bytes = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer covers `address`, whose length is given.
        let answer =
            unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len_bytes) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Drops what has come, at most [`DRAIN_MESSAGES_MAX`] messages, and returns whether there was
    /// anything, or too much for the socket.
    pub(super) fn drain(&self) -> bool {
        for number in 0..DRAIN_MESSAGES_MAX {
            // SAFETY: no bytes are written: the length is 0, and the kernel drops the rest of the message.
            let len = unsafe {
                let (fd, none) = (self.0.as_raw_fd(), std::ptr::null_mut());
                libc::recv(fd, none, 0, libc::MSG_DONTWAIT | libc::MSG_TRUNC)
            };
            if len < 0 {
                let error = io::Error::last_os_error().raw_os_error();
                return number > 0 || error == Some(libc::ENOBUFS);
            }
        }
        true
    }

    /// Sends a request and hands over each message of its reply, until the dump ends, or after the
    /// first with `is_dump` false.
    pub(super) fn request(
        &self,
        kind: u16,
        body: &[u8],
        is_dump: bool,
        mut each: impl FnMut(Message<'_>),
    ) -> io::Result<()> {
        let flags = libc::NLM_F_REQUEST as u16 | if is_dump { libc::NLM_F_DUMP as u16 } else { 0 };
        let mut request = Vec::with_capacity(HEADER_BYTES + body.len());
        request.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend(flags.to_ne_bytes());
        request.extend([0; 8]);
        request.extend_from_slice(body);
        let fd = self.0.as_raw_fd();
        // SAFETY: the pointer covers `request`, whose length is given.
        if unsafe { libc::send(fd, request.as_ptr().cast(), request.len(), 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let (mut buffer, mut total_bytes) = (vec![0; PART_BYTES], 0);
        while total_bytes < DUMP_BYTES_MAX {
            // SAFETY: the pointer covers `buffer`, whose length is given.
            let len = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
            total_bytes += len.max(1);
            for message in Messages::new(&buffer[..len]) {
                match message.error() {
                    Some(0) => return Ok(()),
                    Some(number) => return Err(io::Error::from_raw_os_error(number)),
                    None if message.is_done() => return Ok(()),
                    None => each(message),
                }
                if !is_dump {
                    return Ok(());
                }
            }
        }
        Err(io::Error::from_raw_os_error(libc::EOVERFLOW))
    }
}

/// The kernel answers at once; a reply that was lost must not block.
const WAIT_MICROS: i32 = 200_000;

/// Bounds what a busy network costs a look.
const DRAIN_MESSAGES_MAX: usize = 64;

/// The kernel's parts of a dump are no longer than 32 KiB.
const PART_BYTES: usize = 64 << 10;
