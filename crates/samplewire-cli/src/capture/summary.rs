//! The totals of a capture.

use std::collections::BTreeMap;

use samplewire_roce::wire::{Opcode, WireError};

use super::block::BlockSighting;
use super::names;
use super::packet::{Crc, Decoded, Fault};
use super::roce::RoceSighting;
use crate::figures::grouped;

/// Counts of a capture.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(super) frames: u64,
    /// Frames without a datagram, or of another port.
    pub(super) others: u64,
    pub(super) fragments: u64,
    /// Datagrams without a packet of the protocol.
    pub(super) foreign: u64,
    /// Those that were not captured whole.
    pub(crate) foreign_cut: u64,
    /// Datagrams that held several packets.
    pub(super) runs: u64,
    pub(super) packets_of_runs: u64,
    /// Frames with an unsupported link type, by type.
    pub(super) links: BTreeMap<u16, u64>,
    valid: BTreeMap<u8, u64>,
    /// Valid RoCEv2 packets, by opcode.
    roce: BTreeMap<u8, u64>,
    /// Valid frames of the block transfer, by type.
    block: BTreeMap<&'static str, u64>,
    faults: BTreeMap<&'static str, u64>,
    /// Invalid packets with a valid CRC: errors of the sender.
    sealed_faults: u64,
}

impl Summary {
    /// Counts a packet.
    pub(super) fn count(&mut self, packet: &Decoded<'_>) {
        let Err(fault) = packet.body else {
            *self.valid.entry(packet.type_number().unwrap_or_default()).or_default() += 1;
            return;
        };
        *self.faults.entry(fault_words(fault)).or_default() += 1;
        self.sealed_faults += u64::from(packet.crc == Crc::Right);
    }

    /// Counts a RoCEv2 packet.
    pub(super) fn count_roce(&mut self, sighting: &RoceSighting<'_>) {
        match (sighting.error(), sighting.bth()) {
            (None, Some(bth)) => *self.roce.entry(bth.opcode as u8).or_default() += 1,
            (Some(WireError::Icrc), _) => *self.faults.entry("with a bad icrc").or_default() += 1,
            _ => *self.faults.entry("of malformed RoCE").or_default() += 1,
        }
    }

    /// Counts a frame of the block transfer.
    pub(super) fn count_block(&mut self, sighting: &BlockSighting<'_>) {
        match sighting.kind() {
            Some(kind) => *self.block.entry(kind).or_default() += 1,
            None => *self.faults.entry("of the block transfer").or_default() += 1,
        }
    }

    /// Number of packets found, valid or not.
    pub(crate) fn packets(&self) -> u64 {
        let valid = self.valid.values().chain(self.roce.values()).chain(self.block.values());
        valid.chain(self.faults.values()).sum()
    }

    /// The counts in lines for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let packets = self.packets();
        let head = format!("{} frames, {} packets", grouped(self.frames), grouped(packets));
        let mut lines = vec![head];
        let valid: Vec<_> = self
            .valid
            .iter()
            .map(|(number, count)| {
                format!("{} {}", names::of_type(*number).unwrap_or("?"), grouped(*count))
            })
            .collect();
        if !valid.is_empty() {
            lines.push(format!("  valid      {}", valid.join(", ")));
        }
        let roce: Vec<_> = self
            .roce
            .iter()
            .filter_map(|(number, count)| Some((Opcode::from_number(*number)?, count)))
            .map(|(opcode, count)| format!("{} {}", opcode.name(), grouped(*count)))
            .collect();
        if !roce.is_empty() {
            lines.push(format!("  roce       {}", roce.join(", ")));
        }
        let block: Vec<_> =
            self.block.iter().map(|(kind, count)| format!("{kind} {}", grouped(*count))).collect();
        if !block.is_empty() {
            lines.push(format!("  block      {}", block.join(", ")));
        }
        let bad: Vec<_> = self
            .faults
            .iter()
            .map(|(words, count)| format!("{} {words}", grouped(*count)))
            .collect();
        if !bad.is_empty() {
            lines.push(format!(
                "  bad        {}; {} of them with a right crc",
                bad.join(", "),
                grouped(self.sealed_faults)
            ));
        }
        if self.runs > 0 {
            lines.push(format!(
                "  joined     {} datagrams held {} packets: the kernel splits or joins them \
                 beneath the capture",
                grouped(self.runs),
                grouped(self.packets_of_runs)
            ));
        }
        if self.foreign + self.others + self.fragments > 0 {
            lines.push(format!(
                "  not ours   {} datagrams, {} fragments, {} frames of other kinds",
                grouped(self.foreign),
                grouped(self.fragments),
                grouped(self.others)
            ));
        }
        for (link, frames) in &self.links {
            lines.push(format!("  not read   {} frames of link type {link}", grouped(*frames)));
        }
        lines
    }
}

/// The fault as a class of packets.
fn fault_words(fault: Fault) -> &'static str {
    match fault.name() {
        "TooShort" => "too short",
        "Version" => "of another version",
        "UnknownType" => "of an unknown type",
        "ReservedFlag" => "with the reserved flag",
        "Crc" => "with a bad crc",
        "Cut" => "cut off by the capture",
        _ => "malformed",
    }
}
