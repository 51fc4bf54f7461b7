//! Sync words.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use samplewire_circuit::{Flow, InPlace, Quantum, Tag, TagKind, Work};

use crate::kernels::{SyncError, SyncSearch, SyncWord};

/// Puts a sync word before each frame, in the head margin: one quantum is one frame.
#[derive(Clone, Copy, Debug)]
pub struct InsertSync {
    word: SyncWord,
}

impl InsertSync {
    /// This word.
    pub const fn new(word: SyncWord) -> Self {
        Self { word }
    }
}

impl InPlace<u8> for InsertSync {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        let len_bytes = self.word.len_bytes();
        let Some(room) = quantum.prepend(len_bytes) else {
            let words = format!("the head margin has no room for a sync word of {len_bytes} bytes");
            return Err(words.into());
        };
        self.word.write(room);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Finds a sync word at any bit of a stream of bytes, with up to so many bits wrong, and changes
/// nothing: a [`TagKind::Sync`] stands at the byte in which the word ends. Words that a gap cuts are
/// not found. A [`SyncSearch`].
///
/// ```
/// use samplewire_blocks::FindSync;
/// use samplewire_blocks::kernels::SyncWord;
///
/// let (block, matches) = FindSync::new(SyncWord::new(&[0x1A, 0xCF, 0xFC, 0x1D])?, 3)?;
/// // The block goes into a graph, `matches` says from any thread what came of it.
/// assert_eq!((matches.found(), matches.untagged()), (0, 0));
/// # drop(block);
/// # Ok::<(), samplewire_blocks::kernels::SyncError>(())
/// ```
#[derive(Debug)]
pub struct FindSync {
    search: SyncSearch,
    /// The index of the first byte that the search saw since it restarted.
    begin: u64,
    /// Where the next quantum begins if nothing is missing.
    next: Option<u64>,
    counts: Arc<Counts>,
}

impl FindSync {
    /// Finds `word` where up to `errors_max` of its bits are wrong, fewer than half of them.
    ///
    /// # Errors
    /// [`SyncError::Tolerance`] when they are not.
    pub fn new(word: SyncWord, errors_max: u32) -> Result<(Self, SyncMatches), SyncError> {
        let search = SyncSearch::new(word, errors_max)?;
        let counts = Arc::<Counts>::default();
        let matches = SyncMatches { counts: Arc::clone(&counts) };
        Ok((Self { search, begin: 0, next: None, counts }, matches))
    }
}

impl InPlace<u8> for FindSync {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        if self.next != Some(quantum.index()) {
            self.search.restart();
            self.begin = quantum.index();
        }
        self.next = Some(quantum.end_index());
        let mut tags = *quantum.tags();
        let Self { search, begin, counts, .. } = self;
        search.push(quantum.samples(), |end_bit, wrong_bits| {
            let last = end_bit - 1;
            let kind = TagKind::Sync { bit: (last % 8) as u8, wrong_bits: wrong_bits as u8 };
            // Relaxed, here and in the matches: counts, which order nothing.
            counts.found.fetch_add(1, Ordering::Relaxed);
            if tags.insert(Tag { index: *begin + last / 8, kind }).is_err() {
                counts.untagged.fetch_add(1, Ordering::Relaxed);
            }
        });
        *quantum.tags_mut() = tags;
        Ok(Flow::Pass)
    }
}

/// How often a [`FindSync`] found its word.
#[derive(Clone, Debug)]
pub struct SyncMatches {
    counts: Arc<Counts>,
}

impl SyncMatches {
    /// Words that were found.
    pub fn found(&self) -> u64 {
        self.counts.found.load(Ordering::Relaxed)
    }

    /// Words of them whose quantum had no place for one more tag
    /// ([`Tags::LEN_MAX`](samplewire_circuit::Tags::LEN_MAX)): shorter quanta have fewer words each.
    pub fn untagged(&self) -> u64 {
        self.counts.untagged.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct Counts {
    found: AtomicU64,
    untagged: AtomicU64,
}
