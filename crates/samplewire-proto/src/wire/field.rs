//! Numbers in network byte order at fixed places of a body whose length has been checked.

/// The 16-bit number at `at`.
pub fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(get(bytes, at))
}

/// The 32-bit number at `at`.
pub fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(get(bytes, at))
}

/// The 64-bit number at `at`.
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(get(bytes, at))
}

/// The `N` bytes at `at`.
///
/// # Panics
/// When they reach past the end of `bytes`.
pub fn get<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

/// Writes a 16-bit number at `at`.
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, value.to_be_bytes());
}

/// Writes a 32-bit number at `at`.
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, value.to_be_bytes());
}

/// Writes a 64-bit number at `at`.
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    put(bytes, at, value.to_be_bytes());
}

/// Writes `N` bytes at `at`.
///
/// # Panics
/// When they reach past the end of `bytes`.
pub fn put<const N: usize>(bytes: &mut [u8], at: usize, field: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&field);
}
