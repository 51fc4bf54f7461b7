//! The requests of a TAP device, and options of sockets, through `libc`.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Opens the TAP device of that name, or creates it, without a header before its frames.
pub(super) fn open_tap(name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    let mut request = request(name);
    // Neither packet information nor a virtio header: a read and a write are a frame.
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    ioctl(&file, libc::TUNSETIFF as libc::Ioctl, &mut request)?;
    Ok(file)
}

/// Sets how many frames may wait for the reader of an interface.
pub(super) fn set_queue_frames(name: &str, frames: i32) -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let mut request = request(name);
    // The kernel reads the length of the queue where others have their metric.
    request.ifr_ifru.ifru_metric = frames;
    ioctl(&socket, libc::SIOCSIFTXQLEN as libc::Ioctl, &mut request)
}

/// Gives what waits at a socket room for `bytes`, or for as much as the system grants.
pub(super) fn set_receive_buffer(socket: &impl AsRawFd, bytes: i32) -> io::Result<()> {
    let set = |option| {
        let value = (&raw const bytes).cast();
        // SAFETY: both options read an int, which the pointer covers.
        let answer = unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, INT_BYTES)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // Beyond the system's limit with the right to, else up to it.
    set(libc::SO_RCVBUFFORCE).or_else(|_| set(libc::SO_RCVBUF))
}

/// Datagrams that found no room at a socket since it was opened, modulo 2^32.
pub(super) fn dropped(socket: &impl AsRawFd) -> io::Result<u32> {
    let mut counts = [0_u32; libc::SK_MEMINFO_DROPS as usize + 1];
    let mut len_bytes = size_of_val(&counts) as libc::socklen_t;
    let place = counts.as_mut_ptr().cast();
    // SAFETY: SO_MEMINFO writes whole counts, no more bytes than `len_bytes`, which are there.
    let answer = unsafe {
        let (fd, option) = (socket.as_raw_fd(), libc::SO_MEMINFO);
        libc::getsockopt(fd, libc::SOL_SOCKET, option, place, &raw mut len_bytes)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(counts[counts.len() - 1]) }
}

/// A request about an interface whose name is checked: shorter than IFNAMSIZ.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte of the field stays zero.
    let places = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
    for (place, byte) in places.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request
}

const INT_BYTES: libc::socklen_t = size_of::<libc::c_int>() as libc::socklen_t;

fn ioctl(file: &impl AsRawFd, code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: both requests of this module read and write an ifreq, which the pointer covers.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), code, std::ptr::from_mut(request)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
