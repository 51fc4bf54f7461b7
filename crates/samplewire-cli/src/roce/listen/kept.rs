//! What a listener keeps of a connection: the file, and the counts of messages.

use std::io;
use std::path::Path;

use super::super::output::Output;
use crate::failure::Failure;

/// The file with what came, and what is known of it.
pub(super) struct Kept {
    out: Option<Output>,
    /// Bytes of messages.
    pub(super) sent: u64,
    /// Messages with immediate data, and the last of it.
    pub(super) immediates: u64,
    pub(super) last_immediate: Option<u32>,
}

impl Kept {
    pub(super) fn open(out: Option<&Path>) -> Result<Self, Failure> {
        let out = out.map(Output::open).transpose()?;
        Ok(Self { out, sent: 0, immediates: 0, last_immediate: None })
    }

    /// A connection begins.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Output::begin)
    }

    /// Keeps a message; one that was written has its bytes in the region.
    pub(super) fn message(&mut self, bytes: &[u8], immediate: Option<u32>) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        if let Some(immediate) = immediate {
            self.immediates += 1;
            self.last_immediate = Some(immediate);
        }
        self.out.as_mut().map_or(Ok(()), |out| out.write(bytes))
    }

    /// Keeps what was written, where no messages came; in the file's place if that is all.
    pub(super) fn finish(&mut self, written: &[u8], is_whole: bool) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        if self.sent == 0 {
            out.write(written)?;
        }
        if is_whole { out.keep() } else { Ok(()) }
    }

    /// The file with what came of a connection that broke, if anything did.
    pub(super) fn broken(&mut self) -> Option<&Path> {
        self.out.as_mut().and_then(Output::broken)
    }

    /// Forgets a connection.
    pub(super) fn clear(&mut self) {
        (self.sent, self.immediates, self.last_immediate) = (0, 0, None);
    }
}
