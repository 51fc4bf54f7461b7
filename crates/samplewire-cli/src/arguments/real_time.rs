//! Options of every verb with a stream: real-time settings of its I/O thread.

use std::time::Duration;

use clap::Args;
use samplewire::{RealTime, Waits};

use super::values;

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RealTimeOptions {
    /// Keep the I/O thread on this CPU, numbered from 0
    #[arg(long, value_name = "N", help_heading = HEADING)]
    cpu: Option<usize>,

    /// Schedule the I/O thread by SCHED_FIFO, 1 to 99 (needs cap_sys_nice)
    #[arg(long, value_name = "P", value_parser = values::between::<u32>(1, 99), help_heading = HEADING)]
    priority: Option<u32>,

    /// Lock all memory, so that it is never swapped out (needs cap_ipc_lock, or `ulimit -l`)
    #[arg(long, help_heading = HEADING)]
    lock_memory: bool,

    /// Take the memory of samples from huge pages, as far as there are free ones
    #[arg(long, help_heading = HEADING)]
    huge_pages: bool,

    /// Let the I/O thread poll for packets without a pause: it takes a whole CPU, even when idle.
    /// `latency` has no such thread then, and polls itself, unless another option is of the thread
    #[arg(long, help_heading = HEADING)]
    spin: bool,

    /// How late the I/O thread's timers may end, 1ns to 1s [default: the system's]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = HEADING)]
    timer_slack: Option<Duration>,

    /// Let the I/O thread sleep this long, or until its next timer, when it has no work, 1ns to
    /// 10ms. It wakes less often, and sees packets later by this time [default: the next packet
    /// wakes it]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = HEADING)]
    coalesce: Option<Duration>,
}

const HEADING: &str = "Real time (an unavailable option is reported; the stream runs without it)";

impl RealTimeOptions {
    /// Converts to the library's options.
    pub(crate) fn options(&self) -> RealTime {
        self.options_that_spin(Waits::Spinning)
    }

    /// The same for a verb that calls all the time: `--spin` needs no I/O thread, unless another option
    /// configures it.
    pub(crate) fn options_inline(&self) -> RealTime {
        let is_configured = self.cpu.is_some()
            || self.priority.is_some()
            || self.timer_slack.is_some()
            || self.coalesce.is_some();
        self.options_that_spin(if is_configured { Waits::Spinning } else { Waits::Inline })
    }

    fn options_that_spin(&self, how: Waits) -> RealTime {
        let mut options = RealTime::new().lock_memory(self.lock_memory).huge_pages(self.huge_pages);
        if let Some(cpu) = self.cpu {
            options = options.cpu(cpu);
        }
        if let Some(priority) = self.priority {
            options = options.priority(priority);
        }
        if let Some(slack) = self.timer_slack {
            options = options.timer_slack(slack);
        }
        if let Some(rest) = self.coalesce {
            options = options.coalesce(rest);
        }
        if self.spin {
            options = options.waits(how);
        }
        options
    }
}
