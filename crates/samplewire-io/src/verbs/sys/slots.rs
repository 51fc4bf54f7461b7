//! Slots that one peer writes to while this program copies from them.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use samplewire_circuit::Memory;

use super::super::{Peer, Written};
use super::bindings::{IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_SUCCESS};
use super::memory::Registered;
use super::pair::Pair;
use super::{Context, Domain, immediate};

/// A region, and the queue pair whose peer may write to it.
pub(in super::super) struct Slots {
    /// Before the memory: it has to be gone when that is given back.
    pair: Option<Pair>,
    memory: Registered,
}

impl Slots {
    /// Registers memory, and makes a queue pair that takes receive requests.
    pub(in super::super) fn new(
        context: Arc<Context>,
        len_bytes: usize,
        receives: usize,
        seen_at: u64,
    ) -> io::Result<Self> {
        let domain = Domain::new(context)?;
        let memory = Registered::new(&domain, len_bytes, Some(seen_at))?;
        let mut pair = Pair::new(&domain, receives)?;
        pair.init(true)?;
        Ok(Self { pair: Some(pair), memory })
    }

    /// The number of the queue pair, 0 where it has ended.
    pub(in super::super) fn number(&self) -> u32 {
        self.pair.as_ref().map_or(0, Pair::number)
    }

    /// The key by which a peer writes to the region.
    pub(in super::super) fn remote_key(&self) -> u32 {
        self.memory.keys().remote
    }

    pub(in super::super) fn connect(&mut self, gid_index: u8, peer: &Peer) -> io::Result<()> {
        self.pair_mut()?.connect(gid_index, peer)
    }

    /// Ends the queue pair.
    pub(in super::super) fn end(&mut self) {
        self.pair = None;
    }

    /// Posts a receive request.
    pub(in super::super) fn post(&mut self) -> io::Result<()> {
        self.pair_mut()?.post_empty()
    }

    /// The next completion, if there is a queue pair.
    pub(in super::super) fn poll(&mut self) -> io::Result<Option<Written>> {
        let Some(pair) = &mut self.pair else { return Ok(None) };
        let Some(completion) = pair.poll()? else { return Ok(None) };
        Ok(Some(match completion.status {
            IBV_WC_SUCCESS if completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM => Written::Whole {
                len_bytes: completion.byte_len,
                immediate: immediate(&completion).unwrap_or(0),
            },
            IBV_WC_SUCCESS => Written::Message,
            _ => Written::Failed,
        }))
    }

    /// See [`Pair::arm`].
    pub(in super::super) fn arm(&mut self) -> io::Result<bool> {
        self.pair.as_mut().map_or(Ok(false), Pair::arm)
    }

    fn pair_mut(&mut self) -> io::Result<&mut Pair> {
        self.pair.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Copies bytes of the region, from an offset on that is a multiple of a word.
    ///
    /// The peer may write them meanwhile: then each byte is one of before or after.
    pub(in super::super) fn copy(&self, offset: usize, into: &mut [u8]) {
        let end = offset.checked_add(into.len());
        let lies_within = end.is_some_and(|end| end <= self.memory.len_bytes());
        assert!(lies_within && offset.is_multiple_of(size_of::<usize>()), "{offset} and on");
        // SAFETY: the bytes lie in the mapping, which begins at a page. This program never writes there.
        unsafe { copy_shared(self.memory.base().byte_add(offset), into) };
    }
}

/// Copies bytes that another writes meanwhile, by atomic reads of words.
///
/// # Safety
/// `from` is the aligned address of a word, and points to as many bytes as `into` has. They live, and
/// are written by atomic writes or from outside this program alone.
unsafe fn copy_shared(from: NonNull<u8>, into: &mut [u8]) {
    let (words, rest) = into.as_chunks_mut::<{ size_of::<usize>() }>();
    let rest_at = size_of_val(words);
    for (at, word) in words.iter_mut().enumerate() {
        // SAFETY: the caller's contract; relaxed, because the library orders these reads after that of
        // the completion.
        let read = unsafe { from.cast::<AtomicUsize>().add(at).as_ref() };
        *word = read.load(Ordering::Relaxed).to_ne_bytes();
    }
    for (at, byte) in rest.iter_mut().enumerate() {
        // SAFETY: as above; a byte has no alignment.
        let read = unsafe { from.byte_add(rest_at + at).cast::<AtomicU8>().as_ref() };
        *byte = read.load(Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_are_copied() {
        let memory: Vec<AtomicUsize> =
            (0..16).map(|at| AtomicUsize::new(usize::MAX / 251 * at)).collect();
        let bytes: Vec<u8> =
            memory.iter().flat_map(|it| it.load(Ordering::Relaxed).to_ne_bytes()).collect();
        for offset in [0, 1, 5] {
            for len in 0..=64 {
                let mut copied = vec![0xEE; len];
                // SAFETY: word `offset` has at least 64 bytes from it on, which no one writes.
                unsafe { copy_shared(NonNull::from(&memory[offset]).cast(), &mut copied) };
                assert_eq!(copied, bytes[offset * size_of::<usize>()..][..len]);
            }
        }
    }
}
