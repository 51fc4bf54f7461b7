//! One direction of a wire: rate, delay, a bounded queue, and faults.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use samplewire_io::faults::{Loss, Losses};
use samplewire_proto::{Nanos, Odds, Rng};

use crate::packets::{PacketId, Packets};

/// What a link does to packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkSpec {
    /// Bits of Ethernet wire time a second.
    pub(crate) rate_bps: u64,
    pub(crate) delay: Nanos,
    /// What waits in front of the wire at most; more is dropped at the tail.
    pub(crate) queue_bytes: u64,
    /// ECN-capable packets that find more than this waiting are marked.
    pub(crate) mark_above_bytes: Option<u64>,
    /// The largest IP packet.
    pub(crate) mtu_bytes: u32,
    pub(crate) loss: Loss,
    pub(crate) corrupt: Odds,
    pub(crate) duplicate: Odds,
    pub(crate) reorder: Odds,
    /// How much later a reordered packet arrives at most.
    pub(crate) reorder_by: Nanos,
}

impl LinkSpec {
    /// A link without faults whose queue holds a millisecond, and 64 KiB at least.
    pub(crate) const fn clean(rate_bps: u64, delay: Nanos) -> Self {
        let queue_bytes = rate_bps / 8_000;
        Self {
            rate_bps,
            delay,
            queue_bytes: if queue_bytes < 65_536 { 65_536 } else { queue_bytes },
            mark_above_bytes: None,
            mtu_bytes: 9_000,
            loss: Loss::None,
            corrupt: Odds::NEVER,
            duplicate: Odds::NEVER,
            reorder: Odds::NEVER,
            reorder_by: Nanos(0),
        }
    }

    /// The time that an IP packet takes on the wire.
    pub(crate) const fn wire_time(&self, ip_bytes: u32) -> Nanos {
        Nanos((ip_bytes as u64 + ETHERNET_BYTES as u64) * 8_000_000_000 / self.rate_bps)
    }
}

/// What a link has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkCounts {
    pub(crate) lost: u64,
    pub(crate) dropped_at_tail: u64,
    pub(crate) dropped_by_size: u64,
    pub(crate) dropped_while_down: u64,
    pub(crate) corrupted: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) marked: u64,
}

impl LinkCounts {
    /// Packets that went in and did not come out.
    pub(crate) const fn all_lost(&self) -> u64 {
        self.lost + self.dropped_at_tail + self.dropped_by_size + self.dropped_while_down
    }
}

/// A link and what is on its way.
#[derive(Debug)]
pub(crate) struct Link {
    spec: LinkSpec,
    /// Another link that takes what comes out; otherwise the packet has arrived.
    pub(crate) next: Option<usize>,
    wire: Wire,
    losses: Losses,
    rng: Rng,
    /// Until when the wire is in use, in 1/65536 ns.
    busy_until_q16: u64,
    down_until: Nanos,
    in_order: VecDeque<(Nanos, PacketId)>,
    reordered: BinaryHeap<Reverse<(Nanos, PacketId)>>,
    counts: LinkCounts,
}

impl Link {
    pub(crate) fn new(spec: LinkSpec, rng: Rng) -> Self {
        Self {
            spec,
            next: None,
            wire: Wire::new(&spec),
            losses: Losses::new(spec.loss),
            rng,
            busy_until_q16: 0,
            down_until: Nanos(0),
            in_order: VecDeque::new(),
            reordered: BinaryHeap::new(),
            counts: LinkCounts::default(),
        }
    }

    pub(crate) const fn counts(&self) -> &LinkCounts {
        &self.counts
    }

    /// The largest IP packet that it carries.
    pub(crate) const fn mtu_bytes(&self) -> u32 {
        self.spec.mtu_bytes
    }

    /// From `now` on the link has no faults but its rate, delay, queue and MTU.
    pub(crate) fn heal(&mut self, now: Nanos) {
        let LinkSpec { rate_bps, delay, queue_bytes, mark_above_bytes, mtu_bytes, .. } = self.spec;
        let clean = LinkSpec::clean(rate_bps, delay);
        self.spec = LinkSpec { queue_bytes, mark_above_bytes, mtu_bytes, ..clean };
        self.losses = Losses::new(Loss::None);
        self.down_until = now;
    }

    /// Until `until` everything that enters is lost.
    pub(crate) fn take_down(&mut self, until: Nanos) {
        self.down_until = self.down_until.max(until);
    }

    /// Until `until` nothing leaves the queue.
    pub(crate) fn stall(&mut self, until: Nanos) {
        self.busy_until_q16 = self.busy_until_q16.max(until.0 << 16);
    }

    /// Takes a packet, which is freed when it is lost.
    pub(crate) fn enter(&mut self, now: Nanos, id: PacketId, packets: &mut Packets) {
        let Some(left_at) = self.pass_queue(now, id, packets) else { return packets.free(id) };
        if self.losses.next(&mut self.rng) {
            self.counts.lost += 1;
            return packets.free(id);
        }
        if self.rng.chance(self.spec.duplicate) {
            self.counts.duplicated += 1;
            let copy = packets.duplicate(id);
            self.travel(left_at, copy, packets);
        }
        self.travel(left_at, id, packets);
    }

    /// When the next packet comes out.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let in_order = self.in_order.front().map(|(at, _)| *at);
        let reordered = self.reordered.peek().map(|Reverse((at, _))| *at);
        match (in_order, reordered) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The next packet that has come out by `now`.
    pub(crate) fn leave(&mut self, now: Nanos) -> Option<PacketId> {
        if let Some(Reverse((at, id))) = self.reordered.peek().copied()
            && at <= now
        {
            self.reordered.pop();
            return Some(id);
        }
        let (at, id) = *self.in_order.front()?;
        if at > now {
            return None;
        }
        self.in_order.pop_front();
        Some(id)
    }

    /// When the packet has left the queue and the wire; `None` when it does not get that far.
    fn pass_queue(&mut self, now: Nanos, id: PacketId, packets: &mut Packets) -> Option<Nanos> {
        let meta = packets.meta_mut(id);
        if now < self.down_until {
            self.counts.dropped_while_down += 1;
            return None;
        }
        if meta.ip_bytes > self.spec.mtu_bytes {
            self.counts.dropped_by_size += 1;
            return None;
        }
        let frame_bytes = u64::from(meta.ip_bytes) + ETHERNET_BYTES as u64;
        let waiting_ns = (self.busy_until_q16 >> 16).saturating_sub(now.0);
        let wire_time_q16 = frame_bytes * self.wire.ns_per_byte_q16;
        if waiting_ns > 0 && waiting_ns + (wire_time_q16 >> 16) > self.wire.queue_ns {
            self.counts.dropped_at_tail += 1;
            return None;
        }
        if meta.is_ect && waiting_ns > self.wire.mark_above_ns {
            self.counts.marked += u64::from(!meta.is_marked);
            meta.is_marked = true;
        }
        self.busy_until_q16 = self.busy_until_q16.max(now.0 << 16) + wire_time_q16;
        Some(Nanos(self.busy_until_q16 >> 16))
    }

    /// Changes a bit. That of a frame lies in its IP packet, in what its ICRC or a checksum covers, and
    /// no second one changes it back: its receiver must notice.
    fn corrupt(&mut self, id: PacketId, packets: &mut Packets) {
        let meta = packets.meta_mut(id);
        let (is_frame, was_corrupted) = (meta.is_frame, meta.is_corrupted);
        meta.is_corrupted = true;
        let skipped = if is_frame { FRAME_HEADER_BYTES } else { 0 };
        let bytes = &mut packets.bytes_mut(id)[skipped..];
        let bit = self.rng.below(8 * bytes.len() as u64) as usize;
        let at = bit / 8 + usize::from(is_frame && bit / 8 == VARIANT_AT);
        if !(is_frame && was_corrupted) {
            bytes[at] ^= 1 << (bit % 8);
        }
    }

    fn travel(&mut self, left_at: Nanos, id: PacketId, packets: &mut Packets) {
        if self.rng.chance(self.spec.corrupt) {
            self.counts.corrupted += 1;
            self.corrupt(id, packets);
        }
        let at = left_at + self.spec.delay;
        if self.rng.chance(self.spec.reorder) {
            self.counts.reordered += 1;
            let late = Nanos(self.rng.below(self.spec.reorder_by.0 + 1));
            self.reordered.push(Reverse((at + late, id)));
        } else {
            self.in_order.push_back((at, id));
        }
    }
}

/// The rate, and what is measured by it, as times.
#[derive(Clone, Copy, Debug)]
struct Wire {
    ns_per_byte_q16: u64,
    queue_ns: u64,
    mark_above_ns: u64,
}

impl Wire {
    fn new(spec: &LinkSpec) -> Self {
        let ns =
            |bytes: u64| (u128::from(bytes) * 8_000_000_000 / u128::from(spec.rate_bps)) as u64;
        Self {
            ns_per_byte_q16: ((8_000_000_000u128 << 16) / u128::from(spec.rate_bps)) as u64,
            queue_ns: ns(spec.queue_bytes),
            mark_above_ns: spec.mark_above_bytes.map_or(u64::MAX, ns),
        }
    }
}

/// Addresses and type of an Ethernet frame.
pub(crate) const FRAME_HEADER_BYTES: usize = 14;

/// Behind IPv4 and UDP, the byte of InfiniBand's header that switches may change: no ICRC covers it.
const VARIANT_AT: usize = 20 + 8 + 4;

/// What Ethernet adds to an IP packet in wire time: preamble, gap, header, CRC.
pub const ETHERNET_BYTES: u32 = 8 + 12 + 14 + 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Meta;

    const GIGABIT: LinkSpec = LinkSpec::clean(1_000_000_000, Nanos(1_000));

    fn enter(link: &mut Link, packets: &mut Packets, ip_bytes: u32) {
        let meta = Meta { ip_bytes, is_ect: true, ..Meta::default() };
        let id = packets.keep(meta, [b"packet", b"", b""]);
        link.enter(Nanos(0), id, packets);
    }

    #[test]
    fn packets_leave_at_the_rate_after_the_delay() {
        let (mut link, mut packets) = (Link::new(GIGABIT, Rng::new(1)), Packets::default());
        enter(&mut link, &mut packets, 962);
        enter(&mut link, &mut packets, 962);
        assert_eq!(link.next_at(), Some(Nanos(9_000)));
        assert_eq!(link.leave(Nanos(8_999)), None);
        assert!(link.leave(Nanos(9_000)).is_some());
        assert_eq!(link.next_at(), Some(Nanos(17_000)));
    }

    #[test]
    fn full_queue_drops_the_tail_and_a_long_one_marks() {
        let spec = LinkSpec { queue_bytes: 10_000, mark_above_bytes: Some(5_500), ..GIGABIT };
        let (mut link, mut packets) = (Link::new(spec, Rng::new(1)), Packets::default());
        for _ in 0..12 {
            enter(&mut link, &mut packets, 962);
        }
        let counts = link.counts();
        assert_eq!((counts.dropped_at_tail, counts.marked), (2, 4));
        assert_eq!(packets.kept(), 10);
    }

    #[test]
    fn packet_beyond_the_mtu_and_into_a_dead_link_is_lost() {
        let spec = LinkSpec { mtu_bytes: 1_500, ..GIGABIT };
        let (mut link, mut packets) = (Link::new(spec, Rng::new(1)), Packets::default());
        enter(&mut link, &mut packets, 1_501);
        link.take_down(Nanos(1));
        enter(&mut link, &mut packets, 100);
        let counts = link.counts();
        assert_eq!((counts.dropped_by_size, counts.dropped_while_down), (1, 1));
        assert_eq!((link.next_at(), packets.kept()), (None, 0));
    }
}
