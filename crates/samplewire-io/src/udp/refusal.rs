//! What the kernel's answers mean.

use std::io;

/// What a failed call means for the packet it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No room, or nothing there.
    Full,
    /// A signal came.
    Again,
    /// The interface or the kernel does not segment; or an older kernel finds a segment too long.
    Segmentation,
    /// The network answered that nobody is there, perhaps to an earlier packet.
    Unreachable,
    /// Longer than the interface takes; or the network answered so to an earlier packet.
    TooLong,
    Other,
}

impl Refusal {
    pub(super) fn of(error: &io::Error) -> Self {
        match error.raw_os_error().unwrap_or(0) {
            libc::EAGAIN | libc::ENOBUFS => Self::Full,
            libc::EINTR => Self::Again,
            libc::EIO | libc::EINVAL | libc::ENOPROTOOPT => Self::Segmentation,
            libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::ENETDOWN
            | libc::EHOSTDOWN => Self::Unreachable,
            libc::EMSGSIZE => Self::TooLong,
            _ => Self::Other,
        }
    }
}
