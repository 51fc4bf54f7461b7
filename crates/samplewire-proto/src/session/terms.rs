//! A stream's terms that do not contradict each other: the one place that validates them.
//!
//! Either end takes its terms from here, and so do the decoder of captures and the writer of SigMF:
//! what is not [`StreamTerms`] was not checked.

use core::ops::Deref;

use super::AcceptParams;
use crate::number::{Nanos, Tag};
use crate::stream::{Carriage, Terms, TermsError};
use crate::wire::{Accept, Format, Header, RdmaOffer, SlotRegion, TRAILER_CRC32C};

/// What an ACCEPT says of a stream, checked (`docs/protocol.md#3.12`). It exists only when each
/// term is in its range and no two of them contradict each other.
///
/// ```
/// use samplewire_proto::session::{AcceptParams, StreamTerms};
/// use samplewire_proto::stream::TermsError;
///
/// let params = AcceptParams { streams: 1, ..AcceptParams::default() };
/// assert_eq!(StreamTerms::new(params), Err(TermsError::Channels(0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamTerms(AcceptParams);

/// What an end adds to the terms of a stream: its own view.
#[derive(Clone, Copy, Debug)]
pub struct EndView {
    /// The tag that this end chose.
    pub local_tag: Tag,
    /// The tag that the peer chose.
    pub peer_tag: Tag,
    /// Whether this end sent the OPEN.
    pub is_opener: bool,
    /// Packets that the ring of this end holds.
    pub window: u32,
    /// How many ranges of a REPORT the sender takes.
    pub ranges_max: u16,
    /// The round-trip time that the opening measured.
    pub rtt: Nanos,
}

impl StreamTerms {
    /// Checks terms of this end.
    ///
    /// # Errors
    /// Names the first term that is wrong, with its value.
    pub fn new(params: AcceptParams) -> Result<Self, TermsError> {
        if params.stream >= params.streams {
            let AcceptParams { stream, streams, .. } = params;
            return Err(TermsError::Stream { stream, streams });
        }
        if params.trailer_kind != TRAILER_CRC32C {
            return Err(TermsError::Trailer(params.trailer_kind));
        }
        check_samples(params.channels, params.rate_numerator, params.rate_denominator)?;
        check_number("centre_frequency", params.centre_frequency_hz)?;
        check_number("gain", params.gain_db)?;
        check_number("bandwidth", params.bandwidth_hz)?;
        if let Some(value) = params.bandwidth_hz.filter(|&it| it < 0.0) {
            return Err(TermsError::Number { term: "bandwidth", value });
        }
        let terms = Self(params);
        terms.at_responder(params.window).check_ranges()?;
        terms.check_payload()?;
        if let Some(RdmaOffer { slots: Some(slots), .. }) = &params.rdma {
            check_slots(slots, params.window, params.payload_bytes)?;
        }
        Ok(terms)
    }

    /// Reads and checks the terms of an ACCEPT. One that only describes a stream may leave out the
    /// window.
    ///
    /// # Errors
    /// Names the first term that is wrong, with its value.
    pub fn read(header: &Header, accept: &Accept<'_>) -> Result<Self, TermsError> {
        let params = AcceptParams::from_wire(header, accept)?;
        if accept.tag == Tag::NONE && params.window == 0 {
            let checked = Self::new(AcceptParams { window: 1, ..params })?;
            return Ok(Self(AcceptParams { window: 0, ..checked.0 }));
        }
        Self::new(params)
    }

    /// The terms of the open stream as one end has them; its own window is not checked.
    pub const fn at(&self, view: EndView) -> Terms {
        let params = &self.0;
        Terms {
            local_tag: view.local_tag,
            peer_tag: view.peer_tag,
            is_opener: view.is_opener,
            first_seq: params.first_seq,
            first_index: params.first_index,
            packet_samples: params.packet_samples,
            payload_bytes: params.payload_bytes,
            payload_offset: params.payload_offset,
            window: view.window,
            reorder_tolerance: params.reorder_tolerance,
            dead_after: Nanos::from_millis(params.dead_ms as u64),
            idle_after: Nanos::from_millis(params.idle_ms as u64),
            ranges_max: view.ranges_max,
            rtt: view.rtt,
            carriage: self.carriage(),
        }
    }

    /// How the packets of the stream travel.
    pub const fn carriage(&self) -> Carriage {
        if self.0.rdma.is_some() { Carriage::Rdma } else { Carriage::Data }
    }

    const fn at_responder(&self, window: u32) -> Terms {
        self.at(EndView {
            local_tag: Tag::NONE,
            peer_tag: Tag::NONE,
            is_opener: false,
            window,
            ranges_max: self.0.ranges_max,
            rtt: Nanos(0),
        })
    }

    /// Checks the payload against the samples in it; a format of a later version has samples of no
    /// known size.
    fn check_payload(&self) -> Result<(), TermsError> {
        let AcceptParams { packet_samples, payload_bytes, granularity_bytes, .. } = self.0;
        if granularity_bytes == 0
            || !granularity_bytes.is_multiple_of(8)
            || !payload_bytes.is_multiple_of(granularity_bytes)
        {
            return Err(TermsError::Granularity { granularity_bytes, payload_bytes });
        }
        let Some(frame_bytes) = self.frame_bytes() else { return Ok(()) };
        if u64::from(packet_samples) * u64::from(frame_bytes) != u64::from(payload_bytes) {
            let samples = (packet_samples, frame_bytes, payload_bytes);
            let (packet_samples, frame_bytes, payload_bytes) = samples;
            return Err(TermsError::PayloadOfSamples {
                packet_samples,
                frame_bytes,
                payload_bytes,
            });
        }
        if frame_bytes.next_multiple_of(8) + 8 > u32::from(payload_bytes) {
            return Err(TermsError::PayloadTooSmall { payload_bytes, frame_bytes });
        }
        Ok(())
    }

    /// Bytes of one sample of all channels; `None` for a format of a later version.
    pub fn frame_bytes(&self) -> Option<u32> {
        let format = Format::from_number(self.0.format)?;
        Some(format.sample_bytes() as u32 * u32::from(self.0.channels))
    }
}

impl Deref for StreamTerms {
    type Target = AcceptParams;

    fn deref(&self) -> &AcceptParams {
        &self.0
    }
}

/// Checks the slots of a receiver against its window and the payload (`docs/protocol.md#13.3`).
///
/// # Errors
/// They contradict each other.
pub(super) fn check_slots(
    slots: &SlotRegion,
    window: u32,
    payload_bytes: u16,
) -> Result<(), TermsError> {
    if slots.slots != window {
        return Err(TermsError::RdmaSlots { slots: slots.slots, window });
    }
    if slots.write_bytes(payload_bytes).is_none() {
        return Err(TermsError::RdmaSlotBytes { slot_bytes: slots.slot_bytes, payload_bytes });
    }
    Ok(())
}

/// Checks what samples are: a channel at least, and a rate that is a number or is not known (0).
///
/// # Errors
/// Names the term that is wrong, with its value.
pub const fn check_samples(
    channels: u16,
    numerator: u64,
    denominator: u32,
) -> Result<(), TermsError> {
    if channels == 0 {
        return Err(TermsError::Channels(channels));
    }
    if numerator > 0 && denominator == 0 {
        return Err(TermsError::Rate { numerator, denominator });
    }
    Ok(())
}

/// Checks a frequency in hertz or a gain in decibels, where it is known.
///
/// # Errors
/// Names the term when its value is infinite or not a number.
pub fn check_number(term: &'static str, value: Option<f64>) -> Result<(), TermsError> {
    match value.filter(|value| !value.is_finite()) {
        Some(value) => Err(TermsError::Number { term, value }),
        None => Ok(()),
    }
}
