//! A data file that only grows, and always ends at a sample boundary.

use std::io::{self, ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};

use super::SinkError;
use super::gather::{ALIGN_BYTES, Gather};
use super::resume::lock;
use crate::storage::{OpenMode, Storage, StoredFile, stdout};

/// Samples in a file, a pipe or a device.
///
/// Pieces of 32 KiB or more are written directly; shorter ones are gathered up to 1 MiB. Pipes and
/// devices get each piece at once. A direct file bypasses the system's cache: all samples are
/// gathered for writes of some 4 MiB, and disk space is allocated in advance.
#[derive(Debug)]
pub(super) struct DataFile {
    file: Box<dyn StoredFile>,
    path: PathBuf,
    frame_bytes: usize,
    written_bytes: u64,
    gather: Gather,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A pipe or a device.
    Special,
    /// A file written through the system's cache.
    Cached,
    /// A file that bypasses the cache. Writes are multiples of `unit_bytes`: whole samples and
    /// pages.
    Direct {
        unit_bytes: usize,
        /// The end of the allocated space; `None` if the file system cannot allocate.
        room_end_bytes: Option<u64>,
    },
}

impl DataFile {
    /// Creates the file; if it exists and `overwrite` permits, opens it to be
    /// [emptied](Self::empty). Pipes and devices are opened as they are.
    pub(super) fn create(
        storage: &dyn Storage,
        path: &Path,
        frame_bytes: usize,
        overwrite: bool,
        is_direct: bool,
    ) -> Result<Self, SinkError> {
        let special = storage.entry(path).is_ok_and(|entry| !entry.is_file);
        let mode = match (special, overwrite) {
            (true, _) => OpenMode::Write,
            (false, true) => OpenMode::Create,
            (false, false) => OpenMode::CreateNew,
        };
        Self::open(storage, path, mode, frame_bytes, is_direct && !special)
    }

    /// Opens the file to append after its first `written_bytes`, and cuts off the rest. A missing
    /// file is created.
    pub(super) fn append_to(
        storage: &dyn Storage,
        path: &Path,
        frame_bytes: usize,
        written_bytes: u64,
        is_direct: bool,
    ) -> Result<Self, SinkError> {
        let mut data = Self::open(storage, path, OpenMode::Create, frame_bytes, is_direct)?;
        data.cut(written_bytes)?;
        // A direct write must begin at a page. A file that does not end at one is written through
        // the cache, to its end.
        if !data.is_aligned() {
            data.leave_direct()?;
        }
        Ok(data)
    }

    /// Opens standard output, without Rust's line buffer.
    pub(super) fn stdout(frame_bytes: usize) -> Result<Self, SinkError> {
        let path = PathBuf::from("-");
        let file = stdout().map_err(SinkError::io("open", &path))?;
        Ok(Self::new(file, path, frame_bytes, None))
    }

    fn open(
        storage: &dyn Storage,
        path: &Path,
        mode: OpenMode,
        frame_bytes: usize,
        is_direct: bool,
    ) -> Result<Self, SinkError> {
        let unit_bytes = if is_direct { Some(unit_of(path, frame_bytes)?) } else { None };
        let file = storage.open(path, mode, is_direct).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => SinkError::Exists { path: path.to_owned() },
            ErrorKind::InvalidInput if is_direct => SinkError::NoDirect {
                path: path.to_owned(),
                why: "the file system writes nothing past its cache",
            },
            _ => SinkError::io("create", path)(source),
        })?;
        let data = Self::new(file, path.to_owned(), frame_bytes, unit_bytes);
        if data.is_regular() {
            lock(&*data.file, path)?;
        }
        Ok(data)
    }

    fn new(
        file: Box<dyn StoredFile>,
        path: PathBuf,
        frame_bytes: usize,
        unit_bytes: Option<usize>,
    ) -> Self {
        let is_file = file.entry().is_ok_and(|entry| entry.is_file);
        let (mode, gather_bytes) = match unit_bytes {
            _ if !is_file => (Mode::Special, 0),
            None => (Mode::Cached, GATHER_BYTES - GATHER_BYTES % frame_bytes),
            Some(unit_bytes) => {
                let mode = Mode::Direct { unit_bytes, room_end_bytes: Some(0) };
                (mode, DIRECT_BYTES - DIRECT_BYTES % unit_bytes)
            }
        };
        Self { file, path, frame_bytes, written_bytes: 0, gather: Gather::new(gather_bytes), mode }
    }

    /// Empties an existing file.
    pub(super) fn empty(mut self) -> Result<Self, SinkError> {
        if self.is_regular() {
            self.file.empty().map_err(SinkError::io("empty", &self.path))?;
        }
        Ok(self)
    }

    /// Appends whole samples.
    ///
    /// After an error the file ends with the last sample that fitted. Gathered samples are lost.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), SinkError> {
        match self.mode {
            Mode::Special => return self.write_out(bytes),
            Mode::Cached if self.gather.len() == 0 && bytes.len() >= PIECE_BYTES => {
                return self.write_out(bytes);
            }
            Mode::Cached | Mode::Direct { .. } => {}
        }
        while !bytes.is_empty() {
            bytes = self.gather.take(bytes);
            if self.gather.is_full() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Appends zero samples as a hole; in a direct file, only whole units are a hole. A file system
    /// without holes writes the zeros.
    ///
    /// After an error the file ends with the last sample that fitted. Gathered samples are lost.
    ///
    /// # Panics
    /// If it is a pipe or a device.
    pub(super) fn hole(&mut self, samples: u64) -> Result<(), SinkError> {
        let mut left_bytes = samples.saturating_mul(self.frame_bytes as u64);
        let unit_bytes = match self.mode {
            Mode::Special => panic!("a pipe has no holes"),
            Mode::Cached => 1,
            Mode::Direct { unit_bytes, .. } => unit_bytes,
        };
        let gathered_bytes = self.gather.len();
        let head_bytes = gathered_bytes.next_multiple_of(unit_bytes) - gathered_bytes;
        left_bytes -= self.append_zeros((head_bytes as u64).min(left_bytes))?;
        self.flush()?;
        let tail_bytes = left_bytes % unit_bytes as u64;
        if left_bytes > tail_bytes {
            let end_bytes = self.written_bytes.saturating_add(left_bytes - tail_bytes);
            let lengthened = self.file.set_len(end_bytes);
            let moved = lengthened.and_then(|()| self.file.seek(SeekFrom::Start(end_bytes)));
            moved.map_err(|source| self.failed(source))?;
            self.written_bytes = end_bytes;
        }
        self.append_zeros(tail_bytes).map(drop)
    }

    /// Gathers less than a unit of zeros; returns how many bytes.
    fn append_zeros(&mut self, len_bytes: u64) -> Result<u64, SinkError> {
        let mut left_bytes = len_bytes as usize;
        while left_bytes > 0 {
            let piece = &ZEROS[..left_bytes.min(ZEROS.len())];
            left_bytes -= piece.len();
            self.append(piece)?;
        }
        Ok(len_bytes)
    }

    /// Writes gathered samples; for a direct file, only whole units.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        let len_bytes = match self.mode {
            Mode::Special | Mode::Cached => self.gather.len(),
            Mode::Direct { unit_bytes, .. } => self.gather.len() - self.gather.len() % unit_bytes,
        };
        self.take_room(len_bytes);
        let gather = std::mem::take(&mut self.gather);
        let written = self.write_out(&gather.bytes()[..len_bytes]);
        self.gather = gather;
        // After an error, nothing more is written.
        let done_bytes = if written.is_ok() { len_bytes } else { self.gather.len() };
        self.gather.forget(done_bytes);
        written
    }

    /// Writes everything, including an incomplete unit of a direct file, and frees the unused
    /// allocated space.
    pub(super) fn flush_all(&mut self) -> Result<(), SinkError> {
        self.flush()?;
        if let Mode::Direct { .. } = self.mode {
            self.leave_direct()?;
            self.flush()?;
            self.file.set_len(self.written_bytes).map_err(SinkError::io("cut", &self.path))?;
        }
        Ok(())
    }

    /// Truncates the file to its first `written_bytes`.
    pub(super) fn cut(&mut self, written_bytes: u64) -> Result<(), SinkError> {
        self.file
            .set_len(written_bytes)
            .and_then(|()| self.file.seek(SeekFrom::Start(written_bytes)))
            .map_err(SinkError::io("cut", &self.path))?;
        self.written_bytes = written_bytes;
        Ok(())
    }

    /// Returns how many samples were appended, including gathered ones.
    pub(super) fn len_samples(&self) -> u64 {
        (self.written_bytes + self.gather.len() as u64) / self.frame_bytes as u64
    }

    /// Returns how many bytes of whole samples the file has.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes - self.written_bytes % self.frame_bytes as u64
    }

    /// Returns how many whole samples the file has.
    pub(super) fn written_samples(&self) -> u64 {
        self.written_bytes / self.frame_bytes as u64
    }

    /// Returns whether the file can be read again; pipes and devices cannot.
    pub(super) fn is_regular(&self) -> bool {
        self.mode != Mode::Special
    }

    /// Unlocks the file: this recorder does not write it any more.
    pub(super) fn release(&self) -> Result<(), SinkError> {
        let released = if self.is_regular() { self.file.unlock() } else { Ok(()) };
        released.map_err(SinkError::io("unlock", &self.path))
    }

    /// Returns the file's path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn is_aligned(&self) -> bool {
        match self.mode {
            Mode::Special | Mode::Cached => true,
            Mode::Direct { unit_bytes, .. } => self.written_bytes.is_multiple_of(unit_bytes as u64),
        }
    }

    fn leave_direct(&mut self) -> Result<(), SinkError> {
        self.file.leave_direct().map_err(SinkError::io("buffer", &self.path))?;
        self.mode = Mode::Cached;
        Ok(())
    }

    /// Allocates space for a direct file before the next `len_bytes` are written, so that its
    /// blocks are contiguous. After a refusal, or on a nearly full disk, it does not try again.
    fn take_room(&mut self, len_bytes: usize) {
        let Mode::Direct { room_end_bytes, .. } = &mut self.mode else { return };
        let Some(end_bytes) = *room_end_bytes else { return };
        if self.written_bytes + len_bytes as u64 > end_bytes {
            let taken = self.file.allocate(self.written_bytes, ROOM_BYTES);
            *room_end_bytes = taken.is_ok().then_some(self.written_bytes + ROOM_BYTES);
        }
    }

    fn write_out(&mut self, mut bytes: &[u8]) -> Result<(), SinkError> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(self.failed(ErrorKind::WriteZero.into())),
                Ok(len_bytes) => {
                    self.written_bytes += len_bytes as u64;
                    bytes = &bytes[len_bytes..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// Cuts off an incomplete sample, and returns the error that ended the file.
    fn failed(&mut self, source: io::Error) -> SinkError {
        let whole_bytes = self.written_bytes();
        if whole_bytes != self.written_bytes && self.file.set_len(whole_bytes).is_ok() {
            self.written_bytes = whole_bytes;
        }
        SinkError::write(&self.path, whole_bytes / self.frame_bytes as u64, source)
    }
}

/// Returns the smallest length of whole samples that is also whole pages.
///
/// # Errors
/// [`SinkError::NoDirect`] if that is longer than one write.
fn unit_of(path: &Path, frame_bytes: usize) -> Result<usize, SinkError> {
    let twos = frame_bytes.trailing_zeros().min(ALIGN_BYTES.trailing_zeros());
    let unit_bytes = frame_bytes * (ALIGN_BYTES >> twos);
    if unit_bytes > DIRECT_BYTES {
        let why = "a sample of all channels is too long";
        return Err(SinkError::NoDirect { path: path.to_owned(), why });
    }
    Ok(unit_bytes)
}

/// How much is gathered for a write, before it is rounded down to whole samples. The longest sample
/// (fc32, 65,535 channels) is half as long.
const GATHER_BYTES: usize = 1 << 20;

/// How much is gathered for a write to a direct file.
const DIRECT_BYTES: usize = 4 << 20;

/// Pieces this long are not gathered: a system call costs less than the copy.
const PIECE_BYTES: usize = 32 << 10;

static ZEROS: [u8; ALIGN_BYTES] = [0; ALIGN_BYTES];

/// How much space is allocated in advance.
const ROOM_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use std::fs;

    use samplewire_testing::skip;
    use tempfile::TempDir;

    use super::*;
    use crate::storage::OsStorage;

    #[test]
    fn sample_written_in_part_is_cut_when_the_disk_is_full() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let mut data = DataFile::create(&OsStorage, &path, 4, false, false).unwrap();
        data.file.write_all(&[1; 10]).unwrap();
        data.written_bytes = 10;
        let error = data.failed(ErrorKind::StorageFull.into());
        assert!(matches!(error, SinkError::Full { len_samples: 2, .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap().len(), 8);
        assert_eq!((data.written_bytes(), data.len_samples()), (8, 2));
    }

    #[test]
    fn pipe_gets_each_piece_at_once() {
        let mut data = DataFile::create(&OsStorage, "/dev/null".as_ref(), 4, false, false).unwrap();
        data.append(&[1; 8]).unwrap();
        assert_eq!((data.is_regular(), data.written_bytes()), (false, 8));
    }

    #[test]
    fn direct_file_holds_what_was_written() {
        // Not the folder for temporary files: its file system may refuse direct writes.
        let folder = TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("a");
        let bytes: Vec<u8> = (0..9_000_012_u32).map(|at| (at / 11) as u8).collect();
        let mut data = match DataFile::create(&OsStorage, &path, 12, false, true) {
            Err(SinkError::NoDirect { .. }) => return skip("no direct files here"),
            opened => opened.unwrap(),
        };
        for piece in bytes[..8_400_000].chunks(60_000) {
            data.append(piece).unwrap();
            let on_disk = fs::metadata(&path).unwrap().len();
            assert!(on_disk.is_multiple_of(12 * 1_024), "{on_disk}");
        }
        data.flush().unwrap();
        assert_eq!(data.written_bytes(), 8_400_000 - 8_400_000 % 12_288);
        data.append(&bytes[8_400_000..]).unwrap();
        data.flush_all().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        drop(data);
        let mut data = DataFile::append_to(&OsStorage, &path, 12, 12_288, true).unwrap();
        data.append(&bytes[12_288..5_000_016]).unwrap();
        data.flush_all().unwrap();
        drop(data);
        let mut data = DataFile::append_to(&OsStorage, &path, 12, 5_000_004, true).unwrap();
        data.append(&bytes[5_000_004..]).unwrap();
        data.flush_all().unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn hole_reads_as_zeros_and_takes_no_room_on_the_disk() {
        use std::os::unix::fs::MetadataExt;
        let folder = TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for (is_direct, before, hole) in [
            (false, 0, 3_000_000_u64),
            (false, 7, 3_000_000),
            (false, 100_000, 1),
            (true, 0, 3_000_000),
            (true, 7, 3_000_000),
            (true, 2_048, 3_000_000),
            (true, 7, 1),
            (true, 7, 2_041),
        ] {
            let case = format!("direct: {is_direct}, {before} samples, then {hole}");
            let path = folder.path().join("a");
            let mut data = match DataFile::create(&OsStorage, &path, 12, true, is_direct) {
                Err(SinkError::NoDirect { .. }) => continue,
                opened => opened.unwrap().empty().unwrap(),
            };
            let sevens = vec![7; before * 12];
            data.append(&sevens).unwrap();
            data.hole(hole).unwrap();
            assert_eq!(data.len_samples(), before as u64 + hole, "{case}");
            data.append(&[9; 24]).unwrap();
            data.flush_all().unwrap();
            let expected = [&sevens[..], &vec![0; hole as usize * 12], &[9; 24]].concat();
            assert!(fs::read(&path).unwrap() == expected, "{case}");
            // A direct file has the space that was allocated in advance.
            let used_bytes = fs::metadata(&path).unwrap().blocks() * 512;
            let is_small = used_bytes <= before as u64 * 12 + 200_000;
            assert!(is_small || is_direct, "{case}: {used_bytes}");
        }
    }

    #[test]
    fn hole_beyond_what_a_file_can_be_is_a_full_file_that_stays_as_it_was() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a");
        let mut data = DataFile::create(&OsStorage, &path, 4, false, false).unwrap();
        data.append(&[1; 8]).unwrap();
        assert!(data.hole(u64::MAX).is_err());
        assert_eq!((data.written_samples(), fs::read(&path).unwrap().len()), (2, 8));
    }

    #[test]
    fn sample_longer_than_a_direct_write_is_refused() {
        let error = unit_of("a".as_ref(), 65_535 * 8).unwrap_err().to_string();
        assert_eq!(error, "a: cannot be written directly: a sample of all channels is too long");
        assert_eq!(unit_of("a".as_ref(), 12).unwrap(), 12_288);
        assert_eq!(unit_of("a".as_ref(), 8_192).unwrap(), 8_192);
    }
}
