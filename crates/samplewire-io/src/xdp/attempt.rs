//! An attempt to attach, in a thread of its own: while it lasts, packets go by UDP, and no stream waits.
//! Where the caller has a real-time priority, it attaches itself: another thread might find no CPU.

use std::io;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::{Builder, JoinHandle};

use super::path::{Path, Refusal, Wanted};
use crate::thread;
use crate::wake::Waker;

/// A thread that attaches. Its drop waits for the end of the thread, and takes off what that has attached.
#[derive(Debug)]
pub(super) struct Attempt {
    results: mpsc::Receiver<Result<Box<Path>, Refusal>>,
    thread: Option<JoinHandle<()>>,
}

impl Attempt {
    /// Starts the thread, on these CPUs. It has the rights and the namespace of the caller, and ends a wait
    /// of the link when it is done.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(super) fn start(wanted: Wanted, cpus: Vec<usize>, waker: Waker) -> Result<Self, Refusal> {
        let (sender, results) = mpsc::sync_channel(1);
        if let Ok(Some(_)) = thread::fifo_priority() {
            let _is_taken = sender.send(Path::attach(wanted).map(Box::new)).is_ok();
            return Ok(Self { results, thread: None });
        }
        let attach = move || {
            // The caller's CPU may be busy. What is refused makes this slower, not wrong.
            if !cpus.is_empty() {
                let _ = thread::set_affinity(&cpus);
            }
            let _is_taken = sender.send(Path::attach(wanted).map(Box::new)).is_ok();
            waker.wake();
        };
        let thread = Builder::new().name("samplewire-xdp".into()).spawn(attach);
        let thread = Some(thread.map_err(Refusal::of("start a thread"))?);
        Ok(Self { results, thread })
    }

    /// The result, once it is there.
    pub(super) fn poll(&self) -> Option<Result<Box<Path>, Refusal>> {
        match self.results.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err(Refusal::of("attach")(io::Error::other("the thread is gone"))))
            }
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of it is no panic of the link.
            let _ended = thread.join();
        }
    }
}
