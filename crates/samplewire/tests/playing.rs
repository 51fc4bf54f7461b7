//! From host to device: what is played is what was sent, at its time, or lies in an underrun.

mod bytes;
mod played;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use played::RawFile;
use samplewire::device::{
    Played, Player, PortError, ReceiveListener, STREAMS_MAX, SampleClock, Underrun, UnderrunCause,
};
use samplewire::format::Format;
use samplewire::source::{CounterSource, ReadSamples, StreamInfo, counter_mismatch};
use samplewire::transmitter::{Overflow, PlayError, SendError};
use samplewire::{
    Cause, Delivery, DeviceInfo, DeviceOptions, End, OpenError, ReceiveOptions, SampleIndex,
    SendOptions, SendStream, Underflow,
};
use samplewire_io::{FaultSpec, Faults, Udp, UdpOptions};
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::wire::{CloseReason, Flags, RefuseReason};
use samplewire_testing::{PATIENCE, skip, wait_until};

/// A device that plays one session into a raw file.
struct Stage {
    address: SocketAddr,
    clock: Option<SampleClock>,
    thread: JoinHandle<(Played, Vec<Underrun>, Vec<SampleIndex>)>,
}

impl Stage {
    fn start(info: &StreamInfo, has_clock: bool, file: &Path) -> Self {
        Self::with(info, has_clock, file, &FaultSpec::new(), &FaultSpec::new(), 1_024)
    }

    /// Faults of what comes to the device, and of what it answers.
    fn with(
        info: &StreamInfo,
        has_clock: bool,
        file: &Path,
        data: &FaultSpec,
        feedback: &FaultSpec,
        window: u32,
    ) -> Self {
        let clock = has_clock.then(|| SampleClock::start(info, Instant::now()));
        let local = "127.0.0.1:0".parse().expect("an address");
        let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
        let link = Faults::new(udp, feedback, data).expect("good faults");
        let mut options = DeviceOptions::new().window(window).plays(info.clone());
        if let Some(clock) = clock {
            options = options.clock(clock);
        }
        let device = options.listen_over(Box::new(link)).expect("it listens");
        let mut receive_listener = device.receive_listener.expect("it plays");
        let mut output = RawFile::create(file, info.frame_bytes());
        let thread = std::thread::spawn(move || {
            let incoming = receive_listener.accept(PATIENCE).expect("the port works");
            let incoming = incoming.expect("a sender comes");
            let mut player = Player::new(incoming.receiver, clock, incoming.underflow, &mut output);
            let mut underruns = vec![];
            let keep = |underruns: &mut Vec<Underrun>, underrun: &Underrun| {
                underruns.push(*underrun);
            };
            while player
                .run(Duration::from_millis(50), |underrun| keep(&mut underruns, underrun))
                .expect("the file takes it")
            {}
            (player.finish(), underruns, output.starts)
        });
        Self { address: device.address, clock, thread }
    }

    fn finish(self) -> (Played, Vec<Underrun>) {
        let (played, underruns, _) = self.finish_with_starts();
        (played, underruns)
    }

    /// Also the indexes at which it began to play on purpose.
    fn finish_with_starts(self) -> (Played, Vec<Underrun>, Vec<SampleIndex>) {
        self.thread.join().expect("the device does not panic")
    }
}

fn file(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("playing-{test}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    }
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder.join("played.raw")
}

fn sc16(rate_hz: f64) -> StreamInfo {
    StreamInfo::new(Format::Sc16, 1, rate_hz).expect("a rate in range")
}

/// Counts from 0.
fn counter(samples: u64) -> Box<dyn ReadSamples> {
    Bytes::counter(samples, 1, 1e6)
}

/// Sends `source` as one burst `lead` after the opening, and waits until it is played.
fn send(
    transmitter: &mut SendStream,
    source: &mut dyn ReadSamples,
    lead: Duration,
    mut on_quantum: impl FnMut(SampleIndex),
) -> (SampleIndex, Result<End, PlayError>) {
    assert!(transmitter.wait_ready(PATIENCE).expect("the port works"));
    let rate_hz = transmitter.info().rate_hz();
    let first = transmitter.session().first_index + (lead.as_secs_f64() * rate_hz) as u64;
    let on_progress = |index: SampleIndex| {
        on_quantum(index - first);
        false
    };
    let end = transmitter.send_burst(source, first, on_progress).and_then(|end| {
        let until = Instant::now() + PATIENCE;
        assert!(transmitter.wait_played(end, || Instant::now() > until)?);
        Ok(transmitter.finish(0)?.end)
    });
    (first, end)
}

/// A device may send as many streams as it can, and play one besides.
#[test]
fn stream_that_is_played_is_found_behind_all_that_are_sent() {
    let udp = Udp::bind("127.0.0.1:0".parse().expect("an address"), &UdpOptions::new());
    let link = Box::new(udp.expect("a free port"));
    let (sends, plays) = (vec![sc16(1e6); STREAMS_MAX], sc16(1e6));
    let options = DeviceOptions::new().window(16).mtu(1_500);
    let device = sends
        .into_iter()
        .fold(options, DeviceOptions::sends)
        .plays(plays)
        .listen_over(link)
        .expect("it listens");
    let sender = SendOptions::new().timeout(PATIENCE).open(device.address).expect("it is found");
    let stream = sender.device().map(|info| usize::from(info.stream));
    assert_eq!(stream, Some(STREAMS_MAX));
}

/// 50 MB of a real recording through every fault each way are played byte for byte.
#[test]
fn recording_is_played_whole_through_faults() {
    let folder = std::env::var_os("SAMPLEWIRE_TEST_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("modes1.sigmf-meta");
    if !path.exists() {
        return skip(format_args!("no test data at {}", folder.display()));
    }
    let recording = std::fs::read(folder.join("modes1.sigmf-data")).expect("the samples");
    let info = StreamInfo::new(Format::Uc8, 1, 2e6).expect("a rate in range");
    let mut source = Bytes::repeated(info, recording.clone(), 70);
    let fault = || FaultSpec::new().loss(0.01).corrupt(0.001).duplicate(0.001).reorder(0.01);
    let file = file("whole");
    let info = source.info().clone();
    let (data, feedback) = (fault().seed(5), fault().seed(6));
    let stage = Stage::with(&info, false, &file, &data, &feedback, 1_024);
    let options = SendOptions::new().timeout(PATIENCE).mtu(1_500);
    let mut transmitter = options.open(stage.address).expect("it answers");
    let (_, end) = send(&mut transmitter, &mut source, Duration::ZERO, |_| ());
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    let (played, underruns) = stage.finish();
    assert!(matches!(played.end, Some(End::Finished { .. })), "{played:?}");
    assert!(played.stats.stream.repaired > 100 && played.stats.corrupted > 5, "{played:?}");
    assert_eq!((underruns.len(), played.counts.bursts), (0, 1));
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(bytes.len(), recording.len() * 70);
    assert!(bytes.chunks(recording.len()).all(|round| round == recording));
}

/// Compares what was played with a counter that starts at `first`: zeros in the underruns, the
/// samples elsewhere. A gap before the burst is played too: a device cannot know where a burst
/// begins whose first packet it never gets.
fn check_played(bytes: &[u8], first: SampleIndex, played: &Played, underruns: &[Underrun]) {
    let samples = bytes.as_chunks::<4>().0;
    for (index, sample) in (played.indexes.start..).zip(samples) {
        let is_missing = underruns.iter().any(|it| (it.first..it.end()).contains(&index));
        let expected = if is_missing { 0 } else { index.wrapping_sub(first) as u32 };
        assert_eq!(u32::from_le_bytes(*sample), expected, "index {index}, the burst's is {first}");
    }
}

#[test]
fn sender_that_pauses_makes_an_underrun_that_is_named_to_the_sample() {
    let (info, file) = (sc16(1e6), file("pause"));
    // 142 ms of samples wait at either end at most.
    let faults = FaultSpec::new();
    let stage = Stage::with(&info, true, &file, &faults, &faults, 64);
    let mut transmitter =
        SendOptions::new().timeout(PATIENCE).window(64).open(stage.address).expect("it answers");
    let mut pauses = vec![600_000, 1_800_000];
    let (first, end) = send(&mut transmitter, &mut *counter(3_000_000), LEAD, |sent| {
        if pauses.first().is_some_and(|&at| sent >= at) {
            pauses.remove(0);
            // The pause is the fault, and the device's clock is real.
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    let underflow_samples = transmitter.stats().stream.underflow_at_peer;
    let (played, underruns) = stage.finish();
    println!("{underruns:?} {:?}", played.counts);
    assert!(!underruns.is_empty(), "it paused for longer than the device holds");
    assert!(underruns.iter().any(|it| it.samples > 100_000), "{underruns:?}");
    assert!(underruns.iter().all(|it| it.cause == UnderrunCause::SenderBehind), "{underruns:?}");
    let missing: u64 = underruns.iter().map(|it| it.samples).sum();
    assert_eq!((played.counts.underrun_samples, underflow_samples), (missing, missing));
    assert_eq!(played.counts.played + missing, 3_000_000);
    assert_eq!(played.counts.late_samples, missing, "all came after all");
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(bytes.len(), 12_000_000);
    check_played(&bytes, first, &played, &underruns);
}

#[test]
fn policy_stop_ends_the_stream_at_the_first_sample_that_is_missing() {
    let (info, file) = (sc16(1e6), file("stop"));
    let stage = Stage::start(&info, true, &file);
    let options = SendOptions::new().timeout(PATIENCE).underflow(Underflow::Stop);
    let mut transmitter = options.open(stage.address).expect("it answers");
    let mut has_paused = false;
    let mut source = counter(4_000_000);
    let (first, end) = send(&mut transmitter, &mut *source, LEAD, |sent| {
        if sent >= 200_000 && !has_paused {
            has_paused = true;
            // Longer than the device holds samples, and it ends the stream.
            std::thread::sleep(Duration::from_secs(3));
        }
    });
    let Err(PlayError::Transmit(SendError::Ended(end))) = end else { panic!("{end:?}") };
    assert_eq!(end.end, End::ClosedByPeer(CloseReason::Underflow));
    let (played, underruns) = stage.finish();
    assert!(played.is_stopped);
    assert_eq!(underruns.len(), 1, "{underruns:?}");
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(first + bytes.len() as u64 / 4, underruns[0].first);
    assert_eq!(counter_mismatch(0, &bytes), None);
}

#[test]
fn burst_without_a_lead_is_late_and_says_by_how_much() {
    let (info, file) = (sc16(1e6), file("late"));
    let stage = Stage::start(&info, true, &file);
    let mut transmitter =
        SendOptions::new().timeout(PATIENCE).open(stage.address).expect("it answers");
    // By so much its index passes the first of the stream.
    std::thread::sleep(Duration::from_millis(50));
    let (first, end) = send(&mut transmitter, &mut *counter(100_000), Duration::ZERO, |_| ());
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    assert!(transmitter.stats().stream.late_at_peer > 0);
    let (played, underruns) = stage.finish();
    assert_eq!((underruns[0].first, underruns[0].cause), (first, UnderrunCause::BurstLate));
    assert!(underruns[0].samples > 45_000, "{underruns:?}");
    check_played(&std::fs::read(&file).expect("the file"), first, &played, &underruns);
}

#[test]
fn index_beyond_the_largest_is_reported_and_not_waited_for() {
    let stage = Stage::start(&sc16(1e6), false, &file("beyond"));
    let mut transmitter =
        SendOptions::new().timeout(PATIENCE).open(stage.address).expect("it answers");
    assert!(transmitter.wait_ready(PATIENCE).expect("it works"));
    let sent = transmitter.send_burst(&mut *counter(10), INDEX_MAX + 1, |_| false);
    let result = sent.and_then(|_| Ok(transmitter.finish(0)?));
    match result {
        Err(PlayError::Transmit(SendError::Port(words))) => {
            assert!(words.contains("index 9223372036854775809 lies beyond 2^63"), "{words}");
        }
        other => panic!("{other:?}"),
    }
    drop(transmitter);
    stage.finish();
}

#[test]
fn bursts_are_played_at_their_times_with_nothing_between_them() {
    let (info, file) = (sc16(1e6), file("bursts"));
    let stage = Stage::start(&info, true, &file);
    let clock = stage.clock.expect("it has one");
    let mut transmitter =
        SendOptions::new().timeout(PATIENCE).open(stage.address).expect("it answers");
    assert!(transmitter.wait_ready(PATIENCE).expect("it works"));
    let mut firsts = vec![];
    // Lengths of packets, of parts of them, and of one sample.
    for samples in [1, 2_224, 2_223, 4_448, 10_000, 2_222] {
        let first = clock.index_at(Instant::now()) + 1_000_000;
        firsts.push((first, samples));
        let source = &mut *counter(samples);
        let end = transmitter.send_burst(source, first, |_| false).expect("it is sent");
        assert_eq!(end, first + samples);
        // Between two bursts: longer than the longest of them lasts.
        std::thread::sleep(Duration::from_millis(20));
    }
    let end = firsts.last().map(|(first, samples)| first + samples).expect("some");
    let until = Instant::now() + PATIENCE;
    let is_late = || Instant::now() > until;
    assert!(transmitter.wait_played(end, is_late).expect("it is open"));
    transmitter.finish(0).expect("the port works");
    let (played, underruns, starts) = stage.finish_with_starts();
    assert_eq!(underruns, []);
    assert_eq!((played.counts.bursts, played.counts.underrun_samples), (6, 0));
    let expected: Vec<_> = firsts.iter().map(|(first, _)| *first).collect();
    assert_eq!(starts, expected);
}

#[test]
fn losses_past_their_deadline_are_played_as_zeros_with_their_cause() {
    // The second seed drops the first packet of the burst.
    for seed in [7, 13] {
        play_best_effort(seed);
    }
}

/// Sends a burst through a loss of 5 % that nothing repairs.
fn play_best_effort(seed: u64) {
    let (info, file) = (sc16(1e6), file(&format!("deadline-{seed}")));
    let data = FaultSpec::new().loss(0.05).seed(seed);
    let stage = Stage::with(&info, true, &file, &data, &FaultSpec::new(), 1_024);
    let options = SendOptions::new().timeout(PATIENCE).delivery(Delivery::BestEffort).mtu(1_500);
    let mut transmitter = options.open(stage.address).expect("it answers");
    let (first, end) =
        send(&mut transmitter, &mut *counter(1_000_000), Duration::from_millis(200), |_| ());
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    let (played, underruns) = stage.finish();
    assert!(underruns.len() > 50, "{}", underruns.len());
    let gaps = underruns.iter().filter(|it| it.cause == UnderrunCause::Gap(Cause::NeverAsked));
    assert!(gaps.count() > 50);
    check_played(&std::fs::read(&file).expect("the file"), first, &played, &underruns);
}

#[test]
fn start_in_the_past_is_refused_and_one_ahead_taken() {
    let (info, file) = (sc16(1e6), file("start"));
    let stage = Stage::start(&info, true, &file);
    let clock = stage.clock.expect("it has one");
    wait_until("the index passes 5", PATIENCE, || clock.index_at(Instant::now()) > 5);
    let options = |index| SendOptions::new().timeout(PATIENCE).start_index(index);
    match options(5).open(stage.address) {
        Err(OpenError::Refused { reason: RefuseReason::StartIndex, .. }) => {}
        other => panic!("{other:?}"),
    }
    let mut transmitter = options(5_000_000).open(stage.address).expect("five seconds ahead");
    let (first, end) = send(&mut transmitter, &mut *counter(1_000), Duration::ZERO, |_| ());
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    assert_eq!(first, 5_000_000);
    let (played, underruns) = stage.finish();
    assert_eq!((underruns.len(), played.indexes.end), (0, 5_001_000));
}

#[test]
fn device_that_only_plays_refuses_a_receiver_and_one_that_only_sends_a_sender() {
    let (info, file) = (sc16(1e6), file("role"));
    let stage = Stage::start(&info, true, &file);
    match ReceiveOptions::new().timeout(PATIENCE).open(stage.address) {
        Err(OpenError::Refused { reason: RefuseReason::Role, .. }) => {}
        other => panic!("{other:?}"),
    }
    let mut sender =
        DeviceOptions::new().sends(info.clone()).listen("127.0.0.1:0").expect("listens");
    match SendOptions::new().timeout(PATIENCE).open(sender.address) {
        Err(OpenError::Refused { reason: RefuseReason::Role, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(sender.accept_sender().unwrap_err(), PortError::NoStream);
    let mut transmitter =
        SendOptions::new().timeout(PATIENCE).open(stage.address).expect("it answers");
    send(&mut transmitter, &mut *counter(10), Duration::from_millis(50), |_| ()).1.expect("sent");
    stage.finish();
}

#[test]
fn device_sends_and_plays_at_once_on_one_port() {
    let (info, file) = (sc16(2e6), file("duplex"));
    // The time of index 0.
    let tai_ns = 1_800_000_000_000_000_000;
    let tai_ns_of = |info: &DeviceInfo| tai_ns + info.first_index * 500;
    let clock = SampleClock::start(&info, Instant::now()).with_tai_ns(tai_ns);
    let local = "127.0.0.1:0".parse().expect("an address");
    let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
    let options = DeviceOptions::new();
    let mut device = options
        .sends(info.clone())
        .plays(info.clone())
        .clock(clock)
        .listen_over(Box::new(udp))
        .expect("it listens");
    let (mut sender, mut receive_listener) =
        (device.listeners.pop().expect("it sends"), device.receive_listener.expect("it plays"));
    let mut output = RawFile::create(&file, info.frame_bytes());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stream = sender.accept(PATIENCE).expect("the port works");
            let mut stream = stream.expect("a receiver comes");
            let mut source =
                CounterSource::new(2e6, stream.session().first_index).expect("in range");
            let pace = Overflow::Keep(clock);
            stream.play(&mut source, pace, || false).expect("it plays");
        });
        scope.spawn(|| {
            let incoming = receive_listener.accept(PATIENCE).expect("the port works");
            let incoming = incoming.expect("a sender comes");
            let info = incoming.receiver.info();
            assert_eq!(info.first_index_tai_ns, Some(tai_ns_of(info)));
            let mut player =
                Player::new(incoming.receiver, Some(clock), incoming.underflow, &mut output);
            while player.run(Duration::from_millis(50), |_| ()).expect("the file takes it") {}
            assert_eq!(player.finish().counts.underruns, 0);
        });
        let mut receiver =
            ReceiveOptions::new().timeout(PATIENCE).open(device.address).expect("it answers");
        let mut transmitter =
            SendOptions::new().timeout(PATIENCE).open(device.address).expect("it answers");
        let seen = transmitter.device().expect("it opened").clone();
        assert_eq!((receiver.info().stream, seen.stream, seen.streams), (0, 1, 2));
        assert_eq!(receiver.info().boot_id, seen.boot_id, "their indexes are comparable");
        let apart = seen.first_index.abs_diff(receiver.info().first_index);
        assert!(apart < 400_000, "one clock: {apart} samples apart");
        for info in [receiver.info(), &seen] {
            assert_eq!(info.first_index_tai_ns, Some(tai_ns_of(info)));
            assert_eq!(
                info.tai_clock().expect("it has a time").tai_ns(2_000_000),
                tai_ns + 1_000_000_000
            );
        }
        let taker = scope.spawn(move || {
            let mut samples = 0;
            while samples < 2_000_000 {
                let block = receiver.next().expect("samples").unwrap();
                assert_eq!(counter_mismatch(block.index(), block.bytes()), None);
                samples += block.len();
            }
            receiver.close();
        });
        let (_, end) = send(&mut transmitter, &mut *counter(1_000_000), LEAD, |_| ());
        assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
        taker.join().expect("what comes is what was sent");
    });
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(bytes.len(), 4_000_000);
    assert_eq!(counter_mismatch(0, &bytes), None);
}

#[test]
fn same_owner_takes_a_stream_to_the_device_over() {
    let (info, file) = (sc16(1e6), file("takeover"));
    let local = "127.0.0.1:0".parse().expect("an address");
    let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
    let options = DeviceOptions::new();
    let device = options.plays(info.clone()).listen_over(Box::new(udp)).expect("it listens");
    let mut receive_listener = device.receive_listener.expect("it plays");
    let mut output = RawFile::create(&file, info.frame_bytes());
    let player = std::thread::spawn(move || {
        let mut ends = vec![];
        for _ in 0..2 {
            let incoming = receive_listener.accept(PATIENCE).expect("the port works");
            let incoming = incoming.expect("a sender comes");
            let mut player = Player::new(incoming.receiver, None, Underflow::Zeros, &mut output);
            while player.run(Duration::from_millis(20), |_| ()).expect("the file takes it") {}
            ends.push(player.finish().end);
        }
        ends
    });
    let options = SendOptions::new()
        .timeout(PATIENCE)
        .owner(7)
        .delivery(Delivery::Deadline(Duration::from_millis(1)));
    let mut first = options.open(device.address).expect("it is free");
    assert!(first.wait_ready(PATIENCE).expect("it works"));
    let mut filling = first.quantum(PATIENCE).expect("open").expect("room");
    filling.bytes_mut().fill(1);
    first.submit(filling, 4_000, first.session().first_index, Flags::START).expect("it follows");
    wait_until("samples come", PATIENCE, || first.stats().stream.received_by_peer > 0);
    match SendOptions::new().timeout(PATIENCE).owner(8).open(device.address) {
        Err(OpenError::Refused { reason: RefuseReason::Busy, .. }) => {}
        other => panic!("{other:?}"),
    }
    let mut second = options.open(device.address).expect("the same owner");
    let (_, end) = send(&mut second, &mut *counter(1_000), Duration::ZERO, |_| ());
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    assert!(matches!(first.finish(0).map(|end| end.end), Ok(End::PeerRestarted)));
    let ends = player.join().expect("the device does not panic");
    assert_eq!(ends[0], Some(End::PeerRestarted));
    assert!(matches!(ends[1], Some(End::Finished { .. })), "{ends:?}");
}

/// A program that waits for one sender needs its listener no longer.
#[test]
fn accepted_stream_goes_on_when_the_listener_is_dropped() {
    let info = sc16(1e6);
    let device = DeviceOptions::new().plays(info).listen("127.0.0.1:0").expect("it listens");
    let (address, mut receive_listener) =
        (device.address, device.receive_listener.expect("it plays"));
    let taker = std::thread::spawn(move || {
        let incoming = receive_listener.accept(PATIENCE).expect("the port works");
        let mut receiver = incoming.expect("a sender comes").receiver;
        drop(receive_listener);
        let samples: usize = receiver.by_ref().map(Result::unwrap).map(|block| block.len()).sum();
        (samples, receiver)
    });
    let options = SendOptions::new().timeout(PATIENCE).owner(7);
    let mut transmitter = options.open(address).expect("it answers");
    let (_, end) = send(&mut transmitter, &mut *counter(1_000_000), Duration::ZERO, |_| ());
    assert!(matches!(end, Ok(End::Finished { .. })), "{end:?}");
    let (samples, receiver) = taker.join().expect("it does not panic");
    assert_eq!(samples, 1_000_000);
    match options.open(address) {
        Err(OpenError::Refused { reason: RefuseReason::Busy, .. }) => {}
        other => panic!("no program takes another stream: {other:?}"),
    }
    // The last handle of the port waits for its thread.
    drop(receiver);
    Udp::bind(address, &UdpOptions::new()).expect("the port is free again");
}

/// Opens the device's stream, so often that each takes the last over; the program has taken none.
fn opened_and_not_taken(times: usize) -> (Vec<SendStream>, ReceiveListener) {
    let info = sc16(1e6);
    let device = DeviceOptions::new().plays(info).listen("127.0.0.1:0").expect("it listens");
    let options = SendOptions::new().timeout(PATIENCE).owner(7);
    let open = |_| {
        let mut transmitter = options.open(device.address).expect("it answers");
        assert!(transmitter.wait_ready(PATIENCE).expect("the port works"));
        transmitter.send_bytes(&[0; 4]).expect("the stream is open");
        transmitter.flush();
        wait_until("the device has the sample", PATIENCE, || {
            transmitter.stats().stream.received_by_peer > 0
        });
        transmitter
    };
    let transmitters = (0..times).map(open).collect();
    (transmitters, device.receive_listener.expect("it plays"))
}

#[test]
fn accept_gives_the_last_of_the_streams_that_were_opened_before() {
    let (transmitters, mut receive_listener) = opened_and_not_taken(3);
    let mut accept = || receive_listener.accept(Duration::ZERO).expect("the port works");
    assert_eq!(accept().map(|accepted| accepted.id), Some(3));
    assert!(accept().is_none(), "those before have ended");
    drop(transmitters);
}

/// The ring of streams that wait has room for four.
#[test]
fn stream_that_is_opened_while_four_wait_is_accepted_after_them() {
    let (transmitters, mut receive_listener) = opened_and_not_taken(6);
    let mut ids = vec![];
    while ids.last() != Some(&6) {
        let accepted = receive_listener.accept(PATIENCE).expect("the port works");
        ids.push(accepted.expect("the sixth is to come").id);
    }
    // The I/O thread may push the sixth once `accept` has made room: it is then the latest.
    assert!(ids == [4, 6] || ids == [6], "{ids:?}: the fifth ended meanwhile");
    drop(transmitters);
}

/// From the opening to the first sample: a loaded machine takes this long to send it.
const LEAD: Duration = Duration::from_secs(1);
