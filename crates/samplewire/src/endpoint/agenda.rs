//! Which streams of a port have work: called streams in the order of their calls, and the others by
//! their due times. Nothing here allocates after creation.

use std::collections::VecDeque;

use samplewire_proto::Nanos;

/// The streams of a port by their places.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Streams to visit, in order, without duplicates.
    ready: VecDeque<u16>,
    /// Streams with work that wait until their link has room, in order.
    waiting: VecDeque<u16>,
    /// Whether each stream is one of these.
    is_ready: Box<[bool]>,
    deadlines: Deadlines,
}

impl Agenda {
    /// Creates an agenda for `places` streams without work.
    pub(crate) fn new(places: usize) -> Self {
        Self {
            ready: VecDeque::with_capacity(places),
            waiting: VecDeque::with_capacity(places),
            is_ready: vec![false; places].into(),
            deadlines: Deadlines::new(places),
        }
    }

    /// The stream at `place` has work at once.
    pub(crate) fn call(&mut self, place: usize) {
        if !self.is_ready[place] {
            self.is_ready[place] = true;
            self.ready.push_back(place as u16);
        }
    }

    /// The link of the stream at `place` did not take all of its packets: it is visited again after the
    /// next [`Agenda::resume`], behind all others that wait.
    pub(crate) fn wait(&mut self, place: usize) {
        if !self.is_ready[place] {
            self.is_ready[place] = true;
            self.waiting.push_back(place as u16);
        }
    }

    /// Streams whose link is full, in order: they were not offered to it, and so come before all others
    /// that wait.
    pub(crate) fn wait_first(&mut self, places: &[u16]) {
        for &place in places.iter().rev() {
            if !std::mem::replace(&mut self.is_ready[usize::from(place)], true) {
                self.waiting.push_front(place);
            }
        }
    }

    /// Calls for some of the streams that wait. The number is limited: however many there are behind a
    /// full link, half of the visits of a turn are for others.
    #[inline]
    pub(crate) fn resume(&mut self) {
        if !self.waiting.is_empty() {
            let count = self.waiting.len().min(VISITS_MAX / 2);
            self.ready.extend(self.waiting.drain(..count));
        }
    }

    /// Whether a stream waits until its link has room.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The stream at `place` has work at `at`, unless it is called before.
    pub(crate) fn set(&mut self, place: usize, at: Nanos) {
        self.deadlines.set(place, at);
    }

    /// Calls for all that are due at `now`.
    #[inline]
    pub(crate) fn call_due(&mut self, now: Nanos) {
        while let Some((place, at)) = self.deadlines.first()
            && at <= now
            && at < NEVER
        {
            self.call_at_its_time(place);
        }
    }

    #[inline(never)]
    fn call_at_its_time(&mut self, place: usize) {
        self.deadlines.set(place, NEVER);
        self.call(place);
    }

    /// Number of streams to visit.
    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// The streams to visit, in order.
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().map(|&place| place.into())
    }

    /// Takes the next stream to visit.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let place = usize::from(self.ready.pop_front()?);
        self.is_ready[place] = false;
        Some(place)
    }

    /// The time until which there is no work without a call; `Nanos(0)` if there is work at once.
    /// Streams that wait for their link do not count.
    pub(crate) fn until(&self) -> Nanos {
        match self.deadlines.first() {
            _ if !self.ready.is_empty() => Nanos(0),
            Some((_, at)) => at,
            None => NEVER,
        }
    }
}

/// A binary heap of all places by time, each of which can be moved.
#[derive(Debug)]
struct Deadlines {
    heap: Box<[u16]>,
    /// The position of each place in the heap.
    positions: Box<[u16]>,
    times: Box<[Nanos]>,
}

impl Deadlines {
    fn new(places: usize) -> Self {
        let all = || (0..places as u16).collect();
        Self { heap: all(), positions: all(), times: vec![NEVER; places].into() }
    }

    fn first(&self) -> Option<(usize, Nanos)> {
        let place = usize::from(*self.heap.first()?);
        Some((place, self.times[place]))
    }

    fn set(&mut self, place: usize, at: Nanos) {
        let before = std::mem::replace(&mut self.times[place], at);
        let position = usize::from(self.positions[place]);
        if at < before {
            self.rise(position);
        } else {
            self.sink(position);
        }
    }

    fn rise(&mut self, mut position: usize) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.time_at(parent) <= self.time_at(position) {
                return;
            }
            self.swap(position, parent);
            position = parent;
        }
    }

    fn sink(&mut self, mut position: usize) {
        loop {
            let mut child = 2 * position + 1;
            if child >= self.heap.len() {
                return;
            }
            if child + 1 < self.heap.len() && self.time_at(child + 1) < self.time_at(child) {
                child += 1;
            }
            if self.time_at(position) <= self.time_at(child) {
                return;
            }
            self.swap(position, child);
            position = child;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for position in [one, other] {
            self.positions[usize::from(self.heap[position])] = position as u16;
        }
    }

    fn time_at(&self, position: usize) -> Nanos {
        self.times[usize::from(self.heap[position])]
    }
}

const NEVER: Nanos = Nanos(u64::MAX);

/// Maximum number of visits before the link is polled again.
pub(super) const VISITS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a plain list of the times.
    #[test]
    fn the_earliest_is_due_first_however_often_times_move() {
        const PLACES: usize = 33;
        let (mut agenda, mut times) = (Agenda::new(PLACES), [NEVER; PLACES]);
        let mut rng = samplewire_proto::Rng::new(1);
        let mut draw = |below: u64| rng.below(below);
        for round in 0..5_000 {
            for _ in 0..draw(8) {
                let (place, at) = (draw(PLACES as u64) as usize, Nanos(round + draw(1_000)));
                agenda.set(place, at);
                times[place] = at;
            }
            let now = Nanos(round);
            agenda.call_due(now);
            let mut visited: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
            visited.sort_unstable();
            let due: Vec<_> = (0..PLACES).filter(|&place| times[place] <= now).collect();
            assert_eq!(visited, due, "round {round}");
            due.iter().for_each(|&place| times[place] = NEVER);
            assert_eq!(agenda.until(), *times.iter().min().unwrap());
        }
    }

    #[test]
    fn calls_are_visited_in_order_and_once() {
        let mut agenda = Agenda::new(3);
        assert_eq!((agenda.pop(), agenda.until()), (None, NEVER));
        for place in [2, 0, 2] {
            agenda.call(place);
        }
        agenda.set(1, Nanos(5));
        agenda.set(2, Nanos(5));
        agenda.set(2, NEVER);
        assert_eq!((agenda.len(), agenda.until()), (2, Nanos(0)));
        assert_eq!(agenda.pop(), Some(2));
        agenda.call(2);
        assert_eq!((agenda.pop(), agenda.pop(), agenda.pop()), (Some(0), Some(2), None));
        assert_eq!(agenda.until(), Nanos(5));
    }

    #[test]
    fn stream_that_was_not_offered_is_visited_before_those_that_were() {
        let mut agenda = Agenda::new(6);
        (0..6).for_each(|place| agenda.call(place));
        let first: Vec<_> = (0..5).filter_map(|_| agenda.pop()).collect();
        agenda.wait(first[0]);
        agenda.wait(first[3]);
        agenda.wait_first(&[1, 2, 4]);
        assert_eq!(agenda.until(), Nanos(0), "the last");
        assert_eq!((agenda.pop(), agenda.pop()), (Some(5), None));
        // It waits, whatever calls it.
        agenda.call(3);
        assert_eq!((agenda.until(), agenda.has_waiting()), (NEVER, true));
        agenda.resume();
        agenda.call(5);
        let visited: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(visited, [1, 2, 4, 0, 3, 5]);
        assert!(!agenda.has_waiting());
    }

    #[test]
    fn half_of_the_visits_of_a_turn_are_for_streams_that_do_not_wait() {
        let mut agenda = Agenda::new(2 * VISITS_MAX);
        (0..2 * VISITS_MAX - 1).for_each(|place| agenda.wait(place));
        agenda.resume();
        agenda.call(2 * VISITS_MAX - 1);
        let visited: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        let expected: Vec<_> = (0..VISITS_MAX / 2).chain([2 * VISITS_MAX - 1]).collect();
        assert_eq!(visited, expected);
    }

    #[test]
    fn nothing_at_no_place_is_never_due() {
        let mut agenda = Agenda::new(0);
        agenda.call_due(NEVER);
        assert_eq!((agenda.pop(), agenda.until()), (None, NEVER));
    }
}
