//! Datagrams to one UDP port, those of one flow together.

use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;

use super::merged::{Merged, UnknownKind};
use super::{is_lost, sys};
use crate::ether::FRAME_BYTES_MAX;

/// How the datagrams of a port pass the kernel.
#[derive(Debug)]
pub(super) struct Datagrams {
    come: Merged,
    /// Of what has come so many were taken.
    taken: usize,
    leaving: Merged,
    /// The kernel takes frames one by one alone.
    is_single: bool,
    has_merged: bool,
    is_advised: bool,
    _holder: UdpSocket,
}

impl Datagrams {
    /// Of the port that `holder` has.
    pub(super) fn new(holder: UdpSocket) -> Self {
        Self {
            come: Merged::new(),
            taken: 0,
            leaving: Merged::new(),
            is_single: false,
            has_merged: false,
            is_advised: false,
            _holder: holder,
        }
    }

    /// Memory for what comes and what leaves.
    pub(super) fn memory_bytes(&self) -> usize {
        self.come.memory_bytes() + self.leaving.memory_bytes()
    }

    /// See [`EtherLink::recv`](crate::ether::EtherLink::recv).
    pub(super) fn recv(&mut self, socket: &OwnedFd, into: &mut [u8]) -> io::Result<Option<usize>> {
        if self.taken == self.come.frames() {
            self.fetch(socket)?;
        }
        if self.come.frames() == 0 {
            // Of a kind that cannot be cut: no valid packet.
            return Ok(Some(0));
        }
        let len = self.come.write(self.taken, into);
        self.taken += 1;
        Ok(Some(len.min(into.len())))
    }

    /// See [`EtherLink::send`](crate::ether::EtherLink::send).
    pub(super) fn send(&mut self, socket: &OwnedFd, frame: &[u8]) -> io::Result<bool> {
        let is_taken = self.leaving.add(frame) || (self.flush(socket)? && self.leaving.add(frame));
        if is_taken && self.is_single { self.flush(socket) } else { Ok(is_taken) }
    }

    /// See [`EtherLink::flush`](crate::ether::EtherLink::flush).
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        if self.leaving.frames() == 0 {
            return Ok(true);
        }
        match sys::send(socket, self.leaving.finish()) {
            Ok(()) => {
                self.leaving.clear();
                Ok(true)
            }
            Err(error)
                if error.raw_os_error() == Some(libc::EINVAL) && self.leaving.frames() > 1 =>
            {
                self.is_single = true;
                self.send_each(socket)
            }
            Err(error) if is_lost(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// See [`EtherLink::forget`](crate::ether::EtherLink::forget).
    pub(super) fn forget(&mut self) -> usize {
        let frames = self.leaving.frames();
        self.leaving.clear();
        frames
    }

    /// See [`EtherLink::advice`](crate::ether::EtherLink::advice).
    pub(super) fn advice(&mut self, name: &str) -> Option<String> {
        if !self.has_merged || self.is_advised {
            return None;
        }
        self.is_advised = true;
        Some(format!("{name}: the kernel merges received frames: ethtool -K {name} gro off"))
    }

    /// Takes what the kernel has, one frame or several.
    fn fetch(&mut self, socket: &OwnedFd) -> io::Result<()> {
        self.taken = 0;
        self.come.clear();
        let len = sys::recv(socket, self.come.room())?;
        self.has_merged |= self.come.came(len) == Err(UnknownKind);
        Ok(())
    }

    /// Sends what leaves together one by one; what finds no room is lost.
    fn send_each(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        let mut lone = Merged::new();
        let mut frame = [0; FRAME_BYTES_MAX];
        for number in 0..self.leaving.frames() {
            let len = self.leaving.write(number, &mut frame);
            lone.clear();
            lone.add(&frame[..len]);
            if let Err(error) = sys::send(socket, lone.finish())
                && !is_lost(&error)
            {
                return Err(error);
            }
        }
        self.leaving.clear();
        Ok(true)
    }
}
