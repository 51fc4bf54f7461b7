//! Frames of one EtherType, several a call.

use std::io;
use std::os::fd::OwnedFd;

use super::FrameReceive;
use super::sys::{self, Batch, Ring};
use crate::ether::FRAME_BYTES_MAX;

/// How frames of an EtherType pass the kernel.
pub(super) struct Frames {
    come: Come,
    leaving: Leaving,
}

/// What has come.
enum Come {
    Ring(Ring),
    /// So many frames of the batch, of which so many were taken.
    Batch {
        batch: Batch,
        frames: usize,
        taken: usize,
    },
}

/// What leaves together.
struct Leaving {
    batch: Batch,
    lens: Vec<usize>,
    /// Of the batch so many have left.
    left: usize,
    /// Frames that the system would never have taken, such as longer ones than the MTU.
    refused: u64,
}

impl Frames {
    /// For a socket that is not yet bound.
    pub(super) fn new(socket: &OwnedFd, receive: FrameReceive) -> io::Result<Self> {
        let come = match receive {
            FrameReceive::Ring => Come::Ring(Ring::new(socket)?),
            FrameReceive::Calls => {
                // A byte more shows that a frame is longer.
                let batch = Batch::new(FRAMES_MAX, FRAME_BYTES_MAX + 1);
                Come::Batch { batch, frames: 0, taken: 0 }
            }
        };
        let batch = Batch::new(FRAMES_MAX, FRAME_BYTES_MAX);
        let lens = Vec::with_capacity(FRAMES_MAX);
        Ok(Self { come, leaving: Leaving { batch, lens, left: 0, refused: 0 } })
    }

    /// Memory for what comes and what leaves.
    pub(super) fn memory_bytes(&self) -> usize {
        let come = match &self.come {
            Come::Ring(_) => Ring::BYTES,
            Come::Batch { batch, .. } => batch.memory_bytes(),
        };
        come + self.leaving.batch.memory_bytes()
    }

    /// Frames that the system refused for what they are.
    pub(super) const fn refused(&self) -> u64 {
        self.leaving.refused
    }

    /// See [`EtherLink::recv`](crate::ether::EtherLink::recv).
    pub(super) fn recv(&mut self, socket: &OwnedFd, into: &mut [u8]) -> io::Result<Option<usize>> {
        let (frame, len) = match &mut self.come {
            Come::Ring(ring) => match ring.next() {
                Some(frame) => frame,
                // A ring has no call that reports an error of the socket.
                None => return Err(sys::take_error(socket)?.unwrap_or_else(again)),
            },
            Come::Batch { batch, frames, taken } => {
                if taken == frames {
                    (*frames, *taken) = (0, 0);
                    *frames = batch.receive(socket)?;
                }
                *taken += 1;
                batch.received(*taken - 1)
            }
        };
        let copied = frame.len().min(into.len());
        into[..copied].copy_from_slice(&frame[..copied]);
        // Of a frame that was cut on its way here too, no more is there.
        Ok(Some(len.min(copied)))
    }

    /// Keeps a frame for the next flush; `false` where there is no room, even after one.
    pub(super) fn send(&mut self, socket: &OwnedFd, frame: &[u8]) -> io::Result<bool> {
        let leaving = &mut self.leaving;
        if frame.len() > leaving.batch.frame_bytes_max() {
            leaving.refused += 1;
            return Ok(true);
        }
        if leaving.lens.len() == leaving.batch.frames_max() && !leaving.flush(socket)? {
            return Ok(false);
        }
        leaving.batch.frame_mut(leaving.lens.len())[..frame.len()].copy_from_slice(frame);
        leaving.lens.push(frame.len());
        Ok(true)
    }

    /// See [`EtherLink::flush`](crate::ether::EtherLink::flush).
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        self.leaving.flush(socket)
    }

    /// See [`EtherLink::forget`](crate::ether::EtherLink::forget).
    pub(super) fn forget(&mut self) -> usize {
        let frames = self.leaving.lens.len() - self.leaving.left;
        self.leaving.clear();
        frames
    }
}

impl Leaving {
    /// Sends what is kept, in order. A frame that the system refuses for what it is is left out, so that
    /// it does not hold up the others.
    fn flush(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        while self.left < self.lens.len() {
            match self.batch.send(socket, self.left, &self.lens[self.left..]) {
                Ok(sent) => self.left += sent,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMSGSIZE | libc::EINVAL) => {
                        self.left += 1;
                        self.refused += 1;
                    }
                    _ if super::is_lost(&error) => return Ok(false),
                    _ => return Err(error),
                },
            }
        }
        self.clear();
        Ok(true)
    }

    fn clear(&mut self) {
        self.lens.clear();
        self.left = 0;
    }
}

/// As a call reports that there is nothing.
fn again() -> io::Error {
    io::Error::from_raw_os_error(libc::EAGAIN)
}

/// Frames of one call.
const FRAMES_MAX: usize = 64;
