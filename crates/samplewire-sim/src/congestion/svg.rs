//! A run as a drawing: throughput, `R_C`, queue and notifications over time.

use std::io::{self, Write};

use super::Timeline;

/// Draws a run from its start; `title` stands above it.
///
/// # Errors
///
/// Those of `out`.
pub fn write_congestion_svg(
    timeline: &Timeline,
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Timeline { flows, bytes, rates_bps, notifications, queue_bytes } = timeline;
    let of = |flow: usize, series: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..queue_bytes.len()).map(|step| series(step * flows + flow)).collect()
    };
    // Bytes of 1 ms in Gb/s.
    let throughput = |at: usize| bytes[at] as f64 * 8.0 / 1e6;
    let rate = |at: usize| rates_bps[at] as f64 / 1e9;
    let notified = |at: usize| f64::from(notifications[at]);
    let every = |series: &dyn Fn(usize) -> f64| (0..*flows).map(|flow| of(flow, series)).collect();
    let queue = queue_bytes.iter().map(|&bytes| bytes as f64 / 1e3).collect();
    let panels = [
        Panel { title: "throughput, Gb/s", series: every(&throughput) },
        Panel { title: "R_C, Gb/s", series: every(&rate) },
        Panel { title: "longest queue of each ms, KB", series: vec![queue] },
        Panel { title: "notifications per ms", series: every(&notified) },
    ];
    let (width, height) = (WIDTH + 2 * MARGIN, panels.len() as u64 * PITCH + MARGIN);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n<text x=\"{MARGIN}\" y=\"16\" font-size=\"13\">{title}</text>"
    )?;
    for (number, panel) in panels.iter().enumerate() {
        panel.write(MARGIN + number as u64 * PITCH, out)?;
    }
    writeln!(out, "</svg>")
}

struct Panel {
    title: &'static str,
    series: Vec<Vec<f64>>,
}

impl Panel {
    fn write(&self, top: u64, out: &mut dyn Write) -> io::Result<()> {
        let steps = self.series.iter().map(Vec::len).max().unwrap_or(0).max(2);
        let highest = self.series.iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
        let scale = nice_above(highest);
        let (left, bottom) = (MARGIN, top + HEIGHT);
        writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" \
             stroke=\"#999\"/>\n<text x=\"{left}\" y=\"{}\">{}</text>",
            top - 5,
            self.title
        )?;
        for part in [0.0, 0.5, 1.0] {
            let y = bottom as f64 - HEIGHT as f64 * part;
            writeln!(
                out,
                "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
                left - 5,
                y + 4.0,
                scale * part
            )?;
        }
        let x = |step: f64| left as f64 + WIDTH as f64 * step / (steps - 1) as f64;
        for tick in (0..=steps).step_by(100) {
            let x = x(tick as f64);
            let y = bottom + 13;
            writeln!(out, "<text x=\"{x:.0}\" y=\"{y}\" text-anchor=\"middle\">{tick} ms</text>")?;
        }
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let y = |value: f64| bottom as f64 - HEIGHT as f64 * value / scale;
            let points: Vec<String> = series
                .iter()
                .enumerate()
                .map(|(step, &value)| format!("{:.1},{:.1}", x(step as f64), y(value)))
                .collect();
            writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>",
                points.join(" ")
            )?;
            if self.series.len() > 1 && number < COLOURS.len() {
                let (x, y, name) = (left + 160 + 60 * number as u64, top - 5, number + 1);
                writeln!(out, "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">sender {name}</text>")?;
            }
        }
        Ok(())
    }
}

/// The next of 1, 2 and 5 times a power of ten; a value may exceed it by 2 %, so that a link in full
/// use fills its panel.
pub(super) fn nice_above(value: f64) -> f64 {
    let power = 10f64.powf((value.max(1e-9) / 1.02).log10().floor());
    let found = [1.0, 2.0, 5.0, 10.0].into_iter().find(|&step| 1.02 * step * power >= value);
    found.unwrap_or(10.0) * power
}

const WIDTH: u64 = 700;
const HEIGHT: u64 = 110;
const PITCH: u64 = 150;
const MARGIN: u64 = 44;
/// Distinct for people who do not see red and green apart (Okabe and Ito 2008).
pub(super) const COLOURS: [&str; 6] =
    ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"];
