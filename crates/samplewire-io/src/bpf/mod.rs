//! Programs and maps of the kernel's BPF machine, through bpf(2) alone: no compiler, no library.
//!
//! A program is a table of instructions ([`Assembler`]), which the kernel verifies before it takes it
//! ([`Program::load`]). What a program counts and what it searches for is in a [`Map`]. A program,
//! a map and an [`Attachment`] end with their descriptors, so that a killed process leaves nothing behind.
//!
//! The instruction set is RFC 9669.

mod assembler;
mod sys;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

pub(crate) use self::assembler::{Assembler, Insn, Register, Size, Test};

/// A program that the kernel has verified.
#[derive(Debug)]
pub(crate) struct Program(OwnedFd);

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ProgramKind {
    /// On a received frame, before the kernel has a buffer for it.
    Xdp = 6,
    /// The same, also where a frame lies in several pieces (BPF_F_XDP_HAS_FRAGS). The program sees the
    /// first.
    XdpFragments = 0x100 + 6,
    /// Where the kernel reports an event of its own, with the event's raw arguments.
    RawTracepoint = 17,
}

impl Program {
    /// Loads a program.
    ///
    /// # Errors
    /// `EPERM` without CAP_BPF and what the kind needs, `EACCES` or `EINVAL` where the kernel refuses the
    /// instructions; the error then ends with the last line of the kernel's reason.
    pub(crate) fn load(kind: ProgramKind, name: &str, insns: &[Insn]) -> io::Result<Self> {
        let flags = if kind == ProgramKind::XdpFragments { BPF_F_XDP_HAS_FRAGS } else { 0 };
        sys::load(kind as u32 & 0xFF, flags, name, insns).map(Self)
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A table that programs and this process share.
#[derive(Debug)]
pub(crate) struct Map {
    fd: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

/// How a map is organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum MapKind {
    /// Any keys.
    Hash = 1,
    /// Keys are indexes of 32 bits; all values exist, zero at first.
    Array = 2,
    /// AF_XDP sockets by index of 32 bits. Values are written only.
    XdpSockets = 17,
}

impl Map {
    /// Creates a map for `entries_max` keys.
    ///
    /// # Errors
    /// `EPERM` without CAP_BPF; `ENOMEM`.
    pub(crate) fn new(
        kind: MapKind,
        key_bytes: usize,
        value_bytes: usize,
        entries_max: u32,
    ) -> io::Result<Self> {
        let fd = sys::create_map(kind as u32, [key_bytes, value_bytes], entries_max)?;
        Ok(Self { fd, key_bytes, value_bytes })
    }

    /// Reads the value of a key into `value`; false where there is none.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// When a length is not the map's.
    pub(crate) fn get(&self, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
        assert_eq!((key.len(), value.len()), (self.key_bytes, self.value_bytes), "lengths");
        match sys::lookup(self.fd.as_fd(), key, value) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes the value of a key.
    ///
    /// # Errors
    /// `E2BIG` when the map is full.
    ///
    /// # Panics
    /// When a length is not the map's.
    pub(crate) fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!((key.len(), value.len()), (self.key_bytes, self.value_bytes), "lengths");
        sys::update(self.fd.as_fd(), key, value)
    }

    /// Removes a key; one that is not there is removed already.
    ///
    /// # Errors
    /// The system's.
    ///
    /// # Panics
    /// When the length is not the map's.
    pub(crate) fn remove(&self, key: &[u8]) -> io::Result<()> {
        assert_eq!(key.len(), self.key_bytes, "length");
        match sys::remove(self.fd.as_fd(), key) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            result => result,
        }
    }

    /// The key that follows `key` in the map's own order, or the first; `None` at the end.
    ///
    /// # Errors
    /// The system's.
    #[cfg(test)]
    pub(crate) fn key_after(&self, key: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        let mut next = vec![0; self.key_bytes];
        match sys::next_key(self.fd.as_fd(), key, &mut next) {
            Ok(()) => Ok(Some(next)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsRawFd for Map {
    fn as_raw_fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

/// A program at its place. It leaves the place when this is dropped, or the process ends.
#[derive(Debug)]
pub(crate) struct Attachment {
    /// Held for what its end does.
    _fd: OwnedFd,
}

/// How an interface runs an XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XdpMode {
    /// In its driver.
    Native,
    /// In the kernel's own path, with a buffer for each frame: any interface can.
    Generic,
}

impl Attachment {
    /// Attaches an XDP program to an interface.
    ///
    /// # Errors
    /// `EOPNOTSUPP` or `EINVAL` where the driver cannot, `EBUSY` where another program is attached.
    pub(crate) fn xdp(program: &Program, interface: u32, mode: XdpMode) -> io::Result<Self> {
        let flags = match mode {
            XdpMode::Native => XDP_FLAGS_DRV_MODE,
            XdpMode::Generic => XDP_FLAGS_SKB_MODE,
        };
        let fd = sys::create_link(program.as_fd(), interface, BPF_XDP, flags)?;
        Ok(Self { _fd: fd })
    }

    /// Attaches a program to a tracepoint of the kernel.
    ///
    /// # Errors
    /// `ENOENT` without such a tracepoint, `EINVAL` where it has fewer arguments than the program reads.
    pub(crate) fn raw_tracepoint(program: &Program, name: &CStr) -> io::Result<Self> {
        let fd = sys::open_raw_tracepoint(program.as_fd(), name)?;
        Ok(Self { _fd: fd })
    }
}

/// `enum bpf_attach_type` of `linux/bpf.h`.
const BPF_XDP: u32 = 37;

/// `linux/bpf.h`.
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;

/// `linux/if_link.h`.
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

#[cfg(test)]
mod tests;
