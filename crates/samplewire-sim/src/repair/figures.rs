//! The figures that must hold, each measured on a scene of its own.

use std::io::{self, Write};

use samplewire_io::faults::Loss;
use samplewire_proto::{Nanos, Odds};

use super::Scene;
use super::duplicates::duplicates;
use crate::link::LinkSpec;
use crate::source::Pace;

/// A figure and its bound.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The value, in thousandths or in packets, as the name says.
    pub value: u64,
    /// The bound, in the same unit.
    pub bound: Bound,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// This or less.
    AtMost(u64),
    /// This or more.
    AtLeast(u64),
}

impl Figure {
    /// Whether the value keeps its bound.
    pub const fn holds(&self) -> bool {
        match self.bound {
            Bound::AtMost(bound) => self.value <= bound,
            Bound::AtLeast(bound) => self.value >= bound,
        }
    }
}

/// A part of the figures, measured on scenes of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigurePart {
    /// How long a repair takes.
    Latency,
    /// Bursts of loss, and the ends of bursts of data.
    Bursts,
    /// What arrives by what arrives without loss. At least some windows of 50 ms: a minute or two.
    Goodput,
    /// Repeats that were not needed.
    Duplicates,
    /// The ring of a converter before a host that pauses.
    Rings,
}

impl FigurePart {
    /// All parts, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::Latency, Self::Bursts, Self::Goodput, Self::Duplicates, Self::Rings];

    /// Its name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bursts => "bursts",
            Self::Goodput => "goodput",
            Self::Duplicates => "duplicates",
            Self::Rings => "rings",
        }
    }

    fn measure(self, packets: u64) -> Vec<Figure> {
        match self {
            Self::Latency => latencies(packets),
            Self::Bursts => bursts(packets),
            Self::Goodput => goodput(packets),
            Self::Duplicates => duplicates(packets),
            Self::Rings => rings(packets),
        }
    }
}

/// Measures the figures of `parts` over about `packets` packets each, and writes them to `out`.
///
/// # Errors
/// Those of `out`.
///
/// # Panics
/// When the checker finds that something did not hold.
pub fn figures(parts: &[FigurePart], packets: u64, out: &mut dyn Write) -> io::Result<Vec<Figure>> {
    let mut all = vec![];
    for part in parts {
        for figure in part.measure(packets) {
            let (word, bound) = match figure.bound {
                Bound::AtMost(bound) => ("at most", bound),
                Bound::AtLeast(bound) => ("at least", bound),
            };
            let holds = if figure.holds() { "holds" } else { "FAILS" };
            writeln!(out, "{holds} {:>9}, {word} {bound:>9}: {}", figure.value, figure.name)?;
            all.push(figure);
        }
    }
    Ok(all)
}

/// Repairs at 1 % independent loss of data and of REPORTs.
fn latencies(packets: u64) -> Vec<Figure> {
    let scene = Scene { data_loss: ONE_PERCENT, report_loss: ONE_PERCENT, ..scene_1ms(400) };
    let measured = scene.measure(packets);
    let repairs = measured.repairs.len();
    let [_, p98, _, p999, max] = measured.latency_permille(|_| true);
    [("p98", p98, 1_750), ("p99.9", p999, 2_900), ("max", max, 5_000)]
        .map(|(which, value, bound)| Figure {
            name: format!("RTT/1000, {which} of {repairs} repairs at 1 % loss both ways"),
            value,
            bound: Bound::AtMost(bound),
        })
        .into()
}

/// Bursts of loss, and the last packets of bursts of data.
fn bursts(packets: u64) -> Vec<Figure> {
    let runs = Loss::Runs { start: Odds::ppm(400), packets: 32 };
    let lost = Scene { data_loss: runs, ..scene_1ms(400) }.measure(packets);
    let [_, _, p99, ..] = lost.latency_permille(|_| true);
    let scene = scene_1ms(400);
    let pace = Pace::Bursts { packets: BURST, every: Nanos(5 * scene.rtt.0) };
    let ended = Scene { data_loss: ONE_PERCENT, report_loss: ONE_PERCENT, pace, ..scene }
        .measure(packets * 10);
    let [_, p98, ..] = ended.latency_permille(|repair| repair.number % BURST == BURST - 1);
    vec![
        Figure {
            name: "RTT/1000, p99 of repairs of runs of 32 lost packets".into(),
            value: p99,
            bound: Bound::AtMost(2_800),
        },
        Figure {
            name: "RTT/1000, p98 of repairs of the last packet of a burst at 1 % loss".into(),
            value: p98,
            bound: Bound::AtMost(2_000),
        },
    ]
}

/// Goodput at 10 Gb/s and 50 ms by that without loss.
fn goodput(packets: u64) -> Vec<Figure> {
    let cells = [
        (1_500, 250, 1_000, 950),
        (9_000, 250, 1_000, 950),
        (1_500, 200, 1_000, 930),
        (9_000, 200, 1_000, 930),
        (1_500, 400, 10_000, 960),
        (9_000, 400, 10_000, 960),
        (1_500, 800, 300_000, 620),
        (9_000, 800, 300_000, 620),
    ];
    cells.map(|cell| goodput_of(cell, packets)).into()
}

fn goodput_of(
    (bytes, window_percent, loss_ppm, bound): (u32, u64, u64, u64),
    packets: u64,
) -> Figure {
    let loss = Loss::Independent(Odds::ppm(loss_ppm));
    let rtt = Nanos::from_millis(50);
    let scene = Scene::new(TEN_GIGABITS, rtt, bytes, window_percent);
    let clean = Scene { tolerance: Nanos::from_micros(50), ..scene };
    let lossless = clean.measure(packets / 4).goodput_permille();
    let lossy = Scene { data_loss: loss, report_loss: loss, ..clean }.measure(packets);
    Figure {
        name: format!(
            "goodput/1000 of lossless, 10 Gb/s x 50 ms, MTU {bytes}, window {window_percent} %, \
             loss {loss_ppm} ppm both ways"
        ),
        value: lossy.goodput_permille() * 1_000 / lossless.max(1),
        bound: Bound::AtLeast(bound),
    }
}

/// A converter at 80 % of the line before a host that pauses for 3 ms.
fn rings(packets: u64) -> Vec<Figure> {
    let line = LinkSpec::clean(TEN_GIGABITS, Nanos(0));
    let pause = Nanos::from_millis(3);
    let wire_time = line.wire_time(1_500);
    let by_rule = (pause.0 / wire_time.0) as u32;
    let scene = Scene {
        window: by_rule,
        pace: Pace::Converter(Nanos(wire_time.0 * 10 / 8)),
        pause,
        pause_every: Nanos::from_millis(50),
        ..Scene::new(TEN_GIGABITS, Nanos::from_micros(100), 1_500, 100)
    };
    let kept = scene.measure(packets).tally.indexes_in_gaps;
    let lost = Scene { window: by_rule / 2, ..scene }.measure(packets).tally.indexes_in_gaps;
    vec![
        Figure {
            name: format!("samples lost, ring of {by_rule} packets (line rate x 3 ms)"),
            value: kept,
            bound: Bound::AtMost(0),
        },
        Figure {
            name: "samples named as overflow, half that ring (the checker holds each index)".into(),
            value: lost,
            bound: Bound::AtLeast(1),
        },
    ]
}

pub(super) fn scene_1ms(window_percent: u64) -> Scene {
    Scene::new(TEN_GIGABITS, Nanos::from_millis(1), 1_500, window_percent)
}

const TEN_GIGABITS: u64 = 10_000_000_000;
pub(super) const ONE_PERCENT: Loss = Loss::Independent(Odds::ppm(10_000));
/// Packets of a burst of data.
const BURST: u32 = 64;
