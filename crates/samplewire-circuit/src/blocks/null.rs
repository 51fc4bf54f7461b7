//! Ends that do nothing.

use crate::block::{Flow, Sink, Source, Work};
use crate::quantum::Quantum;
use crate::sample::Sample;

/// Gives quanta as they are, full: what stands in them is zero, or what blocks left there.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSource;

impl<T: Sample> Source<T> for NullSource {
    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work {
        quantum.fill();
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Takes quanta and looks at none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl<T: Sample> Sink<T> for NullSink {
    fn consume(&mut self, _: &Quantum<T>) -> Work {
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
