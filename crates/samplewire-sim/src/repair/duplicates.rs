//! Repeats that were not needed, without reordering and with reordering beyond the tolerance.

use samplewire_io::faults::Loss;
use samplewire_proto::{Nanos, Odds};

use super::figures::{ONE_PERCENT, scene_1ms};
use super::{Bound, Figure, Scene};

/// Unneeded repeats by all repeats, and by all departures.
pub(super) fn duplicates(packets: u64) -> Vec<Figure> {
    let lossy = Scene { data_loss: ONE_PERCENT, report_loss: ONE_PERCENT, ..scene_1ms(400) };
    let mut figures = vec![Figure {
        name: "unneeded in a million repeats, 1 % loss, no reordering".into(),
        value: lossy.measure(packets).unneeded_ppm(),
        bound: Bound::AtMost(1_000),
    }];
    for times in [2, 4, 10, BEYOND_BOUND] {
        let reordered = Scene { reorder_by: Nanos(times * lossy.tolerance.0), ..lossy };
        let reordered = Scene { reorder: Odds::ppm(10_000), ..reordered };
        let late = format!("1 % late by up to {times} times the tolerance");
        let measured = reordered.measure(packets);
        figures.push(if times < BEYOND_BOUND {
            Figure {
                name: format!("unneeded in a million repeats, 1 % loss, {late}"),
                value: measured.unneeded_ppm(),
                bound: Bound::AtMost(10_000),
            }
        } else {
            Figure {
                name: format!("unneeded in a million departures, 1 % loss, {late}"),
                value: measured.unneeded_of_departures_ppm(),
                bound: Bound::AtMost(10_000),
            }
        });
        let [_, p98, ..] = measured.latency_permille(|_| true);
        figures.push(Figure {
            name: format!("RTT/1000, p98 of repairs at 1 % loss, {late}"),
            value: p98,
            bound: Bound::AtMost(2_250),
        });
        // Without loss each repeat is unneeded: what counts is how few there are.
        let lossless = Scene { data_loss: Loss::None, report_loss: Loss::None, ..reordered };
        figures.push(Figure {
            name: format!("unneeded in a million departures, no loss, {late}"),
            value: lossless.measure(packets / 4).unneeded_of_departures_ppm(),
            bound: Bound::AtMost(10_000),
        });
    }
    figures
}

/// So many times the tolerance is more than a receiver waits (`docs/protocol.md#4.11`).
const BEYOND_BOUND: u64 = 20;
