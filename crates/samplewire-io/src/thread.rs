//! What the calling thread may have of the machine: a CPU, a real-time priority, memory that stays,
//! timers that are exact. Each is set and then read back from the kernel.
//!
//! By `libc`, which is here anyway: `rustix` has no scheduling policy, and a crate for it would
//! save four calls.

use std::fs;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::time::{Duration, Instant};

/// CPUs that this machine has, whether or not this process may use them: their numbers lie below.
pub fn cpus() -> usize {
    // SAFETY: sysconf takes no pointers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// The system's: `EINVAL` when the CPU is offline, or none of this process's (cpuset(7)).
pub fn pin(cpu: usize) -> io::Result<()> {
    set_affinity(&[cpu])
}

/// Keeps the calling thread on these CPUs, as [`affinity`] returns them.
///
/// # Errors
/// The system's: `EINVAL` when none of them is online and of this process (cpuset(7)).
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    if cpus.iter().any(|&cpu| cpu >= libc::CPU_SETSIZE as usize) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: all bytes zero are an empty set.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    for &cpu in cpus {
        // SAFETY: the number lies within the set, as checked above.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the pointer covers `set`, whose size is given; 0 is the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) })
}

/// The CPUs that the calling thread may run on.
///
/// # Errors
/// The system's: `EINVAL` on a machine of more than 1,024 CPUs.
pub fn affinity() -> io::Result<Vec<usize>> {
    // SAFETY: all bytes zero are an empty set.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the kernel writes no more than the size that is given; 0 is the calling thread.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) })?;
    // SAFETY: the numbers lie within the set.
    Ok((0..libc::CPU_SETSIZE as usize)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect())
}

/// Schedules the calling thread by SCHED_FIFO: it runs before all that has no such priority or a
/// lesser one, until it sleeps. 1 is the least, 99 the most.
///
/// # Errors
/// `EPERM` without CAP_SYS_NICE where the limit RLIMIT_RTPRIO is less, `EINVAL` out of range.
pub fn schedule_fifo(priority: u32) -> io::Result<()> {
    let sched_priority = i32::try_from(priority).unwrap_or(i32::MAX);
    // SAFETY: all bytes zero are a valid sched_param.
    let mut param: libc::sched_param = unsafe { MaybeUninit::zeroed().assume_init() };
    param.sched_priority = sched_priority;
    // SAFETY: the thread is the caller's own, and the pointer covers `param`.
    let error = unsafe {
        libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_FIFO, &raw const param)
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// The calling thread's priority under SCHED_FIFO; `None` under another policy.
///
/// # Errors
/// The system's.
pub fn fifo_priority() -> io::Result<Option<u32>> {
    let mut policy = 0;
    // SAFETY: all bytes zero are a valid sched_param.
    let mut param: libc::sched_param = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the thread is the caller's own, and the pointers cover what is written.
    let error = unsafe {
        libc::pthread_getschedparam(libc::pthread_self(), &raw mut policy, &raw mut param)
    };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    Ok((policy == libc::SCHED_FIFO).then_some(u32::try_from(param.sched_priority).unwrap_or(0)))
}

/// Keeps all memory that this process has at present from being swapped out, code and stacks
/// included. What it takes later is not: with that (MCL_FUTURE) a limit that is reached fails an
/// allocation of the program's.
///
/// # Errors
/// `EPERM` or `ENOMEM` without CAP_IPC_LOCK where the limit RLIMIT_MEMLOCK is less.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: mlockall takes no pointers and changes no content.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT) })
}

/// Bytes of this process that are locked, as the kernel counts them.
///
/// # Errors
/// `/proc` is not there.
pub fn locked_bytes() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kibibytes
        .and_then(|kibibytes| kibibytes.checked_mul(1_024))
        .ok_or_else(|| io::Error::other("/proc/self/status has no VmLck"))
}

/// How much later than asked the kernel may wake the calling thread, 1 ns to 4.29 s; 50 us unless
/// set. A thread under SCHED_FIFO has none.
///
/// # Errors
/// The system's.
pub fn set_timer_slack(slack: Duration) -> io::Result<()> {
    let nanos = libc::c_ulong::try_from(slack.as_nanos().max(1)).unwrap_or(libc::c_ulong::MAX);
    // SAFETY: this operation takes a number, no pointer.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos, 0, 0, 0) })
}

/// See [`set_timer_slack`].
///
/// # Errors
/// The system's.
pub fn timer_slack() -> io::Result<Duration> {
    // SAFETY: this operation takes no pointer.
    let nanos = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
    check(nanos)?;
    Ok(Duration::from_nanos(u64::from(nanos.unsigned_abs())))
}

/// Gives CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF of the calling thread up (capabilities(7)). Threads that it
/// starts later do not have them either.
///
/// # Errors
/// The system's.
pub fn drop_network_rights() -> io::Result<()> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, thread: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: the pointers cover a header and two sets, as this version has them; 0 is this thread.
    check(unsafe {
        libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) as libc::c_int
    })?;
    for right in [CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF] {
        let (word, bit) = (right / 32, 1 << (right % 32));
        sets[word].effective &= !bit;
        sets[word].permitted &= !bit;
        sets[word].inheritable &= !bit;
    }
    // SAFETY: as above; the kernel reads both.
    check(unsafe {
        libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) as libc::c_int
    })
}

/// `linux/capability.h`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    thread: i32,
}

/// 32 bits of each set.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAP_NET_ADMIN: usize = 12;
const CAP_NET_RAW: usize = 13;
const CAP_BPF: usize = 39;

/// Blocks until an instant, to about a microsecond: sleeps up to [`SPIN`] before it, and spins from there.
/// The sleep itself ends late by what the system takes to wake a thread, and by [`timer_slack`].
pub fn wait_until(at: Instant) {
    if let Some(sleep) = at.saturating_duration_since(Instant::now()).checked_sub(SPIN) {
        std::thread::sleep(sleep);
    }
    while Instant::now() < at {
        std::hint::spin_loop();
    }
}

/// How long before its end a wait no longer sleeps: longer than the system takes to wake a thread.
pub const SPIN: Duration = Duration::from_micros(200);

fn check(answer: i32) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own: the harness's keeps what it had.
    fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn thread_is_pinned_and_the_kernel_says_so() {
        let before = affinity().unwrap();
        let cpu = *before.last().unwrap();
        assert!(cpu < cpus());
        assert_eq!(apart(|| pin(cpu).and_then(|()| affinity()).unwrap()), [cpu]);
        assert_eq!(affinity().unwrap(), before, "of another thread");
        for cpu in [cpus().max(1_000), 1_024, usize::MAX] {
            let error = apart(|| pin(cpu)).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "CPU {cpu}");
        }
    }

    #[test]
    fn timer_slack_is_of_the_thread() {
        let before = timer_slack().unwrap();
        let slack = Duration::from_nanos(777);
        assert_eq!(apart(|| set_timer_slack(slack).and_then(|()| timer_slack()).unwrap()), slack);
        assert_eq!(timer_slack().unwrap(), before);
    }

    #[test]
    fn waits_end_at_their_time_and_not_before() {
        for span in [Duration::ZERO, Duration::from_micros(5), SPIN, SPIN * 10] {
            let at = Instant::now() + span;
            wait_until(at);
            assert!(Instant::now() >= at);
        }
        let before = Instant::now();
        wait_until(before);
        assert!(
            before.elapsed() < Duration::from_secs(10),
            "a time that has passed is not waited for"
        );
    }

    #[test]
    fn priority_is_had_or_refused_for_want_of_a_right() {
        apart(|| match schedule_fifo(1) {
            Ok(()) => assert_eq!(fifo_priority().unwrap(), Some(1)),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EPERM));
                assert_eq!(fifo_priority().unwrap(), None);
            }
        });
        for priority in [0, 100, u32::MAX] {
            assert_eq!(
                apart(|| schedule_fifo(priority)).unwrap_err().raw_os_error(),
                Some(libc::EINVAL)
            );
        }
    }
}
