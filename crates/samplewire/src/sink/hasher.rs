//! SHA-512 beside the writing: a thread that reads the data file after the writer.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, park};

use sha2::Digest;

use crate::sigmf::{Sha512Hex, new_sha512};

/// Hashes a file that grows.
///
/// The thread reads what was written, from the system's cache as long as it keeps up, and so never
/// holds the writer back: it hashes some 0.6 GB/s on a core of its own, and what it lags behind by
/// is made up for in [`Hasher::finish`].
#[derive(Debug)]
pub(super) struct Hasher {
    /// Set once, when the file will not grow any more.
    complete: Arc<AtomicBool>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<io::Result<String>>>,
}

impl Hasher {
    /// Starts the thread on a file that is empty yet.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let complete = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&complete);
        let builder = Builder::new().name("samplewire-sha512".into());
        let thread = builder.spawn(move || hash_growing(file, &seen))?;
        Ok(Self { complete, thread: Some(thread) })
    }

    /// Tells the thread that the file has grown.
    pub(super) fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Waits for the hash of the whole file.
    pub(super) fn finish(mut self) -> io::Result<String> {
        self.complete();
        let thread = self.thread.take().expect("it is taken only here, once");
        thread.join().expect("hashing does not panic")
    }

    fn complete(&self) {
        // Release: pairs with the Acquire in the thread, which then finds all that was written.
        self.complete.store(true, Ordering::Release);
        self.wake();
    }
}

impl Drop for Hasher {
    /// Lets the thread end by itself.
    fn drop(&mut self) {
        self.complete();
    }
}

fn hash_growing(mut file: File, complete: &AtomicBool) -> io::Result<String> {
    let mut hash = new_sha512();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        // Before the read: only an end found after the last write is the end.
        let is_complete = complete.load(Ordering::Acquire);
        match file.read(&mut block) {
            Ok(0) if is_complete => return Ok(Sha512Hex(hash.finalize()).to_string()),
            // A wake that came since the read ends this at once.
            Ok(0) => park(),
            Ok(len_bytes) => hash.update(&block[..len_bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

const BLOCK_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sigmf::sha512_of;
    use std::io::Write;
    use tempfile::NamedTempFile;

    #[test]
    fn hash_is_that_of_the_whole_file() {
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
        let mut file = NamedTempFile::new().unwrap();
        let hasher = Hasher::start(file.path()).unwrap();
        for piece in bytes.chunks(10_007) {
            file.write_all(piece).unwrap();
            hasher.wake();
        }
        assert_eq!(hasher.finish().unwrap(), sha512_of(&mut &bytes[..]).unwrap());
    }

    #[test]
    fn hash_of_nothing_is_known_without_a_wake() {
        let file = NamedTempFile::new().unwrap();
        let hash = Hasher::start(file.path()).unwrap().finish().unwrap();
        assert!(hash.starts_with("cf83e1357eefb8bd"), "{hash}");
    }

    #[test]
    fn thread_ends_when_the_recording_is_given_up() {
        let file = NamedTempFile::new().unwrap();
        let mut hasher = Hasher::start(file.path()).unwrap();
        let thread = hasher.thread.take().unwrap();
        drop(hasher);
        thread.thread().unpark();
        assert!(thread.join().unwrap().is_ok());
    }
}
