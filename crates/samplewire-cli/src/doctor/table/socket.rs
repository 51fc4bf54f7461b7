//! Buffers and budgets between the card and the socket.

use std::time::Duration;

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::Context;
use super::super::demand::SOFTIRQ_STALL;
use super::super::fix::Fix;
use super::super::reader::ReadError;
use crate::figures::{grouped, measured};
use crate::host;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "socket.rmem_max",
        title: "largest receive buffer of a socket",
        severity: Severity::Severe,
        read: rmem_max,
        reason: "the buffer holds what arrives while the I/O thread pauses: packets in the stall \
                 time, each with the bytes that the kernel charges; half of it, because the kernel \
                 doubles the value. CAP_NET_ADMIN passes the limit",
        cost: "each longer pause drops packets at the socket",
        measured: None,
    },
    Check {
        id: "socket.wmem_max",
        title: "largest send buffer of a socket",
        severity: Severity::Note,
        read: wmem_max,
        reason: "the buffer holds what is sent in 1 ms, the time for which the kernel may defer the \
                 card's work; half of it, because the kernel doubles the value",
        cost: "sending takes more system calls",
        measured: None,
    },
    Check {
        id: "socket.optmem_max",
        title: "memory for options of a socket",
        severity: Severity::Risk,
        read: optmem_max,
        reason: "the filter of known tags takes 8 bytes a step, about 3 steps for each of 1,024 tags",
        cost: "packets of other programs take room in the buffer: a flood of them drops samples",
        measured: None,
    },
    Check {
        id: "socket.udp_mem",
        title: "memory of all UDP sockets",
        severity: Severity::Severe,
        read: udp_mem,
        reason: "all UDP sockets together must have room for the stall time, beside what they hold",
        cost: "packets are dropped although the socket has room (MemErrors)",
        measured: None,
    },
    Check {
        id: "socket.netdev_budget",
        title: "packets that the kernel takes from cards in one turn",
        severity: Severity::Risk,
        read: netdev_budget,
        reason: "a turn must take what arrives in the interval between two interrupts of the card",
        cost: "the rest waits for the next turn, and the ring fills",
        measured: None,
    },
    Check {
        id: "socket.netdev_budget_usecs",
        title: "time of one turn of the kernel's network work",
        severity: Severity::Note,
        read: netdev_budget_usecs,
        reason: "a turn keeps the I/O thread off a shared CPU, so it must end within the stall time",
        cost: "the I/O thread pauses longer than the buffer lasts",
        measured: None,
    },
    Check {
        id: "socket.backlog",
        title: "packets in a CPU's backlog",
        severity: Severity::Risk,
        read: backlog,
        reason: "veth, loopback and RPS queue here: what arrives in 1 ms must fit",
        cost: "packets are dropped before any socket (softnet_stat, second column)",
        measured: None,
    },
    Check {
        id: "socket.softnet_dropped",
        title: "packets dropped at a CPU's backlog since the start",
        severity: Severity::Risk,
        read: softnet_dropped,
        reason: "any count is a loss that has happened; it covers all interfaces",
        cost: "those packets are lost",
        measured: None,
    },
    Check {
        id: "socket.softnet_squeezed",
        title: "turns of the kernel's network work that ended by the budget",
        severity: Severity::Note,
        read: softnet_squeezed,
        reason: "at most one in a second of this stream: one in as many packets as arrive in a second",
        cost: "packets wait in the ring for a tick",
        measured: None,
    },
    Check {
        id: "socket.buffer_errors",
        title: "UDP packets that found a full socket since the start",
        severity: Severity::Risk,
        read: buffer_errors,
        reason: "any count is a loss that has happened; it covers all sockets",
        cost: "those packets are lost",
        measured: None,
    },
];

fn rmem_max(context: &Context<'_>) -> Answer {
    let reading = buffer(context, RMEM_MAX, context.demand.stall)?;
    if !reading.is_right() && context.has_capability(CAP_NET_ADMIN)? {
        let value = format!("{}, CAP_NET_ADMIN passes it", reading.value);
        return Ok(Reading::state(true, value, reading.limit));
    }
    Ok(reading)
}

fn wmem_max(context: &Context<'_>) -> Answer {
    buffer(context, "/proc/sys/net/core/wmem_max", SOFTIRQ_STALL)
}

/// A limit of socket buffers against what moves in a time.
fn buffer(context: &Context<'_>, path: &str, time: Duration) -> Answer {
    let charged = context.packets_in(time) * context.demand.charged_bytes();
    let least = page_up(charged / 2.0);
    let reading = Reading::at_least(context.number(path)?, least, bytes);
    Ok(reading.with_fix(Fix::sysctl(path, least)))
}

fn optmem_max(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/net/core/optmem_max";
    let reading = Reading::at_least(context.number(path)?, FILTER_BYTES, bytes);
    Ok(reading.with_fix(Fix::sysctl(path, FILTER_BYTES)))
}

fn udp_mem(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/net/ipv4/udp_mem";
    let [low, pressure, most] = [0, 1, 2].map(|at| context.column::<f64>(path, at));
    let (low, pressure, most) = (low?, pressure?, most?);
    let sockets = context.text(SOCKSTAT)?;
    let used = sockets.lines().find_map(|line| line.strip_prefix("UDP:")?.split(" mem ").nth(1));
    let used = used.and_then(|word| word.trim().parse::<f64>().ok());
    let used = used.ok_or_else(|| ReadError::form(SOCKSTAT, "no memory of UDP"))?;
    let least = used + (context.demand.stall_bytes() / PAGE_BYTES).ceil();
    let value = format!("{} {} {least}", low.min(least), pressure.min(least));
    let words = |pages| bytes(pages * PAGE_BYTES);
    Ok(Reading::at_least(most, least, words).with_fix(Fix::sysctl(path, value)))
}

fn netdev_budget(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/net/core/netdev_budget";
    // Without the card's interval, a turn may be deferred by a tick.
    let answer = context.answer_path("coalescing");
    let usecs = answer.and_then(|path| context.field::<u32>(&path, "rx_usecs"));
    let interval =
        usecs.ok().filter(|&usecs| usecs > 0).map(|usecs| Duration::from_micros(usecs.into()));
    let least = context.packets_in(interval.unwrap_or(SOFTIRQ_STALL)).max(BUDGET_LEAST);
    let reading = Reading::at_least(context.number(path)?, least, packets);
    Ok(reading.with_fix(Fix::sysctl(path, least)))
}

fn netdev_budget_usecs(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/net/core/netdev_budget_usecs";
    let most = context.demand.stall.as_micros() as f64;
    let reading = Reading::at_most(context.number(path)?, most, |usecs| format!("{usecs} us"));
    Ok(reading.with_fix(Fix::sysctl(path, most)))
}

fn backlog(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/net/core/netdev_max_backlog";
    let least = context.packets_in(SOFTIRQ_STALL);
    let reading = Reading::at_least(context.number(path)?, least, packets);
    Ok(reading.with_fix(Fix::sysctl(path, least)))
}

fn softnet_dropped(context: &Context<'_>) -> Answer {
    let text = softnet(context)?;
    let fix = Fix::advice("raise net.core.netdev_max_backlog, and see card.drops");
    Ok(Reading::none(host::softnet_dropped(&text), "packets").with_fix(fix))
}

fn softnet_squeezed(context: &Context<'_>) -> Answer {
    let text = softnet(context)?;
    let sum = |column| host::softnet_sum(&text, column) as f64;
    let (packets, squeezed) = (sum(0), sum(2));
    let most = packets / context.demand.packets_per_s().max(1.0);
    let words = |turns: f64| format!("{} turns", grouped(turns as u64));
    let fix =
        Fix::advice("raise net.core.netdev_budget, or spread the card's interrupts over CPUs");
    Ok(Reading::at_most(squeezed, most.max(1.0).floor(), words).with_fix(fix))
}

fn softnet(context: &Context<'_>) -> Result<std::rc::Rc<str>, NoReading> {
    let text = context.text(SOFTNET)?;
    let is_hex =
        |line: &str| line.split_whitespace().all(|word| u64::from_str_radix(word, 16).is_ok());
    match text.lines().find(|line| line.split_whitespace().count() < 3 || !is_hex(line)) {
        Some(line) => Err(ReadError::form(SOFTNET, line).into()),
        None => Ok(text),
    }
}

fn buffer_errors(context: &Context<'_>) -> Answer {
    let counts = host::udp_counts(&context.text(SNMP)?);
    let count = counts[1].ok_or_else(|| ReadError::form(SNMP, "no RcvbufErrors of Udp"))?;
    let fix = Fix::advice("`ss -uampn` shows the socket (d in skmem); see socket.rmem_max");
    Ok(Reading::none(count, "packets").with_fix(fix))
}

fn bytes(count: f64) -> String {
    measured(count, "B")
}

fn packets(count: f64) -> String {
    format!("{} packets", grouped(count as u64))
}

fn page_up(bytes: f64) -> f64 {
    (bytes / PAGE_BYTES).ceil() * PAGE_BYTES
}

const RMEM_MAX: &str = "/proc/sys/net/core/rmem_max";
const SOCKSTAT: &str = "/proc/net/sockstat";
const SOFTNET: &str = "/proc/net/softnet_stat";
const SNMP: &str = "/proc/net/snmp";
const PAGE_BYTES: f64 = 4_096.0;
/// NAPI's weight: the kernel takes so many packets from a queue at a time.
const BUDGET_LEAST: f64 = 64.0;
/// A search of 1,024 tags by halves, 8 bytes for each of its steps.
const FILTER_BYTES: f64 = 3.0 * 1_024.0 * 8.0;
const CAP_NET_ADMIN: u32 = 12;
