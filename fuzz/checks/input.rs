//! Choices drawn from a fuzzer's bytes.

/// Reads numbers until the bytes are used up; then every choice is 0.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// A number near `centre` most of the time, any number otherwise.
    pub(crate) fn near(&mut self, centre: u32) -> u32 {
        let choice = self.byte();
        if choice == 0xFF { self.word() } else { centre.wrapping_add(choice as i8 as i32 as u32) }
    }
}
