//! Openers and a listener under arbitrary packets, losses, restarts and times: an opening ends,
//! once, with what the other end said; nothing is kept or amplified for an address without cookie;
//! a stream has one owner.
//!
//! The operations are here; what must hold of each end is in `session/`.

#[path = "session/device.rs"]
mod device;
#[path = "session/program.rs"]
mod program;

use samplewire_proto::crc::crc32c;
use samplewire_proto::session::Peer;
use samplewire_proto::wire::{
    Accept, Challenge, Close, CloseAck, CloseAckReason, CloseReason, Flags, Header, Open, Packet,
    PacketType, QueuePairTerms, RdmaOffer, Refuse, RefuseReason, Role, SlotRegion, TRAILER_LEN,
    TlvWriter, Tlvs, parse, seal,
};
use samplewire_proto::{Departure, Nanos, Seq, Tag};

use crate::input::Input;
use device::Device;
use program::Program;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When an invariant breaks.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut run = Run::new(&mut input);
    while !input.is_empty() {
        run.step(&mut input);
    }
    run.end_openings();
}

/// What an end says of RDMA.
fn offer(receives: bool, slots: u32) -> RdmaOffer {
    let queue_pair = QueuePairTerms { qpn: 17, first_psn: 3, path_mtu_bytes: 1_024 };
    let slots = SlotRegion { address: 64, rkey: 5, slot_bytes: 65_600, slots };
    RdmaOffer { queue_pair, slots: receives.then_some(slots) }
}

struct Run {
    now: Nanos,
    /// Openings and lives of the device so far: no two draw from one seed.
    begun: u64,
    programs: [Program; 2],
    device: Device,
    wire: [InFlight; IN_FLIGHT_MAX],
    in_flight: usize,
    /// The largest UDP payload that comes through.
    path_len_max: usize,
    /// The last packet for which a nonce and a tag can be guessed.
    seen: Seen,
}

/// A packet on its way.
#[derive(Clone, Copy)]
struct InFlight {
    /// The program that sent it or that it is for.
    program: usize,
    to_device: bool,
    /// As its machine sent it, not forged and not damaged.
    is_genuine: bool,
    len: usize,
    bytes: [u8; LEN_MAX],
}

/// What an attacker on the path has seen.
#[derive(Clone, Copy, Default)]
struct Seen {
    nonce: u64,
    opener_tag: Tag,
    stream_tag: Tag,
    cookie: [u8; 16],
}

impl Run {
    fn new(input: &mut Input<'_>) -> Self {
        let now = Nanos(u64::from(input.word()) << 12);
        let is_rival = input.byte() & 1 == 1;
        let owners = [7, if is_rival { 8 } else { 7 }];
        Self {
            now,
            begun: 2,
            programs: [0, 1].map(|at| Program::new(PEERS[at], owners[at], at as u64, input, now)),
            device: Device::new(input, now, 0),
            wire: [InFlight {
                program: 0,
                to_device: false,
                is_genuine: false,
                len: 0,
                bytes: [0; LEN_MAX],
            }; IN_FLIGHT_MAX],
            in_flight: 0,
            path_len_max: LEN_MAX,
            seen: Seen::default(),
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        let program = usize::from(choice >> 7);
        match choice % 16 {
            0..=2 => self.transmit(program),
            3..=6 => self.deliver(input, true),
            7 => self.deliver(input, false),
            8 => drop(self.take(input)),
            9 => self.damage(input),
            10 => self.now = self.now + Nanos(u64::from(input.word()) << (input.byte() % 8)),
            11 => {
                self.now = self.programs[program].next_at().map_or(self.now, |at| at.max(self.now))
            }
            12 => {
                let owner = self.programs[program].owner;
                self.begun += 1;
                self.programs[program] =
                    Program::new(PEERS[program], owner, self.begun, input, self.now);
            }
            13 => match input.byte() {
                0 => {
                    self.begun += 1;
                    self.device = Device::new(input, self.now, self.begun);
                }
                stream => self.device.release(stream),
            },
            14 => self.forge(program, input),
            _ => self.path_len_max = input.choose(&[LEN_MAX, 1_280 - 48, 576 - 48]),
        }
        self.now = self.now + Nanos(u64::from(input.byte()) << 14);
    }

    fn transmit(&mut self, program: usize) {
        let mut out = [0; LEN_MAX];
        let Some(len) = self.programs[program].transmit(self.now, &mut out) else { return };
        self.send(program, true, true, &out[..len]);
    }

    /// Hands over a packet, or a copy of it.
    fn deliver(&mut self, input: &mut Input<'_>, is_last: bool) {
        let Some(at) = self.pick(input) else { return };
        let packet = self.wire[at];
        if is_last {
            self.remove(at);
        }
        let bytes = &packet.bytes[..packet.len];
        if packet.len > self.path_len_max {
            return;
        }
        if packet.to_device {
            let mut out = [0; LEN_MAX];
            let peer = PEERS[packet.program];
            let answer = self.device.handle(self.now, peer, bytes, input, &mut out);
            if let Some(len) = answer {
                self.send(packet.program, false, true, &out[..len]);
            }
        } else {
            let accepts = &self.device;
            let program = &mut self.programs[packet.program];
            program.handle(self.now, bytes, |info| {
                assert!(!packet.is_genuine || accepts.has_said(info), "{info:?} was never said");
            });
        }
    }

    fn send(&mut self, program: usize, to_device: bool, is_genuine: bool, bytes: &[u8]) {
        self.look(bytes);
        if self.in_flight == IN_FLIGHT_MAX {
            self.remove(0);
        }
        let place = &mut self.wire[self.in_flight];
        (place.program, place.to_device, place.is_genuine) = (program, to_device, is_genuine);
        place.len = bytes.len();
        place.bytes[..bytes.len()].copy_from_slice(bytes);
        self.in_flight += 1;
    }

    /// Notes what a packet reveals to an observer.
    fn look(&mut self, bytes: &[u8]) {
        match parse(bytes) {
            Ok((_, Packet::Open(open))) => {
                (self.seen.nonce, self.seen.opener_tag) = (open.nonce, open.tag);
            }
            Ok((_, Packet::Challenge(challenge))) => self.seen.cookie = challenge.cookie,
            Ok((_, Packet::Accept(accept))) => self.seen.stream_tag = accept.tag,
            _ => {}
        }
    }

    fn pick(&self, input: &mut Input<'_>) -> Option<usize> {
        (self.in_flight > 0).then(|| usize::from(input.byte()) % self.in_flight)
    }

    fn take(&mut self, input: &mut Input<'_>) -> Option<()> {
        let at = self.pick(input)?;
        self.remove(at);
        Some(())
    }

    /// Order is kept: what comes first is oldest.
    fn remove(&mut self, at: usize) {
        for later in at + 1..self.in_flight {
            self.wire[later - 1] = self.wire[later];
        }
        self.in_flight -= 1;
    }

    fn damage(&mut self, input: &mut Input<'_>) {
        let Some(at) = self.pick(input) else { return };
        let packet = &mut self.wire[at];
        packet.is_genuine = false;
        let position = usize::from(input.half()) % packet.len;
        packet.bytes[position] = input.byte();
        if input.byte() & 1 == 0 {
            packet.len -= usize::from(input.byte()).min(packet.len - TRAILER_LEN);
            let covered = packet.len - TRAILER_LEN;
            let crc = crc32c(&packet.bytes[..covered]).to_be_bytes();
            packet.bytes[covered..packet.len].copy_from_slice(&crc);
        }
    }

    /// Sends a packet with fields near those that were seen.
    fn forge(&mut self, program: usize, input: &mut Input<'_>) {
        let seen = self.seen;
        let tag = input.choose(&[seen.opener_tag, seen.stream_tag, Tag::NONE, Tag(1)]);
        let header = Header {
            kind: input.choose(&PacketType::ALL),
            flags: Flags(input.byte() & 0xBF),
            tag,
            index: u64::from(input.word()),
            seq: Seq(input.word()),
            departure: Departure(input.near(Departure::at(self.now).0)),
        };
        let nonce = seen.nonce.wrapping_add_signed(i64::from(input.byte() as i8));
        let mut out = [0; LEN_MAX];
        let len = match header.kind {
            PacketType::Open => self.forge_open(&header, nonce, input, &mut out),
            PacketType::Accept => self.forge_accept(&header, nonce, input, &mut out),
            PacketType::Challenge => {
                let mut cookie = seen.cookie;
                cookie[0] ^= input.byte();
                Challenge { nonce, cookie }.emit(&header, &mut out)
            }
            PacketType::Refuse => {
                let reason = RefuseReason::from_number(u16::from(input.byte() % 16));
                Refuse { nonce, reason, versions: 2, retry_ms: 5 }.emit(&header, &mut out)
            }
            PacketType::Close => {
                let reason = CloseReason::from_number(0);
                Close { reason, last: Seq(0), source_lost: 0 }.emit(&header, &mut out)
            }
            PacketType::CloseAck => {
                let reason = CloseAckReason::UnknownTag;
                CloseAck { reason, echoed_tag: tag, source_lost: 0 }.emit(&header, &mut out)
            }
            PacketType::Data | PacketType::Mark | PacketType::Report => {
                seal(&header, usize::from(input.byte()), &mut out)
            }
        };
        let to_device = input.byte() & 1 == 0;
        self.send(program, to_device, false, &out[..len]);
    }

    fn forge_open(
        &self,
        header: &Header,
        nonce: u64,
        input: &mut Input<'_>,
        out: &mut [u8],
    ) -> usize {
        let open = Open {
            tag: Tag(self.seen.opener_tag.0 ^ u32::from(input.byte() % 4)),
            role: input.choose(&[Role::Receive, Role::Send, Role::Describe]),
            delivery: input.byte() % 4,
            stream: u16::from(input.byte() % 4),
            nonce,
            owner: u64::from(6 + input.byte() % 4),
            cookie: input.choose(&[self.seen.cookie, [0; 16]]),
            window: input.near(0),
            max_packet_bytes: input.half(),
            pad: input.byte(),
            trailer_kind: input.byte() / 240,
            deadline_us: input.word(),
            tlvs: Tlvs::EMPTY,
        };
        open.emit(header, 128 + usize::from(input.half()) % (LEN_MAX - 128), out)
    }

    fn forge_accept(
        &self,
        header: &Header,
        nonce: u64,
        input: &mut Input<'_>,
        out: &mut [u8],
    ) -> usize {
        let mut buffer = [0; 256];
        let mut writer = TlvWriter::new(&mut buffer);
        for _ in 0..input.byte() % 4 {
            let kind = 1 + u16::from(input.byte() % 8);
            let len = usize::from(input.byte() % 80);
            writer = writer.push(kind, input.slice(len));
        }
        let accept = Accept {
            nonce,
            tag: Tag(input.near(self.seen.stream_tag.0)),
            stream: u16::from(input.byte()),
            streams: u16::from(input.byte()),
            boot_id: u64::from(input.byte()),
            rate_numerator: u64::from(input.word()),
            rate_denominator: input.near(1),
            format: u16::from(input.byte()),
            channels: u16::from(input.byte()),
            packet_samples: input.near(8),
            payload_bytes: input.half(),
            payload_offset: input.byte(),
            trailer_kind: input.byte() / 240,
            window: input.near(16),
            reorder_tolerance: input.near(0),
            dead_ms: input.half(),
            idle_ms: input.half(),
            ranges_max: u16::from(input.byte()),
            granularity_bytes: u16::from(input.byte()),
            time_ns: 0,
            tlvs: writer.finish(),
        };
        let len_min = Accept::packet_len_min(&accept.tlvs);
        accept.emit(header, len_min + usize::from(input.half()) % (LEN_MAX - len_min), out)
    }

    /// No opening goes on for ever.
    fn end_openings(&mut self) {
        for program in &mut self.programs {
            program.time_out(self.now);
        }
    }
}

/// One over each version of IP.
const PEERS: [Peer; 2] = [Peer::v4([192, 0, 2, 7], 40_000), Peer::v6([0x20; 16], 40_001)];
/// The largest UDP payload: an Ethernet frame's over IPv4.
const LEN_MAX: usize = 1_472;
const IN_FLIGHT_MAX: usize = 6;
