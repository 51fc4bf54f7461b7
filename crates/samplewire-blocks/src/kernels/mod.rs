//! Arithmetic on slices of samples.
//!
//! Each kernel is compiled for several instruction sets and picks the best of this machine when it
//! is first called; without any of them it runs in the instructions that every machine has.

mod arithmetic;
mod convert;
mod design;
mod fir;
mod framing;
mod interpolate;
mod levels;
mod noise;
mod oscillator;
mod ramp;
#[cfg(feature = "spectrum")]
mod spectrum;

pub use arithmetic::{Floats, add, gain, multiply, multiply_complex, saxpy};
pub use convert::{ConvertFrom, Part, convert, convert_in_place, convert_le_bytes};
pub use design::{DesignError, half_band, kaiser, low_pass};
pub use fir::{Fir, FirError};
pub use framing::{CRC_BYTES, SyncError, SyncSearch, SyncWord, checked, fill_cyclic_prefix, seal};
pub use interpolate::InterpolatingFir;
pub use levels::{Levels, decibels};
pub use noise::{NOISE_RMS, Noise, noise_pair, scramble};
pub use oscillator::{FrequencyError, Oscillator};
pub use ramp::{PeriodError, Ramp};
#[cfg(feature = "spectrum")]
pub use spectrum::{Spectrum, SpectrumError, Window};

#[cfg(test)]
mod tests;
