//! Processes a stream before a recording or after a source: the command's `--chain`.
//!
//! A [`ChainSpec`] such as `mix:1.2M,lowpass:200k,decimate:8` lists blocks of `samplewire-blocks`
//! in order. [`ChainSink`] processes the samples that are written to a sink. [`ChainSource`]
//! processes the samples that are read from a source. Each runs a graph of `samplewire-circuit` in
//! a separate thread.

mod feed;
mod sink;
mod source;
mod spec;

use num_complex::{Complex, Complex32};
use samplewire::StreamInfo;
use samplewire::format::{FormError, FormSample, Format};
use samplewire::source::RateError;
use samplewire_blocks::kernels::ConvertFrom;
use samplewire_circuit::BuildError;

pub use sink::ChainSink;
pub use source::ChainSource;
pub use spec::{ChainSpec, ParseChainError, Step};

/// A type of IQ sample that a chain accepts and returns.
trait Iq: FormSample + ConvertFrom<Complex32> + bytemuck::Pod
where
    Complex32: ConvertFrom<Self>,
{
}

impl Iq for Complex<i8> {}
impl Iq for Complex<u8> {}
impl Iq for Complex<i16> {}
impl Iq for Complex32 {}

/// Why a chain cannot process a stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The samples are not IQ of one channel.
    #[error("a chain processes one channel of sc8, uc8, sc16 or fc32, not {channels} of {format}")]
    Samples {
        /// The stream's format.
        format: Format,
        /// Its channels.
        channels: u16,
    },
    /// A step is not possible at its sample rate.
    #[error("{step} at {rate_hz} S/s: {why}")]
    Step {
        /// The step.
        step: Step,
        /// The sample rate before the step in hertz; 0 if it is not known.
        rate_hz: f64,
        /// What would be possible.
        why: String,
    },
    /// The sample rate after the chain is out of range.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The stream does not match its format.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The graph cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The operating system cannot start the thread.
    #[error("the thread of the chain: {0}")]
    Thread(#[from] std::io::Error),
}

/// Calls a generic function with the type of the stream's samples.
macro_rules! with_iq_type {
    ($info:expr, $call:ident($($argument:expr),*)) => {
        match ($info.format, $info.channels) {
            (Format::Sc8, 1) => $call::<num_complex::Complex<i8>>($($argument),*),
            (Format::Uc8, 1) => $call::<num_complex::Complex<u8>>($($argument),*),
            (Format::Sc16, 1) => $call::<num_complex::Complex<i16>>($($argument),*),
            (Format::Fc32, 1) => $call::<Complex32>($($argument),*),
            (format, channels) => Err(ChainError::Samples { format, channels }),
        }
    };
}
use with_iq_type;

/// Describes the stream after a chain, which may have another format.
fn info_behind(
    spec: &ChainSpec,
    info: &StreamInfo,
    format: Format,
) -> Result<StreamInfo, ChainError> {
    let scale = spec.ratio();
    let samples = |count: u64| scale.output_of(count);
    Ok(StreamInfo {
        centre_frequency_hz: info.centre_frequency_hz.map(|hz| hz - spec.shift_hz()),
        name: info.name,
        len_samples: info.len_samples.map(samples),
        ..StreamInfo::new(format, 1, spec.check(info.rate_hz())?)?
    })
}
