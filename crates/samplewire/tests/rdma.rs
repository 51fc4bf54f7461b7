//! Streams over RDMA between a device and a program, over real sockets (`docs/protocol.md#13`).

mod cable;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cable::{Altered, cable};
use samplewire::options::DrawnTerms;
use samplewire::real_time::RealTime;
use samplewire::receiver::Port;
use samplewire::source::{CounterSource, ReadSamples};
use samplewire::stepped::PendingReceiver;
use samplewire::transmitter::{Overflow, PlaySummary, SendError};
use samplewire::{
    Block, Carriage, Cause, CloseReason, Device, DeviceOptions, End, FaultSpec, Faults, Flags,
    Link, OpenError, ReceiveStream, SendStream, StationConfig, Udp, UdpOptions, stepped,
};
use samplewire_io::ether::{Dgram, EtherLink};
use samplewire_io::faults::Model;
use samplewire_io::memory;
use samplewire_proto::Nanos;
use samplewire_proto::wire::{self, Packet, RdmaOffer};
use samplewire_roce::requester::SendSlot;
use samplewire_roce::wire::{FRAME_BYTES_MAX, Frame};
use samplewire_roce::{PathMtu, Qpn};

#[test]
fn stream_goes_over_rdma_and_every_sample_arrives() {
    let [far, near] = cable(|link, _| Box::new(link));
    let (address, sends) = device(Some(far));
    let mut stream = open(udp(address), Some(near), address);
    assert_eq!(stream.info().carriage, Carriage::Rdma);
    take(&mut stream, 0, 1_000_000);
    drop(stream);
    let summary = sends.join().unwrap().expect("the stream ends well");
    assert_eq!(summary.overflow_samples, 0);
}

/// Frames and control packets are lost, doubled, reordered and damaged.
#[test]
fn every_sample_arrives_through_faults_of_both_ways() {
    let faults = |seed| {
        let spec = FaultSpec::new().loss(0.01).duplicate(0.01).corrupt(0.005).reorder(0.01);
        spec.depth(4).seed(seed)
    };
    let [far, near] = cable(|link, end| lossy(link, Model::new(&faults(end as u64))));
    let (address, sends) = device(Some(far));
    let link = Faults::new(udp(address), &faults(7), &faults(8)).unwrap();
    let mut stream = open(Box::new(link), Some(near), address);
    assert_eq!(stream.info().carriage, Carriage::Rdma);
    take(&mut stream, 0, 300_000);
    let stats = stream.stats();
    assert!(stats.stream.ranges > 0 && stats.stream.duplicates > 0, "{:?}", stats.stream);
    assert!(stats.port.corrupted > 0, "{:?}", stats.port);
    drop(stream);
    let summary = sends.join().unwrap().expect("the stream ends well");
    assert!(summary.end.stats.retransmissions > 0, "{:?}", summary.end.stats);
}

/// Either end has no station.
#[test]
fn stream_is_one_of_data_where_an_end_cannot() {
    for has_station in [[true, false], [false, true]] {
        let [far, near] = cable(|link, _| Box::new(link));
        let (address, sends) = device(has_station[0].then_some(far));
        let mut stream = open(udp(address), has_station[1].then_some(near), address);
        assert_eq!(stream.info().carriage, Carriage::Data);
        take(&mut stream, 0, 50_000);
        drop(stream);
        sends.join().unwrap().expect("the stream ends well");
    }
}

/// `docs/protocol.md#3.13`, `#13.1`: a description shows the stream that would result, and disturbs none.
#[test]
fn probe_shows_whether_a_device_offers_rdma_and_what_stream_would_result() {
    for has_station in [true, false] {
        let [far, near] = cable(|link, _| Box::new(link));
        let (address, sends) = device(has_station.then_some(far));
        let mut stream = open(udp(address), Some(near), address);
        let next = take(&mut stream, 0, 10_000);
        let probe = samplewire::probe_rdma(address, 0, LONG).expect("the device answers");
        // Loopback carries the largest path MTU, the station of the device 1,024 bytes.
        assert_eq!(probe.path_mtu_bytes, 4_096);
        assert_eq!(probe.device_path_mtu_bytes, has_station.then_some(1_024));
        assert_eq!(probe.info.carriage == Carriage::Rdma, has_station);
        if has_station {
            assert_eq!(probe.info.payload_bytes, stream.info().payload_bytes);
            let write_bytes = u32::from(probe.info.payload_bytes) + 64;
            assert_eq!(probe.packets_a_write(), Some(write_bytes / 1_024));
        } else {
            assert_eq!(probe.packets_a_write(), None);
        }
        let plain = samplewire::probe(address, LONG).expect("the device answers");
        assert_eq!(plain.carriage, Carriage::Data);
        take(&mut stream, next, next + 50_000);
        drop(stream);
        sends.join().unwrap().expect("the stream ends well");
    }
}

/// The cable of the frames is cut: the queue pair of the device gives up after the time for which a peer is
/// waited for, both ends say so, and all that it posted is accounted for.
#[test]
fn both_ends_name_a_queue_pair_that_failed() {
    let is_cut = Arc::new(AtomicBool::new(false));
    let [far, near] = cable(|link, _| cut(link, Arc::clone(&is_cut)));
    let terms = DrawnTerms { dead_ms: 500, idle_ms: 50, ranges_max: 32 };
    let (address, sends) = device_of(DeviceOptions::new().drawn(terms), Some(far));
    let mut stream = open(udp(address), Some(near), address);
    let mut next = take(&mut stream, 0, 50_000);
    is_cut.store(true, Ordering::Relaxed);
    let mut lost = 0;
    while let Ok(Some(block)) = stream.next_within(LONG) {
        for gap in block.gaps() {
            assert_eq!((gap.first, gap.cause), (next, Cause::GoneAtSender));
            (next, lost) = (gap.end(), lost + gap.count());
        }
        if !block.is_empty() {
            assert_eq!(block.index(), next);
            next += block.len() as u64;
        }
    }
    let end = stream.end().expect("it has ended").as_ref().expect("no link failed");
    assert_eq!(*end, End::ClosedByPeer(CloseReason::QueuePairFailed));
    let summary = sends.join().unwrap().expect("its source went on");
    assert_eq!(summary.end.end, End::QueuePairFailed);
    assert_eq!(next, summary.end.final_index);
    assert!(lost > 0, "nothing was on the way");
}

#[test]
fn choices_that_no_stream_over_rdma_has_are_refused_before_anything_is_sent() {
    let address: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let refused = |options: &samplewire::ReceiveOptions| {
        let [_, near] = cable(|link, _| Box::new(link));
        let port = Port::over_rdma(udp(address), near, &RealTime::default()).unwrap();
        port.open(address, options).unwrap_err()
    };
    let error = refused(&samplewire::receive().window(100));
    assert!(
        matches!(error, OpenError::OptionRange { option: "window", value: 100, .. }),
        "{error}"
    );
    let error = refused(&samplewire::receive().delivery(samplewire::Delivery::BestEffort));
    assert!(matches!(error, OpenError::Contradiction { .. }), "{error}");
}

/// The first frames find the address of the peer's station known: one that is lost costs 17 ms.
/// With small windows, a window of the device that is no power of two, and RDMA packets of 256 bytes.
#[test]
fn stream_waits_for_no_timer_from_its_begin_on() {
    for (window, device_window) in [(1, 1), (1, 64), (2, 3), (16, 5), (128, 100)] {
        let mut ends = Both::open(window, device_window);
        let began = ends.now;
        ends.run_until(|ends| ends.delivered >= 500 * ends.packet_samples);
        let span = Duration::from_nanos(ends.now.0 - began.0);
        assert!(span < Duration::from_millis(16), "windows {window}, {device_window}: {span:?}");
    }
}

/// A packet's memory is the program's once its WRITE is complete and reported, and not at the next
/// MARK.
#[test]
fn quanta_return_as_soon_as_their_packets_are_written_and_reported() {
    let mut ends = Both::open(128, 100);
    let all = ends.submit(u32::MAX);
    ends.pass(300);
    for _ in 0..50 {
        // The interval between packets is that between MARKs.
        assert_eq!(ends.submit(1), 1);
        ends.pass(50);
    }
    assert_eq!(ends.submit(u32::MAX), all);
    ends.pass(1);
    assert_eq!(ends.submit(u32::MAX), all);
}

/// `docs/protocol.md#3.10`, `#13.7`: the owner opens the stream again while WRITEs are on their way.
/// None of them reaches the next stream, which goes on where the first has ended at the device.
#[test]
fn stream_that_is_taken_over_goes_on_over_rdma() {
    let mut ends = Both::open(128, 100);
    ends.run_until(|ends| ends.delivered >= 1_000 * ends.packet_samples);
    ends.submit(u32::MAX);
    let options = samplewire::receive().window(64).owner(OWNER);
    for number in 1..20 {
        let pending = ends.port.start_opening(ends.device.address, &options, [number; 16]).unwrap();
        while ends.sends.check().is_ok() {
            turn(&mut ends.now, &mut ends.ends);
        }
        let Both { mut now, ends: mut both, mut device, port, sends, receives, .. } = ends;
        let next_index = sends.next_index();
        drop(sends);
        let (sends, next) = begin(&mut now, &mut both, &mut device, &port, &pending);
        assert_eq!(next.info().carriage, Carriage::Rdma);
        assert_eq!(next.info().first_index, next_index);
        drop(receives);
        let packet_samples = u64::from(next.info().packet_samples);
        ends = Both {
            now,
            ends: both,
            device,
            port,
            sends,
            receives: next,
            packet_samples,
            delivered: 0,
        };
        ends.run_until(|ends| ends.delivered >= 100 * ends.packet_samples);
        ends.submit(u32::MAX);
    }
}

/// A receive request and a record for each packet, of 64 bytes.
#[test]
fn memory_of_the_slots_and_of_the_writes_is_stated() {
    let ends = [Carriage::Data, Carriage::Rdma].map(|carriage| Both::over(carriage, 128, 128));
    let [data, rdma] = ends.each_ref().map(|it| it.receives.memory_bytes());
    assert!((data + 128 * 64..data + 128 * 192).contains(&rdma), "{data} and {rdma} bytes");
    let listeners = [false, true].map(|has_station| {
        let [far, _near] = cable(|link, _| Box::new(link));
        let info = CounterSource::new(1e6, 0).expect("a rate in range").info().clone();
        let options = DeviceOptions::new().window(128).sends(info);
        let link = Box::new(Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap());
        let device =
            if has_station { options.listen_rdma(link, far) } else { options.listen_over(link) };
        device.unwrap().listeners[0].memory_bytes()
    });
    let [data, rdma] = listeners;
    let writes = 128 * size_of::<SendSlot>();
    assert!((data + writes..data + writes + 8_192).contains(&rdma), "{data} and {rdma} bytes");
}

/// A frame for another queue pair at the same place, such as that of the stream before: it is counted, and
/// costs nothing more.
#[test]
fn frames_of_another_queue_pair_are_foreign_at_both_ends() {
    let [far, near] = cable(|link, _| renumbered(link));
    let mut source = CounterSource::new(1e6, 0).expect("a rate in range");
    let options = DeviceOptions::new().window(256).sends(source.info().clone());
    let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let mut device = options.listen_rdma(Box::new(link), far).unwrap();
    let mut stream = open(udp(device.address), Some(near), device.address);
    let mut sends = device.accept().unwrap();
    let stats = sends.stats_handle();
    let sends = thread::spawn(move || sends.play(&mut source, Overflow::Wait, || false).unwrap());
    take(&mut stream, 0, 100_000);
    let deadline = Instant::now() + LONG;
    while stream.stats().port.foreign < 100 || stats.stats().foreign < 10 {
        assert!(Instant::now() < deadline, "{:?} {:?}", stream.stats().port, stats.stats());
        stream.next_within(LONG).unwrap().expect("samples come");
    }
    assert_eq!(stream.stats().stream.refused, 0);
    drop(stream);
    sends.join().unwrap();
}

/// Both ends of a stream without threads, on virtual time.
struct Both {
    now: Nanos,
    ends: [stepped::Stepped; 2],
    device: Device,
    port: Port,
    sends: SendStream,
    receives: ReceiveStream,
    packet_samples: u64,
    delivered: u64,
}

impl Both {
    fn open(window: u32, device_window: u32) -> Self {
        Self::over(Carriage::Rdma, window, device_window)
    }

    fn over(carriage: Carriage, window: u32, device_window: u32) -> Self {
        let epoch = Instant::now();
        let [mut far, mut near] = cable(|link, _| Box::new(link));
        (far.path_mtu, near.path_mtu) = (PathMtu::Bytes256, PathMtu::Bytes4096);
        let near = (carriage == Carriage::Rdma).then_some(near);
        let (device_link, port_link) = memory::pair(64, 2_000, 2_000).unwrap();
        let address = device_link.local_addr();
        let info = CounterSource::new(1e6, 0).expect("a rate in range").info().clone();
        let options = DeviceOptions::new().window(device_window).payload_bytes(1_024).sends(info);
        let seeds = [[1; 16], [2; 16]];
        let (mut device, sender) =
            options.listen_stepped(Box::new(device_link), Some(far), epoch, seeds).unwrap();
        let (port, receiver) = Port::stepped(Box::new(port_link), near, 2, epoch).unwrap();

        let options = samplewire::receive().window(window).owner(OWNER);
        let pending = port.start_opening(address, &options, [3; 16]).unwrap();
        let (mut now, mut ends) = (Nanos::from_millis(1_000), [sender, receiver]);
        let (sends, receives) = begin(&mut now, &mut ends, &mut device, &port, &pending);
        assert_eq!(receives.info().carriage, carriage);
        let packet_samples = u64::from(receives.info().packet_samples);
        let delivered = 0;
        Self { now, ends, device, port, sends, receives, packet_samples, delivered }
    }

    fn run_until(&mut self, is_over: impl Fn(&Self) -> bool) {
        let deadline = self.now + Nanos::from_millis(60_000);
        while !is_over(self) {
            self.submit(u32::MAX);
            self.step();
            assert!(self.now < deadline, "{} samples came", self.delivered);
        }
    }

    fn pass(&mut self, millis: u64) {
        let until = self.now + Nanos::from_millis(millis);
        while self.now < until {
            self.step();
        }
    }

    /// The program of the device sends a packet in each quantum that is free, in so many at most;
    /// returns how many there were.
    fn submit(&mut self, quanta_max: u32) -> u32 {
        let mut quanta = 0;
        while quanta < quanta_max
            && let Some(mut filling) = self.sends.quantum(Duration::ZERO).unwrap()
        {
            let index = self.sends.next_index();
            let len_bytes = (4 * self.packet_samples) as usize;
            let words = filling.bytes_mut()[..len_bytes].as_chunks_mut::<4>().0;
            words.iter_mut().zip(index..).for_each(|(word, at)| *word = (at as u32).to_le_bytes());
            self.sends.submit(filling, len_bytes, index, Flags::default()).unwrap();
            quanta += 1;
        }
        quanta
    }

    /// The program of the host takes all that has come.
    fn step(&mut self) {
        turn(&mut self.now, &mut self.ends);
        while let Ok(Some(block)) = self.receives.next_within(Duration::ZERO) {
            check_count(&block);
            self.delivered += block.len() as u64;
        }
    }
}

/// Turns both ends until the programs of both have the stream.
fn begin(
    now: &mut Nanos,
    ends: &mut [stepped::Stepped; 2],
    device: &mut Device,
    port: &Port,
    pending: &PendingReceiver,
) -> (SendStream, ReceiveStream) {
    let deadline = *now + Nanos::from_millis(3_000);
    let (mut sends, mut receives) = (None, None);
    while sends.is_none() || receives.is_none() {
        turn(now, ends);
        sends = sends.or_else(|| device.listeners[0].accept(Duration::ZERO).unwrap());
        receives = receives.or_else(|| port.poll_opening(pending).map(Result::unwrap));
        assert!(*now < deadline, "it does not open");
    }
    (sends.unwrap(), receives.unwrap())
}

fn turn(now: &mut Nanos, ends: &mut [stepped::Stepped; 2]) {
    *now = *now + Nanos::from_micros(10);
    for end in ends {
        end.turn(*now).expect("a handle is there");
    }
}

/// RoCEv2 of this end is over IPv4: of a device that has no such address DATA is requested.
#[test]
fn rdma_is_requested_over_ipv4_alone() {
    for (local, is_requested) in [("127.0.0.1:0", true), ("[::1]:0", false)] {
        let device = UdpSocket::bind(local).unwrap();
        device.set_read_timeout(Some(LONG)).unwrap();
        let [_far, near] = cable(|link, _| Box::new(link));
        let address = device.local_addr().unwrap();
        let port = Port::over_rdma(udp(address), near, &RealTime::default()).unwrap();
        let options = samplewire::receive().timeout(Duration::from_millis(1));
        assert!(port.open(address, &options).is_err(), "no one answers");
        let mut bytes = [0; 2_000];
        let len = device.recv(&mut bytes).expect("an OPEN comes");
        let Ok((_, Packet::Open(open))) = wire::parse(&bytes[..len]) else { panic!("no OPEN") };
        let offer = RdmaOffer::find(&open.tlvs).expect("it is possible");
        assert_eq!(offer.is_some(), is_requested, "{address}");
    }
}

/// A device that counts, until its stream ends.
fn device(
    station: Option<StationConfig>,
) -> (SocketAddr, JoinHandle<Result<PlaySummary, SendError>>) {
    device_of(DeviceOptions::new(), station)
}

/// The same, with these options besides.
fn device_of(
    options: DeviceOptions,
    station: Option<StationConfig>,
) -> (SocketAddr, JoinHandle<Result<PlaySummary, SendError>>) {
    let mut source = CounterSource::new(1e6, 0).expect("a rate in range");
    let options = options.window(256).sends(source.info().clone());
    let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let mut device = match station {
        Some(station) => options.listen_rdma(Box::new(link), station).unwrap(),
        None => options.listen_over(Box::new(link)).unwrap(),
    };
    let address = device.address;
    let sends = thread::spawn(move || {
        let mut stream = device.accept()?;
        stream.play(&mut source, Overflow::Wait, || false).map_err(|error| match error {
            samplewire::transmitter::PlayError::Transmit(error) => error,
            error => panic!("{error}"),
        })
    });
    (address, sends)
}

fn udp(address: SocketAddr) -> Box<dyn Link> {
    Box::new(Udp::client(address, &UdpOptions::new()).unwrap())
}

fn open(link: Box<dyn Link>, station: Option<StationConfig>, address: SocketAddr) -> ReceiveStream {
    let real_time = RealTime::default();
    let port = match station {
        Some(station) => Port::over_rdma(link, station, &real_time).unwrap(),
        None => Port::over(link, &real_time).unwrap(),
    };
    port.open(address, &samplewire::receive().window(128)).unwrap()
}

/// Takes the counting samples from `next` on, until there are so many; returns the index after them.
fn take(stream: &mut ReceiveStream, mut next: u64, samples: u64) -> u64 {
    while next < samples {
        let block = stream.next_within(LONG).unwrap().expect("samples come");
        check_count(&block);
        assert_eq!(block.index(), next);
        next += block.len() as u64;
    }
    next
}

/// A block without gaps whose samples are their indexes.
fn check_count(block: &Block) {
    assert!(block.gaps().is_empty(), "{:?}", block.gaps());
    let words = block.bytes().as_chunks::<4>().0;
    assert_eq!(words.len(), block.len());
    for (word, index) in words.iter().zip(block.index()..) {
        assert_eq!(u32::from_le_bytes(*word), index as u32);
    }
}

/// With faults.
fn lossy(link: Dgram, mut model: Model) -> Box<dyn EtherLink> {
    let send = move |link: &mut Dgram, frame: &[u8]| {
        let fate = model.decide(frame.len());
        let mut bytes = frame.to_vec();
        if let Some(corruption) = fate.corrupt {
            corruption.apply(&mut bytes);
        }
        let copies = if fate.lost { 0 } else { 1 + u32::from(fate.duplicate) };
        (0..copies).try_fold(true, |_, _| link.send(&bytes))
    };
    Box::new(Altered::new(link, send))
}

/// Each frame of RoCEv2 leaves twice, first to another queue pair at the same place.
fn renumbered(link: Dgram) -> Box<dyn EtherLink> {
    let send = |link: &mut Dgram, frame: &[u8]| {
        if let Ok(whole) = Frame::new_checked(frame) {
            let mut packet = whole.packet();
            // The number of its opening, above the place.
            packet.bth.destination = Qpn::new(packet.bth.destination.get() ^ 1 << 20);
            let mut other = [0; FRAME_BYTES_MAX];
            let len = packet.emit(&whole.route(), &mut other);
            link.send(&other[..len])?;
        }
        link.send(frame)
    };
    Box::new(Altered::new(link, send))
}

/// Everything is lost once it is cut.
fn cut(link: Dgram, is_cut: Arc<AtomicBool>) -> Box<dyn EtherLink> {
    let send = move |link: &mut Dgram, frame: &[u8]| {
        // Relaxed: nothing else is read by it.
        if is_cut.load(Ordering::Relaxed) { Ok(true) } else { link.send(frame) }
    };
    Box::new(Altered::new(link, send))
}

const OWNER: u64 = 5;
const LONG: Duration = Duration::from_secs(20);
