//! Several streams of one device over real sockets: one start, one index, one end.

use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::device::SampleClock;
use samplewire::format::Format;
use samplewire::receiver::{AlignedItem, LaneCounts, StreamGap};
use samplewire::source::{
    CounterSource, NullSource, PickedSource, ReadSamples, StreamInfo, counter_sample,
};
use samplewire::transmitter::{Overflow, PlaySummary};
use samplewire::{
    AlignedStreams, BoxError, Cause, Delivery, DeviceOptions, End, OpenError, ReceiveError,
    ReceiveOptions, probe, probe_stream,
};
use samplewire_circuit::TagKind;
use samplewire_io::{FaultSpec, Faults, Udp, UdpOptions};
use samplewire_proto::wire::{Flags, RefuseReason};
use samplewire_testing::{PATIENCE, wait_until};

/// A device that plays each of its sources to one receiver.
struct Sender {
    address: SocketAddr,
    threads: Vec<JoinHandle<Option<PlaySummary>>>,
}

impl Sender {
    /// With a clock where `is_clocked`; else it waits for its receivers. What it sends suffers `data`.
    fn start(sources: Vec<Box<dyn ReadSamples>>, is_clocked: bool, data: &FaultSpec) -> Self {
        Self::with(sources, is_clocked, data, &DeviceOptions::new())
    }

    fn with(
        sources: Vec<Box<dyn ReadSamples>>,
        is_clocked: bool,
        data: &FaultSpec,
        options: &DeviceOptions,
    ) -> Self {
        let infos: Vec<StreamInfo> = sources.iter().map(|it| it.info().clone()).collect();
        let clock = is_clocked.then(|| SampleClock::start(&infos[0], Instant::now()));
        let local = "127.0.0.1:0".parse().expect("an address");
        let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
        let link = Faults::new(udp, data, &FaultSpec::new()).expect("good faults");
        let mut options = infos.into_iter().fold(options.clone(), DeviceOptions::sends);
        if let Some(clock) = clock {
            options = options.clock(clock);
        }
        let device = options.listen_over(Box::new(link)).expect("it listens");
        let overflow = clock.map_or(Overflow::Wait, Overflow::Keep);
        let senders = device.listeners.into_iter().zip(sources);
        let threads = senders.map(|(mut listener, mut source)| {
            std::thread::spawn(move || {
                // A stream that no receiver opens ends its thread so.
                let stream = listener.accept(Duration::from_secs(5));
                let mut stream = stream.expect("the port works")?;
                let played = stream.play(&mut *source, overflow, || false);
                Some(played.expect("it plays"))
            })
        });
        Self { address: device.address, threads: threads.collect() }
    }

    /// The result of each stream; `None` if it was not opened.
    fn finish(self) -> Vec<Option<PlaySummary>> {
        self.threads.into_iter().map(|it| it.join().expect("it does not panic")).collect()
    }
}

/// A counter on four channels, dealt to streams of these numbers of channels.
fn counters(rate_hz: f64, channels: &[u16]) -> Vec<Box<dyn ReadSamples>> {
    let mut first = 0;
    let stream = |&count: &u16| -> Box<dyn ReadSamples> {
        let all = CounterSource::new(rate_hz, 0).expect("in range").with_channels(4);
        let picked = first..first + count;
        first = picked.end;
        Box::new(PickedSource::new(Box::new(all), picked))
    };
    channels.iter().map(stream).collect()
}

/// Counts on one channel, up to `left` samples, and ends or fails.
struct Short {
    counter: CounterSource,
    left: usize,
    fails: bool,
}

impl ReadSamples for Short {
    fn info(&self) -> &StreamInfo {
        self.counter.info()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let samples = (out.len() / 4).min(self.left);
        self.left -= samples;
        match samples {
            0 if self.fails => Err("it is to fail".into()),
            0 => Ok(0),
            _ => self.counter.read(&mut out[..samples * 4]),
        }
    }

    fn start_at(&mut self, first: u64) {
        self.counter.start_at(first);
    }
}

/// What came.
#[derive(Debug, Default)]
struct Taken {
    first: Option<u64>,
    samples: u64,
    gaps: Vec<StreamGap>,
    end: u64,
}

/// Takes `indexes` of them, and checks each sample of channels that begin with `channel`.
fn take(aligned: &mut AlignedStreams, indexes: u64, channel: u16) -> Taken {
    let frames: Vec<_> = aligned.infos().map(|info| info.frame_bytes()).collect();
    let mut taken = Taken { end: aligned.info().first_index, ..Taken::default() };
    let started = Instant::now();
    while taken.first.is_none_or(|first| taken.end - first < indexes) {
        assert!(started.elapsed() < Duration::from_secs(30), "{taken:?}");
        let item = aligned.next_within(Duration::from_millis(100)).expect("no stream ends");
        let (first, end) = match item {
            None => continue,
            Some(AlignedItem::Gap(lost)) => {
                taken.gaps.push(lost);
                (lost.gap.first, lost.gap.end())
            }
            Some(AlignedItem::Samples(block)) => {
                let mut channel = channel;
                assert_eq!(block.streams().len(), frames.len());
                for (samples, frame_bytes) in block.streams().zip(&frames) {
                    assert_eq!(samples.bytes().len(), block.len() * frame_bytes);
                    for (index, frame) in
                        (block.index()..).zip(samples.bytes().chunks(*frame_bytes))
                    {
                        for (channel, sample) in (channel..).zip(frame.chunks(4)) {
                            assert_eq!(sample, counter_sample(index, channel), "{channel} {index}");
                        }
                    }
                    channel += (frame_bytes / 4) as u16;
                }
                taken.samples += block.len() as u64;
                (block.index(), block.index() + block.len() as u64)
            }
        };
        assert_eq!(first, taken.end, "each index once");
        taken.first.get_or_insert(first);
        taken.end = end;
    }
    taken
}

fn options() -> ReceiveOptions {
    ReceiveOptions::new().timeout(PATIENCE).mtu(1_500)
}

#[test]
fn streams_that_are_opened_together_begin_at_one_index_and_stay_in_line_through_faults() {
    let faults = FaultSpec::new().loss(0.01).corrupt(0.002).reorder(0.01).duplicate(0.01).seed(7);
    let sender = Sender::start(counters(1e6, &[1, 2, 1]), true, &faults);
    let mut aligned = options().streams([0, 1, 2]).open_aligned(sender.address).expect("they open");
    let starts: Vec<_> = aligned.infos().map(|info| info.first_index).collect();
    assert!(starts[0] > 0 && starts.iter().all(|&start| start == starts[0]), "{starts:?}");
    assert_eq!((aligned.info().channels, aligned.info().streams), (4, 3));
    let taken = take(&mut aligned, 1_000_000, 0);
    assert_eq!((taken.first, taken.gaps.len()), (Some(starts[0]), 0));
    let stats = aligned.close();
    assert!(stats.streams.iter().all(|(it, _)| it.stream.repaired > 0), "{stats:?}");
    let corrupted: u64 = stats.streams.iter().map(|(it, _)| it.corrupted).sum();
    assert!(corrupted + stats.port.corrupted > 0, "{stats:?}");
    sender.finish();
}

#[test]
fn gap_of_one_stream_is_reported_for_all_with_its_number_and_cause() {
    let faults = FaultSpec::new().loss(0.01).seed(8);
    let sender = Sender::start(counters(1e6, &[1, 1]), true, &faults);
    let options = options().delivery(Delivery::BestEffort);
    let mut aligned = options.streams([1, 0]).open_aligned(sender.address).expect("they open");
    // In the order in which they were named: the counter of stream 0 comes second.
    assert_eq!(aligned.infos().map(|info| info.stream).collect::<Vec<_>>(), [1, 0]);
    let mut own = vec![];
    let mut seen = 0;
    while seen < 500_000 {
        match aligned.next_within(Duration::from_millis(100)).expect("no stream ends") {
            Some(AlignedItem::Gap(lost)) => {
                assert_eq!(lost.gap.cause, Cause::NeverAsked);
                seen += lost.gap.count();
                own.push(lost.stream);
            }
            Some(AlignedItem::Samples(block)) => {
                seen += block.len() as u64;
                for (samples, channel) in block.streams().zip([1, 0]) {
                    for (index, sample) in (block.index()..).zip(samples.bytes().chunks(4)) {
                        assert_eq!(sample, counter_sample(index, channel));
                    }
                }
            }
            None => {}
        }
    }
    assert!(own.contains(&0) && own.contains(&1), "{own:?}");
    let stats = aligned.close();
    let has_lost = |lane: &LaneCounts| lane.missing > 0 && lane.discarded > 0;
    assert!(stats.streams.iter().all(|(_, lane)| has_lost(lane)), "{stats:?}");
    sender.finish();
}

#[test]
fn streams_of_one_device_can_be_opened_by_themselves() {
    let sender = Sender::start(counters(1e6, &[1, 1]), true, &FaultSpec::new());
    let second = probe_stream(sender.address, 1, PATIENCE).expect("it answers");
    assert_eq!((second.stream, second.streams), (1, 2));
    let mut second = options().stream(1).open_aligned(sender.address).expect("it is free");
    let taken = take(&mut second, 100_000, 1);
    assert_eq!(taken.gaps, []);
    second.close();
    let error = options().stream(2).open(sender.address).expect_err("there are two");
    assert!(error.to_string().contains("refused stream 2: NoSuchStream"), "{error}");
    let played = sender.finish();
    assert!(played[0].is_none() && played[1].is_some());
}

#[test]
fn start_index_is_honoured_exactly_or_refused() {
    let sender = Sender::start(counters(1e6, &[1]), true, &FaultSpec::new());
    let now = probe(sender.address, PATIENCE).expect("it answers").first_index;
    let open = |index| options().start_index(index).open_aligned(sender.address);
    for passed_or_far in [1, now + 100_000_000, u64::MAX] {
        let refused = open(passed_or_far).expect_err("it has passed, or is far ahead");
        let reason = RefuseReason::StartIndex;
        assert!(matches!(refused, OpenError::Refused { reason: it, .. } if it == reason));
    }
    let mut receiver = open(now + 300_000).expect("it lies ahead");
    assert_eq!(receiver.info().first_index, now + 300_000);
    let taken = take(&mut receiver, 50_000, 0);
    assert_eq!((taken.first, taken.gaps.len()), (Some(now + 300_000), 0));
    receiver.close();
    sender.finish();
}

#[test]
fn start_index_is_bounded_without_a_clock_too() {
    let sender = Sender::start(counters(1e6, &[1]), false, &FaultSpec::new());
    let open = |index| options().start_index(index).open_aligned(sender.address);
    for far in [60_000_001, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX] {
        let refused = open(far).expect_err("it is too far ahead");
        let reason = RefuseReason::StartIndex;
        assert!(matches!(refused, OpenError::Refused { reason: it, .. } if it == reason), "{far}");
    }
    let taken = take(&mut open(60_000_000).expect("it is a minute"), 50_000, 0);
    assert_eq!((taken.first, taken.gaps.len()), (Some(60_000_000), 0));
    sender.finish();
}

#[test]
fn start_that_is_called_off_is_not_waited_for_and_moves_no_index() {
    // The second stream keeps the device there.
    let sender = Sender::start(counters(1e6, &[1, 1]), true, &FaultSpec::new());
    let now = probe(sender.address, PATIENCE).expect("it answers").first_index;
    let options = options().stream(0);
    let opened = options.clone().start_index(now + 50_000_000).open(sender.address);
    let opened = opened.expect("it lies ahead");
    // Long enough to see an index that moves.
    std::thread::sleep(Duration::from_millis(300));
    opened.close();
    let then = probe(sender.address, PATIENCE).expect("it answers").first_index;
    assert!((now..now + 30_000_000).contains(&then), "{now} {then}");
    // Its program has released it, so no receiver may open it.
    wait_until("its program ends", PATIENCE, || sender.threads[0].is_finished());
    let refused = options.open(sender.address).expect_err("there is no sender");
    assert!(
        matches!(refused, OpenError::Refused { reason: RefuseReason::Busy, retry_ms: 1.., .. }),
        "{refused}"
    );
    let played = sender.finish();
    assert_eq!(played[0].map(|it| (it.samples, it.overflow_samples)), Some((0, 0)));
}

#[test]
fn program_that_waits_for_a_start_can_be_stopped() {
    let mut source = CounterSource::new(1e6, 0).expect("in range");
    let infos = [source.info().clone()];
    let clock = SampleClock::start(&infos[0], Instant::now());
    let udp = Udp::bind("127.0.0.1:0".parse().expect("an address"), &UdpOptions::new());
    let link = Box::new(udp.expect("a free port"));
    let device = infos
        .into_iter()
        .fold(DeviceOptions::new(), DeviceOptions::sends)
        .clock(clock)
        .listen_over(link)
        .expect("listens");
    let (address, mut listeners) = (device.address, device.listeners);
    let mut listener = listeners.pop().expect("there is one");
    let receiver = options().start_index(50_000_000).open(address).expect("it opens");
    let stream = listener.accept(PATIENCE).expect("works");
    let mut stream = stream.expect("comes");
    let stop_at = Instant::now() + Duration::from_millis(200);
    let should_stop = || Instant::now() > stop_at;
    let played = stream.play(&mut source, Overflow::Keep(clock), should_stop);
    assert_eq!(played.expect("it plays").samples, 0);
    assert!(stop_at.elapsed() < Duration::from_secs(10), "{:?}", stop_at.elapsed());
    drop(receiver);
}

#[test]
fn streams_in_line_are_waited_for_without_end_where_no_time_is_set() {
    for is_interleaved in [false, true] {
        let sender = Sender::start(counters(1e6, &[1, 1]), true, &FaultSpec::new());
        // They begin some 150 ms after they are opened.
        if is_interleaved {
            let all = options().streams([0, 1]).open_interleaved(sender.address);
            assert!(
                all.expect("they open").next_within(Duration::MAX).expect("they flow").is_some()
            );
        } else {
            let all = options().streams([0, 1]).open_aligned(sender.address);
            assert!(
                all.expect("they open").next_within(Duration::MAX).expect("they flow").is_some()
            );
        }
        sender.finish();
    }
}

#[test]
fn memory_of_interleaved_streams_is_that_of_this_ends_window() {
    let held = DeviceOptions::new().window(8_192).mtu(1_500);
    let sender = || Sender::with(counters(1e6, &[1, 1]), true, &FaultSpec::new(), &held);
    for window in [64, 1_024] {
        let options = options().window(window).streams([0, 1]);
        let (first, second) = (sender(), sender());
        let aligned = options.open_aligned(first.address).expect("they open");
        let all = options.open_interleaved(second.address).expect("they open");
        let pool_bytes = all.memory_bytes() - aligned.memory_bytes();
        assert!((1..window as usize * 1_500 * 5 / 4).contains(&pool_bytes), "{pool_bytes} bytes");
        drop((aligned, all));
        first.finish();
        second.finish();
    }
}

#[test]
fn streams_without_a_clock_begin_together_where_the_last_of_them_is() {
    let sender = Sender::start(counters(50e6, &[2, 2]), false, &FaultSpec::new());
    let mut aligned = options().streams([0, 1]).open_aligned(sender.address).expect("they open");
    let taken = take(&mut aligned, 2_000_000, 0);
    assert_eq!(taken.gaps, []);
    aligned.close();
    sender.finish();
}

#[test]
fn stream_that_stalls_holds_the_others_for_their_window_and_no_longer() {
    let local = "127.0.0.1:0".parse().expect("an address");
    let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
    let infos = [1, 2].map(|_| CounterSource::new(1e6, 0).expect("in range").info().clone());
    let mut device = infos
        .into_iter()
        .fold(DeviceOptions::new(), DeviceOptions::sends)
        .listen_over(Box::new(udp))
        .expect("listens");
    let address = device.address;
    // The second stream is open, and silent.
    let (silent, mut flowing) =
        (device.listeners.pop().expect("two"), device.listeners.pop().expect("two"));
    let sending = std::thread::spawn(move || {
        let stream = flowing.accept(PATIENCE).expect("works");
        let mut stream = stream.expect("comes");
        let mut source = CounterSource::new(1e6, 0).expect("in range");
        stream.play(&mut source, Overflow::Wait, || false).expect("it plays")
    });
    let window = 64;
    let options = options().window(window);
    let mut aligned = options.streams([0, 1]).open_aligned(address).expect("they open");
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(700) {
        let item = aligned.next_within(Duration::from_millis(50)).expect("both are alive");
        assert!(item.is_none(), "{item:?}");
    }
    let stats: Vec<_> = aligned.stats().map(|(stats, _)| stats.stream).collect();
    // What one block holds has been taken off the window.
    assert!((1..=u64::from(window) * 2).contains(&stats[0].received), "{:?}", stats[0]);
    assert_eq!(stats[1].received, 0);
    drop(silent);
    let error = loop {
        match aligned.next_within(Duration::from_millis(50)) {
            Ok(item) => assert!(item.is_none(), "{item:?}"),
            Err(error) => break error,
        }
        assert!(started.elapsed() < Duration::from_secs(20));
    };
    assert!(matches!(error, ReceiveError::Stream { stream: 1, .. }), "{error}");
    aligned.close();
    sending.join().expect("it does not panic");
}

#[test]
fn converter_loses_samples_of_the_stream_that_no_program_takes_and_of_no_other() {
    // Quanta of large packets: full of small ones, they hold 1.25 s.
    let held = DeviceOptions::new().window(512);
    let sender = Sender::with(counters(1e6, &[1, 1]), true, &FaultSpec::new(), &held);
    let open = |stream| options().window(64).stream(stream).open_aligned(sender.address);
    let mut slow = open(0).expect("it is free");
    let mut quick = open(1).expect("it is free");
    let taken = take(&mut quick, 2_500_000, 1);
    assert_eq!(taken.gaps, [], "its window is its own");
    let taken = take(&mut slow, 2_500_000, 0);
    assert!(!taken.gaps.is_empty());
    for StreamGap { stream, gap } in taken.gaps {
        assert_eq!((stream, gap.cause), (0, Cause::SourceOverflow));
    }
    drop((slow, quick));
    let played = sender.finish();
    let lost: Vec<_> = played.iter().map(|it| it.expect("both").overflow_samples).collect();
    assert!(lost[0] > 100_000 && lost[1] == 0, "{lost:?}");
}

#[test]
fn end_of_one_stream_ends_all_and_is_named() {
    for fails in [false, true] {
        let counter = || CounterSource::new(1e6, 0).expect("in range");
        let short = Short { counter: counter(), left: 300_000, fails };
        let sources: Vec<Box<dyn ReadSamples>> = vec![Box::new(counter()), Box::new(short)];
        let infos: Vec<_> = sources.iter().map(|it| it.info().clone()).collect();
        let local = "127.0.0.1:0".parse().expect("an address");
        let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
        let device = infos
            .into_iter()
            .fold(DeviceOptions::new(), DeviceOptions::sends)
            .listen_over(Box::new(udp));
        let device = device.expect("it listens");
        let threads = device.listeners.into_iter().zip(sources).map(|(mut it, mut source)| {
            std::thread::spawn(move || {
                let stream = it.accept(PATIENCE).expect("works");
                let mut stream = stream.expect("it is opened");
                stream.play(&mut *source, Overflow::Wait, || false).is_ok()
            })
        });
        let threads: Vec<_> = threads.collect();
        let mut aligned =
            options().streams([0, 1]).open_aligned(device.address).expect("they open");
        let (mut samples, mut end) = (0, aligned.info().first_index);
        let final_index = end + 300_000;
        let error = loop {
            match aligned.next_within(Duration::from_secs(1)) {
                Ok(Some(AlignedItem::Samples(block))) => {
                    samples += block.len();
                    end = block.index() + block.len() as u64;
                }
                Ok(Some(AlignedItem::Gap(lost))) => panic!("{lost:?}"),
                Ok(None) => {}
                Err(error) => break error,
            }
        };
        assert_eq!((samples, end), (300_000, final_index), "all that both have");
        assert!(error.is_closed(), "{error}");
        let ReceiveError::Stream { stream: 1, error } = error else { panic!("{error:?}") };
        match *error {
            ReceiveError::Closed(End::Finished { final_index: at }) => {
                assert!(!fails && at == final_index);
            }
            ReceiveError::Closed(End::ClosedByPeer(reason)) => assert!(fails, "{reason:?}"),
            other => panic!("{other:?}"),
        }
        let again = aligned.next_within(Duration::ZERO);
        assert!(matches!(again, Err(ReceiveError::Stream { stream: 1, .. })), "{again:?}");
        aligned.close();
        let ends = threads.into_iter().map(|it| it.join().expect("it does not panic"));
        assert_eq!(ends.collect::<Vec<_>>(), [true, !fails]);
    }
}

#[test]
fn streams_of_different_rates_are_refused_with_both() {
    let mut sources = counters(1e6, &[1]);
    sources.push(Box::new(CounterSource::new(2e6, 0).expect("in range")));
    let sender = Sender::start(sources, false, &FaultSpec::new());
    let error = options().streams([0, 1]).open_aligned(sender.address).expect_err("they differ");
    for words in ["streams 0 and 1", "sample rate", "1000000/1 Hz", "2000000/1 Hz"] {
        assert!(error.to_string().contains(words), "{error}");
    }
    sender.finish();
    let mut sources = counters(1e6, &[1]);
    sources.push(Box::new(NullSource::new(Format::Sc8, 1, 1e6).expect("in range")));
    let sender = Sender::start(sources, false, &FaultSpec::new());
    let error = options().streams([0, 1]).open_aligned(sender.address).expect_err("they differ");
    assert!(error.to_string().contains("sample format of the one is sc16, of the other sc8"));
    sender.finish();
}

#[test]
fn ends_of_bursts_are_reported_once_of_each_stream_in_line() {
    let infos = [1, 2].map(|_| CounterSource::new(1e6, 0).expect("in range").info().clone());
    let udp = Udp::bind("127.0.0.1:0".parse().expect("an address"), &UdpOptions::new());
    let link = Box::new(udp.expect("a free port"));
    let device = infos
        .into_iter()
        .fold(DeviceOptions::new(), DeviceOptions::sends)
        .listen_over(link)
        .expect("listens");
    let threads = device.listeners.into_iter().map(|mut listener| {
        std::thread::spawn(move || {
            let it = listener.accept(PATIENCE).expect("works");
            let mut it = it.expect("comes");
            for burst in 0..4 {
                let mut filling = loop {
                    let taken = it.quantum(PATIENCE);
                    if let Some(filling) = taken.expect("the session is open") {
                        break filling;
                    }
                };
                filling.bytes_mut()[..400].fill(0);
                let first = it.session().first_index + burst * 10_000;
                it.submit(filling, 400, first, Flags::START | Flags::END_OF_BURST)
                    .expect("it follows");
                // The pause ends the burst.
                std::thread::sleep(Duration::from_millis(50));
            }
            it.finish(0).expect("the port works")
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut aligned = options().streams([0, 1]).open_aligned(device.address).expect("they open");
    let first = aligned.info().first_index;
    let mut tags = [vec![], vec![]];
    loop {
        let item = match aligned.next_within(Duration::from_secs(1)) {
            Ok(item) => item,
            Err(error) if error.is_closed() => break,
            Err(error) => panic!("{error}"),
        };
        if let Some(AlignedItem::Samples(block)) = item {
            for (samples, tags) in block.streams().zip(&mut tags) {
                tags.extend(samples.tags().iter().map(|tag| (tag.kind, tag.index - first)));
            }
        }
    }
    for tags in tags {
        let of = |kind| move |it: &(TagKind, u64)| (it.0 == kind).then_some(it.1);
        let ends: Vec<_> = tags.iter().filter_map(of(TagKind::EndOfBurst)).collect();
        // Nothing is given after the last burst, so whether its end came in time is chance.
        assert_eq!(ends[..3], [100, 10_100, 20_100], "{tags:?}");
        let starts: Vec<_> = tags.iter().filter_map(of(TagKind::Start)).collect();
        assert!(starts.ends_with(&[10_000, 20_000, 30_000]), "{tags:?}");
    }
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}

#[test]
fn interleaved_streams_are_one_with_the_channels_of_all() {
    let faults = FaultSpec::new().loss(0.01).seed(9);
    let sender = Sender::start(counters(1e6, &[2, 1, 1]), true, &faults);
    let options = options().delivery(Delivery::BestEffort);
    let mut all = options.streams([2, 0]).open_interleaved(sender.address).expect("they open");
    assert_eq!((all.info().channels, all.info().frame_bytes()), (3, 12));
    // Stream 2 has channel 3, stream 0 channels 0 and 1.
    let channels = [3, 0, 1];
    let (mut next, mut missing, mut blocks) = (all.info().first_index, 0, vec![]);
    let end = next + 400_000;
    while next < end {
        match all.next_within(Duration::from_millis(100)).expect("no stream ends") {
            Some(AlignedItem::Gap(lost)) => {
                assert_eq!(lost.gap.first, next);
                missing += lost.gap.count();
                next = lost.gap.end();
            }
            Some(AlignedItem::Samples(block)) => {
                assert_eq!((block.index(), block.gaps().len()), (next, 0));
                for frame in block.bytes().chunks(12) {
                    for (sample, channel) in frame.chunks(4).zip(channels) {
                        assert_eq!(sample, counter_sample(next, channel));
                    }
                    next += 1;
                }
                // A program that holds some does not hold the others up.
                blocks.push(block);
                if blocks.len() == 4 {
                    blocks.clear();
                }
            }
            None => {}
        }
    }
    assert!(missing > 0);
    blocks.clear();
    all.close();
    sender.finish();
}
