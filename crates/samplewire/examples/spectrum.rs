//! The spectrum of a stream as it comes: sc16 becomes floats, a filter of 64 taps keeps one sample in
//! eight, and 4,096-point power spectra are averaged of what is left.
//!
//! ```text
//! samplewire emulate --source tone:10M --rate 250M --listen 192.168.10.2:4900     # the device
//! cargo run --release -p samplewire --example spectrum -- \
//!     192.168.10.2:4900 [--seconds S] [--window PACKETS] [--quanta N] [--coalesce US] \
//!     [--json] [--svg FILE]
//! ```
//!
//! The samples are read where the I/O thread put them. At the end it prints what is missing by cause,
//! the counters of the receiver and what each block did, which `--svg` writes as a picture too.

use std::net::SocketAddr;
use std::time::Duration;

use num_complex::{Complex, Complex32};
use samplewire::ends::{Account, ReceiverSource};
use samplewire::receiver::{ReceiverSnapshot, WINDOW_DEFAULT};
use samplewire::{RealTime, ReceiveOptions, ReceiveStream};
use samplewire_blocks::kernels::Window;
use samplewire_blocks::{Convert, Filter, PowerSpectrum};
use samplewire_circuit::{
    Circuit, Failure, Flow, GraphBuilder, Quantum, Report, Sequence, Sink, Work,
};
use serde_json::{Map, Value, json};

type Sc16 = Complex<i16>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let mut options = ReceiveOptions::new().window(arguments.window);
    if let Some(rest) = arguments.coalesce {
        options = options.real_time(RealTime::new().coalesce(rest));
    }
    let source = ReceiverSource::<Sc16>::new(ReceiveStream::open(arguments.address, &options)?)?;
    let (account, stats) = (source.account(), source.receiver().stats_handle());
    let (found, peaks) = std::sync::mpsc::channel();

    let mut graph = GraphBuilder::new();
    let wire = Circuit::default().quanta(arguments.quanta);
    let wide = Circuit::<Complex32>::new(2, PIECE).named("floats");
    let narrow = Circuit::new(2, PIECE / 2).named("decimated");
    let spectra = Circuit::new(2, BINS).named("spectra");
    let stream = graph.lent_source("receiver", source, wire);
    let stream = graph.transform("convert", Convert, stream, wide);
    let stream = graph.transform("filter", Filter::new(&low_pass(), DECIMATION)?, stream, narrow);
    let spectrum = PowerSpectrum::new(BINS, Window::Hann, AVERAGES)?;
    let stream = graph.transform("spectrum", spectrum, stream, spectra);
    graph.sink("highest", Highest { peak: Peak::default(), found }, stream);
    let graph = graph.build()?;

    let (control, picture) = (graph.control(), graph.control());
    let seconds = arguments.seconds;
    std::thread::spawn(move || {
        std::thread::sleep(seconds);
        control.drain();
    });
    let report = graph.run(Sequence::new())?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, picture.svg()).map_err(|error| format!("{path}: {error}"))?;
    }
    let peak = peaks.try_iter().last().unwrap_or_default();
    print(&arguments, &report, &account.read(), &stats.stats(), &peak);
    Ok(())
}

/// What was seen last.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    spectra: u64,
    hz: f64,
    power: f32,
}

/// Finds the highest bin of each spectrum.
struct Highest {
    peak: Peak,
    found: std::sync::mpsc::Sender<Peak>,
}

impl Sink<f32> for Highest {
    fn consume(&mut self, quantum: &Quantum<f32>) -> Work {
        let powers = quantum.samples();
        let highest = powers.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((bin, &power)) = highest.filter(|_| powers.len() == BINS) else {
            return Ok(Flow::Pass);
        };
        let samples_hz = quantum.rate_hz() * f64::from(AVERAGES);
        let hz = (bin as f64 - (BINS / 2) as f64) * samples_hz / BINS as f64;
        self.peak = Peak { spectra: self.peak.spectra + 1, hz, power };
        Ok(Flow::Pass)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        Ok(self.found.send(self.peak)?)
    }
}

/// A Hann-windowed sinc that passes 0.8 of the decimated band.
fn low_pass() -> Vec<f32> {
    let cut = 0.8 / DECIMATION as f64;
    let tap = |number: usize| {
        let at = number as f64 - (TAPS - 1) as f64 / 2.0;
        let turn = std::f64::consts::TAU * (number as f64 + 0.5) / TAPS as f64;
        let sinc = (std::f64::consts::PI * cut * at).sin() / (std::f64::consts::PI * at);
        sinc * 0.5 * (1.0 - turn.cos())
    };
    (0..TAPS).map(|number| tap(number) as f32).collect()
}

fn print(
    arguments: &Arguments,
    report: &Report,
    account: &Account,
    stats: &ReceiverSnapshot,
    peak: &Peak,
) {
    let samples = report.block("receiver").map_or(0, |block| block.counters.samples);
    let seconds = report.elapsed.as_secs_f64();
    let gaps = account.causes().filter(|&(_, gaps, _)| gaps > 0);
    if !arguments.json {
        println!("{report}");
        println!("{:.1} MS/s over {seconds:.1} s", samples as f64 / seconds / 1e6);
        println!("{} spectra, the highest bin at {:.0} Hz", peak.spectra, peak.hz);
        println!(
            "{} samples missing, {} packets repaired, {} corrupted, {} dropped by the socket",
            account.missing_samples(),
            stats.stream.repaired,
            stats.corrupted,
            stats.socket_dropped
        );
        gaps.for_each(|(cause, gaps, samples)| println!("{cause}: {samples} in {gaps} gaps"));
        return;
    }
    let gaps: Map<String, Value> = gaps
        .map(|(cause, gaps, samples)| {
            (cause.to_string(), json!({ "gaps": gaps, "samples": samples }))
        })
        .collect();
    let blocks: Map<String, Value> = report
        .blocks
        .iter()
        .map(|block| {
            let of = block.counters;
            let figures = json!({
                "calls": of.calls, "samples": of.samples, "busy_s": of.busy.as_secs_f64(),
                "starved": of.starved, "blocked": of.blocked, "tags_lost": of.tags_lost,
            });
            (block.name.to_string(), figures)
        })
        .collect();
    let all = json!({
        "seconds": seconds,
        "samples": samples,
        "samples_missing": account.missing_samples(),
        "gaps": gaps,
        "packets_repaired": stats.stream.repaired,
        "packets_corrupted": stats.corrupted,
        "packets_dropped_by_socket": stats.socket_dropped,
        "credit_stalls": stats.starved,
        "spectra": peak.spectra,
        "peak_hz": peak.hz,
        "peak_power": peak.power,
        "blocks": blocks,
    });
    println!("{all}");
}

struct Arguments {
    address: SocketAddr,
    seconds: Duration,
    window: u32,
    quanta: usize,
    coalesce: Option<Duration>,
    json: bool,
    /// Where to write the picture.
    svg: Option<String>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let address = words.next().ok_or("the device's ADDRESS:PORT is missing")?;
        let mut arguments = Self {
            address: address.parse().map_err(|_| format!("{address}: no ADDRESS:PORT"))?,
            seconds: Duration::from_secs(10),
            window: WINDOW_DEFAULT,
            quanta: 16,
            coalesce: None,
            json: false,
            svg: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} takes a value"));
            let wrong = |text: &str| format!("{word} {text}: not a value for it");
            match word.as_str() {
                "--seconds" => {
                    let text = value()?;
                    let seconds = text.parse().map_err(|_| wrong(&text))?;
                    arguments.seconds =
                        Duration::try_from_secs_f64(seconds).map_err(|_| wrong(&text))?;
                }
                "--window" => {
                    let text = value()?;
                    arguments.window = text.parse().map_err(|_| wrong(&text))?;
                }
                "--quanta" => {
                    let text = value()?;
                    arguments.quanta = text.parse().map_err(|_| wrong(&text))?;
                }
                "--coalesce" => {
                    let text = value()?;
                    let rest_us = text.parse().map_err(|_| wrong(&text))?;
                    arguments.coalesce = Some(Duration::from_micros(rest_us));
                }
                "--svg" => arguments.svg = Some(value()?),
                "--json" => arguments.json = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }
}

const TAPS: usize = 64;
const DECIMATION: usize = 8;
const BINS: usize = 4_096;
/// Transforms in a spectrum: some 760 a second at 250 MS/s.
const AVERAGES: u32 = 10;
/// Samples in a quantum of floats: 64 KiB, a part of a core's own cache.
const PIECE: usize = 8_192;
