//! The drawing of a sweep: heat maps, and the front with each preset marked.

use std::io::{self, Write};

use samplewire_proto::rate::WireRate;

use super::super::svg::{COLOURS, nice_above};
use super::draw::megabits;
use super::{Point, pareto_front};

/// Draws heat maps of every figure over two pairs of parameters, and the front.
///
/// # Errors
///
/// Those of `out`.
pub fn write_explore_svg(points: &[Point], out: &mut dyn Write) -> io::Result<()> {
    let figures: [Figure; 5] = [
        ("utilisation", |point| point.utilisation),
        ("Jain", |point| point.jain),
        ("queue p99, KB", |point| point.queue_kb),
        ("join, ms", |point| point.join_ms),
        ("leave, ms", |point| point.leave_ms),
    ];
    let width = figures.len() as u64 * PITCH + 20;
    let height = (PAIRS.len() as u64 + 2) * PITCH;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    )?;
    for (row, (across, up)) in PAIRS.iter().enumerate() {
        for (column, figure) in figures.iter().enumerate() {
            let (left, top) = (column as u64 * PITCH + 50, row as u64 * PITCH + 30);
            write_map(points, across, up, figure, left, top, out)?;
        }
    }
    write_front(points, PAIRS.len() as u64 * PITCH + 30, out)?;
    writeln!(out, "</svg>")
}

type Figure = (&'static str, fn(&Point) -> f64);

/// A value that has a logarithm: a rate that rounds to 0 counts as the lowest one above it.
fn value(point: &Point, name: &str) -> f64 {
    let values = point.parameters.values();
    let value = values.iter().find(|value| value.0 == name).map_or(f64::NAN, |value| value.1);
    if name.ends_with("_mbps") { value.max(megabits(WireRate::from_raw(1))) } else { value }
}

/// The mean of a figure in each cell of two parameters, both by their logarithms.
fn write_map(
    points: &[Point],
    across: &str,
    up: &str,
    (title, figure): &Figure,
    left: u64,
    top: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let range = |name: &str| {
        let values = points.iter().map(|point| value(point, name).ln());
        values.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)))
    };
    let (x_range, y_range) = (range(across), range(up));
    let cell = |value: f64, (low, high): (f64, f64)| {
        let share = (value.ln() - low) / (high - low).max(f64::MIN_POSITIVE);
        ((share * CELLS as f64) as usize).min(CELLS - 1)
    };
    let mut sums = vec![(0.0, 0.0); CELLS * CELLS];
    for point in points.iter().filter(|point| figure(point).is_finite()) {
        let place = cell(value(point, up), y_range) * CELLS + cell(value(point, across), x_range);
        sums[place] = (sums[place].0 + figure(point), sums[place].1 + 1.0);
    }
    let means = |&(sum, count): &(f64, f64)| (count > 0.0).then(|| sum / count);
    let all = sums.iter().filter_map(means);
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(it), b.max(it)));
    writeln!(out, "<text x=\"{left}\" y=\"{}\">{title}: {low:.3} to {high:.3}</text>", top - 6)?;
    for (place, sum) in sums.iter().enumerate() {
        let Some(mean) = means(sum) else { continue };
        let share = (mean - low) / (high - low).max(f64::MIN_POSITIVE);
        let (x, y) =
            ((place % CELLS) as u64 * SIDE + left, top + (CELLS - 1 - place / CELLS) as u64 * SIDE);
        let shade = 255 - (share * 220.0) as u64;
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" \
             fill=\"rgb({shade},{shade},255)\"/>"
        )?;
    }
    for point in points {
        let Some(preset) = point.preset() else { continue };
        let x = left + cell(value(point, across), x_range) as u64 * SIDE + SIDE / 2;
        let y = top + (CELLS - 1 - cell(value(point, up), y_range)) as u64 * SIDE + SIDE / 2;
        let (letter, y) = (&preset.name()[..1], y + 4);
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" fill=\"#D55E00\">{letter}</text>")?;
    }
    let bottom = top + CELLS as u64 * SIDE + 12;
    let (x0, x1) = (x_range.0.exp(), x_range.1.exp());
    let (y0, y1) = (y_range.0.exp(), y_range.1.exp());
    writeln!(out, "<text x=\"{left}\" y=\"{bottom}\">{across} {x0:.3} to {x1:.1}</text>")?;
    writeln!(out, "<text x=\"{left}\" y=\"{}\">{up} {y0:.3} to {y1:.1}</text>", bottom + 11)
}

/// Utilisation over the queue, points of the front filled, presets named.
fn write_front(points: &[Point], top: u64, out: &mut dyn Write) -> io::Result<()> {
    let front = pareto_front(points);
    let (left, width, height) = (60u64, 4 * PITCH, PITCH + 60);
    let queue_max = nice_above(points.iter().map(|point| point.queue_kb).fold(0.0, f64::max));
    let lowest = points.iter().map(|point| point.utilisation).fold(1.0, f64::min);
    writeln!(
        out,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
         stroke=\"#999\"/>\n<text x=\"{left}\" y=\"{}\">utilisation {lowest:.3} to 1, over the \
         queue's p99, 0 to {queue_max} KB; filled: the front of all five figures</text>",
        top - 6
    )?;
    for point in points {
        let x = left as f64 + width as f64 * point.queue_kb / queue_max;
        let share = (point.utilisation - lowest) / (1.0 - lowest).max(f64::MIN_POSITIVE);
        let y = (top + height) as f64 - height as f64 * share.min(1.0);
        let is_best = front.binary_search(&point.number).is_ok();
        let colour = COLOURS[if point.preset().is_some() { 5 } else { 0 }];
        let fill = if is_best { colour } else { "none" };
        writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{colour}\"/>"
        )?;
        if let Some(preset) = point.preset() {
            let (x, name) = (x + 5.0, preset.name());
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{name}</text>")?;
        }
    }
    Ok(())
}

/// Parameters that the maps are over.
const PAIRS: [(&str, &str); 4] =
    [("t_us", "rai_mbps"), ("kmin_kb", "kmax_kb"), ("g", "pmax"), ("b_kb", "rhai_mbps")];
const CELLS: usize = 8;
const SIDE: u64 = 15;
const PITCH: u64 = 190;
