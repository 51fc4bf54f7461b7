//! What a link carries of Ethernet frames without a protocol: one end sends them as fast as it can,
//! the other counts them.
//!
//! ```text
//! cargo run --release -p samplewire-io --example raw_frames -- send LINK IP FILE SECONDS
//! cargo run --release -p samplewire-io --example raw_frames -- receive LINK IP SECONDS
//! ```
//!
//! LINK is an interface with the address IP, or LOCAL,REMOTE of a datagram port. FILE
//! holds one frame, which is sent again and again, through an interface with an identification that
//! counts up. At an interface the receiver counts what comes to
//! RoCEv2's port 4791. It ends SECONDS after the first frame. Prints one JSON object: frames, and the
//! seconds from the first to the last.

use std::error::Error;
use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use samplewire_io::ether::{Dgram, EtherLink, FRAME_BYTES_MAX, PacketSocket, checksum_update};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["send", link, ip, file, seconds] => {
            let is_counted = !link.contains(',');
            send(&mut *open(link, ip.parse()?)?, &mut fs::read(file)?, is_counted, seconds)
        }
        ["receive", link, ip, seconds] => receive(&mut *open(link, ip.parse()?)?, seconds),
        _ => Err("usage: send LINK IP FILE SECONDS | receive LINK IP SECONDS".into()),
    }
}

fn open(name: &str, ip: Ipv4Addr) -> Result<Box<dyn EtherLink>, Box<dyn Error>> {
    Ok(if name.contains(',') {
        Box::new(Dgram::open(&name.parse()?)?)
    } else {
        Box::new(PacketSocket::open(name, ip, PORT)?)
    })
}

fn send(
    link: &mut dyn EtherLink,
    frame: &mut [u8],
    is_counted: bool,
    seconds: &str,
) -> Result<(), Box<dyn Error>> {
    let (begun, span) = (Instant::now(), Duration::from_secs_f64(seconds.parse()?));
    let mut frames = 0_u64;
    while begun.elapsed() < span {
        for _ in 0..BETWEEN_LOOKS {
            frames += u64::from(link.send(frame)?);
            if is_counted {
                count_up(frame);
            }
        }
        link.flush()?;
    }
    report(frames, begun.elapsed());
    Ok(())
}

/// Counts IPv4's identification up, as frames of one flow need to pass the kernel together.
fn count_up(frame: &mut [u8]) {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let (before, sum) = (word(IDENTIFICATION), word(IP_SUM));
    let after = before.wrapping_add(1);
    frame[IDENTIFICATION..][..2].copy_from_slice(&after.to_be_bytes());
    let sum = checksum_update(sum, before, after);
    frame[IP_SUM..][..2].copy_from_slice(&sum.to_be_bytes());
}

fn receive(link: &mut dyn EtherLink, seconds: &str) -> Result<(), Box<dyn Error>> {
    let span = Duration::from_secs_f64(seconds.parse()?);
    let mut into = [0; FRAME_BYTES_MAX];
    let (mut frames, mut first, mut last) = (0_u64, None, Instant::now());
    while first.is_none_or(|at: Instant| at.elapsed() < span) {
        let before = frames;
        for _ in 0..BETWEEN_LOOKS {
            frames += u64::from(link.recv(&mut into)?.is_some());
        }
        if frames > before {
            last = Instant::now();
            first.get_or_insert(last);
        } else {
            std::thread::yield_now();
        }
    }
    report(frames, last - first.unwrap_or(last));
    Ok(())
}

fn report(frames: u64, elapsed: Duration) {
    println!(r#"{{"frames":{frames},"seconds":{:.6}}}"#, elapsed.as_secs_f64());
}

/// Where fields of IPv4 stand in a frame.
const IDENTIFICATION: usize = 18;
const IP_SUM: usize = 24;

/// Of RoCEv2.
const PORT: u16 = 4_791;

/// Frames between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;
