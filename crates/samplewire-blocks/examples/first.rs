//! The first program of docs/runtime.md, as it stands there; tools/check_examples.py compares them.

use samplewire_blocks::kernels::{Window, low_pass};
use samplewire_blocks::{ChainExt, Complex32, Tone, chain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = chain::<Complex32, _>(Tone::new(0.02, 0.5)?) // 0.02 cycles a sample, amplitude 0.5.
        .head(1_000_000) // Ends after so many samples.
        .decimate(&low_pass(64, 0.4 / 8.0), 8) // A filter of 64 taps keeps 1 in 8.
        .spectrum(1_024, Window::Hann, 40) // 1,024 bins, the mean of 40 spectra.
        .for_each(|quantum| {
            for powers in quantum.samples().chunks(1_024) {
                let peak = (0..1_024).max_by(|&a, &b| powers[a].total_cmp(&powers[b])).unwrap();
                assert_eq!(peak, 512 + 164); // 0.02 * 8 * 1,024 above frequency 0.
                println!("peak in bin {peak}");
            }
        })
        .run()?;
    println!("{} spectra", report.block("sink").unwrap().counters.samples / 1_024);
    Ok(())
}
