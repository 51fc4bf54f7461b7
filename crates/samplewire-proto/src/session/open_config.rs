//! What the user of an opener may choose.

use super::{Peer, Secrets};
use crate::number::{Nanos, SampleIndex, Seq, Tag};
use crate::out_of_range::{OutOfRange, WINDOW_RANGE};
use crate::stream::Underflow;
use crate::wire::{
    HEADER_LEN, RECORD_LEN, RdmaOffer, Role, TRAILER_LEN, TlvKind, TlvWriter, Tlvs, record_at,
};

/// What to open, and how long to try.
#[derive(Clone, Copy, Debug)]
pub struct OpenConfig {
    pub(super) role: Role,
    pub(super) stream: u16,
    pub(super) owner: u64,
    pub(super) delivery: u8,
    pub(super) deadline_us: u32,
    pub(super) window: u32,
    pub(super) packet_bytes_max: u16,
    pub(super) ip_overhead: u16,
    pub(super) pad: u8,
    pub(super) start_index: SampleIndex,
    pub(super) first_seq: Seq,
    pub(super) timeout: Nanos,
    ranges_max: u16,
    underflow: Underflow,
    tag_slot: u16,
    tag_slots: u16,
    pub(super) rdma: Option<RdmaOffer>,
}

impl OpenConfig {
    /// Opens the device's stream of number `stream`. `owner` names the program or installation:
    /// an opening by the same owner takes the stream over at once, another is refused while the
    /// stream is open.
    pub const fn new(role: Role, stream: u16, owner: u64) -> Self {
        Self {
            role,
            stream,
            owner,
            delivery: 0,
            deadline_us: 0,
            window: 1024,
            packet_bytes_max: 9_000,
            ip_overhead: Peer::V4_OVERHEAD,
            pad: 0,
            start_index: 0,
            first_seq: Seq(0),
            timeout: Nanos::from_millis(3_000),
            ranges_max: RANGES_MAX_DEFAULT,
            underflow: Underflow::Zeros,
            tag_slot: 0,
            tag_slots: 1,
            rdma: None,
        }
    }

    /// What is requested: to receive, to send, or a description.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The number of the stream.
    pub const fn stream(&self) -> u16 {
        self.stream
    }

    /// Whether the delivery is complete.
    pub const fn is_complete(&self) -> bool {
        self.delivery == 0
    }

    /// How many packets this end takes or holds.
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// From slot to slot of an opener that receives over RDMA: room for the payload of the largest packet
    /// and its record (`docs/protocol.md#13.3`). The device chooses a payload after it knows the slots.
    pub fn slot_bytes(&self) -> u32 {
        let headers = self.ip_overhead + (HEADER_LEN + TRAILER_LEN) as u16;
        (record_at(self.packet_bytes_max - headers) + RECORD_LEN) as u32
    }

    /// Another stream of the device.
    pub const fn with_stream(mut self, stream: u16) -> Self {
        self.stream = stream;
        self
    }

    /// How the receiver will deliver: 0 complete (the default), 1 by a deadline, 2 best effort;
    /// the deadline in microseconds, 0 when there is none.
    pub const fn with_delivery(mut self, delivery: u8, deadline_us: u32) -> Self {
        self.delivery = delivery;
        self.deadline_us = deadline_us;
        self
    }

    /// How many packets this end takes or holds, 1 to 2^24; default 1024. More rides over longer
    /// round trips, and costs memory.
    ///
    /// # Errors
    /// The window is out of range.
    pub const fn with_window(mut self, window: u32) -> Result<Self, OpenConfigError> {
        if window == 0 || window > crate::stream::WINDOW_MAX {
            return Err(OpenConfigError::Window(window));
        }
        self.window = window;
        Ok(self)
    }

    /// The largest IP packet to try, headers included, from 576; default 9000. A path that
    /// carries less costs three lost tries, at least 140 ms, for each of 9000, 4096, 1500 and 1280
    /// that is too large.
    ///
    /// # Errors
    /// The size is out of range.
    pub const fn with_packet_bytes_max(mut self, bytes: u16) -> Result<Self, OpenConfigError> {
        if bytes < PACKET_BYTES_MIN {
            return Err(OpenConfigError::PacketBytes(bytes));
        }
        self.packet_bytes_max = bytes;
        Ok(self)
    }

    /// The bytes of IP and UDP headers, 28 (IPv4, the default) to 128; see [`Peer::ip_overhead`].
    ///
    /// # Errors
    /// The overhead is out of range.
    pub const fn with_ip_overhead(mut self, bytes: u16) -> Result<Self, OpenConfigError> {
        if bytes < Peer::V4_OVERHEAD || bytes > IP_OVERHEAD_MAX {
            return Err(OpenConfigError::IpOverhead(bytes));
        }
        self.ip_overhead = bytes;
        Ok(self)
    }

    /// How many bytes the receiver wishes between header and payload, default 0.
    pub const fn with_pad(mut self, bytes: u8) -> Self {
        self.pad = bytes;
        self
    }

    /// The index at which the stream is to start; default 0, at once.
    pub const fn with_start_index(mut self, index: SampleIndex) -> Self {
        self.start_index = index;
        self
    }

    /// The seq of the first packet, when the opener sends; default 0.
    pub const fn with_first_seq(mut self, seq: Seq) -> Self {
        self.first_seq = seq;
        self
    }

    /// How many ranges of a REPORT this end takes when it sends, from 1; default 32. More repairs
    /// more holes a round trip.
    pub const fn with_ranges_max(mut self, ranges_max: u16) -> Self {
        self.ranges_max = if ranges_max == 0 { 1 } else { ranges_max };
        self
    }

    /// What the device is to do when samples are not there in time; default zeros.
    pub const fn with_underflow(mut self, underflow: Underflow) -> Self {
        self.underflow = underflow;
        self
    }

    /// Requests a stream over RDMA; the slots of an opener that receives are as many as its window. An
    /// opener that sends has none: they are left out. The listener may open a stream of DATA instead
    /// (`docs/protocol.md#13.1`).
    pub const fn with_rdma(mut self, offer: RdmaOffer) -> Self {
        self.rdma = Some(offer);
        self
    }

    /// Puts the opener's stream at place `slot` of a table of `slots` streams, at most 4,096: the low
    /// bits of its tag say so (`docs/protocol.md#1.6`). Default: the one stream of a port.
    ///
    /// # Panics
    /// When the table has no such place, or is larger.
    pub const fn with_tag_slot(mut self, slot: u16, slots: u16) -> Self {
        assert!(slot < slots && slots <= 4_096, "a table has places for 4,096 streams at most");
        (self.tag_slot, self.tag_slots) = (slot, slots);
        self
    }

    pub(super) fn draw_tag(&self, secrets: &mut Secrets) -> Tag {
        secrets.tag_of(self.tag_slot.into(), u32::from(self.tag_slots.next_power_of_two()) - 1)
    }

    /// What an OPEN says besides its fields.
    pub(super) fn tlvs<'b>(&self, buf: &'b mut [u8; TLVS_LEN_MAX]) -> Tlvs<'b> {
        let mut tlvs = TlvWriter::new(buf);
        if self.role == Role::Send {
            tlvs = tlvs
                .push(TlvKind::RANGES, &self.ranges_max.to_be_bytes())
                .push(TlvKind::UNDERFLOW, &[self.underflow.number()]);
        }
        if let Some(offer) = &self.rdma {
            let slots = offer.slots.filter(|_| self.role != Role::Send);
            tlvs = RdmaOffer { slots, ..*offer }.push(tlvs);
        }
        tlvs.finish()
    }

    /// How long to try, 1 ms to 1 h; default 3 s. Shorter than 1 s may take lost packets for an
    /// absent peer.
    ///
    /// # Errors
    /// The time is out of range.
    pub const fn with_timeout(mut self, timeout: Nanos) -> Result<Self, OpenConfigError> {
        if timeout.0 < TIMEOUT_MIN.0 || timeout.0 > TIMEOUT_MAX.0 {
            return Err(OpenConfigError::Timeout(timeout.0));
        }
        self.timeout = timeout;
        Ok(self)
    }
}

/// A choice out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenConfigError {
    /// See [`OpenConfig::with_window`].
    #[error("{}", OutOfRange("window", .0, WINDOW_RANGE))]
    Window(u32),
    /// See [`OpenConfig::with_packet_bytes_max`].
    #[error("{}", OutOfRange("ip packet size", .0, "576 bytes or more"))]
    PacketBytes(u16),
    /// See [`OpenConfig::with_ip_overhead`].
    #[error("{}", OutOfRange("ip overhead", .0, "28 to 128 bytes"))]
    IpOverhead(u16),
    /// See [`OpenConfig::with_timeout`].
    #[error("timeout {0} ns: must be 1 ms to 1 h")]
    Timeout(u64),
}

/// What every IPv4 path carries unfragmented to a host (RFC 791).
pub(super) const PACKET_BYTES_MIN: u16 = 576;
const IP_OVERHEAD_MAX: u16 = 128;

/// What an opener that sends takes unless its OPEN says otherwise.
pub(super) const RANGES_MAX_DEFAULT: u16 = 32;

/// The TLVs of an OPEN in bytes: a `u16` and a `u8`, 4 bytes more for each, and those of RDMA.
pub(super) const TLVS_LEN_MAX: usize = (4 + 2) + (4 + 1) + RdmaOffer::TLVS_LEN_MAX;

const TIMEOUT_MIN: Nanos = Nanos::from_millis(1);
const TIMEOUT_MAX: Nanos = Nanos::from_millis(3_600_000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SlotRegion;

    #[test]
    fn choices_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
        let config = OpenConfig::new(Role::Receive, 0, 1);
        for window in [1, 1 << 24] {
            assert_eq!(config.with_window(window).map(|c| c.window), Ok(window));
        }
        for window in [0, (1 << 24) + 1] {
            assert_eq!(config.with_window(window).err(), Some(OpenConfigError::Window(window)));
        }
        assert_eq!(config.with_packet_bytes_max(576).map(|c| c.packet_bytes_max), Ok(576));
        let below = config.with_packet_bytes_max(575).err();
        assert_eq!(below, Some(OpenConfigError::PacketBytes(575)));
        for bytes in [28, 128] {
            assert_eq!(config.with_ip_overhead(bytes).map(|c| c.ip_overhead), Ok(bytes));
        }
        for bytes in [27, 129] {
            let refused = config.with_ip_overhead(bytes).err();
            assert_eq!(refused, Some(OpenConfigError::IpOverhead(bytes)));
        }
        let (least, most) = (Nanos::from_millis(1), Nanos::from_millis(3_600_000));
        for timeout in [least, most] {
            assert_eq!(config.with_timeout(timeout).map(|c| c.timeout), Ok(timeout));
        }
        for timeout in [least - Nanos(1), most + Nanos(1)] {
            let refused = config.with_timeout(timeout).err();
            assert_eq!(refused, Some(OpenConfigError::Timeout(timeout.0)));
        }
    }

    /// `docs/protocol.md#13.3`
    #[test]
    fn slot_holds_the_payload_of_the_largest_packet_and_no_more() {
        for (packet_bytes, slot_bytes) in [(576, 640), (1_500, 1_536), (4_200, 4_224)] {
            let config = OpenConfig::new(Role::Receive, 0, 1);
            let config = config.with_packet_bytes_max(packet_bytes).unwrap();
            assert_eq!(config.slot_bytes(), slot_bytes, "{packet_bytes}");
            let region = SlotRegion { address: 0, rkey: 0, slot_bytes, slots: 1 };
            let payload_bytes = packet_bytes - 28 - 22 - 4;
            assert!(region.write_bytes(payload_bytes).is_some());
            assert!(region.write_bytes(payload_bytes + 64).is_none());
        }
        let config = OpenConfig::new(Role::Receive, 0, 1);
        assert_eq!(config.with_packet_bytes_max(u16::MAX).unwrap().slot_bytes(), 65_600);
    }

    #[test]
    fn smallest_packet_holds_an_open_under_the_largest_overhead() {
        let udp_bytes = PACKET_BYTES_MIN - IP_OVERHEAD_MAX;
        assert!(usize::from(udp_bytes) >= crate::wire::OPEN_LEN_MIN);
    }
}
