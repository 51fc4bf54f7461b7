//! Where samples were lost, with a real socket that overflows and a lossy wire: the reported causes
//! match the actual ones.

mod bytes;
mod rig;

use std::io::Read;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rig::Device;
use samplewire::Delivery;
use samplewire::format::Format;
use samplewire::receiver::Port;
use samplewire::source::{CounterSource, StreamInfo};
use samplewire::transmitter::{Listener, Overflow, SendStream};
use samplewire::{DeviceOptions, RealTime, ReceiveOptions, Waits};
use samplewire_io::faults::{Direction, PacketTypes};
use samplewire_io::memory::{self, Memory};
use samplewire_io::{
    Batch, Capabilities, FaultSpec, Favoured, Link, LinkError, Outgoing, Udp, UdpOptions, Waker,
};
use samplewire_proto::Cause;
use samplewire_proto::wire::{Flags, Packet, parse};
use samplewire_testing::skip;

/// A socket whose thread is held up now and then, so that it overflows.
struct Stalled {
    link: Udp,
    receives: u64,
    /// How many receives come between two stalls.
    period: u64,
}

impl Link for Stalled {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        self.link.send(packets)
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.receives += 1;
        if self.receives.is_multiple_of(self.period) {
            // The fault: real packets must fill a real socket meanwhile.
            std::thread::sleep(Duration::from_millis(3));
        }
        self.link.recv(batch)
    }
    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.link.wait(timeout)
    }
    fn waker(&self) -> Waker {
        self.link.waker()
    }
    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.link.favour(favoured)
    }
}

/// What a run lost, in packets.
#[derive(Debug)]
struct Lost {
    by_cause: [u64; Cause::ALL.len()],
    /// What the wire lost, repeats included, by the record of the faults.
    wire: u64,
    /// What the kernel counted.
    socket_dropped: u64,
    /// Samples that the source lost.
    overflow: u64,
}

impl Lost {
    fn reported(&self, cause: Cause) -> u64 {
        self.by_cause[cause as usize]
    }
}

/// Sends packets with a wrong UDP checksum from one address of this host to another, all the time,
/// until it is dropped; they need a raw socket.
struct Damage(Child);

impl Damage {
    /// `None`, with a word about it, where that is not allowed.
    fn start(from: SocketAddr, to: SocketAddr) -> Option<Self> {
        let mut child = Command::new("python3")
            .args(["-c", DAMAGE, &from.port().to_string(), &to.port().to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| skip(format_args!("no python3: {error}")))
            .ok()?;
        let mut begun = [0; 5];
        let said = child.stdout.as_mut().expect("it is piped").read_exact(&mut begun);
        if said.is_err() {
            skip("a raw socket is not allowed here (needs root)");
            child.wait().expect("it is our child");
            return None;
        }
        Some(Self(child))
    }
}

impl Drop for Damage {
    fn drop(&mut self) {
        self.0.kill().expect("it is our child");
        self.0.wait().expect("it is our child");
    }
}

/// 3,000 a second, as a stream's packets between its own, with a checksum of 1.
const DAMAGE: &str = "\
import socket, struct, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
source, to = int(sys.argv[1]), int(sys.argv[2])
packet = struct.pack('!HHHH', source, to, 1008, 1) + bytes(1000)
print('begun', flush=True)
while True:
    raw.sendto(packet, ('127.0.0.1', 0))
    time.sleep(0.0003)
";

/// UDP packets of this network namespace: those that a socket had no room for, and damaged ones.
fn counted() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/net/snmp").expect("Linux counts");
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, counts) = (rows.next().expect("names"), rows.next().expect("counts"));
    ["RcvbufErrors", "InCsumErrors"].map(|name| {
        let mut columns = names.split(' ').zip(counts.split(' '));
        columns.find(|column| column.0 == name).expect("a column").1.parse().expect("a count")
    })
}

/// Streams `PACKETS` packets at a converter's rate over a wire that loses `loss` of them; between two
/// stalls of the receiving thread are `period` receives.
fn run(delivery: Delivery, joining: bool, loss: f64, period: u64, seed: u64) -> Lost {
    let fault = |_, _| ();
    run_with(delivery, joining, loss, period, seed, fault)
}

/// The same beside a fault that is made of the addresses of device and receiver, until the end.
fn run_with<F>(
    delivery: Delivery,
    joining: bool,
    loss: f64,
    period: u64,
    seed: u64,
    fault: impl FnOnce(SocketAddr, SocketAddr) -> F,
) -> Lost {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = FaultSpec::new().loss(loss).only(PacketTypes::one(0)).seed(seed);
    let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ).expect("a rate in range");
    let source = Box::new(Bytes::repeated(info, vec![0; SAMPLES as usize * 4], PACKETS));
    let options = DeviceOptions::new().payload_bytes(SAMPLES as u16 * 4);
    let (faults, overflow) = ((&data, &FaultSpec::new()), Overflow::Lose { rate_hz: RATE_HZ });
    let device = Device::start("127.0.0.1:0", source, &options, faults, overflow);
    let stalls = period < u64::MAX;
    let buffer_bytes = if stalls { 64 << 10 } else { 32 << 20 };
    let udp = UdpOptions::new().receive_buffer_bytes(buffer_bytes).joining(joining);
    let link = Udp::client(device.address, &udp).expect("a route");
    let fault = fault(device.address, link.local_addr());
    let link = Stalled { link, receives: 0, period };
    let options = ReceiveOptions::new().delivery(delivery);
    let mut receiver = options.open_over(Box::new(link), device.address).expect("it answers");
    let (mut delivered, mut overflow, mut not_repaired) = (0, 0, [0; Cause::ALL.len()]);
    for block in receiver.by_ref().map(Result::unwrap) {
        delivered += block.len() as u64;
        for gap in block.gaps() {
            overflow += gap.source_lost;
            not_repaired[gap.cause as usize] += gap.not_repaired;
        }
    }
    drop(fault);
    let lost: u64 = not_repaired.iter().sum();
    assert_eq!(delivered + overflow + lost, PACKETS * SAMPLES, "every sample is reported once");
    let snapshot = receiver.close();
    let mut reported = not_repaired;
    reported[Cause::SourceOverflow as usize] += overflow;
    assert_eq!(snapshot.stream.gap_samples, reported, "the counters are the gaps'");
    assert!(not_repaired.iter().all(|samples| samples.is_multiple_of(SAMPLES)));
    let wire = device.log.counts(Direction::Transmit).lost;
    device.finish();
    let by_cause = not_repaired.map(|samples| samples / SAMPLES);
    Lost { by_cause, wire, socket_dropped: snapshot.socket_dropped, overflow }
}

/// Packets of a dropped message that the receiver cannot blame on the socket: it knows the longest
/// message that came, and the kernel drops the long ones first.
fn unseen(joining: bool) -> u64 {
    if joining { JOINED_MAX } else { 0 }
}

/// Holds that the drops of the socket are not reported as losses of the wire, nor the reverse.
fn assert_apart(lost: &Lost, joining: bool, loss: f64) {
    let (wire, socket) = (lost.reported(Cause::NeverAsked), lost.reported(Cause::ReceiverBehind));
    // A gap in which this machine was too slow for the source is as most of it.
    let mixed = if lost.overflow > 0 { 10 + lost.wire / 10 } else { 0 };
    let spared = lost.wire + mixed + unseen(joining);
    assert!(wire <= spared, "the socket's drops are not the wire's: {lost:?}");
    // Losses of the wire between losses of the socket look the same.
    let amid = loss / (1.0 - loss) * socket as f64;
    let amid_max = 1.5 * amid + (30 + mixed) as f64 * f64::from(loss > 0.0);
    assert!(lost.wire.saturating_sub(wire) as f64 <= amid_max, "{lost:?}");
}

/// `docs/protocol.md#6.3`
#[test]
fn best_effort_distinguishes_the_socket_from_the_wire() {
    for joining in [false, true] {
        for (loss, seed) in [(0.0, 1), (0.002, 2), (0.02, 3), (0.1, 4)] {
            let lost = run(Delivery::BestEffort, joining, loss, 200 + seed, seed);
            println!("joining {joining}, loss {loss}: {lost:?}");
            let socket = lost.reported(Cause::ReceiverBehind);
            assert!(lost.socket_dropped > 0 && socket > 0, "the socket overflowed");
            assert_apart(&lost, joining, loss);
        }
    }
}

/// `docs/protocol.md#6.3`
#[test]
fn wire_alone_is_reported_packet_by_packet() {
    const LOSS: f64 = 0.03;
    for seed in 5..8 {
        let lost = run(Delivery::BestEffort, true, LOSS, u64::MAX, seed);
        println!("{lost:?}");
        assert!(lost.wire > 0 && lost.reported(Cause::NeverAsked) > 0, "seed {seed} lost nothing");
        if lost.socket_dropped == 0 && lost.overflow == 0 {
            let reported = (lost.reported(Cause::NeverAsked), lost.reported(Cause::ReceiverBehind));
            assert_eq!(reported, (lost.wire, 0), "seed {seed}");
        } else {
            // This machine stalled: the socket overflowed without a fault.
            assert_apart(&lost, true, LOSS);
        }
    }
}

/// `docs/protocol.md#6.3`
#[test]
fn deadline_reports_the_socket_where_the_wire_loses_nothing() {
    // Shorter than a round trip: a repair would hide the loss that this test is about.
    let delivery = Delivery::Deadline(Duration::from_micros(20));
    for joining in [false, true] {
        for (loss, seed) in [(0.0, 1), (0.02, 2), (0.1, 3)] {
            let lost = run(delivery, joining, loss, 200 + seed, seed);
            println!("joining {joining}, loss {loss}: {lost:?}");
            assert!(lost.reported(Cause::ReceiverBehind) > 0, "the socket overflowed");
            let spared = unseen(joining);
            assert!(
                loss > 0.0 || lost.reported(Cause::Deadline) <= spared,
                "the wire lost nothing"
            );
        }
    }
}

/// Packets that the wire damaged are no packets that the socket had no room for, although the kernel
/// counts both as the socket's drops.
#[test]
fn damaged_packets_are_not_blamed_on_the_socket() {
    for joining in [false, true] {
        let before = counted();
        let mut is_damaged = true;
        let lost = run_with(Delivery::BestEffort, joining, 0.03, u64::MAX, 11, |from, to| {
            let damage = Damage::start(from, to);
            is_damaged = damage.is_some();
            damage
        });
        let [without_room, damaged] = [0, 1].map(|at| counted()[at] - before[at]);
        println!("joining {joining}, {without_room} without room, {damaged} damaged: {lost:?}");
        // Without the right to a raw socket the rest holds all the same.
        assert!(!is_damaged || damaged > 300, "{damaged} were planted");
        assert!(lost.socket_dropped <= without_room, "{without_room} had no room");
        assert!(lost.reported(Cause::ReceiverBehind) <= without_room * JOINED_MAX);
        if without_room == 0 {
            let mixed = if lost.overflow > 0 { 10 + lost.wire / 10 } else { 0 };
            assert!(lost.reported(Cause::NeverAsked).abs_diff(lost.wire) <= mixed);
        }
    }
}

/// Amid damaged packets the drops of a full socket are reported as at least so many.
#[test]
fn full_socket_amid_damaged_packets_has_at_least_the_drops_reported() {
    let before = counted();
    let mut is_damaged = true;
    let lost = run_with(Delivery::BestEffort, false, 0.0, 200, 12, |from, to| {
        let damage = Damage::start(from, to);
        is_damaged = damage.is_some();
        damage
    });
    let [without_room, damaged] = [0, 1].map(|at| counted()[at] - before[at]);
    println!("{without_room} without room, {damaged} damaged: {lost:?}");
    assert!(!is_damaged || damaged > 300, "{damaged} were planted");
    assert!(lost.socket_dropped > 0, "the socket overflowed");
    assert!(lost.socket_dropped <= without_room, "never more than there were");
    assert!(lost.reported(Cause::ReceiverBehind) <= without_room);
}

/// A stall of the program is published before the gap that it causes.
#[test]
fn stall_of_the_program_is_counted_before_the_loss_that_it_explains() {
    let source = Box::new(CounterSource::new(RATE_HZ, 0).expect("a rate in range"));
    let none = FaultSpec::new();
    let options = DeviceOptions::new().window(64);
    let overflow = Overflow::Lose { rate_hz: RATE_HZ };
    let device = Device::start("127.0.0.1:0", source, &options, (&none, &none), overflow);
    let mut receiver = device.receive(&ReceiveOptions::new().window(64));
    let (mut gaps, mut explained) = (0, 0);
    for stall in 0..5 {
        let before = receiver.stats().starved;
        let held = receiver.next().expect("samples").unwrap();
        // The pool and the window hold 20 ms.
        std::thread::sleep(Duration::from_millis(100));
        drop(held);
        let block = receiver
            .by_ref()
            .map(Result::unwrap)
            .find(|block| !block.gaps().is_empty())
            .expect("a gap");
        let is_overflow = block.gaps().iter().any(|gap| gap.source_lost > 0);
        if is_overflow {
            gaps += 1;
            assert!(receiver.stats().starved > before, "stall {stall}");
            let gap = block.gaps().iter().find(|gap| gap.source_lost > 0).expect("there is one");
            let (first, lost, stalls) = (gap.first, gap.source_lost, receiver.stats().stalls);
            // A device that this machine held up for longer lost more.
            explained += usize::from(stalls.explains(first, lost, RATE_HZ));
            assert!(!stalls.explains(first + RATE_HZ as u64, lost, RATE_HZ), "a second later");
            assert!(!stalls.explains(first, RATE_HZ as u64, RATE_HZ), "a second long");
        }
    }
    assert!(gaps > 0, "the source never overflowed");
    assert!(explained > 0, "no stall of 100 ms explains the loss behind it");
    receiver.close();
    device.finish();
}

/// The receiving end of a link on which the wire loses packets of stream 0, and the socket packets of
/// stream 1: each sample has the number of its stream and of its round.
struct TwoFaults {
    link: Memory,
    arrived: Batch,
    dropped: u32,
}

impl Link for TwoFaults {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        self.link.send(packets)
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        self.link.recv(&mut self.arrived)?;
        for (bytes, meta) in &self.arrived {
            let (is_of_wire, is_of_socket) = match parse(bytes) {
                Ok((_, Packet::Data(samples))) => {
                    let (stream, round) = (samples[0], u64::from(samples[1]));
                    (stream == 0 && round % 8 == 2, stream == 1 && round % 8 == 5)
                }
                _ => (false, false),
            };
            self.dropped += u32::from(is_of_socket);
            if !is_of_wire && !is_of_socket {
                let meta = samplewire_io::Meta { dropped: Some(self.dropped), ..*meta };
                batch.push(bytes, meta).expect("it has room for as many");
            }
        }
        Ok(())
    }
    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.link.wait(timeout)
    }
    fn waker(&self) -> Waker {
        self.link.waker()
    }
}

/// Sends a packet of each stream in each round, one after another. Stream 2 loses samples at its
/// source, and stream 3 none.
fn send_rounds(mut listeners: Vec<Listener>) {
    let mut streams = [const { None::<SendStream> }; STREAMS];
    while streams.iter().any(Option::is_none) {
        for (stream, it) in streams.iter_mut().zip(&mut listeners) {
            if stream.is_none() {
                *stream = it.accept(Duration::ZERO).expect("the port works");
            }
        }
    }
    let mut streams: Vec<SendStream> = streams.into_iter().flatten().collect();
    let mut indexes = [0; STREAMS];
    for round in 0..ROUNDS {
        for (stream, it) in streams.iter_mut().enumerate() {
            let filling = it.quantum(Duration::from_secs(20));
            let mut filling = filling.expect("the port works").expect("the receiver takes them");
            for sample in filling.bytes_mut().chunks_exact_mut(4) {
                sample[..2].copy_from_slice(&[stream as u8, (round % 256) as u8]);
            }
            let is_lost = stream == 2 && round % 8 == 7;
            let flags = if is_lost { Flags::OVERFLOW } else { Flags::NONE };
            indexes[stream] += if is_lost { OVERFLOW_SAMPLES } else { 0 };
            it.submit(filling, ROUND_SAMPLES as usize * 4, indexes[stream], flags)
                .expect("it follows");
            indexes[stream] += ROUND_SAMPLES;
            it.turn();
        }
    }
    for mut it in streams {
        it.finish(0).expect("the port works");
    }
}

/// `docs/protocol.md#6.3`
#[test]
fn each_stream_of_a_receiver_has_the_losses_planted_in_it_and_no_others() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (far, near) = memory::pair(4_096, 2_048, 2_048).expect("descriptors");
    let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ).expect("a rate in range");
    let options = DeviceOptions::new().payload_bytes(ROUND_SAMPLES as u16 * 4);
    // Without a thread of its own: what is submitted has left before the next is.
    let options = options.real_time(RealTime::new().waits(Waits::Inline));
    let options = vec![info; STREAMS].into_iter().fold(options, DeviceOptions::sends);
    let device = options.listen_over(Box::new(far)).expect("it listens");
    let address = device.address;
    let sender = std::thread::spawn(move || send_rounds(device.listeners));
    let arrived = Batch::new(64, 2_048);
    let link = Box::new(TwoFaults { link: near, arrived, dropped: 0 });
    let port = Port::over(link, &RealTime::new()).expect("it opens");
    let options = ReceiveOptions::new().delivery(Delivery::BestEffort).mtu(1_500);
    let receivers =
        port.open_each(address, &options.streams(0..STREAMS as u16)).expect("they open");
    let takers = receivers.into_iter().map(|mut receiver| {
        std::thread::spawn(move || {
            let (mut delivered, mut lost, mut overflow) = (0, [0; Cause::ALL.len()], 0);
            for block in receiver.by_ref().map(Result::unwrap) {
                delivered += block.len() as u64;
                for gap in block.gaps() {
                    overflow += gap.source_lost;
                    lost[gap.cause as usize] += gap.not_repaired;
                }
            }
            (receiver.info().stream, delivered, lost, overflow)
        })
    });
    let takers: Vec<_> = takers.collect();
    let planted = ROUNDS / 8;
    for taker in takers {
        let (stream, delivered, lost, overflow) = taker.join().expect("it does not panic");
        let mut expected = [0; Cause::ALL.len()];
        match stream {
            0 => expected[Cause::NeverAsked as usize] = planted * ROUND_SAMPLES,
            1 => expected[Cause::ReceiverBehind as usize] = planted * ROUND_SAMPLES,
            _ => {}
        }
        let at_source = if stream == 2 { planted * OVERFLOW_SAMPLES } else { 0 };
        assert_eq!((lost, overflow), (expected, at_source), "stream {stream}");
        assert_eq!(delivered + lost.iter().sum::<u64>(), ROUNDS * ROUND_SAMPLES, "stream {stream}");
    }
    sender.join().expect("it does not panic");
}

const STREAMS: usize = 4;
const ROUNDS: u64 = 4_000;
/// Samples of a packet.
const ROUND_SAMPLES: u64 = 256;
const OVERFLOW_SAMPLES: u64 = 33;

const RATE_HZ: f64 = 20e6;
const PACKETS: u64 = 60_000;

/// Packets of this length that the kernel joins at most.
const JOINED_MAX: u64 = 64;

/// The counts of the namespace are of all sockets: one stream at a time.
static ALONE: Mutex<()> = Mutex::new(());
const SAMPLES: u64 = 352;
