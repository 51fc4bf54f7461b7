//! A switch forwards or drops any bytes, within its buffer, and changes nothing but ECN bits and the
//! checksum that covers them. What it sends itself are congestion notifications, for queue pairs that
//! acknowledgements were for.

use samplewire_io::Ecn;
use samplewire_io::ether::{FRAME_BYTES_MAX, Headers};
use samplewire_proto::Nanos;
use samplewire_roce::wire::{Aeth, Body, Bth, Frame, Opcode, Packet, Route, Syndrome};
use samplewire_roce::{Psn, Qpn};
use samplewire_sim::{CnpConfig, EtherSwitch, EtherSwitchConfig, Marking, MarkingPoint};

use crate::input::Input;

/// Passes the frames that `bytes` spell through a switch of four ports, at most [`FRAMES_MAX`].
///
/// # Panics
/// When the switch is wrong.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (at, seed) = (input.choose(&[MarkingPoint::Enqueue, MarkingPoint::Dequeue]), input.long());
    let min_bytes = u64::from(input.half());
    let max_bytes = min_bytes + u64::from(input.half());
    let marking = Some(Marking { min_bytes, max_bytes, probability_max: 1.0, at });
    let buffer_bytes = u64::from(input.half());
    let loss = input.choose(&[0.0, 0.0, 0.25, 1.0]);
    let above_bps = (seed & 2 == 0).then_some(seed >> 8 & 0x3FFF_FFFF | 1);
    let cnp = CnpConfig { proxies: seed & 4 == 0, above_bps, interval: Nanos(seed >> 48) };
    let cnp = (seed & 1 == 0).then_some(cnp);
    let config = EtherSwitchConfig { buffer_bytes, marking, loss, seed, cnp };
    let mut switch = EtherSwitch::new(config, &[1_000_000_000; PORTS]).expect("it is consistent");
    let mut now = Nanos(0);
    let mut taken: Vec<Vec<u8>> = vec![];
    for _ in 0..FRAMES_MAX {
        if input.is_empty() {
            break;
        }
        let frame = frame(&mut input);
        switch.handle_frame(now, usize::from(input.byte()) % PORTS, &frame);
        taken.push(frame);
        now = now + Nanos(u64::from(input.half()));
        drain(&mut switch, now, &taken);
        let waiting: u64 = (0..PORTS).map(|port| switch.queued_bytes(port)).sum();
        assert!(waiting <= buffer_bytes, "{waiting} bytes wait in a buffer of {buffer_bytes}");
        assert!(switch.frame_memory_bytes() as u64 <= 16 * (buffer_bytes + 16_384));
    }
    drain(&mut switch, Nanos(u64::MAX), &taken);
    assert_eq!(switch.poll_timeout(), None, "all has left");
    let sum =
        |of: fn(&samplewire_sim::PortCounts) -> u64| switch.ports().iter().map(of).sum::<u64>();
    assert_eq!(sum(|port| port.frames_in), taken.len() as u64);
    let forged = sum(|port| port.cnp_forged);
    assert_eq!(
        sum(|port| port.bytes_forwarded) + forged * CNP_WIRE_BYTES,
        sum(|port| port.bytes_out)
    );
    assert!(cnp.is_some() || forged + sum(|port| port.cnp_refused) == 0, "it was not to send any");
    assert!(sum(|port| port.marked) <= sum(|port| port.frames_out));
    let copies = sum(|port| port.frames_out) - forged + sum(|port| port.dropped);
    let ended = sum(|port| port.lost) + sum(|port| port.filtered);
    let forwarded = taken.len() as u64 - ended;
    assert!((forwarded..=forwarded * (PORTS as u64 - 1)).contains(&copies), "each has an end");
}

/// Any bytes, or a frame between a few stations whose rest is any bytes.
fn frame(input: &mut Input<'_>) -> Vec<u8> {
    let kind = input.byte();
    if kind & 0x21 == 0x20 {
        return roce_frame(input);
    }
    let mut frame = vec![];
    if kind & 1 == 1 {
        frame.extend([0x02, 0, 0, 0, 0, input.byte() % 4, 0x02, 0, 0, 0, 0, input.byte() % 4]);
        for _ in 0..kind >> 1 & 3 {
            frame.extend([0x81, 0x00, input.byte(), input.byte()]);
        }
        frame.extend(if kind & 8 == 0 { [0x08, 0x00, 0x45] } else { [0x86, 0xDD, 0x60] });
    }
    let len = usize::from(input.byte());
    frame.extend(input.slice(len));
    if kind & 16 != 0 {
        frame.resize(frame.len() + usize::from(input.half()) % 10_000, kind);
    }
    frame
}

/// A valid frame between a few stations and queue pairs.
fn roce_frame(input: &mut Input<'_>) -> Vec<u8> {
    let (kind, from, to) = (input.byte(), input.byte() % 4, input.byte() % 4);
    let route = Route {
        source_mac: [2, 0, 0, 0, 0, from],
        destination_mac: [2, 0, 0, 0, 0, to],
        source_ip: [10, 0, 0, from],
        destination_ip: [10, 0, 0, to],
        tos: kind >> 6,
        ttl: 64,
        ..Route::default()
    };
    // Near ones, and half of them far from those.
    let psn = u32::from(input.byte());
    let psn = Psn::new(psn & 0x7F | (psn & 0x80) << 15);
    let number = Qpn::new(u32::from(kind >> 4 & 3));
    let (opcode, body) = match kind & 3 {
        0 => {
            let aeth = Aeth { syndrome: Syndrome::Ack(31), msn: 0 };
            (Opcode::Acknowledge, Body::Acknowledge(aeth))
        }
        1 => (Opcode::Cnp, Body::Cnp),
        _ => {
            let payload = &ZEROS[..usize::from(kind >> 2) * 16];
            (Opcode::SendOnly, Body::Request { reth: None, immediate: None, payload })
        }
    };
    let packet = Packet { bth: Bth::new(opcode, number, psn), body };
    let mut frame = vec![0; packet.frame_len()];
    packet.emit(&route, &mut frame);
    frame
}

/// Whether a frame is a notification for a queue pair that an acknowledgement in `taken` was for.
fn is_forged(bytes: &[u8], taken: &[Vec<u8>]) -> bool {
    let Ok(frame) = Frame::new_checked(bytes) else { return false };
    let (packet, way) = (frame.packet(), frame.route());
    let is_ack = |frame: &Frame<'_>| {
        let (ack, route) = (frame.packet(), frame.route());
        ack.bth.opcode == Opcode::Acknowledge
            && ack.bth.destination == packet.bth.destination
            && (route.source_ip, route.destination_ip) == (way.source_ip, way.destination_ip)
    };
    let mut frames = taken.iter().filter_map(|frame| Frame::new_checked(frame).ok());
    packet == Packet::cnp(packet.bth.destination)
        && way.tos == way.for_cnp().tos
        && frames.any(|frame| is_ack(&frame))
}

/// Each frame that leaves came in, but for a mark, or is a notification.
fn drain(switch: &mut EtherSwitch, now: Nanos, taken: &[Vec<u8>]) {
    while let Some(departure) = switch.poll_transmit(now) {
        assert!(departure.at <= now && departure.port < PORTS);
        assert!((14..=FRAME_BYTES_MAX).contains(&departure.bytes.len()));
        let is_it = |frame: &Vec<u8>| {
            let mut marked = frame.clone();
            let is_marked = Headers::parse(frame).is_some_and(|it| it.mark(&mut marked));
            let is_same = frame == departure.bytes || is_marked && marked == departure.bytes;
            is_same && (!is_marked || Headers::parse(&marked).is_some_and(|it| it.ecn() == Ecn::Ce))
        };
        let is_known = taken.iter().any(is_it) || is_forged(departure.bytes, taken);
        assert!(is_known, "a frame that never came in: {:02x?}", departure.bytes);
    }
}

const PORTS: usize = 4;
const FRAMES_MAX: usize = 64;
static ZEROS: [u8; 1_024] = [0; 1_024];

/// 74 bytes, preamble, gap and FCS.
const CNP_WIRE_BYTES: u64 = 98;
