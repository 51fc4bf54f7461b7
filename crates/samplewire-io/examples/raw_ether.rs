//! What AF_PACKET carries without a protocol and without batches: one end sends frames of EtherType
//! 0x88B5 by send(2), each of 1,500 bytes, the other counts them by recv(2). The yardstick of `samplewire
//! nic send` (`docs/nic-host.md#measured`).
//!
//! ```text
//! cargo run --release -p samplewire-io --example raw_ether -- receive INTERFACE
//! cargo run --release -p samplewire-io --example raw_ether -- send INTERFACE FRAMES
//! ```
//!
//! The receiver ends when no frame has come for 300 ms, or 5 s before the first. Each prints one JSON object: frames,
//! and the seconds from the first to the last.

use std::error::Error;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["send", interface, frames] => send(&open(interface)?, frames.parse()?),
        ["receive", interface] => receive(&open(interface)?),
        _ => Err("usage: send INTERFACE FRAMES | receive INTERFACE".into()),
    }
}

fn open(interface: &str) -> Result<OwnedFd, Box<dyn Error>> {
    let index = fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"))?;
    // SAFETY: the call takes no pointers.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) })?;
    // SAFETY: the kernel has given this descriptor to no one else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    set(&socket, libc::SO_RCVBUFFORCE, &BUFFER_BYTES)?;
    set(&socket, libc::SO_RCVTIMEO, &libc::timeval { tv_sec: 0, tv_usec: 300_000 })?;
    // SAFETY: all bytes zero are a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ETHER_TYPE.to_be();
    address.sll_ifindex = index.trim().parse()?;
    let len_bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer covers `address`, whose length is given.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), len_bytes) })?;
    Ok(socket)
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let len_bytes = size_of::<T>() as libc::socklen_t;
    let (fd, value) = (socket.as_raw_fd(), std::ptr::from_ref(value).cast());
    // SAFETY: the pointer covers `value`, whose length is given.
    check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, value, len_bytes) })?;
    Ok(())
}

fn send(socket: &OwnedFd, frames: u64) -> Result<(), Box<dyn Error>> {
    let mut frame = [7; FRAME_BYTES];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8]);
    frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    let begun = Instant::now();
    let mut sent = 0;
    while sent < frames {
        // SAFETY: the pointer covers `frame`, whose length is given.
        let len = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        let error = io::Error::last_os_error();
        if len >= 0 {
            sent += 1;
        } else if error.raw_os_error() != Some(libc::ENOBUFS) {
            return Err(error.into());
        }
    }
    report(sent, begun.elapsed());
    Ok(())
}

fn receive(socket: &OwnedFd) -> Result<(), Box<dyn Error>> {
    let mut frame = [0_u8; 2 * FRAME_BYTES];
    let begun = Instant::now();
    let (mut frames, mut first, mut last) = (0, begun, begun);
    loop {
        // SAFETY: the pointer covers `frame`, whose length is given.
        let len =
            unsafe { libc::recv(socket.as_raw_fd(), frame.as_mut_ptr().cast(), frame.len(), 0) };
        if len < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(error.into());
            }
            if frames > 0 || begun.elapsed() > PATIENCE {
                report(frames, last - first);
                return Ok(());
            }
            continue;
        }
        last = Instant::now();
        if frames == 0 {
            first = last;
        }
        frames += 1;
    }
}

fn report(frames: u64, span: Duration) {
    println!(r#"{{"frames": {frames}, "seconds": {}}}"#, span.as_secs_f64());
}

fn check(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

const ETHER_TYPE: u16 = 0x88B5;
const FRAME_BYTES: usize = 1_500;
const BUFFER_BYTES: libc::c_int = 32 << 20;
const PATIENCE: Duration = Duration::from_secs(5);
