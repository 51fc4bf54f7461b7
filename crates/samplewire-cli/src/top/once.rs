//! A snapshot: for scripts, and if standard output is not a terminal.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::history::{History, Rates, Shown};
use super::ports::{PortHistory, ShownPort};
use super::survey::Surveyor;
use super::words::{HEADS, cause_words, cells, other_words, stream_words};
use crate::arguments::TopArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Takes two surveys, an interval apart, and prints the result.
pub(super) fn run(surveyor: &Surveyor, arguments: &TopArguments) -> Result<Outcome, Failure> {
    let (mut history, mut ports) = (History::default(), PortHistory::default());
    let mut first = surveyor.look();
    ports.take(std::mem::take(&mut first.ports));
    history.take(first);
    std::thread::sleep(arguments.interval);
    let mut survey = surveyor.look();
    let (errors, has_others) = (std::mem::take(&mut survey.errors), survey.has_others);
    let ports = ports.take(std::mem::take(&mut survey.ports));
    let shown = history.take(survey);
    let mut console = Console::new(Lines::Stdout, false);
    if arguments.json {
        let streams = shown.iter().map(Stream::new).collect();
        let version = env!("CARGO_PKG_VERSION");
        let switch_ports = ports.iter().map(SwitchPort::new).collect();
        let document = Document { version, streams, switch_ports, errors: &errors };
        let text = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
        console.line(format_args!("{text}"));
    } else {
        print(&mut console, &shown);
        for port in &ports {
            console.line(format_args!("{}", port.words()));
        }
        for error in &errors {
            console.warn(format_args!("{error}"));
        }
    }
    if shown.is_empty() {
        return Err(Failure::NoStreams { has_others });
    }
    Ok(Outcome::Whole)
}

fn print(console: &mut Console, shown: &[Shown]) {
    let rows: Vec<[String; HEADS.len()]> =
        std::iter::once(HEADS.map(str::to_owned)).chain(shown.iter().map(cells)).collect();
    if shown.is_empty() {
        return;
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    for (at, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            // Words are left-aligned, figures right-aligned.
            if column < 3 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        console.line(format_args!("{}", cells.collect::<Vec<_>>().join("  ").trim_end()));
        if let Some(shown) = at.checked_sub(1).map(|at| &shown[at]) {
            console.line(format_args!("  {}", stream_words(shown)));
            console.line(format_args!("  missing {}; {}", cause_words(shown), other_words(shown)));
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    /// The version of this command.
    version: &'static str,
    streams: Vec<Stream<'a>>,
    /// Ports of switches; none where devices are asked for.
    switch_ports: Vec<SwitchPort<'a>>,
    /// Processes and folders that cannot be read, and why.
    errors: &'a [String],
}

#[derive(Serialize)]
struct Stream<'a> {
    /// The process ID as the process itself sees it.
    pid: Option<u64>,
    verb: &'a str,
    /// The device's address, for either end.
    device: &'a str,
    /// The number of the stream at the device.
    stream: Option<u64>,
    /// `receive` or `transmit`, seen from the process.
    direction: &'a str,
    /// The other end; null while the device is not open.
    peer: Option<&'a str>,
    name: &'a str,
    format: &'a str,
    channels: Option<u64>,
    /// Time between the two answers that give the rates; the rates are null if there was only one.
    interval_s: Option<f64>,
    /// Samples per second; for a sender an upper bound.
    samples_per_s: Option<f64>,
    /// The same in bits.
    bits_per_s: Option<f64>,
    /// Packets repaired per second.
    repaired_per_s: Option<f64>,
    /// Packets that came, or departed for the first time.
    packets: Number,
    /// Those that came as a retransmission, or departed again.
    packets_repaired: Number,
    /// How much of the window is in use, from 0 to 1; null without a window.
    window_share: Option<f64>,
    /// Smoothed round-trip time.
    rtt_s: f64,
    /// Samples missing from the stream, or missing at their time to be played.
    samples_missing: Number,
    /// Samples missing by cause.
    gap_samples: BTreeMap<&'a str, Number>,
    /// All numbers by their names in Prometheus, without `samplewire_`.
    numbers: BTreeMap<&'a str, Number>,
}

impl<'a> Stream<'a> {
    fn new(shown: &'a Shown) -> Self {
        let facts = &shown.facts;
        let rate = |of: fn(&Rates) -> f64| shown.rates.as_ref().map(of);
        Self {
            pid: facts.pid.parse().ok(),
            verb: &facts.verb,
            device: &facts.key.device,
            stream: facts.key.stream.parse().ok(),
            direction: &facts.key.direction,
            peer: Some(facts.peer.as_str()).filter(|peer| !peer.is_empty()),
            name: &facts.name,
            format: &facts.format,
            channels: facts.channels.parse().ok(),
            interval_s: rate(|rates| rates.interval),
            samples_per_s: rate(|rates| rates.samples),
            bits_per_s: rate(|rates| rates.bits),
            repaired_per_s: rate(|rates| rates.repaired),
            packets: Number(facts.packets()),
            packets_repaired: Number(facts.repaired()),
            window_share: facts.window_share(),
            rtt_s: facts.rtt(),
            samples_missing: Number(facts.lost()),
            gap_samples: numbers(&facts.causes),
            numbers: numbers(&facts.numbers),
        }
    }
}

#[derive(Serialize)]
struct SwitchPort<'a> {
    /// The process ID as the process itself sees it.
    pid: Option<u64>,
    /// The name of its link.
    port: &'a str,
    /// Time between the two answers that give the rate; both are null if there was only one.
    interval_s: Option<f64>,
    /// Bits of wire time that left per second.
    bits_out_per_s: Option<f64>,
    /// All numbers by their names in Prometheus, without `samplewire_switch_port_`.
    numbers: BTreeMap<&'a str, Number>,
}

impl<'a> SwitchPort<'a> {
    fn new(ShownPort { port, rate }: &'a ShownPort) -> Self {
        Self {
            pid: port.pid.parse().ok(),
            port: port.name(),
            interval_s: rate.map(|rate| rate.interval),
            bits_out_per_s: rate.map(|rate| rate.bits_per_s),
            numbers: numbers(&port.numbers),
        }
    }
}

fn numbers(numbers: &BTreeMap<String, f64>) -> BTreeMap<&str, Number> {
    numbers.iter().map(|(name, number)| (name.as_str(), Number(*number))).collect()
}

/// A number; counts are written as whole numbers.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_count = self.0.fract() == 0.0 && (0.0..EXACT_MAX).contains(&self.0);
        if is_count {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// Every whole number up to here is exact in a double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
