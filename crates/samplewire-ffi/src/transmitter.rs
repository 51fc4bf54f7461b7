//! Sending to a device that plays: borrowed rooms to fill, or copies.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use samplewire::transmitter::{Canceller, Filling, PlayEvents, SendError, SessionEnd, StatsHandle};
use samplewire::{End, SendStream};
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::wire::Flags;

use crate::arguments::{check_out, not_null, put, put_text, timeout};
use crate::counters::sw_transmitter_stats;
use crate::end::{of_end, of_failure, sw_end};
use crate::find::address_of;
use crate::granted::GrantedOptions;
use crate::info::sw_stream_info;
use crate::loans::Loans;
use crate::options::sw_transmitter_options;
use crate::registry::Registry;
use crate::result::{Failure, guard, sw_result};
use crate::sized::{Sized_, read, sized, write};

/// The index after the last sample.
pub const SW_INDEX_NEXT: u64 = u64::MAX;

/// The index is set on purpose: a burst begins. Otherwise an index must follow the last one.
pub const SW_SEND_START: u32 = 1;

/// The last of these samples ends a burst. A room that is not full does so too.
pub const SW_SEND_END_OF_BURST: u32 = 2;

/// The sending end of a stream. One thread at a time may be in the functions that send or wait.
pub struct sw_transmitter {
    _never_made: (),
}

/// Memory for samples, borrowed from the transmitter: fill it from the start, and commit it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_room {
    /// Set it to `sizeof(sw_room)` before the call.
    pub struct_size: usize,
    /// For the library: the handle of the room. 0 if there is nothing to commit.
    pub handle: u64,
    /// The buffer for samples: little-endian, channels interleaved.
    pub samples: *mut c_void,
    /// Its length in bytes.
    pub len_bytes: usize,
    /// Number of samples, each with all channels, that fit.
    pub count_max: u64,
}

sized!(
    sw_room { handle: u64, samples: *mut c_void, len_bytes: usize, count_max: u64 },
    sw_room {
        struct_size: size_of::<sw_room>(),
        handle: 0,
        samples: std::ptr::null_mut(),
        len_bytes: 0,
        count_max: 0
    }
);

/// The object of a name.
pub(crate) struct Sending {
    stream: Mutex<SendStream>,
    room_bytes: u64,
    info: sw_stream_info,
    granted: GrantedOptions,
    stats: StatsHandle,
    pub(crate) events: PlayEvents,
    canceller: Canceller,
    is_cancelled: AtomicBool,
    end: Mutex<Option<sw_end>>,
    rooms: Loans<Filling>,
}

pub(crate) static TRANSMITTERS: Registry<Sending> = Registry::new("sw_transmitter");

/// Opens a stream of the device at `address` that plays. Waits until the device has granted credit,
/// at most twice the timeout in the options (NULL: the defaults).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_open(
    address: *const c_char,
    options: *const sw_transmitter_options,
    transmitter: *mut *mut sw_transmitter,
) -> sw_result {
    guard(|| {
        check_out("transmitter", transmitter)?;
        // SAFETY: `address` is NULL or a text that ends with NUL (the caller's contract).
        let address = unsafe { address_of(address)? };
        let asked = if options.is_null() {
            sw_transmitter_options::defaults()
        } else {
            // SAFETY: `options` is NULL or has `struct_size` bytes (the caller's contract).
            unsafe { read(options)? }
        };
        // SAFETY: its texts are NULL or end with NUL (the caller's contract).
        let opened = unsafe { asked.to_options()? }.open(address)?;
        if !opened.wait_ready(Duration::from_nanos(asked.timeout_ns))? {
            let text = format!("{address} opened the stream, and did not say how much it takes");
            return Err(Failure::new(sw_result::NoAnswer, text));
        }
        let session = opened.session();
        let device = opened.device().expect("it was opened from here");
        let sending = Sending {
            info: sw_stream_info::new(device, opened.memory_bytes()),
            granted: GrantedOptions::new(opened.granted(), opened.capabilities()),
            stats: opened.stats_handle(),
            events: opened.play_events().expect("it was opened from here"),
            canceller: opened.canceller(),
            room_bytes: u64::from(session.quantum_packets) * session.payload_bytes as u64,
            stream: Mutex::new(opened),
            is_cancelled: AtomicBool::new(false),
            end: Mutex::new(None),
            rooms: Loans::new(ROOMS_MAX),
        };
        let name = TRANSMITTERS.insert(|_| sending);
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put("transmitter", transmitter, std::ptr::without_provenance_mut(name))? };
        Ok(sw_result::Ok)
    })
}

/// The device's description of the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_get_info(
    transmitter: *const sw_transmitter,
    info: *mut sw_stream_info,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(info, &sending.info)? };
        Ok(sw_result::Ok)
    })
}

/// Counters, some milliseconds old; after the end, the final ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_get_stats(
    transmitter: *const sw_transmitter,
    stats: *mut sw_transmitter_stats,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(stats, &sw_transmitter_stats::of(&sending.stats.stats()))? };
        Ok(sw_result::Ok)
    })
}

/// The granted real-time options, and the refused ones with the reason, as a text for people; with
/// `link` other than UDP also how packets pass the kernel now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_get_granted(
    transmitter: *const sw_transmitter,
    text: *mut c_char,
    size_bytes: usize,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { put_text(text, size_bytes, &sending.granted.words())? };
        Ok(sw_result::Ok)
    })
}

/// A room to fill; `SW_RESULT_TIMEOUT` while the device grants no credit. At most 64 rooms are
/// borrowed at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_begin(
    transmitter: *mut sw_transmitter,
    timeout_ns: u64,
    room: *mut sw_room,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // Checked before a room is taken out.
        // SAFETY: `room` is NULL or has `struct_size` bytes (the caller's contract).
        unsafe { read(room)? };
        let mut transmitter = sending.transmitter()?;
        if !sending.rooms.has_room() {
            let text = format!("{ROOMS_MAX} rooms are on loan: commit or discard some");
            return Err(Failure::new(sw_result::TooManyLoans, text));
        }
        let Some(mut filling) = sending.filling(&mut transmitter, timeout(timeout_ns))? else {
            return Ok(sending.without_room());
        };
        let (samples, len_bytes) =
            (filling.bytes_mut().as_mut_ptr().cast(), filling.bytes_mut().len());
        let handle = sending.rooms.insert(filling);
        let handle = handle.expect("only this thread takes places, and one is free");
        let count_max = len_bytes as u64 / u64::from(sending.info.sample_bytes);
        let answer = sw_room { handle, samples, len_bytes, count_max, ..sw_room::defaults() };
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(room, &answer)? };
        Ok(sw_result::Ok)
    })
}

/// Sends the first `count` samples of a room and returns the room; `index` is that of the first
/// sample, or `SW_INDEX_NEXT`. `flags` are 0 or a combination of `SW_SEND_START` and
/// `SW_SEND_END_OF_BURST`. `SW_RESULT_STALE` if the room was committed before. After an error the
/// room is still borrowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_commit(
    transmitter: *mut sw_transmitter,
    room: *mut sw_room,
    count: u64,
    index: u64,
    flags: u32,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // SAFETY: `room` is NULL or has `struct_size` bytes (the caller's contract).
        let seen = unsafe { read(room)? };
        let mut transmitter = sending.transmitter()?;
        let (index, flags) = submission(&transmitter, (index, count), flags)?;
        let sample_bytes = u64::from(sending.info.sample_bytes);
        let count_max = sending.room_bytes / sample_bytes;
        if count > count_max {
            return Err(Failure::argument(format!(
                "count {count} exceeds the room of {count_max}"
            )));
        }
        let filling = sending.rooms.take(seen.handle).ok_or_else(|| stale(seen.handle))?;
        transmitter.submit(filling, (count * sample_bytes) as usize, index, flags)?;
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(room, &sw_room::defaults())? };
        Ok(sw_result::Ok)
    })
}

/// Returns a room without sending anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_discard(
    transmitter: *mut sw_transmitter,
    room: *mut sw_room,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        // SAFETY: `room` is NULL or has `struct_size` bytes (the caller's contract).
        let seen = unsafe { read(room)? };
        drop(sending.rooms.take(seen.handle).ok_or_else(|| stale(seen.handle))?);
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(room, &sw_room::defaults())? };
        Ok(sw_result::Ok)
    })
}

/// Copies `count` samples and sends them; `index` and `flags` as in `sw_transmitter_commit`. If
/// they do not fill the last room, they end a burst. `written`, unless NULL, receives the number of
/// accepted samples, even if the call fails or `timeout_ns` passes (`SW_RESULT_TIMEOUT`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_write(
    transmitter: *mut sw_transmitter,
    samples: *const c_void,
    count: u64,
    index: u64,
    flags: u32,
    timeout_ns: u64,
    written: *mut u64,
) -> sw_result {
    guard(|| {
        let mut taken = 0;
        let result = TRANSMITTERS.get(transmitter).and_then(|sending| {
            let sample_bytes = sending.info.sample_bytes as usize;
            let len_bytes = usize::try_from(count).ok().and_then(|it| it.checked_mul(sample_bytes));
            let len_bytes = len_bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
            let len_bytes = len_bytes
                .ok_or_else(|| Failure::argument(format!("count {count} exceeds any memory")))?;
            let bytes = if len_bytes == 0 {
                &[]
            } else {
                not_null("samples", samples)?;
                // SAFETY: `samples` points to `len_bytes` initialised bytes (the caller's
                // contract).
                unsafe { std::slice::from_raw_parts(samples.cast::<u8>(), len_bytes) }
            };
            let until = Instant::now().checked_add(timeout(timeout_ns));
            sending.write(bytes, (index, flags), until, &mut taken)
        });
        if !written.is_null() {
            // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
            unsafe { put("written", written, taken)? };
        }
        result
    })
}

/// Waits until the device has all committed samples, and has played those before `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_wait_played(
    transmitter: *mut sw_transmitter,
    index: u64,
    timeout_ns: u64,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        let mut transmitter = sending.transmitter()?;
        let index = if index == SW_INDEX_NEXT { transmitter.next_index() } else { index };
        let until = Instant::now().checked_add(timeout(timeout_ns));
        let should_stop =
            || sending.is_cancelled() || until.is_some_and(|until| Instant::now() >= until);
        match transmitter.wait_played(index, should_stop) {
            Ok(true) => Ok(sw_result::Ok),
            Ok(false) => Ok(sending.without_room()),
            Err(error) => Err(sending.failure(error)),
        }
    })
}

/// Waits until the device has acknowledged all committed samples; a borrowed room is not committed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_wait_acknowledged(
    transmitter: *mut sw_transmitter,
    timeout_ns: u64,
) -> sw_result {
    // SAFETY: the same rules apply to `transmitter` in both functions (the caller's contract).
    unsafe { sw_transmitter_wait_played(transmitter, 0, timeout_ns) }
}

/// Ends the stream after all committed samples; waits until the device has them, or was silent for
/// 15 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_finish(transmitter: *mut sw_transmitter) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        let ended = sending.transmitter()?.finish(0);
        let failure = ended.map_or_else(|error| sending.failure(error), |it| sending.note_end(&it));
        if failure.result == sw_result::End { Ok(sw_result::Ok) } else { Err(failure) }
    })
}

/// How the stream ended; `SW_RESULT_STILL_OPEN` until a call has reached the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_get_end(
    transmitter: *const sw_transmitter,
    end: *mut sw_end,
) -> sw_result {
    guard(|| {
        let sending = TRANSMITTERS.get(transmitter)?;
        let Some(known) = *lock(&sending.end) else {
            return Err(Failure::new(sw_result::StillOpen, "the stream has not come to its end"));
        };
        // SAFETY: the out-parameter is NULL or valid for its size (the caller's contract).
        unsafe { write(end, &known)? };
        Ok(sw_result::Ok)
    })
}

/// Ends the stream after the departed samples; a thread that waits returns `SW_RESULT_CANCELLED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_cancel(transmitter: *mut sw_transmitter) -> sw_result {
    guard(|| {
        TRANSMITTERS.get(transmitter)?.cancel();
        Ok(sw_result::Ok)
    })
}

/// Cancels the stream if it is open, and frees the transmitter with its rooms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_free(transmitter: *mut sw_transmitter) -> sw_result {
    guard(|| {
        if !transmitter.is_null() {
            TRANSMITTERS.remove(transmitter)?.cancel();
        }
        Ok(sw_result::Ok)
    })
}

impl Sending {
    /// The transmitter, locked for the one thread that sends.
    fn transmitter(&self) -> Result<MutexGuard<'_, SendStream>, Failure> {
        self.stream.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::new(
                sw_result::Busy,
                "another thread sends with this transmitter, and only one at a time may",
            ),
            TryLockError::Poisoned(_) => {
                Failure::new(sw_result::Panic, "an earlier call on this transmitter panicked")
            }
        })
    }

    fn cancel(&self) {
        // Relaxed: it only names the cause; the end of the session is the signal.
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.canceller.cancel();
    }

    fn is_cancelled(&self) -> bool {
        // Relaxed: see `cancel`.
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The result of a call whose timeout has passed.
    fn without_room(&self) -> sw_result {
        if self.is_cancelled() { sw_result::Cancelled } else { sw_result::Timeout }
    }

    fn filling(
        &self,
        stream: &mut SendStream,
        timeout: Duration,
    ) -> Result<Option<Filling>, Failure> {
        stream.quantum(timeout).map_err(|error| self.failure(error))
    }

    fn write(
        &self,
        mut bytes: &[u8],
        (index, flags): (u64, u32),
        until: Option<Instant>,
        taken: &mut u64,
    ) -> Result<sw_result, Failure> {
        let mut transmitter = self.transmitter()?;
        let sample_bytes = self.info.sample_bytes as usize;
        let count = (bytes.len() / sample_bytes) as u64;
        let (mut index, flags) = submission(&transmitter, (index, count), flags)?;
        let mut ends_burst = flags.contains(Flags::END_OF_BURST);
        let mut these = flags.without(Flags::END_OF_BURST);
        while !bytes.is_empty() || ends_burst {
            let left =
                until.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()));
            let Some(mut filling) = self.filling(&mut transmitter, left)? else {
                return Ok(self.without_room());
            };
            let room = filling.bytes_mut();
            let (now, later) = bytes.split_at(bytes.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            if later.is_empty() {
                these = these | flags.without(Flags::START);
                ends_burst = false;
            }
            transmitter.submit(filling, now.len(), index, these)?;
            let samples = (now.len() / sample_bytes) as u64;
            (bytes, index, these) = (later, index + samples, Flags::NONE);
            *taken += samples;
        }
        Ok(sw_result::Ok)
    }

    /// Stores how the session ended, and returns it as a failure.
    fn note_end(&self, ended: &SessionEnd) -> Failure {
        let is_whole = matches!(ended.end, End::Finished { .. });
        // A cancelled session also finishes, with the departed samples.
        let how = if is_whole && self.is_cancelled() { &End::Cancelled } else { &ended.end };
        let (end, failure) = of_end(how);
        lock(&self.end).get_or_insert(sw_end { final_index: ended.final_index, ..end });
        failure
    }

    pub(crate) fn failure(&self, error: SendError) -> Failure {
        if let SendError::Ended(ended) = &error {
            return self.note_end(ended);
        }
        let failure = Failure::from(error);
        lock(&self.end).get_or_insert(of_failure(&failure));
        failure
    }
}

/// The index and flags of a submission.
///
/// # Errors
/// The cases in which [`SendStream::submit`] would panic.
fn submission(
    stream: &SendStream,
    (index, count): (u64, u64),
    flags: u32,
) -> Result<(u64, Flags), Failure> {
    let unknown = flags & !(SW_SEND_START | SW_SEND_END_OF_BURST);
    if unknown != 0 {
        return Err(Failure::argument(format!(
            "flags {flags:#x}: {unknown:#x} is none of SW_SEND_*"
        )));
    }
    let next = stream.next_index();
    let index = if index == SW_INDEX_NEXT { next } else { index };
    let mut known = Flags::NONE;
    if flags & SW_SEND_START != 0 {
        known = known | Flags::START;
    }
    if flags & SW_SEND_END_OF_BURST != 0 {
        known = known | Flags::END_OF_BURST;
    }
    if index < next || (index > next && !known.contains(Flags::START)) {
        return Err(Failure::argument(format!(
            "index {index} does not follow {next}: a later one needs SW_SEND_START, an earlier one \
             has been sent"
        )));
    }
    if index.checked_add(count).is_none_or(|end| end > INDEX_MAX) {
        return Err(Failure::argument(format!(
            "index {index} and {count} samples exceed {INDEX_MAX}"
        )));
    }
    Ok((index, known))
}

fn stale(handle: u64) -> Failure {
    let text = format!("room {handle} is not on loan: it was committed or discarded before");
    Failure::new(sw_result::Stale, text)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maximum number of borrowed rooms.
const ROOMS_MAX: u32 = 64;
