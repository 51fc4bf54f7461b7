//! The state that later packets need: which ports use the protocol, and the lengths of their
//! packets and samples.

use std::collections::HashMap;
use std::net::SocketAddr;

use samplewire_proto::Tag;
use samplewire_proto::session::StreamTerms;
use samplewire_proto::wire::{Accept, Flags, HEADER_LEN, Header, Packet};

use super::datagram::Datagram;

/// The state of a capture. Each of its maps holds [`ENTRIES_MAX`]; further entries are ignored.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// The packet length of the last run, 0 before the first, for ports with a valid CRC.
    runs: HashMap<(SocketAddr, SocketAddr), usize>,
    terms: HashMap<(SocketAddr, Tag), Terms>,
}

/// The terms of a stream that its DATA needs, from its ACCEPT.
#[derive(Clone, Copy, Debug)]
struct Terms {
    sample_bytes: usize,
    pad_bytes: usize,
}

impl Flows {
    /// Whether a packet with a valid CRC has passed between these two ports.
    pub(super) fn is_known(&self, datagram: &Datagram<'_>) -> bool {
        self.runs.contains_key(&key(datagram))
    }

    /// The packet length of the last run between these two ports.
    pub(super) fn run(&self, datagram: &Datagram<'_>) -> Option<usize> {
        self.runs.get(&key(datagram)).copied().filter(|&len| len > 0)
    }

    /// Records that these two ports use the protocol, and the packet length of a run, if any.
    pub(super) fn learn(&mut self, datagram: &Datagram<'_>, run: Option<usize>) {
        let key = key(datagram);
        if let Some(len) = self.runs.get_mut(&key) {
            *len = run.unwrap_or(*len);
        } else if self.runs.len() < ENTRIES_MAX {
            self.runs.insert(key, run.unwrap_or(0));
        }
    }

    /// Records the terms of a stream, unless they contradict each other. Its DATA goes to the end
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

    /// The number of samples in a DATA packet, if it is known (`docs/protocol.md#6.5`).
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

/// Takes several tens of megabytes; a capture of a session needs far less.
const ENTRIES_MAX: usize = 1 << 18;
