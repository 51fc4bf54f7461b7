//! One port: a queue for each class, and the frame that is on the wire.

use samplewire_proto::Nanos;

use crate::{CLASSES, Frames};

/// A frame in the buffer.
#[derive(Debug)]
pub(super) struct Queued<F> {
    pub(super) frame: F,
    pub(super) bytes: u32,
    pub(super) ingress: usize,
    pub(super) is_ecn_capable: bool,
    pub(super) is_marked: bool,
}

/// The sending side of a port. The highest class goes first, whole frames each.
#[derive(Debug)]
pub(super) struct Port<F> {
    bps: u64,
    queues: [Frames<F>; CLASSES],
    waiting_bytes: [u64; CLASSES],
    paused_until: [Nanos; CLASSES],
    leaving: Option<Leaving<F>>,
    /// What the last frame took of a nanosecond that it did not fill, in parts of the rate.
    rest: u64,
}

#[derive(Debug)]
struct Leaving<F> {
    class: usize,
    queued: Queued<F>,
}

impl<F> Port<F> {
    pub(super) fn new(bps: u64) -> Self {
        Self {
            bps,
            queues: std::array::from_fn(|_| Frames::new()),
            waiting_bytes: [0; CLASSES],
            paused_until: [Nanos(0); CLASSES],
            leaving: None,
            rest: 0,
        }
    }

    pub(super) fn queued_bytes(&self, class: usize) -> u64 {
        self.waiting_bytes[class]
    }

    pub(super) fn push(&mut self, class: usize, queued: Queued<F>) {
        self.waiting_bytes[class] += u64::from(queued.bytes);
        self.queues[class].push_back(queued);
    }

    pub(super) fn pause(&mut self, class: usize, until: Nanos) {
        self.paused_until[class] = until;
    }

    /// When a class that has frames may go on, if the wire stands still for pauses alone.
    pub(super) fn resumes_at(&self) -> Option<Nanos> {
        if self.leaving.is_some() {
            return None;
        }
        let waiting = (0..CLASSES).filter(|&class| !self.queues[class].is_empty());
        waiting.map(|class| self.paused_until[class]).min()
    }

    /// Puts the next frame on an idle wire, and returns when it will have left; `marks` decides by
    /// what waited, itself included.
    pub(super) fn start(&mut self, now: Nanos, marks: impl FnOnce(u64) -> bool) -> Option<Nanos> {
        if self.leaving.is_some() {
            return None;
        }
        let may_leave =
            |&class: &usize| !self.queues[class].is_empty() && self.paused_until[class] <= now;
        let class = (0..CLASSES).rev().find(may_leave)?;
        let mut queued = self.queues[class].pop_front()?;
        queued.is_marked |= queued.is_ecn_capable && marks(self.waiting_bytes[class]);
        self.waiting_bytes[class] -= u64::from(queued.bytes);
        let bits = u64::from(queued.bytes) * 8 * 1_000_000_000 + self.rest;
        self.rest = bits % self.bps;
        let ends_at = now + Nanos(bits / self.bps);
        self.leaving = Some(Leaving { class, queued });
        Some(ends_at)
    }

    /// The frame that has left, and its class.
    pub(super) fn finish(&mut self) -> (usize, Queued<F>) {
        let Leaving { class, queued } = self.leaving.take().expect("a frame has left");
        (class, queued)
    }
}
