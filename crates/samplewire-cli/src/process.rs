//! Other programs that a verb starts.

use std::process::Child;

/// A process that is killed with this one.
#[derive(Debug)]
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) && self.0.kill().is_ok() {
            // The process is dead; this only removes its entry from the process table.
            let _ = self.0.wait();
        }
    }
}
