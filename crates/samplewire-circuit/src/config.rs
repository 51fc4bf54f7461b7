//! The size of a pool.

use crate::free_list::LEN_MAX;
use crate::region::ALIGN_BYTES;

/// How many quanta a pool has, and their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    pub(crate) quanta: usize,
    pub(crate) capacity_bytes: usize,
    pub(crate) head_bytes: usize,
    pub(crate) tail_bytes: usize,
    pub(crate) huge_pages: bool,
}

impl PoolConfig {
    /// `quanta` (1 to 2^24 - 1) of `capacity_bytes` (at least 1) each, with margins of 64 bytes.
    ///
    /// More quanta bridge a longer stall of the blocks that give them back. Larger quanta cost
    /// fewer hand-overs and more delay.
    pub const fn new(quanta: usize, capacity_bytes: usize) -> Self {
        Self {
            quanta,
            capacity_bytes,
            head_bytes: ALIGN_BYTES,
            tail_bytes: ALIGN_BYTES,
            huge_pages: false,
        }
    }

    /// The room before the data in bytes, a multiple of 64, 64 unless set. Headers grow into it.
    #[must_use]
    pub const fn head_bytes(self, head_bytes: usize) -> Self {
        Self { head_bytes, ..self }
    }

    /// The room after the data in bytes, a multiple of 64, 64 unless set. Checksums grow into it.
    #[must_use]
    pub const fn tail_bytes(self, tail_bytes: usize) -> Self {
        Self { tail_bytes, ..self }
    }

    /// Whether the memory is to be of huge pages, where the system has them; no unless set.
    /// [`Pool::pages`](crate::Pool::pages) says what it is. Fewer entries of the TLB cover it, and it
    /// is taken in steps of 2 MiB.
    #[must_use]
    pub const fn huge_pages(self, huge_pages: bool) -> Self {
        Self { huge_pages, ..self }
    }

    /// How many bytes of memory the quanta and their margins take.
    ///
    /// # Errors
    /// [`PoolError`] names the value that is out of range.
    pub fn memory_bytes(&self) -> Result<usize, PoolError> {
        self.stride_bytes()?.checked_mul(self.quanta).ok_or_else(|| self.too_large())
    }

    /// The distance between two quanta in bytes.
    pub(crate) fn stride_bytes(&self) -> Result<usize, PoolError> {
        if !(1..=LEN_MAX as usize).contains(&self.quanta) {
            return Err(PoolError::Quanta { quanta: self.quanta });
        }
        if self.capacity_bytes == 0 {
            return Err(PoolError::Capacity { capacity_bytes: 0 });
        }
        for (name, bytes) in [("head", self.head_bytes), ("tail", self.tail_bytes)] {
            if !bytes.is_multiple_of(ALIGN_BYTES) {
                return Err(PoolError::Margin { name, bytes });
            }
        }
        self.capacity_bytes
            .checked_next_multiple_of(ALIGN_BYTES)
            .and_then(|bytes| bytes.checked_add(self.head_bytes)?.checked_add(self.tail_bytes))
            .ok_or_else(|| self.too_large())
    }

    /// The error of a size that cannot be computed or had.
    pub(crate) fn too_large(&self) -> PoolError {
        PoolError::TooLarge { quanta: self.quanta, capacity_bytes: self.capacity_bytes }
    }
}

/// Why a pool cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The number of quanta is out of range.
    #[error("a pool of {quanta} quanta: must be 1 to {LEN_MAX}")]
    Quanta {
        /// The requested number.
        quanta: usize,
    },
    /// The capacity is out of range.
    #[error("a quantum of {capacity_bytes} bytes: must be at least 1")]
    Capacity {
        /// The requested capacity.
        capacity_bytes: usize,
    },
    /// A margin is not a multiple of the alignment.
    #[error("a {name} margin of {bytes} bytes: must be a multiple of {ALIGN_BYTES}")]
    Margin {
        /// `head` or `tail`.
        name: &'static str,
        /// The requested margin.
        bytes: usize,
    },
    /// The memory that was given is too small.
    #[error(
        "the pool needs {needed_bytes} bytes of memory, {given_bytes} were given: see \
         PoolConfig::memory_bytes"
    )]
    Memory {
        /// What the quanta and their margins take.
        needed_bytes: usize,
        /// What there is.
        given_bytes: usize,
    },
    /// The whole exceeds what this machine can address.
    #[error("{quanta} quanta of {capacity_bytes} bytes and their margins exceed the address space")]
    TooLarge {
        /// The requested number of quanta.
        quanta: usize,
        /// The requested capacity.
        capacity_bytes: usize,
    },
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Pool;

    fn error_of(config: PoolConfig) -> String {
        Pool::new(config).unwrap_err().to_string()
    }

    #[test]
    fn values_out_of_range_are_named() {
        assert_eq!(error_of(PoolConfig::new(0, 64)), "a pool of 0 quanta: must be 1 to 16777215");
        assert_eq!(
            error_of(PoolConfig::new(1 << 24, 64)),
            "a pool of 16777216 quanta: must be 1 to 16777215"
        );
        assert_eq!(error_of(PoolConfig::new(1, 0)), "a quantum of 0 bytes: must be at least 1");
        assert_eq!(
            error_of(PoolConfig::new(1, 1).tail_bytes(65)),
            "a tail margin of 65 bytes: must be a multiple of 64"
        );
    }

    #[test]
    fn sizes_beyond_the_address_space_are_refused() {
        for config in [
            PoolConfig::new(1 << 20, usize::MAX >> 10),
            PoolConfig::new(1, usize::MAX),
            PoolConfig::new(1, usize::MAX - 100),
            PoolConfig::new(1, 64).head_bytes(usize::MAX & !63),
            PoolConfig::new(1, isize::MAX as usize - 64),
        ] {
            assert!(error_of(config).ends_with("exceed the address space"), "{config:?}");
        }
    }
}
