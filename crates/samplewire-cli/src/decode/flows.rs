//! What earlier packets tell of later ones: which ports speak our protocol, how long the packets of
//! their runs are, how long their samples.

use std::collections::HashMap;
use std::net::SocketAddr;

use samplewire_proto::Tag;
use samplewire_proto::session::StreamTerms;
use samplewire_proto::wire::{Accept, Flags, HEADER_LEN, Header, Packet};

use super::datagram::Datagram;

/// The memory of a capture. Its maps take [`ENTRIES_MAX`] each; what comes then is not remembered.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// The length of the last run's packets, 0 before one, for ports where a CRC was right.
    runs: HashMap<(SocketAddr, SocketAddr), usize>,
    terms: HashMap<(SocketAddr, Tag), Terms>,
}

/// What an ACCEPT says of the DATA of its stream.
#[derive(Clone, Copy, Debug)]
struct Terms {
    sample_bytes: usize,
    pad_bytes: usize,
}

impl Flows {
    /// Whether a packet with a right CRC has passed between these two.
    pub(super) fn is_known(&self, datagram: &Datagram<'_>) -> bool {
        self.runs.contains_key(&key(datagram))
    }

    /// The length of the packets in the last run between these two.
    pub(super) fn run(&self, datagram: &Datagram<'_>) -> Option<usize> {
        self.runs.get(&key(datagram)).copied().filter(|&len| len > 0)
    }

    /// Remembers that these two speak our protocol, in runs of packets of such a length if any.
    pub(super) fn learn(&mut self, datagram: &Datagram<'_>, run: Option<usize>) {
        let key = key(datagram);
        if let Some(len) = self.runs.get_mut(&key) {
            *len = run.unwrap_or(*len);
        } else if self.runs.len() < ENTRIES_MAX {
            self.runs.insert(key, run.unwrap_or(0));
        }
    }

    /// Remembers the terms of a stream, unless they contradict each other: its DATA goes to the end
    /// that chose the tag.
    pub(super) fn learn_terms(
        &mut self,
        datagram: &Datagram<'_>,
        header: &Header,
        accept: &Accept<'_>,
    ) {
        let Ok(terms) = StreamTerms::read(header, accept) else { return };
        let Some(sample_bytes) = terms.frame_bytes().filter(|_| accept.tag != Tag::NONE) else {
            return;
        };
        let pad_bytes = usize::from(terms.payload_offset) - HEADER_LEN;
        let terms = Terms { sample_bytes: sample_bytes as usize, pad_bytes };
        for key in [(datagram.destination, header.tag), (datagram.source, accept.tag)] {
            if self.terms.len() < ENTRIES_MAX {
                self.terms.insert(key, terms);
            }
        }
    }

    /// How many samples a DATA packet has, as far as is known (`docs/protocol.md#6.5`).
    pub(super) fn samples(
        &self,
        datagram: &Datagram<'_>,
        header: &Header,
        packet: &Packet<'_>,
    ) -> Option<u64> {
        let Packet::Data(body) = packet else { return None };
        if header.flags.contains(Flags::META) {
            return None;
        }
        if header.flags.contains(Flags::END_OF_BURST) {
            return body.last_chunk().map(|count| u64::from_be_bytes(*count));
        }
        let terms = self.terms.get(&(datagram.destination, header.tag))?;
        Some((body.len().saturating_sub(terms.pad_bytes) / terms.sample_bytes) as u64)
    }
}

/// The two ports in one order for both directions.
fn key(datagram: &Datagram<'_>) -> (SocketAddr, SocketAddr) {
    let Datagram { source, destination, .. } = *datagram;
    (source.min(destination), source.max(destination))
}

/// Some tens of megabytes; no capture of a session comes near.
const ENTRIES_MAX: usize = 1 << 18;
