//! What it costs to get payloads to where they belong: received into one buffer and copied from
//! there, or scattered by the kernel to places that were guessed. One socket, on which the ways take
//! turns every 50 ms, so that they meet the same machine.
//!
//! ```text
//! cargo run --release -p samplewire-io --example stored_udp -- ADDRESS [--payload BYTES] \
//!     [--seconds S] [--gro] [--memory BYTES] &
//! cargo run --release -p samplewire-io --example raw_udp -- --send-to ADDRESS --payload PACKET --gso
//! ```
//!
//! A packet is 22 bytes of head, the payload, and 4 bytes of trailer. Each way reads every payload
//! for its CRC. `--memory` is that of the places, which are used in turn: 1 MiB stays in a cache,
//! 64 MiB do not. Every guess is right here; a stream with losses guesses wrong after each.
//!
//! Printed: CPU time of the receiving thread, kernel and program, in ns per packet.

use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use samplewire_io::batch::JOINED_BYTES_MAX;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let socket = UdpSocket::bind(&arguments.address)?;
    let fd = socket.as_raw_fd();
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
    if arguments.gro {
        set(fd, libc::SOL_UDP, libc::UDP_GRO, 1)?;
    }
    let mut places = Places::new(&arguments);
    let mut tallies = [Tally::default(); WAYS.len()];
    let start = Instant::now();
    while start.elapsed() < arguments.duration {
        for (way, tally) in WAYS.into_iter().zip(&mut tallies) {
            let (turn, cpu_before) = (Instant::now(), thread_cpu());
            while turn.elapsed() < TURN {
                tally.packets += places.receive(fd, way)?;
            }
            tally.cpu += thread_cpu() - cpu_before;
        }
    }
    for (way, tally) in WAYS.into_iter().zip(tallies) {
        let per_packet = tally.cpu.as_secs_f64() * 1e9 / tally.packets.max(1) as f64;
        println!("{per_packet:8.1} ns/packet  {way:?}, {} packets", tally.packets);
    }
    Ok(())
}

/// How payloads get to their places.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// They do not: the floor.
    Nowhere,
    /// Received into one buffer, read for the CRC, and copied.
    Copied,
    /// Put there by the kernel, and read for the CRC.
    Scattered,
}

const WAYS: [Way; 3] = [Way::Nowhere, Way::Copied, Way::Scattered];

#[derive(Clone, Copy, Default)]
struct Tally {
    cpu: Duration,
    packets: u64,
}

/// Where payloads belong, the buffer they may be received into, and the headers of one call.
struct Places {
    payload_bytes: usize,
    /// Packets of one message.
    packets: usize,
    memory: Vec<u8>,
    next: usize,
    buffer: Vec<u8>,
    stride_bytes: usize,
    around: Vec<u8>,
    iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    checksum: u64,
}

impl Places {
    fn new(arguments: &Arguments) -> Self {
        let packet_bytes = arguments.payload_bytes + HEAD_BYTES + TRAILER_BYTES;
        let packets = if arguments.gro { (65_000 / packet_bytes).min(64) } else { 1 };
        let stride_bytes = if arguments.gro { JOINED_BYTES_MAX + 37 * 64 } else { packet_bytes };
        let messages = (CALL_PACKETS / packets).max(1);
        let count = (arguments.memory_bytes / arguments.payload_bytes).max(messages * packets);
        // SAFETY: all bytes zero are a valid mmsghdr.
        let header: libc::mmsghdr = unsafe { zeroed() };
        Self {
            payload_bytes: arguments.payload_bytes,
            packets,
            memory: vec![1; count * arguments.payload_bytes],
            next: 0,
            buffer: vec![1; messages * stride_bytes],
            stride_bytes,
            around: vec![0; messages * (HEAD_BYTES + TRAILER_BYTES) * (packets + 1)],
            iovecs: Vec::with_capacity(messages * (2 * packets + 1)),
            headers: vec![header; messages],
            checksum: 0,
        }
    }

    /// Receives once and says how many packets.
    fn receive(&mut self, fd: i32, way: Way) -> std::io::Result<u64> {
        match way {
            Way::Nowhere | Way::Copied => self.aim_at_buffer(),
            Way::Scattered => self.aim_at_places(),
        }
        let (headers, len) = (self.headers.as_mut_ptr(), self.headers.len() as u32);
        // SAFETY: the headers point to iovecs, and these to memory, that `self` owns. Nothing else
        // uses it during the call.
        let answer = unsafe { libc::recvmmsg(fd, headers, len, libc::MSG_WAITFORONE, null_mut()) };
        let messages = usize::try_from(answer).map_err(|_| std::io::Error::last_os_error())?;
        let mut packets = 0;
        for message in 0..messages {
            let len_bytes = self.headers[message].msg_len as usize;
            let count = len_bytes.div_ceil(self.payload_bytes + HEAD_BYTES + TRAILER_BYTES);
            for packet in 0..count {
                self.take(way, message, packet);
            }
            packets += count as u64;
        }
        Ok(packets)
    }

    fn aim_at_buffer(&mut self) {
        self.iovecs.clear();
        let buffers = self.buffer.chunks_exact_mut(self.stride_bytes);
        for (buffer, header) in buffers.zip(&mut self.headers) {
            self.iovecs.push(iovec(buffer));
            header.msg_hdr.msg_iov = self.iovecs.last_mut().expect("it was pushed");
            header.msg_hdr.msg_iovlen = 1;
        }
    }

    fn aim_at_places(&mut self) {
        self.iovecs.clear();
        let per_message = (HEAD_BYTES + TRAILER_BYTES) * (self.packets + 1);
        let around = self.around.chunks_exact_mut(per_message);
        for (message, (around, header)) in around.zip(&mut self.headers).enumerate() {
            let first = self.iovecs.len();
            // Before each payload lies the trailer of the one before it, but for the first.
            let (head, rest) = around.split_at_mut(HEAD_BYTES);
            self.iovecs.push(iovec(head));
            let between = rest.chunks_exact_mut(HEAD_BYTES + TRAILER_BYTES);
            for (packet, between) in between.take(self.packets).enumerate() {
                let place = (self.next + message * self.packets + packet) * self.payload_bytes;
                let place = place % self.memory.len();
                self.iovecs.push(iovec(&mut self.memory[place..place + self.payload_bytes]));
                self.iovecs.push(iovec(between));
            }
            // SAFETY: there is room for all iovecs, so that none moves.
            header.msg_hdr.msg_iov = unsafe { self.iovecs.as_mut_ptr().add(first) };
            header.msg_hdr.msg_iovlen = (2 * self.packets + 1) as _;
        }
    }

    /// Handles one received packet as `way` requires.
    fn take(&mut self, way: Way, message: usize, packet: usize) {
        let place = self.next * self.payload_bytes % self.memory.len();
        let place = &mut self.memory[place..place + self.payload_bytes];
        let packet_bytes = self.payload_bytes + HEAD_BYTES + TRAILER_BYTES;
        let start = message * self.stride_bytes + packet * packet_bytes + HEAD_BYTES;
        let payload = &self.buffer[start..start + self.payload_bytes];
        self.checksum ^= match way {
            Way::Nowhere => return,
            Way::Copied => {
                let crc = crc(payload);
                place.copy_from_slice(payload);
                crc
            }
            Way::Scattered => crc(place),
        };
        self.next += 1;
    }
}

fn crc(bytes: &[u8]) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes)
}

fn iovec(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer leads to `time`.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(answer, 0, "the clock is there");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn set(fd: i32, level: i32, name: i32, value: i32) -> std::io::Result<()> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer covers `value`, whose length is given.
    let answer = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), len) };
    if answer < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

struct Arguments {
    address: String,
    payload_bytes: usize,
    memory_bytes: usize,
    duration: Duration,
    gro: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            address: words.next().ok_or("an address to receive at")?,
            payload_bytes: 1_408,
            memory_bytes: 1 << 20,
            duration: Duration::from_secs(3),
            gro: false,
        };
        while let Some(word) = words.next() {
            let mut number = |least: usize, most: usize| {
                let text = words.next().ok_or(format!("{word} takes a value"))?;
                let value = text.parse().ok().filter(|value| (least..=most).contains(value));
                value.ok_or(format!("{word} {text}: not {least} to {most}"))
            };
            match word.as_str() {
                "--payload" => arguments.payload_bytes = number(64, 60_000)?,
                "--memory" => arguments.memory_bytes = number(1 << 16, 1 << 32)?,
                "--seconds" => arguments.duration = Duration::from_secs(number(1, 600)? as u64),
                "--gro" => arguments.gro = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }
}

const HEAD_BYTES: usize = 22;
const TRAILER_BYTES: usize = 4;
const CALL_PACKETS: usize = 64;
const BUFFER_BYTES: i32 = 8 << 20;
const TURN: Duration = Duration::from_millis(50);
