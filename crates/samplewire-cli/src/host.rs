//! What this host dropped before any socket, and at all sockets. These counts include all programs,
//! so they are only hints about losses on the wire.
//!
//! Read from `/proc/net` (proc(5), and `Documentation/networking/statistics.rst` of Linux). A
//! counter that is absent counts as 0.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use samplewire_io::kfree::KernelDrops;
use serde::Serialize;

use crate::card::CardCounts;
use crate::figures::grouped;

/// Counts of this host since the opening.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HostHints {
    /// The interface towards the device, null if no route is known.
    interface: Option<String>,
    /// Frames that the interface or the kernel behind it dropped (`rx_dropped`,
    /// `rx_missed_errors`).
    interface_dropped: u64,
    /// Frames dropped because the interface's ring was full (`rx_fifo_errors`).
    interface_fifo: u64,
    /// Frames dropped because a core's backlog was full (`softnet_stat`), on all interfaces.
    softnet_dropped: u64,
    /// UDP packets that reached no socket: damaged, or without memory (`InErrors`).
    udp_in_errors: u64,
    /// UDP packets dropped because a socket's buffer was full (`RcvbufErrors`), on all sockets.
    udp_receive_buffer_errors: u64,
    /// Those of the RDMA network card that writes the packets, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<CardCounts>,
    #[serde(flatten)]
    nic: NicCount,
    #[serde(flatten)]
    kernel: KernelCount,
}

/// Frames that the interface's card or driver dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct NicCount {
    /// All of them while the stream used the queue; null where the counters are not known, or began
    /// again.
    pub(crate) nic_dropped: Option<u64>,
    /// Whether other flows used the queue too: then the stream's part is not known.
    pub(crate) nic_shared: bool,
}

/// Packets of the stream that the kernel dropped before the socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct KernelCount {
    /// By the kernel's reason, e.g. `NETFILTER_DROP`; null where they are not counted.
    pub(crate) kernel_dropped: Option<BTreeMap<String, u64>>,
    /// Why they are not counted.
    pub(crate) kernel_uncounted: Option<String>,
}

impl KernelCount {
    /// What was counted so far.
    pub(crate) fn of(drops: &KernelDrops) -> Self {
        match drops.by_reason() {
            Ok(reasons) => {
                let reasons = reasons.into_iter().map(|it| (it.0.to_owned(), it.1.packets));
                Self { kernel_dropped: Some(reasons.collect()), kernel_uncounted: None }
            }
            Err(error) => Self { kernel_dropped: None, kernel_uncounted: Some(error.to_string()) },
        }
    }

    /// `NETFILTER_DROP 1,234 packets`, the most first; `None` when nothing was dropped.
    fn words(&self) -> Option<String> {
        let mut reasons: Vec<_> = self.kernel_dropped.iter().flatten().collect();
        reasons.sort_by_key(|it| std::cmp::Reverse(it.1));
        let words: Vec<_> =
            reasons.iter().map(|(name, count)| format!("{name} {}", grouped(**count))).collect();
        (!words.is_empty()).then(|| format!("{} packets", words.join(", ")))
    }
}

impl HostHints {
    /// The current counts for the route to `peer`.
    pub(crate) fn now(peer: SocketAddr) -> Self {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/net/{name}"));
        let text = |name: &str| read(name).unwrap_or_default();
        let interface = interface_to(peer, &text("route"), &text("ipv6_route"));
        let [interface_dropped, interface_fifo] =
            interface.as_ref().map_or([0; 2], |name| interface_counts(&text("dev"), name));
        let [udp_in_errors, udp_receive_buffer_errors] = match peer {
            SocketAddr::V4(_) => udp_counts(&text("snmp")).map(Option::unwrap_or_default),
            SocketAddr::V6(_) => udp6_counts(&text("snmp6")),
        };
        Self {
            interface,
            interface_dropped,
            interface_fifo,
            softnet_dropped: softnet_dropped(&text("softnet_stat")),
            udp_in_errors,
            udp_receive_buffer_errors,
            card: None,
            nic: NicCount::default(),
            kernel: KernelCount::default(),
        }
    }

    /// Adds the current counts of a card.
    pub(crate) fn with_card(mut self, device: Option<&str>) -> Self {
        self.card = device.map(CardCounts::now);
        self
    }

    /// The counts since `self`.
    pub(crate) fn until_now(&self, peer: SocketAddr) -> Self {
        let now = Self::now(peer);
        Self {
            interface_dropped: now.interface_dropped.saturating_sub(self.interface_dropped),
            interface_fifo: now.interface_fifo.saturating_sub(self.interface_fifo),
            softnet_dropped: now.softnet_dropped.saturating_sub(self.softnet_dropped),
            udp_in_errors: now.udp_in_errors.saturating_sub(self.udp_in_errors),
            udp_receive_buffer_errors: now
                .udp_receive_buffer_errors
                .saturating_sub(self.udp_receive_buffer_errors),
            interface: now.interface,
            card: self.card.as_ref().map(CardCounts::until_now),
            nic: now.nic,
            kernel: now.kernel,
        }
    }

    /// Adds what was counted of the stream itself.
    pub(crate) fn with_counts(mut self, nic: NicCount, kernel: KernelCount) -> Self {
        (self.nic, self.kernel) = (nic, kernel);
        self
    }

    /// The interface towards the device.
    pub(crate) fn interface(&self) -> Option<&str> {
        self.interface.as_deref()
    }

    /// Frames dropped since `self` because a core's backlog was full.
    pub(crate) fn softnet_until_now(&self) -> u64 {
        let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
        softnet_dropped(&text).saturating_sub(self.softnet_dropped)
    }

    /// The card's counters do not say how many of its drops were the stream's.
    pub(crate) fn may_hide_nic_drops(&self) -> bool {
        self.nic.nic_shared && self.nic.nic_dropped != Some(0)
    }

    /// The kernel dropped packets of the stream without a reason, as drivers do.
    pub(crate) fn has_unspecified_drops(&self) -> bool {
        let reasons = self.kernel.kernel_dropped.as_ref();
        reasons.is_some_and(|it| it.contains_key("NOT_SPECIFIED"))
    }

    /// The kernel's drops are not counted.
    pub(crate) const fn may_hide_kernel_drops(&self) -> bool {
        self.kernel.kernel_uncounted.is_some()
    }

    /// What the kernel dropped of the stream, by its reason.
    pub(crate) fn kernel_words(&self) -> Option<String> {
        self.kernel.words()
    }

    /// What may be hidden among losses on the wire, a line each.
    pub(crate) fn doubts_words(&self) -> Vec<String> {
        let name = self.interface.as_deref().unwrap_or("the interface");
        let nic = self.may_hide_nic_drops().then(|| match self.nic.nic_dropped {
            Some(frames) => {
                let frames = grouped(frames);
                format!("{name} dropped {frames} frames of all flows of its queue")
            }
            None => format!("what {name} dropped is not known"),
        });
        let why = self.kernel.kernel_uncounted.as_ref();
        let kernel = why.map(|why| format!("what the kernel dropped is not known: {why}"));
        nic.into_iter().chain(kernel).collect()
    }

    /// What the card has counted, if there is one.
    pub(crate) fn card_words(&self) -> Option<String> {
        self.card.as_ref().map(CardCounts::words)
    }

    /// Whether a socket had no room for a packet while others came damaged: then the drops of one
    /// socket look the same as packets that came damaged to another.
    pub(crate) const fn may_hide_drops(&self) -> bool {
        self.udp_receive_buffer_errors > 0 && self.udp_in_errors > self.udp_receive_buffer_errors
    }

    /// `veth0 dropped 3, all sockets of UDP 12`; `None` when nothing was.
    pub(crate) fn words(&self) -> Option<String> {
        let name = self.interface.as_deref().unwrap_or("interface");
        let counts = [
            (format!("{name} dropped"), self.interface_dropped),
            (format!("{name} had no room for"), self.interface_fifo),
            ("softnet dropped".into(), self.softnet_dropped),
            ("UDP in all refused".into(), self.udp_in_errors),
        ];
        let counts: Vec<_> = counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(words, count)| format!("{words} {}", grouped(count)))
            .collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

/// The interface that has the route to `peer`, by the main table; rules for others are not read.
fn interface_to(peer: SocketAddr, routes: &str, routes6: &str) -> Option<String> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Sends nothing: the kernel only chooses the local address for this route.
    let own = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(peer)?;
        socket.local_addr()
    });
    if own.is_ok_and(|own| own.ip() == peer.ip()) || peer.ip().is_loopback() {
        return Some("lo".into());
    }
    match peer.ip() {
        IpAddr::V4(ip) => route(routes, ip),
        IpAddr::V6(ip) => route6(routes6, ip),
    }
}

/// The interface of the longest matching prefix in `/proc/net/route`.
pub(crate) fn route(table: &str, peer: Ipv4Addr) -> Option<String> {
    let matching = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        // As the kernel has them in memory: the address in network order.
        let word = |at: usize| Some(u32::from_str_radix(fields.get(at)?, 16).ok()?.to_ne_bytes());
        let (to, mask) = (u32::from_be_bytes(word(1)?), u32::from_be_bytes(word(7)?));
        (u32::from(peer) & mask == to).then(|| (mask, fields[0].to_owned()))
    });
    matching.max_by_key(|(mask, _)| *mask).map(|(_, name)| name)
}

/// The interface of the longest matching prefix in `/proc/net/ipv6_route`.
pub(crate) fn route6(table: &str, peer: Ipv6Addr) -> Option<String> {
    let matching = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let to = u128::from_str_radix(fields.first()?, 16).ok()?;
        let bits = u32::from_str_radix(fields.get(1)?, 16).ok()?;
        let differs = (u128::from(peer) ^ to).checked_shr(128 - bits.min(128)).unwrap_or(0);
        (differs == 0).then(|| (bits, fields.last().map(|name| (*name).to_owned())))
    });
    matching.max_by_key(|(bits, _)| *bits).and_then(|(_, name)| name)
}

/// Dropped frames, and those that the ring had no room for, of `/proc/net/dev`.
fn interface_counts(table: &str, name: &str) -> [u64; 2] {
    let line = table.lines().find_map(|line| {
        line.trim_start().strip_prefix(name).and_then(|rest| rest.strip_prefix(':'))
    });
    let fields: Vec<&str> = line.unwrap_or_default().split_ascii_whitespace().collect();
    // bytes packets errs drop fifo ..
    [3, 4].map(|at| fields.get(at).and_then(|count| count.parse().ok()).unwrap_or(0))
}

/// Packets that a CPU's backlog had no room for: the second column of `/proc/net/softnet_stat`.
pub(crate) fn softnet_dropped(table: &str) -> u64 {
    softnet_sum(table, 1)
}

/// A column of `/proc/net/softnet_stat`, over all cores.
pub(crate) fn softnet_sum(table: &str, column: usize) -> u64 {
    let word =
        |line: &str| u64::from_str_radix(line.split_ascii_whitespace().nth(column)?, 16).ok();
    table.lines().filter_map(word).fold(0, u64::saturating_add)
}

/// `InErrors` and `RcvbufErrors` of UDP in `/proc/net/snmp`.
pub(crate) fn udp_counts(table: &str) -> [Option<u64>; 2] {
    ["InErrors", "RcvbufErrors"].map(|name| snmp_count(table, "Udp:", name))
}

/// A counter of a protocol in `/proc/net/snmp`: a line of names, then a line of counts.
pub(crate) fn snmp_count(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(protocol));
    let mut row = || lines.next().unwrap_or_default().split_ascii_whitespace();
    let (mut names, mut counts) = (row(), row());
    let at = names.position(|found| found == name)?;
    counts.nth(at)?.parse().ok()
}

/// The same of IPv6 in `/proc/net/snmp6`.
fn udp6_counts(table: &str) -> [u64; 2] {
    ["Udp6InErrors", "Udp6RcvbufErrors"].map(|name| {
        let mut lines = table.lines().map(str::split_ascii_whitespace);
        let count =
            lines.find_map(|mut words| words.next().filter(|it| *it == name).and(words.next()));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_is_that_of_the_longest_prefix() {
        let table = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                     eth0 00000000 0101A8C0 0003 0 0 0 00000000 0 0 0\n\
                     eth1 0001000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
        let of = |peer: [u8; 4]| route(table, peer.into());
        assert_eq!(of([10, 0, 1, 7]).as_deref(), Some("eth1"));
        assert_eq!(of([10, 0, 2, 7]).as_deref(), Some("eth0"));
        assert_eq!(route("", [10, 0, 2, 7].into()), None);
        let (zero, link) = ("0".repeat(32), format!("fe80{}", "0".repeat(28)));
        let rest = format!("{zero} 00 {zero} 00000100 0 0 1");
        let table = format!("{zero} 00 {rest} eth0\n{link} 40 {rest} eth1\n");
        assert_eq!(route6(&table, "fe80::9".parse().unwrap()).as_deref(), Some("eth1"));
        assert_eq!(route6(&table, "2001::9".parse().unwrap()).as_deref(), Some("eth0"));
    }

    #[test]
    fn counts_are_those_of_the_named_columns() {
        let dev = "Inter-| Receive\n face |bytes packets errs drop fifo\n  lo: 1 2 3 4 5 6\n\
                   veth0:10 20 30 40 50 60\n";
        assert_eq!(interface_counts(dev, "veth0"), [40, 50]);
        assert_eq!(interface_counts(dev, "veth"), [0, 0]);
        assert_eq!(softnet_dropped("0000ffff 00000010 0\n00000001 00000001 0\n"), 17);
        let snmp = "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdp: 9 8 7 6 5\n";
        assert_eq!(udp_counts(snmp), [Some(7), Some(5)]);
        assert_eq!(udp6_counts("Udp6InErrors  \t3\nUdp6RcvbufErrors 2\n"), [3, 2]);
    }

    #[test]
    fn own_counts_are_read_and_do_not_fall() {
        let peer: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let before = HostHints::now(peer);
        assert_eq!(before.interface.as_deref(), Some("lo"));
        let all = HostHints { interface: Some("lo".into()), ..HostHints::default() };
        let now = all.until_now(peer);
        assert!(now.udp_in_errors >= before.udp_in_errors);
        assert_eq!(all.words(), None);
        let drops = |udp_receive_buffer_errors, udp_in_errors| {
            HostHints { udp_receive_buffer_errors, udp_in_errors, ..all.clone() }.may_hide_drops()
        };
        assert_eq!(
            [drops(0, 0), drops(0, 4), drops(4, 4), drops(1, 4)],
            [false, false, false, true]
        );
        let some = HostHints { softnet_dropped: 3, ..all };
        assert_eq!(some.words().as_deref(), Some("softnet dropped 3"));
    }
}
