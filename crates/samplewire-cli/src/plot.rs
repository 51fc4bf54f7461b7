//! A figure of panels side by side: lines over a logarithmic axis, as SVG.

use std::error::Error;
use std::io;
use std::path::Path;

use plotters::prelude::*;

use crate::failure::Failure;

/// One chart.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) caption: String,
    /// What the axes show, with their units.
    pub(crate) x_name: &'static str,
    pub(crate) y_name: &'static str,
    /// The highest value of the vertical axis, which begins at 0.
    pub(crate) y_max: f64,
    pub(crate) lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// Horizontal values are above 0.
    pub(crate) points: Vec<(f64, f64)>,
    /// Something else to compare with: dashed, without a mark at each point.
    pub(crate) is_reference: bool,
}

/// Draws the panels.
///
/// # Errors
/// [`Failure::File`].
pub(crate) fn draw(panels: &[Panel], path: &Path) -> Result<(), Failure> {
    let fail = Failure::of_file(path);
    draw_panels(panels, path).map_err(|error| fail(io::Error::other(error.to_string())))
}

fn draw_panels(panels: &[Panel], path: &Path) -> Result<(), Box<dyn Error>> {
    let width = PANEL_WIDTH * panels.len() as u32;
    let root = SVGBackend::new(path, (width, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, panel) in root.split_evenly((1, panels.len())).iter().zip(panels) {
        let xs = panel.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
        let least = xs.clone().fold(f64::MAX, f64::min).min(1e18);
        // The axis must not have a length of zero.
        let most = xs.fold(0.0, f64::max).max(2.0 * least);
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.caption, ("sans-serif", 16))
            .margin(10)
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d((least..most).log_scale().base(2.0), 0.0..panel.y_max)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .x_desc(panel.x_name)
            .y_desc(panel.y_name)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .draw()?;
        let mut references = 0;
        for (place, line) in panel.lines.iter().enumerate() {
            let points = line.points.iter().copied();
            let (drawn, colour) = if line.is_reference {
                let colour = BLACK.mix(0.4 + 0.4 * f64::from(references));
                references += 1;
                (chart.draw_series(DashedLineSeries::new(points, 6, 4, colour.into()))?, colour)
            } else {
                let colour = Palette99::pick(place).to_rgba();
                (chart.draw_series(LineSeries::new(points, colour).point_size(3))?, colour)
            };
            drawn
                .label(&line.label)
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
