//! Files that are sent, and that are received beside their name.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use samplewire_proto::crc;

use super::NicError;
use super::block::{Source, Store};
use crate::failure::Failure;

/// A file that is sent, read ahead.
pub(super) struct SentFile {
    name: String,
    file: File,
    pub(super) len_bytes: u64,
    window: Vec<u8>,
    /// What of the file is in the window.
    has: Range<u64>,
}

impl SentFile {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let fail = Failure::of_file(path);
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            let words = "is not a file: its length and its CRC are sent with it";
            return Err(NicError::File { path: name, words }.into());
        }
        let len_bytes = metadata.len();
        Ok(Self { name, file, len_bytes, window: vec![0; WINDOW_BYTES], has: 0..0 })
    }

    /// The CRC-32C of the whole; `None` when `is_over` ends it early.
    pub(super) fn crc(&mut self, is_over: impl Fn() -> bool) -> Result<Option<u32>, Failure> {
        let mut crc = 0;
        let mut at = 0;
        while at < self.len_bytes {
            if is_over() {
                return Ok(None);
            }
            self.fill(at, WINDOW_BYTES)?;
            let len = (self.has.end - at) as usize;
            crc = crc::join(crc, crc::crc32c(&self.window[..len]), len);
            at = self.has.end;
        }
        Ok(Some(crc))
    }

    /// Reads the window from a place on, as many bytes as the file has there.
    fn fill(&mut self, at: u64, bytes: usize) -> Result<(), Failure> {
        let len = bytes.min((self.len_bytes - at) as usize);
        self.file.read_exact_at(&mut self.window[..len], at).map_err(|error| {
            // It has become shorter.
            Failure::File { path: self.name.clone(), source: error }
        })?;
        self.has = at..at + len as u64;
        Ok(())
    }
}

impl Source for SentFile {
    fn bytes(&mut self, at: Range<u64>) -> Result<&[u8], Failure> {
        if !(self.has.start <= at.start && at.end <= self.has.end) {
            // In order the file is read ahead; what is repeated lies anywhere.
            let is_next = self.has.contains(&at.start) || at.start == self.has.end;
            let packet = (at.end - at.start) as usize;
            self.fill(at.start, if is_next || at.start == 0 { WINDOW_BYTES } else { packet })?;
        }
        let start = (at.start - self.has.start) as usize;
        Ok(&self.window[start..start + (at.end - at.start) as usize])
    }
}

/// A file that is received: its name ends in `.part` until it is complete.
pub(super) struct PartFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
    is_kept: bool,
    /// Bytes that are written together, and where they begin.
    window: Vec<u8>,
    start: u64,
    /// How far the CRC has come, and what it is up to there.
    checked: u64,
    crc: u32,
}

impl PartFile {
    /// Creates it, so that a wrong name is found before a sender begins.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        if path.is_dir() {
            return Err(Failure::of_file(path)(io::ErrorKind::IsADirectory.into()));
        }
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&part).map_err(Failure::of_file(&part))?;
        Ok(Self {
            path: path.to_owned(),
            part,
            file,
            is_kept: false,
            window: Vec::with_capacity(WINDOW_BYTES),
            start: 0,
            checked: 0,
            crc: 0,
        })
    }

    /// A transfer begins again.
    pub(super) fn reset(&mut self) -> Result<(), Failure> {
        self.window.clear();
        (self.checked, self.crc) = (0, 0);
        let cut = self.file.set_len(0);
        self.checked(cut)
    }

    /// The transfer is complete: so many bytes take the file's name.
    pub(super) fn keep(&mut self, bytes: u64) -> Result<(), Failure> {
        self.write_window()?;
        let kept = self.file.set_len(bytes).and_then(|()| fs::rename(&self.part, &self.path));
        self.is_kept = kept.is_ok();
        self.checked(kept)
    }

    fn write_window(&mut self) -> Result<(), Failure> {
        let written = self.file.write_all_at(&self.window, self.start);
        self.window.clear();
        self.checked(written)
    }

    fn checked<T>(&self, result: io::Result<T>) -> Result<T, Failure> {
        result.map_err(Failure::of_file(&self.part))
    }
}

impl Store for PartFile {
    fn place(&mut self, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let is_next = at == self.start + self.window.len() as u64;
        if !is_next || self.window.len() + bytes.len() > WINDOW_BYTES {
            self.write_window()?;
        }
        if self.window.is_empty() {
            self.start = at;
        }
        self.window.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads back what was written, so that the CRC covers the disk too, as far as the system reads it.
    fn crc(&mut self, bytes: u64) -> Result<Option<u32>, Failure> {
        if !self.window.is_empty() {
            self.write_window()?;
        }
        let len = (bytes - self.checked).min(CHECK_BYTES as u64) as usize;
        self.window.resize(len.min(CHECK_BYTES), 0);
        let read = self.file.read_exact_at(&mut self.window, self.checked);
        self.crc = crc::join(self.crc, crc::crc32c(&self.window), len);
        self.window.clear();
        self.checked(read)?;
        self.checked += len as u64;
        Ok((self.checked == bytes).then_some(self.crc))
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is incomplete is of no use; where it cannot be removed its name shows it.
            drop(fs::remove_file(&self.part));
        }
    }
}

/// Read ahead, or written together.
const WINDOW_BYTES: usize = 1 << 20;

/// Read back in one go: below 10 ms.
const CHECK_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_in_any_order_and_its_crc_is_that_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        for len in [0, 1, WINDOW_BYTES, WINDOW_BYTES * 2 + 77] {
            let bytes: Vec<u8> = (0..len).map(|at| ((at * at) >> 5) as u8).collect();
            fs::write(&path, &bytes).unwrap();
            let mut file = SentFile::open(&path).unwrap();
            assert_eq!(file.crc(|| false).unwrap(), Some(crc::crc32c(&bytes)));
            assert_eq!(file.crc(|| true).unwrap().is_some(), len == 0);
            let packets = len.div_ceil(1_477);
            for seq in (0..packets).chain((0..packets).rev().step_by(7)) {
                let at = (seq * 1_477, len.min(seq * 1_477 + 1_477));
                let read = file.bytes(at.0 as u64..at.1 as u64).unwrap();
                assert!(*read == bytes[at.0..at.1], "packet {seq} of {len} bytes");
            }
        }
        let folder = SentFile::open(folder.path()).err().unwrap().to_string();
        assert!(folder.contains("is not a file"), "{folder}");
    }

    #[test]
    fn file_has_its_name_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("out"), folder.path().join("out.part"));
        let bytes: Vec<u8> = (0..CHECK_BYTES + 999).map(|at| ((at * at) >> 5) as u8).collect();
        fs::write(&path, "before").unwrap();
        let mut file = PartFile::create(&path).unwrap();
        file.place(5, b"of a transfer that ends").unwrap();
        file.reset().unwrap();
        let packets: Vec<_> = bytes.chunks(1_481).enumerate().collect();
        let (early, late): (Vec<_>, Vec<_>) = packets.into_iter().partition(|it| it.0 % 9 > 0);
        for (seq, bytes) in early.iter().chain(&late) {
            file.place(*seq as u64 * 1_481, bytes).unwrap();
        }
        // Padding behind the last packet.
        file.place(bytes.len() as u64, &[0; 30]).unwrap();
        let crc = std::iter::repeat_with(|| file.crc(bytes.len() as u64).unwrap());
        let crcs: Vec<_> = crc.take(2).collect();
        assert_eq!(crcs, [None, Some(crc::crc32c(&bytes))]);
        assert!(part.exists() && fs::read(&path).unwrap() == b"before");
        file.keep(bytes.len() as u64).unwrap();
        drop(file);
        assert!(!part.exists() && fs::read(&path).unwrap() == bytes);
        let file = PartFile::create(&path).unwrap();
        assert!(part.exists());
        drop(file);
        assert!(!part.exists() && path.exists());
        assert!(PartFile::create(folder.path()).is_err());
    }
}
