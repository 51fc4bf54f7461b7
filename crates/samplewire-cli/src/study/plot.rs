//! The figure: a panel for each MTU, goodput over window, a line for each share of damage.

use std::error::Error;
use std::io;
use std::path::Path;

use plotters::prelude::*;

use super::damage_words;
use super::results::{Point, Results};
use crate::failure::Failure;

/// Draws the medians.
///
/// # Errors
/// [`Failure::Output`].
pub(super) fn draw(results: &Results, path: &Path) -> Result<(), Failure> {
    draw_panels(results, path).map_err(|error| Failure::Output {
        path: path.display().to_string(),
        source: io::Error::other(error.to_string()),
    })
}

fn draw_panels(results: &Results, path: &Path) -> Result<(), Box<dyn Error>> {
    let width = PANEL_WIDTH * results.mtus.len() as u32;
    let root = SVGBackend::new(path, (width, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    let (least, most) = (low(&results.windows), high(&results.windows));
    let top = highest_gbps(results) * 1.1;
    for (area, &mtu) in root.split_evenly((1, results.mtus.len())).iter().zip(&results.mtus) {
        let mut chart = ChartBuilder::on(area)
            .caption(format!("MTU {mtu}"), ("sans-serif", 16))
            .margin(10)
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(48)
            .build_cartesian_2d((least..most).log_scale().base(2.0), 0.0..top)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .x_desc("window in packets")
            .y_desc("goodput in Gb/s")
            .x_label_formatter(&|window| format!("{window:.0}"))
            .draw()?;
        for (place, &damage) in results.damages.iter().enumerate() {
            let colour = Palette99::pick(place).to_rgba();
            let points: Vec<(f64, f64)> = results
                .windows
                .iter()
                .filter_map(|&window| {
                    let bps = results.median_bps(&Point { mtu, window, damage })?;
                    Some((f64::from(window), bps / 1e9))
                })
                .collect();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour).point_size(3))?
                .label(damage_words(damage))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        }
        for (place, (peer, bps)) in results.peers_of(mtu).enumerate() {
            let colour = BLACK.mix(0.4 + 0.4 * place as f64);
            let ends = [(least, bps / 1e9), (most, bps / 1e9)];
            chart
                .draw_series(DashedLineSeries::new(ends, 6, 4, colour.into()))?
                .label(format!("iperf3 {}", peer.transport.name()))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    root.present()?;
    Ok(())
}

fn low(windows: &[u32]) -> f64 {
    f64::from(windows.iter().copied().min().unwrap_or(1))
}

/// The axis must not have a length of zero.
fn high(windows: &[u32]) -> f64 {
    f64::from(windows.iter().copied().max().unwrap_or(1)).max(2.0 * low(windows))
}

fn highest_gbps(results: &Results) -> f64 {
    let points = results.mtus.iter().flat_map(|&mtu| {
        let of_window = move |window| {
            results
                .damages
                .iter()
                .filter_map(move |&damage| results.median_bps(&Point { mtu, window, damage }))
        };
        let own = results.windows.iter().flat_map(move |&window| of_window(window));
        own.chain(results.peers_of(mtu).map(|(_, bps)| bps))
    });
    points.fold(1e6, f64::max) / 1e9
}

const PANEL_WIDTH: u32 = 520;
const HEIGHT: u32 = 400;
