//! Several blocks that map each sample by itself, in one pass.

use multiversion::multiversion;
use samplewire_circuit::{Flow, InPlace, Quantum, Sample, Work};

/// Maps each sample by itself, whatever stands before and behind it, and keeps nothing from one to the
/// next: what can be [`Fused`]. A function of one sample does, as does a pair, its first before its
/// second.
pub trait Elementwise<T>: Clone + Send {
    /// What becomes of `sample`.
    fn map(&self, sample: T) -> T;
}

/// Blocks that follow one another, fused to one: each sample is loaded once, goes through all of them,
/// and is stored once. Between blocks of a graph it is stored and loaded at each.
///
/// The samples are those that the blocks in a row come to, bit by bit. The graph has one block more,
/// with one name and one line in its report.
///
/// ```
/// use samplewire_blocks::{Constant, Fused, Gain, Probe, Saxpy};
/// use samplewire_circuit::blocks::{Head, NullSink};
/// use samplewire_circuit::{GraphBuilder, Sequence};
///
/// let mut graph = GraphBuilder::new();
/// let circuit = graph.circuit("samples", 2, 4_096);
/// let stream = graph.source("constant", Constant::new(2.0_f32), circuit);
/// let stream = graph.in_place("head", Head::new(10_000), stream);
/// let scale = Fused::new(Gain::new(0.5)).then(Saxpy::new(-3.0, 1.0)).then(f32::abs);
/// let stream = graph.in_place("scale", scale, stream);
/// let (probe, reading) = Probe::new();
/// let stream = graph.in_place("probe", probe, stream);
/// graph.sink("end", NullSink, stream);
/// graph.build()?.run(Sequence::new())?;
/// assert_eq!(reading.mean_power(), 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fused<E> {
    map: E,
}

impl<E> Fused<E> {
    /// A block of its own of `map`.
    pub const fn new(map: E) -> Self {
        Self { map }
    }

    /// This, and `next` on what it comes to.
    pub fn then<N>(self, next: N) -> Fused<(E, N)> {
        Fused { map: (self.map, next) }
    }
}

impl<T: Sample, E: Elementwise<T>> InPlace<T> for Fused<E> {
    fn work(&mut self, quantum: &mut Quantum<T>) -> Work {
        map_each(quantum.samples_mut(), &self.map);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, F: Fn(T) -> T + Clone + Send> Elementwise<T> for F {
    #[inline(always)]
    fn map(&self, sample: T) -> T {
        self(sample)
    }
}

impl<T, E: Elementwise<T>> Elementwise<T> for Fused<E> {
    #[inline(always)]
    fn map(&self, sample: T) -> T {
        self.map.map(sample)
    }
}

impl<T, A: Elementwise<T>, B: Elementwise<T>> Elementwise<T> for (A, B) {
    #[inline(always)]
    fn map(&self, sample: T) -> T {
        self.1.map(self.0.map(sample))
    }
}

#[multiversion(targets = "simd")]
fn map_each<T: Copy, E: Elementwise<T>>(samples: &mut [T], map: &E) {
    for sample in samples {
        *sample = map.map(*sample);
    }
}
