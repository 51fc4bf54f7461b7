//! What a packet costs where many streams share a port: a device and a host, an I/O thread each, in
//! one process over loopback.
//!
//! ```text
//! cargo run --release -p samplewire --example streams -- \
//!     [--streams N] [--payload BYTES] [--window PACKETS] [--seconds S] [--no-offload] [--json]
//! ```
//!
//! One thread of the program fills the quanta of all streams and one takes the blocks; both go round
//! the streams, so that the I/O threads have all of them to serve. Unless it is chosen, the window of
//! a stream is 4,096 packets divided by the streams, at least 8. Every packet begins with
//! the index of its first sample, and that of each block is checked. CPU time is that of the I/O threads,
//! from `/proc/self/task`; the program's threads spin, and are not counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use samplewire::transmitter::SendError;
use samplewire::{
    DeviceOptions, Flags, Listener, ReceiveStream, SendStream, StreamInfo, UdpOptions,
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let infos = vec![StreamInfo::sc16("", 1e9)?; arguments.streams.into()];
    let options = infos.into_iter().fold(samplewire::device(), DeviceOptions::sends);
    let options = options.window(arguments.window).payload_bytes(arguments.payload_bytes);
    let device = options.udp(arguments.udp()).listen("127.0.0.1:0")?;
    let is_over = Arc::new(AtomicBool::new(false));
    let feeder = std::thread::spawn({
        let (transmitters, is_over) = (device.listeners, Arc::clone(&is_over));
        move || feed(transmitters, &is_over)
    });
    let options = samplewire::receive().window(arguments.window).udp(arguments.udp());
    let opened = Instant::now();
    let mut receivers = options.streams(0..arguments.streams).open_each(device.address)?;
    let opening = opened.elapsed();
    // Until the windows are open.
    take(&mut receivers, Duration::from_millis(500))?;
    let before = (io_nanos()?, Instant::now(), packets(&receivers));
    take(&mut receivers, arguments.duration)?;
    let after = (io_nanos()?, Instant::now(), packets(&receivers));
    let reports: u64 = receivers.iter().map(|it| it.stats().stream.reports).sum();
    is_over.store(true, Ordering::Relaxed);
    let count = (after.2 - before.2).max(1);
    let seconds = (after.1 - before.1).as_secs_f64();
    let figures = [
        ("streams", f64::from(arguments.streams)),
        ("window", f64::from(arguments.window)),
        ("packets", count as f64),
        ("packets_per_s", count as f64 / seconds),
        ("goodput_bps", count as f64 * f64::from(arguments.payload_bytes) * 8.0 / seconds),
        ("sender_ns_per_packet", (after.0.0 - before.0.0) as f64 / count as f64),
        ("receiver_ns_per_packet", (after.0.1 - before.0.1) as f64 / count as f64),
        ("packets_per_report", after.2 as f64 / reports.max(1) as f64),
        ("opening_ms", opening.as_secs_f64() * 1e3),
    ];
    if arguments.json {
        let words = figures.map(|(name, value)| format!("\"{name}\":{value:.1}"));
        println!("{{{}}}", words.join(","));
    } else {
        figures.iter().for_each(|(name, value)| println!("{name:>24} {value:.1}"));
    }
    drop(receivers);
    feeder.join().expect("the feeder does not panic")?;
    Ok(())
}

/// Fills what is free of each stream in turn.
fn feed(listeners: Vec<Listener>, is_over: &AtomicBool) -> Result<(), SendError> {
    let mut streams: Vec<(Listener, Option<SendStream>, u64)> =
        listeners.into_iter().map(|it| (it, None, 0)).collect();
    while !is_over.load(Ordering::Relaxed) {
        let mut has_fed = false;
        for (listener, stream, index) in &mut streams {
            let Some(stream) = stream else {
                *stream = listener.accept(Duration::ZERO)?;
                continue;
            };
            let payload_bytes = stream.session().payload_bytes;
            while let Ok(Some(mut filling)) = stream.quantum(Duration::ZERO) {
                let room = filling.bytes_mut();
                let (len_bytes, first) = (room.len(), *index);
                for packet in room.chunks_exact_mut(payload_bytes) {
                    packet[..8].copy_from_slice(&index.to_le_bytes());
                    *index += (payload_bytes / FRAME_BYTES) as u64;
                }
                stream.submit(filling, len_bytes, first, Flags::NONE)?;
                has_fed = true;
            }
        }
        if !has_fed {
            std::thread::yield_now();
        }
    }
    Ok(())
}

/// Takes what comes of all for so long.
fn take(receivers: &mut [ReceiveStream], span: Duration) -> Result<(), Failure> {
    let until = Instant::now() + span;
    while Instant::now() < until {
        let mut has_taken = false;
        for receiver in receivers.iter_mut() {
            while let Some(block) = receiver.next_within(Duration::ZERO)? {
                has_taken = true;
                let stamp = block.bytes().first_chunk().map(|stamp| u64::from_le_bytes(*stamp));
                if !block.gaps().is_empty() || stamp != Some(block.index()) {
                    return Err(format!("index {} is stamped {stamp:?}", block.index()).into());
                }
            }
        }
        if !has_taken {
            std::thread::yield_now();
        }
    }
    Ok(())
}

fn packets(receivers: &[ReceiveStream]) -> u64 {
    receivers.iter().map(|it| it.stats().stream.delivered).sum()
}

/// CPU time of the device's I/O thread and of the host's, in nanoseconds.
fn io_nanos() -> Result<(u64, u64), Failure> {
    let mut nanos = (0, 0);
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let name = std::fs::read_to_string(task.join("comm"))?;
        let ran = std::fs::read_to_string(task.join("schedstat"))?;
        let ran: u64 = ran.split(' ').next().unwrap_or_default().parse()?;
        match name.trim() {
            "samplewire-tx" => nanos.0 += ran,
            "samplewire-rx" => nanos.1 += ran,
            _ => {}
        }
    }
    Ok(nanos)
}

struct Arguments {
    streams: u16,
    payload_bytes: u16,
    window: u32,
    duration: Duration,
    has_offload: bool,
    json: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let (mut streams, mut payload_bytes, mut window) = (1, 8_000, None);
        let (mut seconds, mut has_offload, mut json) = (3.0, true, false);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            match word.as_str() {
                "--streams" => streams = value()?.parse()?,
                "--payload" => payload_bytes = value()?.parse()?,
                "--window" => window = Some(value()?.parse()?),
                "--seconds" => seconds = value()?.parse()?,
                "--no-offload" => has_offload = false,
                "--json" => json = true,
                _ => return Err(format!("unknown argument {word}").into()),
            }
        }
        if !(1..=1_024).contains(&streams) {
            return Err(format!("--streams {streams} is not in 1..=1024").into());
        }
        let window = window.unwrap_or((IN_FLIGHT / u32::from(streams)).max(8));
        let duration = Duration::try_from_secs_f64(seconds)?;
        Ok(Self { streams, payload_bytes, window, duration, has_offload, json })
    }

    fn udp(&self) -> UdpOptions {
        UdpOptions::new()
            .segmentation(self.has_offload)
            .joining(self.has_offload)
            .receive_buffer_bytes(BUFFER_BYTES)
            .send_buffer_bytes(BUFFER_BYTES)
    }
}

/// Packets of all streams together.
const IN_FLIGHT: u32 = 4_096;

const BUFFER_BYTES: usize = 64 << 20;

/// Of one sample.
const FRAME_BYTES: usize = 4;
