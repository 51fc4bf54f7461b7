//! Measures how strong a stream is, for any thread that reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use samplewire_circuit::{Flow, InPlace, Quantum, Sample, Work};

use crate::kernels::{Floats, Levels};

/// Measures what passes, and changes nothing: its [`Reading`] says what came.
#[derive(Debug)]
pub struct Probe {
    shared: Arc<Shared>,
}

impl Probe {
    /// A probe, and what reads it from any thread.
    pub fn new() -> (Self, Reading) {
        let shared = Arc::new(Shared::default());
        (Self { shared: Arc::clone(&shared) }, Reading { shared })
    }
}

impl<S: Floats + Sample> InPlace<S> for Probe {
    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        let mut levels = Levels::default();
        levels.add(quantum.samples());
        if let Some(mean) = levels.mean_power() {
            // Relaxed, here and in the reading: each number stands alone and orders nothing.
            self.shared.mean_power.store(mean.to_bits(), Ordering::Relaxed);
        }
        // Floats that are not negative stand in the order of their bits.
        self.shared.peak_power.fetch_max(levels.peak_power().to_bits(), Ordering::Relaxed);
        Ok(Flow::Pass)
    }
}

/// What a [`Probe`] measured. Full scale is 1; [`decibels`](crate::kernels::decibels) says a power
/// in dB of it.
#[derive(Clone, Debug)]
pub struct Reading {
    shared: Arc<Shared>,
}

impl Reading {
    /// The mean power of the last quantum, 0 before the first.
    pub fn mean_power(&self) -> f64 {
        f64::from_bits(self.shared.mean_power.load(Ordering::Relaxed))
    }

    /// The largest power of a sample since this was last asked.
    pub fn take_peak_power(&self) -> f32 {
        f32::from_bits(self.shared.peak_power.swap(0, Ordering::Relaxed))
    }
}

/// The bits of two floats.
#[derive(Debug, Default)]
struct Shared {
    mean_power: AtomicU64,
    peak_power: AtomicU32,
}
