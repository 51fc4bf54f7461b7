//! The requests of a TAP device through `libc`.

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

fn ioctl(file: &impl AsRawFd, code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: both requests of this module read and write an ifreq, which the pointer covers.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), code, std::ptr::from_mut(request)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
