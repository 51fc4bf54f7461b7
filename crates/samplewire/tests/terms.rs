//! Terms that contradict each other, as a device on the wire states them (`docs/protocol.md#3.12`).

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use samplewire::source::StreamInfo;
use samplewire::{Complex, OpenError, ReceiveOptions};
use samplewire_proto::wire::{
    self, Accept, Challenge, Flags, Format, Header, Mark, Open, Packet, PacketType, Role, Tlvs,
};
use samplewire_proto::{Departure, Seq, Tag};
use samplewire_testing::PATIENCE;

/// A device that checks nothing and sends the given answers.
struct Device {
    socket: UdpSocket,
}

impl Device {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has ports");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("it is a time");
        Self { socket }
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("it is bound")
    }

    /// Answers one opening with the terms of `accept` at `index`; returns the opener's address and
    /// tag.
    fn answer(&self, index: u64, accept: &Accept<'_>) -> (SocketAddr, Tag) {
        loop {
            let mut bytes = [0; 9_000];
            let (len, peer) = self.socket.recv_from(&mut bytes).expect("an OPEN comes");
            let Ok((_, Packet::Open(open))) = wire::parse(&bytes[..len]) else { continue };
            let mut out = [0; 9_000];
            let len = answer_to(&open, len, index, accept, &mut out);
            self.socket.send_to(&out[..len], peer).expect("loopback carries it");
            if open.cookie != [0; 16] {
                return (peer, open.tag);
            }
        }
    }
}

fn answer_to(
    open: &Open<'_>,
    open_len: usize,
    index: u64,
    accept: &Accept<'_>,
    out: &mut [u8],
) -> usize {
    let kind = if open.cookie == [0; 16] { PacketType::Challenge } else { PacketType::Accept };
    let (tag, seq, departure) = (open.tag, Seq(0), Departure(1));
    let header = Header { kind, flags: Flags::NONE, tag, index, seq, departure };
    if kind == PacketType::Challenge {
        return Challenge { nonce: open.nonce, cookie: [7; 16] }.emit(&header, out);
    }
    let is_described = open.role == Role::Describe;
    let tag = if is_described { Tag::NONE } else { Tag(9) };
    // A description may leave out its window.
    let window = if is_described { accept.window.max(1) } else { accept.window };
    Accept { nonce: open.nonce, tag, window, ..*accept }.emit(&header, open_len, out)
}

/// Terms that hold.
fn good() -> Accept<'static> {
    Accept {
        nonce: 0,
        tag: Tag(9),
        stream: 0,
        streams: 1,
        boot_id: 1,
        rate_numerator: 1_000_000,
        rate_denominator: 1,
        format: Format::Sc16.number(),
        channels: 1,
        packet_samples: 256,
        payload_bytes: 1_024,
        payload_offset: 22,
        trailer_kind: 0,
        window: 64,
        reorder_tolerance: 0,
        dead_ms: 400,
        idle_ms: 100,
        ranges_max: 32,
        granularity_bytes: 8,
        time_ns: 0,
        tlvs: Tlvs::EMPTY,
    }
}

/// Opens and describes what a device offers with these terms, and returns both errors.
fn errors_of(index: u64, accept: &Accept<'_>) -> [Option<OpenError>; 2] {
    let device = Device::new();
    let address = device.address();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            device.answer(index, accept);
            device.answer(index, accept);
        });
        let described = samplewire::probe(address, Duration::from_secs(5)).err();
        let options = ReceiveOptions::new().timeout(Duration::from_secs(5));
        [options.open(address).err(), described]
    })
}

#[test]
fn time_and_its_error_are_those_that_the_device_states() {
    let described = |tlvs, time_ns| {
        let (device, accept) = (Device::new(), Accept { time_ns, tlvs, ..good() });
        std::thread::scope(|scope| {
            scope.spawn(|| device.answer(5, &accept));
            samplewire::probe(device.address(), Duration::from_secs(5)).expect("it answers")
        })
    };
    let quality = Tlvs::parse(&[0, 3, 0, 4, 0, 0, 1, 0]).expect("its length is true");
    let known = described(quality, 77);
    assert_eq!((known.first_index_tai_ns, known.clock_quality_ns), (Some(77), Some(256)));
    assert_eq!(known.tai_clock().map(|clock| clock.tai_ns(6)), Some(1_077));
    let unknown = Tlvs::parse(&[0, 3, 0, 4, 255, 255, 255, 255]).expect("its length is true");
    for tlvs in [unknown, Tlvs::EMPTY] {
        let info = described(tlvs, 0);
        assert_eq!((info.first_index_tai_ns, info.clock_quality_ns), (None, None));
        assert_eq!(info.tai_clock(), None);
    }
}

/// `docs/protocol.md#2.11`
#[test]
fn time_of_a_stream_follows_that_of_its_marks() {
    let (device, accept) = (Device::new(), Accept { time_ns: 77, ..good() });
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| device.answer(5, &accept));
        let options = ReceiveOptions::new().timeout(Duration::from_secs(5));
        let mut stream = options.open(device.address()).expect("it answers");
        let (peer, tag) = answering.join().expect("it answers");
        assert_eq!(stream.tai_clock().map(|clock| clock.tai_ns(5)), Some(77));
        // Its converter is 1 ppm slow: the millionth sample came 1 us later.
        let header = Header {
            kind: PacketType::Mark,
            flags: Flags::NONE,
            tag,
            index: 1_000_005,
            seq: Seq(0),
            departure: Departure(2),
        };
        let mark = Mark {
            oldest: Seq(0),
            report: Seq(0),
            echo: Departure(0),
            hold: u32::MAX,
            source_lost: 0,
            time_ns: 1_000_001_077,
        };
        let mut out = [0; 64];
        let len = mark.emit(&header, &mut out);
        device.socket.send_to(&out[..len], peer).expect("loopback carries it");
        let started = Instant::now();
        while stream.stats().stream.timed_index == 0 {
            assert!(started.elapsed() < Duration::from_secs(5), "the MARK comes");
            let _ = stream.next_within(Duration::from_millis(1));
        }
        let clock = stream.tai_clock().expect("it has a time");
        assert_eq!(
            (clock.tai_ns(1_000_005), clock.tai_ns(1_000_006)),
            (1_000_001_077, 1_000_002_077)
        );
    });
}

/// `docs/protocol.md#2.11`
#[test]
fn time_that_a_sender_states_reaches_the_receiver() {
    let info = StreamInfo::sc16("adc0", 1e6).expect("in range");
    let device = samplewire::device().sends(info).listen("127.0.0.1:0").expect("a port");
    let (address, mut listener) = (device.address, device.listeners.into_iter().next().unwrap());
    let (is_open, is_seen) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = listener.accept(PATIENCE).expect("it works").expect("one comes");
            while !is_open.load(Ordering::Relaxed) {
                stream.wait_ready(Duration::from_millis(1)).expect("it works");
            }
            stream.set_tai_clock(stream.info().tai_clock(7, 7_500));
            while !is_seen.load(Ordering::Relaxed) {
                stream.send(&[Complex::new(1_i16, 2); 1_000]).expect("it takes them");
            }
            stream.finish(0).expect("it ends");
        });
        let mut stream = ReceiveOptions::new().timeout(PATIENCE).open(address).expect("it answers");
        assert_eq!(stream.tai_clock(), None);
        is_open.store(true, Ordering::Relaxed);
        let started = Instant::now();
        while stream.tai_clock().is_none() {
            assert!(started.elapsed() < PATIENCE, "a MARK has the time");
            stream.next_within(Duration::from_millis(1)).expect("it flows");
        }
        let stats = stream.stats().stream;
        let clock = stream.tai_clock().expect("it has a time");
        assert_eq!((clock.tai_ns(0), clock.index), (500, stats.timed_index));
        is_seen.store(true, Ordering::Relaxed);
        assert!(stream.all(|block| block.is_ok()));
    });
}

#[test]
fn contradictory_terms_of_a_device_are_an_error_that_names_the_field() {
    let nan = [0, 1, 0, 8, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0];
    let infinite = [0, 5, 0, 8, 0xFF, 0xF0, 0, 0, 0, 0, 0, 0];
    let tlvs = |bytes| Tlvs::parse(bytes).expect("its length is true");
    let cases = [
        (0, Accept { packet_samples: 0, payload_bytes: 0, ..good() }, "payload_bytes"),
        (0, Accept { packet_samples: 0, ..good() }, "packet_samples"),
        (0, Accept { rate_denominator: 0, ..good() }, "rate_denominator"),
        (0, Accept { channels: 0, ..good() }, "channels"),
        (0, Accept { payload_offset: 0, ..good() }, "payload_offset"),
        (0, Accept { granularity_bytes: 0, ..good() }, "granularity_bytes"),
        (0, Accept { trailer_kind: 1, ..good() }, "trailer_kind"),
        (0, Accept { window: u32::MAX, ..good() }, "window"),
        (0, Accept { streams: 0, ..good() }, "stream"),
        (u64::MAX, good(), "index"),
        (0, Accept { tlvs: tlvs(&nan), ..good() }, "centre_frequency"),
        (0, Accept { tlvs: tlvs(&infinite), ..good() }, "gain"),
    ];
    for (index, accept, field) in cases {
        for error in errors_of(index, &accept) {
            let Some(OpenError::PeerTerms { error, .. }) = &error else { panic!("{error:?}") };
            assert_eq!(error.field(), field, "{error}");
        }
    }
    let held = errors_of(1 << 63, &Accept { rate_denominator: 7, ..good() });
    assert!(held.iter().all(Option::is_none), "{held:?}");
}
