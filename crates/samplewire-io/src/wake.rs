//! Waiting on a descriptor and being woken from another thread: poll(2) and eventfd(2).

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::links::LINKS_MAX;

/// Ends a [`Link::wait`](crate::Link::wait) from another thread. Wakes that come before the wait
/// count; several before one wait count as one.
#[derive(Clone, Debug)]
pub struct Waker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    event: File,
    /// What else ends a wait, once it can be read.
    other: OnceLock<OwnedFd>,
}

impl Waker {
    /// Makes a waker of its own, for links that wait by [`Waker::wait`].
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created this descriptor, and no other owner has it.
        let event = unsafe { OwnedFd::from_raw_fd(fd) };
        let shared = Shared { event: File::from(event), other: OnceLock::new() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Lets waits also end when `other` can be read: a link may have a companion. There is one at
    /// most; a second one is ignored.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn also_for(&self, other: BorrowedFd<'_>) -> io::Result<()> {
        let other = other.try_clone_to_owned()?;
        self.shared.other.get_or_init(|| other);
        Ok(())
    }

    /// Ends the wait that is going on, or else the next one.
    pub fn wake(&self) {
        match (&self.shared.event).write(&1_u64.to_ne_bytes()) {
            Ok(_) => {}
            // The counter is at its end: a wake is pending already.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => unreachable!("writing an eventfd cannot fail: {error}"),
        }
    }

    /// Blocks until a wake, for `timeout` at most.
    ///
    /// # Errors
    /// The system's, which poll(2) lists.
    pub fn wait(&self, timeout: Duration) -> io::Result<()> {
        self.sleep(&mut Sleep::new(timeout))
    }

    /// Blocks until a wake, or until `sleep` ends; `sleep` then has what ended it.
    ///
    /// # Errors
    /// The system's, which poll(2) lists.
    pub fn sleep(&self, sleep: &mut Sleep) -> io::Result<()> {
        let own = self.shared.event.as_raw_fd();
        // A link whose own waker this is has added it, and takes the wake.
        let is_added = sleep.events().iter().any(|event| event.fd == own);
        if !is_added {
            sleep.add(own, true, false);
        }
        if let Some(other) = self.shared.other.get() {
            sleep.add(other.as_raw_fd(), true, false);
        }
        poll(&mut sleep.events[..sleep.len], sleep.timeout)?;
        if !is_added {
            self.take(sleep);
        }
        Ok(())
    }

    /// Takes a wake that ended `sleep`.
    pub(crate) fn take(&self, sleep: &Sleep) {
        if sleep.is_ready(self.shared.event.as_raw_fd()) {
            let mut count = [0; 8];
            match (&self.shared.event).read(&mut count) {
                Ok(_) => {}
                // Another waiter took the wake first.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => unreachable!("reading an eventfd cannot fail: {error}"),
            }
        }
    }
}

/// Can be read once it was woken: for a link that has no descriptor of its own.
impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }
}

/// A wait of one link or several: the descriptors that end it, and the longest time.
///
/// Each link adds its own ([`Link::begin_wait`](crate::Link::begin_wait)), and looks afterwards
/// which of them are ready ([`Link::end_wait`](crate::Link::end_wait)).
#[derive(Debug)]
pub struct Sleep {
    timeout: Duration,
    events: [libc::pollfd; EVENTS_MAX],
    len: usize,
    /// How often it was shortened.
    limits: u32,
}

/// How far a [`Sleep`] has been made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SleepMark {
    len: usize,
    limits: u32,
}

impl Sleep {
    /// A wait of at most `timeout`, which nothing else ends yet.
    pub const fn new(timeout: Duration) -> Self {
        let none = libc::pollfd { fd: -1, events: 0, revents: 0 };
        Self { timeout, events: [none; EVENTS_MAX], len: 0, limits: 0 }
    }

    /// The longest time.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Lasts no longer than `span`.
    pub fn at_most(&mut self, span: Duration) {
        self.timeout = self.timeout.min(span);
        self.limits += 1;
    }

    /// What has been added from here on is one link's.
    pub(crate) const fn mark(&self) -> SleepMark {
        SleepMark { len: self.len, limits: self.limits }
    }

    /// Whether a link waits for descriptors alone, those between two marks, and none of them is
    /// ready.
    pub(crate) fn is_quiet(&self, [from, to]: [SleepMark; 2]) -> bool {
        let events = &self.events[from.len..to.len];
        from.limits == to.limits && events.iter().all(|event| event.revents == 0)
    }

    /// Ends when `fd` can be read or written, as far as that is requested. Where there are more
    /// than [`EVENTS_MAX`], it ends soon instead.
    pub(crate) fn add(&mut self, fd: RawFd, readable: bool, writable: bool) {
        if self.len == EVENTS_MAX {
            return self.at_most(CROWDED_SPAN);
        }
        let read = if readable { libc::POLLIN } else { 0 };
        let write = if writable { libc::POLLOUT } else { 0 };
        self.events[self.len] = libc::pollfd { fd, events: read | write, revents: 0 };
        self.len += 1;
    }

    /// Whether `fd` has ended it.
    pub(crate) fn is_ready(&self, fd: RawFd) -> bool {
        self.events().iter().any(|event| event.fd == fd && event.revents != 0)
    }

    fn events(&self) -> &[libc::pollfd] {
        &self.events[..self.len]
    }
}

/// ppoll(2); a signal ends the wait early, which every caller allows.
fn poll(events: &mut [libc::pollfd], timeout: Duration) -> io::Result<()> {
    let timeout = libc::timespec {
        // Its type differs between glibc and musl, and 68 years suffice.
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as _,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: the pointers cover `events` and `timeout`, which outlive the call; no signal mask.
    let ready = unsafe {
        libc::ppoll(events.as_mut_ptr(), events.len() as libc::nfds_t, &timeout, std::ptr::null())
    };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// Descriptors of one wait: the wake, a companion, and those of each link.
const EVENTS_MAX: usize = 2 + LINKS_MAX * LINK_EVENTS_MAX;

/// How long a wait lasts that has no room for a descriptor.
const CROWDED_SPAN: Duration = Duration::from_millis(1);

/// Descriptors of one link: its port, its lane, and its queues.
const LINK_EVENTS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn wakes_before_the_wait_count_as_one() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.wake();
        let start = Instant::now();
        waker.wait(LONG).unwrap();
        assert!(start.elapsed() < LONG / 2);
        let start = Instant::now();
        waker.wait(Duration::from_millis(5)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn companion_that_can_be_read_ends_the_wait() {
        let (waker, other) = (Waker::new().unwrap(), Waker::new().unwrap());
        waker.also_for(other.as_fd()).unwrap();
        waker.wait(Duration::from_millis(1)).unwrap();
        other.wake();
        let start = Instant::now();
        waker.wait(LONG).unwrap();
        assert!(start.elapsed() < LONG / 2);
    }

    #[test]
    fn wait_without_room_for_a_descriptor_is_short() {
        let wakers: Vec<_> = (0..=EVENTS_MAX).map(|_| Waker::new().unwrap()).collect();
        let mut sleep = Sleep::new(LONG);
        wakers.iter().for_each(|it| sleep.add(it.as_fd().as_raw_fd(), true, false));
        let start = Instant::now();
        wakers[0].sleep(&mut sleep).unwrap();
        assert!(start.elapsed() < LONG / 2);
    }

    #[test]
    fn another_thread_ends_the_wait() {
        let waker = Waker::new().unwrap();
        let remote = waker.clone();
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| remote.wake());
            waker.wait(LONG).unwrap();
        });
        assert!(start.elapsed() < LONG / 2);
    }
}
