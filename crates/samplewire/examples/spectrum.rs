//! The spectrum of a stream as it comes: sc16 becomes floats, a filter of 64 taps keeps one sample in
//! eight, and 4,096-point power spectra are averaged of what is left.
//!
//! ```text
//! samplewire emulate --source tone:10M --rate 250M --listen 192.168.10.2:4900     # the device
//! cargo run --release -p samplewire --example spectrum -- 192.168.10.2:4900 --seconds 5
//! ```
//!
//! The samples are read where the I/O thread put them. At the end it prints what is missing by cause,
//! the counters of the receiver and what each block did, which `--svg` writes as a picture too.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use samplewire::ends::{Account, ReceiverSource};
use samplewire::receiver::{ReceiverSnapshot, WINDOW_DEFAULT};
use samplewire::{RealTime, ReceiveOptions, ReceiveStream};
use samplewire_blocks::circuit::{BlockReport, Quantum, Report, Sequence};
use samplewire_blocks::kernels::{Window, low_pass};
use samplewire_blocks::{ChainExt, Complex, Complex32};
use serde_json::{Value, json};

/// The spectrum of a stream as it comes.
#[derive(Parser)]
struct Arguments {
    /// Where the device listens.
    #[arg(value_name = "ADDRESS:PORT")]
    address: SocketAddr,
    /// How long to receive.
    #[arg(long, default_value = "10", value_parser = seconds)]
    seconds: Duration,
    /// Packets that may be under way.
    #[arg(long, default_value_t = WINDOW_DEFAULT)]
    window: u32,
    /// Quanta that show received samples.
    #[arg(long, default_value_t = 16)]
    quanta: usize,
    /// Microseconds for which the I/O thread rests between two looks.
    #[arg(long, value_name = "US")]
    coalesce: Option<u64>,
    /// Prints one object of JSON.
    #[arg(long)]
    json: bool,
    /// Where to write a picture of the graph.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let mut options = ReceiveOptions::new().window(arguments.window);
    if let Some(rest_us) = arguments.coalesce {
        options = options.real_time(RealTime::new().coalesce(Duration::from_micros(rest_us)));
    }
    let receiver = ReceiveStream::open(arguments.address, &options)?;
    let source = ReceiverSource::<Complex<i16>>::new(receiver)?;
    let (account, stats) = (source.account(), source.receiver().stats_handle());
    let peak = Arc::new(Mutex::new(Peak::default()));
    let seen = Arc::clone(&peak);
    let graph = source
        .into_chain()
        .quanta(arguments.quanta)
        .convert::<Complex32>()
        .decimate(&low_pass(64, 0.4 / 8.0), 8)
        .spectrum(BINS, Window::Hann, AVERAGES)
        .named("spectrum")
        .for_each(move |quantum| seen.lock().expect("no thread panics").see(quantum))
        .named("highest")
        .build()?;

    let (control, picture) = (graph.control(), graph.control());
    std::thread::spawn(move || {
        std::thread::sleep(arguments.seconds);
        control.drain();
    });
    let report = graph.run(Sequence::new())?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, picture.svg())
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let peak = peak.lock().expect("no thread panics");
    let mut figures = figures(&report, &account.read(), &stats.stats(), &peak);
    if arguments.json {
        figures["blocks"] = report.blocks.iter().map(figures_of_block).collect();
        println!("{figures}");
    } else {
        println!("{report}\n\n{figures:#}");
    }
    Ok(())
}

/// The highest bin of the last spectrum.
#[derive(Default)]
struct Peak {
    spectra: u64,
    hz: f64,
    power: f32,
}

impl Peak {
    fn see(&mut self, quantum: &Quantum<f32>) {
        for powers in quantum.samples().chunks_exact(BINS) {
            let highest = powers.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            let (bin, &power) = highest.expect("a spectrum has bins");
            let samples_hz = quantum.rate_hz() * f64::from(AVERAGES);
            let hz = (bin as f64 - (BINS / 2) as f64) * samples_hz / BINS as f64;
            *self = Self { spectra: self.spectra + 1, hz, power };
        }
    }
}

fn figures(report: &Report, account: &Account, stats: &ReceiverSnapshot, peak: &Peak) -> Value {
    let gaps = account.causes().filter(|&(_, gaps, _)| gaps > 0);
    let gaps: Value = gaps
        .map(|(cause, gaps, samples)| {
            (cause.to_string(), json!({ "gaps": gaps, "samples": samples }))
        })
        .collect();
    let samples = report.block("receiver").map_or(0, |block| block.counters.samples);
    json!({
        "seconds": report.elapsed.as_secs_f64(),
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
    })
}

fn figures_of_block(block: &BlockReport) -> (String, Value) {
    let of = block.counters;
    let figures = json!({
        "calls": of.calls, "samples": of.samples, "busy_s": of.busy.as_secs_f64(),
        "starved": of.starved, "blocked": of.blocked, "tags_lost": of.tags_lost,
    });
    (block.name.to_string(), figures)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

const BINS: usize = 4_096;
/// Transforms in a spectrum: some 760 a second at 250 MS/s.
const AVERAGES: u32 = 10;
