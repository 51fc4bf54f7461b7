//! Each block in a graph, against its kernel on the whole stream.

use std::sync::{Arc, Mutex};

use num_complex::{Complex, Complex32};
use samplewire_blocks::kernels::{
    self, Fir, InterpolatingFir, Oscillator, Spectrum, SyncWord, Window,
};
use samplewire_blocks::{
    Add, AddCyclicPrefix, AppendCrc, CheckCrc, Constant, Convert, Filter, FindSync, Fused, Gain,
    InsertSync, Interpolator, Multiply, Noise, PowerSpectrum, Probe, PutChannel, Ramp,
    RemoveCyclicPrefix, Rotator, Saxpy, TakeChannel, Throttle, Tone,
};
use samplewire_circuit::blocks::Head;
use samplewire_circuit::{
    ByQuantum, ByStage, Circuit, Done, Failure, Flow, GraphBuilder, InPlace, Join, Quantum,
    RunError, Sample, Sequence, Sink, Source, Stream, Tag, TagKind, Transform, Work,
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
    let circuit = Circuit::new(4, 500).head_bytes(512);
    let stream = graph.source("source", source, circuit);
    let stream = graph.in_place("head", Head::new(SAMPLES as u64), stream);
    let stream = build(&mut graph, stream);
    graph.sink("seen", seen.clone(), stream);
    let graph = graph.build()?;
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
        let circuit: Circuit<B> = Circuit::new(3, len).named("output");
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
fn fused_blocks_make_every_bit_that_they_make_in_a_row() {
    fn bits(seen: &Seen<f32>) -> Vec<u32> {
        seen.samples().into_iter().map(f32::to_bits).collect()
    }
    let (gain, saxpy, less) = (Gain::new(0.3), Saxpy::new(-1.7, 0.013), Saxpy::new(0.9, -0.05));
    let in_a_row = run(Gap(Noise::new(1, 0.1)), |graph, stream| {
        let stream = graph.in_place("gain", gain, stream);
        let stream = graph.in_place("saxpy", saxpy, stream);
        let stream = graph.in_place("again", saxpy, stream);
        let stream = graph.in_place("absolute", Fused::new(f32::abs), stream);
        let stream = graph.in_place("less", less, stream);
        graph.in_place("gain again", gain, stream)
    })
    .unwrap();
    let fused = Fused::new(gain).then(Fused::new(saxpy).then(saxpy)).then(f32::abs);
    let fused = fused.then(less).then(gain);
    let at_once = worked(Gap(Noise::new(1, 0.1)), fused);
    assert_eq!(bits(&at_once), bits(&in_a_row));
    assert_eq!(at_once.indexes(), indexes());

    let complex = || Gap(Noise::new(1, 0.1));
    let in_a_row = run::<Complex32, _>(complex(), |graph, stream| {
        let stream = graph.in_place("gain", gain, stream);
        graph.in_place("conjugate", Fused::new(|x: Complex32| x.conj()), stream)
    });
    let at_once = worked(complex(), Fused::new(gain).then(|x: Complex32| x.conj()));
    assert_eq!(at_once.samples(), in_a_row.unwrap().samples());
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
fn channels_come_out_of_a_stream_as_they_went_in() {
    let given = |seed| Noise::new(seed, 0.1);
    for (channel, seed) in [(0, 1), (2, 2)] {
        // Three, whose length is no power of two.
        let got = run(Gap(given(1)), |graph, stream| {
            let [ones, back] = ["ones", "back"].map(|name| Circuit::new(3, 300).named(name));
            let threes: Circuit<[f32; 3]> = Circuit::new(3, 333).named("threes");
            let last = graph.source("last", given(2), ones);
            let stream = graph.transform("three", PutChannel(0), stream, threes);
            let stream = graph.join("last of three", PutChannel(2), stream, last);
            graph.transform("one", TakeChannel(channel), stream, back)
        });
        let got = got.unwrap();
        assert_eq!(got.indexes(), indexes());
        let noise = kernels::Noise::new(seed, 0.1);
        for (index, sample) in indexes().into_iter().zip(got.samples()) {
            let mut want = [0.0_f32];
            noise.fill(index, &mut want);
            assert_eq!([sample], want, "channel {channel} at {index}");
        }
    }
}

#[test]
fn samples_of_three_channels_are_counted_whole() {
    let got = worked(Gap(Constant::new([1_i16, 2, 3])), Head::new(u64::MAX));
    assert_eq!(got.samples(), [[1, 2, 3]; SAMPLES]);
    assert_eq!(got.indexes(), indexes());
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(4, 100).named("threes");
    let stream = graph.source("source", Constant::new([1.0_f32; 3]), circuit);
    let stream = graph.in_place("as it is", AsItIs, stream);
    graph.sink("sink", Until(SAMPLES as u64), stream);
    let report = graph.build().unwrap().run(ByQuantum::new(2)).unwrap();
    let sink = report.block("sink").unwrap().counters;
    assert_eq!(sink.samples, 100 * sink.calls);
    assert!(sink.samples >= SAMPLES as u64);
}

/// Passes all on.
struct AsItIs;

impl<S: Sample> InPlace<S> for AsItIs {
    fn work(&mut self, _: &mut Quantum<S>) -> Work {
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(Self)
    }
}

/// Ends the stream at an index.
struct Until(u64);

impl<S: Sample> Sink<S> for Until {
    fn consume(&mut self, quantum: &Quantum<S>) -> Work {
        Ok(if quantum.end_index() >= self.0 { Flow::End } else { Flow::Pass })
    }
}

/// An echo of three channels.
struct Echo;

impl Join<[i16; 3], [i16; 3]> for Echo {
    fn work(&mut self, first: &mut [[i16; 3]], second: &[[i16; 3]]) -> Result<(), Failure> {
        for (first, second) in first.iter_mut().zip(second) {
            *first = [0, 1, 2].map(|channel| first[channel] + second[channel]);
        }
        Ok(())
    }
}

#[test]
fn samples_of_three_channels_come_round_a_loop() {
    let got = run(Constant::new([1_i16, 2, 3]), |graph, stream| {
        let (feedback, delayed) = {
            let circuit = Circuit::new(4, 300).named("loop");
            graph.feedback("feedback", circuit, 2)
        };
        let output = graph.join("echo", Echo, stream, delayed);
        let output = graph.broadcast("both", output);
        graph.close(feedback, output.clone());
        let circuit: Circuit<[i16; 3]> = Circuit::new(3, 90).named("output");
        graph.transform("copy", Copied, output, circuit)
    });
    let want: Vec<_> =
        (0..SAMPLES as i16).map(|at| [1, 2, 3].map(|one| one * (1 + at / 600))).collect();
    assert_eq!(got.unwrap().samples(), want);
}

/// As it came.
struct Copied;

impl Transform<[i16; 3], [i16; 3]> for Copied {
    fn work(&mut self, input: &[[i16; 3]], output: &mut [[i16; 3]]) -> Result<Done, Failure> {
        let len = input.len().min(output.len());
        output[..len].copy_from_slice(&input[..len]);
        Ok(Done { consumed: len, produced: len })
    }
}

#[test]
fn channel_that_is_not_there_is_named() {
    let error = run(Constant::new([1.0_f32; 3]), |graph, stream| {
        let circuit: Circuit<f32> = Circuit::new(3, 300).named("one");
        graph.transform("fourth", TakeChannel(3), stream, circuit)
    });
    let error = error.err().unwrap().to_string();
    assert!(
        error.contains("fourth") && error.contains("no channel 3: the stream has 3"),
        "{error}"
    );
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
fn complex_taps_filter_in_a_graph_as_their_kernel_does() {
    let taps: Vec<Complex32> = noise(&(50..80).collect::<Vec<_>>());
    let input: Vec<Complex32> = noise(&(0..SAMPLES as u64).collect::<Vec<_>>());
    for decimation in [1, 4] {
        let mut fir = Fir::with_complex_taps(&taps, decimation).unwrap();
        let mut want = vec![Complex32::ZERO; SAMPLES / decimation];
        fir.process(&input, &mut want);
        let filter = || Filter::with_complex_taps(&taps, decimation).unwrap();
        assert_eq!(crossed(Noise::new(1, 0.1), filter(), 90).samples(), want);
        if decimation == 1 {
            assert_eq!(worked(Noise::new(1, 0.1), filter()).samples(), want);
        }
    }
}

#[test]
fn interpolator_gives_what_its_kernel_gives_at_the_raised_indexes() {
    let taps: Vec<f32> = noise(&(0..50).collect::<Vec<_>>());
    let input: Vec<Complex32> = noise(&indexes());
    for (interpolation, len) in [(1, 333), (3, 333), (4, 333), (7, 7), (7, 20)] {
        let (mut samples, mut at) = (Vec::new(), Vec::new());
        for (first, piece) in [(0, &input[..3_000]), (4_000, &input[3_000..])] {
            let mut fir = InterpolatingFir::new(&taps, interpolation).unwrap();
            let mut room = vec![Complex32::ZERO; piece.len() * interpolation];
            fir.process(piece, &mut room);
            at.extend((first * interpolation as u64..).take(room.len()));
            samples.extend(room);
        }
        let block = Interpolator::<Complex32>::new(&taps, interpolation).unwrap();
        let got = crossed(Gap(Noise::new(1, 0.1)), block, len);
        assert_eq!(got.samples(), samples, "{interpolation}");
        assert_eq!(got.indexes(), at, "{interpolation}");
    }
}

#[test]
fn room_for_less_than_one_inputs_outputs_is_named() {
    let block = Interpolator::<f32>::new(&[1.0], 8).unwrap();
    let error = run(Noise::new(1, 0.1), |graph, stream| {
        let circuit = Circuit::new(3, 7).named("output");
        graph.transform("raise", block, stream, circuit)
    });
    assert_eq!(
        error.err().unwrap().to_string(),
        "circuit 'output': a quantum of 7 samples has no room for the 8 that 'raise' makes at once"
    );
}

/// Gives rates and tags: one at each of its indexes.
struct Tagged<B>(B, Vec<u64>);

impl<S: Sample, B: Source<S>> Source<S> for Tagged<B> {
    fn fill(&mut self, quantum: &mut Quantum<S>) -> Work {
        let flow = self.0.fill(quantum)?;
        quantum.set_rate_hz(1e6);
        let indexes = quantum.index()..quantum.end_index();
        for &index in self.1.iter().filter(|at| indexes.contains(at)) {
            quantum.push_tag(Tag { index, kind: TagKind::Gain { db: index as f64 } })?;
        }
        Ok(flow)
    }
}

/// Records the rates and the tags that came, each with the indexes of its quantum.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Word>>>);

/// Index, end, rate and tags of a quantum.
type Word = (u64, u64, f64, Vec<Tag>);

impl<S: Sample> InPlace<S> for Log {
    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        let tags = quantum.tags().to_vec();
        let word = (quantum.index(), quantum.end_index(), quantum.rate_hz(), tags);
        self.0.lock().unwrap().push(word);
        Ok(Flow::Pass)
    }
}

#[test]
fn tags_and_rate_cross_an_interpolator_with_their_samples() {
    let at = vec![0, 1, 499, 500, 4_321, 9_999];
    for len in [12, 100, 1_000] {
        let (log, at) = (Log::default(), at.clone());
        let (block, tagged) = (log.clone(), Tagged(Noise::new(1, 0.1), at.clone()));
        run::<f32, f32>(tagged, |graph, stream| {
            let circuit = Circuit::new(3, len).named("output");
            let raise = Interpolator::new(&[1.0; 9], 4).unwrap();
            let stream = graph.transform("raise", raise, stream, circuit);
            graph.in_place("log", block, stream)
        })
        .unwrap();
        let log = log.0.lock().unwrap();
        assert!(log.iter().all(|word| word.2 == 4e6));
        assert!(
            log.iter()
                .all(|word| { word.3.iter().all(|tag| (word.0..word.1).contains(&tag.index)) })
        );
        let tags = log.iter().flat_map(|word| &word.3);
        let tags: Vec<_> = tags.map(|tag| (tag.index, tag.kind)).collect();
        let want = at.iter().map(|&index| (4 * index, TagKind::Gain { db: index as f64 }));
        assert_eq!(tags, want.collect::<Vec<_>>(), "{len}");
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

/// What a join makes of two streams, of which the second leaves out samples: with their indexes.
fn joined<S: Sample + kernels::Floats>(block: impl Join<S, S> + 'static) -> Seen<S> {
    run(Noise::new(1, 0.1), |graph, stream| {
        let other = Circuit::new(3, 77).named("other");
        let other = graph.source("other", Gap(Noise::new(2, 0.1)), other);
        graph.join("join", block, stream, other)
    })
    .unwrap()
}

#[test]
fn sums_and_products_are_of_samples_of_one_index() {
    let at: Vec<u64> = (0..3_000).chain(4_000..SAMPLES as u64).collect();
    let other = |index: u64| {
        let mut sample = Complex32::ZERO;
        kernels::Noise::new(2, 0.1).fill(index, std::slice::from_mut(&mut sample));
        sample
    };
    let pairs: Vec<_> =
        noise::<Complex32>(&at).into_iter().zip(at.iter().map(|&at| other(at))).collect();
    let want = |one: fn(Complex32, Complex32) -> Complex32| -> Vec<Complex32> {
        pairs.iter().map(|(first, second)| one(*first, *second)).collect()
    };
    let sum = joined::<Complex32>(Add);
    assert_eq!((sum.samples(), sum.indexes()), (want(|a, b| a + b), at.clone()));
    let product = joined::<Complex32>(Multiply);
    let naive = want(|a, b| Complex32::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re));
    assert_eq!((product.samples(), product.indexes()), (naive, at.clone()));
    let reals = joined::<f32>(Multiply).samples();
    let mut second = [0.0];
    for ((got, first), at) in reals.iter().zip(noise::<f32>(&at)).zip(&at) {
        kernels::Noise::new(2, 0.1).fill(*at, &mut second);
        assert_eq!(*got, first * second[0]);
    }
    assert_eq!(reals.len(), at.len());
}

/// Gives these bytes, and ends.
struct Bytes(Vec<u8>);

impl Source<u8> for Bytes {
    fn fill(&mut self, quantum: &mut Quantum<u8>) -> Work {
        let at = quantum.index() as usize;
        let room = quantum.fill();
        let len = room.len().min(self.0.len() - at);
        room[..len].copy_from_slice(&self.0[at..at + len]);
        quantum.set_len(len);
        Ok(if at + len == self.0.len() { Flow::End } else { Flow::Pass })
    }
}

#[test]
fn sync_words_are_tagged_at_the_byte_in_which_they_end() {
    let word = [0x1A, 0xCF, 0xFC, 0x1D];
    // At every bit, within a quantum and across the ends of quanta of 500, once with a wrong bit.
    let places: Vec<usize> =
        (0..20).map(|number| 8 * (496 + 499 * (number % 10)) + number).collect();
    let mut stream = vec![0x55_u8; 6_000];
    for (number, place) in places.iter().enumerate() {
        for bit in (0..32).filter(|&bit| (number, bit) != (3, 7)) {
            let (from, to) = (word[bit / 8] >> (7 - bit % 8) & 1, place + bit);
            stream[to / 8] = stream[to / 8] & !(0x80 >> (to % 8)) | from << (7 - to % 8);
        }
    }
    let naive = || {
        let bit = |at: usize| stream[at / 8] >> (7 - at % 8) & 1;
        (0..=8 * stream.len() - 32).filter_map(move |begin| {
            let wrong = |at: &usize| bit(begin + at) != word[at / 8] >> (7 - at % 8) & 1;
            let wrong_bits = (0..32).filter(wrong).count();
            let (index, bit) = ((begin + 31) / 8, (begin + 31) % 8);
            let kind = TagKind::Sync { bit: bit as u8, wrong_bits: wrong_bits as u8 };
            (wrong_bits <= 1).then_some(Tag { index: index as u64, kind })
        })
    };
    let want: Vec<_> = naive().collect();
    assert!(want.len() >= 10, "{}", want.len());
    let (block, matches) = FindSync::new(SyncWord::new(&word).unwrap(), 1).unwrap();
    let log = Log::default();
    let seen = run(Bytes(stream.clone()), |graph, stream| {
        let stream = graph.in_place("find", block, stream);
        graph.in_place("log", log.clone(), stream)
    });
    assert_eq!(seen.unwrap().samples(), stream);
    let log = log.0.lock().unwrap();
    let tags: Vec<Tag> = log.iter().flat_map(|word| word.3.clone()).collect();
    assert_eq!(tags, want);
    assert_eq!((matches.found(), matches.untagged()), (want.len() as u64, 0));
}

#[test]
fn sync_words_across_a_gap_are_not_found_and_those_beyond_the_tags_are_counted() {
    let (block, matches) = FindSync::new(SyncWord::new(&[7, 7]).unwrap(), 0).unwrap();
    let log = Log::default();
    run(Gap(Constant::new(7_u8)), |graph, stream| {
        let stream = graph.in_place("find", block, stream);
        graph.in_place("log", log.clone(), stream)
    })
    .unwrap();
    // Each byte but the first of the stream and the first behind the gap; 20 quanta of 500.
    assert_eq!((matches.found(), matches.untagged()), (9_998, 9_998 - 20 * 8));
    let log = log.0.lock().unwrap();
    assert!(log.iter().all(|word| word.3.len() == 8));
    assert_eq!((log[0].3[0].index, log[6].3[0].index), (1, 4_001));
}

#[test]
fn throttle_keeps_its_rate_and_sleeps() {
    // 20 quanta of 500: the last may pass when 19 had their time.
    let rate_hz = 50_000.0;
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(4, 500).named("samples");
    let stream = graph.source("source", Constant::new(0_u8), circuit);
    let stream = graph.in_place("throttle", Throttle::new(rate_hz).unwrap(), stream);
    let stream = graph.in_place("head", Head::new(SAMPLES as u64), stream);
    graph.sink("sink", Seen::default(), stream);
    let report = graph.build().unwrap().run(Sequence::new()).unwrap();
    assert!(report.elapsed.as_secs_f64() >= 9_500.0 / rate_hz, "{:?}", report.elapsed);
    // For each: asked, asked again before sleep, and awake.
    let calls = report.block("throttle").unwrap().counters.calls;
    assert!(calls <= 5 * 20, "it is asked {calls} times for 20 quanta");
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
    let circuit = Circuit::new(4, 500).named("samples");
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
