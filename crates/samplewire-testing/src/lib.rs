//! What the tests of several crates share: waiting for a condition instead of for a time, and tests
//! that a machine does not allow.
//!
//! A test on a loaded machine is slow, not wrong. So a test waits until its condition holds, and
//! only [`PATIENCE`] says that it never will.

#![deny(unsafe_code)]

mod allocator;

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub use allocator::CountingAllocator;

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

/// Reports that the rest of the running test is left out, and why. It passes then, since the harness
/// of Rust has no other word; so `make test` counts the lines in the file `SAMPLEWIRE_SKIPS`.
///
/// # Panics
/// When that file cannot be written.
pub fn skip(why: impl Display) {
    let thread = thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let path = Path::new(&path);
        add(path, &line).unwrap_or_else(|error| panic!("{SKIPS}={}: {error}", path.display()));
    }
}

/// Memory of this process that is in RAM, in bytes.
///
/// # Panics
/// When Linux does not state it.
pub fn memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("Linux");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib * 1024
}

/// Whether the test runs in a process of its own, for example because it measures memory. If not, it runs
/// in one now: the test has this full name.
///
/// # Panics
/// When the test fails there.
pub fn in_own_process(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return true;
    }
    let ran = Command::new(std::env::current_exe().expect("it runs"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, test)
        .output()
        .expect("it runs");
    assert_passed(&ran);
    false
}

/// Checks that the one test of a process has passed.
fn assert_passed(ran: &Output) {
    let words = [&ran.stdout, &ran.stderr].map(|it| String::from_utf8_lossy(it));
    let has_passed = ran.status.success() && words[0].contains("1 passed");
    assert!(has_passed, "{}\n{}", words[0], words[1]);
}

/// Whether the test runs in a network namespace of its own, in which the shell script `interfaces` has made
/// what it needs. If not, it runs in one now: the test has this full name. Where the machine allows none,
/// it is skipped.
///
/// # Panics
/// When the test fails there.
pub fn in_namespace(test: &str, interfaces: &str) -> bool {
    if std::env::var_os(NAMESPACE).is_some_and(|name| name == test) {
        return true;
    }
    let script = format!(
        "(mount -t sysfs sysfs /sys && {interfaces}) || exit 77; {UNTIL_THEY_SEND}; exec \"$0\" \"$@\""
    );
    let ran = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c", &script])
        .arg(std::env::current_exe().expect("it runs"))
        .args(["--exact", test, "--nocapture"])
        .env(NAMESPACE, test)
        .output();
    let Ok(ran) = ran else {
        skip("unshare is not installed");
        return false;
    };
    let words = [&ran.stdout, &ran.stderr].map(|it| String::from_utf8_lossy(it));
    if ran.status.code() == Some(77) || words[1].contains("unshare: ") {
        skip(format_args!("no interface can be made here (needs root): {words:?}"));
        return false;
    }
    assert_passed(&ran);
    false
}

/// An interface that has a carrier drops what is sent, without an error, until a thread of the kernel has
/// put it in operation (`net/core/link_watch.c`). On a busy machine that comes late.
const UNTIL_THEY_SEND: &str = "n=0; \
                               while ip -o link | grep LOWER_UP | grep -qv -e 'state UP' -e 'state UNKNOWN'; do \
                               if [ $((n += 1)) -gt 1000 ]; then \
                               echo 'after 10 s an interface is not in operation, and drops frames:' >&2; \
                               ip -o link >&2; break; fi; sleep 0.01; done";

/// A network namespace, which a thread can enter: sockets that it opens, and threads that it starts, are
/// of the namespace that it is in.
#[derive(Debug)]
pub struct NetworkNamespace(File);

impl NetworkNamespace {
    /// That of this thread.
    ///
    /// # Errors
    /// `/proc` is not there.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// The one that `ip netns add` has made under this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> io::Result<Self> {
        File::open(Path::new("/run/netns").join(name)).map(Self)
    }

    /// Moves the calling thread there.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }
}

/// Names the test that runs in its namespace.
const NAMESPACE: &str = "SAMPLEWIRE_TEST_NAMESPACE";

/// Names the test that runs in its own process.
const ALONE: &str = "SAMPLEWIRE_TEST_ALONE";

/// Adds a line to a file, in one call: tests run beside each other.
fn add(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

/// Names the file of skipped tests.
const SKIPS: &str = "SAMPLEWIRE_SKIPS";

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
    fn skips_are_lines_of_one_file() {
        let path = std::env::temp_dir().join(format!("samplewire-skips-{}", std::process::id()));
        for line in ["one: no tshark\n", "two: not root\n"] {
            add(&path, line).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one: no tshark\ntwo: not root\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    #[should_panic(expected = "not within 3ms: rain in the desert")]
    fn condition_that_never_holds_is_named() {
        wait_until("rain in the desert", Duration::from_millis(3), || false);
    }
}
