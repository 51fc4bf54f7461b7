//! Memory of frames that is used again: no allocation a frame, once the queues have been as long.

/// Free memory, by size: each size is twice the one before.
///
/// A frame takes less than twice its bytes, or [`BYTES_MIN`]. So what is in use is less than twice the
/// buffer that the frames wait in, and what is free is at most as much for each size.
#[derive(Debug, Default)]
pub(super) struct Frames {
    free: [Vec<Box<[u8]>>; SIZES],
    memory_bytes: usize,
}

/// A frame's bytes.
#[derive(Debug)]
pub(super) struct Frame {
    memory: Box<[u8]>,
    len: usize,
}

impl Frame {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

impl Frames {
    /// A copy of `bytes`, which are at most a frame.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Frame {
        let size = size_of(bytes.len());
        let mut memory = self.free[size].pop().unwrap_or_else(|| {
            self.memory_bytes += BYTES_MIN << size;
            vec![0; BYTES_MIN << size].into()
        });
        memory[..bytes.len()].copy_from_slice(bytes);
        Frame { memory, len: bytes.len() }
    }

    /// Takes the memory of a frame back.
    pub(super) fn recycle(&mut self, frame: Frame) {
        self.free[size_of(frame.memory.len())].push(frame.memory);
    }

    pub(super) const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

fn size_of(len: usize) -> usize {
    (len.next_power_of_two().max(BYTES_MIN) / BYTES_MIN).trailing_zeros() as usize
}

const BYTES_MIN: usize = 128;

/// Up to 16 KiB.
const SIZES: usize = 8;

const _: () = assert!(samplewire_io::ether::FRAME_BYTES_MAX <= BYTES_MIN << (SIZES - 1));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_fits_and_is_used_again() {
        let mut frames = Frames::default();
        for len in [0, 1, 128, 129, 4_096, 9_216] {
            let bytes = vec![7; len];
            let mut frame = frames.copy(&bytes);
            assert_eq!(frame.bytes(), bytes);
            frame.bytes_mut().fill(9);
            frames.recycle(frame);
        }
        let before = frames.memory_bytes();
        assert_eq!(before, 128 + 256 + 4_096 + 16_384);
        for _ in 0..100 {
            let frame = frames.copy(&[1; 200]);
            frames.recycle(frame);
        }
        assert_eq!(frames.memory_bytes(), before);
    }
}
