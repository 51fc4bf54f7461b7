//! CRC-32C (Castagnoli, as in iSCSI, RFC 3720 appendix B.4), the joining of two of them, and the
//! CRC-32 of Ethernet (IEEE 802.3, 3.2.9), which RoCEv2 uses too.
//!
//! A slot keeps the CRC of its payload; each transmission has a fresh header. [`Shift`] joins the
//! header's CRC and the payload's without a pass over the payload: with `A` followed by `B`,
//! `crc(AB) = shift(crc(A), len(B)) ^ crc(B)`, where the shift by a fixed length is a constant
//! linear map (in hardware an XOR matrix).

/// The CRC-32C of `bytes`.
#[cfg(all(feature = "std", not(samplewire_portable)))]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// The CRC-32C of `bytes`.
#[cfg(any(not(feature = "std"), samplewire_portable))]
pub fn crc32c(bytes: &[u8]) -> u32 {
    by_tables(&CASTAGNOLI, 0, bytes)
}

/// The CRC-32C of some bytes and of the `bytes` behind them; `crc` is that of the former, 0 where there
/// are none.
#[cfg(all(feature = "std", not(samplewire_portable)))]
pub fn crc32c_extend(crc: u32, bytes: &[u8]) -> u32 {
    extend(crc_fast::CrcAlgorithm::Crc32Iscsi, crc, bytes)
}

/// The CRC-32C of some bytes and of the `bytes` behind them; `crc` is that of the former, 0 where there
/// are none.
#[cfg(any(not(feature = "std"), samplewire_portable))]
pub fn crc32c_extend(crc: u32, bytes: &[u8]) -> u32 {
    by_tables(&CASTAGNOLI, crc, bytes)
}

/// Ethernet's CRC-32 of some bytes and of the `bytes` behind them; `crc` is that of the former, 0
/// where there are none.
#[cfg(all(feature = "std", not(samplewire_portable)))]
pub fn crc32_extend(crc: u32, bytes: &[u8]) -> u32 {
    extend(crc_fast::CrcAlgorithm::Crc32IsoHdlc, crc, bytes)
}

#[cfg(all(feature = "std", not(samplewire_portable)))]
fn extend(algorithm: crc_fast::CrcAlgorithm, crc: u32, bytes: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new_with_init_state(algorithm, u64::from(!crc));
    digest.update(bytes);
    digest.finalize() as u32
}

/// Ethernet's CRC-32 of some bytes and of the `bytes` behind them; `crc` is that of the former, 0
/// where there are none.
#[cfg(any(not(feature = "std"), samplewire_portable))]
pub fn crc32_extend(crc: u32, bytes: &[u8]) -> u32 {
    by_tables(&ETHERNET, crc, bytes)
}

/// Eight bytes a step ("slicing-by-8", Kounavis and Berry 2005). Not inlined: one loop serves all
/// callers, and costs each the same.
#[cfg(any(test, not(feature = "std"), samplewire_portable))]
#[inline(never)]
fn by_tables(tables: &Tables, crc: u32, bytes: &[u8]) -> u32 {
    let (steps, rest) = bytes.as_chunks::<8>();
    let mut crc = !crc;
    for step in steps {
        let step = u64::from_le_bytes(*step) ^ u64::from(crc);
        crc = step
            .to_le_bytes()
            .iter()
            .rev()
            .zip(tables)
            .fold(0, |crc, (byte, table)| crc ^ table[usize::from(*byte)]);
    }
    for byte in rest {
        crc = (crc >> 8) ^ tables[0][usize::from(crc as u8 ^ byte)];
    }
    !crc
}

/// Entry `[n][b]` is what byte `b` contributes with `n` bytes behind it.
#[cfg(any(test, not(feature = "std"), samplewire_portable))]
type Tables = [[u32; 256]; 8];

#[cfg(any(test, not(feature = "std"), samplewire_portable))]
static CASTAGNOLI: Tables = tables(POLY_REFLECTED);

#[cfg(any(test, not(feature = "std"), samplewire_portable))]
static ETHERNET: Tables = tables(POLY_ETHERNET_REFLECTED);

#[cfg(any(test, not(feature = "std"), samplewire_portable))]
const fn tables(poly_reflected: u32) -> Tables {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { (crc >> 1) ^ poly_reflected } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut entry = 256;
    while entry < 8 * 256 {
        let crc = tables[entry / 256 - 1][entry % 256];
        tables[entry / 256][entry % 256] = (crc >> 8) ^ tables[0][(crc & 0xFF) as usize];
        entry += 1;
    }
    tables
}

/// Moves a CRC over a fixed number of following bytes: the map of one payload length.
#[derive(Clone, Debug)]
pub struct Shift {
    /// By nibbles, and not by bytes: a port has a map for each of a thousand streams.
    table: [[u32; 16]; 8],
    len_bytes: usize,
}

impl Shift {
    /// Prepares the map over `len_bytes` bytes (512 bytes of tables).
    pub fn new(len_bytes: usize) -> Self {
        let factor = x_pow(8 * len_bytes as u64);
        let mut table = [[0; 16]; 8];
        for (nibble, column) in table.iter_mut().enumerate() {
            for bit in 0..4 {
                // The map is linear: 32 products give all entries, and a stream opens the sooner.
                let product = multiply(factor, 1 << (4 * nibble + bit));
                let (known, fresh) = column.split_at_mut(1 << bit);
                for (below, entry) in known.iter().zip(fresh) {
                    *entry = below ^ product;
                }
            }
        }
        Self { table, len_bytes }
    }

    /// The length in bytes that this map shifts over.
    pub const fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// The CRC of `A` followed by `B`, where `B` has the length of this map.
    #[inline]
    pub fn join(&self, crc_a: u32, crc_b: u32) -> u32 {
        let nibble = |at: usize| (crc_a >> (4 * at)) as usize & 0xF;
        self.table.iter().enumerate().fold(crc_b, |crc, (at, column)| crc ^ column[nibble(at)])
    }
}

/// Joins two CRCs for a length that has no prepared map (about 100 multiplications).
pub fn join(crc_a: u32, crc_b: u32, len_b: usize) -> u32 {
    multiply(x_pow(8 * len_b as u64), crc_a) ^ crc_b
}

/// A number of zero bytes that follow on others.
#[derive(Clone, Copy, Debug)]
pub struct Zeros {
    factor: u32,
}

impl Zeros {
    /// So many.
    pub const fn new(zeros: usize) -> Self {
        Self { factor: x_pow(8 * zeros as u64) }
    }

    /// The CRC of `A` followed by them.
    pub const fn append(self, crc_a: u32) -> u32 {
        // Zeros shift the register, which is the CRC's complement.
        !multiply(self.factor, !crc_a)
    }
}

/// The polynomial without its leading term, bit-reversed: the highest coefficient is bit 0.
const POLY_REFLECTED: u32 = 0x82F6_3B78;

/// Ethernet's polynomial in the same form.
#[cfg(any(test, not(feature = "std"), samplewire_portable))]
const POLY_ETHERNET_REFLECTED: u32 = 0xEDB8_8320;

/// The product of two polynomials modulo the CRC's; bit 31 is the coefficient of x^0.
const fn multiply(a: u32, b: u32) -> u32 {
    let mut product = 0;
    let mut shifted = b;
    let mut bit = 31;
    loop {
        if a & (1 << bit) != 0 {
            product ^= shifted;
        }
        if bit == 0 {
            return product;
        }
        bit -= 1;
        shifted = if shifted & 1 != 0 { (shifted >> 1) ^ POLY_REFLECTED } else { shifted >> 1 };
    }
}

/// x to the power `exponent` modulo the CRC's polynomial.
const fn x_pow(mut exponent: u64) -> u32 {
    let mut result = 1 << 31;
    let mut square = 1 << 30;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_check_value_of_the_catalogue() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32_extend(0, b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn extended_crc_equals_the_crc_of_the_whole() {
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * i + 3) as u8).collect();
        let whole = crc32_extend(0, &bytes);
        for split in 0..=bytes.len() {
            let (a, b) = bytes.split_at(split);
            assert_eq!(crc32_extend(crc32_extend(0, a), b), whole, "split {split}");
            assert_eq!(crc32c_extend(crc32c(a), b), crc32c(&bytes), "split {split}");
        }
    }

    #[test]
    fn tables_and_instructions_agree() {
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * i + 3) as u8).collect();
        for len in 0..bytes.len() {
            let bytes = &bytes[..len];
            assert_eq!(by_tables(&CASTAGNOLI, 0, bytes), crc32c(bytes), "{len} bytes");
            assert_eq!(by_tables(&ETHERNET, 7, bytes), crc32_extend(7, bytes), "{len} bytes");
            assert_eq!(by_tables(&CASTAGNOLI, 7, bytes), crc32c_extend(7, bytes), "{len} bytes");
        }
    }

    #[test]
    fn joined_crc_equals_the_crc_of_the_whole() {
        let bytes: Vec<u8> = (0..3000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for split in [0, 1, 22, 1000, 2999, 3000] {
            let (a, b) = bytes.split_at(split);
            let whole = crc32c(&bytes);
            let shift = Shift::new(b.len());
            assert_eq!(shift.len_bytes(), b.len());
            assert_eq!(shift.join(crc32c(a), crc32c(b)), whole, "split {split}");
            assert_eq!(join(crc32c(a), crc32c(b), b.len()), whole, "split {split}");
        }
    }

    #[test]
    fn zeros_can_be_appended_without_a_pass_over_them() {
        for (zeros, split) in [(0, 5), (1, 7), (63, 0), (4096, 300)] {
            let mut bytes: Vec<u8> = (0..split as u32).map(|i| (i * 7 + 1) as u8).collect();
            let before = crc32c(&bytes);
            bytes.resize(split + zeros, 0);
            assert_eq!(Zeros::new(zeros).append(before), crc32c(&bytes), "{zeros} zeros");
        }
    }
}
