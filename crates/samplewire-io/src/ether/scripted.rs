//! A link of frames for tests.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use super::{EtherError, EtherLink};

/// What a link gives and has taken.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) comes: VecDeque<Vec<u8>>,
    pub(crate) sent: Vec<Vec<u8>>,
    pub(crate) is_full: bool,
}

/// A link that a test gives its frames.
pub(crate) struct Scripted {
    wire: Arc<Mutex<Wire>>,
    file: File,
}

impl Scripted {
    /// The link, and what lies beyond it.
    pub(crate) fn new() -> (Self, Arc<Mutex<Wire>>) {
        let wire = Arc::<Mutex<Wire>>::default();
        let file = File::open("/dev/null").expect("it is everywhere");
        (Self { wire: Arc::clone(&wire), file }, wire)
    }
}

impl EtherLink for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        let frame = self.wire.lock().unwrap().comes.pop_front();
        Ok(frame.map(|frame| {
            into[..frame.len()].copy_from_slice(&frame);
            frame.len()
        }))
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let mut wire = self.wire.lock().unwrap();
        if !wire.is_full {
            wire.sent.push(frame.to_vec());
        }
        Ok(!wire.is_full)
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        Ok(true)
    }

    fn forget(&mut self) -> usize {
        0
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        Ok(None)
    }
}

impl AsFd for Scripted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
