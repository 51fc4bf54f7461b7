//! What a player plays, in a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use samplewire::SampleIndex;
use samplewire::device::PlayerOutput;

/// Samples one behind another, whatever their indexes.
#[derive(Debug)]
pub(crate) struct RawFile {
    file: File,
    frame_bytes: usize,
    next: Option<SampleIndex>,
    /// Where samples begin that do not follow those before them.
    pub(crate) starts: Vec<SampleIndex>,
}

impl RawFile {
    pub(crate) fn create(path: &Path, frame_bytes: usize) -> Self {
        let file = File::create(path).expect("a file");
        Self { file, frame_bytes, next: None, starts: vec![] }
    }
}

impl PlayerOutput for RawFile {
    type Error = io::Error;

    fn write(&mut self, first: SampleIndex, bytes: &[u8]) -> io::Result<()> {
        if self.next != Some(first) {
            self.starts.push(first);
        }
        self.next = Some(first + (bytes.len() / self.frame_bytes) as u64);
        self.file.write_all(bytes)
    }
}
