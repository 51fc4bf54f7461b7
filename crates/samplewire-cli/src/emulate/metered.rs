//! A source that counts how much of it was read.

use std::sync::atomic::{AtomicU64, Ordering};

use samplewire::BoxError;
use samplewire::source::{ReadSamples, StreamInfo};
use samplewire_proto::SampleIndex;

/// Counts the bytes read.
pub(super) struct Metered<'a> {
    source: &'a mut dyn ReadSamples,
    read_bytes: &'a AtomicU64,
}

impl<'a> Metered<'a> {
    pub(super) fn new(source: &'a mut dyn ReadSamples, read_bytes: &'a AtomicU64) -> Self {
        Self { source, read_bytes }
    }

    fn count(&self, len_bytes: usize) {
        // Relaxed: only for display.
        self.read_bytes.fetch_add(len_bytes as u64, Ordering::Relaxed);
    }
}

impl ReadSamples for Metered<'_> {
    fn info(&self) -> &StreamInfo {
        self.source.info()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let len_bytes = self.source.read(out)?;
        self.count(len_bytes);
        Ok(len_bytes)
    }

    fn read_lost(&mut self, out: &mut [u8]) -> Result<usize, BoxError> {
        let len_bytes = self.source.read_lost(out)?;
        self.count(len_bytes);
        Ok(len_bytes)
    }

    fn start_at(&mut self, first: SampleIndex) {
        self.source.start_at(first);
    }
}
