//! Options of every verb with a stream: what its I/O thread may have of the machine.

use std::time::Duration;

use clap::Args;
use samplewire::{RealTime, Waits};

use super::values;

// No doc comment: clap would take it for that of the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RealTimeOptions {
    /// Keep the I/O thread on this CPU, numbered from 0
    #[arg(long, value_name = "N", help_heading = HEADING)]
    cpu: Option<usize>,

    /// Schedule the I/O thread by SCHED_FIFO, 1 to 99 (needs cap_sys_nice)
    #[arg(long, value_name = "P", value_parser = values::between::<u32>(1, 99), help_heading = HEADING)]
    priority: Option<u32>,

    /// Keep all memory from being swapped out (needs cap_ipc_lock, or `ulimit -l`)
    #[arg(long, help_heading = HEADING)]
    lock_memory: bool,

    /// Take the memory of samples in huge pages, as far as there are some
    #[arg(long, help_heading = HEADING)]
    huge_pages: bool,

    /// Let the I/O thread look for packets without a pause: it takes a CPU, also when idle
    #[arg(long, help_heading = HEADING)]
    spin: bool,

    /// How much later than due the I/O thread's timers may end, 1ns to 1s [default: the system's]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = HEADING)]
    timer_slack: Option<Duration>,

    /// Let the I/O thread rest so long, or until its next timer, when it has nothing left to do, 1ns to
    /// 10ms: fewer wakes for the same packets, seen so much later [default: the next packet wakes it]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = HEADING)]
    coalesce: Option<Duration>,
}

const HEADING: &str = "Real time (what cannot be had is told, and the stream runs without it)";

impl RealTimeOptions {
    /// The library's.
    pub(crate) fn options(&self) -> RealTime {
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
            options = options.waits(Waits::Spinning);
        }
        options
    }
}
