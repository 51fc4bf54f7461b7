//! The queue of work requests: posted, acknowledged, polled. In this order, and each once.

use crate::number::PathMtu;

/// A message to send. Its bytes stay with the caller until its completion is polled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkRequest {
    /// The caller's name for it.
    pub id: u64,
    /// What to do with the message.
    pub verb: Verb,
    /// Its length, 0 to 2^31 bytes.
    pub len_bytes: u32,
    /// Four bytes for the responder's completion.
    pub immediate: Option<u32>,
    /// Whether it requests a solicited event; ignored for a WRITE without immediate data.
    pub is_solicited: bool,
}

/// What to do with a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// SEND: into the peer's next receive request.
    #[default]
    Send,
    /// RDMA WRITE: into a region of the peer.
    Write {
        /// Where its first byte goes, in the peer's terms.
        address: u64,
        /// The key of the region.
        key: u32,
    },
}

/// A slot of the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendSlot {
    pub(super) request: WorkRequest,
    /// The position of its first packet.
    pub(super) first: u64,
    /// The position after its last.
    pub(super) end: u64,
}

/// Requests by their number since the connection began; a number's slot is that number modulo the
/// capacity. Packets have positions, which do not wrap: a queue may hold more packets than there are
/// PSNs.
#[derive(Clone, Debug)]
pub(super) struct Queue<S> {
    slots: S,
    polled: u64,
    completed: u64,
    posted: u64,
    end: u64,
}

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Queue<S> {
    pub(super) const fn new(slots: S) -> Self {
        Self { slots, polled: 0, completed: 0, posted: 0, end: 0 }
    }

    pub(super) const fn clear(&mut self) {
        (self.polled, self.completed, self.posted, self.end) = (0, 0, 0, 0);
    }

    /// How many requests the queue holds at most, polled ones not counted.
    pub(super) fn capacity(&self) -> usize {
        self.slots.as_ref().len()
    }

    /// Slots for further requests.
    pub(super) fn free(&self) -> usize {
        self.capacity() - (self.posted - self.polled) as usize
    }

    /// Takes a request for which there is a slot.
    pub(super) fn post(&mut self, request: WorkRequest, mtu: PathMtu) {
        debug_assert!(self.free() > 0, "the caller looks for a slot");
        let first = self.end;
        self.end += u64::from(mtu.packets(request.len_bytes));
        let slot = SendSlot { request, first, end: self.end };
        let at = self.index(self.posted);
        self.slots.as_mut()[at] = slot;
        self.posted += 1;
    }

    /// The position after the last packet posted.
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// The number of the first request that is not acknowledged.
    pub(super) const fn completed(&self) -> u64 {
        self.completed
    }

    /// The request of a number that is posted and not polled.
    pub(super) fn get(&self, number: u64) -> &SendSlot {
        &self.slots.as_ref()[self.index(number)]
    }

    /// Completes the requests whose packets all lie before `acked`, and returns how many.
    pub(super) fn complete_before(&mut self, acked: u64) -> u64 {
        let before = self.completed;
        while self.completed < self.posted && self.get(self.completed).end <= acked {
            self.completed += 1;
        }
        self.completed - before
    }

    /// The name of the next request that was acknowledged.
    pub(super) fn poll_completed(&mut self) -> Option<u64> {
        if self.polled == self.completed { None } else { self.poll_any() }
    }

    /// The name of the next request, acknowledged or not.
    pub(super) fn poll_any(&mut self) -> Option<u64> {
        if self.polled == self.posted {
            return None;
        }
        let id = self.get(self.polled).request.id;
        self.polled += 1;
        self.completed = self.completed.max(self.polled);
        Some(id)
    }

    fn index(&self, number: u64) -> usize {
        (number % self.capacity() as u64) as usize
    }
}
