//! What a stream demands of a host: every limit is computed from these numbers.

use std::time::Duration;

use samplewire_proto::wire::{HEADER_LEN, TRAILER_LEN};

/// The stream that a host must carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    /// Samples per second.
    pub(super) rate_hz: f64,
    /// Bytes of a sample of all channels.
    pub(super) sample_bytes: f64,
    /// Samples in a packet, in bytes.
    pub(super) payload_bytes: f64,
    /// The longest pause of the I/O thread that must lose nothing.
    pub(super) stall: Duration,
    /// Packets of the stream's window.
    pub(super) window_packets: f64,
}

impl Demand {
    /// The payload of the packets that a device sends into this MTU.
    pub(super) fn payload_of_mtu(mtu_bytes: u64) -> f64 {
        let headers = IP_UDP_BYTES + HEADER_LEN as u64 + TRAILER_LEN as u64;
        let room = mtu_bytes.min(MTU_BYTES_MAX).saturating_sub(headers);
        (room / PAYLOAD_STEP_BYTES * PAYLOAD_STEP_BYTES).max(PAYLOAD_STEP_BYTES) as f64
    }

    /// Bytes of samples per second.
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.rate_hz * self.sample_bytes
    }

    /// Packets per second.
    pub(super) fn packets_per_s(&self) -> f64 {
        self.bytes_per_s() / self.payload_bytes
    }

    /// Bits per second on the wire, with all headers, preamble and the gap between frames.
    pub(super) fn wire_bits_per_s(&self) -> f64 {
        self.packets_per_s() * (self.frame_bytes() + WIRE_BYTES) * 8.0
    }

    /// Bytes of a frame without its FCS.
    pub(super) fn frame_bytes(&self) -> f64 {
        let headers = IP_UDP_BYTES as usize + HEADER_LEN + TRAILER_LEN;
        self.payload_bytes + headers as f64 + ETHERNET_BYTES
    }

    /// Bytes that the kernel charges to a socket for a packet that waits: the frame and its
    /// `skb_shared_info` in a power of two, and an `sk_buff`.
    pub(super) fn charged_bytes(&self) -> f64 {
        let bytes = self.frame_bytes() as u64 + SHARED_INFO_BYTES;
        (bytes.next_power_of_two() + SK_BUFF_BYTES) as f64
    }

    /// Packets that arrive in a time.
    pub(super) fn packets_in(&self, time: Duration) -> f64 {
        (self.packets_per_s() * time.as_secs_f64()).ceil()
    }

    /// Bytes that a socket must hold while the I/O thread pauses.
    pub(super) fn stall_bytes(&self) -> f64 {
        self.packets_in(self.stall) * self.charged_bytes()
    }

    /// Bytes of samples in the window.
    pub(super) fn window_bytes(&self) -> f64 {
        self.window_packets * self.payload_bytes
    }

    /// Cores that receiving takes, if no packets are joined.
    pub(super) fn cores(&self) -> f64 {
        self.packets_per_s() * self.packet_cost_s()
    }

    /// CPU time for a packet from its arrival to the program: `docs/performance.md`, a line through
    /// its two packet sizes.
    fn packet_cost_s(&self) -> f64 {
        let per_byte = (COST_LARGE.1 - COST_SMALL.1) / (COST_LARGE.0 - COST_SMALL.0);
        let nanos = COST_SMALL.1 + (self.payload_bytes - COST_SMALL.0) * per_byte;
        nanos.max(COST_LEAST_NS) * 1e-9
    }
}

/// The time for which a card's ring and a CPU's backlog must hold packets: the kernel may defer its
/// network work by one tick of 1,000 Hz.
pub(super) const SOFTIRQ_STALL: Duration = Duration::from_millis(1);

/// Payload bytes of a packet, and ns of CPU time for arrival, receiver and program (AMD EPYC, veth).
const COST_SMALL: (f64, f64) = (1_408.0, 1_915.0);
const COST_LARGE: (f64, f64) = (8_896.0, 4_725.0);
/// Small packets cost no less than this: the part without the copies.
const COST_LEAST_NS: f64 = 1_400.0;

const MTU_BYTES_MAX: u64 = 9_000;
const IP_UDP_BYTES: u64 = 28;
const ETHERNET_BYTES: f64 = 14.0;
/// Preamble, FCS and the gap between frames.
const WIRE_BYTES: f64 = 24.0;
/// A device fills packets in steps.
const PAYLOAD_STEP_BYTES: u64 = 64;
/// On 64-bit machines, as SKB_TRUESIZE of Linux counts them.
const SHARED_INFO_BYTES: u64 = 320;
const SK_BUFF_BYTES: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_of_both_usual_mtus_is_that_of_a_device() {
        assert_eq!(Demand::payload_of_mtu(1_500), 1_408.0);
        assert_eq!(Demand::payload_of_mtu(9_000), 8_896.0);
        assert_eq!(Demand::payload_of_mtu(u64::MAX), 8_896.0);
        assert_eq!(Demand::payload_of_mtu(0), 64.0);
    }

    #[test]
    fn demand_follows_from_rate_packet_and_stall() {
        let demand = Demand {
            rate_hz: 250e6,
            sample_bytes: 4.0,
            payload_bytes: 1_408.0,
            stall: Duration::from_millis(5),
            window_packets: 1_024.0,
        };
        assert_eq!(demand.packets_per_s().round(), 710_227.0);
        assert_eq!(demand.charged_bytes(), 2_304.0);
        assert_eq!(demand.stall_bytes(), 3_552.0 * 2_304.0);
        assert!((demand.wire_bits_per_s() / 8.5e9 - 1.0).abs() < 0.01);
        assert!((demand.cores() - 1.36).abs() < 0.01);
    }

    #[test]
    fn cost_of_a_packet_is_that_of_the_manual() {
        let manual = include_str!("../../../../docs/performance.md");
        let arrival =
            "| arrival, up to the receiver's socket | 662 (648..699) | 1,133 (935..1,209) |";
        assert!(manual.contains(arrival));
        for row in
            ["| **receiver** | **1,170** | **3,055** |", "| **program** | **83** | **537** |"]
        {
            assert!(manual.contains(row), "{row}");
        }
        let sums = (662.0 + 1_170.0 + 83.0, 1_133.0 + 3_055.0 + 537.0);
        assert_eq!((COST_SMALL.1, COST_LARGE.1), sums);
    }
}
