//! CPU time of single threads, and memory of the process (Linux, /proc/self).

use std::collections::BTreeSet;
use std::fs;

use samplewire_testing::{PATIENCE, wait_for};

/// A thread of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thread(u32);

impl Thread {
    /// All threads that have this name now.
    pub(crate) fn named(name: &str) -> BTreeSet<Self> {
        let Ok(entries) = fs::read_dir("/proc/self/task") else { return BTreeSet::new() };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|id| {
                let comm = fs::read_to_string(format!("/proc/self/task/{id}/comm"));
                comm.is_ok_and(|comm| comm.trim_end() == name)
            })
            .map(Self)
            .collect()
    }

    /// The one thread of this name that `before` has not.
    pub(crate) fn newest(name: &str, before: &BTreeSet<Self>) -> Self {
        // A thread names itself, a moment after it was started.
        wait_for(name, PATIENCE, || Self::named(name).difference(before).next().copied())
    }

    /// Lets others go first, by `renice`: an attacker's machine is not ours, and what it takes
    /// of our cores no network would.
    pub(crate) fn yield_to_others(self) {
        let id = self.0.to_string();
        let done = std::process::Command::new("renice").args(["-n", "15", "-p", &id]).output();
        if !done.is_ok_and(|done| done.status.success()) {
            eprintln!("renice does not work: attackers take their share of the cores");
        }
    }

    /// Nanoseconds on a CPU so far; 0 when the thread has ended.
    pub(crate) fn cpu_ns(self) -> u64 {
        let text = fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.0));
        text.ok().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0)
    }
}

/// CPU time of the whole process in nanoseconds, threads that have ended included, to 10 ms.
pub(crate) fn process_cpu_ns() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(") ").next().expect("a name in brackets");
    let ticks: u64 = after_name.split(' ').skip(11).take(2).map(|t| t.parse().unwrap_or(0)).sum();
    ticks * 10_000_000
}
