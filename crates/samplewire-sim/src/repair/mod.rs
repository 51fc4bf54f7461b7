//! How long repairs take and what goodput remains: over loss, round trip and window.

mod duplicates;
mod figures;
mod go_back_n;
mod render;
mod scene;
mod svg;

use std::io::{self, Write};

use samplewire_proto::Nanos;

pub use figures::{Bound, Figure, FigurePart, figures};
pub use render::{write_csv, write_table};
pub(crate) use scene::Scene;
pub use svg::write_svg;

/// What to measure: every loss with every round trip and every window.
#[derive(Clone, Debug)]
pub struct RepairOptions {
    /// Independent losses of data and of REPORTs, in a million.
    pub losses_ppm: Vec<u64>,
    /// Round trips.
    pub rtts: Vec<Nanos>,
    /// Windows in percent of the packets that a round trip holds.
    pub windows_percent: Vec<u64>,
    /// Bits a second of Ethernet wire time.
    pub rate_bps: u64,
    /// A full packet as an IP packet.
    pub packet_bytes: u32,
    /// Repairs to wait for in each cell, as far as `PACKETS_MAX` allows.
    pub repairs: u64,
    /// Decides everything else.
    pub seed: u64,
}

impl RepairOptions {
    /// The table of `docs/testing.md` at 10 Gb/s and MTU 1500.
    pub fn new() -> Self {
        Self {
            losses_ppm: vec![0, 10, 100, 1_000, 10_000, 100_000, 300_000],
            rtts: vec![Nanos::from_micros(100), Nanos::from_millis(1), Nanos::from_millis(10)],
            windows_percent: vec![150, 250, 400, 800],
            rate_bps: 10_000_000_000,
            packet_bytes: 1_500,
            repairs: 10_000,
            seed: 1,
        }
    }

    /// A table of seconds, which a test compares with what it was.
    pub fn small() -> Self {
        Self {
            losses_ppm: vec![0, 10_000, 300_000],
            rtts: vec![Nanos::from_micros(100), Nanos::from_millis(1)],
            windows_percent: vec![250, 800],
            repairs: 500,
            ..Self::new()
        }
    }
}

impl Default for RepairOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// One cell of the table.
#[derive(Clone, Copy, Debug)]
pub struct RepairRow {
    /// Loss of data and of REPORTs, in a million.
    pub loss_ppm: u64,
    /// Round trip.
    pub rtt: Nanos,
    /// Window in percent of what a round trip holds.
    pub window_percent: u64,
    /// Repairs measured.
    pub repairs: u64,
    /// From first departure to the repeat's arrival: p50, p98, p99.9 and the longest, in thousandths
    /// of a round trip.
    pub latency_permille: [u64; 4],
    /// Delivered packets by those that the link could have carried, in thousandths.
    pub goodput_permille: u64,
    /// DATA that came and was not needed by repeats, in a million.
    pub unneeded_ppm: u64,
    /// The goodput of RoCEv2's go-back-N on the same link, in thousandths.
    pub go_back_n_permille: u64,
}

/// Measures every cell and writes the table to `out` as it grows.
///
/// # Errors
/// Those of `out`.
///
/// # Panics
/// When the checker finds that something did not hold.
pub fn repair(options: &RepairOptions, out: &mut dyn Write) -> io::Result<Vec<RepairRow>> {
    let mut rows = vec![];
    for &rtt in &options.rtts {
        for &window_percent in &options.windows_percent {
            for &loss_ppm in &options.losses_ppm {
                let scene = Scene::of_cell(options, rtt, window_percent, loss_ppm);
                let packets = match loss_ppm {
                    0 => PACKETS_MIN,
                    1..RARE_PPM => PACKETS_OF_RARE,
                    loss => (options.repairs * 1_000_000 / loss).clamp(PACKETS_MIN, PACKETS_MAX),
                };
                let go_back_n =
                    go_back_n::goodput_permille(options, rtt, window_percent, loss_ppm, packets);
                let measured = scene.measure(packets);
                rows.push(measured.row(loss_ppm, rtt, window_percent, go_back_n));
            }
        }
    }
    write_table(&rows, out)?;
    Ok(rows)
}

/// Packets of a cell at least, and at most.
const PACKETS_MIN: u64 = 20_000;
const PACKETS_MAX: u64 = 20_000_000;
/// Below this loss goodput is measured, and repairs are few.
const RARE_PPM: u64 = 1_000;
const PACKETS_OF_RARE: u64 = 2_000_000;

#[cfg(test)]
mod tests;
