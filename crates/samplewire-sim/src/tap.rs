//! The packets of one run, to examine a replayed failure with Wireshark.
//!
//! Each process has two interfaces: one for what departs from it, and one for what arrives at its
//! socket. A packet that is lost on the way is only on the first, and the comment there says on
//! which link and how. Times are those of the world. A frame is as long as the packet counts on the
//! wire; the IP packet inside is shorter where payload is left out, so that the CRC can be checked. Frames
//! of stations are among them, as IP packets.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

use samplewire_io::Ecn;
use samplewire_io::pcapng::{Direction, PcapngPacket, PcapngWriter};
use samplewire_proto::Nanos;
use samplewire_proto::session::Peer;

use crate::link::{FRAME_HEADER_BYTES, LinkCounts};
use crate::net::{is_ip, peer_of};
use crate::packets::{Meta, ProcessId};
use crate::plan::Plan;

/// Departures and arrivals of one run, the last ones of it where there are more than were asked
/// for: a run ends where it fails.
#[derive(Clone, Debug)]
pub struct Tap {
    packets_max: usize,
    records: VecDeque<Record>,
    /// The number of the oldest record, modulo 2^32.
    oldest: u32,
    /// Departures and arrivals of each process.
    interfaces: Vec<Interface>,
}

/// One end of a packet's way.
#[derive(Clone, Debug)]
struct Record {
    at: Nanos,
    interface: usize,
    meta: Meta,
    bytes: Box<[u8]>,
    comment: String,
    has_arrived: bool,
}

#[derive(Clone, Debug)]
struct Interface {
    name: String,
    direction: Direction,
    packets: u64,
    left_out: u64,
}

impl Tap {
    /// A tap that keeps the last `packets_max` departures and arrivals.
    pub(crate) fn new(packets_max: usize, plan: &Plan) -> Self {
        let devices = plan.devices.len();
        let mut interfaces = vec![];
        for process in 0..devices + plan.clients.len() {
            let role = if process < devices { "device" } else { "client" };
            for (direction, point) in POINTS {
                let name = format!("{role} {process} {point}");
                interfaces.push(Interface { name, direction, packets: 0, left_out: 0 });
            }
        }
        Self { packets_max, records: VecDeque::new(), oldest: 0, interfaces }
    }

    /// Notes that a process sends a packet, and gives the record's number.
    pub(crate) fn departs(&mut self, now: Nanos, meta: &Meta, bytes: &[u8]) -> u32 {
        self.push(now, 2 * usize::from(meta.from), meta, bytes, String::new())
    }

    /// Notes what a link did to a packet: what it counted meanwhile.
    pub(crate) fn befell(
        &mut self,
        meta: &Meta,
        link: usize,
        before: &LinkCounts,
        after: &LinkCounts,
    ) {
        let Some(departure) = self.find(meta.record) else { return };
        for ((what, before), (_, after)) in fates(before).into_iter().zip(fates(after)) {
            // A packet and its copy may share a fate.
            for _ in before..after {
                departure.note(&format!("{what} on link {link}"));
            }
        }
    }

    /// Notes that a packet has come to a socket.
    pub(crate) fn arrives(&mut self, now: Nanos, meta: &Meta, bytes: &[u8], has_room: bool) {
        let mut comment = String::new();
        if let Some(departure) = self.find(meta.record) {
            if !has_room {
                return departure.note("no room in the socket");
            }
            let is_copy = std::mem::replace(&mut departure.has_arrived, true);
            comment = match (*departure.bytes != *bytes, is_copy) {
                (true, true) => "corrupted, copy",
                (true, false) => "corrupted",
                (false, true) => "copy",
                (false, false) => "",
            }
            .into();
        }
        if has_room {
            self.push(now, 2 * usize::from(meta.to) + 1, meta, bytes, comment);
        }
    }

    /// Notes that a packet was in the socket of a process that restarts.
    pub(crate) fn forgotten(&mut self, meta: &Meta) {
        if let Some(departure) = self.find(meta.record) {
            departure.note("in the socket at a restart");
        }
    }

    /// Departures and arrivals that are kept.
    pub fn packets(&self) -> usize {
        self.records.len()
    }

    /// Departures and arrivals that were dropped to make room; they are the first of the run.
    pub fn left_out(&self) -> u64 {
        self.interfaces.iter().map(|interface| interface.left_out).sum()
    }

    /// Writes what is kept as a pcapng file, and how much is left out as its statistics.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_pcapng(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<&str> = self.interfaces.iter().map(|it| it.name.as_str()).collect();
        let mut writer = PcapngWriter::new(out, &names)?;
        for record in &self.records {
            let meta = &record.meta;
            let (mut source, mut destination) = (address_of(meta.from), address_of(meta.to));
            let mut payload = &record.bytes[..];
            if meta.is_frame {
                let ports = ports_of(payload);
                source.set_port(ports[0]);
                destination.set_port(ports[1]);
                let heads_bytes = if ports == ARP_PORTS { FRAME_HEADER_BYTES } else { HEADS_BYTES };
                payload = &payload[heads_bytes..];
            }
            let packet = PcapngPacket {
                interface: record.interface as u32,
                time_ns: record.at.0,
                direction: self.interfaces[record.interface].direction,
                source,
                destination,
                ecn: ecn_of(meta),
                wire_len_bytes: Some(meta.ip_bytes),
                comment: &record.comment,
            };
            writer.packet(&packet, payload)?;
        }
        let end_ns = self.records.back().map_or(0, |record| record.at.0);
        for (number, interface) in (0..).zip(&self.interfaces) {
            writer.statistics(number, 0..=end_ns, interface.packets, interface.left_out)?;
        }
        writer.flush()
    }

    fn push(
        &mut self,
        at: Nanos,
        interface: usize,
        meta: &Meta,
        bytes: &[u8],
        comment: String,
    ) -> u32 {
        let (meta, bytes) = (*meta, bytes.into());
        self.interfaces[interface].packets += 1;
        self.records.push_back(Record { at, interface, meta, bytes, comment, has_arrived: false });
        let number = self.oldest.wrapping_add(self.records.len() as u32 - 1);
        if self.records.len() > self.packets_max
            && let Some(oldest) = self.records.pop_front()
        {
            self.interfaces[oldest.interface].left_out += 1;
            self.oldest = self.oldest.wrapping_add(1);
        }
        number
    }

    /// The record with a number, unless it was dropped.
    fn find(&mut self, number: u32) -> Option<&mut Record> {
        self.records.get_mut(number.wrapping_sub(self.oldest) as usize)
    }
}

impl Record {
    fn note(&mut self, what: &str) {
        if !self.comment.is_empty() {
            self.comment += ", ";
        }
        self.comment += what;
    }
}

/// What links do to packets, with how often one has done it.
const fn fates(counts: &LinkCounts) -> [(&'static str, u64); 8] {
    let LinkCounts {
        lost,
        dropped_at_tail,
        dropped_by_size,
        dropped_while_down,
        corrupted,
        duplicated,
        reordered,
        marked,
    } = *counts;
    [
        ("lost", lost),
        ("queue full", dropped_at_tail),
        ("above the MTU", dropped_by_size),
        ("partition", dropped_while_down),
        ("corrupted", corrupted),
        ("duplicated", duplicated),
        ("reordered", reordered),
        ("marked", marked),
    ]
}

const fn ecn_of(meta: &Meta) -> Ecn {
    match (meta.is_marked, meta.is_ect) {
        (true, _) => Ecn::Ce,
        (false, true) => Ecn::Ect0,
        (false, false) => Ecn::NotEct,
    }
}

fn address_of(process: ProcessId) -> SocketAddr {
    let Peer([.., a, b, c, d, port_high, port_low]) = peer_of(process);
    (Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([port_high, port_low])).into()
}

/// The interfaces of a process, in their order.
const POINTS: [(Direction, &str); 2] =
    [(Direction::Outbound, "departs"), (Direction::Inbound, "arrives")];

/// The UDP ports of a frame: an ARP message, which has none, is written as a packet to "discard".
fn ports_of(frame: &[u8]) -> [u16; 2] {
    if !is_ip(frame) {
        return ARP_PORTS;
    }
    let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    [port(FRAME_HEADER_BYTES + 20), port(FRAME_HEADER_BYTES + 22)]
}

const ARP_PORTS: [u16; 2] = [9, 9];

/// The headers of Ethernet, IPv4 and UDP before a RoCEv2 packet.
const HEADS_BYTES: usize = FRAME_HEADER_BYTES + 20 + 8;

#[cfg(test)]
mod tests;
