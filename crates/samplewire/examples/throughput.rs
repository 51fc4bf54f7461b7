//! How fast a stream is: a device that sends and a receiver, with the whole protocol between them, in
//! one process over loopback or as two programs. Each has two threads, or one with `--waits inline`.
//!
//! ```text
//! cargo run --release -p samplewire --example throughput -- \
//!     [--device ADDRESS | --host ADDRESS] \
//!     [--payload BYTES] [--window PACKETS] [--seconds S | --samples N] \
//!     [--no-segmentation] [--no-joining] [--no-offload] \
//!     [--waits asleep|spinning|both-spinning|inline] \
//!     [--control none|fixed|dcqcn] [--control-rate BPS] \
//!     [--fault data:loss=0.01,corrupt=0.001] [--fault feedback:loss=0.01] [--json]
//! ```
//!
//! `--device` is the end that sends alone, to the first receiver that comes; `--host` the other.
//!
//! Every packet begins with the index of its first sample, and the receiver looks at each, so a
//! packet in a wrong place is found; the CRC answers for the bytes between. A missing index or a
//! wrong stamp is an error. `--no-offload` sends and receives one packet a message, without
//! UDP_SEGMENT and UDP_GRO. `--fault data:` alone measures the fault layer without a fault.
//!
//! The rate is of samples that the program took, from its first block to its last.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::receiver::ReceiverSnapshot;
use samplewire::source::ReadSamples;
use samplewire::transmitter::{Overflow, PlaySummary};
use samplewire::{
    Block, BoxError, Control, FaultSpec, Faults, Link, RealTime, StreamInfo, Udp, UdpOptions, Waits,
};
use samplewire_io::faults::{Side, parse as parse_fault};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    match arguments.end {
        Some((End::Device, address)) => {
            let played = start_device(&arguments, address)?.1.join().expect(NO_PANIC)?;
            arguments.report(None, Some(&played));
        }
        Some((End::Host, address)) => {
            let received = receive(&arguments, address)?;
            arguments.report(Some(&received), None);
        }
        None => {
            let (address, device) = start_device(&arguments, "127.0.0.1:0".parse()?)?;
            let received = receive(&arguments, address)?;
            let played = device.join().expect(NO_PANIC)?;
            let (samples, sent) = (received.0.samples, played.samples);
            if samples != sent {
                return Err(format!("{samples} samples of {sent} came").into());
            }
            arguments.report(Some(&received), Some(&played));
        }
    }
    Ok(())
}

type Received = (Arrived, ReceiverSnapshot);

fn receive(
    arguments: &Arguments,
    address: SocketAddr,
) -> Result<Received, Box<dyn std::error::Error>> {
    let options = samplewire::receive()
        .window(arguments.window)
        .udp(arguments.udp())
        .real_time(RealTime::new().waits(arguments.waits));
    let mut receiver = options.open(address)?;
    let packet_bytes = usize::from(receiver.info().payload_bytes);
    let mut arrived = Arrived::default();
    for block in &mut receiver {
        arrived.take(&block?, packet_bytes)?;
    }
    if arrived.samples == 0 {
        return Err("no samples came".into());
    }
    Ok((arrived, receiver.stats()))
}

type Device = JoinHandle<Result<PlaySummary, String>>;

/// Starts a device that plays to the first receiver, and says where.
fn start_device(
    arguments: &Arguments,
    at: SocketAddr,
) -> Result<(SocketAddr, Device), Box<dyn std::error::Error>> {
    let info = StreamInfo::sc16("", RATE_HZ)?;
    let options = samplewire::device()
        .sends(info.clone())
        .window(arguments.window)
        .payload_bytes(arguments.payload_bytes)
        .control(arguments.control)
        .real_time(RealTime::new().waits(arguments.waits));
    let udp = Udp::bind(at, &arguments.udp())?;
    let link: Box<dyn Link> = match &arguments.faults {
        Some((data, feedback)) => Box::new(Faults::new(udp, data, feedback)?),
        None => Box::new(udp),
    };
    let mut device = options.listen_over(link)?;
    let address = device.address;
    let (limit, samples) = (arguments.duration, arguments.samples);
    let device = std::thread::spawn(move || {
        let mut stream = device.listeners[0]
            .accept(OPEN_TIMEOUT)
            .map_err(|error| error.to_string())?
            .ok_or("no receiver came")?;
        let mut source =
            Stamps { info, packet_bytes: stream.session().payload_bytes, index: 0, samples };
        let start = Instant::now();
        let is_over = || start.elapsed() >= limit;
        let played = stream.play(&mut source, Overflow::Wait, is_over);
        played.map_err(|error| error.to_string())
    });
    Ok((address, device))
}

/// Packets whose first 8 bytes are the index of their first sample; the rest is left as it is.
struct Stamps {
    info: StreamInfo,
    packet_bytes: usize,
    index: u64,
    samples: u64,
}

impl ReadSamples for Stamps {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let packet_samples = self.packet_bytes / self.info.frame_bytes();
        let mut len_bytes = 0;
        for packet in out.chunks_exact_mut(self.packet_bytes) {
            if self.index >= self.samples {
                break;
            }
            packet[..8].copy_from_slice(&self.index.to_le_bytes());
            self.index += packet_samples as u64;
            len_bytes += packet.len();
        }
        Ok(len_bytes)
    }
}

/// What the program took.
#[derive(Default)]
struct Arrived {
    samples: u64,
    bytes: u64,
    /// When the first block and the last came, and what the first held.
    times: Option<(Instant, Instant)>,
    first_bytes: u64,
}

impl Arrived {
    fn take(&mut self, block: &Block, packet_bytes: usize) -> Result<(), String> {
        let now = Instant::now();
        if block.index() != self.samples || !block.gaps().is_empty() {
            let (index, expected) = (block.index(), self.samples);
            return Err(format!("index {index} instead of {expected}, gaps {:?}", block.gaps()));
        }
        let mut index = self.samples;
        for packet in block.bytes().chunks(packet_bytes) {
            let stamp = packet.first_chunk().map(|stamp| u64::from_le_bytes(*stamp));
            if stamp != Some(index) {
                return Err(format!("packet of index {index} is stamped {stamp:?}"));
            }
            index += (packet_bytes / (block.bytes().len() / block.len())) as u64;
        }
        self.samples += block.len() as u64;
        self.bytes += block.bytes().len() as u64;
        match &mut self.times {
            Some((_, last)) => *last = now,
            None => (self.times, self.first_bytes) = (Some((now, now)), self.bytes),
        }
        Ok(())
    }

    fn seconds(&self) -> f64 {
        self.times.map_or(0.0, |(first, last)| (last - first).as_secs_f64())
    }

    /// Bits a second between the first block and the last; 0 where there was one block.
    fn goodput_bps(&self) -> f64 {
        let seconds = self.seconds();
        let bytes = self.bytes - self.first_bytes;
        if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
    }
}

/// Which end of the stream this process is.
#[derive(Clone, Copy)]
enum End {
    Device,
    Host,
}

struct Arguments {
    /// `None`: both, over loopback.
    end: Option<(End, SocketAddr)>,
    payload_bytes: u16,
    window: u32,
    duration: Duration,
    samples: u64,
    has_segmentation: bool,
    has_joining: bool,
    waits: Waits,
    control: Control,
    /// Of the packets that the device sends, and of those that it receives.
    faults: Option<(FaultSpec, FaultSpec)>,
    json: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            end: None,
            payload_bytes: 8_000,
            window: 800,
            duration: Duration::from_secs(3),
            samples: u64::MAX,
            has_segmentation: true,
            has_joining: true,
            waits: Waits::default(),
            control: Control::default(),
            faults: None,
            json: false,
        };
        let (mut control, mut control_rate) = ("dcqcn".to_owned(), None);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            let wrong = |text: &str| format!("{word} {text}: not a value for it");
            match word.as_str() {
                "--device" | "--host" => {
                    let text = value()?;
                    let address = text.parse().map_err(|_| wrong(&text))?;
                    let end = if word == "--host" { End::Host } else { End::Device };
                    arguments.end = Some((end, address));
                }
                "--payload" => {
                    let text = value()?;
                    arguments.payload_bytes = text.parse().map_err(|_| wrong(&text))?;
                }
                "--window" => {
                    let text = value()?;
                    arguments.window = text.parse().map_err(|_| wrong(&text))?;
                }
                "--seconds" => {
                    let text = value()?;
                    let seconds = text.parse().map_err(|_| wrong(&text))?;
                    arguments.duration =
                        Duration::try_from_secs_f64(seconds).map_err(|_| wrong(&text))?;
                }
                "--samples" => {
                    let text = value()?;
                    arguments.samples = text.parse().map_err(|_| wrong(&text))?;
                    arguments.duration = Duration::MAX;
                }
                "--fault" => {
                    let (side, spec) = parse_fault(&value()?).map_err(|error| error.to_string())?;
                    let faults = arguments.faults.get_or_insert_default();
                    match side {
                        Side::Data => faults.0 = spec,
                        Side::Feedback => faults.1 = spec,
                    }
                }
                "--no-segmentation" => arguments.has_segmentation = false,
                "--no-joining" => arguments.has_joining = false,
                "--no-offload" => {
                    (arguments.has_segmentation, arguments.has_joining) = (false, false);
                }
                "--waits" => arguments.waits = value()?.parse()?,
                "--control" => control = value()?,
                "--control-rate" => {
                    let text = value()?;
                    control_rate = Some(text.parse().map_err(|_| wrong(&text))?);
                }
                "--json" => arguments.json = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        arguments.control =
            Control::named(&control, control_rate).map_err(|error| error.to_string())?;
        Ok(arguments)
    }

    fn udp(&self) -> UdpOptions {
        UdpOptions::new().segmentation(self.has_segmentation).joining(self.has_joining)
    }

    /// Prints what each end knows, where it is here.
    fn report(&self, received: Option<&Received>, played: Option<&PlaySummary>) {
        let mut figures = vec![
            ("payload_bytes", u64::from(self.payload_bytes)),
            ("window", u64::from(self.window)),
        ];
        if let Some(played) = played {
            let sent = &played.end.stats;
            figures.extend([
                ("samples_sent", played.samples),
                ("packets", sent.packets),
                ("retransmissions", sent.retransmissions),
                ("credit_stalls", sent.credit_stalls),
                ("budget_stalls", sent.budget_stalls),
            ]);
        }
        let (mut seconds, mut goodput_bps) = (0.0, 0.0);
        if let Some((arrived, stats)) = received {
            (seconds, goodput_bps) = (arrived.seconds(), arrived.goodput_bps());
            let stream = &stats.stream;
            figures.extend([
                ("samples", arrived.samples),
                ("bytes", arrived.bytes),
                ("repaired", stream.repaired),
                ("reordered", stream.reordered),
                ("duplicates", stream.duplicates),
                ("corrupted", stats.corrupted),
                ("socket_dropped", stats.socket_dropped),
                ("reports", stream.reports),
                ("rtt_ns", stats.rtt_ns),
            ]);
        }
        if self.json {
            let counts: String =
                figures.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
            println!("{{\"goodput_bps\":{goodput_bps:.0},\"seconds\":{seconds:.6}{counts}}}");
            return;
        }
        if received.is_some() {
            println!("{:.3} Gb/s of samples for {seconds:.3} s", goodput_bps / 1e9);
        }
        for (name, value) in figures {
            println!("{name:>16} {value}");
        }
    }
}

const NO_PANIC: &str = "the device does not panic";

/// What the device says its rate is. It plays faster than that where the path lets it.
const RATE_HZ: f64 = 1e9;

const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
