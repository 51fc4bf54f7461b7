//! Options of a recording.

use std::time::{Duration, Instant};

use samplewire::DeviceInfo;

use crate::account::Account;
use crate::sink::Resumable;

/// When a recording stops, and what it goes on behind.
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
    /// The defaults, of a recording that started at `started`.
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

    /// How many sample indexes are recorded, delivered and missing ones together. Default: all.
    #[must_use]
    pub fn samples(self, samples: Option<u64>) -> Self {
        Self { samples, ..self }
    }

    /// How long is recorded. Default: until the stream ends.
    #[must_use]
    pub fn duration(self, duration: Option<Duration>) -> Self {
        Self { duration, ..self }
    }

    /// How long no samples may come. Default: as long as the protocol lets a device be silent.
    #[must_use]
    pub fn silence(self, silence: Option<Duration>) -> Self {
        Self { silence, ..self }
    }

    /// Whether the stream is opened again where it is lost. Default: no.
    #[must_use]
    pub fn reconnect(self, reconnect: bool) -> Self {
        Self { reconnect, ..self }
    }

    /// Whether the samples go to a disk: then what the source lost while the sink held the stream
    /// up has the cause "disk behind". Default: yes.
    #[must_use]
    pub fn has_disk(self, has_disk: bool) -> Self {
        Self { has_disk, ..self }
    }

    /// The recording that the sink goes on with. Default: none. What lies between is a gap.
    #[must_use]
    pub fn found(self, found: Option<Resumable>) -> Self {
        Self { found, ..self }
    }

    /// The account of a recording of the streams `info` before anything has come.
    pub fn account(&self, info: &DeviceInfo) -> Account {
        let found = self.found.as_ref().and_then(|found| found.next_index);
        Account::new(found.unwrap_or(info.first_index), self.samples)
    }
}
