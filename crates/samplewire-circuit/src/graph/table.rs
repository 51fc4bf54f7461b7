//! Reports as tables, for people.

use std::fmt;
use std::time::Duration;

use crate::graph::report::{BlockReport, CircuitReport, Report};

/// ```text
/// block       kind       group       calls         samples  busy %   starved   blocked
/// receiver    source         0        1000        16000000     1.2         3         0
///
/// circuit       quanta  samples each          rate      latency at most
/// wire              16         16000     250 MS/s              1.024 ms
/// ```
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = widest(self.blocks.iter().map(|block| &*block.name), "block");
        let (block, kind) = ("block", "kind");
        writeln!(
            f,
            "{block:wide$}  {kind:9}  {:>5}  {:>10}  {:>14}  {:>6}  {:>8}  {:>8}",
            "group", "calls", "samples", "busy %", "starved", "blocked"
        )?;
        for BlockReport { name, kind, counters, group } in &self.blocks {
            let group = group.map_or_else(|| "all".to_owned(), |group| group.to_string());
            let busy = counters.busy_percent(self.elapsed);
            writeln!(
                f,
                "{name:wide$}  {kind:9}  {group:>5}  {:>10}  {:>14}  {busy:>6.1}  {:>8}  {:>8}",
                counters.calls, counters.samples, counters.starved, counters.blocked
            )?;
        }
        let wide = widest(self.circuits.iter().map(|circuit| &*circuit.name), "circuit");
        let (circuit, heading) = ("circuit", "rate");
        write!(
            f,
            "\n{circuit:wide$}  {:>8}  {:>12}  {heading:>12}  {:>15}",
            "quanta", "samples each", "latency at most"
        )?;
        for circuit in &self.circuits {
            let CircuitReport { name, quanta, len, .. } = circuit;
            let rate = rate(circuit.rate_hz);
            let latency = latency(circuit.latency_max());
            write!(f, "\n{name:wide$}  {quanta:>8}  {len:>12}  {rate:>12}  {latency:>15}")?;
        }
        Ok(())
    }
}

/// The length of the longest of these words.
fn widest<'a>(names: impl Iterator<Item = &'a str>, heading: &str) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0).max(heading.len())
}

/// A rate in samples per second, in words.
pub(super) fn rate(rate_hz: f64) -> String {
    let scale = |unit: f64, name: &str| format!("{} {name}", (rate_hz / unit * 1e3).round() / 1e3);
    match rate_hz {
        hz if hz >= 1e9 => scale(1e9, "GS/s"),
        hz if hz >= 1e6 => scale(1e6, "MS/s"),
        hz if hz >= 1e3 => scale(1e3, "kS/s"),
        hz if hz > 0.0 => scale(1.0, "S/s"),
        _ => "not known".to_owned(),
    }
}

/// A span of time, in words.
pub(super) fn latency(span: Option<Duration>) -> String {
    span.map_or_else(|| "not known".to_owned(), |span| format!("{span:.3?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Counters;

    #[test]
    fn table_has_a_line_for_each_block_and_circuit() {
        let counters = Counters {
            calls: 1_000,
            samples: 16_000_000,
            busy: Duration::from_millis(12),
            ..Counters::default()
        };
        let block =
            |name: &str, kind, group| BlockReport { name: name.into(), kind, counters, group };
        let circuit = |name: &str, rate_hz| CircuitReport {
            name: name.into(),
            quanta: 16,
            len: 16_000,
            rate_hz,
        };
        let report = Report {
            blocks: vec![
                block("receiver", "source", Some(0)),
                block("a long name", "transform", None),
            ],
            circuits: vec![circuit("wire", 250e6), circuit("unknown", 0.0)],
            elapsed: Duration::from_secs(1),
        };
        assert_eq!(
            report.to_string(),
            "\
block        kind       group       calls         samples  busy %   starved   blocked
receiver     source         0        1000        16000000     1.2         0         0
a long name  transform    all        1000        16000000     1.2         0         0

circuit    quanta  samples each          rate  latency at most
wire           16         16000      250 MS/s          1.024ms
unknown        16         16000     not known        not known"
        );
    }

    #[test]
    fn rates_are_in_the_unit_that_fits() {
        let rates = [31.25e6, 1.25e9, 48e3, 8.0, 0.0].map(rate);
        assert_eq!(rates, ["31.25 MS/s", "1.25 GS/s", "48 kS/s", "8 S/s", "not known"]);
    }
}
