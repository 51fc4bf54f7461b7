//! What the user of a sender chooses of congestion control (`docs/protocol.md#8`).

use crate::number::Nanos;
use crate::rate::{DcqcnParams, FRAME_OVERHEAD_BYTES, ParamsError, WireRate};
use crate::stream::{Carriage, Terms};
use crate::wire::{RECORD_LEN, TRAILER_LEN, record_at};

/// How a sender limits its rate besides the user's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Marks are counted and change nothing.
    None,
    /// Departures keep this rate of wire bytes, above 0; marks change nothing.
    Fixed(WireRate),
    /// Marks cut the rate, and time and departures raise it again ([`Dcqcn`](crate::rate::Dcqcn)).
    Dcqcn(DcqcnConfig),
}

/// What [`Control::Dcqcn`] knows of the path and the source. The default knows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DcqcnConfig {
    line_bps: Option<u64>,
    start_bps: Option<u64>,
    source: Option<SampleRate>,
}

/// Samples a second, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleRate {
    numerator: u64,
    denominator: u64,
}

impl DcqcnConfig {
    /// Nothing is known: there is no limit before the first notification.
    pub const fn new() -> Self {
        Self { line_bps: None, start_bps: None, source: None }
    }

    /// The speed of the interface in bits a second; `None` (the default) where it is unknown or
    /// virtual. It selects the preset, and is the highest rate.
    #[must_use]
    pub const fn with_line_bps(mut self, line_bps: Option<u64>) -> Self {
        self.line_bps = line_bps;
        self
    }

    /// The rate to start at in bits a second of wire time; default the line's. It does not count
    /// where the source's rate is known, or the line's is not.
    #[must_use]
    pub const fn with_start_bps(mut self, start_bps: Option<u64>) -> Self {
        self.start_bps = start_bps;
        self
    }

    /// The rate of the source in samples a second, as a fraction: the rate to start at. A numerator
    /// or a denominator of 0 (the default) means that it is unknown.
    #[must_use]
    pub const fn with_source_rate(mut self, numerator: u64, denominator: u64) -> Self {
        self.source = if numerator == 0 || denominator == 0 {
            None
        } else {
            Some(SampleRate { numerator, denominator })
        };
        self
    }

    /// With this line where none is configured.
    pub(super) fn or_line(mut self, line_bps: Option<u64>) -> Self {
        self.line_bps = self.line_bps.or(line_bps);
        self
    }

    /// The rate at which a stream of these terms starts, and all else; `None` for a line of unknown
    /// rate.
    pub(super) fn params(&self, terms: &Terms) -> Option<DcqcnParams> {
        let preset = DcqcnParams::samplewire(self.line_bps?);
        let chosen = self.start_bps.map(WireRate::from_bps);
        let source = self.source.map(|source| source.wire_rate(terms));
        let start = source.or(chosen).unwrap_or(preset.line);
        Some(DcqcnParams { start: start.clamp(preset.minimum, preset.line), ..preset })
    }

    /// The rate of the source, if that is known.
    pub(super) const fn source(&self) -> Option<SampleRate> {
        self.source
    }

    /// Checks what does not depend on a stream's terms.
    pub(super) fn check(&self) -> Result<(), ParamsError> {
        let Some(line_bps) = self.line_bps else { return Ok(()) };
        let preset = DcqcnParams::samplewire(line_bps);
        let start = self.start_bps.map_or(preset.start, WireRate::from_bps);
        DcqcnParams { start, ..preset }.check()
    }
}

impl Default for Control {
    /// [`Control::Dcqcn`] on a line of unknown rate.
    fn default() -> Self {
        Self::Dcqcn(DcqcnConfig::new())
    }
}

impl SampleRate {
    /// What the source needs of the wire, rounded up.
    pub(super) fn wire_rate(self, terms: &Terms) -> WireRate {
        // Below 2^64 * 2^17 * 2^16, and below 2^64 * 2^20 * 2^30.
        let bytes = u128::from(self.numerator) * u128::from(full_frame_bytes(terms));
        let span_ns =
            u128::from(self.denominator) * u128::from(terms.packet_samples) * 1_000_000_000;
        let raw = (bytes << 16).div_ceil(span_ns);
        WireRate::from_raw(u32::try_from(raw).unwrap_or(u32::MAX))
    }

    /// How long the source takes to fill the window.
    pub(super) fn window_span(self, terms: &Terms) -> Nanos {
        let samples = u128::from(terms.window) * u128::from(terms.packet_samples);
        // Below 2^24 * 2^20 * 2^64; a span whose nanoseconds do not fit is endless.
        let span_s = samples * u128::from(self.denominator);
        let span_ns = span_s.saturating_mul(1_000_000_000) / u128::from(self.numerator);
        Nanos(u64::try_from(span_ns).unwrap_or(u64::MAX))
    }
}

/// What a full packet takes of the wire.
pub(super) fn full_frame_bytes(terms: &Terms) -> u32 {
    let packet_bytes = match terms.carriage {
        Carriage::Data => {
            usize::from(terms.payload_offset) + usize::from(terms.payload_bytes) + TRAILER_LEN
        }
        Carriage::Rdma => record_at(terms.payload_bytes) + RECORD_LEN,
    };
    packet_bytes as u32 + FRAME_OVERHEAD_BYTES
}
