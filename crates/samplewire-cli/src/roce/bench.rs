//! `roce bench`: throughput and latency of WRITEs, over path MTU and length of the message.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use samplewire_roce::qp::Event;
use samplewire_roce::requester::{PayloadAt, SendStatus, Verb, WorkRequest};
use samplewire_roce::responder::Placement;
use serde::Serialize;

use super::RoceError;
use super::connect::{Connected, conclude, connect};
use super::station::{Memory, Station};
use crate::arguments::BenchArguments;
use crate::console::Console;
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::{bits_per_second, measured, span};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::plot::{self, Line, Panel};

/// The JSON of a measurement. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Bench {
    points: Vec<Point>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One path MTU and one length of messages.
#[derive(Debug, Serialize)]
struct Point {
    mtu_bytes: u32,
    message_bytes: u32,
    /// Bits of messages a second, with up to 8 of them posted.
    bits_per_second: f64,
    /// From the post of a lone message to its completion.
    latency_p50_ns: u64,
    latency_p99_ns: u64,
    retransmissions: u64,
}

impl Report for Bench {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &BenchArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Bench| {
        let interrupt = Interrupt::install()?;
        let ended = measure(arguments, &interrupt, console, &mut report.points);
        if let Some(signal) = interrupt.stop_signal(console) {
            return Ok(Outcome::Interrupted { signal });
        }
        ended?;
        if let Some(path) = &arguments.csv {
            let written =
                File::create(path).and_then(|mut file| write_csv(&report.points, &mut file));
            written.map_err(Failure::of_file(path))?;
        }
        if let Some(path) = &arguments.svg {
            draw(&report.points, path)?;
        }
        Ok(Outcome::Whole)
    })
}

fn measure(
    arguments: &BenchArguments,
    interrupt: &Interrupt,
    console: &mut Console,
    points: &mut Vec<Point>,
) -> Result<(), Failure> {
    let options = &arguments.sender;
    let mut station = Station::open(&options.station, MESSAGES, 0, Vec::new())?;
    console.line(format_args!(
        "{:>5} {:>9} {:>11} {:>10} {:>10} {:>9}",
        "MTU", "message", "throughput", "p50", "p99", "repeats"
    ));
    for mtu in arguments.mtus.iter().filter(|mtu| mtu.bytes() <= options.station.mtu.bytes()) {
        let mut connected = connect(options, *mtu, &mut station, interrupt, console)?;
        let mut bytes = 0;
        for &message_bytes in &arguments.messages {
            let region_bytes = connected.peer.region_bytes;
            if u64::from(message_bytes) > region_bytes {
                return Err(RoceError::Region { len: message_bytes.into(), region_bytes }.into());
            }
            let mut writes = Writes::new(&connected, message_bytes);
            let before = station.qp.requester().stats().retransmissions;
            let (done, elapsed) =
                writes.run(&mut station, MESSAGES, arguments.duration, interrupt)?;
            let rate = bits_per_second(done * u64::from(message_bytes), elapsed);
            let mut latencies = Latencies::default();
            let until = Instant::now() + arguments.duration;
            let mut alone = 0;
            while Instant::now() < until {
                let begun = Instant::now();
                alone += writes.run(&mut station, 1, Duration::ZERO, interrupt)?.0;
                latencies.0.push(begun.elapsed());
            }
            bytes += (done + alone) * u64::from(message_bytes);
            let point = Point {
                mtu_bytes: connected.mtu.bytes(),
                message_bytes,
                bits_per_second: rate,
                latency_p50_ns: latencies.at(0.5).as_nanos() as u64,
                latency_p99_ns: latencies.at(0.99).as_nanos() as u64,
                retransmissions: station.qp.requester().stats().retransmissions - before,
            };
            print(&point, console);
            points.push(point);
        }
        conclude(&mut connected.exchange, bytes, &mut station, interrupt)?;
    }
    Ok(())
}

fn print(point: &Point, console: &mut Console) {
    let seconds = |ns: u64| span(ns as f64 / 1e9);
    console.line(format_args!(
        "{:>5} {:>9} {:>11} {:>10} {:>10} {:>9}",
        point.mtu_bytes,
        measured(point.message_bytes.into(), "B"),
        measured(point.bits_per_second, "b/s"),
        seconds(point.latency_p50_ns),
        seconds(point.latency_p99_ns),
        point.retransmissions,
    ));
}

fn write_csv(points: &[Point], out: &mut dyn Write) -> io::Result<()> {
    let names = "mtu_bytes,message_bytes,bits_per_second,latency_p50_ns,latency_p99_ns";
    writeln!(out, "{names},retransmissions")?;
    for point in points {
        let Point { mtu_bytes, message_bytes, bits_per_second, .. } = point;
        let Point { latency_p50_ns, latency_p99_ns, retransmissions, .. } = point;
        write!(out, "{mtu_bytes},{message_bytes},{bits_per_second:.0},{latency_p50_ns},")?;
        writeln!(out, "{latency_p99_ns},{retransmissions}")?;
    }
    Ok(())
}

/// Throughput and latency over the length of a message, a line for each MTU.
fn draw(points: &[Point], path: &Path) -> Result<(), Failure> {
    let mut mtus: Vec<u32> = points.iter().map(|point| point.mtu_bytes).collect();
    mtus.dedup();
    let panel = |caption: &str, y_name, value: fn(&Point) -> f64| {
        let of_mtu = |&mtu: &u32| {
            let of_mtu = points.iter().filter(|point| point.mtu_bytes == mtu);
            let points = of_mtu.map(|point| (f64::from(point.message_bytes), value(point)));
            Line { label: format!("MTU {mtu}"), points: points.collect(), is_reference: false }
        };
        Panel {
            caption: caption.to_owned(),
            x_name: "bytes of a message",
            y_name,
            y_max: 1.1 * points.iter().map(value).fold(1e-3, f64::max),
            lines: mtus.iter().map(of_mtu).collect(),
        }
    };
    let panels = [
        panel("8 messages posted", "throughput in Gb/s", |point| point.bits_per_second / 1e9),
        panel("1 message posted", "p50 of latency in us", |it| it.latency_p50_ns as f64 / 1e3),
    ];
    plot::draw(&panels, path)
}

/// Messages of one length, all from the same bytes into the begin of the region.
struct Writes {
    bytes: Vec<u8>,
    request: WorkRequest,
}

impl Writes {
    fn new(connected: &Connected, message_bytes: u32) -> Self {
        let peer = &connected.peer;
        let verb = Verb::Write { address: peer.region_address, key: peer.rkey };
        let request = WorkRequest { verb, len_bytes: message_bytes, ..WorkRequest::default() };
        Self { bytes: vec![0x5A; message_bytes as usize], request }
    }

    /// Keeps so many messages posted for a time, at least one, and waits for the last; how many were
    /// completed, and in what time.
    fn run(
        &mut self,
        station: &mut Station,
        depth: usize,
        duration: Duration,
        interrupt: &Interrupt,
    ) -> Result<(u64, Duration), Failure> {
        let begun = Instant::now();
        let (mut posted, mut done) = (0, 0);
        loop {
            let is_time = posted == 0 || begun.elapsed() < duration;
            while is_time && posted - done < depth as u64 {
                station.qp.post_send(self.request).expect("a place is free");
                posted += 1;
            }
            let has_more = station.turn(self)?;
            while let Some(event) = station.poll_event() {
                let Event::Sent(sent) = event else { continue };
                if sent.status != SendStatus::Done {
                    let bytes = done * self.bytes.len() as u64;
                    return Err(RoceError::Failed { status: sent.status, bytes }.into());
                }
                done += 1;
            }
            if done == posted && begun.elapsed() >= duration {
                return Ok((done, begun.elapsed()));
            }
            if interrupt.signal().is_some() {
                return Err(RoceError::Interrupted.into());
            }
            if !has_more && posted - done == depth as u64 {
                station.wait(WAIT_MAX)?;
            }
        }
    }
}

impl Memory for Writes {
    fn payload(&self, at: PayloadAt) -> &[u8] {
        &self.bytes[at.offset as usize..][..at.len_bytes as usize]
    }

    /// This end has neither regions nor receive requests.
    fn place(&mut self, _: Placement, _: &[u8]) {}
}

#[derive(Default)]
struct Latencies(Vec<Duration>);

impl Latencies {
    /// The time that this share does not exceed.
    fn at(&mut self, share: f64) -> Duration {
        self.0.sort_unstable();
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Messages that are posted at a time.
const MESSAGES: usize = 8;
const WAIT_MAX: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_nearly_all_are_those_of_the_sorted_list() {
        let mut latencies = Latencies((1..=200).rev().map(Duration::from_nanos).collect());
        assert_eq!(latencies.at(0.5), Duration::from_nanos(100));
        assert_eq!(latencies.at(0.99), Duration::from_nanos(198));
        assert_eq!(Latencies::default().at(0.5), Duration::ZERO);
    }
}
