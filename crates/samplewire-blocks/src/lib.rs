//! What blocks of a circuit do to samples.
//!
//! [`kernels`] holds the arithmetic as plain functions and small state machines on slices: it knows
//! of no circuit, and allocates only in constructors. Each block is a few lines around one of them,
//! for a [`GraphBuilder`](samplewire_circuit::GraphBuilder). What a block does to a sample depends
//! on its index where the kernel's result does, so that a gap shifts nothing.
//!
//! ```
//! use num_complex::Complex32;
//! use samplewire_blocks::{Filter, Probe, Rotator, Tone};
//! use samplewire_circuit::blocks::{Head, NullSink};
//! use samplewire_circuit::{GraphBuilder, Sequence};
//!
//! let mut graph = GraphBuilder::new();
//! let fast = graph.circuit("fast", 4, 4_096);
//! let slow = graph.circuit("slow", 4, 1_024);
//! let stream = graph.source("tone", Tone::new(0.2, 0.5)?, fast);
//! let stream = graph.in_place("head", Head::new(100_000), stream);
//! let stream = graph.in_place("to zero", Rotator::new(-0.2)?, stream);
//! let mean = Filter::<Complex32>::new(&[0.125; 8], 8)?;
//! let stream = graph.transform("mean", mean, stream, slow);
//! let (probe, reading) = Probe::new();
//! let stream = graph.in_place("probe", probe, stream);
//! graph.sink("end", NullSink, stream);
//! graph.build()?.run(Sequence::new())?;
//! assert!((reading.mean_power() - 0.25).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

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
mod noise;
mod power_spectrum;
mod probe;
mod ramp;
mod rotator;
mod saxpy;
mod sync;
mod throttle;
mod tone;
mod two_inputs;

pub use channel::{PutChannel, TakeChannel};
pub use constant::Constant;
pub use convert::Convert;
pub use crc::{AppendCrc, CheckCrc};
pub use cyclic_prefix::{AddCyclicPrefix, RemoveCyclicPrefix};
pub use filter::Filter;
pub use fused::{Elementwise, Fused};
pub use gain::Gain;
pub use interpolator::Interpolator;
pub use noise::Noise;
pub use power_spectrum::PowerSpectrum;
pub use probe::{Probe, Reading};
pub use ramp::Ramp;
pub use rotator::Rotator;
pub use saxpy::Saxpy;
pub use sync::{FindSync, InsertSync, SyncMatches};
pub use throttle::{RateError, Throttle};
pub use tone::Tone;
pub use two_inputs::{Add, Multiply};
