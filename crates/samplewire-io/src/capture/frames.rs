//! A link of frames whose frames go to the file of the packets beside it.

use std::os::fd::{AsFd, BorrowedFd};

use super::writer::{Kind, Packet};
use super::{Shared, lock, now_ns};
use crate::ether::{EtherError, EtherLink};

/// Passes frames on and records them.
pub(super) struct FrameCapture {
    link: Box<dyn EtherLink>,
    recorder: Shared,
}

impl FrameCapture {
    pub(super) const fn new(link: Box<dyn EtherLink>, recorder: Shared) -> Self {
        Self { link, recorder }
    }

    fn record(&self, outbound: bool, frame: &[u8]) {
        let (time_ns, len_bytes) = (now_ns(), frame.len());
        let record = Packet { time_ns, outbound, kind: Kind::Frame, len_bytes };
        lock(&self.recorder).record(record, [frame, &[], &[]]);
    }
}

impl AsFd for FrameCapture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

impl EtherLink for FrameCapture {
    fn name(&self) -> &str {
        self.link.name()
    }

    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError> {
        let came = self.link.recv(into)?;
        if let Some(len) = came {
            self.record(false, &into[..len]);
        }
        Ok(came)
    }

    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError> {
        let is_sent = self.link.send(frame)?;
        if is_sent {
            self.record(true, frame);
        }
        Ok(is_sent)
    }

    fn mtu_bytes(&self) -> Option<usize> {
        self.link.mtu_bytes()
    }

    fn advice(&mut self) -> Option<String> {
        self.link.advice()
    }

    fn flush(&mut self) -> Result<bool, EtherError> {
        self.link.flush()
    }

    fn forget(&mut self) -> usize {
        self.link.forget()
    }

    fn dropped(&mut self) -> Result<Option<u64>, EtherError> {
        self.link.dropped()
    }
}
