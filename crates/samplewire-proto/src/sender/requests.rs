//! Requests of REPORTs that wait to be served: a bounded queue of ranges, walked one seq at a time.

use crate::number::{Departure, Seq};

/// Ranges in the order in which they came; the oldest is walked first.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    ring: [Request; CAPACITY],
    head: usize,
    len: usize,
}

/// A range to repeat wherever a slot's last departure lies before `settled`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    pub(crate) first: Seq,
    pub(crate) end: Seq,
    pub(crate) settled: Departure,
}

/// What a walk found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// This seq is to be sent again.
    Found(Seq),
    /// Nothing is requested.
    Empty,
    /// The bound of one walk was reached; there may be more.
    Paused,
}

impl Requests {
    pub(crate) const fn new() -> Self {
        let none = Request { first: Seq(0), end: Seq(0), settled: Departure(0) };
        Self { ring: [none; CAPACITY], head: 0, len: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Queues a request; `false` when the queue is full (the receiver repeats the request).
    pub(crate) fn push(&mut self, request: Request) -> bool {
        if self.len == CAPACITY {
            return false;
        }
        self.ring[(self.head + self.len) % CAPACITY] = request;
        self.len += 1;
        true
    }

    /// Walks at most [`WALK_MAX`] seqs for one that is still held (not before `oldest`) and
    /// `is_due` at the request's `settled`. The seq found is consumed.
    pub(crate) fn walk(
        &mut self,
        oldest: Seq,
        mut is_due: impl FnMut(Seq, Departure) -> bool,
    ) -> Walk {
        for _ in 0..WALK_MAX {
            if self.len == 0 {
                return Walk::Empty;
            }
            let request = &mut self.ring[self.head];
            request.first = request.first.max(oldest);
            if !request.first.before(request.end) {
                self.head = (self.head + 1) % CAPACITY;
                self.len -= 1;
                continue;
            }
            let seq = request.first;
            request.first += 1;
            if is_due(seq, request.settled) {
                return Walk::Found(seq);
            }
        }
        Walk::Paused
    }
}

/// Ranges that wait at most; four full REPORTs of an MTU of 1,500.
const CAPACITY: usize = 512;

/// Seqs looked at in one call, so that a request for everything costs no more than one for little.
const WALK_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn request(first: u32, end: u32) -> Request {
        Request { first: Seq(first), end: Seq(end), settled: Departure(9) }
    }

    #[test]
    fn oldest_request_is_served_first_and_released_seqs_are_skipped() {
        let mut requests = Requests::new();
        assert!(requests.push(request(3, 6)));
        assert!(requests.push(request(8, 9)));
        let mut served = vec![];
        while let Walk::Found(seq) = requests.walk(Seq(4), |seq, _| seq != Seq(5)) {
            served.push(seq.0);
        }
        assert_eq!(served, [4, 8]);
        assert!(requests.is_empty());
    }

    #[test]
    fn request_for_everything_is_walked_in_bounded_steps() {
        let mut requests = Requests::new();
        requests.push(request(0, 1 << 20));
        let mut looked = 0;
        let walk = requests.walk(Seq(0), |_, _| {
            looked += 1;
            false
        });
        assert_eq!((walk, looked), (Walk::Paused, WALK_MAX));
    }

    #[test]
    fn full_queue_refuses() {
        let mut requests = Requests::new();
        for i in 0..CAPACITY as u32 {
            assert!(requests.push(request(i, i + 1)));
        }
        assert!(!requests.push(request(0, 1)));
    }

    #[test]
    fn requests_are_served_in_order_across_the_end_of_the_queue() {
        let mut requests = Requests::new();
        let mut served = vec![];
        for i in 0..500 {
            (0..3).for_each(|j| assert!(requests.push(request(3 * i + j, 3 * i + j + 1))));
            while let Walk::Found(seq) = requests.walk(Seq(0), |_, _| true) {
                served.push(seq.0);
            }
        }
        assert_eq!(served, (0..1_500).collect::<Vec<_>>());
    }
}
