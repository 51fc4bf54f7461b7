//! The real-time options that a stream got.

use std::fmt;
use std::io;
use std::time::Duration;

use samplewire_circuit::Pages;
use samplewire_io::thread;

use super::{RealTime, Waits};

/// The [`RealTime`] options that a stream got, as the kernel confirmed them.
///
/// Its text is one line for people: `CPU 1, SCHED_FIFO 50, 31.2 MB locked, spinning`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The CPU that the I/O thread is pinned to.
    pub cpu: Option<usize>,
    /// Its priority under SCHED_FIFO.
    pub priority: Option<u32>,
    /// Bytes of the process that are locked in memory.
    pub locked_bytes: Option<u64>,
    /// The pages of the quanta's memory, if huge pages were requested.
    pub pages: Option<Pages>,
    /// How late the thread's timers may end, if it was set.
    pub timer_slack: Option<Duration>,
    /// How long the thread sleeps when it has no work, if it was set.
    pub coalesce: Option<Duration>,
    /// How the stream waits.
    pub waits: Waits,
    /// Options that were requested and not granted.
    pub refused: Vec<Refusal>,
}

/// An option that was requested and not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The option, e.g. `SCHED_FIFO 50`.
    pub what: String,
    /// Why, e.g. `Operation not permitted`.
    pub why: String,
    /// The capability that would grant it, e.g. `cap_sys_nice`, if there is one. `sudo setcap
    /// cap_sys_nice=ep PROGRAM` gives it to a program.
    pub capability: Option<&'static str>,
    /// A command that would grant it, with the capability or without one.
    pub command: String,
}

impl Granted {
    /// Requests the options of the calling thread: the I/O thread, or the program's thread if there
    /// is no I/O thread. With `pages`, also requests those of the memory: see
    /// [`Granted::ask_memory`].
    pub(crate) fn ask(options: &RealTime, pages: Option<Pages>) -> Self {
        let mut granted =
            Self { coalesce: options.coalesce, waits: options.waits, ..Self::default() };
        // The memory comes first: a thread of high priority should not wait for it.
        if let Some(pages) = pages {
            granted.ask_memory(options, pages);
        }
        if let Some(cpu) = options.cpu {
            let pinned = thread::pin(cpu).and_then(|()| match &thread::affinity()?[..] {
                [only] if *only == cpu => Ok(cpu),
                other => Err(io::Error::other(format!("the thread is on {other:?}"))),
            });
            granted.cpu = granted.keep(pinned, || Refusal {
                what: format!("CPU {cpu}"),
                why: String::new(),
                capability: None,
                command: "taskset -pc $$   # the CPUs that may be used: choose one of them".into(),
            });
        }
        if let Some(slack) = options.timer_slack {
            let set = thread::set_timer_slack(slack).and_then(|()| thread::timer_slack());
            granted.timer_slack = granted.keep(set, || Refusal {
                what: format!("timer slack {slack:?}"),
                why: String::new(),
                capability: None,
                command: "cat /proc/self/timerslack_ns   # what the system set".into(),
            });
        }
        if let Some(priority) = options.priority {
            let scheduled = thread::schedule_fifo(priority).and_then(|()| {
                let has = thread::fifo_priority()?;
                has.ok_or_else(|| io::Error::other("the thread has another policy"))
            });
            granted.priority = granted.keep(scheduled, || Refusal {
                what: format!("SCHED_FIFO {priority}"),
                why: String::new(),
                capability: Some("cap_sys_nice"),
                command: format!("ulimit -r {priority}"),
            });
        }
        granted
    }

    /// Requests the options of the process's memory; `pages` are the pages of the stream.
    pub(crate) fn ask_memory(&mut self, options: &RealTime, pages: Pages) {
        // Refusals of memory are listed first, whenever they happened.
        let of_thread = std::mem::take(&mut self.refused);
        if options.huge_pages {
            self.pages = Some(pages);
            self.note_pages(pages);
        }
        if options.lock_memory {
            let locked = thread::lock_memory().and_then(|()| thread::locked_bytes());
            self.locked_bytes = self.keep(locked, || Refusal {
                what: "locked memory".into(),
                why: String::new(),
                capability: Some("cap_ipc_lock"),
                command: "ulimit -l unlimited".into(),
            });
        }
        self.refused.extend(of_thread);
    }

    /// Adds the refusals of another stream of the same I/O thread. Of the pages it keeps the
    /// smaller ones.
    pub(crate) fn merge(&mut self, other: &Self) {
        for refused in &other.refused {
            if !self.refused.iter().any(|mine| mine.what == refused.what) {
                self.refused.push(refused.clone());
                self.pages = other.pages;
            }
        }
        self.locked_bytes = self.locked_bytes.and(other.locked_bytes);
    }

    /// Keeps a granted option, or stores why it was refused.
    fn keep<T>(&mut self, had: io::Result<T>, refused: impl FnOnce() -> Refusal) -> Option<T> {
        had.map_err(|error| self.refused.push(Refusal { why: reason(&error), ..refused() })).ok()
    }

    fn note_pages(&mut self, pages: Pages) {
        if matches!(pages, Pages::Small | Pages::Transparent { huge_bytes: 0 }) {
            self.refused.push(Refusal {
                what: "huge pages".into(),
                why: "the system's pool has too few, and the kernel made none".into(),
                capability: None,
                command: "sudo sysctl -w vm.nr_hugepages=64   # of 2 MiB each".into(),
            });
        }
    }

    /// Whether any option was requested.
    pub fn is_asked(&self) -> bool {
        *self != Self::default()
    }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
        let pages = self.pages.and_then(|pages| match pages {
            Pages::Huge => Some("huge pages".to_owned()),
            Pages::Transparent { huge_bytes: 1.. } => Some("transparent huge pages".to_owned()),
            _ => None,
        });
        let waits = match self.waits {
            Waits::Asleep => None,
            Waits::Spinning => Some("spinning"),
            Waits::BothSpinning => Some("spinning, and so does the program"),
            Waits::Inline => Some("in the program's own"),
        };
        let words = [
            self.cpu.map(|cpu| format!("CPU {cpu}")),
            self.priority.map(|priority| format!("SCHED_FIFO {priority}")),
            self.locked_bytes.map(|bytes| format!("{} locked", megabytes(bytes as f64))),
            pages,
            self.timer_slack.map(|slack| format!("timer slack {slack:?}")),
            self.coalesce.map(|rest| format!("coalescing {rest:?}")),
            waits.map(str::to_owned),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        match &words[..] {
            [] => f.write_str("as any other thread"),
            words => f.write_str(&words.join(", ")),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {}: {}", self.what, self.why)
    }
}

/// The system's error text, without its number.
fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or(&words).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_had_reads_as_one_line() {
        assert_eq!(Granted::default().to_string(), "as any other thread");
        assert!(!Granted::default().is_asked());
        let granted = Granted {
            cpu: Some(1),
            priority: Some(50),
            locked_bytes: Some(31_200_000),
            pages: Some(Pages::Huge),
            timer_slack: Some(Duration::from_micros(1)),
            coalesce: Some(Duration::from_micros(50)),
            waits: Waits::Spinning,
            refused: Vec::new(),
        };
        assert_eq!(
            granted.to_string(),
            "CPU 1, SCHED_FIFO 50, 31.2 MB locked, huge pages, timer slack 1µs, \
             coalescing 50µs, spinning"
        );
        let pages = Pages::Transparent { huge_bytes: 0 };
        assert_eq!(
            Granted { pages: Some(pages), ..Granted::default() }.to_string(),
            "as any other thread"
        );
    }

    /// A right is present or not, and the result reports which.
    #[test]
    fn what_is_requested_is_granted_or_refused_with_a_command() {
        let options = RealTime::new().cpu(0).priority(1).timer_slack(Duration::from_micros(3));
        let granted =
            std::thread::spawn(move || Granted::ask(&options, Some(Pages::Small))).join().unwrap();
        let had = usize::from(granted.cpu == Some(0)) + usize::from(granted.priority == Some(1));
        assert_eq!(had + granted.refused.len(), 2, "{granted:?}");
        assert!(granted.timer_slack.is_some());
        for refused in &granted.refused {
            assert!(!refused.why.is_empty() && !refused.command.is_empty(), "{refused:?}");
        }
        let options = RealTime::new().huge_pages(true);
        let granted = Granted::ask(&options, Some(Pages::Transparent { huge_bytes: 0 }));
        assert_eq!(granted.refused.len(), 1, "{granted:?}");
        assert!(granted.refused[0].command.contains("vm.nr_hugepages"));
    }
}
