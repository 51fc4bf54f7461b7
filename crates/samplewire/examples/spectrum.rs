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

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samplewire::RealTime;
use samplewire::ends::{Account, ReceiverSource};
use samplewire::options::WINDOW_DEFAULT;
use samplewire::receiver::ReceiverSnapshot;
use samplewire_blocks::circuit::{BlockReport, Quantum, Report, Sequence};
use samplewire_blocks::kernels::{Window, low_pass};
use samplewire_blocks::{ChainExt, Complex, Complex32};
use serde_json::{Value, json};

fn main() {
    if let Err(error) = run(pico_args::Arguments::from_env()) {
        eprintln!("spectrum: {error}");
        std::process::exit(1);
    }
}

fn run(mut words: pico_args::Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let seconds =
        Duration::try_from_secs_f64(words.opt_value_from_str("--seconds")?.unwrap_or(10.0))?;
    let window = words.opt_value_from_str("--window")?.unwrap_or(WINDOW_DEFAULT);
    let quanta = words.opt_value_from_str("--quanta")?.unwrap_or(16);
    let coalesce_us: Option<u64> = words.opt_value_from_str("--coalesce")?;
    let is_json = words.contains("--json");
    let svg: Option<PathBuf> = words.opt_value_from_str("--svg")?;
    let address: String = words.free_from_str()?;
    let unknown = words.finish();
    if !unknown.is_empty() {
        return Err(format!("unknown: {unknown:?}").into());
    }
    let mut options = samplewire::receive().window(window);
    if let Some(rest_us) = coalesce_us {
        options = options.real_time(RealTime::new().coalesce(Duration::from_micros(rest_us)));
    }
    let receiver = options.open(address)?;
    let source = ReceiverSource::<Complex<i16>>::new(receiver)?;
    let (account, stats) = (source.account(), source.receiver().stats_handle());
    let peak = Arc::new(Mutex::new(Peak::default()));
    let seen = Arc::clone(&peak);
    let graph = source
        .into_chain()
        .quanta(quanta)
        .convert::<Complex32>()
        .decimate(&low_pass(64, 0.4 / 8.0), 8)
        .spectrum(BINS, Window::Hann, AVERAGES)
        .named("spectrum")
        .for_each(move |quantum| seen.lock().expect("no thread panics").see(quantum))
        .named("highest")
        .build()?;

    let (control, picture) = (graph.control(), graph.control());
    std::thread::spawn(move || {
        std::thread::sleep(seconds);
        control.drain();
    });
    let report = graph.run(Sequence::new())?;
    if let Some(path) = &svg {
        std::fs::write(path, picture.svg())
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let peak = peak.lock().expect("no thread panics");
    let mut figures = figures(&report, &account.read(), &stats.stats(), &peak);
    if is_json {
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

const BINS: usize = 4_096;
/// Transforms in a spectrum: some 760 a second at 250 MS/s.
const AVERAGES: u32 = 10;
