//! Real-time settings of a stream's I/O thread. All of them are requested and none is required: a
//! setting that is not available is reported with its reason, and the stream runs without it.

mod granted;

use std::str::FromStr;
use std::time::Duration;

use samplewire_io::thread;
use samplewire_proto::OutOfRange;

pub use granted::{Granted, Refusal};
pub use samplewire_circuit::Pages;
pub use samplewire_io::thread::pin;

/// Real-time options for the thread and the memory of a stream; all are off by default.
///
/// ```
/// use samplewire::RealTime;
///
/// let options = RealTime::new().cpu(0).priority(50).lock_memory(true);
/// assert!(options.check().is_ok());
/// let error = RealTime::new().priority(100).check().unwrap_err();
/// assert_eq!(error.to_string(), "priority 100: must be 1 to 99");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealTime {
    cpu: Option<usize>,
    priority: Option<u32>,
    lock_memory: bool,
    huge_pages: bool,
    timer_slack: Option<Duration>,
    coalesce: Option<Duration>,
    waits: Waits,
    slow: Option<u32>,
}

/// How the I/O thread and the program wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// Both sleep until there is work; an idle stream takes almost no CPU time.
    #[default]
    Asleep,
    /// The I/O thread polls without a pause, and takes a whole CPU. It hands samples over as soon
    /// as nothing else has come. The program sleeps.
    Spinning,
    /// The program's thread spins too, while it waits for samples, quanta or a session.
    BothSpinning,
    /// There is no I/O thread: the program's calls send, receive and repair, and spin while they
    /// wait. This has the lowest latency, for a program that calls often. While the program does
    /// not call, nothing is answered or repaired, and after 15 s the other side closes the stream.
    Inline,
}

impl FromStr for Waits {
    type Err = String;

    /// `asleep`, `spinning`, `both-spinning` or `inline`.
    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "asleep" => Self::Asleep,
            "spinning" => Self::Spinning,
            "both-spinning" => Self::BothSpinning,
            "inline" => Self::Inline,
            _ => return Err(format!("{word}: not asleep, spinning, both-spinning or inline")),
        })
    }
}

impl RealTime {
    /// Requests nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Pins the I/O thread to this CPU, numbered from 0. Default: any CPU.
    #[must_use]
    pub const fn cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Schedules the I/O thread by SCHED_FIFO with this priority, 1 (lowest) to 99: ahead of all
    /// ordinary threads. Needs CAP_SYS_NICE, or a limit of that height (`ulimit -r`). Default: an
    /// ordinary thread.
    #[must_use]
    pub const fn priority(mut self, priority: u32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Locks all memory that the process has when the stream is opened, including the stream's, so
    /// that it is never swapped out. Needs CAP_IPC_LOCK, or a limit of that size (`ulimit -l`).
    /// Default: no.
    #[must_use]
    pub const fn lock_memory(mut self, lock_memory: bool) -> Self {
        self.lock_memory = lock_memory;
        self
    }

    /// Takes the memory of the quanta from huge pages: from the system's pool (`vm.nr_hugepages`),
    /// or from transparent huge pages. Default: no.
    #[must_use]
    pub const fn huge_pages(mut self, huge_pages: bool) -> Self {
        self.huge_pages = huge_pages;
        self
    }

    /// How late the I/O thread's timers may end, 1 ns to 1 s. Default: the system's, usually 50 us;
    /// 1 us for sleeps below 60 us. Needs no right. A thread under SCHED_FIFO has no such slack.
    #[must_use]
    pub const fn timer_slack(mut self, slack: Duration) -> Self {
        self.timer_slack = Some(slack);
        self
    }

    /// Slow motion: the clock of the port runs this many times slower than the host's, 1 to 1,000;
    /// default 1. Both ends and the switches between them must use the same factor. At 50, a path of
    /// 10 Gb/s needs 200 Mb/s of the host, and every time-out, deadline and rate of the protocol
    /// counts as before: one of 1 ms takes 50 ms. Time-outs of the program's own calls are of the host.
    #[must_use]
    pub const fn slow(mut self, factor: u32) -> Self {
        self.slow = Some(factor);
        self
    }

    /// How long an I/O thread without work sleeps, 1 ns to 10 ms or until its next timer, whatever
    /// comes meanwhile. It works like interrupt coalescing in a network card: fewer wakes for the
    /// same packets, each later by up to this time. Default: the next packet wakes it.
    #[must_use]
    pub const fn coalesce(mut self, rest: Duration) -> Self {
        self.coalesce = Some(rest);
        self
    }

    /// How the stream waits; default [`Waits::Asleep`].
    #[must_use]
    pub const fn waits(mut self, waits: Waits) -> Self {
        self.waits = waits;
        self
    }

    /// Checks the options against their ranges, each other and this machine's CPUs. Opening a
    /// stream calls it first.
    ///
    /// # Errors
    /// The value that is out of range, or the options that contradict each other.
    pub fn check(&self) -> Result<(), RealTimeError> {
        let cpus = thread::cpus();
        if let Some(cpu) = self.cpu.filter(|cpu| *cpu >= cpus) {
            return Err(RealTimeError::Cpu { cpu, last: cpus - 1 });
        }
        if let Some(priority) = self.priority.filter(|it| !(1..=99).contains(it)) {
            return Err(RealTimeError::Priority { priority });
        }
        let range = Duration::from_nanos(1)..=Duration::from_secs(1);
        if let Some(slack) = self.timer_slack.filter(|slack| !range.contains(slack)) {
            return Err(RealTimeError::TimerSlack { slack });
        }
        let range = Duration::from_nanos(1)..=Duration::from_millis(10);
        if let Some(rest) = self.coalesce.filter(|rest| !range.contains(rest)) {
            return Err(RealTimeError::Coalesce { rest });
        }
        let slow = self.slow_factor();
        if !(1..=SLOW_MAX).contains(&slow) {
            return Err(RealTimeError::Slow { slow });
        }
        if self.waits == Waits::Inline {
            let of_thread = [
                self.cpu.map(|it| format!("cpu {it}")),
                self.priority.map(|it| format!("priority {it}")),
                self.timer_slack.map(|it| format!("timer slack {it:?}")),
                self.coalesce.map(|it| format!("coalesce {it:?}")),
            ];
            if let Some(option) = of_thread.into_iter().flatten().next() {
                return Err(RealTimeError::NoThread { option });
            }
        }
        let spins = matches!(self.waits, Waits::Spinning | Waits::BothSpinning);
        if let Some(rest) = self.coalesce.filter(|_| spins) {
            return Err(RealTimeError::Restless { rest });
        }
        if let Some(priority) = self.priority
            && spins
        {
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            if cpus == 1 {
                return Err(RealTimeError::Starving { priority });
            }
        }
        Ok(())
    }

    pub(crate) const fn has_timer_slack(&self) -> bool {
        self.timer_slack.is_some()
    }

    pub(crate) fn slow_factor(&self) -> u32 {
        self.slow.unwrap_or(1)
    }

    pub(crate) const fn wants_huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// [`RealTime::coalesce`], zero if it was not set.
    pub(crate) fn rests(&self) -> Duration {
        self.coalesce.unwrap_or_default()
    }

    pub(crate) const fn how_it_waits(&self) -> Waits {
        self.waits
    }
}

impl Waits {
    /// Whether the stream's I/O never sleeps.
    pub(crate) const fn is_io_spinning(self) -> bool {
        !matches!(self, Self::Asleep)
    }

    /// Whether the program's thread does not sleep while it waits.
    pub(crate) const fn is_program_spinning(self) -> bool {
        matches!(self, Self::BothSpinning | Self::Inline)
    }
}

/// Why real-time options are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RealTimeError {
    /// This machine does not have this CPU.
    #[error("cpu {cpu}: must be 0 to {last}, the CPUs of this machine")]
    Cpu {
        /// The number given.
        cpu: usize,
        /// The highest number.
        last: usize,
    },
    /// SCHED_FIFO has no such priority.
    #[error("{}", OutOfRange("priority", priority, "1 to 99"))]
    Priority {
        /// The priority given.
        priority: u32,
    },
    /// Out of range.
    #[error("timer slack {slack:?}: must be 1ns to 1s")]
    TimerSlack {
        /// The time given.
        slack: Duration,
    },
    /// Out of range.
    #[error("coalesce {rest:?}: must be 1ns to 10ms")]
    Coalesce {
        /// The time given.
        rest: Duration,
    },
    /// Out of range.
    #[error("{}", OutOfRange("slow", slow, "1 to 1000"))]
    Slow {
        /// The factor given.
        slow: u32,
    },
    /// Coalescing needs a thread that sleeps.
    #[error("coalesce {rest:?} is of a thread that sleeps, and this one is to spin: choose one")]
    Restless {
        /// The time given.
        rest: Duration,
    },
    /// An option of the I/O thread, but there is none.
    #[error("{option} is of an I/O thread, and without one (inline) there is none")]
    NoThread {
        /// The option and its value.
        option: String,
    },
    /// A spinning thread of real-time priority would take the only CPU.
    #[error("priority {priority} and spinning leave the program no CPU: this machine has one")]
    Starving {
        /// The priority given.
        priority: u32,
    },
}

/// Beyond, idle streams would seem to stand still.
const SLOW_MAX: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(options: &RealTime) -> String {
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn values_out_of_range_are_named() {
        let last = thread::cpus() - 1;
        assert_eq!(RealTime::new().cpu(last).check(), Ok(()));
        assert_eq!(
            error_of(&RealTime::new().cpu(last + 1)),
            format!("cpu {}: must be 0 to {last}, the CPUs of this machine", last + 1)
        );
        for slow in [0, 1_001] {
            let words = format!("slow {slow}: must be 1 to 1000");
            assert_eq!(error_of(&RealTime::new().slow(slow)), words);
        }
        for priority in [0, 100] {
            let words = format!("priority {priority}: must be 1 to 99");
            assert_eq!(error_of(&RealTime::new().priority(priority)), words);
        }
        for slack in [Duration::ZERO, Duration::from_secs(2)] {
            assert!(error_of(&RealTime::new().timer_slack(slack)).starts_with("timer slack"));
            assert!(error_of(&RealTime::new().coalesce(slack)).starts_with("coalesce"));
        }
    }

    #[test]
    fn options_that_contradict_each_other_are_named() {
        let inline = RealTime::new().waits(Waits::Inline);
        assert_eq!(inline.check(), Ok(()));
        assert!(error_of(&inline.clone().cpu(0)).starts_with("cpu 0 is of an I/O thread"));
        assert!(error_of(&inline.priority(7)).starts_with("priority 7 is of an I/O thread"));
        let rests = RealTime::new().coalesce(Duration::from_micros(50));
        assert_eq!(rests.check(), Ok(()));
        assert!(
            error_of(&rests.clone().waits(Waits::Inline)).starts_with("coalesce 50µs is of an")
        );
        assert!(rests.clone().waits(Waits::BothSpinning).check().is_err());
        let error = error_of(&rests.waits(Waits::Spinning));
        assert_eq!(
            error,
            "coalesce 50µs is of a thread that sleeps, and this one is to spin: choose one"
        );
        let greedy = RealTime::new().priority(7).waits(Waits::Spinning);
        let has_one = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1);
        assert_eq!(greedy.check().is_err(), has_one);
    }
}
