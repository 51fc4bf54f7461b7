//! Spectra of runs, computed by a graph: source, conversion, mixer and filter for a zoom, transform.
//!
//! The graph has no thread of its own. [`Spectra::compute`] hands it a run and polls it until it sleeps.

mod levels;
mod run_source;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use num_complex::{Complex, Complex32};
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire_blocks::kernels::{ConvertFrom, DesignError, SpectrumError, Window, kaiser};
use samplewire_blocks::{ChainExt, PowerSpectrum};
use samplewire_circuit::{
    BuildError, Chain, Graph, Group, Placement, Polled, RunError, Sample, chain,
};

pub use levels::Levels;
pub(crate) use levels::Rows;
use run_source::{Input, RunSource};

use crate::source::lock;
use crate::tap::RUN_BYTES_MAX;

/// Which part of which stream a viewer sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The channel of the stream.
    pub channel: u16,
    /// Bins of a spectrum, a power of two from [`View::BINS_MIN`] to [`View::BINS_MAX`].
    pub bins: u32,
    /// How much narrower the view is than the stream: 1 for all of it.
    pub zoom: u32,
    /// The centre of the view, in parts of the sample rate from -0.5 to 0.5. 0 without a zoom.
    pub centre: f64,
}

impl View {
    /// The fewest bins.
    pub const BINS_MIN: u32 = 256;
    /// The most bins.
    pub const BINS_MAX: u32 = 65_536;
    /// The largest zoom.
    pub const ZOOM_MAX: u32 = 64;

    /// The whole band of the first channel.
    pub const fn whole(bins: u32) -> Self {
        Self { channel: 0, bins, zoom: 1, centre: 0.0 }
    }

    /// Returns the nearest view that a stream has, with as many bins as a run of it fills.
    #[must_use]
    pub fn fitted_to(self, info: &StreamInfo) -> Self {
        let samples = RUN_BYTES_MAX / info.frame_bytes().max(1);
        let zoom = if !info.format.is_complex() { 1 } else { self.zoom.clamp(1, Self::ZOOM_MAX) };
        let fitting = (samples / run_samples_per_bin(zoom)).max(1);
        let bins_max = (1 << fitting.ilog2()).clamp(1, Self::BINS_MAX);
        let bins = self.bins.clamp(Self::BINS_MIN, Self::BINS_MAX).next_power_of_two();
        let half = 0.5 - 0.5 / f64::from(zoom);
        let is_number = zoom > 1 && self.centre.is_finite();
        let centre = if is_number { self.centre.clamp(-half, half) } else { 0.0 };
        let channel = self.channel.min(info.channels.saturating_sub(1));
        Self { channel, bins: bins.min(bins_max), zoom, centre }
    }

    /// Samples of a run of this view where frames cover all samples: at most those of `period`.
    pub(crate) fn whole_run_samples(self, info: &StreamInfo, period: Duration) -> usize {
        let bins = self.bins as usize;
        let whole = RUN_BYTES_MAX / info.frame_bytes().max(1);
        let arriving = (info.rate_hz() * period.as_secs_f64()) as usize;
        arriving.clamp(bins, whole.max(bins)) / bins * bins
    }

    /// Rounds samples of a run to whole transforms of `bins`.
    pub(crate) fn whole_transforms(samples: usize, bins: u32, info: &StreamInfo) -> usize {
        let bins = bins as usize;
        let most = (RUN_BYTES_MAX / info.frame_bytes().max(1) / bins).max(1) * bins;
        samples.next_multiple_of(bins).min(most)
    }

    /// Samples of a run of this view: several transforms where they fit into `period`.
    pub(crate) fn run_samples(self, info: &StreamInfo, period: Duration) -> usize {
        let bins = self.bins as usize;
        let whole = RUN_BYTES_MAX / info.frame_bytes().max(1);
        if self.zoom > 1 {
            return (bins * run_samples_per_bin(self.zoom)).min(whole);
        }
        let arriving = (info.rate_hz() * period.as_secs_f64()) as usize;
        (bins * (AVERAGED_SAMPLES.min(arriving) / bins).max(1)).min(whole)
    }
}

/// Samples of a run for one bin: twice the zoom covers the start of the filter.
const fn run_samples_per_bin(zoom: u32) -> usize {
    if zoom == 1 { 1 } else { 2 * zoom as usize }
}

/// Computes the spectra of one view.
#[derive(Debug)]
pub struct Spectra {
    view: View,
    input: Arc<Mutex<Input>>,
    rows: Arc<Mutex<Rows>>,
    graph: Graph,
    groups: Vec<Group>,
}

/// Spectra that cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum SpectraError {
    /// The graph cannot be built.
    #[error("the graph of the spectra: {0}")]
    Build(#[from] BuildError),
    /// A block failed.
    #[error("the spectra: {0}")]
    Run(#[from] RunError),
    /// The number of bins is out of range.
    #[error(transparent)]
    Bins(#[from] SpectrumError),
    /// The filter of a zoom cannot be made.
    #[error("the filter of the zoom: {0}")]
    Filter(#[from] DesignError),
}

impl Spectra {
    /// Builds the graph of `view`, which must be [fitted](View::fitted_to) to `info`.
    ///
    /// # Errors
    /// [`SpectraError`].
    pub fn new(info: &StreamInfo, view: View) -> Result<Self, SpectraError> {
        match info.format {
            Format::Sc8 => Self::build::<Complex<i8>>(info, view, complex),
            Format::Uc8 => Self::build::<Complex<u8>>(info, view, complex),
            Format::Sc16 => Self::build::<Complex<i16>>(info, view, complex),
            Format::Fc32 => Self::build::<Complex32>(info, view, complex),
            Format::R8 => Self::build::<i8>(info, view, real),
            Format::R16 => Self::build::<i16>(info, view, real),
            Format::Rf32 => Self::build::<f32>(info, view, real),
        }
    }

    fn build<T: Sample + bytemuck::Pod>(
        info: &StreamInfo,
        view: View,
        to_complex: fn(Chain<T>, usize) -> Chain<Complex32>,
    ) -> Result<Self, SpectraError> {
        let input = Arc::new(Mutex::new(Input::new(info, view.channel)));
        let rows = Rows::new(view.bins as usize, !info.format.is_complex());
        let rows = Arc::new(Mutex::new(rows));
        // A block passes on whole quanta: a run is a whole number of those of each circuit.
        let bins = view.bins as usize;
        let run = chain(RunSource::<T>::new(Arc::clone(&input))).named("run").samples_max(bins);
        let mut blocks = to_complex(run, bins);
        if view.zoom > 1 {
            let pass = 1.0 / f64::from(view.zoom);
            let taps = kaiser(0.5 * pass, 0.2 * pass, 80.0)?;
            blocks = blocks.mix(-view.centre);
            blocks = blocks.decimate(&taps, view.zoom as usize).samples_max(bins);
        }
        let spectrum = PowerSpectrum::new(bins, Window::BlackmanHarris, 1)?;
        let sink = Arc::clone(&rows);
        let mut graph = blocks
            .transform(spectrum)
            .samples_max(bins)
            .for_each(move |quantum| lock(&sink).add(quantum.samples()))
            .build()?;
        let groups = graph.split(&Placement::together(&graph));
        Ok(Self { view, input, rows, graph, groups })
    }

    /// The view.
    pub const fn view(&self) -> View {
        self.view
    }

    /// Computes mean and peak levels of a run: the bytes of its samples from `index` on. Returns `None`
    /// if the run is too short for one transform.
    ///
    /// # Errors
    /// [`SpectraError::Run`]: a block failed.
    pub fn compute(&mut self, index: u64, bytes: &[u8]) -> Result<Option<Levels>, SpectraError> {
        Ok(self.rows(index, bytes)?.levels())
    }

    /// Computes the whole transforms of a run.
    ///
    /// # Errors
    /// [`SpectraError::Run`]: a block failed.
    pub(crate) fn rows(
        &mut self,
        index: u64,
        bytes: &[u8],
    ) -> Result<MutexGuard<'_, Rows>, SpectraError> {
        lock(&self.rows).clear();
        lock(&self.input).set(index, bytes, self.view.bins as usize);
        for group in &mut self.groups {
            loop {
                match group.poll() {
                    Polled::Moved => {}
                    Polled::Waiting | Polled::Asleep | Polled::Idle => break,
                    Polled::Done => {
                        self.graph.join(std::mem::take(&mut self.groups))?;
                        return Ok(lock(&self.rows));
                    }
                }
            }
        }
        Ok(lock(&self.rows))
    }
}

fn complex<T: Sample>(chain: Chain<T>, len: usize) -> Chain<Complex32>
where
    Complex32: ConvertFrom<T>,
{
    chain.convert().samples_max(len)
}

fn real<T: Sample>(chain: Chain<T>, len: usize) -> Chain<Complex32>
where
    f32: ConvertFrom<T>,
{
    let floats = chain.convert::<f32>().samples_max(len);
    floats.map(|sample| Complex32::new(sample, 0.0)).samples_max(len)
}

/// Samples that the mean and the peak of a short transform cover.
const AVERAGED_SAMPLES: usize = 8_192;

#[cfg(test)]
mod tests;
