//! How many packets a quantum holds.

use std::time::Duration;

/// Up to 64 KiB, so that one hand-over serves many packets; up to `hold_max` of the stream (at
/// `rate_hz`, 0 when it is not known), so that samples do not wait for their quantum to fill; and no
/// more than an eighth of the window, so that credit returns in steps.
pub(crate) fn packets(
    payload_bytes: usize,
    packet_samples: usize,
    (hold_max, rate_hz): (Duration, f64),
    window: u32,
) -> u32 {
    let by_size = (BYTES / payload_bytes) as u32;
    let in_time = rate_hz / packet_samples as f64 * hold_max.as_secs_f64();
    let by_time = if in_time > 0.0 { in_time as u32 } else { by_size };
    by_size.min(by_time).min(window / 8).max(1)
}

/// How long samples may wait for their quantum to fill, where nobody plays them.
pub(crate) const HOLD_MAX: Duration = Duration::from_millis(1);

const BYTES: usize = 65_536;

/// Quanta of a pool besides those that span the window: being filled or emptied, and in exchange.
pub(crate) const SPARE: usize = 3;

#[cfg(test)]
mod tests {
    use super::{HOLD_MAX, packets};

    #[test]
    fn size_time_and_window_bound_a_quantum() {
        assert_eq!(packets(8_000, 2_000, (HOLD_MAX, 0.0), 1_024), 8, "64 KiB");
        assert_eq!(packets(1_408, 352, (HOLD_MAX, 2e6), 1_024), 5, "1 ms");
        assert_eq!(packets(1_408, 352, (HOLD_MAX, 1e9), 64), 8, "an eighth of the window");
        assert_eq!(packets(8_896, 4_448, (HOLD_MAX, 2e6), 4), 1, "at least one");
    }
}
