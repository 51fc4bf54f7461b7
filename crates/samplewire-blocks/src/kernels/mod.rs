//! Arithmetic on slices of samples.
//!
//! Each kernel is compiled for several instruction sets and picks the best of this machine when it
//! is first called; without any of them it runs in the instructions that every machine has.

mod arithmetic;

pub use arithmetic::{Floats, add, gain, multiply, multiply_complex, saxpy};
