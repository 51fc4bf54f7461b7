//! The figure: a panel for each MTU, goodput over window, a line for each share of damage.

use std::path::Path;

use super::damage_words;
use super::results::{Point, Results};
use crate::failure::Failure;
use crate::plot::{self, Line, Panel};

/// Draws the medians.
///
/// # Errors
/// [`Failure::Output`].
pub(super) fn draw(results: &Results, path: &Path) -> Result<(), Failure> {
    let mut panels: Vec<Panel> = results.mtus.iter().map(|&mtu| panel(results, mtu)).collect();
    let values = panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    // All panels have the same axis.
    let highest_gbps = values.map(|point| point.1).fold(1e-3, f64::max);
    for panel in &mut panels {
        panel.y_max = 1.1 * highest_gbps;
    }
    plot::draw(&panels, path)
}

fn panel(results: &Results, mtu: u16) -> Panel {
    let of_damage = |&damage: &f64| {
        let point = |&window: &u32| {
            let bps = results.median_bps(&Point { mtu, window, damage })?;
            Some((f64::from(window), bps / 1e9))
        };
        let points = results.windows.iter().filter_map(point).collect();
        Line { label: damage_words(damage), points, is_reference: false }
    };
    let windows = || results.windows.iter().map(|&window| f64::from(window));
    let (least, most) = (windows().fold(f64::MAX, f64::min), windows().fold(1.0, f64::max));
    let peers = results.peers_of(mtu).map(|(peer, bps)| Line {
        label: format!("iperf3 {}", peer.transport.name()),
        points: vec![(least, bps / 1e9), (most, bps / 1e9)],
        is_reference: true,
    });
    Panel {
        caption: format!("MTU {mtu}"),
        x_name: "window in packets",
        y_name: "goodput in Gb/s",
        y_max: 0.0,
        lines: results.damages.iter().map(of_damage).chain(peers).collect(),
    }
}
