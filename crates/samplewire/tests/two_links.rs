//! One port over two links: each device is behind a network interface of its own, and one thread serves
//! both.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::mpsc;
use std::thread::JoinHandle;

use samplewire::options::DrawnTerms;
use samplewire::receiver::{Port, ReceiveStream};
use samplewire::source::{CounterSource, ReadSamples, counter_mismatch};
use samplewire::transmitter::Overflow;
use samplewire::{DeviceOptions, End, OpenError, ReceiveOptions};
use samplewire_io::faults::Direction;
use samplewire_io::{FaultLog, FaultSpec, Faults, Udp, UdpOptions};
use samplewire_testing::{NetworkNamespace, PATIENCE, in_namespace};

/// Two namespaces, each behind an interface of this one.
fn interfaces() -> String {
    let pair = |far: &str, network: u8| {
        format!(
            "ip netns add {far} && ip link add near-{far} type veth peer name far0 netns {far} && \
             ip addr add 10.9.{network}.1/24 dev near-{far} && ip link set near-{far} up && \
             ip -n {far} addr add 10.9.{network}.2/24 dev far0 && ip -n {far} link set far0 up"
        )
    };
    format!(
        "mount -t tmpfs tmpfs /run && {} && {} && ip link set lo up",
        pair("one", 1),
        pair("two", 2)
    )
}

/// A device that counts for one receiver.
struct Counting {
    address: SocketAddr,
    log: FaultLog,
    thread: JoinHandle<End>,
}

impl Counting {
    /// Listens at `local` in that namespace; `data` are the faults of what it sends.
    fn start(namespace: &'static str, local: &'static str, data: &FaultSpec) -> Self {
        let (addresses, started) = mpsc::channel();
        let data = data.clone();
        let thread = std::thread::spawn(move || {
            NetworkNamespace::named(namespace).unwrap().enter().unwrap();
            let udp = Udp::bind(local.parse().unwrap(), &UdpOptions::new()).unwrap();
            let faults = Faults::new(udp, &data, &FaultSpec::new()).unwrap();
            let log = faults.log();
            let mut source = counter();
            // The device notices soon that its receiver is gone.
            let terms = DrawnTerms { dead_ms: 1_000, idle_ms: 50, ranges_max: 64 };
            let options = DeviceOptions::new().drawn(terms).sends(source.info().clone());
            let mut device = options.listen_over(Box::new(faults)).unwrap();
            addresses.send((device.address, log)).unwrap();
            let mut stream = device.accept().unwrap();
            stream.play(&mut source, Overflow::Wait, || false).unwrap().end.end
        });
        let (address, log) = started.recv().unwrap();
        Self { address, log, thread }
    }
}

fn counter() -> CounterSource {
    CounterSource::new(1e9, 0).unwrap()
}

/// A port at both interfaces.
fn port() -> Port {
    let locals = ["10.9.1.1:0", "10.9.2.1:0"].map(|local| local.parse().unwrap());
    Port::bind_each(&locals, &UdpOptions::new()).unwrap()
}

fn open(port: &Port, address: SocketAddr) -> ReceiveStream {
    port.open(address, &ReceiveOptions::new().timeout(PATIENCE)).unwrap()
}

/// Takes so many samples more, of which none is missing.
fn take(stream: &mut ReceiveStream, next: &mut u64, samples: u64) {
    let until = *next + samples;
    while *next < until {
        let block = stream.next_within(PATIENCE).unwrap().expect("the stream flows");
        assert_eq!((block.index(), block.gaps()), (*next, &[][..]));
        assert_eq!(counter_mismatch(block.index(), block.bytes()), None);
        *next += block.len() as u64;
    }
}

#[test]
fn two_devices_behind_two_interfaces_are_whole_and_loss_of_one_is_not_the_others() {
    let name = "two_devices_behind_two_interfaces_are_whole_and_loss_of_one_is_not_the_others";
    if !in_namespace(name, &interfaces()) {
        return;
    }
    let lossy = Counting::start("one", "10.9.1.2:0", &FaultSpec::new().loss(0.05).seed(7));
    let good = Counting::start("two", "10.9.2.2:0", &FaultSpec::new());
    let port = port();
    let mut streams = [&lossy, &good].map(|device| open(&port, device.address));
    std::thread::scope(|scope| {
        for stream in &mut streams {
            scope.spawn(|| take(stream, &mut 0, SAMPLES));
        }
    });
    let [first, second] = streams.map(ReceiveStream::close);
    assert!(lossy.log.counts(Direction::Transmit).lost > 20);
    assert!(first.stream.repaired > 20, "{first:?}");
    let others = (second.stream.repaired, second.socket_dropped, second.foreign);
    assert_eq!(others, (0, 0, 0), "{second:?}");
    for device in [lossy, good] {
        let end = device.thread.join().unwrap();
        assert!(matches!(end, End::ClosedByPeer(_)), "{end:?}");
    }
}

#[test]
fn stream_goes_on_when_the_interface_of_the_other_is_taken_down_or_removed() {
    let name = "stream_goes_on_when_the_interface_of_the_other_is_taken_down_or_removed";
    if !in_namespace(name, &interfaces()) {
        return;
    }
    let lost = Counting::start("one", "10.9.1.2:0", &FaultSpec::new());
    let good = Counting::start("two", "10.9.2.2:0", &FaultSpec::new());
    let port = port();
    let [mut first, mut second] = [&lost, &good].map(|device| open(&port, device.address));
    let mut next = [0; 2];
    take(&mut first, &mut next[0], SAMPLES / 4);
    take(&mut second, &mut next[1], SAMPLES / 4);
    for change in ["ip link set near-one down", "ip link del near-one"] {
        assert!(Command::new("sh").args(["-c", change]).status().unwrap().success());
        take(&mut second, &mut next[1], SAMPLES / 2);
    }
    // What had come is there, and then its device is silent.
    let end = loop {
        match first.next_within(PATIENCE) {
            Ok(Some(_)) => {}
            Ok(None) if first.end().is_none() => panic!("it does not end"),
            _ => break first.end(),
        }
    };
    assert!(matches!(end, Some(Ok(End::PeerSilent))), "{end:?}");
    take(&mut second, &mut next[1], SAMPLES / 4);
    let stats = second.close();
    assert_eq!((stats.stream.repaired, stats.socket_dropped), (0, 0), "{stats:?}");
    assert!(stats.send_errors > 0, "reports to the device behind no interface");
    drop(first);
    assert!(matches!(good.thread.join().unwrap(), End::ClosedByPeer(_)));
    assert_eq!(lost.thread.join().unwrap(), End::PeerSilent);
}

#[test]
fn device_serves_each_receiver_at_the_address_that_it_opened() {
    let options = DeviceOptions::new();
    let options = [(); 2].iter().fold(options, |it, ()| it.sends(counter().info().clone()));
    let device = options.listen_each(&["127.0.0.1:0", "127.0.0.2:0"]).unwrap();
    assert_eq!(device.addresses[0], device.address);
    let players: Vec<_> = device
        .listeners
        .into_iter()
        .map(|mut listener| {
            std::thread::spawn(move || {
                let mut stream = listener.accept(PATIENCE).unwrap().unwrap();
                stream.play(&mut counter(), Overflow::Wait, || false).unwrap()
            })
        })
        .collect();
    std::thread::scope(|scope| {
        for (number, address) in device.addresses.iter().enumerate() {
            scope.spawn(move || {
                // Over a connected socket: packets from another address would not arrive.
                let options = ReceiveOptions::new().timeout(PATIENCE).stream(number as u16);
                let mut stream = options.open(*address).unwrap();
                take(&mut stream, &mut 0, SAMPLES / 4);
                stream.close();
            });
        }
    });
    for player in players {
        assert!(matches!(player.join().unwrap().end.end, End::ClosedByPeer(_)));
    }
}

#[test]
fn addresses_that_are_none_too_many_or_of_nobody_are_errors() {
    let options = UdpOptions::new();
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    for (count, value) in [(0, 0), (9, 9)] {
        let error = Port::bind_each(&vec![local; count], &options).unwrap_err();
        let text = format!("local addresses {value}: must be 1 to 8");
        assert_eq!(error.to_string(), text);
    }
    let other = "192.0.2.1:0".parse().unwrap();
    match Port::bind_each(&[local, other], &options) {
        Err(OpenError::Link(error)) => {
            assert!(error.to_string().starts_with("bind on 192.0.2.1:0: "), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let options = DeviceOptions::new().sends(counter().info().clone());
    let options = options.carriage(samplewire::Carriage::Rdma);
    let error = options.listen_each(&[local; 2]).unwrap_err().to_string();
    assert!(
        error.starts_with("2 addresses to listen on contradicts a carriage of RDMA"),
        "{error}"
    );
}

/// About 32 MB of each device.
const SAMPLES: u64 = 8_000_000;
