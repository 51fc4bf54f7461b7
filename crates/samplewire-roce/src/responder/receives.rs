//! The queue of receive requests: posted, taken by a message, completed, polled. In this order, and
//! each once.

use super::{ReceiveCompletion, ReceiveStatus};

/// Memory of the caller that waits for a SEND, or a token for the immediate data of a WRITE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// The caller's name for it.
    pub id: u64,
    /// How many bytes fit.
    pub len_bytes: u32,
}

/// A slot of the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveSlot {
    request: ReceiveRequest,
    /// What became of it, once it is completed.
    status: Option<ReceiveStatus>,
}

/// Requests by their number since the connection began; a number's slot is that number modulo the
/// capacity.
#[derive(Clone, Debug)]
pub(super) struct Receives<Q> {
    slots: Q,
    polled: u64,
    completed: u64,
    posted: u64,
}

impl<Q: AsRef<[ReceiveSlot]> + AsMut<[ReceiveSlot]>> Receives<Q> {
    pub(super) const fn new(slots: Q) -> Self {
        Self { slots, polled: 0, completed: 0, posted: 0 }
    }

    pub(super) const fn clear(&mut self) {
        (self.polled, self.completed, self.posted) = (0, 0, 0);
    }

    /// How many requests the queue holds at most, polled ones not counted.
    pub(super) fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// `false` when the queue is full.
    pub(super) fn post(&mut self, request: ReceiveRequest) -> bool {
        if self.posted - self.polled >= self.capacity() as u64 {
            return false;
        }
        *self.slot(self.posted) = ReceiveSlot { request, status: None };
        self.posted += 1;
        true
    }

    /// The request that a message takes next, or has taken.
    pub(super) fn front(&mut self) -> Option<ReceiveRequest> {
        (self.completed < self.posted).then(|| self.slot(self.completed).request)
    }

    /// Completes the request at the front.
    pub(super) fn complete(&mut self, status: ReceiveStatus) {
        debug_assert!(self.completed < self.posted, "a request is completed that was not posted");
        self.slot(self.completed).status = Some(status);
        self.completed += 1;
    }

    pub(super) fn poll(&mut self) -> Option<ReceiveCompletion> {
        if self.polled == self.completed {
            return None;
        }
        let ReceiveSlot { request, status } = *self.slot(self.polled);
        self.polled += 1;
        Some(ReceiveCompletion { id: request.id, status: status.expect("it is completed") })
    }

    fn slot(&mut self, number: u64) -> &mut ReceiveSlot {
        let capacity = self.capacity() as u64;
        &mut self.slots.as_mut()[(number % capacity) as usize]
    }
}
