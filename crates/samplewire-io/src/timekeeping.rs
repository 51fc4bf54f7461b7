//! The state of the system's clock, by adjtimex(2). Only reads.

use std::io;
use std::mem::MaybeUninit;

/// What the kernel knows about its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockState {
    /// Whether a time service keeps it (no STA_UNSYNC).
    pub is_synchronised: bool,
    /// The largest error in microseconds.
    pub error_us_max: i64,
    /// The estimated error in microseconds.
    pub error_us: i64,
    /// The correction of its frequency, in 2^-16 parts per million.
    pub frequency_scaled: i64,
}

/// Reads the state.
///
/// # Errors
/// The system's.
pub fn clock_state() -> io::Result<ClockState> {
    // SAFETY: all bytes zero are a valid timex, with no mode that sets anything.
    let mut state: libc::timex = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the pointer covers `state`.
    if unsafe { libc::adjtimex(&raw mut state) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(ClockState {
        is_synchronised: state.status & libc::STA_UNSYNC == 0,
        error_us_max: state.maxerror,
        error_us: state.esterror,
        frequency_scaled: state.freq,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_read_without_a_right() {
        let state = clock_state().unwrap();
        assert!(state.error_us_max >= 0, "{state:?}");
    }
}
