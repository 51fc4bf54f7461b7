//! The figure of `roce bench`: throughput and latency over the length of a message, a line for each MTU.

use std::error::Error;
use std::io;
use std::path::Path;

use plotters::prelude::*;

use super::bench::Point;
use crate::failure::Failure;

/// # Errors
/// [`Failure::Output`].
pub(super) fn draw(points: &[Point], path: &Path) -> Result<(), Failure> {
    draw_panels(points, path).map_err(|error| Failure::Output {
        path: path.display().to_string(),
        source: io::Error::other(error.to_string()),
    })
}

/// What a panel shows of a point.
type Value = fn(&Point) -> f64;

fn draw_panels(points: &[Point], path: &Path) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (2 * PANEL_WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    let panels: [(&str, Value); 2] = [
        ("throughput in Gb/s", |point| point.bits_per_second / 1e9),
        ("latency in us, half of the messages", |point| point.latency_p50_ns as f64 / 1e3),
    ];
    for (area, (name, value)) in root.split_evenly((1, 2)).iter().zip(panels) {
        let lengths = points.iter().map(|point| f64::from(point.message_bytes));
        let least = lengths.clone().fold(f64::INFINITY, f64::min).min(1e9);
        // The axis must not have a length of zero.
        let most = lengths.fold(0.0, f64::max).max(2.0 * least);
        let top = points.iter().map(value).fold(1e-3, f64::max) * 1.1;
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d((least..most).log_scale().base(2.0), 0.0..top)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .x_desc("bytes of a message")
            .y_desc(name)
            .x_label_formatter(&|bytes| format!("{bytes:.0}"))
            .draw()?;
        let mut mtus: Vec<u32> = points.iter().map(|point| point.mtu_bytes).collect();
        mtus.dedup();
        for (place, mtu) in mtus.into_iter().enumerate() {
            let colour = Palette99::pick(place).to_rgba();
            let of_mtu = points.iter().filter(|point| point.mtu_bytes == mtu);
            let line = of_mtu.map(|point| (f64::from(point.message_bytes), value(point)));
            chart
                .draw_series(LineSeries::new(line, colour).point_size(3))?
                .label(format!("MTU {mtu}"))
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

const PANEL_WIDTH: u32 = 520;
const HEIGHT: u32 = 400;
