//! The ports of switches.

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
    pub(super) pid: String,
    /// Numbers by name, without the common prefix.
    pub(super) numbers: BTreeMap<String, f64>,
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

/// A port, and what left by it since the survey before.
#[derive(Debug)]
pub(super) struct ShownPort {
    pub(super) port: Port,
    /// `None` after one survey.
    pub(super) rate: Option<PortRate>,
}

/// A rate of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortRate {
    /// Seconds.
    pub(super) interval: f64,
    /// Of wire time, out of the port.
    pub(super) bits_per_s: f64,
}

impl PortHistory {
    /// Takes the ports of a survey.
    pub(super) fn take(&mut self, ports: Vec<Port>) -> Vec<ShownPort> {
        let before = std::mem::take(&mut self.before);
        let shown = |port: Port| {
            let bytes = port.number("wire_bytes_out_total");
            self.before.insert(port.key.clone(), (port.at, bytes));
            let rate = before.get(&port.key).and_then(|(at, then)| {
                let interval = (port.at - *at).as_secs_f64();
                let bits_per_s = (bytes - then).max(0.0) * 8.0 / interval;
                (interval > 0.0).then_some(PortRate { interval, bits_per_s })
            });
            ShownPort { port, rate }
        };
        ports.into_iter().map(shown).collect()
    }
}

impl Port {
    /// The name of its link.
    pub(super) fn name(&self) -> &str {
        &self.key.1
    }

    fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }
}

impl ShownPort {
    /// `switch 7, port r: 198 Mb/s out, queue 45.1 kB (most 61.2 kB, marks from 40.0 kB on), ...`
    pub(super) fn words(&self) -> String {
        let port = &self.port;
        let rate =
            self.rate.map_or_else(|| "-".into(), |rate| measured(rate.bits_per_s.round(), "b/s"));
        let bytes = |name| measured(port.number(name), "B");
        let count = |name| grouped(port.number(name) as u64);
        let marks = match port.number("kmin_bytes") {
            0.0 => String::new(),
            _ => format!(", marks from {} on", bytes("kmin_bytes")),
        };
        let cnps = ["forwarded", "forged", "refused"].map(|what| {
            let number = port.number(&format!("cnp_{what}_total"));
            (number, format!("{} {what}", grouped(number as u64)))
        });
        let cnps = match cnps.iter().all(|(number, _)| *number == 0.0) {
            true => String::new(),
            false => format!(", CNPs: {}", cnps.map(|(_, words)| words).join(", ")),
        };
        // Not every link counts them.
        let by_link = match port.numbers.get("link_dropped_total") {
            Some(dropped) => format!(", {} by the link", grouped(*dropped as u64)),
            None => String::new(),
        };
        format!(
            "switch {}, port {}: {rate} out, queue {} (most {}{marks}), {} marked, {} \
             dropped{by_link}{cnps}",
            port.pid,
            port.name(),
            bytes("queue_bytes"),
            bytes("queue_bytes_max"),
            count("marked_total"),
            count("dropped_total"),
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
        let page = |bytes: u64, rest: &str| {
            format!(
                "samplewire_info{{pid=\"7\",verb=\"switch\"}} 1\n\
                 samplewire_switch_port_wire_bytes_out_total{{port=\"r\"}} {bytes}\n\
                 samplewire_switch_port_queue_bytes{{port=\"r\"}} 45100\n\
                 samplewire_switch_port_queue_bytes_max{{port=\"r\"}} 61200\n\
                 samplewire_switch_port_kmin_bytes{{port=\"r\"}} 40000\n\
                 samplewire_switch_port_marked_total{{port=\"r\"}} 1234\n{rest}"
            )
        };
        let endpoint = Endpoint::Tcp("127.0.0.1:1".parse().unwrap());
        let start = Instant::now();
        let mut history = PortHistory::default();
        let mut look = |bytes, ms, rest| {
            let at = start + Duration::from_millis(ms);
            let page = text::parse(&page(bytes, rest)).unwrap();
            history.take(ports(&endpoint, &page, at)).remove(0)
        };
        let first = look(1_000, 0, "");
        assert!(first.rate.is_none());
        assert!(first.words().starts_with("switch 7, port r: - out, queue 45.1 kB"));
        let known = "samplewire_switch_port_link_dropped_total{port=\"r\"} 5\n";
        let shown = look(12_501_000, 500, known);
        assert_eq!(
            shown.words(),
            "switch 7, port r: 200 Mb/s out, queue 45.1 kB (most 61.2 kB, marks from 40.0 kB on), \
             1,234 marked, 0 dropped, 5 by the link"
        );
        assert_eq!(shown.port.numbers["queue_bytes"], 45_100.0);
        let forged = "samplewire_switch_port_cnp_forged_total{port=\"r\"} 7\n";
        let shown = look(12_501_000, 750, forged);
        assert!(shown.words().ends_with("CNPs: 0 forwarded, 7 forged, 0 refused"), "{shown:?}");
        let shown = look(12_501_000, 1_000, "");
        assert!(shown.words().ends_with("1,234 marked, 0 dropped"), "not every link counts them");
    }
}
