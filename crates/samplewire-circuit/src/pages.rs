//! Huge pages for a region: from the system's pool of them where that has enough (hugetlbfs), else
//! ordinary memory that the kernel is asked to make huge pages of (transparent).

use std::fs;
use std::ptr::{NonNull, null_mut};

/// What the memory of a pool is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The system's smallest, usually 4 KiB; the kernel may join some of them.
    Small,
    /// Requested as transparent huge pages. Of the memory `huge_bytes` are, by the kernel's count
    /// after all were touched.
    Transparent {
        /// In huge pages; 0 when none was had.
        huge_bytes: usize,
    },
    /// All are huge pages of 2 MiB of the system's pool (`vm.nr_hugepages`): never swapped or split.
    Huge,
}

/// Address space of the kernel's, given back when this is dropped.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len_bytes: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range came from mmap in one piece and goes back once; every holder of
        // pointers into it also holds this value.
        let answer = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len_bytes) };
        debug_assert_eq!(answer, 0, "what was mapped can be unmapped");
    }
}

/// Takes zeroed memory of `len_bytes` at least, aligned to a huge page, and says what it is made of
/// where that is certain before it is touched. `None` when the kernel maps nothing.
pub(crate) fn take(len_bytes: usize) -> Option<(Mapping, NonNull<u8>, Option<Pages>)> {
    let len_bytes = len_bytes.checked_next_multiple_of(HUGE_BYTES)?;
    if let Some(mapping) = map(len_bytes, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB)
        && populate(&mapping)
    {
        let start = mapping.start;
        return Some((mapping, start, Some(Pages::Huge)));
    }
    // One more than needed, for the alignment.
    let mapping = map(len_bytes.checked_add(HUGE_BYTES)?, 0)?;
    let offset_bytes = mapping.start.align_offset(HUGE_BYTES);
    // SAFETY: the offset is less than HUGE_BYTES, which the mapping has beyond `len_bytes`.
    let start = unsafe { mapping.start.add(offset_bytes) };
    // SAFETY: the range lies in the mapping; the advice changes no content.
    let answer = unsafe { libc::madvise(start.as_ptr().cast(), len_bytes, libc::MADV_HUGEPAGE) };
    // A kernel without them returns an error, and the pages are small.
    let pages = (answer < 0).then_some(Pages::Transparent { huge_bytes: 0 });
    Some((mapping, start, pages))
}

/// The pages of memory for which transparent huge pages were requested, once it was touched.
pub(crate) fn found(start: NonNull<u8>, len_bytes: usize) -> Pages {
    let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let range = start.addr().get()..start.addr().get() + len_bytes;
    let mut is_ours = false;
    let mut huge_bytes = 0;
    for line in smaps.lines() {
        if let Some((from, to)) = addresses(line) {
            is_ours = from < range.end && range.start < to;
        } else if is_ours && let Some(kibibytes) = line.strip_prefix("AnonHugePages:") {
            let kibibytes = kibibytes.trim().trim_end_matches("kB").trim();
            huge_bytes += kibibytes.parse().unwrap_or(0) * 1_024;
        }
    }
    // A mapping of the kernel's may hold neighbours that are huge too.
    Pages::Transparent { huge_bytes: huge_bytes.min(len_bytes) }
}

/// `7f0c2a000000-7f0c2b000000 rw-p ..`, the first line of a mapping.
fn addresses(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

fn map(len_bytes: usize, more_flags: i32) -> Option<Mapping> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | more_flags);
    // SAFETY: the kernel chooses an address range that is not in use.
    let start = unsafe { libc::mmap(null_mut(), len_bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    Some(Mapping { start: NonNull::new(start.cast())?, len_bytes })
}

/// Fills a mapping with pages; `false` where the kernel has too few: touching them would then kill
/// the process.
fn populate(mapping: &Mapping) -> bool {
    // SAFETY: the range is the mapping's; all bytes stay as they are.
    let answer = unsafe {
        libc::madvise(mapping.start.as_ptr().cast(), mapping.len_bytes, libc::MADV_POPULATE_WRITE)
    };
    answer == 0
}

/// The huge page of x86-64, and of 64-bit ARM with pages of 4 KiB.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::{Pool, PoolConfig};

    #[test]
    fn pool_that_asks_for_huge_pages_says_what_it_has() {
        let config = PoolConfig::new(40, 100_000);
        assert_eq!(Pool::new(config).unwrap().pages(), Pages::Small);
        let pool = Pool::new(config.huge_pages(true)).unwrap();
        let choice = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        match pool.pages() {
            Pages::Huge => {}
            Pages::Transparent { huge_bytes } => {
                let is_off = choice.is_ok_and(|choice| choice.contains("[never]"));
                assert!(huge_bytes <= pool.memory_bytes(), "{huge_bytes}");
                assert!(huge_bytes == 0 || !is_off, "{huge_bytes} where none are");
            }
            Pages::Small => panic!("they were requested"),
        }
        let mut quanta: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        for (number, quantum) in quanta.iter_mut().enumerate() {
            quantum.set_len(100_000);
            assert!(quantum.data().iter().all(|byte| *byte == 0), "fresh memory is zero");
            quantum.data_mut().fill(number as u8);
        }
        let is_kept = |(number, quantum): (usize, &crate::Quantum)| {
            quantum.data().iter().all(|byte| *byte == number as u8)
        };
        assert!(quanta.iter().enumerate().all(is_kept));
        drop(pool);
        assert!(quanta.iter().enumerate().all(is_kept), "quanta keep the memory");
    }

    #[test]
    fn addresses_are_those_of_the_first_line_of_a_mapping() {
        assert_eq!(addresses("1000-2f00 rw-p 00000000 00:00 0 "), Some((0x1000, 0x2f00)));
        assert_eq!(addresses("AnonHugePages:      2048 kB"), None);
    }
}
