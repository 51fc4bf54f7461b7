//! The figures as a drawing: goodput and p98 over loss, a line for each window.

use std::io::{self, Write};

use super::RepairRow;

/// Writes one drawing with a pair of plots for each round trip.
///
/// # Errors
/// Those of `out`.
pub fn write_svg(rows: &[RepairRow], out: &mut dyn Write) -> io::Result<()> {
    let mut rtts: Vec<u64> = rows.iter().map(|row| row.rtt.0).collect();
    rtts.dedup();
    let height = PLOT_HEIGHT * rtts.len() as u64;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">",
        2 * PLOT_WIDTH
    )?;
    for (place, rtt_ns) in rtts.iter().enumerate() {
        let top = PLOT_HEIGHT * place as u64;
        let of_rtt: Vec<&RepairRow> = rows.iter().filter(|row| row.rtt.0 == *rtt_ns).collect();
        let rtt_us = rtt_ns / 1_000;
        let goodput = Plot {
            left: 0,
            top,
            title: format!("goodput, RTT {rtt_us} us; dashed: RoCEv2's go-back-N"),
            value: |row| row.goodput_permille,
            dashed: Some(|row| row.go_back_n_permille),
            value_max: 1_000,
        };
        let p98 = Plot {
            left: PLOT_WIDTH,
            top,
            title: format!("p98 of repairs in RTT, RTT {rtt_us} us"),
            value: |row| row.latency_permille[1],
            dashed: None,
            value_max: 4_000,
        };
        goodput.write(&of_rtt, out)?;
        p98.write(&of_rtt, out)?;
    }
    writeln!(out, "</svg>")
}

struct Plot {
    left: u64,
    top: u64,
    title: String,
    value: Value,
    dashed: Option<Value>,
    value_max: u64,
}

type Value = fn(&RepairRow) -> u64;

impl Plot {
    fn write(&self, rows: &[&RepairRow], out: &mut dyn Write) -> io::Result<()> {
        let (left, top) = (self.left + MARGIN, self.top + MARGIN);
        let (width, height) = (PLOT_WIDTH - 2 * MARGIN, PLOT_HEIGHT - 2 * MARGIN);
        writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"#999\"/>\n<text x=\"{left}\" y=\"{}\">{}</text>",
            top - 6,
            self.title
        )?;
        let mut losses: Vec<u64> = rows.iter().map(|row| row.loss_ppm).collect();
        losses.sort_unstable();
        losses.dedup();
        let x = |loss: u64| {
            let place = losses.iter().position(|&known| known == loss).unwrap_or(0) as u64;
            left + width * (2 * place + 1) / (2 * losses.len() as u64)
        };
        let y = |value: u64| top + height - height * value.min(self.value_max) / self.value_max;
        for &loss in &losses {
            let percent = match loss {
                0..1_000 => format!("{loss} ppm"),
                _ => format!("{}.{}%", loss / 10_000, loss / 1_000 % 10),
            };
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\">{percent}</text>",
                x(loss) - 14,
                top + height + 14
            )?;
        }
        for step in 0..=4 {
            let value = self.value_max * step / 4;
            let label = format!("{}.{:02}", value / 1_000, value / 10 % 100);
            writeln!(out, "<text x=\"{}\" y=\"{}\">{label}</text>", left - 30, y(value) + 4)?;
        }
        let mut windows: Vec<u64> = rows.iter().map(|row| row.window_percent).collect();
        windows.sort_unstable();
        windows.dedup();
        for (number, window) in windows.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let points = |value: Value| {
                let of_window = rows.iter().filter(|row| row.window_percent == *window);
                let points: Vec<String> =
                    of_window.map(|row| format!("{},{}", x(row.loss_ppm), y(value(row)))).collect();
                points.join(" ")
            };
            if let Some(dashed) = self.dashed {
                writeln!(
                    out,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" \
                     stroke-dasharray=\"5 4\"/>",
                    points(dashed)
                )?;
            }
            writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
                 <text x=\"{}\" y=\"{}\" fill=\"{colour}\">window {window}%</text>",
                points(self.value),
                left + 8,
                top + height - 8 - 14 * number as u64
            )?;
        }
        Ok(())
    }
}

const PLOT_WIDTH: u64 = 420;
const PLOT_HEIGHT: u64 = 260;
const MARGIN: u64 = 36;
/// Distinct for people who do not see red and green apart (Okabe and Ito 2008).
const COLOURS: [&str; 4] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"];
