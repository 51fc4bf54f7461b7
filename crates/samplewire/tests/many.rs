//! Many streams over one port at either end: each sample of each, whatever happens to the others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use samplewire::format::Format;
use samplewire::receiver::{Port, ReceiveStream};
use samplewire::source::StreamInfo;
use samplewire::transmitter::{Listener, SendStream};
use samplewire::{DeviceOptions, End, OpenError, ReceiveOptions};
use samplewire_io::{
    Batch, Capabilities, Ecn, FaultSpec, Faults, Link, LinkError, Outgoing, Udp, UdpOptions, Waker,
};
use samplewire_proto::wire::{CloseAck, CloseAckReason, Flags, Header, PacketType, RefuseReason};
use samplewire_proto::{Departure, Seq, Tag};
use samplewire_testing::{PATIENCE, wait_for, wait_until};

/// A device of many streams, which one thread feeds.
struct Many {
    address: SocketAddr,
    feeder: JoinHandle<()>,
}

impl Many {
    /// Sends so many samples on each stream.
    fn start(link: Box<dyn Link>, samples: Vec<u64>, options: &DeviceOptions) -> Self {
        let info = StreamInfo::new(Format::Sc16, 1, 1e9).expect("a rate in range");
        let infos = vec![info; samples.len()].into_iter();
        let options = infos.fold(options.clone(), DeviceOptions::sends);
        let device = options.listen_over(link).expect("it listens");
        let streams = device.listeners.into_iter().zip(samples).enumerate();
        let mut streams: Vec<_> =
            streams.map(|(stream, (it, samples))| Feed::new(stream, it, samples)).collect();
        let feeder = std::thread::spawn(move || {
            while !streams.is_empty() {
                let count = streams.len();
                let mut has_fed = false;
                streams.retain_mut(|it| !it.feed(&mut has_fed));
                if !has_fed && streams.len() == count {
                    // Nothing wakes one thread for all of its streams.
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        });
        Self { address: device.address, feeder }
    }

    fn over_loopback(samples: Vec<u64>, data: &FaultSpec, feedback: &FaultSpec) -> Self {
        let link = Faults::new(udp(), data, feedback).expect("good faults");
        Self::start(Box::new(link), samples, &OPTIONS())
    }
}

/// Small windows and packets, so that a thousand streams take little.
const OPTIONS: fn() -> DeviceOptions = || DeviceOptions::new().window(16).payload_bytes(1_024);

fn udp() -> Udp {
    let local = "127.0.0.1:0".parse().expect("an address");
    Udp::bind(local, &UdpOptions::new()).expect("a free port")
}

/// One stream of a device.
struct Feed {
    stream: usize,
    listener: Listener,
    sending: Option<SendStream>,
    index: u64,
    samples: u64,
}

impl Feed {
    fn new(stream: usize, listener: Listener, samples: u64) -> Self {
        Self { stream, listener, sending: None, index: 0, samples }
    }

    /// Submits a quantum if there is one; `true` when the stream is over.
    fn feed(&mut self, has_fed: &mut bool) -> bool {
        let Some(sending) = &mut self.sending else {
            self.sending = self.listener.accept(Duration::ZERO).expect("the port works");
            return false;
        };
        if self.index == self.samples {
            // All that was submitted leaves meanwhile, of this stream and of the others.
            let _ended = sending.finish(0).expect("the port works");
            return true;
        }
        let mut filling = match sending.quantum(Duration::ZERO) {
            Ok(Some(filling)) => filling,
            Ok(None) => return false,
            // The receiver wants no more, or is gone.
            Err(_) => return true,
        };
        let room = filling.bytes_mut();
        let count = (room.len() as u64 / 4).min(self.samples - self.index);
        for (at, place) in room.chunks_exact_mut(4).take(count as usize).enumerate() {
            place.copy_from_slice(&sample(self.stream, self.index + at as u64));
        }
        sending.submit(filling, count as usize * 4, self.index, Flags::NONE).expect("it follows");
        self.index += count;
        *has_fed = true;
        false
    }
}

/// What stands at an index of a stream, and nowhere else.
fn sample(stream: usize, index: u64) -> [u8; 4] {
    ((stream as u32) << 20 ^ (index as u32).wrapping_mul(0x9E37_79B1)).to_le_bytes()
}

/// What came of a stream.
struct Taken {
    stream: usize,
    receiver: ReceiveStream,
    samples: u64,
}

impl Taken {
    fn of(receivers: Vec<ReceiveStream>) -> Vec<Self> {
        let of = |receiver: ReceiveStream| Self {
            stream: receiver.info().stream.into(),
            receiver,
            samples: 0,
        };
        receivers.into_iter().map(of).collect()
    }

    /// Takes what is there and compares it, index by index.
    fn take(&mut self) {
        while let Ok(Some(block)) = self.receiver.next_within(Duration::ZERO) {
            assert!(block.gaps().is_empty(), "stream {}: {:?}", self.stream, block.gaps());
            assert_eq!(block.index(), self.samples, "stream {}", self.stream);
            for bytes in block.bytes().chunks_exact(4) {
                assert_eq!(bytes, sample(self.stream, self.samples), "stream {}", self.stream);
                self.samples += 1;
            }
        }
    }

    fn end(&self) -> Option<End> {
        self.receiver.end().map(|end| *end.as_ref().expect("the link works"))
    }
}

/// Takes everything of all until each has ended.
fn take_all(streams: &mut [Taken]) {
    wait_until("every stream ends", PATIENCE, || {
        streams.iter_mut().for_each(Taken::take);
        streams.iter().all(|it| it.end().is_some())
    });
}

#[test]
fn hundred_streams_come_whole_through_loss() {
    const SAMPLES: u64 = 60_000;
    let faults = FaultSpec::new().loss(0.01).corrupt(0.001).duplicate(0.001).reorder(0.01);
    let device = Many::over_loopback(vec![SAMPLES; 100], &faults.clone().seed(1), &faults.seed(2));
    let options = ReceiveOptions::new().timeout(PATIENCE).window(16);
    let receivers = options.streams(0..100).open_each(device.address);
    let mut streams = Taken::of(receivers.expect("they open"));
    take_all(&mut streams);
    for it in &streams {
        assert_eq!(
            (it.samples, it.end()),
            (SAMPLES, Some(End::Finished { final_index: SAMPLES })),
            "stream {}",
            it.stream
        );
    }
    let repaired: u64 = streams.iter().map(|it| it.receiver.stats().stream.repaired).sum();
    assert!(repaired > 100, "{repaired} packets were repaired");
    device.feeder.join().expect("it does not panic");
}

#[test]
fn as_many_streams_as_a_port_takes_and_no_more() {
    const SAMPLES: u64 = 5_000;
    let none = FaultSpec::new();
    let device = Many::over_loopback(vec![SAMPLES; Port::STREAMS_MAX], &none, &none);
    let other = Many::over_loopback(vec![SAMPLES], &none, &none);
    let port = Port::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).expect("it binds");
    let options = ReceiveOptions::new().timeout(PATIENCE).window(8);
    let receivers =
        port.open_each(device.address, &options.clone().streams(0..Port::STREAMS_MAX as u16));
    let mut streams = Taken::of(receivers.expect("they open"));
    let error = port.open(other.address, &options).expect_err("there is no place");
    assert!(matches!(error, OpenError::PortFull { max: Port::STREAMS_MAX }), "{error}");
    take_all(&mut streams);
    assert!(streams.iter().all(|it| it.samples == SAMPLES));
    // A place is free again once a stream is over; they linger for some round trips.
    let mut receiver = wait_for("a place is free", PATIENCE, || {
        let opened = port.open(other.address, &options);
        assert!(matches!(opened, Ok(_) | Err(OpenError::PortFull { .. })), "{opened:?}");
        opened.ok()
    });
    assert_eq!(
        receiver.by_ref().map(Result::unwrap).map(|block| block.len() as u64).sum::<u64>(),
        SAMPLES
    );
    device.feeder.join().expect("it does not panic");
    other.feeder.join().expect("it does not panic");
}

#[test]
fn program_that_takes_nothing_stalls_its_own_stream_alone() {
    const SAMPLES: u64 = 200_000;
    let none = FaultSpec::new();
    let device = Many::over_loopback(vec![SAMPLES; 10], &none, &none);
    let options = ReceiveOptions::new().timeout(PATIENCE).window(16);
    let receivers = options.streams(0..10).open_each(device.address);
    let mut streams = Taken::of(receivers.expect("they open"));
    let slow = streams.remove(4);
    take_all(&mut streams);
    assert!(streams.iter().all(|it| it.samples == SAMPLES));
    // The others may be through before the counters are first shown.
    wait_until("the slow stream has no credit", PATIENCE, || {
        let held = slow.receiver.stats();
        held.starved > 0 && held.credit == 0
    });
    let mut slow = [slow];
    take_all(&mut slow);
    assert_eq!(slow[0].samples, SAMPLES);
    device.feeder.join().expect("it does not panic");
}

#[test]
fn streams_that_end_leave_the_others_alone() {
    let none = FaultSpec::new();
    let mut samples = vec![100_000; 12];
    samples[3] = 300;
    let device = Many::over_loopback(samples.clone(), &none, &none);
    let port = Port::connect(device.address, &UdpOptions::new()).expect("it opens");
    let options = ReceiveOptions::new().timeout(PATIENCE).window(16).owner(7);
    // One that the device does not have, among others.
    let error = port
        .open_each(device.address, &options.clone().streams([0, 1, 99, 2]))
        .expect_err("no such");
    let is_it = |error: &OpenError| {
        matches!(error, OpenError::Refused { stream: 99, reason: RefuseReason::NoSuchStream, .. })
    };
    assert!(is_it(&error), "{error}");
    // The streams that were open are closed again; a stream that no program took is taken over.
    let receivers = port.open_each(device.address, &options.clone().streams(2..12));
    let receivers = receivers.expect("they open");
    drop(port);
    let mut streams = Taken::of(receivers);
    streams.iter_mut().for_each(Taken::take);
    let closed = streams.remove(4);
    closed.receiver.close();
    take_all(&mut streams);
    for it in &streams {
        assert_eq!(it.samples, samples[it.stream], "stream {}", it.stream);
    }
}

/// A link that can be muted: it then sends and receives nothing.
struct Mute(Udp, Arc<AtomicBool>);

/// A link that forges packets between those of the device: each is whole, and of no stream.
struct Noisy(Udp, u32);

#[test]
fn device_that_vanishes_takes_only_its_own_streams_along() {
    const SAMPLES: u64 = 200_000;
    let none = FaultSpec::new();
    let is_mute = Arc::new(AtomicBool::new(false));
    let link = Box::new(Mute(udp(), Arc::clone(&is_mute)));
    let gone = Many::start(link, vec![u64::MAX; 5], &OPTIONS());
    let there = Many::over_loopback(vec![SAMPLES; 5], &none, &none);
    let port = Port::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).expect("it binds");
    let options = ReceiveOptions::new().timeout(PATIENCE).window(16);
    let open = |device: &Many| port.open_each(device.address, &options.clone().streams(0..5));
    let mut lost = Taken::of(open(&gone).expect("they open"));
    wait_until("samples of each stream come", PATIENCE, || {
        lost.iter_mut().for_each(Taken::take);
        lost.iter().all(|it| it.samples > 0)
    });
    is_mute.store(true, Ordering::Relaxed);
    let mut streams = Taken::of(open(&there).expect("they open"));
    take_all(&mut streams);
    assert!(streams.iter().all(|it| it.samples == SAMPLES));
    take_all(&mut lost);
    assert!(lost.iter().all(|it| it.end() == Some(End::PeerSilent)));
    there.feeder.join().expect("it does not panic");
    gone.feeder.join().expect("it does not panic");
}

#[test]
fn packets_of_unknown_tags_reach_no_stream() {
    const SAMPLES: u64 = 100_000;
    let link = Box::new(Noisy(udp(), 1));
    let device = Many::start(link, vec![SAMPLES; 20], &OPTIONS());
    let port = Port::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).expect("it binds");
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let options = ReceiveOptions::new().timeout(PATIENCE).window(16);
    let receivers = port.open_each(device.address, &options.clone().streams(0..20));
    let mut streams = Taken::of(receivers.expect("they open"));
    for length in 0..200 {
        stranger.send_to(&vec![0x10; length], port.local_addr()).expect("it is sent");
    }
    take_all(&mut streams);
    assert!(streams.iter().all(
        |it| it.samples == SAMPLES && it.end() == Some(End::Finished { final_index: SAMPLES })
    ));
    // The counters are published some time after the packets came.
    wait_until("forged packets are counted", PATIENCE, || port.stats().foreign > 1_000);
    device.feeder.join().expect("it does not panic");
}

impl Noisy {
    /// Sends two forged CLOSE_ACKs to the peer: one for a tag that may have the low bits of a
    /// stream's tag, and one that echoes a tag that the device never issued.
    fn forge(&mut self, peer: SocketAddr) -> Result<(), LinkError> {
        self.1 = self.1.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
        let drawn = Tag(self.1 | 0x400);
        let forged = [
            (drawn, CloseAckReason::Done, Tag::NONE),
            (Tag::NONE, CloseAckReason::UnknownTag, drawn),
        ];
        for (tag, reason, echoed_tag) in forged {
            let kind = PacketType::CloseAck;
            let (seq, departure) = (Seq(0), Departure(0));
            let header = Header { kind, flags: Flags::NONE, tag, index: 0, seq, departure };
            let mut bytes = [0; CloseAck::PACKET_LEN];
            CloseAck { reason, echoed_tag, source_lost: 0 }.emit(&header, &mut bytes);
            self.0.send(&[Outgoing::whole(peer, Ecn::NotEct, &bytes)])?;
        }
        Ok(())
    }
}

impl Link for Noisy {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        for packet in packets {
            self.forge(packet.peer)?;
        }
        self.0.send(packets)
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.0.recv(batch)
    }
    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.0.wait(timeout)
    }
    fn waker(&self) -> Waker {
        self.0.waker()
    }
}

impl Link for Mute {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        if self.1.load(Ordering::Relaxed) { Ok(packets.len()) } else { self.0.send(packets) }
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.0.recv(batch)?;
        if self.1.load(Ordering::Relaxed) {
            batch.clear();
        }
        Ok(())
    }
    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.0.wait(timeout)
    }
    fn waker(&self) -> Waker {
        self.0.waker()
    }
}
