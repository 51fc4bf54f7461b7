//! The blocks of this crate as steps of a chain.

use num_complex::Complex32;
use samplewire_circuit::blocks::Head;
use samplewire_circuit::{Chain, Readable, Sample, Transform};

#[cfg(feature = "spectrum")]
use crate::PowerSpectrum;
#[cfg(feature = "spectrum")]
use crate::kernels::Window;
use crate::kernels::{ConvertFrom, Floats};
use crate::{Convert, Filter, Gain, Interpolator, Map, PutChannel, Rotator, TakeChannel, Throttle};

/// The blocks of this crate as methods of a [`Chain`] of `T`. An argument that a block refuses is an
/// error of the whole: [`Chain::build`] and [`Chain::run`] return it with the block's name.
///
/// In-place blocks need quanta of their own. A chain that begins with borrowed samples, such as a
/// receiver's, can have them only after its first transform.
///
#[cfg_attr(feature = "spectrum", doc = "```")]
#[cfg_attr(not(feature = "spectrum"), doc = "```ignore")]
/// use num_complex::{Complex, Complex32};
/// use samplewire_blocks::kernels::Window;
/// use samplewire_blocks::{ChainExt, Constant, chain};
///
/// // A constant, moved to an eighth of the rate: bin 5 of 8, of which bin 4 is frequency 0.
/// let report = chain(Constant::new(Complex::new(16_384_i16, 0)))
///     .convert::<Complex32>()
///     .head(16_000)
///     .gain(2.0)
///     .mix(0.125)
///     .spectrum(8, Window::Rectangular, 10)
///     .for_each(|quantum| {
///         for powers in quantum.samples().chunks(8) {
///             let expected = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0_f32];
///             assert!(powers.iter().zip(expected).all(|(power, to)| (power - to).abs() < 1e-6));
///         }
///     })
///     .run()?;
/// assert_eq!(report.block("sink").unwrap().counters.samples, 1_600);
///
/// let chain = chain(Constant::new(1.0_f32)).decimate(&[], 8).for_each(|_| {});
/// let text = "'filter': a filter of 0 taps: must be 1 to 1048576";
/// assert_eq!(chain.run().unwrap_err().to_string(), text);
/// # Ok::<(), samplewire_circuit::RunError>(())
/// ```
pub trait ChainExt<T: Sample>: Sized {
    /// [`Convert`]: samples of type `B`.
    fn convert<B: Sample + ConvertFrom<T>>(self) -> Chain<B>;

    /// [`Map`]: what `function` makes of each sample.
    fn map<B: Sample>(self, function: impl FnMut(T) -> B + Send + 'static) -> Chain<B>;

    /// [`Head`]: the first `samples`, behind which the stream ends. In place.
    fn head(self, samples: u64) -> Chain<T>
    where
        Self: Into<Chain<T>>;

    /// [`Gain`]: multiplies amplitudes by `factor`. In place.
    fn gain(self, factor: f32) -> Chain<T>
    where
        T: Floats,
        Self: Into<Chain<T>>;

    /// [`Rotator`]: moves the band up by `cycles_per_sample`, from -0.5 to 0.5. In place.
    fn mix(self, cycles_per_sample: f64) -> Chain<Complex32>
    where
        Self: Into<Chain<Complex32>>;

    /// [`Filter`] with these taps, that of the newest sample first. In place.
    fn filter(self, taps: &[f32]) -> Chain<T>
    where
        T: Floats,
        Self: Into<Chain<T>>;

    /// [`Filter`] with these taps, of which one output is kept for `decimation` inputs.
    fn decimate(self, taps: &[f32], decimation: usize) -> Chain<T>
    where
        T: Floats;

    /// [`Interpolator`] with these taps: `interpolation` outputs for an input.
    fn interpolate(self, taps: &[f32], interpolation: usize) -> Chain<T>
    where
        T: Floats;

    /// [`PowerSpectrum`] of so many `bins`, each the mean over `averages`.
    #[cfg(feature = "spectrum")]
    fn spectrum(self, bins: usize, window: Window, averages: u32) -> Chain<f32>
    where
        PowerSpectrum: Transform<T, f32>;

    /// [`TakeChannel`]: one channel of several, from 0.
    fn take_channel<B: Sample>(self, channel: usize) -> Chain<B>
    where
        TakeChannel: Transform<T, B>;

    /// [`PutChannel`]: as one channel of several, from 0; the others are 0.
    fn put_channel<B: Sample>(self, channel: usize) -> Chain<B>
    where
        PutChannel: Transform<T, B>;

    /// [`Throttle`]: at most `rate_hz` samples per second by this machine's clock. In place.
    fn throttle(self, rate_hz: f64) -> Chain<T>
    where
        Self: Into<Chain<T>>;
}

impl<T: Sample, S: Into<Readable<T>>> ChainExt<T> for Chain<T, S> {
    fn convert<B: Sample + ConvertFrom<T>>(self) -> Chain<B> {
        self.transform(Convert)
    }

    fn map<B: Sample>(self, function: impl FnMut(T) -> B + Send + 'static) -> Chain<B> {
        self.transform(Map::new(function))
    }

    fn head(self, samples: u64) -> Chain<T>
    where
        Self: Into<Chain<T>>,
    {
        self.into().in_place(Head::new(samples))
    }

    fn gain(self, factor: f32) -> Chain<T>
    where
        T: Floats,
        Self: Into<Chain<T>>,
    {
        self.into().in_place(Gain::new(factor))
    }

    fn mix(self, cycles_per_sample: f64) -> Chain<Complex32>
    where
        Self: Into<Chain<Complex32>>,
    {
        self.into().try_in_place(Rotator::new(cycles_per_sample))
    }

    fn filter(self, taps: &[f32]) -> Chain<T>
    where
        T: Floats,
        Self: Into<Chain<T>>,
    {
        self.into().try_in_place(Filter::new(taps, 1))
    }

    fn decimate(self, taps: &[f32], decimation: usize) -> Chain<T>
    where
        T: Floats,
    {
        self.try_transform(Filter::new(taps, decimation))
    }

    fn interpolate(self, taps: &[f32], interpolation: usize) -> Chain<T>
    where
        T: Floats,
    {
        self.try_transform(Interpolator::new(taps, interpolation))
    }

    #[cfg(feature = "spectrum")]
    fn spectrum(self, bins: usize, window: Window, averages: u32) -> Chain<f32>
    where
        PowerSpectrum: Transform<T, f32>,
    {
        self.try_transform(PowerSpectrum::new(bins, window, averages))
    }

    fn take_channel<B: Sample>(self, channel: usize) -> Chain<B>
    where
        TakeChannel: Transform<T, B>,
    {
        self.transform(TakeChannel(channel))
    }

    fn put_channel<B: Sample>(self, channel: usize) -> Chain<B>
    where
        PutChannel: Transform<T, B>,
    {
        self.transform(PutChannel(channel))
    }

    fn throttle(self, rate_hz: f64) -> Chain<T>
    where
        Self: Into<Chain<T>>,
    {
        self.into().try_in_place(Throttle::new(rate_hz))
    }
}
