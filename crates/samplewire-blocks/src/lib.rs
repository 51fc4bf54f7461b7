//! What blocks of a circuit do to samples.
//!
//! [`kernels`] holds the arithmetic as plain functions and small state machines on slices: it knows
//! of no circuit, and allocates only in constructors. Each block is a few lines around one of them,
//! for a [`Chain`] or a [`GraphBuilder`](samplewire_circuit::GraphBuilder); [`ChainExt`] has the most
//! usual ones as methods of a chain. What a block does to a sample depends on its index where the
//! kernel's result does, so that a gap shifts nothing.
//!
//! The feature `spectrum`, off by default, adds averaged power spectra.
//!
//! ```
//! use samplewire_blocks::{ChainExt, Complex32, Probe, Tone, chain};
//!
//! let (probe, reading) = Probe::new();
//! chain::<Complex32, _>(Tone::new(0.2, 0.5)?)
//!     .head(100_000)
//!     .mix(-0.2)
//!     .decimate(&[0.125; 8], 8)
//!     .in_place(probe)
//!     .for_each(|quantum| assert_eq!(quantum.index() % 1_024, 0))
//!     .run()?;
//! assert!((reading.mean_power() - 0.25).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod chain;
mod channel;
mod constant;
mod convert;
mod crc;
mod cyclic_prefix;
mod filter;
mod fused;
mod gain;
mod interpolator;
pub mod kernels;
mod map;
mod noise;
#[cfg(feature = "spectrum")]
mod power_spectrum;
mod probe;
mod ramp;
mod rotator;
mod saxpy;
mod sync;
mod throttle;
mod tone;
mod two_inputs;

pub use chain::ChainExt;
pub use channel::{PutChannel, TakeChannel};
pub use constant::Constant;
pub use convert::Convert;
pub use crc::{AppendCrc, CheckCrc};
pub use cyclic_prefix::{AddCyclicPrefix, RemoveCyclicPrefix};
pub use filter::Filter;
pub use fused::{Elementwise, Fused};
pub use gain::Gain;
pub use interpolator::Interpolator;
pub use map::Map;
pub use noise::Noise;
#[cfg(feature = "spectrum")]
pub use power_spectrum::PowerSpectrum;
pub use probe::{Probe, Reading};
pub use ramp::Ramp;
pub use rotator::Rotator;
pub use saxpy::Saxpy;
pub use sync::{FindSync, InsertSync, SyncMatches};
pub use throttle::{RateError, Throttle};
pub use tone::Tone;
pub use two_inputs::{Add, Multiply};

pub use num_complex::{Complex, Complex32};
pub use samplewire_circuit::{self as circuit, Chain, chain};
