//! Choices drawn from a fuzzer's bytes.

/// Reads numbers until the bytes are used up; then every choice is 0.
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
}

#[expect(clippy::allow_attributes, reason = "each check draws some of it")]
#[allow(dead_code)]
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

    pub(crate) fn half(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub(crate) fn long(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    /// The next `len` bytes, or fewer at the end.
    pub(crate) fn slice(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(len.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        self.slice(self.bytes.len())
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}
