//! What pools can lie in: the heap, huge pages, and memory that other processes see.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};

use crate::pages::Pages;

/// Memory for a [`Pool`](crate::Pool) of one's own: see
/// [`Pool::with_memory`](crate::Pool::with_memory).
///
/// # Safety
/// For as long as the value lives:
/// - [`Memory::base`] and [`Memory::len_bytes`] answer the same;
/// - the base is a multiple of 64, and the bytes from there on are one allocation, mapped and
///   initialised;
/// - only the pool reads or writes them in this process. A process or device that shares them
///   agrees with the owners of the quanta when to access them.
pub unsafe trait Memory: Send + Sync {
    /// Where it begins.
    fn base(&self) -> NonNull<u8>;

    /// How long it is.
    fn len_bytes(&self) -> usize;

    /// What it is made of.
    fn pages(&self) -> Pages {
        Pages::Small
    }

    /// What it takes from the system in bytes.
    fn taken_bytes(&self) -> usize {
        self.len_bytes()
    }
}

/// Memory that other processes can read: they get its file by [`AsFd`], over a socket or by
/// inheritance.
///
/// The kernel keeps the file at its length, and refuses every later attempt to write to it or to
/// map it writable. This holds for this process too, and for a file that is opened again through
/// its descriptor. So samples that are borrowed here change only through their owner. There is one
/// exception: a child of `fork` that continues with the quanta of its parent without `exec`.
/// Readers see samples while they are worked on, and agree with the owners of the quanta when to
/// look. For memory that others write, implement [`Memory`].
///
/// ```
/// use std::os::fd::AsFd;
/// use std::os::unix::fs::FileExt;
///
/// use samplewire_circuit::{Pool, PoolConfig, SharedMemory};
///
/// let config = PoolConfig::new(2, 4_096);
/// let memory = SharedMemory::new(config.memory_bytes()?)?;
/// let file = std::fs::File::from(memory.as_fd().try_clone_to_owned()?);
/// let pool = Pool::with_memory(config, memory)?;
///
/// let mut quantum = pool.take().unwrap();
/// quantum.set_len(4);
/// quantum.data_mut().copy_from_slice(b"data");
/// let mut seen = [0; 4];
/// file.read_exact_at(&mut seen, pool.offset_bytes(&quantum).unwrap() as u64)?;
/// assert_eq!(&seen, b"data");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    len_bytes: usize,
    file: OwnedFd,
}

impl SharedMemory {
    /// Takes `len_bytes` (at least 1) of zeroed memory and touches every page of it.
    ///
    /// # Errors
    /// The kernel's, with what it could not do: memory, address space, or descriptors are short, or it
    /// is older than Linux 5.1 and cannot keep others from writing.
    ///
    /// # Blocking
    /// See [`Pool::new`](crate::Pool::new).
    pub fn new(len_bytes: usize) -> io::Result<Self> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name ends in a zero byte.
        let file = unsafe { libc::memfd_create(NAME.as_ptr(), flags) };
        if file < 0 {
            return Err(failed("create shared memory"));
        }
        // SAFETY: the kernel has just opened it for this caller alone.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let len = i64::try_from(len_bytes).map_err(|_| too_long(len_bytes))?;
        // SAFETY: it is an open file; the call takes no pointers.
        if unsafe { libc::ftruncate(file.as_raw_fd(), len) } != 0 {
            return Err(failed(&format!("make shared memory {len_bytes} bytes long")));
        }
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: the kernel chooses an address range that is not in use.
        let base =
            unsafe { libc::mmap(null_mut(), len_bytes, protection, flags, file.as_raw_fd(), 0) };
        let memory = match NonNull::new(base.cast()) {
            Some(base) if base.as_ptr() != libc::MAP_FAILED.cast() => {
                Self { base, len_bytes, file }
            }
            _ => return Err(failed(&format!("map {len_bytes} bytes of shared memory"))),
        };
        // Behind the mapping, which stays as it is, and before anybody else has the file.
        // SAFETY: it is an open file; the call takes no pointers.
        if unsafe { libc::fcntl(memory.file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
            return Err(failed("keep others from writing to shared memory (Linux 5.1 can)"));
        }
        Ok(memory)
    }
}

// SAFETY: the mapping begins at a page, lies there until the drop below, and was zeroed by the
// kernel; the seals keep the file from losing a page of it, and all others from writing to it. The
// pointer does not leave this value but by this trait.
unsafe impl Memory for SharedMemory {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

// SAFETY: a mapping has no thread affinity.
unsafe impl Send for SharedMemory {}
// SAFETY: a reference to it only says where it lies.
unsafe impl Sync for SharedMemory {}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the range came from mmap in one piece and goes back once; every holder of
        // pointers into it also holds this value.
        let answer = unsafe { libc::munmap(self.base.as_ptr().cast(), self.len_bytes) };
        debug_assert_eq!(answer, 0, "what was mapped can be unmapped");
    }
}

fn failed(what: &str) -> io::Error {
    let error = io::Error::last_os_error();
    io::Error::new(error.kind(), format!("cannot {what}: {error}"))
}

fn too_long(len_bytes: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("no file is {len_bytes} bytes long"))
}

/// What the kernel shows it as.
const NAME: &CStr = c"samplewire";
/// It stays as long as it is, and is written by the mapping that there is alone.
const SEALS: i32 =
    libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_FUTURE_WRITE | libc::F_SEAL_SEAL;

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::{Pool, PoolConfig, PoolError};

    #[test]
    fn other_process_finds_the_samples_where_the_pool_says() {
        let config = PoolConfig::new(3, 1_000);
        let memory = SharedMemory::new(config.memory_bytes().unwrap()).unwrap();
        let file = memory.as_fd().try_clone_to_owned().unwrap();
        let pool = Pool::with_memory(config, memory).unwrap();
        let mut quanta: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        for (number, quantum) in (1..).zip(&mut quanta) {
            quantum.fill().fill(number);
        }
        let offsets: Vec<_> = quanta.iter().map(|it| pool.offset_bytes(it).unwrap()).collect();
        drop(pool);
        let seen = Command::new("cat").stdin(Stdio::from(file)).output().unwrap().stdout;
        assert_eq!(seen.len(), config.memory_bytes().unwrap());
        for (number, offset) in (1..).zip(offsets) {
            assert!(seen[offset..offset + 1_000].iter().all(|byte| *byte == number));
            assert_eq!((seen[offset - 1], seen[offset + 1_000]), (0, 0));
        }
        assert!(quanta.iter().all(|quantum| quantum.data()[999] != 0), "they keep the memory");
    }

    #[test]
    fn no_other_process_can_write_or_change_the_length() {
        let config = PoolConfig::new(1, 4_096);
        let memory = SharedMemory::new(config.memory_bytes().unwrap()).unwrap();
        let file = File::from(memory.as_fd().try_clone_to_owned().unwrap());
        let pool = Pool::with_memory(config, memory).unwrap();
        let mut quantum = pool.take().unwrap();
        let at = pool.offset_bytes(&quantum).unwrap() as u64;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let reopened = File::options().read(true).write(true).open(path).unwrap();
        for file in [&file, &reopened] {
            let refused = |result: io::Result<()>| {
                assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            };
            refused(file.write_all_at(b"other", at));
            refused(file.set_len(1));
            refused(file.set_len(1 << 20));
            let map = |protection| {
                let (fd, flags) = (file.as_raw_fd(), libc::MAP_SHARED);
                // SAFETY: the kernel chooses an address range that is not in use.
                unsafe { libc::mmap(null_mut(), 4_096, protection, flags, fd, 0) }
            };
            assert_eq!(map(libc::PROT_READ | libc::PROT_WRITE), libc::MAP_FAILED);
            let seen = map(libc::PROT_READ);
            assert_ne!(seen, libc::MAP_FAILED);
            // SAFETY: a mapping to read, of which no pointer was kept; it cannot be made writable.
            unsafe {
                let writable = libc::PROT_READ | libc::PROT_WRITE;
                assert_eq!(libc::mprotect(seen, 4_096, writable), -1);
                assert_eq!(libc::munmap(seen, 4_096), 0);
            }
        }
        quantum.set_len(5);
        quantum.data_mut().copy_from_slice(b"owner");
        let mut seen = [0; 5];
        file.read_exact_at(&mut seen, at).unwrap();
        assert_eq!(&seen, b"owner", "the pool writes as before, and others see it");
    }

    #[test]
    fn memory_too_small_is_refused_with_both_sizes() {
        let config = PoolConfig::new(2, 64);
        let needed_bytes = config.memory_bytes().unwrap();
        let memory = SharedMemory::new(needed_bytes - 1).unwrap();
        let error = Pool::with_memory(config, memory).unwrap_err();
        assert_eq!(error, PoolError::Memory { needed_bytes, given_bytes: needed_bytes - 1 });
        let text =
            "the pool needs 384 bytes of memory, 383 were given: see PoolConfig::memory_bytes";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn length_that_no_file_has_is_an_error() {
        assert!(SharedMemory::new(0).unwrap_err().to_string().contains("cannot map 0 bytes"));
        let error = SharedMemory::new(usize::MAX).unwrap_err().to_string();
        assert_eq!(error, format!("no file is {} bytes long", usize::MAX));
    }

    #[test]
    fn quantum_of_another_pool_has_no_offset() {
        let [pool, other] = [1, 2].map(|quanta| Pool::new(PoolConfig::new(quanta, 64)).unwrap());
        assert_eq!(pool.offset_bytes(&other.take().unwrap()), None);
        assert_eq!(pool.offset_bytes(&pool.take().unwrap()), Some(64));
    }
}
