//! A device with samples from a seed, and the recorder that writes them, killed or not.

use std::sync::Arc;
use std::time::Duration;

use samplewire::Cause;
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire_proto::Rng;
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_record::sink::{self, SinkError, SinkOptions, SinkSummary, WriteSamples};

use crate::memory::Memory;

/// What is recorded, and with which options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    /// Samples in a part.
    pub(crate) part_samples: Option<u64>,
    pub(crate) is_compressed: bool,
    pub(crate) is_direct: bool,
    /// Samples in a packet, 4 bytes each.
    pub(crate) packet_samples: u64,
    /// Whether an existing recording is overwritten; otherwise it is continued.
    pub(crate) overwrites: bool,
}

impl Mode {
    /// Parts of two and a half packets end alternately within a packet and at its end. Packets of
    /// 32 KiB or more are not gathered; direct writes are multiples of 1,024 samples.
    pub(crate) const ALL: [Self; 8] = [
        Self::new("plain", 100, None),
        Self::new("plain, long packets", 9_000, None),
        Self::new("split", 100, Some(250)),
        Self::new("split, long packets", 9_000, Some(22_500)),
        Self { is_compressed: true, ..Self::new("zstd", 100, None) },
        Self { is_compressed: true, ..Self::new("split zstd", 100, Some(250)) },
        Self { is_direct: true, ..Self::new("direct", 1_400, None) },
        Self { is_direct: true, ..Self::new("split direct", 1_400, Some(3_500)) },
    ];

    const fn new(name: &'static str, packet_samples: u64, part_samples: Option<u64>) -> Self {
        Self {
            name,
            part_samples,
            is_compressed: false,
            is_direct: false,
            packet_samples,
            overwrites: false,
        }
    }

    /// Returns whether the device sends zeros at an index.
    fn is_silent(&self, index: u64) -> bool {
        index / self.packet_samples % 7 == 3
    }
}

/// A device that keeps running while its recorders start and stop.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) boot_id: u64,
    pub(crate) index: u64,
    rng: Rng,
}

impl Device {
    pub(crate) fn new(seed: u64) -> Self {
        Self { boot_id: 1, index: 1_000, rng: Rng::new(seed) }
    }

    /// Creates another device.
    pub(crate) fn other(seed: u64) -> Self {
        Self { boot_id: 100, ..Self::new(seed) }
    }

    /// Lets time pass without a recorder.
    pub(crate) fn pass(&mut self) {
        match self.rng.below(4) {
            0 => self.restart(),
            1 => {}
            _ => self.index += self.rng.below(500),
        }
    }

    fn restart(&mut self) {
        self.boot_id += 1;
        self.index = self.rng.below(1_000);
    }

    /// Sends `count` indexes.
    fn take(&mut self, count: u64) -> u64 {
        self.index += count;
        self.index - count
    }
}

/// Returns the sample of an index: zeros for some packets.
pub(crate) fn sample(mode: &Mode, boot_id: u64, index: u64) -> [u8; 4] {
    match mode.is_silent(index) {
        true => [0; 4],
        false => (index as u32 ^ (boot_id as u32) << 24).to_le_bytes(),
    }
}

/// Records `packets` packets of the device, after the existing ones as `samplewire record --append
/// --reconnect` does, or instead of them. After an error of the sink, the sink is also finished.
pub(crate) fn record(
    memory: &Memory,
    mode: &Mode,
    device: &mut Device,
    packets: u32,
) -> (Result<(), SinkError>, SinkSummary) {
    let mut sink = match open(memory, mode, device) {
        Ok(sink) => sink,
        Err(error) => return (Err(error), SinkSummary::default()),
    };
    let written = (0..packets).try_for_each(|_| event(memory, mode, device, &mut *sink));
    let finished = written.and(sink.finish().map(drop));
    (finished, sink.finish().expect("the second call returns what was written"))
}

/// Opens the recording, and records the gap between it and the device.
fn open(memory: &Memory, mode: &Mode, device: &Device) -> Result<Box<dyn WriteSamples>, SinkError> {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).expect("1 MS/s is a rate");
    let mut options = SinkOptions::new()
        .append(!mode.overwrites)
        .overwrite(mode.overwrites)
        .owner(7)
        .compress(mode.is_compressed)
        .direct(mode.is_direct)
        .storage(Arc::new(memory.clone()));
    if let Some(part_samples) = mode.part_samples {
        options = options.split(part_samples * 4);
    }
    let found = match mode.overwrites {
        true => None,
        false => sink::resumable_in(memory, NAME.as_ref(), mode.part_samples.is_some())?,
    };
    let mut sink = sink::open(NAME.as_ref(), &info, &options)?;
    if let Some(found) = found
        && let Some(next_index) = found.next_index
    {
        if found.boot_id != Some(device.boot_id) {
            sink.gap(&gap(next_index, 1_000, RecordedCause::DeviceRestarted))?;
        } else if device.index > next_index {
            let count = device.index - next_index;
            sink.gap(&gap(next_index, count, RecordedCause::RecorderRestarted))?;
        }
    }
    sink.session(device.boot_id)?;
    Ok(sink)
}

/// Records a packet, and sometimes an event before the next one.
fn event(
    memory: &Memory,
    mode: &Mode,
    device: &mut Device,
    sink: &mut dyn WriteSamples,
) -> Result<(), SinkError> {
    match device.rng.below(16) {
        0..4 => {
            let lost = 1 + device.rng.below(200);
            let first = device.take(lost);
            sink.gap(&gap(first, lost, RecordedCause::Stream(Cause::Deadline)))?;
        }
        // The device leaves out indexes on purpose.
        4..6 => device.index += 1 + device.rng.below(90),
        6 => {
            let away = 1 + device.rng.below(300);
            let first = device.take(away);
            sink.gap(&gap(first, away, RecordedCause::Reconnected))?;
            sink.session(device.boot_id)?;
        }
        7 => {
            sink.gap(&gap(device.index, 1_000, RecordedCause::DeviceRestarted))?;
            device.restart();
            sink.session(device.boot_id)?;
        }
        // The metadata are due.
        8..11 => memory.advance(Duration::from_secs(2)),
        _ => {}
    }
    let first = device.take(mode.packet_samples);
    let indexes: Vec<u64> = (first..device.index).collect();
    for run in indexes.chunk_by(|before, after| mode.is_silent(*before) == mode.is_silent(*after)) {
        match sink.as_holes().filter(|_| mode.is_silent(run[0])) {
            Some(sink) => sink.hole(run[0], run.len() as u64)?,
            None => {
                let samples = run.iter().flat_map(|index| sample(mode, device.boot_id, *index));
                sink.write(run[0], &samples.collect::<Vec<u8>>())?;
            }
        }
    }
    Ok(())
}

fn gap(first: u64, count: u64, cause: RecordedCause) -> RecordedGap {
    RecordedGap::new(first, count, 0, cause)
}

/// The name of the recording.
pub(crate) const NAME: &str = "a";
