//! A frame that a sender has to send.

use core::ops::Range;

use crate::block::wire::{Body, Frame, Header, Summary};

/// A frame to send; the caller has the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub(super) header: Header,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data { seq: u32, payload: Range<u64> },
    Summary(Summary),
}

impl Transmit {
    /// The seq of DATA, `None` for a summary.
    pub const fn seq(&self) -> Option<u32> {
        match &self.kind {
            Kind::Data { seq, .. } => Some(*seq),
            Kind::Summary(_) => None,
        }
    }

    /// Which bytes of the transfer it carries, `None` for a summary.
    pub fn payload(&self) -> Option<Range<u64>> {
        match &self.kind {
            Kind::Data { payload, .. } => Some(payload.clone()),
            Kind::Summary(_) => None,
        }
    }

    /// Writes the frame with its padding and returns its length. `payload` are the bytes of
    /// [`Transmit::payload`]; a summary ignores it.
    ///
    /// # Panics
    /// When `out` is shorter than the frame or the payload has another length.
    pub fn emit(&self, payload: &[u8], out: &mut [u8]) -> usize {
        let body = match &self.kind {
            Kind::Data { seq, payload: at } => {
                assert_eq!(payload.len() as u64, at.end - at.start, "the bytes of the packet");
                Body::Data { seq: *seq, payload }
            }
            Kind::Summary(summary) => Body::Summary(*summary),
        };
        Frame { header: self.header, body }.emit(out)
    }

    /// Writes the frame around a payload that is in its place in `out`, as in a received frame of the
    /// same packet and a header of the same types. Returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than the frame.
    pub fn emit_in_place(&self, out: &mut [u8]) -> usize {
        match &self.kind {
            Kind::Data { seq, payload } => {
                self.header.emit_data_in_place(*seq, (payload.end - payload.start) as usize, out)
            }
            Kind::Summary(_) => self.emit(&[], out),
        }
    }
}
