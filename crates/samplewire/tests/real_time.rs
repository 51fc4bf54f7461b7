//! Streams that spin, and one without an I/O thread, deliver what any other does.

use std::time::{Duration, Instant};

use samplewire::device::SampleClock;
use samplewire::receiver::AlignedItem;
use samplewire::source::{CounterSource, ReadSamples, StreamInfo, counter_sample};
use samplewire::transmitter::Overflow;
use samplewire::{DeviceOptions, End, OpenError, RealTime, ReceiveOptions, SendOptions, Waits};
use samplewire_io::{Udp, UdpOptions, thread};
use samplewire_proto::wire::Flags;
use samplewire_testing::PATIENCE;

const SAMPLES: u64 = 300_000;

/// Receives a counter that is sent and received in these ways; every sample is looked at.
fn counted(sender: Waits, receiver: Waits) {
    let options = DeviceOptions::new().real_time(RealTime::new().waits(sender));
    let mut source = CounterSource::new(1e6, 0).unwrap();
    let mut listener =
        options.sends(source.info().clone()).listen("127.0.0.1:0").unwrap().listeners.remove(0);
    assert_eq!(listener.granted().waits, sender);
    let address = listener.local_addr();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut stream = listener.accept(PATIENCE).unwrap().unwrap();
            // Until the receiver closes.
            stream.play(&mut source, Overflow::Wait, || false)
        });
        let options =
            ReceiveOptions::new().timeout(PATIENCE).real_time(RealTime::new().waits(receiver));
        let mut stream = options.open(address).unwrap();
        assert_eq!(stream.granted().waits, receiver);
        let mut next = 0;
        let until = Instant::now() + PATIENCE;
        while next < SAMPLES {
            assert!(Instant::now() < until, "{next} samples came");
            let block = stream.next_within(Duration::from_millis(100)).expect("it is open");
            let Some(block) = block else { continue };
            assert!(block.gaps().is_empty() && block.index() == next, "from {next}");
            for (at, sample) in (next..).zip(block.bytes().chunks_exact(4)) {
                assert_eq!(sample, counter_sample(at, 0), "at {at}");
            }
            next += block.len() as u64;
        }
        let started = Instant::now();
        stream.close();
        assert!(started.elapsed() < Duration::from_secs(2), "the other side answers a CLOSE");
    });
}

#[test]
fn spinning_receiver_gets_every_sample() {
    counted(Waits::Asleep, Waits::Spinning);
}

#[test]
fn spinning_sender_sends_every_sample() {
    counted(Waits::Spinning, Waits::Asleep);
}

#[test]
fn spinning_program_gets_every_sample() {
    counted(Waits::Asleep, Waits::BothSpinning);
}

#[test]
fn receiver_without_a_thread_gets_every_sample() {
    counted(Waits::Asleep, Waits::Inline);
}

#[test]
fn device_without_a_thread_sends_every_sample() {
    counted(Waits::Inline, Waits::Asleep);
}

/// Receives two counters in line, over one endpoint that waits in this way; every sample is looked at.
fn aligned(waits: Waits) {
    let counter = || CounterSource::new(1e6, 0).unwrap();
    let infos = [counter().info().clone(), counter().info().clone()];
    let device = infos.into_iter().fold(DeviceOptions::new(), DeviceOptions::sends);
    let device = device.listen("127.0.0.1:0").unwrap();
    std::thread::scope(|scope| {
        for mut listener in device.listeners {
            scope.spawn(move || {
                let mut stream = listener.accept(PATIENCE).unwrap().unwrap();
                let mut source = CounterSource::new(1e6, stream.session().first_index).unwrap();
                // Until the receiver closes.
                stream.play(&mut source, Overflow::Wait, || false).unwrap();
            });
        }
        let options = ReceiveOptions::new()
            .timeout(PATIENCE)
            .streams([1, 0])
            .real_time(RealTime::new().waits(waits));
        let mut streams = options.open_aligned(device.address).unwrap();
        assert_eq!(streams.granted().waits, waits);
        let first = streams.info().first_index;
        let mut next = first;
        let until = Instant::now() + PATIENCE;
        while next < first + SAMPLES {
            assert!(Instant::now() < until, "{next} samples came");
            let item = streams.next_within(Duration::from_millis(100)).expect("both are open");
            let block = match item {
                Some(AlignedItem::Samples(block)) => block,
                Some(AlignedItem::Gap(lost)) => panic!("{lost:?}"),
                None => continue,
            };
            assert_eq!((block.index(), block.streams().len()), (next, 2));
            for samples in block.streams() {
                for (at, sample) in (next..).zip(samples.bytes().chunks_exact(4)) {
                    assert_eq!(sample, counter_sample(at, 0), "at {at}");
                }
                assert_eq!(samples.bytes().len(), block.len() * 4);
            }
            next += block.len() as u64;
        }
        let started = Instant::now();
        streams.close();
        assert!(started.elapsed() < Duration::from_secs(2), "the other side answers a CLOSE");
    });
}

#[test]
fn spinning_aligned_streams_get_every_sample() {
    aligned(Waits::BothSpinning);
}

#[test]
fn aligned_streams_without_a_thread_get_every_sample() {
    aligned(Waits::Inline);
}

/// Counts how late timers of the thread may end that reads it.
struct Slack {
    info: StreamInfo,
    read: Vec<Duration>,
}

impl ReadSamples for Slack {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, samplewire::BoxError> {
        self.read.push(thread::timer_slack()?);
        into.fill(0);
        Ok(if self.read.len() < 10 { into.len() } else { 0 })
    }
}

/// What a converter has sampled leaves at once: a program that answers it reckons from its index.
#[test]
fn samples_that_a_burst_may_answer_do_not_wait_for_others_where_the_device_spins() {
    let rate_hz = 1e6;
    let info = StreamInfo::new(samplewire::format::Format::Sc16, 1, rate_hz).unwrap();
    let clock = SampleClock::start(&info, Instant::now());
    let cases = [(Waits::Asleep, true, 2), (Waits::Spinning, false, 2), (Waits::Spinning, true, 1)];
    for (waits, plays, packets) in cases {
        let options = DeviceOptions::new().real_time(RealTime::new().waits(waits));
        let options = options.sends(info.clone()).payload_bytes(1_408).clock(clock);
        let options = if plays { options.plays(info.clone()) } else { options };
        let mut device = options.listen("127.0.0.1:0").unwrap();
        let address = device.address;
        std::thread::scope(|scope| {
            let device = scope.spawn(move || {
                let usual = thread::timer_slack().unwrap();
                let listener = &mut device.listeners[0];
                let mut stream = listener.accept(PATIENCE).unwrap().unwrap();
                let mut source = Slack { info: listener.info().clone(), read: Vec::new() };
                let quantum_packets = stream.session().quantum_packets;
                stream.play(&mut source, Overflow::Keep(clock), || false).unwrap();
                assert!(source.read.iter().all(|slack| *slack <= Duration::from_micros(1)));
                assert_eq!(thread::timer_slack().unwrap(), usual);
                quantum_packets
            });
            let mut stream = ReceiveOptions::new().timeout(PATIENCE).open(address).unwrap();
            (&mut stream).for_each(|block| drop(block.unwrap()));
            assert_eq!(device.join().unwrap(), packets, "{waits:?}, plays: {plays}");
        });
    }
}

/// Looks until there is something.
fn look<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "nothing came");
        if let Some(found) = look() {
            return found;
        }
    }
}

/// One packet at a time: it waits neither for its quantum to fill nor for a timer.
#[test]
fn lone_packets_are_handed_over_at_once_without_a_thread() {
    let info = StreamInfo::new(samplewire::format::Format::Sc16, 1, 1e6).unwrap();
    let inline = RealTime::new().waits(Waits::Inline);
    let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let options = DeviceOptions::new().real_time(inline.clone());
    let mut device = options.plays(info.clone()).listen_over(Box::new(link)).unwrap();
    let mut receive_listener = device.receive_listener.take().unwrap();
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let options = SendOptions::new().timeout(PATIENCE).real_time(inline);
            let mut transmitter = options.open(device.address).unwrap();
            // A look without a wait is a turn too.
            look(|| transmitter.wait_ready(Duration::ZERO).unwrap().then_some(()));
            let session = *transmitter.session();
            let len_bytes = session.payload_bytes;
            for packet in 0..50_u64 {
                let mut filling = transmitter.quantum(PATIENCE).unwrap().unwrap();
                filling.bytes_mut()[..len_bytes].fill(packet as u8);
                let index = session.first_index + packet * u64::from(session.packet_samples);
                transmitter.submit(filling, len_bytes, index, Flags::NONE).expect("it follows");
                let pause = Instant::now();
                while pause.elapsed() < Duration::from_millis(2) {
                    transmitter.turn();
                }
            }
            transmitter.finish(0).unwrap()
        });
        let incoming = look(|| receive_listener.accept(Duration::ZERO).unwrap());
        let mut receiver = incoming.receiver;
        let mut blocks = Vec::new();
        let end = loop {
            match receiver.next_within(Duration::from_millis(50)) {
                Ok(block) => blocks
                    .extend(block.filter(|block| !block.is_empty()).map(|it| it.bytes().to_vec())),
                Err(end) => break end,
            }
        };
        assert!(end.is_closed(), "{end}");
        assert_eq!(blocks.len(), 50, "a packet each");
        for (packet, bytes) in blocks.iter().enumerate() {
            assert!(bytes.iter().all(|byte| *byte == packet as u8), "packet {packet}");
        }
        // The sender's CLOSE may have to be answered again.
        let until = Instant::now() + PATIENCE;
        while !sender.is_finished() && Instant::now() < until {
            assert!(receive_listener.accept(Duration::from_millis(1)).unwrap().is_none());
        }
        assert!(matches!(sender.join().unwrap().end, End::Finished { .. }));
    });
}

#[test]
fn options_that_cannot_be_fail_the_opening_before_anything_is_sent() {
    let nowhere = "127.0.0.1:9";
    let wrong = RealTime::new().priority(100);
    let started = Instant::now();
    let options = ReceiveOptions::new().timeout(PATIENCE).real_time(wrong.clone());
    assert!(matches!(options.open(nowhere), Err(OpenError::RealTime(_))));
    let options = SendOptions::new().timeout(PATIENCE).real_time(wrong.clone());
    assert!(matches!(options.open(nowhere), Err(OpenError::RealTime(_))));
    let info = StreamInfo::new(samplewire::format::Format::Sc16, 1, 1e6).unwrap();
    let options = DeviceOptions::new().real_time(wrong);
    let listening = options.sends(info).listen("127.0.0.1:0");
    assert!(matches!(listening, Err(OpenError::RealTime(_))));
    assert!(started.elapsed() < Duration::from_secs(1), "it was tried");
}
