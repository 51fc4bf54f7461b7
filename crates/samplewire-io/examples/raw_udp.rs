//! The ceiling of UDP on this machine: `sendmmsg` against `recvmmsg`, in two threads of one process
//! over loopback or as two programs, with nothing of ours between them and the kernel. `--link`
//! puts our [`Udp`] link in both places, for the same figure with it.
//!
//! ```text
//! cargo run --release -p samplewire-io --example raw_udp -- \
//!     [--send-to ADDRESS | --receive-at ADDRESS] \
//!     [--payload BYTES] [--seconds S] [--rate GBPS] [--gso] [--gro] [--sleep] [--link] [--json]
//! ```
//!
//! `--gso` is UDP_SEGMENT on sending, `--gro` UDP_GRO on receiving. The rate is of UDP payload that
//! the receiver took; what the sender was faster by was dropped at the receiver's socket. A receiver
//! of its own counts from the first batch that comes to the last before a silence; `--seconds` is for
//! its sender. What otherwise spins can be idle: `--rate` has the sender sleep between batches to
//! send so much, `--sleep` has the receiver wait in poll(2).

use std::mem::{size_of_val, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use samplewire_io::batch::JOINED_BYTES_MAX;
use samplewire_io::{Batch, Ecn, Link, Outgoing, Udp, UdpOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let (blast, drain) = match arguments.end {
        Some((End::Sender, peer)) => (Some(raw_sender(&arguments, peer)?), None),
        Some((End::Receiver, at)) => {
            let (bytes, seconds) = until_silence(raw_receiver(&arguments, at)?.1)?;
            arguments.report(0, bytes, seconds);
            return Ok(());
        }
        None if arguments.link => {
            let (blast, drain) = link_pair(&arguments)?;
            (Some(blast), Some(drain))
        }
        None => {
            let (peer, drain) = raw_receiver(&arguments, "127.0.0.1:0".parse()?)?;
            (Some(raw_sender(&arguments, peer)?), Some(drain))
        }
    };
    let done = AtomicBool::new(false);
    let start = Instant::now();
    let (sent, received, seconds) = std::thread::scope(|scope| {
        let repeat = |mut step: Step| {
            let done = &done;
            scope.spawn(move || {
                let mut bytes = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    bytes += step() as u64;
                }
                bytes
            })
        };
        let (sender, receiver) = (blast.map(repeat), drain.map(repeat));
        std::thread::sleep(arguments.duration);
        // Relaxed: only the flag itself is read, and a late look costs one more batch.
        done.store(true, Ordering::Relaxed);
        let seconds = start.elapsed().as_secs_f64();
        let ended = "a failed call has ended the process before";
        let join = |thread: std::thread::ScopedJoinHandle<'_, u64>| thread.join().expect(ended);
        (sender.map_or(0, join), receiver.map_or(0, join), seconds)
    });
    arguments.report(sent, received, seconds);
    Ok(())
}

/// A call that moves one batch and says how many bytes of payload that were.
type Step = Box<dyn FnMut() -> usize + Send>;

/// Repeats a receiver's step until nothing comes; bytes that came after the first batch, and the
/// seconds from that one to the last.
fn until_silence(mut step: Step) -> Result<(u64, f64), &'static str> {
    let start = Instant::now();
    let mut times = None;
    let mut bytes = 0_u64;
    loop {
        let moved = step();
        let now = Instant::now();
        match &mut times {
            Some((_, last)) if moved > 0 => {
                bytes += moved as u64;
                *last = now;
            }
            None if moved > 0 => times = Some((now, now)),
            Some((first, last)) if now - *last >= SILENCE => {
                return Ok((bytes, (*last - *first).as_secs_f64()));
            }
            None if now - start >= FIRST_WITHIN => return Err("no packet came"),
            _ => {}
        }
    }
}

/// Sends to `peer` without end.
fn raw_sender(arguments: &Arguments, peer: SocketAddr) -> std::io::Result<Step> {
    let sender = UdpSocket::bind(any_like(peer))?;
    sender.connect(peer)?;
    enlarge(&sender, libc::SO_SNDBUFFORCE);
    let payload = arguments.payload_bytes;
    let message_bytes = if arguments.gso {
        set(&sender, libc::SOL_UDP, libc::UDP_SEGMENT, payload as i32)?;
        payload * (65_000 / payload).min(64)
    } else {
        payload
    };
    let mut source = Messages::new(message_bytes, CALL_PACKETS * payload / message_bytes);
    let mut pace = arguments.rate_bps.map(Pace::new);
    Ok(Box::new(move || {
        if let Some(pace) = &mut pace {
            pace.wait();
        }
        let bytes = source.send(&sender);
        if let Some(pace) = &mut pace {
            pace.spend(bytes);
        }
        bytes
    }))
}

/// Holds a sender to a rate.
struct Pace {
    rate_bps: f64,
    due: Instant,
}

impl Pace {
    fn new(rate_bps: f64) -> Self {
        Self { rate_bps, due: Instant::now() }
    }

    /// Sleeps until the next batch is due. What a long sleep has missed is caught up with, up to
    /// `BEHIND_MAX`.
    fn wait(&mut self) {
        let now = Instant::now();
        if let Some(ahead) = self.due.checked_duration_since(now) {
            std::thread::sleep(ahead);
        }
        self.due = self.due.max(now - BEHIND_MAX);
    }

    fn spend(&mut self, bytes: usize) {
        self.due += Duration::from_secs_f64(bytes as f64 * 8.0 / self.rate_bps);
    }
}

/// Receives at `at` without end; where that is.
fn raw_receiver(arguments: &Arguments, at: SocketAddr) -> std::io::Result<(SocketAddr, Step)> {
    let receiver = UdpSocket::bind(at)?;
    receiver.set_nonblocking(true)?;
    enlarge(&receiver, libc::SO_RCVBUFFORCE);
    let buffer_bytes = if arguments.gro {
        set(&receiver, libc::SOL_UDP, libc::UDP_GRO, 1)?;
        JOINED_BYTES_MAX
    } else {
        arguments.payload_bytes
    };
    let packets_max = (buffer_bytes / arguments.payload_bytes).clamp(1, CALL_PACKETS);
    let mut sink = Messages::new(buffer_bytes, CALL_PACKETS / packets_max);
    let at = receiver.local_addr()?;
    let sleeps = arguments.sleep;
    Ok((
        at,
        Box::new(move || {
            if sleeps {
                wait_readable(&receiver);
            }
            sink.receive(&receiver)
        }),
    ))
}

/// Sleeps until the socket has something, or for `SILENCE`.
fn wait_readable(socket: &UdpSocket) {
    let mut look = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one pollfd, and the count is 1. A failed wait is a step without a
    // packet.
    unsafe { libc::poll(&raw mut look, 1, SILENCE.as_millis() as i32) };
}

fn enlarge(socket: &UdpSocket, name: i32) {
    // Without the privilege the system's default stays, which costs rate and is no fault.
    let _granted = set(socket, libc::SOL_SOCKET, name, BUFFER_BYTES);
}

fn any_like(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

fn link_pair(arguments: &Arguments) -> Result<(Step, Step), Box<dyn std::error::Error>> {
    let options = UdpOptions::new().segmentation(arguments.gso).joining(arguments.gro);
    let mut receiver = Udp::bind("127.0.0.1:0".parse()?, &options)?;
    let peer = receiver.local_addr();
    let mut sender = Udp::client(peer, &options)?;
    let bytes = vec![0x5a; arguments.payload_bytes];
    let mut batch = Batch::new(CALL_PACKETS, arguments.payload_bytes);
    let blast = move || {
        let (header, payload) = bytes.split_at(22.min(bytes.len()));
        let packet = Outgoing { peer, ecn: Ecn::Ect0, parts: [header, payload, &[]] };
        sender.send(&[packet; CALL_PACKETS]).expect("loopback takes packets") * bytes.len()
    };
    let drain = move || {
        receiver.recv(&mut batch).expect("loopback gives packets");
        batch.iter().map(|(bytes, _)| bytes.len()).sum()
    };
    Ok((Box::new(blast), Box::new(drain)))
}

/// Memory and headers of one batched call, all messages of one length.
struct Messages {
    headers: Vec<libc::mmsghdr>,
    // Pointed to by `headers`.
    _iovecs: Vec<libc::iovec>,
    _bytes: Vec<u8>,
}

// SAFETY: the pointers in `headers` lead to heap memory that the same value owns.
unsafe impl Send for Messages {}

impl Messages {
    fn new(message_bytes: usize, count: usize) -> Self {
        let count = count.max(1);
        let mut bytes = vec![0x5a; message_bytes * count];
        let mut iovecs: Vec<_> = bytes
            .chunks_exact_mut(message_bytes)
            .map(|message| libc::iovec {
                iov_base: message.as_mut_ptr().cast(),
                iov_len: message_bytes,
            })
            .collect();
        let headers = iovecs
            .iter_mut()
            .map(|iovec| {
                // SAFETY: all bytes zero are a valid mmsghdr.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_iov = iovec;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        Self { headers, _iovecs: iovecs, _bytes: bytes }
    }

    fn send(&mut self, socket: &UdpSocket) -> usize {
        let (fd, headers, len) =
            (socket.as_raw_fd(), self.headers.as_mut_ptr(), self.headers.len() as u32);
        // SAFETY: the headers and all they point to belong to `self`.
        self.moved(unsafe { libc::sendmmsg(fd, headers, len, 0) })
    }

    fn receive(&mut self, socket: &UdpSocket) -> usize {
        let (fd, headers, len) =
            (socket.as_raw_fd(), self.headers.as_mut_ptr(), self.headers.len() as u32);
        // SAFETY: the headers and all they point to belong to `self`.
        self.moved(unsafe { libc::recvmmsg(fd, headers, len, 0, null_mut()) })
    }

    fn moved(&self, answer: i32) -> usize {
        let Ok(count) = usize::try_from(answer) else {
            let error = std::io::Error::last_os_error();
            // Refused: no receiver yet, or no more.
            let is_usual = matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::ConnectionRefused
            );
            assert!(is_usual, "{error}");
            return 0;
        };
        self.headers[..count].iter().map(|header| header.msg_len as usize).sum()
    }
}

fn set(socket: &UdpSocket, level: i32, name: i32, value: i32) -> std::io::Result<()> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer covers `value`, whose length is given.
    let answer = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len)
    };
    if answer < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Which end this process is.
#[derive(Clone, Copy)]
enum End {
    Sender,
    Receiver,
}

struct Arguments {
    /// `None`: both, over loopback.
    end: Option<(End, SocketAddr)>,
    payload_bytes: usize,
    duration: Duration,
    /// `None`: as fast as it goes.
    rate_bps: Option<f64>,
    gso: bool,
    gro: bool,
    sleep: bool,
    link: bool,
    json: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            end: None,
            payload_bytes: 8_000,
            duration: Duration::from_secs(3),
            rate_bps: None,
            gso: false,
            gro: false,
            sleep: false,
            link: false,
            json: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            match word.as_str() {
                "--payload" => {
                    let text = value()?;
                    arguments.payload_bytes = match text.parse() {
                        Ok(bytes @ 1..=65_000) => bytes,
                        _ => return Err(format!("--payload {text}: not 1 to 65000 bytes")),
                    };
                }
                "--seconds" => {
                    let text = value()?;
                    arguments.duration = text
                        .parse()
                        .ok()
                        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                        .ok_or(format!("--seconds {text}: not a number of seconds"))?;
                }
                "--send-to" | "--receive-at" => {
                    let text = value()?;
                    let address = text.parse();
                    let address = address.map_err(|_| format!("{word} {text}: no address"))?;
                    let end = if word == "--send-to" { End::Sender } else { End::Receiver };
                    arguments.end = Some((end, address));
                }
                "--rate" => {
                    let text = value()?;
                    arguments.rate_bps = match text.parse::<f64>() {
                        Ok(gbps) if (0.001..=1000.0).contains(&gbps) => Some(gbps * 1e9),
                        _ => return Err(format!("--rate {text}: not 0.001 to 1000 Gb/s")),
                    };
                }
                "--gso" => arguments.gso = true,
                "--gro" => arguments.gro = true,
                "--sleep" => arguments.sleep = true,
                "--link" => arguments.link = true,
                "--json" => arguments.json = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }

    fn report(&self, sent: u64, received: u64, seconds: f64) {
        let gbps =
            |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e9 } else { 0.0 };
        let (sent, received) = (gbps(sent), gbps(received));
        let Self { payload_bytes, gso, gro, link, .. } = self;
        if self.json {
            println!(
                "{{\"link\":{link},\"gso\":{gso},\"gro\":{gro},\"payload_bytes\":{payload_bytes},\
                 \"seconds\":{seconds:.3},\"sent_gbps\":{sent:.3},\"received_gbps\":{received:.3}}}"
            );
        } else {
            let what = if *link { "Udp link" } else { "raw" };
            let how = match (gso, gro) {
                (true, true) => "UDP_SEGMENT and UDP_GRO",
                (true, false) => "UDP_SEGMENT",
                (false, true) => "UDP_GRO",
                (false, false) => "one packet a message",
            };
            println!(
                "{what}, {how}, {payload_bytes} bytes: sent {sent:.2} Gb/s, \
                 received {received:.2} Gb/s"
            );
        }
    }
}

/// Packets that one call moves.
const CALL_PACKETS: usize = 64;

const BUFFER_BYTES: i32 = 8 << 20;

/// What a receiver of its own takes for the sender's end.
const SILENCE: Duration = Duration::from_millis(200);

const FIRST_WITHIN: Duration = Duration::from_secs(5);

/// A paced sender that is later than this sends no more than its rate again.
const BEHIND_MAX: Duration = Duration::from_millis(10);
