//! Which packets leave as one message: UDP_SEGMENT cuts a message into packets of equal length,
//! the last of which may be shorter.

use crate::link::Outgoing;

/// How many of `packets`, from the first on, one message can carry: 1 to [`SEGMENTS_MAX`].
///
/// They go to one peer with the same ECN bits and the same length; the last may be shorter, but
/// not empty. Their bytes are [`MESSAGE_BYTES_MAX`] at most.
pub(super) fn run_len(packets: &[Outgoing<'_>]) -> usize {
    let first = &packets[0];
    let segment_bytes = first.len_bytes();
    if segment_bytes == 0 {
        return 1;
    }
    let mut message_bytes = segment_bytes;
    for (index, packet) in packets.iter().enumerate().take(SEGMENTS_MAX).skip(1) {
        let len_bytes = packet.len_bytes();
        message_bytes += len_bytes;
        if packet.peer != first.peer
            || packet.ecn != first.ecn
            || len_bytes == 0
            || len_bytes > segment_bytes
            || message_bytes > MESSAGE_BYTES_MAX
        {
            return index;
        }
        if len_bytes < segment_bytes {
            return index + 1;
        }
    }
    packets.len().min(SEGMENTS_MAX)
}

/// UDP_MAX_SEGMENTS of all kernels that know UDP_SEGMENT.
pub(super) const SEGMENTS_MAX: usize = 64;

/// Below the 65,535 of the length fields, less the headers of IPv6 and of a tunnel.
pub(super) const MESSAGE_BYTES_MAX: usize = 65_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Ecn;
    use std::net::SocketAddr;

    static BYTES: [u8; 9_000] = [0; 9_000];

    fn packet(port: u16, ecn: Ecn, len_bytes: usize) -> Outgoing<'static> {
        Outgoing {
            peer: SocketAddr::from(([127, 0, 0, 1], port)),
            ecn,
            parts: [&BYTES[..len_bytes / 2], &[], &BYTES[len_bytes / 2..len_bytes]],
        }
    }

    fn lengths(lengths_bytes: &[usize]) -> Vec<Outgoing<'static>> {
        lengths_bytes.iter().map(|&len| packet(1, Ecn::Ect0, len)).collect()
    }

    #[test]
    fn shorter_packet_ends_the_run_and_belongs_to_it() {
        assert_eq!(run_len(&lengths(&[100, 100, 40, 40])), 3);
        assert_eq!(run_len(&lengths(&[100, 40])), 2);
    }

    #[test]
    fn longer_or_empty_packet_starts_another_run() {
        assert_eq!(run_len(&lengths(&[100, 101])), 1);
        assert_eq!(run_len(&lengths(&[100, 0])), 1);
        assert_eq!(run_len(&lengths(&[0, 0])), 1);
        assert_eq!(run_len(&lengths(&[100])), 1);
    }

    #[test]
    fn another_peer_or_ecn_starts_another_run() {
        let first = packet(1, Ecn::Ect0, 100);
        assert_eq!(run_len(&[first, first, packet(2, Ecn::Ect0, 100)]), 2);
        assert_eq!(run_len(&[first, packet(1, Ecn::NotEct, 100), first]), 1);
    }

    #[test]
    fn runs_stop_at_the_kernel_s_bounds() {
        assert_eq!(run_len(&lengths(&[34; 65])), 64);
        assert_eq!(run_len(&lengths(&[34; 64])), 64);
        assert_eq!(run_len(&lengths(&[8_950; 20])), 65_000 / 8_950);
        assert_eq!(run_len(&lengths(&[6_500; 11])), 10);
    }
}
