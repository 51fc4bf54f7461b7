//! The faults of one direction: decisions, what is held, and the record of both.

use std::time::{Duration, Instant};

use super::hold::HoldQueue;
use super::log::{Action, Direction, Entry, FaultLog};
use super::model::{Fate, Model};
use super::spec::{FaultSpec, PacketTypes, SpecError};
use crate::batch::Meta;
use crate::link::{Outgoing, header_bytes};
use samplewire_proto::block::wire::ETHER_TYPE;
use samplewire_proto::wire::PacketType;

/// One direction.
#[derive(Debug)]
pub(super) struct Path {
    direction: Direction,
    model: Model,
    only: PacketTypes,
    /// Nanoseconds for a bit on the slowest hop.
    bit_ns: Option<f64>,
    /// When the slowest hop is free again.
    free_at: Instant,
    pub(super) hold: HoldQueue,
    reads: Reads,
    log: FaultLog,
    ordinal: u64,
    decided: Decided,
    faultless: bool,
}

/// Fates that were drawn for packets which then were not taken: they are for the next ones.
#[derive(Debug, Default)]
struct Decided {
    passes: usize,
    then: Option<Fate>,
}

impl Path {
    pub(super) fn new(
        direction: Direction,
        spec: &FaultSpec,
        packet_bytes_max: usize,
        reads: Reads,
        log: &FaultLog,
    ) -> Result<Self, SpecError> {
        spec.check()?;
        let faultless = *spec == FaultSpec { seed: spec.seed, ..FaultSpec::new() };
        let hold_packets = if faultless { 0 } else { spec.hold_packets_max };
        Ok(Self {
            direction,
            model: Model::new(spec),
            only: spec.only,
            bit_ns: spec.rate_bps.map(|bps| 1e9 / bps),
            free_at: Instant::now(),
            hold: HoldQueue::new(hold_packets, packet_bytes_max.min(HELD_BYTES_MAX)),
            reads,
            log: log.clone(),
            ordinal: 0,
            decided: Decided::default(),
            faultless,
        })
    }

    /// Whether every packet passes.
    pub(super) fn is_faultless(&self) -> bool {
        self.faultless
    }

    /// Draws fates for `packets` up to the first that does not just pass: how many pass, and the
    /// fate of the one after them. A run also ends where a held packet must enter.
    pub(super) fn run(&mut self, packets: &[Outgoing<'_>]) -> (usize, Option<Fate>) {
        let bound = packets.len().min(self.hold.until_next_enters());
        for (index, packet) in packets[..bound].iter().enumerate() {
            let fate = self.decide(&Head::of(packet.parts));
            if fate.is_some() {
                return (index, fate);
            }
        }
        (bound, None)
    }

    /// The fate of the next packet; `None` where it passes at once and unchanged.
    pub(super) fn decide(&mut self, head: &Head) -> Option<Fate> {
        if !self.only.contains(head.packet_type) {
            return None;
        }
        if self.decided.passes > 0 {
            self.decided.passes -= 1;
            return None;
        }
        let fate = self.decided.then.take().unwrap_or_else(|| self.model.decide(head.len_bytes));
        (fate != Fate::PASS || self.bit_ns.is_some()).then_some(fate)
    }

    /// Keeps the fates of `packets`, which pass, and of the one after them, for the next packets:
    /// none of these was taken.
    pub(super) fn put_back(&mut self, packets: &[Outgoing<'_>], then: Option<Fate>) {
        let drawn = |packet: &&Outgoing<'_>| self.only.contains(Head::of(packet.parts).packet_type);
        self.decided.passes += packets.iter().filter(drawn).count();
        self.decided.then = then.or(self.decided.then);
    }

    /// The same for one packet that was not taken, with its fate as [`Path::decide`] gave it.
    pub(super) fn put_back_one(&mut self, head: &Head, fate: Option<Fate>) {
        match fate {
            Some(fate) => self.decided.then = Some(fate),
            None => self.decided.passes += usize::from(self.only.contains(head.packet_type)),
        }
    }

    /// Counts packets that have passed unchanged.
    pub(super) fn passed(&mut self, packets: usize, now: Instant) {
        self.ordinal += packets as u64;
        self.log.count(self.direction, |counts| counts.packets += packets as u64);
        self.hold.passed(packets, now);
    }

    /// Takes a packet as its fate says, changing `bytes` where that corrupts them. False where it
    /// should be held and cannot: the caller passes it on and says so by
    /// [`Path::passed_undelayed`].
    pub(super) fn take(&mut self, fate: Fate, bytes: &mut [u8], meta: Meta, now: Instant) -> bool {
        let head = self.reads.head(bytes);
        if fate.lost {
            self.enter(&head, Action::Lost);
            self.count_one();
            return true;
        }
        if self.bit_ns.is_some() && self.hold.is_full() {
            self.enter(&head, Action::QueueFull);
            self.count_one();
            return true;
        }
        if let Some(corruption) = fate.corrupt {
            corruption.apply(bytes);
        }
        let delay = self.serialized(now, self.reads.ip_bytes(bytes.len(), &meta)) + fate.delay;
        let held = if fate.overtaken_by > 0 {
            self.hold.hold_behind(fate.overtaken_by, now + REORDER_WAIT, delay, bytes, meta)
        } else {
            self.hold.hold(now + delay, bytes, meta)
        };
        if !held {
            return false;
        }
        if fate.corrupt.is_some() {
            self.enter(&head, Action::Corrupted);
        }
        if fate.overtaken_by > 0 {
            self.enter(&head, Action::Reordered);
        } else {
            self.hold.passed(1, now);
        }
        if fate.duplicate {
            if self.hold.hold(now + delay, bytes, meta) {
                self.enter(&head, Action::Duplicated);
            } else {
                self.log.count(self.direction, |counts| counts.undelayed += 1);
            }
        }
        if !delay.is_zero() {
            self.log.count(self.direction, |counts| counts.delayed += 1);
        }
        self.count_one();
        true
    }

    /// Counts a packet that passed at once because it could not be held; `head` is what it had
    /// before it was changed.
    pub(super) fn passed_undelayed(&mut self, fate: Fate, head: &Head, now: Instant) {
        if fate.corrupt.is_some() {
            self.enter(head, Action::Corrupted);
        }
        self.log.count(self.direction, |counts| counts.undelayed += 1);
        self.passed(1, now);
    }

    /// How long a packet of `len_bytes` waits for the slowest hop and takes to cross it.
    fn serialized(&mut self, now: Instant, len_bytes: usize) -> Duration {
        let Some(bit_ns) = self.bit_ns else { return Duration::ZERO };
        let crossing = Duration::from_nanos((len_bytes as f64 * 8.0 * bit_ns) as u64);
        self.free_at = self.free_at.max(now) + crossing;
        self.free_at - now
    }

    fn count_one(&mut self) {
        self.ordinal += 1;
        self.log.count(self.direction, |counts| counts.packets += 1);
    }

    fn enter(&self, head: &Head, action: Action) {
        self.log.enter(Entry {
            direction: self.direction,
            ordinal: self.ordinal,
            packet_type: head.packet_type,
            seq: head.seq,
            action,
        });
    }
}

/// What passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// UDP payloads.
    Packets,
    /// Ethernet frames of RoCEv2 and of the block transfer.
    Frames,
}

impl Reads {
    fn head(self, bytes: &[u8]) -> Head {
        match self {
            Self::Packets => Head::of([bytes, &[], &[]]),
            Self::Frames => Head::of_frame(bytes).unwrap_or_default(),
        }
    }

    /// The length as an IP packet.
    fn ip_bytes(self, len_bytes: usize, meta: &Meta) -> usize {
        match self {
            Self::Packets => len_bytes + header_bytes(&meta.peer),
            Self::Frames => len_bytes.saturating_sub(ETHERNET_BYTES),
        }
    }
}

/// What is read of a packet (docs/protocol.md, header): nothing else is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) packet_type: u8,
    pub(super) seq: u32,
    pub(super) len_bytes: usize,
}

impl Head {
    /// Type and seq are 0 where the packet is too short for them.
    pub(super) fn of(parts: [&[u8]; 3]) -> Self {
        let mut start = [0; 18];
        let mut bytes = parts.iter().flat_map(|part| part.iter());
        for (to, from) in start.iter_mut().zip(&mut bytes) {
            *to = *from;
        }
        let len_bytes = parts.iter().map(|part| part.len()).sum();
        let seq = if len_bytes < start.len() {
            [0; 4]
        } else {
            [start[14], start[15], start[16], start[17]]
        };
        Self { packet_type: start[0] & 0xf, seq: u32::from_be_bytes(seq), len_bytes }
    }

    /// Of an Ethernet frame. `None` for what is of neither RoCEv2 nor the block transfer's EtherType.
    pub(super) fn of_frame(frame: &[u8]) -> Option<Self> {
        Self::of_block(frame).or_else(|| Self::of_roce(frame))
    }

    /// Of the block transfer (`docs/block.md#frames`): answers count as REPORT, all others as DATA.
    fn of_block(frame: &[u8]) -> Option<Self> {
        let kind = *frame.get(14)?;
        let is_answer = matches!(kind, 0x03 | 0x13);
        let packet_type = if is_answer { PacketType::Report } else { PacketType::Data } as u8;
        let seq_at = match kind {
            0x01 => Some(15),
            0x11 => Some(19),
            _ => None,
        };
        let seq = seq_at.and_then(|at| frame.get(at..at + 4)?.try_into().ok());
        let seq = u32::from_be_bytes(seq.unwrap_or_default());
        let is_block = frame[12..14] == ETHER_TYPE.to_be_bytes();
        is_block.then_some(Self { packet_type, seq, len_bytes: frame.len() })
    }

    /// Of RoCEv2: requests count as DATA, acknowledgements and notifications as REPORT, and the PSN is
    /// the seq.
    fn of_roce(frame: &[u8]) -> Option<Self> {
        let (ip, udp, bth) = (frame.get(12..24)?, frame.get(34..42)?, frame.get(42..54)?);
        let is_ipv4_udp = ip[..2] == [0x08, 0x00] && ip[2] == 0x45 && ip[11] == 17;
        let is_roce = is_ipv4_udp && udp[2..4] == ROCE_PORT.to_be_bytes();
        let is_answer = matches!(bth[0], ROCE_ACKNOWLEDGE | ROCE_CNP);
        let packet_type = if is_answer { PacketType::Report } else { PacketType::Data } as u8;
        let seq = u32::from_be_bytes([0, bth[9], bth[10], bth[11]]);
        is_roce.then_some(Self { packet_type, seq, len_bytes: frame.len() })
    }
}

const ETHERNET_BYTES: usize = 14;
/// UDP port and opcodes of RoCEv2 (IB 9.2, A17.9.3).
const ROCE_PORT: u16 = 4_791;
const ROCE_ACKNOWLEDGE: u8 = 0x11;
const ROCE_CNP: u8 = 0x81;

/// How long a reordered packet waits for those that are to overtake it.
pub const REORDER_WAIT: Duration = Duration::from_millis(10);

/// Longer packets are not held: 9,000 bytes of MTU and room.
const HELD_BYTES_MAX: usize = 9_216;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Ecn;
    use std::net::SocketAddr;

    fn path(spec: &FaultSpec) -> Path {
        Path::new(Direction::Transmit, spec, 1_500, Reads::Packets, &FaultLog::new()).unwrap()
    }

    fn data_packet(bytes: &[u8]) -> Outgoing<'_> {
        Outgoing::whole(SocketAddr::from(([127, 0, 0, 1], 1)), Ecn::Ect0, bytes)
    }

    #[test]
    fn head_is_read_across_parts() {
        let mut bytes = [0; 40];
        bytes[0] = 0x12;
        bytes[14..18].copy_from_slice(&0x0102_0304_u32.to_be_bytes());
        let whole = Head::of([&bytes, &[], &[]]);
        assert_eq!(whole, Head { packet_type: 2, seq: 0x0102_0304, len_bytes: 40 });
        assert_eq!(Head::of([&bytes[..16], &bytes[16..17], &bytes[17..]]), whole);
        assert_eq!(Head::of([&bytes[..17], &[], &[]]).seq, 0);
        assert_eq!(Head::of([&[], &[], &[]]).len_bytes, 0);
    }

    #[test]
    fn fates_of_packets_not_taken_are_for_the_next_ones() {
        let spec = FaultSpec::new().loss(0.3).seed(5);
        let (mut whole, mut halting) = (path(&spec), path(&spec));
        let bytes = [0; 40];
        let packets = [data_packet(&bytes); 64];
        let (mut expected, mut seen) = (Vec::new(), Vec::new());
        while expected.len() < 1_000 {
            let (run, fate) = whole.run(&packets);
            expected.extend(std::iter::repeat_n(false, run));
            expected.extend(fate.map(|fate| fate.lost));
        }
        for round in 0.. {
            let offered = &packets[..1 + round * 7 % packets.len()];
            let (run, fate) = halting.run(offered);
            let taken = run.min(round % 3);
            seen.extend(std::iter::repeat_n(false, taken));
            if taken < run {
                halting.put_back(&offered[taken..run], fate);
            } else {
                seen.extend(fate.map(|fate| fate.lost));
            }
            if seen.len() >= 1_000 {
                break;
            }
        }
        assert_eq!(seen[..1_000], expected[..1_000]);
    }

    #[test]
    fn types_left_out_draw_nothing() {
        let spec = FaultSpec::new().loss(1.0).only(PacketTypes::one(0));
        let mut path = path(&spec);
        let report = [2; 40];
        assert_eq!(path.run(&[data_packet(&report); 3]), (3, None));
        let data = [0x10; 40];
        let (run, fate) = path.run(&[data_packet(&report), data_packet(&data)]);
        assert!(run == 1 && fate.unwrap().lost);
    }

    #[test]
    fn held_packets_pass_those_that_wait_behind_others() {
        let mut path = path(&FaultSpec::new().reorder(0.5));
        let (now, pass) = (Instant::now(), Fate::PASS);
        assert!(path.take(Fate { overtaken_by: 1, ..pass }, &mut [1], Meta::NONE, now));
        assert!(path.hold.first_due(now).is_none());
        assert!(path.take(Fate { duplicate: true, ..pass }, &mut [2], Meta::NONE, now));
        for expected in [2, 1, 2] {
            assert_eq!(path.hold.first_due(now).unwrap().0, [expected]);
            path.hold.remove_first();
        }
        assert!(path.hold.is_empty());
    }

    #[test]
    fn slow_hop_spaces_packets_and_drops_the_newest_when_full() {
        let mut path = path(&FaultSpec::new().rate(8e6).hold(3));
        let (now, meta) = (Instant::now() + REORDER_WAIT, Meta::NONE);
        // 72 bytes and 28 of headers are 100 microseconds at 8 Mb/s.
        for _ in 0..4 {
            let fate = path.decide(&Head { packet_type: 0, seq: 0, len_bytes: 72 }).unwrap();
            assert!(path.take(fate, &mut [0; 72], meta, now));
        }
        for number in 1..=3 {
            let due = now + number * Duration::from_micros(100);
            assert_eq!(path.hold.next_due(), Some(due));
            assert!(path.hold.first_due(due).is_some());
            path.hold.remove_first();
        }
        assert!(path.hold.is_empty());
        let counts = path.log.counts(Direction::Transmit);
        assert_eq!((counts.packets, counts.delayed, counts.queue_full), (4, 3, 1));
    }
}
