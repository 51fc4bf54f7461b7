//! Waits for a stream and for sockets at the same time.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_core::Stream;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use samplewire_zmtp::Socket;

/// Both a stream and any of several sockets can wake it.
#[derive(Debug)]
pub(super) struct Waiting {
    alarm: Arc<Alarm>,
    waker: Waker,
}

#[derive(Debug)]
struct Alarm(OwnedFd);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // An error means that the counter is full: then the thread is awake anyway.
        let _woken = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl Waiting {
    /// # Errors
    /// The system has no free file descriptor.
    pub(super) fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let alarm = Arc::new(Alarm(fd));
        let waker = Waker::from(Arc::clone(&alarm));
        Ok(Self { alarm, waker })
    }

    /// The waker to give to a stream.
    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Polls `stream`; if it has nothing yet, its next item ends the next wait.
    pub(super) fn poll_next<S: Stream + Unpin>(&self, stream: &mut S) -> Poll<Option<S::Item>> {
        Pin::new(stream).poll_next(&mut Context::from_waker(&self.waker))
    }

    /// Waits until there is work, at most for [`PAUSE`]. The flag with each socket states whether
    /// received samples would be read.
    ///
    /// # Errors
    /// The system call that waits failed.
    pub(super) fn wait<'a>(
        &self,
        sockets: impl Iterator<Item = (&'a Socket, bool)>,
    ) -> io::Result<()> {
        let mut fds = vec![PollFd::new(&self.alarm.0, PollFlags::IN)];
        for (socket, takes_samples) in sockets {
            socket.wants(takes_samples, &mut fds);
        }
        match poll(&mut fds, Some(&WAIT_MAX)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // An error means that the counter is zero, which is fine.
        let _cleared = rustix::io::read(&self.alarm.0, &mut [0; 8]);
        Ok(())
    }
}

/// Maximum time until a request to end is noticed.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

const WAIT_MAX: Timespec = Timespec { tv_sec: 0, tv_nsec: PAUSE.as_nanos() as i64 };
