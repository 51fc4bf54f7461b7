//! Whether a window fits in memory: a stream allocates all of it at the start.

use std::fs;

use samplewire_proto::stream::WINDOW_MAX;

use crate::failure::Failure;

/// Checks that `windows` of `window` packets of up to `packet_bytes` fit in the free memory. If the
/// system does not report the free memory, everything fits. The stream itself refuses a window that
/// is out of range.
///
/// # Errors
/// [`Failure::Memory`].
pub(crate) fn check_window(window: u32, windows: u32, packet_bytes: usize) -> Result<(), Failure> {
    if window > WINDOW_MAX {
        return Ok(());
    }
    let packets = u64::from(window) * u64::from(windows);
    let needed_bytes = packets * packet_bytes.min(IP_BYTES_MAX) as u64;
    let available = fs::read_to_string("/proc/meminfo").ok();
    match available.as_deref().and_then(available_bytes) {
        Some(available_bytes) if needed_bytes > available_bytes => {
            Err(Failure::Memory { window, windows, needed_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}

/// The memory that `/proc/meminfo` reports as available without swapping.
fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

/// The largest packet that the protocol sends.
const IP_BYTES_MAX: usize = 9_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        let meminfo = "MemTotal:       24000000 kB\nMemAvailable:     500 kB\nBuffers: 1 kB\n";
        assert_eq!(available_bytes(meminfo), Some(512_000));
        assert_eq!(available_bytes("MemTotal: 1 kB\n"), None);
    }
}
