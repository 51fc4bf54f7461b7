//! Cyclic prefixes: one quantum is one symbol.

use samplewire_circuit::{Flow, InPlace, Quantum, Sample, Work};

use crate::kernels::fill_cyclic_prefix;

/// Puts copies of a symbol's last samples before it, in the head margin.
#[derive(Clone, Copy, Debug)]
pub struct AddCyclicPrefix {
    samples: usize,
}

impl AddCyclicPrefix {
    /// So many samples.
    pub const fn new(samples: usize) -> Self {
        Self { samples }
    }
}

impl<S: Sample> InPlace<S> for AddCyclicPrefix {
    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        let (prefix, symbol) = (self.samples, quantum.len());
        if prefix > symbol {
            let words = format!("a symbol of {symbol} samples has no {prefix} for its prefix");
            return Err(words.into());
        }
        if quantum.prepend(prefix).is_none() {
            let words = format!("the head margin has no room for a prefix of {prefix} samples");
            return Err(words.into());
        }
        fill_cyclic_prefix(quantum.samples_mut(), prefix);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Cuts off the front of a symbol what [`AddCyclicPrefix`] put there.
#[derive(Clone, Copy, Debug)]
pub struct RemoveCyclicPrefix {
    samples: usize,
}

impl RemoveCyclicPrefix {
    /// So many samples.
    pub const fn new(samples: usize) -> Self {
        Self { samples }
    }
}

impl<S: Sample> InPlace<S> for RemoveCyclicPrefix {
    fn work(&mut self, quantum: &mut Quantum<S>) -> Work {
        if self.samples > quantum.len() {
            let len = quantum.len();
            return Err(format!("{len} samples have no prefix of {}", self.samples).into());
        }
        quantum.trim_front(self.samples);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
