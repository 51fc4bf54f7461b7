//! Files in memory that count operations and can stop a recorder after any of them.
//!
//! The model is SIGKILL: operations that returned persist, and the last write may be short. A power
//! failure is a different model.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use samplewire_record::storage::{Entry, OpenMode, Storage, StoredFile, Work};

/// All named files. Contents are shared until they are written.
pub(crate) type Snapshot = BTreeMap<PathBuf, Arc<Vec<u8>>>;

/// Receives each state that a kill would leave, in order.
pub(crate) type Observer = Box<dyn FnMut(Point, Snapshot) + Send>;

/// The moment of a kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// The number of operations that returned.
    pub(crate) ops: u64,
    /// If the next operation is a write, how much of it happens; nothing if it does not begin.
    pub(crate) cut: Cut,
}

/// How much of the last write happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Nothing,
    Half,
    AllButOne,
}

impl Cut {
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Half, Self::AllButOne];

    fn of(self, len_bytes: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Half => len_bytes / 2,
            Self::AllButOne => len_bytes.saturating_sub(1),
        }
    }
}

/// When parallel work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// At its start.
    AtOnce,
    /// When another thread waits for it.
    Last,
}

/// The fate of the recorder.
pub(crate) enum Fate {
    /// Nothing.
    Lives,
    /// It is killed.
    Killed(Point),
    /// The disk is full in the middle of a write, counted from 0.
    Full(u64),
    /// Nothing, and each state is observed.
    Watched(Observer),
}

#[derive(Clone)]
pub(crate) struct Memory {
    state: Arc<Mutex<State>>,
    beside: Beside,
}

struct State {
    names: BTreeMap<PathBuf, usize>,
    contents: Vec<Arc<Vec<u8>>>,
    locks: Vec<usize>,
    fate: Fate,
    ops: u64,
    writes: u64,
    is_killed: bool,
    /// The limit of all files in bytes, after the disk is full.
    capacity_bytes: Option<usize>,
    now: Instant,
}

impl Memory {
    pub(crate) fn new(files: Snapshot, beside: Beside, fate: Fate) -> Self {
        let names = files.keys().cloned().zip(0..).collect();
        let state = State {
            names,
            contents: files.into_values().collect(),
            locks: Vec::new(),
            fate,
            ops: 0,
            writes: 0,
            is_killed: false,
            capacity_bytes: None,
            now: Instant::now(),
        };
        Self { state: Arc::new(Mutex::new(state)), beside }
    }

    /// Creates the files for a recorder to which nothing happens.
    pub(crate) fn of(files: Snapshot) -> Self {
        Self::new(files, Beside::AtOnce, Fate::Lives)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.lock().snapshot()
    }

    /// Returns the number of operations that returned.
    pub(crate) fn ops(&self) -> u64 {
        self.lock().ops
    }

    /// Returns the number of attempted writes.
    pub(crate) fn writes(&self) -> u64 {
        self.lock().writes
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.lock().now += time;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test continues after a panic")
    }
}

impl State {
    fn snapshot(&self) -> Snapshot {
        let content = |id: usize| Arc::clone(&self.contents[id]);
        self.names.iter().map(|(path, &id)| (path.clone(), content(id))).collect()
    }

    /// Precedes each operation other than a write.
    fn begin(&mut self) -> io::Result<()> {
        if let Fate::Killed(point) = self.fate
            && self.ops == point.ops
        {
            self.is_killed = true;
        }
        if self.is_killed { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    fn end(&mut self) {
        self.ops += 1;
        self.show(Cut::Nothing);
    }

    fn show(&mut self, cut: Cut) {
        let (point, snapshot) = (Point { ops: self.ops, cut }, self.snapshot());
        if let Fate::Watched(observer) = &mut self.fate {
            observer(point, snapshot);
        }
    }

    fn create(&mut self, path: &Path) -> usize {
        self.contents.push(Arc::default());
        self.names.insert(path.to_owned(), self.contents.len() - 1);
        self.contents.len() - 1
    }

    fn write(
        &mut self,
        id: usize,
        at: usize,
        bytes: &[u8],
        unit_bytes: usize,
    ) -> io::Result<usize> {
        if let Fate::Killed(point) = self.fate
            && self.ops == point.ops
            && !self.is_killed
        {
            self.put(id, at, &bytes[..point.cut.of(bytes.len())]);
        }
        self.begin()?;
        if matches!(self.fate, Fate::Watched(_)) {
            let before = Arc::clone(&self.contents[id]);
            for cut in [Cut::Half, Cut::AllButOne] {
                self.put(id, at, &bytes[..cut.of(bytes.len())]);
                self.show(cut);
            }
            self.contents[id] = before;
        }
        if let Fate::Full(write) = self.fate
            && write == self.writes
        {
            let grows_bytes = (at + bytes.len()).saturating_sub(self.contents[id].len());
            self.capacity_bytes = Some(self.used_bytes() + grows_bytes / 2);
        }
        self.writes += 1;
        let free_bytes = self.capacity_bytes.map_or(usize::MAX / 2, |capacity_bytes| {
            capacity_bytes.saturating_sub(self.used_bytes())
        });
        let len_bytes = bytes.len().min((self.contents[id].len() + free_bytes).saturating_sub(at));
        let len_bytes = len_bytes - len_bytes % unit_bytes;
        if len_bytes == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        self.put(id, at, &bytes[..len_bytes]);
        self.end();
        Ok(len_bytes)
    }

    fn put(&mut self, id: usize, at: usize, bytes: &[u8]) {
        let content = Arc::make_mut(&mut self.contents[id]);
        if content.len() < at + bytes.len() {
            set_len(content, at + bytes.len());
        }
        content[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn used_bytes(&self) -> usize {
        self.names.values().map(|&id| self.contents[id].len()).sum()
    }

    fn entry(&self, id: usize) -> Entry {
        let len_bytes = self.contents[id].len() as u64;
        Entry { is_file: true, is_folder: false, len_bytes, modified: SystemTime::UNIX_EPOCH }
    }
}

/// Cuts a file, or fills it up with zeros. `Vec::resize` would write them one by one in a build of tests.
fn set_len(content: &mut Vec<u8>, len_bytes: usize) {
    content.truncate(len_bytes);
    content.append(&mut vec![0; len_bytes - content.len()]);
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path, mode: OpenMode, directly: bool) -> io::Result<Box<dyn StoredFile>> {
        let mut state = self.lock();
        let found = state.names.get(path).copied();
        let id = match (mode, found) {
            (OpenMode::CreateNew, Some(_)) => return Err(ErrorKind::AlreadyExists.into()),
            (OpenMode::Read | OpenMode::Write, None) => return Err(ErrorKind::NotFound.into()),
            (OpenMode::Create | OpenMode::Truncate | OpenMode::CreateNew, None) => {
                state.begin()?;
                let id = state.create(path);
                state.end();
                id
            }
            (OpenMode::Truncate, Some(id)) => {
                state.begin()?;
                state.contents[id] = Arc::default();
                state.end();
                id
            }
            (_, Some(id)) => id,
        };
        drop(state);
        let has_lock = AtomicBool::new(false);
        Ok(Box::new(MemoryFile { memory: self.clone(), id, at: 0, is_direct: directly, has_lock }))
    }

    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let state = self.lock();
        let id = state.names.get(path).ok_or(ErrorKind::NotFound)?;
        Ok(state.entry(*id))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.begin()?;
        let id = state.names.remove(from).ok_or(ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), id);
        state.end();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.begin()?;
        state.names.remove(path).ok_or(ErrorKind::NotFound)?;
        state.end();
        Ok(())
    }

    fn now(&self) -> Instant {
        self.lock().now
    }

    fn start(&self, _name: &str, work: Work) -> io::Result<Work> {
        match self.beside {
            Beside::AtOnce => {
                work();
                Ok(Box::new(|| ()))
            }
            Beside::Last => Ok(work),
        }
    }
}

#[derive(Debug)]
struct MemoryFile {
    memory: Memory,
    id: usize,
    at: usize,
    is_direct: bool,
    /// Whether this handle holds the lock of its content.
    has_lock: AtomicBool,
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.unlock().expect("it is memory");
    }
}

impl StoredFile for MemoryFile {
    fn entry(&self) -> io::Result<Entry> {
        Ok(self.memory.lock().entry(self.id))
    }

    fn set_len(&mut self, len_bytes: u64) -> io::Result<()> {
        let mut state = self.memory.lock();
        state.begin()?;
        set_len(Arc::make_mut(&mut state.contents[self.id]), len_bytes as usize);
        state.end();
        Ok(())
    }

    fn empty(&mut self) -> io::Result<()> {
        self.set_len(0)
    }

    fn allocate(&mut self, _start_bytes: u64, _len_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn leave_direct(&mut self) -> io::Result<()> {
        self.is_direct = false;
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.memory.lock();
        let is_free = !state.locks.contains(&self.id);
        if is_free {
            state.locks.push(self.id);
            // Relaxed: the state is locked.
            self.has_lock.store(true, Ordering::Relaxed);
        }
        Ok(is_free)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut state = self.memory.lock();
        if self.has_lock.swap(false, Ordering::Relaxed) {
            state.locks.retain(|&id| id != self.id);
        }
        Ok(())
    }
}

impl Read for MemoryFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let content = Arc::clone(&self.memory.lock().contents[self.id]);
        let len_bytes = (&content[self.at.min(content.len())..]).read(out)?;
        self.at += len_bytes;
        Ok(len_bytes)
    }
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let unit_bytes = if self.is_direct { DIRECT_BYTES } else { 1 };
        if self.is_direct {
            let is_aligned = [self.at, bytes.len(), bytes.as_ptr().addr()]
                .iter()
                .all(|number| number.is_multiple_of(DIRECT_BYTES));
            assert!(is_aligned, "a direct write of {} bytes at {}", bytes.len(), self.at);
        }
        let len_bytes = self.memory.lock().write(self.id, self.at, bytes, unit_bytes)?;
        self.at += len_bytes;
        Ok(len_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for MemoryFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let content = Arc::clone(&self.memory.lock().contents[self.id]);
        let mut cursor = Cursor::new(content.as_slice());
        cursor.set_position(self.at as u64);
        let at = cursor.seek(position)?;
        self.at = at as usize;
        Ok(at)
    }
}

/// The unit of direct writes.
const DIRECT_BYTES: usize = 4_096;
