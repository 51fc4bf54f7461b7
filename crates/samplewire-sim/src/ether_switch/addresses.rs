//! Which port a station is behind: a table of a fixed size.

/// Addresses of stations, learned from their frames.
///
/// A set of [`WAYS`] places is chosen by the address; the place that was used the longest time ago goes
/// first. A station that is forgotten costs only that frames to it go to every port.
#[derive(Debug)]
pub(super) struct Addresses {
    places: Box<[Place]>,
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    address: [u8; 6],
    port: usize,
    /// The number of the use; 0 for a free place.
    used: u64,
}

impl Addresses {
    pub(super) fn new() -> Self {
        let free = Place { address: [0; 6], port: 0, used: 0 };
        Self { places: vec![free; ADDRESSES_MAX].into(), uses: 0 }
    }

    /// Notes that a station is behind `port`. No station has a group address.
    pub(super) fn learn(&mut self, address: [u8; 6], port: usize) {
        if address[0] & 1 == 1 {
            return;
        }
        self.uses += 1;
        let used = self.uses;
        let set = self.set(address);
        let known = set.iter().position(|it| it.used > 0 && it.address == address);
        let oldest = || (0..WAYS).min_by_key(|&at| set[at].used).expect("a set has places");
        let at = known.unwrap_or_else(oldest);
        set[at] = Place { address, port, used };
    }

    pub(super) fn port_of(&mut self, address: [u8; 6]) -> Option<usize> {
        let known = self.set(address).iter().find(|it| it.used > 0 && it.address == address);
        known.map(|it| it.port)
    }

    fn set(&mut self, address: [u8; 6]) -> &mut [Place] {
        let mut wide = [0; 8];
        wide[..6].copy_from_slice(&address);
        // Fibonacci hashing: the highest bits depend on all bits of the address.
        let hash = u64::from_le_bytes(wide).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let set = (hash >> (u64::BITS - SETS.trailing_zeros())) as usize;
        &mut self.places[set * WAYS..][..WAYS]
    }
}

/// Stations that a switch knows at most.
const ADDRESSES_MAX: usize = 4_096;

/// A power of two.
const SETS: usize = ADDRESSES_MAX / WAYS;

const WAYS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn station(number: u32) -> [u8; 6] {
        let [a, b, c, d] = number.to_be_bytes();
        [0x02, 0, a, b, c, d]
    }

    #[test]
    fn stations_are_known_until_others_take_their_place() {
        let mut addresses = Addresses::new();
        assert_eq!(addresses.port_of(station(1)), None);
        for number in 0..64 {
            addresses.learn(station(number), number as usize % 5);
        }
        for number in 0..64 {
            assert_eq!(addresses.port_of(station(number)), Some(number as usize % 5));
        }
        addresses.learn(station(7), 4);
        assert_eq!(addresses.port_of(station(7)), Some(4), "it has moved");
        for number in 0..1_000_000 {
            addresses.learn(station(number), 1);
        }
        let known = (0..1_000_000).filter(|&it| addresses.port_of(station(it)).is_some()).count();
        assert!((ADDRESSES_MAX / 2..=ADDRESSES_MAX).contains(&known), "{known}");
        assert_eq!(addresses.port_of(station(999_999)), Some(1));
    }

    #[test]
    fn group_addresses_are_no_stations() {
        let mut addresses = Addresses::new();
        addresses.learn([0xFF; 6], 1);
        assert_eq!(addresses.port_of([0xFF; 6]), None);
    }
}
