//! The way between host and device.

use std::collections::BTreeMap;

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::{Context, parse};
use super::super::fix::Fix;
use crate::figures::{grouped, span};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "path.device",
        title: "answer of the device to a padded OPEN",
        severity: Severity::Severe,
        read: device,
        reason: "the device must answer, and packets of its size must arrive: the query is padded to \
                 the size of the stream's packets",
        cost: "no stream",
        measured: None,
    },
    Check {
        id: "path.round_trip",
        title: "round trip against the window",
        severity: Severity::Risk,
        read: round_trip,
        reason: "the window must hold what is sent in four round trips, so that repairs do not stop \
                 the stream",
        cost: "the device stops until repairs arrive, and overflows",
        measured: None,
    },
    Check {
        id: "path.mtu",
        title: "MTU of the interface",
        severity: Severity::Risk,
        read: mtu,
        reason: "packets of this size, joined by GRO or not, may take no more than the process's CPUs",
        cost: "more CPU time for each byte",
        measured: Some(
            "receiver: 1,170 ns for 1,408 bytes, 3,055 ns for 8,896 bytes (AMD EPYC, veth)",
        ),
    },
    Check {
        id: "path.route",
        title: "route to the device",
        severity: Severity::Severe,
        read: route,
        reason: "the interface that is checked must have the route",
        cost: "answers leave by another interface, or not at all",
        measured: None,
    },
    Check {
        id: "path.same_network",
        title: "interfaces of the same network",
        severity: Severity::Risk,
        read: same_network,
        reason: "two interfaces of one network both answer ARP for each other's address",
        cost: "the device may send to the interface that no one expects",
        measured: None,
    },
    Check {
        id: "path.neighbour",
        title: "the device's entry in the ARP table",
        severity: Severity::Severe,
        read: neighbour,
        reason: "the entry must be complete",
        cost: "packets to the device are dropped after three tries",
        measured: None,
    },
    Check {
        id: "path.address_conflict",
        title: "entries of the ARP table with the device's address",
        severity: Severity::Severe,
        read: conflict,
        reason: "one interface may have it: two mean that two stations use one address",
        cost: "packets reach the one that answered last",
        measured: None,
    },
    Check {
        id: "path.rp_filter",
        title: "reverse path filter",
        severity: Severity::Severe,
        read: rp_filter,
        reason: "strict (1) drops what arrives by another interface than the route back; 0 or 2, if \
                 several interfaces have routes",
        cost: "packets are dropped before any socket, without a counter of UDP",
        measured: None,
    },
    Check {
        id: "path.firewall",
        title: "chains that drop what no rule accepts",
        severity: Severity::Risk,
        read: firewall,
        reason: "at prerouting and input, none, or a rule that accepts UDP from the device; nftables, \
                 which iptables uses too",
        cost: "packets are dropped before any socket",
        measured: None,
    },
    Check {
        id: "path.conntrack",
        title: "entries of connection tracking",
        severity: Severity::Risk,
        read: conntrack,
        reason: "the table must have room for one more entry",
        cost: "the first packet of a stream is dropped",
        measured: None,
    },
];

fn device(context: &Context<'_>) -> Answer {
    let path = context.device_path()?;
    if context.peer.is_some() && context.reader.text(&path).is_err() {
        let fix = Fix::advice("`samplewire probe ADDR`; see the group arrival");
        return Ok(Reading::state(false, "none", "an answer").with_fix(fix));
    }
    let proven: f64 = context.field(&path, "path_mtu_bytes")?;
    let payload: f64 = context.field(&path, "payload_bytes")?;
    let words = |count: f64| format!("packets of {} bytes", grouped(count as u64));
    let fix =
        Fix::advice("one MTU at device, switch and host; or a smaller --payload at the device");
    Ok(Reading::at_least(proven, payload, words).with_fix(fix))
}

fn round_trip(context: &Context<'_>) -> Answer {
    let path = context.device_path()?;
    let rtt = context.field::<f64>(&path, "rtt_us")? * 1e-6;
    let window: f64 = context.field::<f64>(&path, "window")?.max(context.demand.window_packets);
    let fix = Fix::advice("raise --window at both ends");
    Ok(Reading::at_most(rtt, window / context.demand.packets_per_s() / 4.0, span).with_fix(fix))
}

fn mtu(context: &Context<'_>) -> Answer {
    let has = context.mtu_bytes()?;
    let own = context.own_cpus()?.len() as f64;
    let is_enough = context.demand.cores() <= own;
    let value = format!("{} bytes: {:.2} cores", grouped(has), context.demand.cores());
    let limit = format!("{own} cores, or 9,000 bytes");
    let name = context.interface()?;
    let fix =
        Fix::advice(format!("ip link set dev {name} mtu 9000, and the same at switch and device"));
    Ok(Reading::state(is_enough || has >= MTU_BYTES_JUMBO, value, limit).with_fix(fix))
}

fn route(context: &Context<'_>) -> Answer {
    let Some(peer) = context.peer else {
        return Err(NoReading::NotApplicable("no device is named".into()));
    };
    let fix = Fix::advice(format!("`ip route get {}` shows the route", peer.ip()));
    let found = context.interface_name();
    Ok(Reading::state(found.is_some(), found.unwrap_or("none"), "an interface").with_fix(fix))
}

fn same_network(context: &Context<'_>) -> Answer {
    let own = context.card()?;
    let networks = networks(context)?;
    let shared =
        networks.values().filter(|names| names.len() > 1 && names.contains(&own.to_owned()));
    let names: Vec<_> = shared.flatten().filter(|name| *name != own).map(String::as_str).collect();
    let value = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let fix = Fix::sysctl("/proc/sys/net/ipv4/conf/all/arp_ignore", 1);
    // arp_ignore keeps each interface to its own address.
    let path = format!("/proc/sys/net/ipv4/conf/{own}/arp_ignore");
    let ignore: u8 = context.number(&path)?;
    let all: u8 = context.number("/proc/sys/net/ipv4/conf/all/arp_ignore")?;
    let is_right = names.is_empty() || ignore.max(all) > 0;
    Ok(Reading::state(is_right, value, "none, or arp_ignore 1").with_fix(fix))
}

/// The interfaces of each network in the route table; the default route is none.
fn networks(context: &Context<'_>) -> Result<BTreeMap<[String; 2], Vec<String>>, NoReading> {
    let mut networks: BTreeMap<[String; 2], Vec<String>> = BTreeMap::new();
    for line in context.text("/proc/net/route")?.lines().skip(1) {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        if let [name, network, router, _, _, _, _, mask, ..] = words[..]
            && router == "00000000"
            && mask != "00000000"
        {
            let names = networks.entry([network.to_owned(), mask.to_owned()]).or_default();
            if !names.iter().any(|it| it == name) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(networks)
}

fn neighbour(context: &Context<'_>) -> Answer {
    let entries = neighbours(context)?;
    let fix = Fix::advice("is the device on, with this address and netmask, and on this network?");
    let is_complete = entries.iter().all(|flags| flags & ATF_COM != 0);
    let value = match (entries.is_empty(), is_complete) {
        (true, _) => {
            return Err(NoReading::NotApplicable("no entry: behind a router, or not used".into()));
        }
        (false, true) => "complete",
        (false, false) => "incomplete: no answer to ARP",
    };
    Ok(Reading::state(is_complete, value, "complete").with_fix(fix))
}

fn conflict(context: &Context<'_>) -> Answer {
    let complete = neighbours(context)?.iter().filter(|&flags| flags & ATF_COM != 0).count();
    let fix = Fix::advice("give each station an address of its own: `arping -D` finds the other");
    Ok(Reading::at_most(complete as f64, 1.0, |it| format!("{it}")).with_fix(fix))
}

/// Flags of the device's entries in the ARP table.
fn neighbours(context: &Context<'_>) -> Result<Vec<u32>, NoReading> {
    let path = "/proc/net/arp";
    let peer = match context.peer {
        Some(peer) if peer.is_ipv4() => peer.ip().to_string(),
        _ => return Err(NoReading::NotApplicable("no device with IPv4 is named".into())),
    };
    let text = context.text(path)?;
    let mut entries = Vec::new();
    for line in text.lines().skip(1) {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        if words.first() == Some(&peer.as_str()) {
            let word = words.get(2).and_then(|word| word.strip_prefix("0x")).unwrap_or_default();
            let flags = u32::from_str_radix(word, 16);
            entries.push(flags.map_err(|_| super::super::reader::ReadError::form(path, line))?);
        }
    }
    Ok(entries)
}

fn rp_filter(context: &Context<'_>) -> Answer {
    let own = context.card()?;
    let path = format!("/proc/sys/net/ipv4/conf/{own}/rp_filter");
    // The larger of the two counts.
    let mode: u8 =
        context.number::<u8>(&path)?.max(context.number("/proc/sys/net/ipv4/conf/all/rp_filter")?);
    let others =
        networks(context)?.into_values().flatten().filter(|name| name != own && name != "lo");
    let is_single = others.count() == 0;
    let limit = if is_single { "any: one interface has routes" } else { "0 or 2" };
    let fix = Fix::sysctl(&path, 2);
    Ok(Reading::state(mode != 1 || is_single, mode.to_string(), limit).with_fix(fix))
}

fn firewall(context: &Context<'_>) -> Answer {
    let path = "/netfilter/chains";
    let text = context.text(path)?;
    let mut dropping = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let hook: u32 = parse(path, words.next().unwrap_or_default())?;
        let is_dropping = words.next() == Some("drop");
        if hook <= HOOK_INPUT && is_dropping {
            dropping.push(words.next().unwrap_or_default().to_owned());
        }
    }
    let value = if dropping.is_empty() { "none".to_owned() } else { dropping.join(", ") };
    let fix =
        Fix::advice("`nft list ruleset` shows the rules; one must accept UDP from the device");
    Ok(Reading::state(dropping.is_empty(), value, "none").with_fix(fix))
}

fn conntrack(context: &Context<'_>) -> Answer {
    let path = |name: &str| format!("/proc/sys/net/netfilter/nf_conntrack_{name}");
    if context.optional(&path("count"))?.is_none() {
        return Err(NoReading::NotApplicable("connections are not tracked".into()));
    }
    let (used, most): (f64, f64) = (context.number(&path("count"))?, context.number(&path("max"))?);
    let words = |entries: f64| format!("{} entries", grouped(entries as u64));
    let fix = Fix::sysctl(&path("max"), (2.0 * used.max(most)).min(f64::from(i32::MAX)));
    Ok(Reading::at_most(used, (most - 1.0).max(0.0), words).with_fix(fix))
}

const MTU_BYTES_JUMBO: u64 = 9_000;
/// ATF_COM of linux/if_arp.h: the address is known.
const ATF_COM: u32 = 2;
/// NF_INET_PRE_ROUTING is 0, NF_INET_LOCAL_IN is 1.
const HOOK_INPUT: u32 = 1;
