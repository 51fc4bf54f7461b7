//! Each block in a graph, against its kernel on the whole stream.

use std::sync::{Arc, Mutex};

use num_complex::{Complex, Complex32};
use samplewire_blocks::kernels::{self, Fir, Oscillator, Spectrum, SyncWord, Window};
use samplewire_blocks::{
    AddCyclicPrefix, AppendCrc, CheckCrc, Constant, Convert, Filter, Gain, InsertSync, Noise,
    PowerSpectrum, Probe, Ramp, RemoveCyclicPrefix, Rotator, Saxpy, Tone,
};
use samplewire_circuit::blocks::Head;
use samplewire_circuit::{
    ByStage, Circuit, Flow, GraphBuilder, InPlace, PoolConfig, Quantum, RunError, Sample, Sequence,
    Sink, Source, Stream, Transform, Work,
};

const SAMPLES: usize = 10_000;

/// The samples that came, with their indexes, quantum by quantum.
#[derive(Clone, Default)]
struct Seen<S> {
    quanta: Arc<Mutex<Vec<Indexed<S>>>>,
}

/// The index of the first sample, and the samples.
type Indexed<S> = (u64, Vec<S>);

impl<S: Sample> Seen<S> {
    fn samples(&self) -> Vec<S> {
        self.quanta.lock().unwrap().iter().flat_map(|(_, samples)| samples.clone()).collect()
    }

    fn indexes(&self) -> Vec<u64> {
        let quanta = self.quanta.lock().unwrap();
        quanta.iter().flat_map(|(index, samples)| *index..index + samples.len() as u64).collect()
    }
}

impl<S: Sample> Sink<S> for Seen<S> {
    fn consume(&mut self, quantum: &Quantum<S>) -> Work {
        self.quanta.lock().unwrap().push((quantum.index(), quantum.samples().to_vec()));
        Ok(Flow::Pass)
    }
}

/// Leaves out the samples from 3,000 to 3,999: indexes beyond jump by 1,000.
struct Gap<B>(B);

impl<S: Sample, B: Source<S>> Source<S> for Gap<B> {
    fn fill(&mut self, quantum: &mut Quantum<S>) -> Work {
        if (3_000..4_000).contains(&quantum.index()) {
            quantum.set_index(4_000);
        }
        let (index, flow) = (quantum.index(), self.0.fill(quantum)?);
        if index < 3_000 {
            quantum.set_len(quantum.len().min((3_000 - index) as usize));
        }
        Ok(flow)
    }
}

/// The indexes of [`Gap`].
fn indexes() -> Vec<u64> {
    (0..3_000).chain(4_000..).take(SAMPLES).collect()
}

/// What `build` makes of the samples of `source`, as the sink sees it.
fn run<A: Sample, B: Sample>(
    source: impl Source<A> + 'static,
    build: impl FnOnce(&mut GraphBuilder, Stream<A>) -> Stream<B>,
) -> Result<Seen<B>, RunError> {
    let seen = Seen { quanta: Arc::default() };
    let mut graph = GraphBuilder::new();
    let config = PoolConfig::new(4, 500 * size_of::<A>()).head_bytes(512);
    let circuit = graph.circuit_of("input", config);
    let stream = graph.source("source", source, circuit);
    let stream = graph.in_place("head", Head::new(SAMPLES as u64), stream);
    let stream = build(&mut graph, stream);
    graph.sink("seen", seen.clone(), stream);
    let graph = graph.build().unwrap();
    let stage = ByStage::even(&graph, 2);
    graph.run(stage).map(|_| seen)
}

/// The samples that a source gives.
fn given<S: Sample>(source: impl Source<S> + 'static) -> Vec<S> {
    run(source, |_, stream| stream).unwrap().samples()
}

/// What a block makes of a source's samples in place.
fn worked<S: Sample>(
    source: impl Source<S> + 'static,
    block: impl InPlace<S> + 'static,
) -> Seen<S> {
    run(source, |graph, stream| graph.in_place("block", block, stream)).unwrap()
}

/// What a transform makes of a source's samples, into quanta of `len`.
fn crossed<A: Sample, B: Sample>(
    source: impl Source<A> + 'static,
    block: impl Transform<A, B> + 'static,
    len: usize,
) -> Seen<B> {
    run(source, |graph, stream| {
        let circuit: Circuit<B> = graph.circuit("output", 3, len);
        graph.transform("block", block, stream, circuit)
    })
    .unwrap()
}

fn noise<S: Sample + kernels::Floats>(indexes: &[u64]) -> Vec<S> {
    let noise = kernels::Noise::new(1, 0.1);
    let mut samples = vec![S::zeroed(); indexes.len()];
    for (sample, index) in samples.iter_mut().zip(indexes) {
        noise.fill(*index, std::slice::from_mut(sample));
    }
    samples
}

#[test]
fn sources_give_the_samples_of_their_indexes() {
    let all: Vec<u64> = (0..SAMPLES as u64).collect();
    assert_eq!(given::<Complex32>(Noise::new(1, 0.1)), noise(&all));
    assert_eq!(given::<f32>(Gap(Noise::new(1, 0.1))), noise(&indexes()));
    let mut tone = vec![Complex32::ZERO; SAMPLES];
    Oscillator::new(0.1).unwrap().tone(0, 0.5, &mut tone);
    assert_eq!(given::<Complex32>(Tone::new(0.1, 0.5).unwrap()), tone);
    let cosine: Vec<f32> = tone.iter().map(|sample| sample.re).collect();
    assert_eq!(given::<f32>(Tone::new(0.1, 0.5).unwrap()), cosine);
    let mut ramp = vec![0.0; SAMPLES];
    kernels::Ramp::new(77).unwrap().fill(0, &mut ramp);
    assert_eq!(given(Ramp::new(77).unwrap()), ramp);
    assert_eq!(given(Constant::new(7_i16)), [7; SAMPLES]);
}

#[test]
fn gain_and_saxpy_change_every_sample() {
    let input: Vec<f32> = noise(&indexes());
    let got = worked::<f32>(Gap(Noise::new(1, 0.1)), Gain::new(3.0)).samples();
    assert!(got.iter().eq(input.iter().map(|x| 3.0 * x).collect::<Vec<_>>().iter()));
    let got = worked(Gap(Noise::new(1, 0.1)), Saxpy::new(3.0, 1.0)).samples();
    assert!(got.iter().eq(input.iter().map(|x| 3.0 * x + 1.0).collect::<Vec<_>>().iter()));
}

#[test]
fn rotation_follows_the_index_over_a_gap() {
    let mut want: Vec<Complex32> = noise(&indexes());
    let oscillator = Oscillator::new(0.123).unwrap();
    oscillator.rotate(0, &mut want[..3_000]);
    oscillator.rotate(4_000, &mut want[3_000..]);
    let got = worked(Gap(Noise::new(1, 0.1)), Rotator::new(0.123).unwrap());
    assert_eq!(got.samples(), want);
    assert_eq!(got.indexes(), indexes());
}

#[test]
fn conversion_crosses_into_quanta_of_another_length() {
    let input: Vec<Complex32> = noise(&indexes());
    let mut want = vec![Complex::new(0_i16, 0); SAMPLES];
    kernels::convert(&input, &mut want);
    let got = crossed::<Complex32, Complex<i16>>(Gap(Noise::new(1, 0.1)), Convert, 333);
    assert_eq!(got.samples(), want);
    assert_eq!(got.indexes(), indexes());
}

#[test]
fn filter_gives_what_its_kernel_gives_and_forgets_at_a_gap() {
    let taps: Vec<f32> = noise(&(0..50).collect::<Vec<_>>());
    let input: Vec<Complex32> = noise(&indexes());
    for decimation in [1, 7, 8] {
        let (mut samples, mut at) = (Vec::new(), Vec::new());
        for (first, piece) in [(0, &input[..3_000]), (4_000, &input[3_000..])] {
            let mut fir = Fir::new(&taps, decimation).unwrap();
            let from: usize = usize::next_multiple_of(first, decimation);
            fir.restart(from - first);
            let mut room = vec![Complex32::ZERO; fir.outputs_of(piece.len())];
            assert_eq!(fir.process(piece, &mut room), (piece.len(), room.len()));
            at.extend((from / decimation..).take(room.len()).map(|index| index as u64));
            samples.extend(room);
        }
        let filter = || Filter::<Complex32>::new(&taps, decimation).unwrap();
        let got = crossed(Gap(Noise::new(1, 0.1)), filter(), 90);
        assert_eq!(got.samples(), samples, "{decimation}");
        assert_eq!(got.indexes(), at, "{decimation}");
        if decimation == 1 {
            let got = worked(Gap(Noise::new(1, 0.1)), filter());
            assert_eq!(got.samples(), samples);
        }
    }
}

#[test]
fn decimator_in_place_is_refused_by_name() {
    let filter = Filter::<f32>::new(&[1.0], 8).unwrap();
    let error = run(Noise::new(1, 0.1), |graph, stream| graph.in_place("low", filter, stream));
    assert_eq!(
        error.err().unwrap().to_string(),
        "'low': decimates by 8, which is not done in place: add it as a transform"
    );
}

#[test]
fn spectra_begin_with_their_quanta_also_behind_a_gap() {
    let input: Vec<Complex32> = noise(&indexes());
    let mut want = Vec::new();
    for piece in [&input[..3_000], &input[3_000..]] {
        let mut spectrum = Spectrum::new(64, Window::Hann, 4).unwrap();
        let mut rest = piece;
        while let Some(powers) = spectrum.next(&mut rest) {
            want.push(powers.to_vec());
        }
    }
    for (spectra, len) in [(1, 64), (1, 100), (2, 128)] {
        let spectrum = PowerSpectrum::new(64, Window::Hann, 4).unwrap();
        let got = crossed(Gap(Noise::new(1, 0.1)), spectrum, len);
        assert_eq!(got.samples(), want.concat(), "{len}");
        for (_, quantum) in &*got.quanta.lock().unwrap() {
            assert!(quantum.len().is_multiple_of(64) && quantum.len() <= 64 * spectra);
        }
    }
}

#[test]
fn probe_reads_the_power_of_what_passes() {
    let (probe, reading) = Probe::new();
    assert_eq!(reading.mean_power(), 0.0);
    let seen = worked(Constant::new(Complex32::new(0.0, 0.5)), probe).samples();
    assert_eq!(seen, [Complex32::new(0.0, 0.5); SAMPLES]);
    assert_eq!((reading.mean_power(), reading.take_peak_power()), (0.25, 0.25));
    assert_eq!(reading.take_peak_power(), 0.0);
}

/// Damages every third frame.
#[derive(Default)]
struct Damage {
    frames: u32,
}

impl InPlace<u8> for Damage {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        quantum.samples_mut()[17] ^= u8::from(self.frames % 3 == 2);
        self.frames += 1;
        Ok(Flow::Pass)
    }
}

#[test]
fn frames_with_a_damaged_byte_are_discarded() {
    let seen = run(Constant::new(7_u8), |graph, stream| {
        let stream = graph.in_place("append", AppendCrc, stream);
        let stream = graph.in_place("damage", Damage::default(), stream);
        graph.in_place("check", CheckCrc, stream)
    })
    .unwrap();
    let quanta = seen.quanta.lock().unwrap();
    // 10,000 bytes in frames of 512: 20, of which 6 are damaged.
    assert_eq!(quanta.len(), 14);
    assert!(quanta.iter().all(|(_, bytes)| bytes.iter().all(|byte| *byte == 7)));
    assert_eq!(quanta[2].0, 3 * quanta[0].1.len() as u64);
}

#[test]
fn prefixes_and_sync_words_stand_before_what_they_belong_to() {
    let word = SyncWord::new(&[0x1A, 0xCF]).unwrap();
    let seen = worked(Constant::new(7_u8), InsertSync::new(word));
    for (_, frame) in &*seen.quanta.lock().unwrap() {
        assert_eq!(frame[..3], [0x1A, 0xCF, 7]);
    }
    let seen = worked(Ramp::new(1_000).unwrap(), AddCyclicPrefix::new(32));
    for (_, symbol) in &*seen.quanta.lock().unwrap() {
        assert_eq!(symbol[..32], symbol[symbol.len() - 32..]);
    }
    let seen = run(Ramp::new(1_000).unwrap(), |graph, stream| {
        let stream = graph.in_place("add", AddCyclicPrefix::new(32), stream);
        graph.in_place("remove", RemoveCyclicPrefix::new(32), stream)
    });
    assert_eq!(seen.unwrap().samples(), given(Ramp::new(1_000).unwrap()));
}

#[test]
fn margin_too_short_for_a_prefix_is_named() {
    let prefix = AddCyclicPrefix::new(200);
    let error = run(Ramp::new(9).unwrap(), |graph, stream| graph.in_place("cp", prefix, stream));
    assert_eq!(
        error.err().unwrap().to_string(),
        "'cp': the head margin has no room for a prefix of 200 samples"
    );
}

#[test]
fn replicas_of_a_block_do_what_it_does() {
    let mut graph = GraphBuilder::new();
    let circuit = graph.circuit("samples", 4, 500);
    let stream = graph.source("tone", Tone::new(0.25, 1.0).unwrap(), circuit);
    let stream = graph.in_place("head", Head::new(500), stream);
    let rotator: Rotator = Rotator::new(-0.25).unwrap().replicate().unwrap();
    let gain = InPlace::<Complex32>::replicate(&Gain::new(2.0)).unwrap();
    let stream = graph.in_place("rotator", rotator, stream);
    let stream = graph.in_place("gain", gain, stream);
    let seen = Seen::default();
    graph.sink("seen", seen.clone(), stream);
    graph.build().unwrap().run(Sequence::new()).unwrap();
    assert!(seen.samples().iter().all(|sample| (sample - Complex32::new(2.0, 0.0)).norm() < 2e-6));
}
