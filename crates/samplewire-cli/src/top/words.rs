//! Formats the figures of a stream for people.

use super::history::Shown;
use crate::figures::{grouped, measured, span};

/// The heads of the columns.
pub(super) const HEADS: [&str; 9] =
    ["PID", "VERB", "PEER", "SAMPLES", "BITS", "REPAIR", "WINDOW", "RTT", "LOST"];

/// A row: one cell under each head.
pub(super) fn cells(shown: &Shown) -> [String; HEADS.len()] {
    let facts = &shown.facts;
    let rate = |of: fn(&super::history::Rates) -> f64, unit| {
        shown.rates.map_or_else(|| "-".into(), |rates| measured(of(&rates).round(), unit))
    };
    [
        facts.pid.clone(),
        facts.verb.clone(),
        peer_words(shown),
        rate(|rates| rates.samples, "S/s"),
        rate(|rates| rates.bits, "b/s"),
        repair_words(shown),
        facts.window_share().map_or_else(|| "-".into(), |share| format!("{:.0} %", share * 100.0)),
        if facts.rtt() > 0.0 { span(facts.rtt()) } else { "-".into() },
        grouped(facts.lost() as u64),
    ]
}

/// `<- 127.0.0.1:9100`: the arrow points where the samples go.
pub(super) fn peer_words(shown: &Shown) -> String {
    let facts = &shown.facts;
    let arrow = if facts.is_received() { "<-" } else { "->" };
    match facts.peer.as_str() {
        "" => format!("{arrow} no peer yet"),
        peer => format!("{arrow} {peer}"),
    }
}

/// The share of all packets that were repaired.
fn repair_words(shown: &Shown) -> String {
    let (repaired, packets) = (shown.facts.repaired(), shown.facts.packets());
    if packets > 0.0 { format!("{:.2} %", repaired / packets * 100.0) } else { "-".into() }
}

/// `modes1: sc16, 1 channel`, and its source.
pub(super) fn stream_words(shown: &Shown) -> String {
    let facts = &shown.facts;
    let name = if facts.name.is_empty() { String::new() } else { format!("{}: ", facts.name) };
    let channels = if facts.channels == "1" { "channel" } else { "channels" };
    let rate = facts.number("stream_sample_rate_hertz");
    let rate = if rate > 0.0 { measured(rate, "S/s") } else { "rate unknown".into() };
    format!(
        "stream {} of {}  {name}{}, {} {channels}, {rate}",
        facts.key.stream, facts.key.device, facts.format, facts.channels
    )
}

/// `1,240 deadline, 7 never asked`: missing samples by cause.
pub(super) fn cause_words(shown: &Shown) -> String {
    let causes = shown.facts.causes.iter().filter(|(_, samples)| **samples > 0.0);
    let causes: Vec<_> = causes
        .map(|(cause, samples)| format!("{} {}", grouped(*samples as u64), cause.replace('_', " ")))
        .collect();
    if causes.is_empty() { "none".into() } else { causes.join(", ") }
}

/// Other counters that are not zero.
pub(super) fn other_words(shown: &Shown) -> String {
    let others = OTHERS.iter().filter_map(|(name, words)| {
        let number = shown.facts.number(name);
        (number > 0.0).then(|| format!("{} {words}", grouped(number as u64)))
    });
    let limit_bps = shown.facts.number("sender_limit_bps");
    let limit = (limit_bps > 0.0).then(|| format!("limited to {}", measured(limit_bps, "b/s")));
    let others: Vec<_> = limit.into_iter().chain(others).collect();
    if others.is_empty() { "no other trouble".into() } else { others.join(", ") }
}

/// Counters that indicate trouble; `docs/statistics.md` lists the remedies.
const OTHERS: [(&str, &str); 14] = [
    ("receiver_port_socket_dropped_total", "dropped by the socket"),
    ("host_kernel_dropped_total", "dropped by the kernel"),
    ("host_nic_dropped_total", "frames dropped by the card"),
    ("receiver_port_starved_total", "times without credit"),
    ("receiver_port_corrupted_total", "corrupted"),
    ("receiver_late_total", "late"),
    ("receiver_duplicates_total", "duplicates"),
    ("receiver_reordered_total", "reordered"),
    ("receiver_marked_total", "marked"),
    ("player_underruns_total", "underruns"),
    ("sender_credit_stalls_total", "credit stalls"),
    ("sender_late_at_peer_total", "late at the peer"),
    ("sender_congestion_total", "times congested"),
    ("sender_port_corrupted_total", "corrupted feedback"),
];
