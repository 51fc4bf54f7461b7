//! A stream takes no memory once it flows, and no more than it says.

mod cable;
mod rig;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cable::{Altered, cable};
use rig::Device;
use samplewire::format::Format;
use samplewire::real_time::RealTime;
use samplewire::receiver::{AlignedItem, Port};
use samplewire::source::{NullSource, ReadSamples};
use samplewire::transmitter::Overflow;
use samplewire::{Carriage, DeviceOptions, ReceiveOptions};
use samplewire_io::ether::EtherLink;
use samplewire_io::faults::Direction;
use samplewire_io::{FaultSpec, Faults, Udp, UdpOptions};
use samplewire_testing::{CountingAllocator, PATIENCE};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What is counted is of all threads, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn flowing_stream_with_repairs_allocates_nothing_and_holds_what_it_says() {
    let _alone = alone();
    let faults = FaultSpec::new().loss(0.01).corrupt(0.001).duplicate(0.001).seed(4);
    let device = Device::start(
        "127.0.0.1:0",
        Box::new(NullSource::new(Format::Sc16, 1, 1e9).expect("a rate in range")),
        &DeviceOptions::new(),
        (&faults, &faults),
        Overflow::Wait,
    );
    // The device's thread has taken its own memory by then.
    std::thread::sleep(Duration::from_millis(100));
    let held_before = CountingAllocator::held_bytes();
    let mut receiver = device.receive(&ReceiveOptions::new());
    let mut blocks = 0;
    let mut before = (0, receiver.stats());
    let mut bytes_held = 0;
    for block in receiver.by_ref().map(Result::unwrap) {
        drop(block);
        blocks += 1;
        if blocks == 1_000 {
            bytes_held = CountingAllocator::held_bytes() - held_before;
            before.0 = CountingAllocator::calls();
        }
        if blocks == 21_000 {
            break;
        }
    }
    let calls = CountingAllocator::calls() - before.0;
    let stats = receiver.stats().stream;
    assert!(stats.delivered > 100_000 && stats.repaired > 1_000, "{stats:?}");
    assert_eq!(calls, 0, "allocations over {} packets", stats.delivered);
    assert!(device.log.counts(Direction::Transmit).lost > 1_000);
    let said = receiver.memory_bytes() as u64;
    println!("the receiver says {said} bytes and the process took {bytes_held}");
    assert!((said * 9 / 10..said * 11 / 10).contains(&bytes_held));
    receiver.close();
    device.finish();
}

#[test]
fn streams_in_line_with_repairs_allocate_nothing() {
    let _alone = alone();
    let faults = FaultSpec::new().loss(0.01).corrupt(0.001).seed(5);
    let local = "127.0.0.1:0".parse().expect("an address");
    let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
    let link = Faults::new(udp, &faults, &faults).expect("good faults");
    let null = || NullSource::new(Format::Sc16, 1, 1e9).expect("a rate in range");
    let infos = [null().info().clone(), null().info().clone()];
    let device = infos
        .into_iter()
        .fold(DeviceOptions::new(), DeviceOptions::sends)
        .listen_over(Box::new(link))
        .unwrap();
    let threads = device.listeners.into_iter().map(|mut listener| {
        std::thread::spawn(move || {
            let stream = listener.accept(PATIENCE);
            let mut stream = stream.expect("the port works").expect("it is opened");
            stream.play(&mut null(), Overflow::Wait, || false).expect("it plays");
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut aligned = ReceiveOptions::new()
        .timeout(PATIENCE)
        .streams([0, 1])
        .open_aligned(device.address)
        .expect("they open");
    let (mut blocks, mut before) = (0, 0);
    while blocks < 11_000 {
        match aligned.next_within(Duration::from_secs(5)) {
            Ok(Some(AlignedItem::Samples(_))) => blocks += 1,
            other => panic!("{other:?}"),
        }
        if blocks == 1_000 {
            before = CountingAllocator::calls();
        }
    }
    let calls = CountingAllocator::calls() - before;
    let repaired: Vec<_> = aligned.stats().map(|(stats, _)| stats.stream.repaired).collect();
    assert!(repaired.iter().all(|&count| count > 100), "{repaired:?}");
    assert_eq!(calls, 0, "allocations over {blocks} blocks");
    aligned.close();
    threads.into_iter().for_each(|it| it.join().expect("it does not panic"));
}

#[test]
fn streams_over_one_port_with_repairs_allocate_nothing() {
    const STREAMS: usize = 50;
    let _alone = alone();
    let faults = FaultSpec::new().loss(0.01).corrupt(0.001).seed(6);
    let local = "127.0.0.1:0".parse().expect("an address");
    let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
    let link = Faults::new(udp, &faults, &faults).expect("good faults");
    let null = || NullSource::new(Format::Sc16, 1, 1e9).expect("a rate in range");
    let infos = vec![null().info().clone(); STREAMS];
    let options = DeviceOptions::new().window(32).payload_bytes(1_024);
    let device =
        infos.into_iter().fold(options, DeviceOptions::sends).listen_over(Box::new(link)).unwrap();
    let threads = device.listeners.into_iter().map(|mut listener| {
        std::thread::spawn(move || {
            let stream = listener.accept(PATIENCE);
            let mut stream = stream.expect("the port works").expect("it is opened");
            stream.play(&mut null(), Overflow::Wait, || false).expect("it plays");
        })
    });
    let threads: Vec<_> = threads.collect();
    let options = ReceiveOptions::new().timeout(PATIENCE).window(32);
    let mut receivers =
        options.streams(0..STREAMS as u16).open_each(device.address).expect("they open");
    let (mut blocks, mut before) = (0, None);
    while blocks < 40_000 {
        for receiver in &mut receivers {
            while let Some(block) = receiver.next_within(Duration::ZERO).expect("it flows") {
                blocks += usize::from(!block.is_empty());
            }
        }
        if blocks >= 10_000 && before.is_none() {
            before = Some(CountingAllocator::calls());
        }
    }
    let calls = CountingAllocator::calls() - before.expect("some blocks have come");
    let repaired: u64 = receivers.iter().map(|it| it.stats().stream.repaired).sum();
    assert!(repaired > 100, "{repaired}");
    assert_eq!(calls, 0, "allocations over {blocks} blocks");
    drop(receivers);
    threads.into_iter().for_each(|it| it.join().expect("it does not panic"));
}

/// Both ends in software: frames, their repair, records and slots.
#[test]
fn stream_over_rdma_with_repairs_allocates_nothing() {
    let _alone = alone();
    let faults = FaultSpec::new().loss(0.01).seed(7);
    let [far, near] = cable(|link, _| {
        let mut sent = 0_u32;
        Box::new(Altered::new(link, move |link, frame| {
            sent += 1;
            if sent.is_multiple_of(100) { Ok(true) } else { link.send(frame) }
        }))
    });
    let local = "127.0.0.1:0".parse().expect("an address");
    let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
    let link = Faults::new(udp, &faults, &faults).expect("good faults");
    let null = || NullSource::new(Format::Sc16, 1, 1e9).expect("a rate in range");
    let options = DeviceOptions::new().sends(null().info().clone());
    let mut device = options.listen_rdma(Box::new(link), far).unwrap();
    let address = device.address;
    let thread = std::thread::spawn(move || {
        let mut stream = device.accept().expect("it is opened");
        stream.play(&mut null(), Overflow::Wait, || false).expect("it plays");
    });
    let link = Udp::client(address, &UdpOptions::new()).expect("a free port");
    let port = Port::over_rdma(Box::new(link), near, &RealTime::default()).expect("a thread");
    let options = ReceiveOptions::new().window(128).timeout(PATIENCE);
    let mut receiver = port.open(address, &options).expect("it opens");
    assert_eq!(receiver.info().carriage, Carriage::Rdma);
    let (mut blocks, mut before) = (0, 0);
    for block in receiver.by_ref().map(Result::unwrap) {
        drop(block);
        blocks += 1;
        if blocks == 1_000 {
            before = CountingAllocator::calls();
        }
        if blocks == 5_000 {
            break;
        }
    }
    let calls = CountingAllocator::calls() - before;
    let stats = receiver.stats();
    assert!(stats.stream.ranges > 10, "{:?}", stats.stream);
    assert_eq!(calls, 0, "allocations over {blocks} blocks");
    receiver.close();
    thread.join().expect("it does not panic");
}
