//! Streams over RDMA between a device and a program, over real sockets (`docs/protocol.md#13`).

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use samplewire::real_time::RealTime;
use samplewire::receiver::Port;
use samplewire::source::{CounterSource, ReadSamples};
use samplewire::transmitter::{Overflow, PlaySummary, SendError};
use samplewire::{
    Carriage, Cause, CloseReason, DeviceOptions, End, FaultSpec, Faults, Link, OpenError,
    ReceiveStream, StationConfig, Udp, UdpOptions,
};
use samplewire_io::ether::{Dgram, DgramAddress, EtherError, EtherLink, EtherStation};
use samplewire_io::faults::Model;
use samplewire_roce::PathMtu;

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
    let [far, near] =
        cable(|link, end| Box::new(Lossy { link, model: Model::new(&faults(end as u64)) }));
    let (address, sends) = device(Some(far));
    let link = Faults::new(udp(address), &faults(7), &faults(8)).unwrap();
    let mut stream = open(Box::new(link), Some(near), address);
    assert_eq!(stream.info().carriage, Carriage::Rdma);
    take(&mut stream, 0, 300_000);
    drop(stream);
    sends.join().unwrap().expect("the stream ends well");
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

/// The cable of the frames is cut: the queue pair of the device gives up, both ends say so, and all
/// that it posted is accounted for.
#[test]
fn both_ends_name_a_queue_pair_that_failed() {
    let is_cut = Arc::new(AtomicBool::new(false));
    let [far, near] = cable(|link, _| Box::new(Cut { link, is_cut: Arc::clone(&is_cut) }));
    let (address, sends) = device(Some(far));
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

/// A device that counts, until its stream ends.
fn device(
    station: Option<StationConfig>,
) -> (SocketAddr, JoinHandle<Result<PlaySummary, SendError>>) {
    let mut source = CounterSource::new(1e6, 0).expect("a rate in range");
    let options = DeviceOptions::new().window(256).sends(source.info().clone());
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
        assert!(block.gaps().is_empty(), "{:?}", block.gaps());
        assert_eq!(block.index(), next);
        let words = block.bytes().as_chunks::<4>().0;
        assert_eq!(words.len(), block.len());
        for (word, index) in words.iter().zip(next..) {
            assert_eq!(u32::from_le_bytes(*word), index as u32);
        }
        next += block.len() as u64;
    }
    next
}

/// Two stations at the ends of a cable; both have the address of their host.
fn cable(link: impl Fn(Dgram, usize) -> Box<dyn EtherLink>) -> [StationConfig; 2] {
    let sockets = [0; 2].map(|_| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let ports = sockets.each_ref().map(|it| it.local_addr().unwrap());
    drop(sockets);
    [0, 1].map(|end: usize| {
        let text = format!("{},{}", ports[end], ports[1 - end]);
        let address: DgramAddress = text.parse().unwrap();
        let link = link(Dgram::open(&address).unwrap(), end);
        let mac = [2, 0, 0, 0, 0, end as u8 + 1];
        StationConfig {
            ether: EtherStation::new(link, Ipv4Addr::LOCALHOST, mac),
            path_mtu: PathMtu::Bytes1024,
            seed: end as u64,
        }
    })
}

/// A link with faults on what it sends.
struct Lossy {
    link: Dgram,
    model: Model,
}

/// A link that loses everything once it is cut.
struct Cut {
    link: Dgram,
    is_cut: Arc<AtomicBool>,
}

impl AsFd for Lossy {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

impl AsFd for Cut {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

impl EtherLink for Lossy {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        self.link.recv(into)
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let fate = self.model.decide(frame.len());
        let mut bytes = frame.to_vec();
        if let Some(corruption) = fate.corrupt {
            corruption.apply(&mut bytes);
        }
        let copies = if fate.lost { 0 } else { 1 + u32::from(fate.duplicate) };
        (0..copies).try_fold(true, |_, _| self.link.send(&bytes))
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        self.link.dropped()
    }
}

impl EtherLink for Cut {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        self.link.recv(into)
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        // Relaxed: nothing else is read by it.
        if self.is_cut.load(Ordering::Relaxed) { Ok(true) } else { self.link.send(frame) }
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        self.link.dropped()
    }
}

const LONG: Duration = Duration::from_secs(20);
