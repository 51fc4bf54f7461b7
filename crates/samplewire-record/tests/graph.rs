//! Records streams through circuits.

#[path = "../../samplewire/tests/bytes/mod.rs"]
mod bytes;
#[path = "../../samplewire/tests/rig/mod.rs"]
mod rig;

use bytes::Bytes;
use num_complex::Complex;
use rig::Device;
use samplewire::ends::ReceiverSource;
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::transmitter::Overflow;
use samplewire::{DeviceOptions, ReceiveOptions};
use samplewire_circuit::{ByStage, Circuit, Flow, Graph, GraphBuilder, Quantum, Sink, Work};
use samplewire_io::FaultSpec;
use samplewire_io::faults::Direction;
use samplewire_record::graph::SinkBlock;
use samplewire_record::sink::{self, SinkOptions};
use samplewire_record::verify;

type Sc16 = Complex<i16>;

fn losses(share: f64) -> FaultSpec {
    FaultSpec::new().loss(share).seed(7)
}

fn in_two_threads(graph: Graph) -> samplewire_circuit::Report {
    let stages = ByStage::even(&graph, 2);
    graph.run(stages).unwrap()
}

#[test]
fn repaired_stream_is_recorded_whole_without_a_copy_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sigmf-meta");
    let device = Device::start(
        "127.0.0.1:0",
        Bytes::counter(3_000_000, 1, 20e6),
        &DeviceOptions::new().window(256),
        (&losses(0.02), &FaultSpec::new()),
        Overflow::Wait,
    );
    let receiver = device.receive(&ReceiveOptions::new());
    let info = receiver.info().stream_info();
    let chain = receiver.into_chain::<Sc16>().unwrap();
    let file = sink::open(&path, &info, &SinkOptions::new()).unwrap();
    let file = SinkBlock::<Sc16>::new(file, &info).unwrap();
    let summary = file.summary();
    in_two_threads(chain.sink(file).build().unwrap());
    assert!(device.log.counts(Direction::Transmit).lost > 20);
    device.finish();
    let summary = summary.get().unwrap();
    assert_eq!((summary.samples, summary.gaps), (3_000_000, 0));
    let data = std::fs::read(path.with_extension("sigmf-data")).unwrap();
    let indexes = data.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    assert!(indexes.eq(0..3_000_000));
    assert!(verify(&path).is_ok());
}

/// Compares the channels of [`counter_of`] at each index.
struct InStep;

impl Sink<[Sc16; 3]> for InStep {
    fn consume(&mut self, quantum: &Quantum<[Sc16; 3]>) -> Work {
        for (index, channels) in (quantum.index()..).zip(quantum.samples()) {
            let count = |channel| Complex::new((3 * index + channel) as i16, 0);
            let low = channels.map(|sample| Complex::new(sample.re, 0));
            assert_eq!(low, [0, 1, 2].map(count), "at {index}");
        }
        Ok(Flow::Pass)
    }
}

#[test]
fn channels_of_one_index_stay_together_from_the_wire_into_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sigmf-meta");
    let options = DeviceOptions::new().window(256);
    let faults = (&losses(0.02), &losses(0.01));
    let source = Bytes::counter(500_000, 3, 20e6);
    let device = Device::start("127.0.0.1:0", source, &options, faults, Overflow::Wait);
    let receiver = device.receive(&ReceiveOptions::new());
    let info = receiver.info().stream_info();
    let source = ReceiverSource::<[Sc16; 3]>::new(receiver).unwrap();
    let file = sink::open(&path, &info, &SinkOptions::new()).unwrap();
    let file = SinkBlock::<[Sc16; 3]>::new(file, &info).unwrap();
    let summary = file.summary();
    let mut graph = GraphBuilder::new();
    let wire = Circuit::default().quanta(8);
    let stream = graph.borrowed_source("receiver", source, wire);
    graph.sink("in step", InStep, stream.clone());
    graph.sink("file", file, stream);
    in_two_threads(graph.build().unwrap());
    device.finish();
    let summary = summary.get().unwrap();
    assert_eq!((summary.samples, summary.gaps), (500_000, 0));
    let data = std::fs::read(path.with_extension("sigmf-data")).unwrap();
    let counts = data.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
    assert!(counts.eq(0..1_500_000));
    assert!(verify(&path).is_ok());
}

#[test]
fn recording_of_other_channels_is_refused() {
    let info = StreamInfo::new(Format::Sc16, 3, 1e6).unwrap();
    let sink = Box::new(sink::NullSink::new(&info));
    assert!(SinkBlock::<[Sc16; 2]>::new(sink, &info).is_err());
}
