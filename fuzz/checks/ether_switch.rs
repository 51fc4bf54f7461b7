//! A switch forwards or drops any bytes, within its buffer, and changes nothing but ECN bits and the
//! checksum that covers them.

use samplewire_io::Ecn;
use samplewire_io::ether::{FRAME_BYTES_MAX, Headers};
use samplewire_proto::Nanos;
use samplewire_sim::{EtherSwitch, EtherSwitchConfig, Marking, MarkingPoint};

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
    let config = EtherSwitchConfig { buffer_bytes, marking, loss, seed };
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
    assert_eq!(sum(|port| port.bytes_forwarded), sum(|port| port.bytes_out));
    assert!(sum(|port| port.marked) <= sum(|port| port.frames_out));
    let copies = sum(|port| port.frames_out) + sum(|port| port.dropped);
    let ended = sum(|port| port.lost) + sum(|port| port.filtered);
    let forwarded = taken.len() as u64 - ended;
    assert!((forwarded..=forwarded * (PORTS as u64 - 1)).contains(&copies), "each has an end");
}

/// Any bytes, or a frame between a few stations whose rest is any bytes.
fn frame(input: &mut Input<'_>) -> Vec<u8> {
    let kind = input.byte();
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

/// Each frame that leaves came in, but for a mark.
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
        assert!(taken.iter().any(is_it), "a frame that never came in: {:02x?}", departure.bytes);
    }
}

const PORTS: usize = 4;
const FRAMES_MAX: usize = 64;
