//! Receiving: borrowed blocks, or copies.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use samplewire::format::convert;
use samplewire::receiver::{Interrupter, StatsHandle};
use samplewire::{Block, ReceiveError, ReceiveStream};

use crate::arguments::{check_out, not_null, put, put_text, timeout};
use crate::block::sw_block;
use crate::counters::sw_receiver_stats;
use crate::end::{of_end, of_failure, of_receive_error, sw_end};
use crate::find::address_of;
use crate::granted::GrantedOptions;
use crate::info::{format_of, sw_stream_info};
use crate::loans::Loans;
use crate::options::sw_receiver_options;
use crate::registry::Registry;
use crate::result::{Failure, guard, sw_result};
use crate::sized::{Sized_, read, write};

/// The receiving end of a stream. One thread at a time may be in `sw_receiver_next` or `_read`.
pub struct sw_receiver {
    _never_made: (),
}

/// The object of a name.
struct Receiving {
    stream: Mutex<Stream>,
    info: sw_stream_info,
    granted: GrantedOptions,
    stats: StatsHandle,
    interrupter: Interrupter,
    end: Mutex<Option<sw_end>>,
    loans: Arc<BlockLoans>,
    /// The name of `loans`.
    loans_name: usize,
}

struct Stream {
    /// `None` after it was closed.
    receiver: Option<ReceiveStream>,
    /// A block that was partly copied, and the number of copied bytes.
    part: Option<(Block, usize)>,
}

/// The borrowed blocks of one receiver; it may outlive the receiver.
pub(crate) struct BlockLoans {
    pub(crate) blocks: Loans<Block>,
    is_receiver_gone: AtomicBool,
}

static RECEIVERS: Registry<Receiving> = Registry::new("sw_receiver");
pub(crate) static LOANS: Registry<Arc<BlockLoans>> = Registry::new("sw_block.owner");

/// Opens a stream of the device at `address` (`HOST` or `HOST:PORT`). Waits until it is open, at
/// most for the timeout in the options (NULL: the defaults).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_open(
    address: *const c_char,
    options: *const sw_receiver_options,
    receiver: *mut *mut sw_receiver,
) -> sw_result {
    guard(|| {
        check_out("receiver", receiver)?;
        // SAFETY: `address` is NULL or a text that ends with NUL (the caller's contract).
        let address = unsafe { address_of(address)? };
        let asked = if options.is_null() {
            sw_receiver_options::defaults()
        } else {
            // SAFETY: `options` is NULL or has `struct_size` bytes (the caller's contract).
            unsafe { read(options)? }
        };
        let blocks = Loans::new(asked.blocks_max()?);
        // SAFETY: its texts are NULL or end with NUL (the caller's contract).
        let opened = unsafe { asked.to_options()? }.open(address)?;
        let loans = Arc::new(BlockLoans { blocks, is_receiver_gone: AtomicBool::new(false) });
        let loans_name = LOANS.insert(|_| Arc::clone(&loans));
        let name = RECEIVERS.insert(|_| Receiving {
            info: sw_stream_info::new(opened.info(), opened.memory_bytes()),
            granted: GrantedOptions::new(opened.granted(), opened.capabilities()),
            stats: opened.stats_handle(),
            interrupter: opened.interrupter(),
            stream: Mutex::new(Stream { receiver: Some(opened), part: None }),
            end: Mutex::new(None),
            loans,
            loans_name,
        });
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put("receiver", receiver, std::ptr::without_provenance_mut(name))? };
        Ok(sw_result::Ok)
    })
}

/// The device's description of the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_get_info(
    receiver: *const sw_receiver,
    info: *mut sw_stream_info,
) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(info, &receiving.info)? };
        Ok(sw_result::Ok)
    })
}

/// Counters, some milliseconds old; after the end, the final ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_get_stats(
    receiver: *const sw_receiver,
    stats: *mut sw_receiver_stats,
) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(stats, &sw_receiver_stats::of(&receiving.stats.stats()))? };
        Ok(sw_result::Ok)
    })
}

/// The granted real-time options, and the refused ones with the reason, as a text for people; with
/// `link` other than UDP also how packets pass the kernel now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_get_granted(
    receiver: *const sw_receiver,
    text: *mut c_char,
    size_bytes: usize,
) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put_text(text, size_bytes, &receiving.granted.words())? };
        Ok(sw_result::Ok)
    })
}

/// Returns the next block, which is borrowed until `sw_block_release`; `SW_RESULT_END` after the
/// last, `SW_RESULT_CANCELLED` after `sw_receiver_cancel`, an error if the stream broke.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_next(
    receiver: *mut sw_receiver,
    timeout_ns: u64,
    block: *mut sw_block,
) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        // Checked before a block is taken out.
        // SAFETY: `block` is NULL or has `struct_size` bytes (the caller's contract).
        unsafe { read(block)? };
        let blocks = &receiving.loans.blocks;
        let mut stream = receiving.stream()?;
        if !blocks.has_room() {
            let text = format!(
                "{} blocks are on loan: release some, or set blocks_max higher",
                blocks.places()
            );
            return Err(Failure::new(sw_result::TooManyLoans, text));
        }
        let (taken, copied_bytes) = match stream.part.take() {
            Some(part) => part,
            None => match stream.next_within(&receiving, timeout(timeout_ns)) {
                Ok(next) => (next, 0),
                Err(outcome) => return Err(outcome),
            },
        };
        let mut answer = sw_block::of(&taken);
        if copied_bytes > 0 {
            answer.skip(copied_bytes, receiving.info.sample_bytes as usize);
        }
        let handle = blocks.insert(taken).expect("only this thread takes places, and one is free");
        answer.handle = handle;
        answer.owner = std::ptr::without_provenance_mut(receiving.loans_name);
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(block, &answer)? };
        Ok(sw_result::Ok)
    })
}

/// Copies samples into `buffer`, in `format` (0: as sent; complex stays complex, real stays real),
/// until `len_bytes` are filled, a gap or a tag comes, or `timeout_ns` has passed. `block` then
/// describes the content of the buffer, and needs no release. Returns as `sw_receiver_next` does;
/// with `SW_RESULT_OK` there are samples, or only gaps or tags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_read(
    receiver: *mut sw_receiver,
    buffer: *mut c_void,
    len_bytes: usize,
    format: u32,
    timeout_ns: u64,
    block: *mut sw_block,
) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        // SAFETY: `block` is NULL or has `struct_size` bytes (the caller's contract).
        unsafe { read(block)? };
        not_null("buffer", buffer)?;
        if isize::try_from(len_bytes).is_err() {
            return Err(Failure::argument(format!("len_bytes {len_bytes} exceeds any memory")));
        }
        // SAFETY: `buffer` points to `len_bytes` writable bytes (the caller's contract). Every byte
        // value is valid.
        let room = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len_bytes) };
        let mut answer = receiving.stream()?.copy(&receiving, room, format, timeout_ns)?;
        if answer.len_bytes > 0 {
            answer.samples = buffer;
        }
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(block, &answer)? };
        Ok(sw_result::Ok)
    })
}

/// How the stream ended; `SW_RESULT_STILL_OPEN` until a call has reached the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_get_end(
    receiver: *const sw_receiver,
    end: *mut sw_end,
) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        let Some(known) = *lock(&receiving.end) else {
            return Err(Failure::new(sw_result::StillOpen, "the stream has not come to its end"));
        };
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(end, &known)? };
        Ok(sw_result::Ok)
    })
}

/// Makes a thread that waits to receive, and all later calls, return `SW_RESULT_CANCELLED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_cancel(receiver: *mut sw_receiver) -> sw_result {
    guard(|| {
        RECEIVERS.get(receiver)?.interrupter.interrupt();
        Ok(sw_result::Ok)
    })
}

/// Ends the stream; waits about a second until the device knows. Counters are final then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_close(receiver: *mut sw_receiver) -> sw_result {
    guard(|| {
        let receiving = RECEIVERS.get(receiver)?;
        receiving.close();
        Ok(sw_result::Ok)
    })
}

/// Closes the stream if it is open, and frees the receiver. Borrowed blocks stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_free(receiver: *mut sw_receiver) -> sw_result {
    guard(|| {
        if receiver.is_null() {
            return Ok(sw_result::Ok);
        }
        let receiving = RECEIVERS.remove(receiver)?;
        receiving.close();
        // SeqCst: a thread that releases the last block sees this flag, or the check below sees its
        // release.
        receiving.loans.is_receiver_gone.store(true, Ordering::SeqCst);
        receiving.loans.forget_when_over(std::ptr::without_provenance(receiving.loans_name));
        Ok(sw_result::Ok)
    })
}

impl Receiving {
    /// The stream, locked for the one thread that receives.
    fn stream(&self) -> Result<MutexGuard<'_, Stream>, Failure> {
        self.stream.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::new(
                sw_result::Busy,
                "another thread receives from this receiver, and only one at a time may",
            ),
            TryLockError::Poisoned(_) => {
                Failure::new(sw_result::Panic, "an earlier call on this receiver panicked")
            }
        })
    }

    fn close(&self) {
        self.interrupter.interrupt();
        // A panic of an earlier call must not prevent the end of the stream.
        let mut stream = lock(&self.stream);
        stream.part = None;
        let Some(receiver) = stream.receiver.take() else { return };
        let end = receiver.end().map(|end| match end {
            Ok(end) => of_end(end).0,
            Err(error) => of_failure(&Failure::from(error)),
        });
        lock(&self.end).get_or_insert(end.unwrap_or_else(|| of_end(&samplewire::End::Cancelled).0));
        receiver.close();
    }
}

impl Stream {
    /// The next block, or the failure instead of one.
    fn next_within(&mut self, receiving: &Receiving, timeout: Duration) -> Result<Block, Failure> {
        let Some(receiver) = &mut self.receiver else { return Err(sw_result::Cancelled.into()) };
        if receiving.interrupter.is_interrupted() {
            return Err(sw_result::Cancelled.into());
        }
        let error = match receiver.next_within(timeout) {
            Ok(Some(block)) => return Ok(block),
            Ok(None) => return Err(sw_result::Timeout.into()),
            Err(ReceiveError::Interrupted) => return Err(sw_result::Cancelled.into()),
            Err(error) => error,
        };
        let (end, failure) = of_receive_error(&error);
        lock(&receiving.end).get_or_insert(end);
        Err(failure)
    }

    /// Copies samples into `room`.
    fn copy(
        &mut self,
        receiving: &Receiving,
        room: &mut [u8],
        format: u32,
        timeout_ns: u64,
    ) -> Result<sw_block, Failure> {
        let info = &receiving.info;
        let sent = format_of(info.format)?.expect("a stream has a format");
        let wanted = format_of(format)?.unwrap_or(sent);
        let sent_bytes = info.sample_bytes as usize;
        let wanted_bytes = wanted.sample_bytes() * info.channels as usize;
        if room.len() < wanted_bytes {
            let text =
                format!("the buffer has {} bytes, a sample takes {wanted_bytes}", room.len());
            return Err(Failure::new(sw_result::Room, text));
        }
        convert(sent, wanted, &[], &mut [])
            .map_err(|error| Failure::argument(error.to_string()))?;
        let until = Instant::now().checked_add(timeout(timeout_ns));
        let mut answer: Option<sw_block> = None;
        loop {
            let left =
                until.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
            let (block, copied_bytes) = match self.part.take() {
                Some(part) => part,
                None => match (self.next_within(receiving, left), answer) {
                    (Ok(block), _) => (block, 0),
                    // The next call returns the failure again.
                    (Err(_), Some(answer)) => return Ok(answer),
                    (Err(outcome), None) => return Err(outcome),
                },
            };
            let index = block.index() + (copied_bytes / sent_bytes) as u64;
            let has_notes = !(block.gaps().is_empty() && block.tags().is_empty());
            if let Some(before) = answer
                && (has_notes || index != before.index + before.count)
            {
                self.part = Some((block, 0));
                return Ok(before);
            }
            let mut filled = answer.unwrap_or_else(|| match copied_bytes {
                0 => sw_block { index, ..sw_block::notes_of(&block) },
                _ => sw_block::empty(index),
            });
            let free = &mut room[filled.len_bytes..];
            let left_bytes = &block.bytes()[copied_bytes..];
            let taken_bytes = left_bytes.len().min(free.len() / wanted_bytes * sent_bytes);
            let written = convert(sent, wanted, &left_bytes[..taken_bytes], free)
                .map_err(|error| Failure::argument(error.to_string()))?;
            filled.len_bytes += written;
            filled.count += (taken_bytes / sent_bytes) as u64;
            if taken_bytes < left_bytes.len() {
                self.part = Some((block, copied_bytes + taken_bytes));
                return Ok(filled);
            }
            if room.len() - filled.len_bytes < wanted_bytes || filled.count == 0 {
                return Ok(filled);
            }
            answer = Some(filled);
        }
    }
}

impl BlockLoans {
    /// Removes itself once its receiver is gone and all blocks are returned.
    pub(crate) fn forget_when_over(&self, name: *const c_void) {
        // SeqCst: see `sw_receiver_free`.
        if self.is_receiver_gone.load(Ordering::SeqCst) && self.blocks.is_whole() {
            // Another thread may have removed it.
            drop(LOANS.remove(name));
        }
    }
}

/// Locks even after a panic: the guarded data is consistent at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
