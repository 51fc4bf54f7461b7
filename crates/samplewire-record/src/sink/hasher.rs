//! Computes the SHA-512 of a data file in a separate thread while the file is written.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use sha2::{Digest, Sha512};

use super::Backlog;
use crate::storage::{OpenMode, Storage};
use crate::sync::{AtomicBool, Ordering, park};

/// Hashes a growing file.
///
/// The thread reads the written bytes, from the system's cache as long as it keeps up, so it never
/// delays the writer. It hashes some 0.6 GB/s on its own core. [`Hasher::finish`] waits for the
/// rest.
#[derive(Debug)]
pub(super) struct Hasher {
    signals: Arc<Signals>,
    backlog: Backlog,
    /// `None` after the thread was joined.
    thread: Option<JoinHandle<io::Result<String>>>,
}

/// Flags that the thread checks between two pieces of the file.
#[derive(Debug)]
struct Signals {
    /// Set once, when the file will not grow any more.
    complete: AtomicBool,
    /// Set once, when the hash is no longer needed.
    given_up: AtomicBool,
}

impl Signals {
    fn new() -> Self {
        Self { complete: AtomicBool::new(false), given_up: AtomicBool::new(false) }
    }
}

impl Hasher {
    /// Starts the thread on a file. `backlog` shows the bytes that are not hashed yet. `known` is
    /// the hash of the file's first bytes, which must still match.
    pub(super) fn start(
        storage: &dyn Storage,
        path: &Path,
        known: Option<Known>,
        backlog: Backlog,
    ) -> io::Result<Self> {
        let file = storage.open(path, OpenMode::Read, false)?;
        backlog.add_to_hash(file.entry()?.len_bytes);
        let signals = Arc::new(Signals::new());
        let (seen, left) = (Arc::clone(&signals), backlog.clone());
        let hash = move || hash_growing(file, &seen, known.as_ref(), |bytes| left.hashed(bytes));
        let thread = Builder::new().name("samplewire-sha512".into()).spawn(hash)?;
        Ok(Self { signals, backlog, thread: Some(thread) })
    }

    /// Notifies the thread that the file has grown.
    pub(super) fn grow(&self, bytes: u64) {
        self.backlog.add_to_hash(bytes);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Waits for the hash of the whole file.
    pub(super) fn finish(mut self) -> io::Result<String> {
        // Release: pairs with the Acquire in the thread, which then reads everything that was
        // written.
        self.signals.complete.store(true, Ordering::Release);
        self.wake();
        let thread = self.thread.take().expect("it is taken only here, once");
        thread.join().expect("hashing does not panic")
    }
}

impl Drop for Hasher {
    /// Lets the thread end alone, after its current piece.
    fn drop(&mut self) {
        // Relaxed: the flag orders no other data.
        self.signals.given_up.store(true, Ordering::Relaxed);
        if self.thread.is_some() {
            self.wake();
            self.backlog.forget_hashes();
        }
    }
}

/// The hash of the beginning of a file.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) len_bytes: u64,
    /// The hash in lower-case hex.
    pub(super) sha512: String,
}

fn hash_growing(
    mut file: impl Read,
    signals: &Signals,
    known: Option<&Known>,
    hashed: impl Fn(u64),
) -> io::Result<String> {
    let mut hash = Sha512::new();
    let mut block = vec![0; BLOCK_BYTES];
    let mut known_bytes = known.map_or(0, |known| known.len_bytes);
    loop {
        // Loaded before the read: only an end of file found after the last write is final.
        let is_complete = signals.complete.load(Ordering::Acquire);
        // Relaxed: see `Hasher::drop`.
        if signals.given_up.load(Ordering::Relaxed) {
            return Err(io::Error::other("the hash is not wanted any more"));
        }
        let wanted_bytes = match known_bytes {
            0 => block.len(),
            left => block.len().min(usize::try_from(left).unwrap_or(usize::MAX)),
        };
        match file.read(&mut block[..wanted_bytes]) {
            Ok(0) if is_complete => return Ok(format!("{:x}", hash.finalize())),
            // If a wake-up came since the read, this returns at once.
            Ok(0) => park(),
            Ok(len_bytes) => {
                hash.update(&block[..len_bytes]);
                hashed(len_bytes as u64);
                if let (Some(known), 1..) = (known, known_bytes) {
                    known_bytes -= len_bytes as u64;
                    if known_bytes == 0 && format!("{:x}", hash.clone().finalize()) != known.sha512
                    {
                        return Err(changed(known));
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn changed(known: &Known) -> io::Error {
    io::Error::other(format!(
        "its first {} bytes have changed since it was finished: check it with `samplewire verify`",
        known.len_bytes
    ))
}

const BLOCK_BYTES: usize = if cfg!(loom) { 16 } else { 256 << 10 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sigmf::sha512_of;
    use crate::storage::OsStorage;
    use std::io::Write;
    use tempfile::NamedTempFile;

    fn start(file: &NamedTempFile, known: Option<Known>) -> io::Result<Hasher> {
        Hasher::start(&OsStorage, file.path(), known, Backlog::default())
    }

    #[test]
    fn hash_is_that_of_the_whole_file() {
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
        let mut file = NamedTempFile::new().unwrap();
        let hasher = start(&file, None).unwrap();
        for piece in bytes.chunks(10_007) {
            file.write_all(piece).unwrap();
            hasher.grow(piece.len() as u64);
        }
        let backlog = hasher.backlog.clone();
        assert_eq!(hasher.finish().unwrap(), sha512_of(&mut &bytes[..]).unwrap());
        assert_eq!(backlog.to_hash_bytes(), 0);
    }

    #[test]
    fn hash_of_nothing_is_known_without_a_wake() {
        let file = NamedTempFile::new().unwrap();
        let hash = start(&file, None).unwrap().finish().unwrap();
        assert!(hash.starts_with("cf83e1357eefb8bd"), "{hash}");
    }

    #[test]
    fn beginning_that_changed_is_an_error() {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(&[7; 1_000_000]).unwrap();
        let sha512 = sha512_of(&mut &[7; 600_001][..]).unwrap();
        let known = Known { len_bytes: 600_001, sha512 };
        let hash = start(&file, Some(known.clone())).unwrap().finish().unwrap();
        assert_eq!(hash, sha512_of(&mut &[7; 1_000_000][..]).unwrap());
        let wrong = Known { len_bytes: 600_000, ..known };
        let error = start(&file, Some(wrong)).unwrap().finish().unwrap_err();
        assert!(error.to_string().contains("its first 600000 bytes have changed"), "{error}");
    }

    #[test]
    fn thread_ends_when_the_recording_is_given_up() {
        let file = NamedTempFile::new().unwrap();
        let mut hasher = start(&file, None).unwrap();
        let thread = hasher.thread.take().unwrap();
        drop(hasher);
        thread.thread().unpark();
        assert!(thread.join().unwrap().is_err(), "there is no hash of a part");
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sigmf::sha512_of;
    use samplewire_circuit::model::loom;

    use loom::sync::atomic::AtomicU32;
    use loom::thread;

    /// A file of zeros whose length another thread changes without memory ordering.
    struct Growing {
        len: Arc<AtomicU32>,
        read: u32,
    }

    impl Read for Growing {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let fresh = (self.len.load(Ordering::Relaxed) - self.read) as usize;
            out[..fresh].fill(0);
            self.read += fresh as u32;
            Ok(fresh)
        }
    }

    /// No wake-up is lost. The loom model does not check the memory orders of `complete`.
    #[test]
    fn all_that_was_written_is_hashed() {
        let expected = sha512_of(&mut &[0; 2][..]).unwrap();
        loom::model(move || {
            let len = Arc::new(AtomicU32::new(0));
            let signals = Arc::new(Signals::new());
            let (seen, file) = (signals.clone(), Growing { len: len.clone(), read: 0 });
            let hasher = thread::spawn(move || hash_growing(file, &seen, None, |_| ()).unwrap());
            len.fetch_add(1, Ordering::Relaxed);
            hasher.thread().unpark();
            // Some writes have no wake-up.
            len.fetch_add(1, Ordering::Relaxed);
            signals.complete.store(true, Ordering::Release);
            hasher.thread().unpark();
            assert_eq!(hasher.join().unwrap(), expected);
        });
    }
}
