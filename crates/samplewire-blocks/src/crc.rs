//! Checksums of frames: one quantum is one frame.

use samplewire_circuit::{Flow, InPlace, Quantum, Work};

use crate::kernels::{CRC_BYTES, checked, seal};

/// Appends the CRC-32C of a frame's bytes, 4 bytes in network byte order, in the tail margin if
/// need be.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppendCrc;

impl InPlace<u8> for AppendCrc {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        if quantum.append(CRC_BYTES).is_none() {
            let len = quantum.len();
            return Err(format!("a frame of {len} bytes has no room for its CRC behind it").into());
        }
        seal(quantum.samples_mut());
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Cuts the CRC-32C off that [`AppendCrc`] appended; discards frames that do not match it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckCrc;

impl InPlace<u8> for CheckCrc {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        if checked(quantum.samples()).is_none() {
            return Ok(Flow::Discard);
        }
        quantum.trim_back(CRC_BYTES);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
