//! Graphs between the wire, files and the wire.

mod bytes;
mod rig;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use num_complex::Complex;
use rig::Device;
use samplewire::ends::{ReceiverSource, SourceBlock, TransmitterSink};
use samplewire::format::Format;
use samplewire::source::{CounterSource, StreamInfo};
use samplewire::transmitter::Overflow;
use samplewire::{Cause, Delivery, DeviceOptions, End, ReceiveOptions, ReceiveStream};
use samplewire_circuit::blocks::NullSink;
use samplewire_circuit::{
    ByStage, Circuit, Done, Failure, Flow, Graph, GraphBuilder, InPlace, Quantum, Sequence, Sink,
    Tag, TagKind, Transform, Work,
};
use samplewire_io::FaultSpec;
use samplewire_io::faults::Direction;
use samplewire_testing::PATIENCE;

type Sc16 = Complex<i16>;

/// Takes a counter's sample for its index, which fits its 32 bits here.
struct Indexes;

impl Transform<Sc16, f64> for Indexes {
    fn work(&mut self, input: &[Sc16], output: &mut [f64]) -> Result<Done, Failure> {
        let index = |sample: &Sc16| (sample.re as u16 as u32) | (sample.im as u16 as u32) << 16;
        output.iter_mut().zip(input).for_each(|(out, sample)| *out = f64::from(index(sample)));
        let len = input.len().min(output.len());
        Ok(Done { consumed: len, produced: len })
    }
}

/// What came, by the quanta's word; each sample must be that of its index.
#[derive(Debug, Default)]
struct Ledger {
    samples: u64,
    missing: BTreeMap<&'static str, u64>,
    next: u64,
}

#[derive(Clone, Default)]
struct Checked(Arc<Mutex<Ledger>>);

impl Sink<f64> for Checked {
    fn consume(&mut self, quantum: &Quantum<f64>) -> Work {
        let mut ledger = self.0.lock().unwrap();
        for tag in quantum.tags().iter() {
            let (cause, samples) = match tag.kind {
                TagKind::Overflow { lost_samples } => ("source overflow", lost_samples),
                TagKind::Gap { lost_samples, cause } => (cause, lost_samples),
                _ => continue,
            };
            assert_eq!(tag.index, quantum.index(), "a gap comes before a quantum");
            *ledger.missing.entry(cause).or_default() += samples;
            ledger.next += samples;
        }
        assert_eq!(quantum.index(), ledger.next, "no index is skipped without a tag");
        for (index, &sample) in (quantum.index()..).zip(quantum.samples()) {
            assert_eq!(sample, index as f64);
        }
        ledger.samples += quantum.len() as u64;
        ledger.next = quantum.end_index();
        Ok(Flow::Pass)
    }
}

fn losses(share: f64) -> FaultSpec {
    FaultSpec::new().loss(share).seed(7)
}

/// A device that plays a counter over a link with `faults`.
fn device(samples: u64, faults: &FaultSpec, overflow: Overflow) -> Device {
    let options = DeviceOptions::new().window(256);
    Device::start(
        "127.0.0.1:0",
        Bytes::counter(samples, 1, 20e6),
        &options,
        (faults, &FaultSpec::new()),
        overflow,
    )
}

fn in_two_threads(graph: Graph) -> samplewire_circuit::Report {
    let stages = ByStage::even(&graph, 2);
    graph.run(stages).unwrap()
}

#[test]
fn every_index_is_delivered_or_in_a_gap_tag_under_loss() {
    let samples = 4_000_000;
    // A repeat that is lost or waits long comes too late.
    let faults = losses(0.2).delay(Duration::from_micros(400)).jitter(Duration::from_millis(1));
    let device = device(samples, &faults, Overflow::Lose { rate_hz: 20e6 });
    let deadline = Delivery::Deadline(Duration::from_millis(1));
    let receiver = device.receive(&ReceiveOptions::new().delivery(deadline).mtu(1_500));
    let source = ReceiverSource::<Sc16>::new(receiver).unwrap();
    let (account, ledger) = (source.account(), Checked::default());
    let mut graph = GraphBuilder::new();
    let wire = Circuit::default().quanta(8);
    let wide = Circuit::new(4, 5_000).named("indexes");
    let stream = graph.borrowed_source("receiver", source, wire);
    let stream = graph.transform("indexes", Indexes, stream, wide);
    graph.sink("ledger", ledger.clone(), stream);
    let report = in_two_threads(graph.build().unwrap());

    let (account, ledger) = (account.read(), ledger.0.lock().unwrap());
    let end = device.finish();
    assert_eq!(end.end.end, End::Finished { final_index: samples });
    assert_eq!(account.end, Some(End::Finished { final_index: samples }));
    println!("{account:?} {ledger:?}");
    assert!(
        account.of(Cause::Deadline).0 > 0,
        "a deadline of 1 ms is missed by repeats that take 1.4"
    );
    assert_eq!((account.first_index, account.next_index), (0, samples));
    assert_eq!(ledger.samples + account.missing_samples(), samples);
    assert_eq!(ledger.next + account.missing_at_end, samples);
    let tagged: u64 = ledger.missing.values().sum();
    assert_eq!(tagged + account.missing_at_end, account.missing_samples());
    assert_eq!(report.block("receiver").unwrap().counters.samples, ledger.samples);
    // A machine that is too slow for the source loses the rest there, and the account names it.
    assert!(ledger.samples > 0);
}

#[test]
fn best_effort_stream_reports_each_loss_by_its_cause() {
    let samples = 2_000_000;
    let device = device(samples, &losses(0.05), Overflow::Wait);
    let options = ReceiveOptions::new().timeout(PATIENCE).delivery(Delivery::BestEffort).mtu(1_500);
    let source = ReceiverSource::<Sc16>::new(device.receive(&options)).unwrap();
    let (account, ledger) = (source.account(), Checked::default());
    source.into_chain().quanta(8).transform(Indexes).sink(ledger.clone()).run().unwrap();
    let (account, ledger) = (account.read(), ledger.0.lock().unwrap());
    assert!(device.log.counts(Direction::Transmit).lost > 100);
    device.finish();
    assert_eq!(ledger.samples + account.missing_samples(), samples);
    let (gaps, missing) = account.of(Cause::NeverAsked);
    assert!(gaps > 50 && missing > samples / 50, "{account:?}");
    assert!(ledger.missing["never asked"] + account.missing_at_end >= missing);
}

#[test]
fn stream_of_other_channels_is_refused_with_both_numbers() {
    let error = SourceBlock::<Sc16>::new(Bytes::counter(10, 3, 1e6)).err().unwrap().to_string();
    assert!(error.contains("are 3, not 1: use [T; 3]"), "{error}");
}

/// Loses 1,000 samples after each 50,000, and says so.
#[derive(Default)]
struct Holes {
    lost: u64,
}

impl InPlace<Sc16> for Holes {
    fn work(&mut self, quantum: &mut Quantum<Sc16>) -> Work {
        let index = quantum.index();
        if index.is_multiple_of(50_000) && index > 0 {
            self.lost += 1_000;
            let kind = TagKind::Overflow { lost_samples: 1_000 };
            quantum.push_tag(Tag { index: index + self.lost, kind })?;
        }
        quantum.set_index(index + self.lost);
        Ok(Flow::Pass)
    }
}

/// Sends a graph's samples to a receiver, which opens this end: what it got, gap by gap.
fn sent(
    quantum_samples: usize,
    block: impl InPlace<Sc16> + 'static,
    take: impl FnOnce(ReceiveStream) -> u64 + Send + 'static,
) -> (u64, End) {
    let info = StreamInfo::new(Format::Sc16, 1, 20e6).unwrap();
    let options = DeviceOptions::new().window(64);
    let mut listener = options.sends(info).listen("127.0.0.1:0").unwrap().listeners.remove(0);
    let address = listener.local_addr();
    let taking = std::thread::spawn(move || {
        take(ReceiveOptions::new().timeout(PATIENCE).open(address).unwrap())
    });
    let stream = listener.accept(PATIENCE).unwrap().unwrap();
    let sink = TransmitterSink::<Sc16>::new(stream).unwrap();
    let end = sink.end();
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(4, quantum_samples).named("samples");
    let source = SourceBlock::<Sc16>::new(Bytes::counter(1_000_000, 1, 20e6)).unwrap();
    let stream = graph.source("counter", source, circuit);
    let stream = graph.in_place("block", block, stream);
    graph.sink("transmitter", sink, stream);
    graph.build().unwrap().run(Sequence::new()).unwrap();
    (taking.join().unwrap(), end.get().unwrap().end)
}

#[test]
fn sent_samples_arrive_at_their_indexes_and_losses_as_gaps() {
    let (taken, end) = sent(10_000, Holes::default(), |mut receiver| {
        let (mut next, mut value, mut lost) = (0, 0_u32, 0);
        for block in receiver.by_ref().map(Result::unwrap) {
            for gap in block.gaps() {
                assert_eq!((gap.first, gap.cause), (next, Cause::SourceOverflow));
                assert_eq!((gap.source_lost, gap.not_repaired), (1_000, 0));
                (next, lost) = (gap.end(), lost + 1_000);
            }
            assert_eq!(block.index(), next);
            for four in block.bytes().chunks_exact(4) {
                assert_eq!(u32::from_le_bytes(four.try_into().unwrap()), value);
                value += 1;
            }
            next += block.len() as u64;
        }
        assert_eq!(lost, 19_000);
        u64::from(value)
    });
    assert_eq!((taken, end), (1_000_000, End::Finished { final_index: 1_019_000 }));
}

/// Ends a burst behind the samples with these indexes.
struct Bursts(u64);

impl InPlace<Sc16> for Bursts {
    fn work(&mut self, quantum: &mut Quantum<Sc16>) -> Work {
        let first = (quantum.index() + 1).next_multiple_of(self.0);
        for index in (first..=quantum.end_index()).step_by(self.0 as usize) {
            quantum.push_tag(Tag { index, kind: TagKind::EndOfBurst })?;
        }
        Ok(Flow::Pass)
    }
}

#[test]
fn bursts_end_where_their_tags_are_and_at_the_end_of_the_graph() {
    for quantum_samples in [999, 10_000] {
        let (taken, _) = sent(quantum_samples, Bursts(9_990), |mut receiver| {
            let mut ends = vec![];
            let mut samples = 0;
            for block in receiver.by_ref().map(Result::unwrap) {
                assert_eq!((block.gaps(), block.index()), ([].as_slice(), samples));
                samples += block.len() as u64;
                let is_end = |tag: &&Tag| tag.kind == TagKind::EndOfBurst;
                ends.extend(block.tags().iter().filter(is_end).map(|tag| tag.index));
            }
            let whole = (1..=100).map(|burst| burst * 9_990);
            assert!(ends.iter().copied().eq(whole.chain([1_000_000])), "{ends:?}");
            samples
        });
        assert_eq!(taken, 1_000_000);
    }
}

#[test]
fn receiver_that_leaves_ends_the_graph_that_sends() {
    let (_, end) = sent(10_000, Bursts(u64::MAX / 4), |mut receiver| {
        let block = receiver.next_within(PATIENCE).unwrap().unwrap();
        let samples = block.len() as u64;
        drop(block);
        drop(receiver);
        samples
    });
    assert!(matches!(end, End::ClosedByPeer(_)), "{end:?}");
}

#[test]
fn source_sleeps_while_nothing_comes() {
    let faults = FaultSpec::new();
    let source = CounterSource::new(100.0, 0).unwrap();
    let options = DeviceOptions::new();
    let lose = Overflow::Lose { rate_hz: 100.0 };
    let device = Device::start("127.0.0.1:0", Box::new(source), &options, (&faults, &faults), lose);
    let source = ReceiverSource::<Sc16>::new(device.receive(&ReceiveOptions::new())).unwrap();
    let graph = source.into_chain().sink(NullSink).build().unwrap();
    let control = graph.control();
    let started = Instant::now();
    let run = std::thread::spawn(move || graph.run(Sequence::new()).unwrap());
    // What is measured: how often it is called in a time without samples.
    std::thread::sleep(Duration::from_millis(500));
    control.stop();
    let report = run.join().unwrap();
    let calls = report.block("receiver").unwrap().counters.calls;
    // On a loaded machine the silence lasts longer.
    let silence = started.elapsed();
    let calls_max = (silence.as_secs_f64() * 80.0) as u64;
    assert!((1..calls_max).contains(&calls), "{calls} calls in {silence:?} of silence");
    device.finish();
}

#[test]
fn stream_of_another_format_is_refused_with_both_names() {
    let device = device(1_000, &losses(0.0), Overflow::Wait);
    let receiver = device.receive(&ReceiveOptions::new());
    let error = ReceiverSource::<Complex<f32>>::new(receiver).unwrap_err().to_string();
    assert!(error.starts_with("the stream is sc16, and complex f32 is fc32"), "{error}");
    // Its session ends before it has begun, and no caller waits for another.
    drop(device);
}
