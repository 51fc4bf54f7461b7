//! The header with the place of an RDMA WRITE (IB 9.3).

use samplewire_proto::wire::field;

/// Where a message is to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reth {
    /// The address of its first byte, in the responder's terms.
    pub address: u64,
    /// The key of the region.
    pub key: u32,
    /// The length of the whole message in bytes.
    pub len_bytes: u32,
}

impl Reth {
    pub(super) fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        field::put_u64(&mut bytes, 0, self.address);
        field::put_u32(&mut bytes, 8, self.key);
        field::put_u32(&mut bytes, 12, self.len_bytes);
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        Self {
            address: field::get_u64(bytes, 0),
            key: field::get_u32(bytes, 8),
            len_bytes: field::get_u32(bytes, 12),
        }
    }
}

pub(super) const LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_these_bytes() {
        let reth =
            Reth { address: 0x0102_0304_0506_0708, key: 0x1112_1314, len_bytes: 0x8000_0000 };
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x80, 0, 0, 0];
        assert_eq!(reth.to_bytes(), bytes);
        assert_eq!(Reth::read(&bytes), reth);
    }
}
