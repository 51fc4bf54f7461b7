//! What every link passes, alone and under each middleware.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire_io::{Batch, Capture, Ecn, FaultSpec, Faults, Link, LinkError, Outgoing};

/// Two links that reach each other; the first may know no other peer.
pub(crate) type Pair = (Box<dyn Link>, Box<dyn Link>);

pub(crate) type MakePair = fn() -> Pair;

/// Puts middleware on a link.
pub(crate) type Wrap = fn(Box<dyn Link>) -> Box<dyn Link>;

/// A pair and the MTU that both of its links report.
pub(crate) struct Base {
    pub(crate) name: &'static str,
    pub(crate) mtu_bytes: usize,
    pub(crate) make: MakePair,
}

impl Base {
    pub(crate) const fn new(name: &'static str, mtu_bytes: usize, make: MakePair) -> Self {
        Self { name, mtu_bytes, make }
    }
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) mtu_bytes: usize,
    pub(crate) make: Box<dyn Fn() -> Pair>,
}

/// Each pair under each middleware.
pub(crate) fn cases(bases: &[Base], wraps: &[(&'static str, Wrap)]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &Base { name: base_name, mtu_bytes, make: base } in bases {
        for &(wrap_name, wrap) in wraps {
            let make = move || {
                let (near, far) = base();
                (wrap(near), wrap(far))
            };
            let name = format!("{wrap_name}{base_name}");
            cases.push(Case { name, mtu_bytes, make: Box::new(make) });
        }
    }
    cases
}

/// None, and every middleware.
pub(crate) fn wraps() -> Vec<(&'static str, Wrap)> {
    vec![
        ("", |link| link),
        ("no faults on ", |link| {
            let none = FaultSpec::new();
            Box::new(Faults::new(link, &none, &none).unwrap())
        }),
        // Another bound than the default's makes it decide on each packet.
        ("undrawn faults on ", |link| {
            let none = FaultSpec::new().hold(16);
            Box::new(Faults::new(link, &none, &none).unwrap())
        }),
        ("capture of ", |link| Box::new(Capture::new(link, std::io::sink()).unwrap())),
    ]
}

/// A packet that its number, length and ECN bits describe.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    ecn: u8,
    bytes: Vec<u8>,
}

fn packet(number: usize, len_bytes: usize, ecn: Ecn) -> Packet {
    let bytes = (0..len_bytes).map(|at| (number * 31 + at * 7) as u8).collect();
    Packet { ecn: ecn as u8, bytes }
}

fn outgoing(packet: &Packet, peer: SocketAddr) -> Outgoing<'_> {
    let (header, rest) = packet.bytes.split_at(packet.bytes.len().min(22));
    let (payload, trailer) = rest.split_at(rest.len().saturating_sub(4));
    Outgoing { peer, ecn: Ecn::from_tos(packet.ecn), parts: [header, payload, trailer] }
}

/// Sends all, in slices of `slice`, and receives them at the other end.
fn carry(from: &mut dyn Link, to: &mut dyn Link, packets: &[Packet], slice: usize) -> Vec<Packet> {
    let (peer, source) = (to.local_addr(), from.local_addr());
    let mut batch = Batch::new(64, 9_000);
    let mut arrived = Vec::new();
    for packets in packets.chunks(slice) {
        let packets: Vec<_> = packets.iter().map(|packet| outgoing(packet, peer)).collect();
        let mut sent = 0;
        while sent < packets.len() {
            sent += from.send(&packets[sent..]).unwrap();
        }
        let expected = arrived.len() + packets.len();
        let deadline = Instant::now() + PATIENCE;
        while arrived.len() < expected && Instant::now() < deadline {
            to.wait(Duration::from_millis(100)).unwrap();
            to.recv(&mut batch).unwrap();
            assert!(batch.len() <= batch.packets_bound());
            for (bytes, meta) in &batch {
                assert_eq!(meta.peer, source);
                assert_eq!(meta.dropped, Some(0));
                arrived.push(Packet { ecn: meta.ecn as u8, bytes: bytes.to_vec() });
            }
        }
    }
    arrived
}

/// Both ways, and compares without printing megabytes.
fn carries(case: &Case, packets: &[Packet], slice: usize) {
    let (mut near, mut far) = (case.make)();
    let sent = by_way(packets);
    let there = carry(&mut *near, &mut *far, packets, slice);
    assert!(by_way(&there) == sent, "{}: {} of {}", case.name, there.len(), packets.len());
    let back = carry(&mut *far, &mut *near, packets, slice);
    assert!(by_way(&back) == sent, "{} back: {} of {}", case.name, back.len(), packets.len());
}

/// The lengths that the case's links take, by the MTU that they are to have.
fn fitting(case: &Case, lengths_bytes: &[usize]) -> Vec<usize> {
    let (near, far) = (case.make)();
    for link in [&near, &far] {
        assert_eq!(link.capabilities().mtu_bytes, case.mtu_bytes, "{}", case.name);
    }
    let headers_bytes = samplewire_io::link::header_bytes(&near.local_addr());
    let most = case.mtu_bytes - headers_bytes;
    lengths_bytes.iter().copied().filter(|len| *len <= most).collect()
}

/// Packets that have a tag, and those too short for one: a link may take them by different ways, and keeps
/// the order on each.
fn by_way(packets: &[Packet]) -> (Vec<Packet>, Vec<Packet>) {
    packets.iter().cloned().partition(|packet| packet.bytes.len() >= TAG_END_BYTES)
}

pub(crate) fn equal_packets_arrive_whole_and_in_order(cases: &[Case]) {
    for case in cases {
        for len_bytes in fitting(case, &[34, 1_472, 8_192, 8_950]) {
            let packets: Vec<_> =
                (0..300).map(|number| packet(number, len_bytes, Ecn::Ect0)).collect();
            carries(case, &packets, 100);
        }
    }
}

pub(crate) fn unequal_packets_arrive_whole_and_in_order(cases: &[Case]) {
    for case in cases {
        let lengths_bytes = [8_950, 8_950, 34, 34, 35, 8_950, 1, 1_400, 1_400, 1_400, 700, 0, 34];
        let lengths_bytes = fitting(case, &lengths_bytes);
        let packets: Vec<_> = lengths_bytes
            .iter()
            .cycle()
            .take(500)
            .enumerate()
            .map(|(number, len_bytes)| packet(number, *len_bytes, Ecn::Ect0))
            .collect();
        carries(case, &packets, 64);
        carries(case, &packets, 1);
    }
}

pub(crate) fn ecn_bits_arrive_with_their_packets(cases: &[Case]) {
    for case in cases {
        let ecns = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ect0];
        let packets: Vec<_> = ecns
            .iter()
            .cycle()
            .take(140)
            .enumerate()
            .map(|(number, ecn)| packet(number, 500, *ecn))
            .collect();
        carries(case, &packets, 140);
    }
}

pub(crate) fn nothing_there_is_an_empty_batch(cases: &[Case]) {
    for case in cases {
        let (mut near, _far) = (case.make)();
        let mut batch = Batch::new(4, 9_000);
        batch.push(b"old", old_meta()).unwrap();
        near.recv(&mut batch).unwrap();
        assert!(batch.is_empty(), "{}", case.name);
        near.wait(Duration::from_millis(2)).unwrap();
    }
}

pub(crate) fn waker_ends_the_wait_before_it_and_during_it(cases: &[Case]) {
    for case in cases {
        let (mut near, _far) = (case.make)();
        let waker = near.waker();
        waker.wake();
        let start = Instant::now();
        near.wait(6 * PATIENCE).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || waker.wake());
            near.wait(6 * PATIENCE).unwrap();
        });
        assert!(start.elapsed() < PATIENCE, "{}", case.name);
    }
}

pub(crate) fn arrival_ends_the_wait(cases: &[Case]) {
    for case in cases {
        let (near, mut far) = (case.make)();
        let peer = near.local_addr();
        let mut near = near;
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                far.send(&[Outgoing::whole(peer, Ecn::NotEct, b"x")]).unwrap();
                far
            });
            let mut batch = Batch::new(4, 9_000);
            while batch.is_empty() {
                near.wait(6 * PATIENCE).unwrap();
                near.recv(&mut batch).unwrap();
            }
        });
        assert!(start.elapsed() < PATIENCE, "{}", case.name);
    }
}

pub(crate) fn packet_above_the_mtu_is_named_after_those_before_it_were_sent(cases: &[Case]) {
    for case in cases {
        let (mut near, mut far) = (case.make)();
        let peer = far.local_addr();
        let long = vec![0; 65_520];
        let packets = [
            Outgoing::whole(peer, Ecn::Ect0, b"first"),
            Outgoing::whole(peer, Ecn::Ect0, &long),
            Outgoing::whole(peer, Ecn::Ect0, b"third"),
        ];
        assert_eq!(near.send(&packets).unwrap(), 1, "{}", case.name);
        match near.send(&packets[1..]) {
            Err(LinkError::TooLong { len_bytes: 65_520, peer: named }) => assert_eq!(named, peer),
            other => panic!("{}: {other:?}", case.name),
        }
        assert_eq!(near.send(&packets[2..]).unwrap(), 1);
        let mut batch = Batch::new(4, 9_000);
        let mut arrived = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while arrived.len() < 2 && Instant::now() < deadline {
            far.wait(PATIENCE).unwrap();
            far.recv(&mut batch).unwrap();
            arrived.extend(batch.iter().map(|(bytes, _)| bytes.to_vec()));
        }
        assert_eq!(arrived, [b"first", b"third"], "{}", case.name);
    }
}

pub(crate) fn capabilities_pass_through_middleware(bases: &[Base]) {
    for Base { make: base, .. } in bases {
        // One pair at a time: an interface may have room for no more.
        let expected = base().0.capabilities();
        assert!(expected.ecn);
        for (_, wrap) in wraps() {
            let (near, _far) = base();
            assert_eq!(wrap(near).capabilities(), expected);
        }
    }
}

fn old_meta() -> samplewire_io::Meta {
    samplewire_io::Meta {
        peer: V4.parse().unwrap(),
        ecn: Ecn::Ce,
        dropped: None,
        packets_per_drop: 1,
    }
}

pub(crate) const V4: &str = "127.0.0.1:0";
pub(crate) const V6: &str = "[::1]:0";

/// Where the tag of a packet ends.
const TAG_END_BYTES: usize = 6;

/// Longer than any of this takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
