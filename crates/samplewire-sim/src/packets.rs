//! Packets on their way: bytes in places that are reused, addressed by number.

/// A packet's number in [`Packets`].
pub(crate) type PacketId = u32;

/// Which process sends or takes a packet.
pub(crate) type ProcessId = u16;

/// What a packet is besides its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meta {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) len_bytes: u16,
    /// The size as an IP packet; more than the bytes that are kept when payload is left out.
    pub(crate) ip_bytes: u32,
    /// A frame of Ethernet to a station; otherwise the payload of a UDP packet to a socket.
    pub(crate) is_frame: bool,
    /// A link has changed it.
    pub(crate) is_corrupted: bool,
    /// Whether it may be marked, and whether it is.
    pub(crate) is_ect: bool,
    pub(crate) is_marked: bool,
    /// What the socket that took it had dropped by then.
    pub(crate) dropped: u32,
    /// The number of its departure in the tap, where there is one.
    pub(crate) record: u32,
}

/// All packets of a world.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    small: Slab<SMALL_BYTES>,
    large: Slab<LARGE_BYTES>,
}

#[derive(Debug)]
struct Slab<const N: usize> {
    places: Vec<(Meta, [u8; N])>,
    free: Vec<u32>,
}

impl Packets {
    /// Keeps a packet whose bytes are `parts`, one after another.
    pub(crate) fn keep(&mut self, meta: Meta, parts: [&[u8]; 3]) -> PacketId {
        let len_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let meta = Meta { len_bytes: len_bytes as u16, ..meta };
        if len_bytes <= SMALL_BYTES {
            self.small.keep(meta, parts)
        } else {
            self.large.keep(meta, parts) | LARGE
        }
    }

    pub(crate) fn duplicate(&mut self, id: PacketId) -> PacketId {
        match id & LARGE {
            0 => self.small.duplicate(id),
            _ => self.large.duplicate(id & !LARGE) | LARGE,
        }
    }

    pub(crate) fn meta(&self, id: PacketId) -> &Meta {
        match id & LARGE {
            0 => &self.small.places[id as usize].0,
            _ => &self.large.places[(id & !LARGE) as usize].0,
        }
    }

    pub(crate) fn meta_mut(&mut self, id: PacketId) -> &mut Meta {
        match id & LARGE {
            0 => &mut self.small.places[id as usize].0,
            _ => &mut self.large.places[(id & !LARGE) as usize].0,
        }
    }

    pub(crate) fn bytes(&self, id: PacketId) -> &[u8] {
        match id & LARGE {
            0 => self.small.bytes(id),
            _ => self.large.bytes(id & !LARGE),
        }
    }

    pub(crate) fn bytes_mut(&mut self, id: PacketId) -> &mut [u8] {
        let len_bytes = usize::from(self.meta(id).len_bytes);
        match id & LARGE {
            0 => &mut self.small.places[id as usize].1[..len_bytes],
            _ => &mut self.large.places[(id & !LARGE) as usize].1[..len_bytes],
        }
    }

    pub(crate) fn free(&mut self, id: PacketId) {
        match id & LARGE {
            0 => self.small.free.push(id),
            _ => self.large.free.push(id & !LARGE),
        }
    }

    /// How many packets are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.small.places.len() - self.small.free.len() + self.large.places.len()
            - self.large.free.len()
    }
}

impl<const N: usize> Slab<N> {
    fn keep(&mut self, meta: Meta, parts: [&[u8]; 3]) -> u32 {
        let number = self.place();
        let (kept, bytes) = &mut self.places[number as usize];
        *kept = meta;
        let mut at = 0;
        for part in parts {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        number
    }

    fn duplicate(&mut self, of: u32) -> u32 {
        let number = self.place();
        let len_bytes = usize::from(self.places[of as usize].0.len_bytes);
        self.places[number as usize].0 = self.places[of as usize].0;
        let copy = self.places[of as usize].1;
        self.places[number as usize].1[..len_bytes].copy_from_slice(&copy[..len_bytes]);
        number
    }

    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.places.push((Meta::default(), [0; N]));
            self.places.len() as u32 - 1
        })
    }

    fn bytes(&self, number: u32) -> &[u8] {
        let (meta, bytes) = &self.places[number as usize];
        &bytes[..usize::from(meta.len_bytes)]
    }
}

impl<const N: usize> Default for Slab<N> {
    fn default() -> Self {
        Self { places: vec![], free: vec![] }
    }
}

/// DATA with the least payload, and every control packet but REPORTs of many ranges.
const SMALL_BYTES: usize = 104;
/// The largest padded OPEN.
const LARGE_BYTES: usize = 9_000;
/// The bit of a number that says which slab.
const LARGE: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_reused_and_copies_are_apart() {
        let mut packets = Packets::default();
        let small = packets.keep(Meta::default(), [b"ab", b"", b"c"]);
        let large = packets.keep(Meta::default(), [&[7; 500], &[], &[]]);
        let copy = packets.duplicate(small);
        packets.bytes_mut(copy)[0] = b'x';
        assert_eq!((packets.bytes(small), packets.bytes(copy)), (&b"abc"[..], &b"xbc"[..]));
        assert_eq!(packets.bytes(large), [7; 500]);
        assert_eq!(packets.kept(), 3);
        packets.free(small);
        assert_eq!(packets.keep(Meta::default(), [b"z", b"", b""]), small);
        assert_eq!(packets.bytes(small), b"z");
    }
}
