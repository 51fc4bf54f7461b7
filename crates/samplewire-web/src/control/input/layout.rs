//! How much of a recording is gathered, and how much may wait.

/// The sizes of a recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Bytes of a sample of all streams.
    pub(crate) frame_bytes: usize,
    /// Bytes that are copied before they are queued.
    pub(super) buffer_bytes: usize,
    /// Bytes that may wait for the file.
    pub(super) room_bytes: u64,
}

impl Layout {
    /// A buffer is a tenth of a second, and the room half a second, within bounds.
    pub(crate) fn new(frame_bytes: usize, rate_hz: f64) -> Self {
        let second_bytes = rate_hz * frame_bytes as f64;
        let room_bytes = ((second_bytes / 2.0) as u64).clamp(ROOM_BYTES_MIN, ROOM_BYTES_MAX);
        let buffer_bytes = ((second_bytes / 10.0) as usize).min(BUFFER_BYTES_MAX);
        Self { frame_bytes, buffer_bytes, room_bytes }
    }
}

/// Bytes that are copied before they are queued.
const BUFFER_BYTES_MAX: usize = 256 << 10;

/// Bytes that may wait for the file.
const ROOM_BYTES_MIN: u64 = 8 << 20;
const ROOM_BYTES_MAX: u64 = 256 << 20;
