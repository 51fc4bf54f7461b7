//! Memory that a peer may write to: key, bounds and rights. The bytes stay with the caller.

use crate::responder::Fault;

/// A region of the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    key: u32,
    address: u64,
    len_bytes: u64,
    access: Access,
}

/// What a peer may do with a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing: the key is known, and no request may use it.
    #[default]
    None,
    /// RDMA WRITE.
    Write,
}

/// A region whose end has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a region of {len_bytes} bytes at {address:#x} reaches past 2^64")]
pub struct RegionError {
    /// The address given.
    pub address: u64,
    /// The length given.
    pub len_bytes: u64,
}

/// Where bytes of a message belong in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) region: usize,
    pub(crate) offset: u64,
}

impl Region {
    /// A region that a peer names by `key` and by addresses from `address` on.
    ///
    /// # Errors
    /// The region reaches past 2^64.
    pub const fn new(
        key: u32,
        address: u64,
        len_bytes: u64,
        access: Access,
    ) -> Result<Self, RegionError> {
        if address.checked_add(len_bytes).is_none() {
            return Err(RegionError { address, len_bytes });
        }
        Ok(Self { key, address, len_bytes, access })
    }

    /// Its length in bytes.
    pub const fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// What a peer may do with it.
    pub const fn access(&self) -> Access {
        self.access
    }

    /// Where `len_bytes` at `address` stand within this region.
    fn offset(&self, address: u64, len_bytes: u32) -> Result<u64, Fault> {
        if self.access != Access::Write {
            return Err(Fault::Rights);
        }
        let offset = address.checked_sub(self.address).ok_or(Fault::Bounds)?;
        match offset.checked_add(u64::from(len_bytes)) {
            Some(end) if end <= self.len_bytes => Ok(offset),
            _ => Err(Fault::Bounds),
        }
    }
}

/// Finds the place of `len_bytes` at `address` of the region with `key`. Of several regions with one
/// key the first counts.
pub(crate) fn locate(
    regions: &[Region],
    key: u32,
    address: u64,
    len_bytes: u32,
) -> Result<Located, Fault> {
    let region = regions.iter().position(|region| region.key == key).ok_or(Fault::Key)?;
    let offset = regions[region].offset(address, len_bytes)?;
    Ok(Located { region, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_up_to_the_ends_of_a_region_and_not_beyond() {
        let region =
            |key, address, access| Region::new(key, address, 100, access).expect("it fits");
        let top = u64::MAX - 100;
        let regions = [
            region(1, 1_000, Access::Write),
            region(2, 0, Access::None),
            region(3, top, Access::Write),
        ];
        let offset = |key, address, len| locate(&regions, key, address, len).map(|it| it.offset);
        assert_eq!(offset(1, 1_000, 100), Ok(0));
        assert_eq!(offset(1, 1_099, 1), Ok(99));
        assert_eq!(offset(3, top + 99, 1), Ok(99));
        for (address, len) in [(1_000, 101), (1_099, 2), (1_100, 1), (999, 1), (999, 102)] {
            assert_eq!(offset(1, address, len), Err(Fault::Bounds), "{len} bytes at {address}");
        }
        assert_eq!(offset(3, u64::MAX, 1 << 31), Err(Fault::Bounds));
        assert_eq!(offset(2, 0, 1), Err(Fault::Rights));
        assert_eq!(offset(4, 0, 1), Err(Fault::Key));
    }

    #[test]
    fn region_past_the_last_address_is_named() {
        let error = Region::new(1, u64::MAX - 1, 3, Access::Write).expect_err("it is too long");
        assert_eq!(error, RegionError { address: u64::MAX - 1, len_bytes: 3 });
        assert!(Region::new(1, u64::MAX - 1, 1, Access::Write).is_ok());
    }
}
