//! The counts of all ports at one moment.

use std::time::Duration;

use samplewire_io::ether::EtherError;

use super::driver::Driver;
use super::json;
use crate::console::Console;
use crate::figures::{grouped, measured};
use crate::metrics::PortFigures;

/// All ports of `driver`.
///
/// # Errors
/// The counters of a link cannot be read.
pub(super) fn look(driver: &mut Driver) -> Result<Vec<PortFigures>, EtherError> {
    let switch = &driver.switch;
    let ports = driver.ports.iter_mut().zip(switch.ports()).enumerate();
    let figures = ports.map(|(at, (port, counts))| {
        Ok(PortFigures {
            name: port.link.name().to_owned(),
            counts: *counts,
            queue_bytes: switch.queued_bytes(at),
            kmin_bytes: switch.marking().map_or(0, |marking| marking.min_bytes),
            kmax_bytes: switch.marking().map_or(0, |marking| marking.max_bytes),
            link_dropped: port.link.dropped()?,
            link_refused: port.unsent,
        })
    });
    figures.collect()
}

/// What happened at each port between two looks, `span` of the switch's clock apart.
pub(super) fn interval(
    before: &[PortFigures],
    after: &[PortFigures],
    bps: u64,
    span: Duration,
) -> Vec<json::PortInterval> {
    let room_bytes = bps as f64 / 8.0 * span.as_secs_f64();
    let ports = before.iter().zip(after).map(|(before, after)| {
        let (then, now) = (&before.counts, &after.counts);
        let bytes_out = now.bytes_out - then.bytes_out;
        json::PortInterval {
            bytes_in: now.bytes_in - then.bytes_in,
            bytes_out,
            bytes_forwarded: now.bytes_forwarded - then.bytes_forwarded,
            utilisation: if room_bytes > 0.0 { bytes_out as f64 / room_bytes } else { 0.0 },
            marked: now.marked - then.marked,
            dropped: now.dropped - then.dropped,
            cnp_forwarded: now.cnp_forwarded - then.cnp_forwarded,
            cnp_forged: now.cnp_forged - then.cnp_forged,
            cnp_refused: now.cnp_refused - then.cnp_refused,
            queue_bytes: after.queue_bytes,
        }
    });
    ports.collect()
}

/// `out of r 9.95 Gb/s (99.5 %), queue 45.1 kB, 312 marks, 0 drops`: the port that sent the most. CNPs
/// of all ports follow where there are any.
pub(super) fn words(names: &[PortFigures], ports: &[json::PortInterval], bps: u64) -> String {
    let busiest = names.iter().zip(ports).max_by_key(|(_, port)| port.bytes_out);
    let Some((figures, port)) = busiest else { return String::new() };
    let drops: u64 = ports.iter().map(|port| port.dropped).sum();
    let sum = |of: fn(&json::PortInterval) -> u64| ports.iter().map(of).sum::<u64>();
    let (forwarded, forged) = (sum(|it| it.cnp_forwarded), sum(|it| it.cnp_forged));
    let cnps = match forwarded + forged + sum(|it| it.cnp_refused) {
        0 => String::new(),
        _ => format!(
            ", CNPs: {} forwarded, {} forged, {} refused",
            grouped(forwarded),
            grouped(forged),
            grouped(sum(|it| it.cnp_refused))
        ),
    };
    format!(
        "out of {} {} ({:.1} %), queue {}, {} marks, {} drops{cnps}",
        figures.name,
        measured(port.utilisation * bps as f64, "b/s"),
        port.utilisation * 100.0,
        measured(port.queue_bytes as f64, "B"),
        grouped(port.marked),
        grouped(drops)
    )
}

/// Prints the sums, a line for each port, and a line for what is not zero.
pub(super) fn print(console: &mut Console, ports: &[PortFigures]) {
    for PortFigures { name, counts, link_dropped, link_refused, .. } in ports {
        console.line(format_args!(
            "port {name}: {} frames in, {} out; {} and {} of wire; longest queue {}",
            grouped(counts.frames_in),
            grouped(counts.frames_out),
            measured(counts.bytes_in as f64, "B"),
            measured(counts.bytes_out as f64, "B"),
            measured(counts.queue_bytes_max as f64, "B")
        ));
        let others = [
            (counts.marked, "marked"),
            (counts.dropped, "dropped: the buffer was full"),
            (counts.lost, "lost at random"),
            (counts.filtered, FILTERED),
            (counts.cnp_forwarded, "CNPs forwarded"),
            (counts.cnp_forged, "CNPs forged"),
            (counts.cnp_refused, "CNPs refused: queue pair not known, or buffer full"),
            (link_dropped.unwrap_or(0), "dropped by the link before this process read them"),
            (*link_refused, "not taken by the link"),
        ];
        let words: Vec<String> = others
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, words)| format!("{} {words}", grouped(*count)))
            .collect();
        if !words.is_empty() {
            console.line(format_args!("  {}", words.join(", ")));
        }
    }
}

const FILTERED: &str = "not forwarded: link-local, for the same port, or not 14 to 9,216 bytes";
