//! Counters of links; see `docs/statistics.md`.
//!
//! Written by `python3 tools/statistics.py` from `statistics.toml`; not edited by hand.

/// Errors of a link that ended nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// Packets that the system refused to send, of all streams of the port; they are lost.
    pub send_errors: u64,
    /// Receives and waits of the port that the system refused; nothing is lost.
    pub receive_errors: u64,
}

/// What this host dropped of a stream before its socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDropCounts {
    /// Frames that the network card dropped of the stream's queue, those of other flows included.
    pub nic_dropped: u64,
    /// Packets of the stream that the kernel dropped before the socket; 0 where they are not
    /// counted.
    pub kernel_dropped: u64,
}

/// Frames of a link without a kernel behind it that carried no packet of its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames to other stations, and those that are neither ARP nor IPv4.
    pub others: u64,
    /// Packets to other ports of the address, and those that are neither UDP nor echo requests.
    pub other_ports: u64,
    /// IPv4 fragments to the address.
    pub fragments: u64,
    /// Frames to the address with a wrong checksum of IP, UDP or ICMP.
    pub checksums: u64,
    /// Frames that were cut, or whose lengths contradict each other.
    pub malformed: u64,
    /// Packets to the port and ARP messages from an address that no other station can have.
    pub sources: u64,
    /// ARP requests and echo requests that were answered.
    pub answered: u64,
    /// ARP requests and echo requests beyond the limit of answers, or whose answer found no room.
    pub unanswered: u64,
    /// Packets to stations that have not answered ARP; they are lost.
    pub unresolved: u64,
}

/// Packets of one direction, by what the fault layer did to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Packets that entered the layer.
    pub packets: u64,
    /// Packets lost.
    pub lost: u64,
    /// Packets lost because the queue before the slowest hop (`rate=`) was full.
    pub queue_full: u64,
    /// Packets with changed bytes.
    pub corrupted: u64,
    /// Packets that arrived twice.
    pub duplicated: u64,
    /// Packets that later ones overtook.
    pub reordered: u64,
    /// Packets held for delay or rate; not in the list of entries.
    pub delayed: u64,
    /// Packets not held: the hold queue was full, or they were too long.
    pub undelayed: u64,
    /// Held packets that the system then refused to send.
    pub refused: u64,
}

impl FaultCounts {
    /// The counts since `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            lost: self.lost - before.lost,
            queue_full: self.queue_full - before.queue_full,
            corrupted: self.corrupted - before.corrupted,
            duplicated: self.duplicated - before.duplicated,
            reordered: self.reordered - before.reordered,
            delayed: self.delayed - before.delayed,
            undelayed: self.undelayed - before.undelayed,
            refused: self.refused - before.refused,
        }
    }
}

/// How much of the traffic is in a capture file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    /// Packets in the file.
    pub written: u64,
    /// Packets missing in the file: the writer was too slow or failed.
    pub skipped: u64,
}
