//! One port over two links: each device is behind a network interface of its own, and one thread serves
//! both.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::options::DrawnTerms;
use samplewire::receiver::{Port, ReceiveStream};
use samplewire::source::{CounterSource, ReadSamples, counter_mismatch};
use samplewire::stepped::{Rest, Stepped};
use samplewire::transmitter::{Listener, Overflow};
use samplewire::{DeviceOptions, End, Flags, OpenError, ReceiveOptions, SendStream};
use samplewire_io::faults::Direction;
use samplewire_io::{
    Batch, Capabilities, FaultLog, FaultSpec, Faults, Link, LinkError, Links, Outgoing, Udp,
    UdpOptions, Waker,
};
use samplewire_proto::Nanos;
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
    // A busy machine may lose some of the other as well, but not as much.
    assert!(second.stream.repaired < first.stream.repaired / 2, "{second:?}");
    assert_eq!(second.foreign, 0, "{second:?}");
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
fn addresses_that_are_none_too_many_or_of_no_interface_are_errors() {
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

/// A link that takes nothing while it is shut, as one does whose socket is full.
struct Gate {
    link: Udp,
    is_shut: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    /// Calls while it was shut.
    refused: Arc<AtomicU64>,
}

impl Gate {
    fn new() -> Self {
        let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
        Self { link, is_shut: Arc::default(), sent: Arc::default(), refused: Arc::default() }
    }
}

impl Link for Gate {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let is_shut = self.is_shut.load(Ordering::Relaxed);
        let sent = if is_shut { 0 } else { self.link.send(packets)? };
        self.sent.fetch_add(sent as u64, Ordering::Relaxed);
        self.refused.fetch_add(u64::from(is_shut), Ordering::Relaxed);
        Ok(sent)
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.link.recv(batch)
    }
    fn waker(&self) -> Waker {
        self.link.waker()
    }
    fn is_full(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }
}

/// What a program gives to a stream.
struct Fed {
    listener: Listener,
    sending: Option<SendStream>,
    index: u64,
    /// Quanta that it still gives, and the bytes of each.
    quanta: u64,
    quantum_bytes: usize,
}

impl Fed {
    const fn new(listener: Listener) -> Self {
        Self { listener, sending: None, index: 0, quanta: u64::MAX, quantum_bytes: usize::MAX }
    }

    /// Once it has been opened, gives as many quanta as the stream takes.
    fn feed(&mut self) {
        if self.sending.is_none() {
            self.sending = self.listener.accept(Duration::ZERO).unwrap();
        }
        let Some(sending) = &mut self.sending else { return };
        while self.quanta > 0
            && let Ok(Some(mut filling)) = sending.quantum(Duration::ZERO)
        {
            let len_bytes = filling.bytes_mut().len().min(self.quantum_bytes);
            sending.submit(filling, len_bytes, self.index, Flags::NONE).unwrap();
            self.index += len_bytes as u64 / 4;
            self.quanta -= 1;
        }
    }
}

/// A device over two gates, and a receiver of each of its streams.
struct Gated {
    is_shut: Arc<AtomicBool>,
    sent: [Arc<AtomicU64>; 2],
    refused: Arc<AtomicU64>,
    stepped: Stepped,
    epoch: Instant,
    fed: Vec<Fed>,
    is_over: Arc<AtomicBool>,
    receivers: Vec<JoinHandle<()>>,
    /// Turns in which the second link sent packets.
    turns: u64,
}

impl Gated {
    /// Each stream is opened over one of the two links, of which the first can be shut.
    fn start(link_of: &[usize]) -> Self {
        let gates = [Gate::new(), Gate::new()];
        let is_shut = Arc::clone(&gates[0].is_shut);
        let sent = gates.each_ref().map(|gate| Arc::clone(&gate.sent));
        let refused = Arc::clone(&gates[0].refused);
        let links = gates.map(|gate| Box::new(gate) as Box<dyn Link>);
        let links = Links::new(links.into()).unwrap();
        let options = DeviceOptions::new().payload_bytes(1_024);
        let options = link_of.iter().fold(options, |it, _| it.sends(counter().info().clone()));
        let epoch = Instant::now();
        let (device, stepped) =
            options.listen_stepped(Box::new(links), None, epoch, [[1; 16], [2; 16]]).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let receivers = link_of
            .iter()
            .enumerate()
            .map(|(stream, &link)| {
                let (is_over, address) = (Arc::clone(&is_over), device.addresses[link]);
                std::thread::spawn(move || receive(address, stream as u16, &is_over))
            })
            .collect();
        let fed = device.listeners.into_iter().map(Fed::new).collect();
        let mut gated =
            Self { is_shut, sent, refused, stepped, epoch, fed, is_over, receivers, turns: 0 };
        while gated.fed.iter().any(|fed| fed.index < 1_000_000) {
            gated.turn();
        }
        gated
    }

    fn sent(&self) -> [u64; 2] {
        self.sent.each_ref().map(|sent| sent.load(Ordering::Relaxed))
    }

    fn shut(&self, is_shut: bool) {
        self.is_shut.store(is_shut, Ordering::Relaxed);
    }

    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// A turn of the device, after its programs have given what they can.
    fn turn(&mut self) -> Rest {
        assert!(self.epoch.elapsed() < PATIENCE, "{:?} sent", self.sent());
        self.fed.iter_mut().for_each(Fed::feed);
        let (now, before) = (self.now(), self.sent()[1]);
        let rest = self.stepped.turn(now).unwrap();
        self.turns += u64::from(self.sent()[1] > before);
        rest
    }

    /// Turns until that link has sent so many packets more; none may wait for room alone.
    fn send(&mut self, link: usize, packets: u64) {
        let until = self.sent()[link] + packets;
        while self.sent()[link] < until {
            let rest = self.turn();
            assert!(!matches!(rest, Rest::Room(_)), "{rest:?}");
        }
    }

    fn finish(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.fed.clear();
        while self.stepped.turn(self.now()).is_some() {
            assert!(self.epoch.elapsed() < 2 * PATIENCE, "it does not end");
        }
        self.receivers.into_iter().for_each(|it| it.join().unwrap());
    }
}

fn receive(address: SocketAddr, stream: u16, is_over: &AtomicBool) {
    let options = ReceiveOptions::new().timeout(PATIENCE).stream(stream);
    let mut stream = options.open(address).unwrap();
    while !is_over.load(Ordering::Relaxed) {
        let taken = stream.next_within(Duration::from_millis(10));
        // The device ends first.
        assert!(taken.is_ok() || is_over.load(Ordering::Relaxed), "{taken:?}");
    }
}

#[test]
fn streams_behind_a_full_link_do_not_stop_those_behind_another() {
    for link_of in [&[0, 1][..], &[0, 0, 1], &[1, 0, 0, 0]] {
        let mut gated = Gated::start(link_of);
        gated.shut(true);
        let at_shut = gated.sent();
        gated.send(1, 20_000);
        assert_eq!(gated.sent()[0], at_shut[0]);
        gated.shut(false);
        gated.send(0, 2_000);
        gated.finish();
    }
}

#[test]
fn packet_that_its_link_does_not_take_does_not_stop_those_behind_it() {
    let mut gated = Gated::start(&[0, 1]);
    // What has been given leaves.
    gated.fed[0].quanta = 0;
    let mut before = None;
    while before != Some(gated.sent()[0]) {
        before = Some(gated.sent()[0]);
        gated.send(1, 5_000);
    }
    gated.turns = 0;
    gated.send(1, 20_000);
    let alone = gated.turns;
    gated.shut(true);
    (gated.fed[0].quanta, gated.fed[0].quantum_bytes) = (1, 1_024);
    gated.turns = 0;
    gated.send(1, 20_000);
    // Turns in which packets left. The receivers are threads of their own: a margin.
    assert!(gated.turns < 4 * alone, "{} turns, {alone} without it", gated.turns);
    gated.shut(false);
    gated.send(0, 1);
    gated.finish();
}

#[test]
fn device_with_a_full_link_sleeps_while_nothing_is_due_at_the_others() {
    let mut gated = Gated::start(&[0, 0, 0, 1]);
    gated.shut(true);
    gated.fed[3].quanta = 0;
    let refused = |gated: &Gated| gated.refused.load(Ordering::Relaxed);
    let mut sleeps = 0;
    while sleeps < 20 {
        let (now, before) = (gated.now(), refused(&gated));
        let rest = gated.turn();
        let refused = refused(&gated) - before;
        assert!(refused <= 1, "{refused} calls of a full link in one turn");
        // No later than a look at the full link, and earlier where something else is due.
        match rest {
            Rest::Until(at) if at > now => {
                assert!(at <= gated.now() + Nanos::from_millis(1));
                sleeps += refused;
            }
            rest => assert!(!matches!(rest, Rest::Room(_)), "{rest:?}"),
        }
    }
    gated.shut(false);
    gated.send(0, 2_000);
    gated.finish();
}

/// About 32 MB of each device.
const SAMPLES: u64 = 8_000_000;
