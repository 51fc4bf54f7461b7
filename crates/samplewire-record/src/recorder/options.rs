//! Options of a recording.

use std::time::{Duration, Instant};

use samplewire::DeviceInfo;

use crate::account::Account;
use crate::sink::Resumable;

/// When a recording stops, and which recording it continues.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    pub(super) started: Instant,
    pub(super) samples: Option<u64>,
    pub(super) duration: Option<Duration>,
    pub(super) silence: Option<Duration>,
    pub(super) reconnect: bool,
    pub(super) has_disk: bool,
    pub(super) found: Option<Resumable>,
}

impl RecorderOptions {
    /// Returns the defaults for a recording that started at `started`.
    pub const fn new(started: Instant) -> Self {
        Self {
            started,
            samples: None,
            duration: None,
            silence: None,
            reconnect: false,
            has_disk: true,
            found: None,
        }
    }

    /// Sets how many indexes to record, delivered and missing ones together. Default: all.
    #[must_use]
    pub fn samples(self, samples: Option<u64>) -> Self {
        Self { samples, ..self }
    }

    /// Sets how long to record. Default: until the stream ends.
    #[must_use]
    pub fn duration(self, duration: Option<Duration>) -> Self {
        Self { duration, ..self }
    }

    /// Sets the longest time without samples. Default: the protocol's limit for a silent device.
    #[must_use]
    pub fn silence(self, silence: Option<Duration>) -> Self {
        Self { silence, ..self }
    }

    /// Sets whether to open a lost stream again. Default: no.
    #[must_use]
    pub fn reconnect(self, reconnect: bool) -> Self {
        Self { reconnect, ..self }
    }

    /// Sets whether the samples go to a disk. If so, the source's losses while the sink delays the
    /// stream have the cause "disk behind". Default: yes.
    #[must_use]
    pub fn has_disk(self, has_disk: bool) -> Self {
        Self { has_disk, ..self }
    }

    /// Sets the recording that the sink continues. Default: none. The indexes between are a gap.
    #[must_use]
    pub fn found(self, found: Option<Resumable>) -> Self {
        Self { found, ..self }
    }

    /// Returns the account of a recording of the streams `info` before any sample.
    pub fn account(&self, info: &DeviceInfo) -> Account {
        let found = self.found.as_ref().and_then(|found| found.next_index);
        Account::new(found.unwrap_or(info.first_index), self.samples)
    }
}
