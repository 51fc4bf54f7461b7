//! Turns of an endpoint, on simulated time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire_io::memory::{self, Memory};
use samplewire_io::{Ecn, Outgoing};
use samplewire_proto::session::{
    ListenConfig, ListenEvent, Listener, OpenConfig, OpenEvent, OpenRequest, Opener, StreamSlot,
};
use samplewire_proto::wire::{self, RefuseReason, Role};

use super::filtering::{Filtering, Seen};
use super::streams::tests::receiving;
use super::*;
use crate::device::{Offer, PortError};
use crate::format::Format;
use crate::port::peer_of;
use crate::transmitter::SendError;
use crate::{DeviceOptions, OpenError, StreamInfo};

const PLACES: usize = 2;
const BATCH: usize = 64;

/// An endpoint without a thread or a socket.
pub(super) struct Rig {
    pub(super) now: Nanos,
    pub(super) endpoint: Endpoint,
    batch: Batch,
    commands: mpsc::Sender<Command>,
    pub(super) wakeups: Arc<Wakeups>,
    shown: Arc<Counts>,
    seen: Arc<Seen>,
    pub(super) far: Memory,
}

impl Rig {
    pub(super) fn new(spins: bool) -> Self {
        let (near, far) = memory::pair(1_000, 2_000, 2_000).unwrap();
        let (link, seen) = Filtering::new(near);
        let wakeups = Wakeups::new(PLACES + 1, link.waker(), Duration::ZERO);
        let (commands, taken) = mpsc::channel();
        let shown = Arc::new(Counts::default());
        let link = Resilient::new(Box::new(link));
        let (calls, counts) = (Arc::clone(&wakeups), Arc::clone(&shown));
        let endpoint = Endpoint::opener(link, PLACES, spins, calls, taken, counts);
        let (now, batch) = (Nanos::from_millis(1_000), Batch::new(BATCH, 2_000));
        Self { now, endpoint, batch, commands, wakeups, shown, seen, far }
    }

    pub(super) fn turn(&mut self) -> Rest {
        self.endpoint.turn(self.now, &mut self.batch)
    }

    pub(super) fn pass(&mut self, micros: u64) {
        self.now = self.now + Nanos::from_micros(micros);
    }

    /// Delivers invalid packets.
    fn come_strays(&mut self, packets: usize) {
        self.come(&[0xEE; 40], packets);
    }

    /// Delivers copies of a packet, and does the turns that find them.
    fn come(&mut self, bytes: &[u8], packets: usize) {
        let peer = self.endpoint.link().local_addr();
        for _ in 0..packets {
            let packet = Outgoing::whole(peer, Ecn::NotEct, bytes);
            assert_eq!(self.far.send(&[packet]).unwrap(), 1);
        }
        for _ in 0..packets.div_ceil(BATCH) {
            self.pass(10);
            self.turn();
        }
    }

    /// Begins the stream, but does not wake the endpoint.
    fn begin(&self, accepted: &Accepted) {
        let entry = receiving(accepted.accept.tag);
        self.commands.send(Command::Begin(accepted.place, entry)).unwrap();
    }

    /// Requests a stream, with a timeout of half a second.
    fn open(&mut self) -> mpsc::Receiver<Result<Accepted, OpenError>> {
        let config = OpenConfig::new(Role::Receive, 0, 1);
        let config = config.with_timeout(Nanos::from_millis(500)).unwrap();
        let (answers, answer) = mpsc::channel();
        let (address, timeout) = (self.far.local_addr(), Duration::from_millis(500));
        let opening = Opening::new(address, timeout, config, [7; 16], answers);
        self.commands.send(Command::Open(Box::new(opening))).unwrap();
        self.wakeups.wake_handle(PLACES).wake();
        answer
    }
}

/// What a listener has from a host that sends this request.
pub(super) fn request(config: OpenConfig, peer: SocketAddr) -> OpenRequest {
    let now = Nanos::from_millis(1_000);
    let config = config.with_packet_bytes_max(1_500).unwrap();
    let mut opener = Opener::new(config, [2; 16], now);
    let mut listener = Listener::new(vec![StreamSlot::default()], ListenConfig::new(), [1; 16], 1);
    let mut bytes = vec![0; 2_000];
    // One OPEN without the cookie of a challenge, and one with it.
    for _ in 0..2 {
        let len = opener.poll_transmit(now, &mut bytes).expect("an OPEN is due");
        listener.handle(now, peer_of(peer), &bytes[..len], &wire::parse(&bytes[..len])).unwrap();
        if let Some(ListenEvent::Opening { request, .. }) = listener.poll_event() {
            return request;
        }
        let (_, len) = listener.poll_transmit(now, &mut bytes).expect("it is challenged");
        let (header, packet) = wire::parse(&bytes[..len]).unwrap();
        opener.handle(now, &header, &packet, len);
    }
    panic!("the listener refuses the OPEN, or challenges its own cookie");
}

/// A packet of no stream with a wrong CRC.
fn damaged() -> Vec<u8> {
    let (config, now) = (OpenConfig::new(Role::Receive, 0, 1), Nanos::from_millis(1_000));
    let mut bytes = vec![0; 2_000];
    let len = Opener::new(config, [2; 16], now).poll_transmit(now, &mut bytes).unwrap();
    bytes.truncate(len);
    bytes[len - 1] ^= 1;
    bytes
}

#[test]
fn flood_of_strays_turns_the_filter_on_for_a_while() {
    let mut rig = Rig::new(false);
    rig.come_strays(255);
    rig.pass(10_000);
    rig.turn();
    assert!(rig.seen.filter().is_empty(), "few come");
    rig.come_strays(300);
    rig.pass(10_000);
    rig.turn();
    assert_eq!(rig.seen.filter(), [true]);
    assert_eq!(rig.shown.foreign.load(Ordering::Relaxed), 555);
    rig.pass(1_000_000);
    rig.turn();
    assert_eq!(rig.seen.filter(), [true, false]);
}

#[test]
fn damaged_packets_of_no_stream_are_counted_apart_from_what_is_no_packet() {
    let mut rig = Rig::new(false);
    rig.come(&damaged(), 3);
    rig.come_strays(2);
    rig.pass(10_000);
    rig.turn();
    let shown = [&rig.shown.corrupted, &rig.shown.foreign].map(|it| it.load(Ordering::Relaxed));
    assert_eq!(shown, [3, 2]);
}

#[test]
fn endpoint_that_spins_rests_while_no_stream_is_open() {
    let mut rig = Rig::new(true);
    assert!(matches!(rig.turn(), Rest::Until(until) if until > rig.now));
    let _answer = rig.open();
    rig.turn();
    assert!(matches!(rig.turn(), Rest::Until(until) if until > rig.now), "the network takes time");
}

#[test]
fn opening_over_several_links_names_the_streams_that_still_flow() {
    for (more_addresses, steered) in [(0, &[][..]), (1, &[0])] {
        let mut rig = Rig::new(false);
        rig.seen.more_addresses.store(more_addresses, Ordering::Relaxed);
        let _answer = rig.open();
        rig.turn();
        assert_eq!(rig.seen.steered(), steered);
    }
}

#[test]
fn opening_without_an_answer_says_whether_the_peer_was_unreachable() {
    for is_found in [false, true] {
        let mut rig = Rig::new(false);
        // The earlier errors belong to another peer.
        rig.seen.unreachable.store(3, Ordering::Relaxed);
        let answer = rig.open();
        rig.turn();
        rig.seen.unreachable.fetch_add(u64::from(is_found), Ordering::Relaxed);
        let error = loop {
            rig.pass(10_000);
            rig.turn();
            if let Ok(answer) = answer.try_recv() {
                break answer.err().unwrap();
            }
            assert!(rig.now < Nanos::from_millis(2_000), "it is not answered");
        };
        let OpenError::NoAnswer { is_unreachable, is_challenged, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((is_unreachable, is_challenged), (is_found, false));
    }
}

#[test]
fn listener_counts_what_is_damaged_apart_from_what_is_no_packet() {
    let (near, mut far) = memory::pair(64, 2_000, 2_000).unwrap();
    let (peer, now) = (near.local_addr(), Nanos::from_millis(1_000));
    let wakeups = Wakeups::new(1, near.waker(), Duration::ZERO);
    let listener =
        Listener::new(vec![StreamSlot::default()].into(), ListenConfig::new(), [1; 16], 1);
    let listening = Listening::new(listener, None, 1);
    let link = Resilient::new(Box::new(near));
    let mut endpoint = Endpoint::listener(link, listening, vec![Entry::Free], false, wakeups);
    let damaged = damaged();
    for bytes in [&damaged[..], &damaged, &[0xEE; 40], &damaged, &[0xEE; 3]] {
        assert_eq!(far.send(&[Outgoing::whole(peer, Ecn::NotEct, bytes)]).unwrap(), 1);
    }
    endpoint.turn(now, &mut Batch::new(BATCH, 2_000));
    assert_eq!((endpoint.counts.corrupted, endpoint.counts.foreign), (3, 2));
}

/// How a listening end answers an opening; `turn` does its turns.
fn answer(
    config: OpenConfig,
    peer: SocketAddr,
    far: &mut Memory,
    now: &mut Nanos,
    mut turn: impl FnMut(Nanos),
) -> OpenEvent {
    let config = config.with_packet_bytes_max(1_500).unwrap();
    let mut opener = Opener::new(config, [2; 16], *now);
    let (mut bytes, mut arrived) = (vec![0; 2_000], Batch::new(BATCH, 2_000));
    let until = *now + Nanos::from_millis(1_000);
    loop {
        assert!(*now < until, "it is not answered");
        if let Some(len) = opener.poll_transmit(*now, &mut bytes) {
            far.send(&[Outgoing::whole(peer, Ecn::NotEct, &bytes[..len])]).unwrap();
        }
        *now = *now + Nanos::from_micros(100);
        turn(*now);
        far.recv(&mut arrived).unwrap();
        for (arrival, _) in arrived.iter() {
            let (header, packet) = wire::parse(arrival).unwrap();
            opener.handle(*now, &header, &packet, arrival.len());
        }
        if let Some(event) = opener.poll_event() {
            return event;
        }
    }
}

#[test]
fn stream_whose_program_is_gone_is_busy_and_one_behind_the_last_is_unknown() {
    for (stream, expected) in [(0, RefuseReason::Busy), (1, RefuseReason::NoSuchStream)] {
        let (near, mut far) = memory::pair(64, 2_000, 2_000).unwrap();
        let (address, mut now) = (near.local_addr(), Nanos::from_millis(1_000));
        let wakeups = Wakeups::new(1, near.waker(), Duration::ZERO);
        let listener =
            Listener::new(vec![StreamSlot::default()].into(), ListenConfig::new(), [1; 16], 1);
        let listening = Listening::new(listener, None, 0);
        let link = Resilient::new(Box::new(near));
        let mut endpoint = Endpoint::listener(link, listening, vec![Entry::Free], false, wakeups);
        let config = OpenConfig::new(Role::Describe, stream, 1);
        let event = answer(config, address, &mut far, &mut now, |now| {
            endpoint.turn(now, &mut Batch::new(BATCH, 2_000));
        });
        let OpenEvent::Refused { reason, .. } = event else { panic!("{event:?}") };
        assert_eq!(reason, expected, "stream {stream}");
    }
}

/// `docs/protocol.md#3.14`
#[test]
fn stream_whose_opener_says_nothing_ends_when_the_device_has_waited_long_enough() {
    for (role, stream) in [(Role::Receive, 0), (Role::Send, 1)] {
        let (near, mut far) = memory::pair(64, 2_000, 2_000).unwrap();
        let (address, mut now) = (near.local_addr(), Nanos::from_millis(1_000));
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let options = DeviceOptions::new().window(16).sends(info.clone()).plays(info);
        let seeds = [[3; 16], [4; 16]];
        let device = options.listen_stepped(Box::new(near), None, Instant::now(), seeds);
        let (_device, mut stepped) = device.unwrap();
        let mut opened_at = None;
        let config = OpenConfig::new(role, stream, 1);
        let event = answer(config, address, &mut far, &mut now, |now| {
            stepped.turn(now);
            opened_at = opened_at.or(stepped.views().next().map(|_| now));
        });
        assert!(matches!(event, OpenEvent::Accepted(_)), "{event:?}");
        for turns in 0.. {
            let rest = stepped.turn(now).expect("it has a program");
            if stepped.views().next().is_none() {
                break;
            }
            assert!(turns < 10_000, "{role:?}: it does not rest at {now:?}");
            now = match rest {
                Rest::No => now + Nanos(1),
                Rest::Until(at) | Rest::Room(at) | Rest::Pause(at) => at,
            };
        }
        let waited = now.since(opened_at.unwrap());
        let expected = Nanos::from_millis(3_000)..Nanos::from_millis(3_001);
        assert!(expected.contains(&waited), "{role:?}: {waited:?}");
    }
}

/// A stream that the device has accepted, whose program has its answer but has not begun it.
fn accepted(rig: &mut Rig) -> Accepted {
    let answer = rig.open();
    let mut listener = Listener::new(vec![StreamSlot::default()], ListenConfig::new(), [1; 16], 1);
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    let offer = Offer::new(&info, &DeviceOptions::new(), 1_500, Duration::ZERO).unwrap();
    let (peer, mut arrived) = (rig.endpoint.link().local_addr(), Batch::new(BATCH, 2_000));
    let mut bytes = vec![0; 2_000];
    loop {
        rig.pass(100);
        rig.turn();
        if let Ok(answer) = answer.try_recv() {
            return answer.unwrap();
        }
        assert!(rig.now < Nanos::from_millis(2_000), "it is not answered");
        rig.far.recv(&mut arrived).unwrap();
        for (arrival, _) in arrived.iter() {
            listener.handle(rig.now, peer_of(peer), arrival, &wire::parse(arrival)).unwrap();
            if let Some(ListenEvent::Opening { request, .. }) = listener.poll_event() {
                let terms = offer.params(&request, true, 0, 1, None).expect("the path carries it");
                listener.accept(rig.now, &request, &terms).expect("it fits");
            }
            while let Some((_, len)) = listener.poll_transmit(rig.now, &mut bytes) {
                rig.far.send(&[Outgoing::whole(peer, Ecn::NotEct, &bytes[..len])]).unwrap();
            }
        }
    }
}

#[test]
fn accepted_stream_waits_as_long_as_its_program_may_begin_it() {
    let mut rig = Rig::new(false);
    let accepted = accepted(&mut rig);
    for _ in 0..100 {
        rig.pass(100_000);
        rig.turn();
    }
    let place = accepted.place;
    assert!(matches!(rig.endpoint.streams.get(place), Some(Entry::Accepted { .. })));
    rig.begin(&accepted);
    // The command comes with a call that the endpoint has not seen when it finds the claim gone.
    drop(accepted);
    rig.pass(100_000);
    rig.endpoint.arrivals.call_due(rig.now);
    rig.endpoint.visit(rig.now, place, true).unwrap();
    assert!(matches!(rig.endpoint.streams.get(place), Some(Entry::Receiving(_))));
}

#[test]
fn stream_that_begins_is_named_to_the_link() {
    let mut rig = Rig::new(false);
    let accepted = accepted(&mut rig);
    rig.begin(&accepted);
    rig.wakeups.wake_handle(PLACES).wake();
    rig.turn();
    assert_eq!(rig.seen.steered(), [1]);
}

#[test]
fn place_of_a_program_that_does_not_begin_is_free_soon() {
    let mut rig = Rig::new(false);
    let accepted = accepted(&mut rig);
    let place = accepted.place;
    drop(accepted);
    for _ in 0..2 {
        rig.pass(CLAIM_PAUSE.0 / 1_000);
        rig.turn();
    }
    assert!(matches!(rig.endpoint.streams.get(place), Some(Entry::Free)));
    assert!(rig.endpoint.streams.are_free());
}

/// A thread that panics, or ends before it has read a command, drops its streams.
#[test]
fn listeners_of_an_endpoint_that_is_gone_fail() {
    let (near, _far) = memory::pair(64, 2_000, 2_000).unwrap();
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    let options = DeviceOptions::new().window(16).sends(info.clone()).plays(info);
    let seeds = [[3; 16], [4; 16]];
    let device = options.listen_stepped(Box::new(near), None, Instant::now(), seeds);
    let (mut device, stepped) = device.unwrap();
    let mut receive_listener = device.receive_listener.take().unwrap();
    assert!(matches!(device.listeners[0].accept(Duration::ZERO), Ok(None)));
    assert!(matches!(receive_listener.accept(Duration::ZERO), Ok(None)));
    drop(stepped);
    assert!(matches!(device.listeners[0].accept(Duration::ZERO), Err(SendError::Port(_))));
    assert!(matches!(receive_listener.accept(Duration::ZERO), Err(PortError::Failed(_))));
}
