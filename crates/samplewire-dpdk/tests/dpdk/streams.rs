//! Streams over DPDK have the bytes that they have over UDP.

use std::net::SocketAddr;

use samplewire::receiver::Port;
use samplewire::source::{CounterSource, ReadSamples};
use samplewire::transmitter::Overflow;
use samplewire::{DeviceOptions, End, RealTime, ReceiveOptions};
use samplewire_io::faults::Direction;
use samplewire_io::{FaultLog, FaultSpec, Faults, Link, Udp, UdpOptions};
use samplewire_testing::{PATIENCE, in_namespace};

use crate::shared::{DEVICE, FAR_ADDRESS, FAR_HOST, Far, NETWORK, link};

#[test]
fn received_stream_is_the_same_as_by_udp_with_and_without_losses() {
    let name = "streams::received_stream_is_the_same_as_by_udp_with_and_without_losses";
    if !in_namespace(name, FAR_HOST) {
        return;
    }
    for loss in [0.0, 1e-3, 1e-2] {
        let spec = FaultSpec::new().loss(loss).seed(7);
        let far = Far::start(move |address| {
            let udp = Udp::bind(FAR_ADDRESS.parse().unwrap(), &UdpOptions::new()).unwrap();
            play(Box::new(udp), &spec, |it| address.send(it).unwrap())
        });
        let near = link(DEVICE, NETWORK, |options| options);
        let log = near.log();
        let port = Port::over(Box::new(near), &RealTime::default()).unwrap();
        let bytes = receive(&port, far.address);
        drop(port);
        let (end, faults) = far.join();
        assert!(matches!(end, End::ClosedByPeer(_)), "{end:?}");
        assert_eq!(faults.counts(Direction::Transmit).lost > 0, loss > 0.0);
        assert!(bytes == by_udp(), "loss {loss}");
        assert_eq!((log.counts().checksums, log.counts().malformed), (0, 0));
    }
}

#[test]
fn sent_stream_is_the_same_as_by_udp_with_and_without_losses() {
    let name = "streams::sent_stream_is_the_same_as_by_udp_with_and_without_losses";
    if !in_namespace(name, FAR_HOST) {
        return;
    }
    for loss in [0.0, 1e-2] {
        let near = link(DEVICE, NETWORK, |options| options.udp_port(5_000));
        let device = near.local_addr();
        let far = Far::start(move |address| {
            let port = Port::bind(FAR_ADDRESS.parse().unwrap(), &UdpOptions::new()).unwrap();
            address.send(device).unwrap();
            receive(&port, device)
        });
        let spec = FaultSpec::new().loss(loss).seed(7);
        let (end, faults) = play(Box::new(near), &spec, |_| ());
        assert!(matches!(end, End::ClosedByPeer(_)), "{end:?}");
        assert_eq!(faults.counts(Direction::Transmit).lost > 0, loss > 0.0);
        assert!(far.join() == by_udp(), "loss {loss}");
    }
}

/// The same samples over loopback.
fn by_udp() -> Vec<u8> {
    let local = "127.0.0.1:0".parse().unwrap();
    let (sender, addresses) = std::sync::mpsc::channel();
    let device = std::thread::spawn(move || {
        let udp = Udp::bind(local, &UdpOptions::new()).unwrap();
        play(Box::new(udp), &FaultSpec::new(), |it| sender.send(it).unwrap())
    });
    let address = addresses.recv_timeout(PATIENCE).unwrap();
    let bytes = receive(&Port::connect(address, &UdpOptions::new()).unwrap(), address);
    device.join().unwrap();
    bytes
}

/// A device that counts for one receiver; `data` are the faults of the packets that it sends.
fn play(link: Box<dyn Link>, data: &FaultSpec, ready: impl FnOnce(SocketAddr)) -> (End, FaultLog) {
    let faults = Faults::new(link, data, &FaultSpec::new()).unwrap();
    let log = faults.log();
    let mut source = CounterSource::new(1e9, 0).unwrap();
    let options = DeviceOptions::new().sends(source.info().clone());
    let mut device = options.listen_over(Box::new(faults)).unwrap();
    ready(device.address);
    let mut stream = device.accept().unwrap();
    (stream.play(&mut source, Overflow::Wait, || false).unwrap().end.end, log)
}

/// The first samples of a device.
fn receive(port: &Port, device: SocketAddr) -> Vec<u8> {
    let options = ReceiveOptions::new().timeout(PATIENCE);
    let mut stream = port.open(device, &options).unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < BYTES {
        let block = stream.next_within(PATIENCE).unwrap().expect("the stream flows");
        assert!(block.gaps().is_empty());
        bytes.extend_from_slice(block.bytes());
    }
    stream.close();
    bytes.truncate(BYTES);
    bytes
}

const BYTES: usize = 4 * 600_000;
