//! Receives several streams of one device at the same indexes.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use samplewire::receiver::{AlignedBlock, AlignedItem, AlignedStreams, StatsHandle};
use samplewire::{End, ReceiveError};
use samplewire_proto::OutOfRange;

use crate::arguments::{check_out, not_null, put, put_text, timeout};
use crate::block::{SW_TAGS_MAX, sw_gap, sw_tag};
use crate::counters::sw_receiver_stats;
use crate::end::{of_end, of_receive_error, sw_end};
use crate::find::address_of;
use crate::granted::GrantedOptions;
use crate::info::sw_stream_info;
use crate::options::sw_receiver_options;
use crate::registry::Registry;
use crate::result::{Failure, guard, sw_result};
use crate::sized::{Sized_, read, sized, write};

/// Several streams of one device that begin at one index. One thread at a time may be in
/// `sw_aligned_next`.
pub struct sw_aligned {
    _never_made: (),
}

/// The samples of one stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_stream_samples {
    /// Little-endian, channels interleaved, aligned for their format.
    pub samples: *const c_void,
    /// Their length in bytes.
    pub len_bytes: usize,
    /// The events at these samples, and at the index after the last.
    pub tags: *const sw_tag,
    /// Number of tags.
    pub tags_len: usize,
}

/// The same indexes of all streams, without a gap; or a gap of one stream, which counts for all.
/// Pointers are valid until the next call of `sw_aligned_next`, `_close` or `_free`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_aligned_block {
    /// Set it to `sizeof(sw_aligned_block)` before the call.
    pub struct_size: usize,
    /// The samples of each stream, in the order of the opening; NULL for a gap.
    pub streams: *const sw_stream_samples,
    /// Number of streams.
    pub streams_len: usize,
    /// Number of samples of each stream, each with all channels; 0 for a gap.
    pub count: u64,
    /// The index of the first sample; for a gap, the index after it.
    pub index: u64,
    /// The gap, if `count` is 0.
    pub gap: sw_gap,
    /// The number of the stream with the gap.
    pub gap_stream: u32,
    /// 0.
    pub reserved: u32,
}

sized!(
    sw_aligned_block {
        streams: *const sw_stream_samples,
        streams_len: usize,
        count: u64,
        index: u64,
        gap: sw_gap,
        gap_stream: u32,
        reserved: u32,
    },
    sw_aligned_block {
        struct_size: size_of::<sw_aligned_block>(),
        streams: std::ptr::null(),
        streams_len: 0,
        count: 0,
        index: 0,
        gap: sw_gap::NONE,
        gap_stream: 0,
        reserved: 0,
    }
);

/// The object of a name.
struct Aligning {
    state: Mutex<State>,
    infos: Box<[sw_stream_info]>,
    stats: Box<[StatsHandle]>,
    granted: GrantedOptions,
    is_cancelled: AtomicBool,
    end: Mutex<Option<(sw_end, u16)>>,
}

struct State {
    /// `None` after they were closed.
    streams: Option<AlignedStreams>,
    given: Given,
}

/// The memory that the last block points to; it is allocated once.
struct Given {
    streams: Vec<sw_stream_samples>,
    /// Of all streams, [`TAGS_MAX`] places for each.
    tags: Box<[sw_tag]>,
}

// SAFETY: the pointers are handed to the caller and never dereferenced here.
unsafe impl Send for Given {}

static ALIGNED: Registry<Aligning> = Registry::new("sw_aligned");

/// Opens `streams_len` streams of the device at `address` at one index, over one socket and in one
/// I/O thread. Waits until they are open. `options` may be NULL: the defaults. They leave `stream`
/// and `start_index` at their defaults; `blocks_max` has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_open(
    address: *const c_char,
    streams: *const u16,
    streams_len: usize,
    options: *const sw_receiver_options,
    aligned: *mut *mut sw_aligned,
) -> sw_result {
    guard(|| {
        check_out("aligned", aligned)?;
        not_null("streams", streams)?;
        if !(1..=STREAMS_MAX).contains(&streams_len) {
            let range = format_args!("1 to {STREAMS_MAX}");
            let text = OutOfRange("streams_len", streams_len, range).to_string();
            return Err(Failure::argument(text));
        }
        // SAFETY: `streams` points to `streams_len` numbers (the caller's contract in `samplewire.h`).
        let numbers = unsafe { std::slice::from_raw_parts(streams, streams_len) };
        // SAFETY: `address` is NULL or a text that ends with NUL (the caller's contract).
        let address = unsafe { address_of(address)? };
        let asked = if options.is_null() {
            sw_receiver_options::defaults()
        } else {
            // SAFETY: `options` is not NULL and has `struct_size` bytes (the caller's contract).
            unsafe { read(options)? }
        };
        if asked.stream != -1 {
            let text = format!("stream {} and streams: leave stream at -1", asked.stream);
            return Err(Failure::new(sw_result::Contradiction, text));
        }
        // SAFETY: its texts are NULL or end with NUL (the caller's contract).
        let options = unsafe { asked.to_options()? }.streams(numbers.iter().copied());
        let opened = options.open_aligned(address)?;
        let shared_bytes = opened.memory_bytes();
        let name = ALIGNED.insert(|_| Aligning {
            infos: opened.infos().map(|info| sw_stream_info::new(info, shared_bytes)).collect(),
            stats: opened.counters().map(|(_, stats)| stats).collect(),
            granted: GrantedOptions::new(opened.granted(), opened.capabilities()),
            is_cancelled: AtomicBool::new(false),
            end: Mutex::new(None),
            state: Mutex::new(State {
                given: Given {
                    streams: Vec::with_capacity(streams_len),
                    tags: vec![sw_tag::NONE; streams_len * TAGS_MAX].into(),
                },
                streams: Some(opened),
            }),
        });
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put("aligned", aligned, std::ptr::without_provenance_mut(name))? };
        Ok(sw_result::Ok)
    })
}

/// The device's description of the stream at `position`, counted from 0 in the order of the
/// opening; `memory_bytes` is the sum over all streams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_get_info(
    aligned: *const sw_aligned,
    position: usize,
    info: *mut sw_stream_info,
) -> sw_result {
    guard(|| {
        let aligning = ALIGNED.get(aligned)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(info, aligning.at(&aligning.infos, position)?)? };
        Ok(sw_result::Ok)
    })
}

/// Counters of the stream at `position`, some milliseconds old; after the end, the final ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_get_stats(
    aligned: *const sw_aligned,
    position: usize,
    stats: *mut sw_receiver_stats,
) -> sw_result {
    guard(|| {
        let aligning = ALIGNED.get(aligned)?;
        let handle = aligning.at(&aligning.stats, position)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(stats, &sw_receiver_stats::of(&handle.stats()))? };
        Ok(sw_result::Ok)
    })
}

/// The granted real-time options, and the refused ones with the reason, as a text for people; with
/// `link` other than UDP also how packets pass the kernel now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_get_granted(
    aligned: *const sw_aligned,
    text: *mut c_char,
    size_bytes: usize,
) -> sw_result {
    guard(|| {
        let aligning = ALIGNED.get(aligned)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put_text(text, size_bytes, &aligning.granted.words())? };
        Ok(sw_result::Ok)
    })
}

/// Returns the next common samples, or the next gap. `SW_RESULT_END` after the last samples of the
/// stream that ends first, `SW_RESULT_CANCELLED` after `sw_aligned_cancel`, an error if a stream
/// broke: its text names the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_next(
    aligned: *mut sw_aligned,
    timeout_ns: u64,
    block: *mut sw_aligned_block,
) -> sw_result {
    guard(|| {
        let aligning = ALIGNED.get(aligned)?;
        // Checked before samples are taken out.
        // SAFETY: `block` is NULL or has `struct_size` bytes (the caller's contract).
        unsafe { read(block)? };
        let mut state = aligning.state()?;
        let answer =
            state.next_before(&aligning, Instant::now().checked_add(timeout(timeout_ns)))?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(block, &answer)? };
        Ok(sw_result::Ok)
    })
}

/// How the streams ended; `SW_RESULT_STILL_OPEN` until a call has reached the end. `stream`, unless
/// NULL, receives the number of the stream that ended first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_get_end(
    aligned: *const sw_aligned,
    end: *mut sw_end,
    stream: *mut u16,
) -> sw_result {
    guard(|| {
        let aligning = ALIGNED.get(aligned)?;
        let Some((known, number)) = *lock(&aligning.end) else {
            return Err(Failure::new(sw_result::StillOpen, "no stream has come to its end"));
        };
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(end, &known)? };
        if !stream.is_null() {
            // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
            unsafe { put("stream", stream, number)? };
        }
        Ok(sw_result::Ok)
    })
}

/// Makes a thread that waits for samples, within 50 ms, and all later calls return
/// `SW_RESULT_CANCELLED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_cancel(aligned: *mut sw_aligned) -> sw_result {
    guard(|| {
        ALIGNED.get(aligned)?.cancel();
        Ok(sw_result::Ok)
    })
}

/// Ends the streams; waits about a second until the device knows. Counters are final then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_close(aligned: *mut sw_aligned) -> sw_result {
    guard(|| {
        ALIGNED.get(aligned)?.close();
        Ok(sw_result::Ok)
    })
}

/// Closes the streams if they are open, and frees them with the memory of the last block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_aligned_free(aligned: *mut sw_aligned) -> sw_result {
    guard(|| {
        if !aligned.is_null() {
            ALIGNED.remove(aligned)?.close();
        }
        Ok(sw_result::Ok)
    })
}

impl Aligning {
    /// The streams, locked for the one thread that receives.
    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::new(
                sw_result::Busy,
                "another thread receives from these streams, and only one at a time may",
            ),
            TryLockError::Poisoned(_) => {
                Failure::new(sw_result::Panic, "an earlier call on these streams panicked")
            }
        })
    }

    fn at<'a, T>(&self, all: &'a [T], position: usize) -> Result<&'a T, Failure> {
        all.get(position).ok_or_else(|| {
            let len = all.len();
            Failure::argument(format!("position {position}: there are {len} streams, from 0 on"))
        })
    }

    fn cancel(&self) {
        // Relaxed: the flag is read again soon, and orders nothing.
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Stores how the streams ended; returns the failure for calls that reach the end.
    fn note_end(&self, error: &ReceiveError) -> Failure {
        let (stream, cause) = match error {
            ReceiveError::Stream { stream, error } => (*stream, &**error),
            ReceiveError::Apart { stream, .. } => (*stream, error),
            _ => (0, error),
        };
        let (end, failure) = of_receive_error(cause);
        lock(&self.end).get_or_insert((end, stream));
        match error {
            ReceiveError::Stream { .. } => {
                Failure { text: format!("stream {stream}: {}", failure.text), ..failure }
            }
            _ => failure,
        }
    }

    fn close(&self) {
        self.cancel();
        // A panic of an earlier call must not prevent the end of the streams.
        let mut state = lock(&self.state);
        state.given.streams.clear();
        let Some(streams) = state.streams.take() else { return };
        let first = streams.infos().next().expect("a stream was named").stream;
        lock(&self.end).get_or_insert((of_end(&End::Cancelled).0, first));
        drop(streams.close());
    }
}

impl State {
    /// The next samples or gap, or the failure instead.
    fn next_before(
        &mut self,
        aligning: &Aligning,
        until: Option<Instant>,
    ) -> Result<sw_aligned_block, Failure> {
        let Some(streams) = &mut self.streams else { return Err(sw_result::Cancelled.into()) };
        loop {
            if aligning.is_cancelled() {
                return Err(sw_result::Cancelled.into());
            }
            let left = until.map_or(SLICE, |at| at.saturating_duration_since(Instant::now()));
            match streams.next_within(left.min(SLICE)) {
                Ok(Some(AlignedItem::Samples(block))) => return Ok(self.given.answer(&block)),
                Ok(Some(AlignedItem::Gap(lost))) => {
                    return Ok(sw_aligned_block {
                        streams_len: aligning.infos.len(),
                        index: lost.gap.end(),
                        gap: sw_gap::of(&lost.gap),
                        gap_stream: lost.stream.into(),
                        ..sw_aligned_block::defaults()
                    });
                }
                Ok(None) if left.is_zero() => return Err(sw_result::Timeout.into()),
                Ok(None) => {}
                Err(error) => return Err(aligning.note_end(&error)),
            }
        }
    }
}

impl Given {
    fn answer(&mut self, block: &AlignedBlock<'_>) -> sw_aligned_block {
        self.streams.clear();
        for (samples, tags) in block.streams().zip(self.tags.chunks_mut(TAGS_MAX)) {
            let bytes = samples.bytes();
            let tags_len = samples.tags().len().min(tags.len());
            for (to, tag) in tags.iter_mut().zip(samples.tags()) {
                *to = sw_tag::of(tag);
            }
            self.streams.push(sw_stream_samples {
                samples: bytes.as_ptr().cast(),
                len_bytes: bytes.len(),
                tags: tags.as_ptr(),
                tags_len,
            });
        }
        sw_aligned_block {
            streams: self.streams.as_ptr(),
            streams_len: self.streams.len(),
            count: block.len() as u64,
            index: block.index(),
            ..sw_aligned_block::defaults()
        }
    }
}

/// Locks even after a panic: the guarded data is consistent at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maximum number of tags of one stream in one block: those of two blocks of a stream.
const TAGS_MAX: usize = 2 * SW_TAGS_MAX;

/// Maximum number of streams of one port.
const STREAMS_MAX: usize = 1_024;

/// The longest wait between two checks for a cancel.
const SLICE: Duration = Duration::from_millis(50);
