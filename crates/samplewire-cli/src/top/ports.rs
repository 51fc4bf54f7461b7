//! The ports of switches, a line each.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::figures::{grouped, measured};
use crate::metrics::client::Endpoint;
use crate::metrics::tables::SWITCH_PORT;
use crate::metrics::text::Sample;

use super::survey::plain;

/// A port as its process describes it.
#[derive(Clone, Debug)]
pub(super) struct Port {
    /// When the process answered.
    at: Instant,
    key: (Endpoint, String),
    pid: String,
    /// Numbers by name, without the common prefix.
    numbers: BTreeMap<String, f64>,
}

/// The ports of one page, received at `at`.
pub(super) fn ports(endpoint: &Endpoint, samples: &[Sample], at: Instant) -> Vec<Port> {
    let process = samples.iter().find(|sample| sample.name == "samplewire_info");
    let pid = process.map(|it| plain(it.label("pid"))).unwrap_or_default();
    let mut ports: BTreeMap<String, Port> = BTreeMap::new();
    for sample in samples {
        let Some(number) = sample.name.strip_prefix(SWITCH_PORT.prefix) else { continue };
        let name = plain(sample.label("port"));
        let port = ports.entry(name.clone()).or_insert_with(|| Port {
            at,
            key: (endpoint.clone(), name),
            pid: pid.clone(),
            numbers: BTreeMap::new(),
        });
        port.numbers.insert(number.to_owned(), sample.value);
    }
    ports.into_values().collect()
}

/// Follows all ports: the bytes that had left each, and when.
#[derive(Debug, Default)]
pub(super) struct PortHistory {
    before: BTreeMap<(Endpoint, String), (Instant, f64)>,
}

impl PortHistory {
    /// Takes a survey and returns a line for each port.
    pub(super) fn take(&mut self, ports: &[Port]) -> Vec<String> {
        let before = std::mem::take(&mut self.before);
        let line = |port: &Port| {
            let bytes = port.number("wire_bytes_out_total");
            self.before.insert(port.key.clone(), (port.at, bytes));
            let rate = before.get(&port.key).and_then(|(at, then)| {
                let seconds = (port.at - *at).as_secs_f64();
                (seconds > 0.0).then(|| (bytes - then).max(0.0) * 8.0 / seconds)
            });
            port.words(rate)
        };
        ports.iter().map(line).collect()
    }
}

impl Port {
    fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }

    /// `switch 7, port r: 198 Mb/s out, queue 45.1 kB (most 61.2 kB, marks from 40.0 kB on), ...`
    fn words(&self, rate_bps: Option<f64>) -> String {
        let rate = rate_bps.map_or_else(|| "-".into(), |bps| measured(bps.round(), "b/s"));
        let bytes = |name| measured(self.number(name), "B");
        let marks = match self.number("kmin_bytes") {
            0.0 => String::new(),
            _ => format!(", marks from {} on", bytes("kmin_bytes")),
        };
        format!(
            "switch {}, port {}: {rate} out, queue {} (most {}{marks}), {} marked, {} dropped, {} \
             by the link",
            self.pid,
            self.key.1,
            bytes("queue_bytes"),
            bytes("queue_bytes_max"),
            grouped(self.number("marked_total") as u64),
            grouped(self.number("dropped_total") as u64),
            grouped(self.number("link_dropped_total") as u64),
        )
    }
}

/// Ports shown on a screen.
pub(super) const PORTS_SHOWN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::text;

    #[test]
    fn port_is_shown_with_its_rate_and_its_threshold() {
        let page = |bytes: u64| {
            format!(
                "samplewire_info{{pid=\"7\",verb=\"switch\"}} 1\n\
                 samplewire_switch_port_wire_bytes_out_total{{port=\"r\"}} {bytes}\n\
                 samplewire_switch_port_queue_bytes{{port=\"r\"}} 45100\n\
                 samplewire_switch_port_queue_bytes_max{{port=\"r\"}} 61200\n\
                 samplewire_switch_port_kmin_bytes{{port=\"r\"}} 40000\n\
                 samplewire_switch_port_marked_total{{port=\"r\"}} 1234\n"
            )
        };
        let endpoint = Endpoint::Tcp("127.0.0.1:1".parse().unwrap());
        let start = Instant::now();
        let mut history = PortHistory::default();
        let mut look = |bytes, ms| {
            let at = start + Duration::from_millis(ms);
            history.take(&ports(&endpoint, &text::parse(&page(bytes)).unwrap(), at))
        };
        assert!(look(1_000, 0)[0].starts_with("switch 7, port r: - out, queue 45.1 kB"));
        assert_eq!(
            look(12_501_000, 500),
            ["switch 7, port r: 200 Mb/s out, queue 45.1 kB (most 61.2 kB, marks from 40.0 kB \
              on), 1,234 marked, 0 dropped, 0 by the link"]
        );
    }
}
