//! Options of sockets, through `libc`.

use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;

/// Sets an option that is an int.
pub(crate) fn set(socket: &impl AsRawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let len_bytes = size_of_val(&value) as libc::socklen_t;
    let value = (&raw const value).cast();
    // SAFETY: the pointer covers the int, whose length is given.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, len_bytes) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Attaches a program in classic BPF to a socket, by SO_ATTACH_FILTER or a relative of it. The kernel
/// runs it on what arrives.
pub(crate) fn attach(
    socket: &impl AsRawFd,
    option: i32,
    program: &[libc::sock_filter],
) -> io::Result<()> {
    let bound = Bound {
        len: u16::try_from(program.len()).expect("a program is short"),
        zeros: [0; align_of::<usize>() / 2 - 1],
        filter: program.as_ptr(),
    };
    let len_bytes = size_of_val(&bound) as libc::socklen_t;
    // SAFETY: the option's value is a sock_fprog, whose pointer covers `program`; the kernel copies both
    // during the call and writes neither.
    let answer = unsafe {
        let value = (&raw const bound).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, len_bytes)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A step of a program; `jt` and `jf` are how many steps a jump skips, where its comparison holds and
/// where it does not.
pub(crate) const fn code(code: u32, k: u32, (jt, jf): (u8, u8)) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// A `libc::sock_fprog` with zeros between its fields, where memory checkers look.
#[repr(C)]
struct Bound {
    len: u16,
    zeros: [u16; align_of::<usize>() / 2 - 1],
    filter: *const libc::sock_filter,
}

const _: () = assert!(
    size_of::<Bound>() == size_of::<libc::sock_fprog>()
        && offset_of!(Bound, filter) == offset_of!(libc::sock_fprog, filter)
);
