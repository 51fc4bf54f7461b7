//! A clock that only the bench moves, and randomness that is the same each time. Both replace
//! functions of libc, so the code under test is what ships.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds since an origin that is not zero, which no clock shows.
static NOW_NS: AtomicU64 = AtomicU64::new(1_000_000_000);
static DRAWN: AtomicU64 = AtomicU64::new(0);

/// Moves the clock.
pub(crate) fn advance(ns: u64) {
    // Relaxed: there is one thread.
    NOW_NS.fetch_add(ns, Ordering::Relaxed);
}

/// What the standard library reads as `Instant` and as `SystemTime`. A look takes a nanosecond, so
/// that a loop which waits for a time comes to its end.
///
/// # Safety
/// As of clock_gettime(3): `time` points to a `timespec`.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    let now_ns = NOW_NS.fetch_add(1, Ordering::Relaxed);
    let (tv_sec, tv_nsec) = ((now_ns / NS_PER_S).cast_signed(), (now_ns % NS_PER_S).cast_signed());
    // SAFETY: the caller's contract, see `# Safety`.
    unsafe { time.write(libc::timespec { tv_sec, tv_nsec }) };
    0
}

/// Draws tags, cookies and seeds.
///
/// # Safety
/// As of getrandom(2): `bytes` points to `len` bytes that may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(bytes: *mut c_void, len: usize, _flags: c_uint) -> isize {
    for at in 0..len {
        let drawn = DRAWN.fetch_add(STEP, Ordering::Relaxed);
        // SAFETY: `at` is below `len`, and the caller's contract, see `# Safety`.
        unsafe { bytes.cast::<u8>().add(at).write((drawn >> 56) as u8) };
    }
    len.cast_signed()
}

const NS_PER_S: u64 = 1_000_000_000;

/// Odd, and about 2^64 by the golden ratio: the high byte takes all values.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
