//! What blocks of a circuit do to samples.
//!
//! [`kernels`] holds the arithmetic as plain functions and small state machines on slices: it knows
//! of no circuit, allocates only in constructors, and gives the same result however the samples
//! are split over calls.

#![forbid(unsafe_code)]

pub mod kernels;
