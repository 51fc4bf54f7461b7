//! The board sends, and nothing arrives: how far its packets come.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::{Context, parse};
use super::super::fix::Fix;
use super::super::reader::ReadError;
use crate::figures::grouped;
use crate::host;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "arrival.link",
        title: "link of the interface",
        severity: Severity::Severe,
        read: link,
        reason: "up, with a carrier",
        cost: "nothing arrives",
        measured: None,
    },
    Check {
        id: "arrival.frames",
        title: "frames that the interface received",
        severity: Severity::Severe,
        read: frames,
        reason: "at least one: else the board sends nothing, or the switch forwards nothing",
        cost: "nothing arrives",
        measured: None,
    },
    Check {
        id: "arrival.ether_type",
        title: "EtherTypes of frames that arrive within 100 ms",
        severity: Severity::Severe,
        read: ether_type,
        reason: "IPv4 (0800) or IPv6 (86dd), if frames arrive: else the board sends frames that the IP \
                 stack does not take. CAP_NET_RAW",
        cost: "nothing arrives at a socket",
        measured: None,
    },
    Check {
        id: "arrival.no_handler",
        title: "frames that no protocol took (rx_nohandler)",
        severity: Severity::Risk,
        read: no_handler,
        reason: "less than a second of the stream's packets: an inactive port of a bond counts here",
        cost: "the frames end at the interface",
        measured: None,
    },
    Check {
        id: "arrival.xdp",
        title: "XDP program on the interface",
        severity: Severity::Risk,
        read: xdp,
        reason: "none: a program sees packets before the IP stack, and may drop them",
        cost: "packets that it drops reach no counter of the stack",
        measured: None,
    },
    Check {
        id: "arrival.tc",
        title: "filters on the interface (tc clsact, ingress)",
        severity: Severity::Risk,
        read: filters,
        reason: "none: a filter sees packets before the IP stack, and may drop them",
        cost: "packets that it drops reach no counter of the stack",
        measured: None,
    },
    Check {
        id: "arrival.ip_header",
        title: "IP packets with a wrong header",
        severity: Severity::Risk,
        read: ip_header,
        reason: "0: the board computes the header checksum, the version or the length wrongly",
        cost: "those packets are dropped",
        measured: None,
    },
    Check {
        id: "arrival.ip_address",
        title: "IP packets for another address",
        severity: Severity::Risk,
        read: ip_address,
        reason: "less than a second of the stream's packets: the board sends to this host's MAC \
                 address, with the IP address of another",
        cost: "those packets are dropped",
        measured: None,
    },
    Check {
        id: "arrival.ip_discards",
        title: "IP packets dropped because memory was short",
        severity: Severity::Risk,
        read: ip_discards,
        reason: "0: any count is a loss that has happened",
        cost: "those packets are lost",
        measured: None,
    },
    Check {
        id: "arrival.fragments",
        title: "IP packets whose fragments did not all arrive",
        severity: Severity::Risk,
        read: fragments,
        reason: "0: samplewire sends no fragments, so the board's packets are longer than a link's MTU",
        cost: "one lost fragment loses the packet",
        measured: None,
    },
    Check {
        id: "arrival.no_port",
        title: "UDP packets for a port that no program has",
        severity: Severity::Risk,
        read: no_port,
        reason: "less than a second of the stream's packets: the board sends to a wrong port, or goes \
                 on after the receiver ended",
        cost: "those packets are dropped",
        measured: None,
    },
    Check {
        id: "arrival.checksum",
        title: "UDP packets with a wrong checksum",
        severity: Severity::Risk,
        read: checksum,
        reason: "0: the board computes it wrongly; a checksum of 0 is none, and allowed with IPv4",
        cost: "those packets are dropped",
        measured: None,
    },
    Check {
        id: "arrival.socket",
        title: "packets that open UDP sockets dropped",
        severity: Severity::Risk,
        read: socket,
        reason: "0: the program reads too slowly, or its buffer is too small",
        cost: "those packets are lost",
        measured: None,
    },
];

fn link(context: &Context<'_>) -> Answer {
    let name = context.card()?;
    let state = context.text(&context.card_path("operstate")?)?;
    let fix =
        Fix::advice(format!("ip link set dev {name} up; is the cable plugged in at both ends?"));
    // Virtual interfaces are often `unknown`, and work.
    let is_up = matches!(state.trim(), "up" | "unknown");
    Ok(Reading::state(is_up, state.trim(), "up").with_fix(fix))
}

fn frames(context: &Context<'_>) -> Answer {
    let count: f64 = context.number(&context.card_path("statistics/rx_packets")?)?;
    let words = |count: f64| format!("{} frames", grouped(count as u64));
    let fix = Fix::advice("see arrival.link; the switch's counters show whether the board sends");
    Ok(Reading::at_least(count, 1.0, words).with_fix(fix))
}

fn ether_type(context: &Context<'_>) -> Answer {
    let path = format!("/frames/{}", context.card()?);
    let mut types = Vec::new();
    for line in context.text(&path)?.lines() {
        let kind = line.split_once(' ').and_then(|it| u16::from_str_radix(it.0, 16).ok());
        types.push(kind.ok_or_else(|| ReadError::form(&path, line))?);
    }
    if types.is_empty() {
        return Err(NoReading::NotApplicable("no frame arrived within 100 ms".into()));
    }
    let has_ip = types.iter().any(|kind| matches!(kind, 0x0800 | 0x86dd));
    let words: Vec<_> = types.iter().map(|kind| format!("{kind:04x}")).collect();
    let fix = Fix::advice(
        "set the board to UDP over IPv4; 8100 is a VLAN, which needs an interface of its own",
    );
    Ok(Reading::state(has_ip, words.join(", "), "0800 or 86dd").with_fix(fix))
}

fn no_handler(context: &Context<'_>) -> Answer {
    let count = context.number(&context.card_path("statistics/rx_nohandler")?)?;
    below_a_second(context, count, "make the port active in its bond or bridge")
}

fn xdp(context: &Context<'_>) -> Answer {
    let name = context.card()?;
    let mode: u8 = context.field(&format!("/netlink/{name}/xdp"), "mode")?;
    let value = match mode {
        0 => "none",
        1 => "in the driver",
        2 => "generic",
        3 => "in the card",
        _ => "several",
    };
    let fix = Fix::advice(format!(
        "`bpftool net show dev {name}` names it; it must pass UDP from the device"
    ));
    Ok(Reading::state(mode == 0, value, "none").with_fix(fix))
}

fn filters(context: &Context<'_>) -> Answer {
    let name = context.card()?;
    let kinds = context.text(&format!("/netlink/{name}/disciplines"))?;
    let found = kinds.lines().find(|kind| matches!(*kind, "clsact" | "ingress"));
    let fix = Fix::advice(format!("`tc -s filter show dev {name} ingress` shows what they drop"));
    Ok(Reading::state(found.is_none(), found.unwrap_or("none"), "none").with_fix(fix))
}

fn ip_header(context: &Context<'_>) -> Answer {
    let fix = Fix::advice("`samplewire decode` of a capture shows the header that the board sends");
    Ok(Reading::none(snmp(context, "Ip:", "InHdrErrors")?, "packets").with_fix(fix))
}

fn ip_address(context: &Context<'_>) -> Answer {
    let count = snmp(context, "Ip:", "InAddrErrors")?;
    below_a_second(context, count, "set the board's destination to an address of this host")
}

fn ip_discards(context: &Context<'_>) -> Answer {
    let fix = Fix::advice("see memory.reserve and socket.udp_mem");
    Ok(Reading::none(snmp(context, "Ip:", "InDiscards")?, "packets").with_fix(fix))
}

fn fragments(context: &Context<'_>) -> Answer {
    let fix = Fix::advice("smaller packets at the board, or one MTU on the whole path");
    Ok(Reading::none(snmp(context, "Ip:", "ReasmFails")?, "packets").with_fix(fix))
}

fn no_port(context: &Context<'_>) -> Answer {
    let count = snmp(context, "Udp:", "NoPorts")?;
    below_a_second(context, count, "open the stream again, or stop the board")
}

fn checksum(context: &Context<'_>) -> Answer {
    let fix =
        Fix::advice("`samplewire decode` of a capture shows the packets that the board sends");
    Ok(Reading::none(snmp(context, "Udp:", "InCsumErrors")?, "packets").with_fix(fix))
}

fn socket(context: &Context<'_>) -> Answer {
    let path = "/proc/net/udp";
    let mut sum = 0_u64;
    for line in context.text(path)?.lines().skip(1) {
        let drops: u64 = parse(path, line.split_ascii_whitespace().last().unwrap_or_default())?;
        sum = sum.saturating_add(drops);
    }
    let fix = Fix::advice("`ss -uampn` names the program; see socket.rmem_max and cpu.count");
    Ok(Reading::none(sum, "packets").with_fix(fix))
}

/// A count that is the stream's only if it is as large as a second of it.
fn below_a_second(context: &Context<'_>, count: u64, advice: &str) -> Answer {
    let words = |count: f64| format!("{} packets", grouped(count as u64));
    let most = context.demand.packets_per_s().floor();
    Ok(Reading::at_most(count as f64, most, words).with_fix(Fix::advice(advice)))
}

fn snmp(context: &Context<'_>, protocol: &str, name: &str) -> Result<u64, NoReading> {
    let path = "/proc/net/snmp";
    let count = host::snmp_count(&context.text(path)?, protocol, name);
    count.ok_or_else(|| ReadError::form(path, &format!("no {name} of {protocol}")).into())
}
