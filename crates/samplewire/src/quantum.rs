//! How many packets a quantum holds.

/// Up to 64 KiB, so that one hand-over serves many packets; up to 1 ms of the stream (`rate_hz`, 0
/// when it is not known), so that samples do not wait for their quantum to fill; and no more than
/// an eighth of the window, so that credit returns in steps.
pub(crate) fn packets(
    payload_bytes: usize,
    packet_samples: usize,
    rate_hz: f64,
    window: u32,
) -> u32 {
    let by_size = (BYTES / payload_bytes) as u32;
    let packets_per_ms = rate_hz / packet_samples as f64 / 1_000.0;
    let by_time = if packets_per_ms > 0.0 { packets_per_ms as u32 } else { by_size };
    by_size.min(by_time).min(window / 8).max(1)
}

const BYTES: usize = 65_536;

/// Quanta of a pool besides those that span the window: being filled or emptied, and in exchange.
pub(crate) const SPARE: usize = 3;

#[cfg(test)]
mod tests {
    use super::packets;

    #[test]
    fn size_time_and_window_bound_a_quantum() {
        assert_eq!(packets(8_000, 2_000, 0.0, 1_024), 8, "64 KiB");
        assert_eq!(packets(1_408, 352, 2e6, 1_024), 5, "1 ms");
        assert_eq!(packets(1_408, 352, 1e9, 64), 8, "an eighth of the window");
        assert_eq!(packets(8_896, 4_448, 2e6, 4), 1, "at least one");
    }
}
