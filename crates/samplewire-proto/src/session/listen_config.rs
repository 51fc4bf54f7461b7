//! What the user of a listener may choose.

use super::open_config::PACKET_BYTES_MIN;
use crate::out_of_range::OutOfRange;

/// How a listener answers.
#[derive(Clone, Copy, Debug)]
pub struct ListenConfig {
    pub(super) packet_bytes_max: u16,
    pub(super) busy_retry_ms: u32,
}

impl ListenConfig {
    /// Packets of up to 9,000 bytes, another attempt at a busy stream after 1 s.
    pub const fn new() -> Self {
        Self { packet_bytes_max: 9_000, busy_retry_ms: 1_000 }
    }

    /// The largest IP packet that this end takes or sends, headers included, from 576; default
    /// 9000. Set it to the interface's MTU: ACCEPT is padded up to it.
    ///
    /// # Errors
    /// The size is out of range.
    pub const fn with_packet_bytes_max(mut self, bytes: u16) -> Result<Self, ListenConfigError> {
        if bytes < PACKET_BYTES_MIN {
            return Err(ListenConfigError::PacketBytes(bytes));
        }
        self.packet_bytes_max = bytes;
        Ok(self)
    }

    /// After how many milliseconds another attempt at a busy stream makes sense; default 1000.
    pub const fn with_busy_retry_ms(mut self, retry_ms: u32) -> Self {
        self.busy_retry_ms = retry_ms;
        self
    }
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// A choice out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenConfigError {
    /// See [`ListenConfig::with_packet_bytes_max`].
    #[error("{}", OutOfRange("ip packet size", .0, "576 bytes or more"))]
    PacketBytes(u16),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_kept_and_packets_below_the_least_named() {
        let config = ListenConfig::new().with_busy_retry_ms(7);
        let least = config.with_packet_bytes_max(576);
        assert_eq!(least.map(|c| (c.packet_bytes_max, c.busy_retry_ms)), Ok((576, 7)));
        let below = config.with_packet_bytes_max(575).err();
        assert_eq!(below, Some(ListenConfigError::PacketBytes(575)));
    }
}
