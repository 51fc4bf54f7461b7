//! What the tests of several crates share: waiting for a condition instead of for a time.
//!
//! A test on a loaded machine is slow, not wrong. So a test waits until its condition holds, and
//! only [`PATIENCE`] says that it never will.

#![forbid(unsafe_code)]

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a test waits for what must happen. A loaded machine of two cores was seen to hold a
/// thread up for some seconds.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not hold within `deadline`; the message names `what` was expected.
#[track_caller]
pub fn wait_until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(what, deadline, || condition().then_some(()));
}

/// Waits until `look` finds a value, and returns it.
///
/// # Panics
/// When it finds none within `deadline`; the message names `what` was expected.
#[track_caller]
pub fn wait_for<T>(what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        // The time first: a thread that was held up after its look takes another one.
        let waited = started.elapsed();
        if let Some(found) = look() {
            return found;
        }
        assert!(waited < deadline, "not within {deadline:?}: {what}");
        sleep(PAUSE);
    }
}

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_returned_once_it_is_found() {
        let mut looks = 0;
        let found = wait_for("a third look", PATIENCE, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, 3);
    }

    #[test]
    #[should_panic(expected = "not within 3ms: rain in the desert")]
    fn condition_that_never_holds_is_named() {
        wait_until("rain in the desert", Duration::from_millis(3), || false);
    }
}
