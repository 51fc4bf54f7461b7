//! How many packets a quantum holds.

use std::time::Duration;

/// Up to 64 KiB, so that one hand-over serves many packets; up to `hold_max` of the stream (at
/// `rate_hz`, 0 when it is not known), so that samples do not wait for their quantum to fill; and no
/// more than [`packets_max`].
pub(crate) fn packets(
    payload_bytes: usize,
    packet_samples: usize,
    hold_max: Duration,
    rate_hz: f64,
    window: u32,
) -> u32 {
    let by_size = (BYTES / payload_bytes) as u32;
    let in_time = rate_hz / packet_samples as f64 * hold_max.as_secs_f64();
    let by_time = if in_time > 0.0 { in_time as u32 } else { by_size };
    by_size.min(by_time).min(packets_max(window)).max(1)
}

/// An eighth of the window, so that credit returns in steps; of a small one, whose step is the half, a
/// quarter: what goes from hand to hand is a quantum, and with a thousand such windows its bookkeeping
/// comes from memory each time.
pub(crate) fn packets_max(window: u32) -> u32 {
    (window / 8).max((window / 4).min(SMALL_PACKETS)).max(1)
}

/// How long samples may wait for their quantum to fill, unless they are played.
pub(crate) const HOLD_MAX: Duration = Duration::from_millis(1);

const BYTES: usize = 65_536;

/// Up to so many a quantum takes a quarter of the window.
const SMALL_PACKETS: u32 = 8;

/// How many quanta a pool has: those that span the window, and spare ones, which are being filled or
/// emptied, or in exchange. A small window has as many spare as span it, so that all of it is followed
/// at once, and not in parts that each cost a visit and a REPORT.
pub(crate) fn of_window(window: u32, quantum_packets: u32) -> usize {
    let spanning = window.div_ceil(quantum_packets) as usize;
    spanning + spanning.clamp(SPARE_MIN, SPARE_MAX)
}

const SPARE_MIN: usize = 3;
const SPARE_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::{HOLD_MAX, of_window, packets};

    #[test]
    fn size_time_and_window_bound_a_quantum() {
        assert_eq!(packets(8_000, 2_000, HOLD_MAX, 0.0, 1_024), 8, "64 KiB");
        assert_eq!(packets(1_408, 352, HOLD_MAX, 2e6, 1_024), 5, "1 ms");
        assert_eq!(packets(1_408, 352, HOLD_MAX, 1e9, 64), 8, "an eighth of the window");
        for (window, quantum_packets) in [(8, 2), (16, 4), (32, 8), (64, 8), (80, 10)] {
            assert_eq!(packets(1_408, 352, HOLD_MAX, 1e9, window), quantum_packets, "{window}");
        }
        assert_eq!(packets(8_896, 4_448, HOLD_MAX, 2e6, 3), 1, "at least one");
    }

    #[test]
    fn small_window_has_as_many_quanta_again() {
        assert_eq!(of_window(1, 1), 1 + 3);
        assert_eq!(of_window(8, 1), 8 + 8);
        assert_eq!(of_window(40, 5), 8 + 8);
        assert_eq!(of_window(4_096, 8), 512 + 8);
    }
}
