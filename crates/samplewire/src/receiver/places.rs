//! Where payloads go: quanta laid along the window, each for a run of seqs.

use samplewire_circuit::{Pool, Quantum};
use samplewire_proto::Seq;

/// The quanta that are lent to seqs `[next, attached_end)`.
#[derive(Debug)]
pub(crate) struct Places {
    ring: Box<[Option<Quantum>]>,
    pool: Pool,
    quantum_packets: u32,
    payload_bytes: usize,
    /// The lowest seq not delivered, and its distance from the first packet of the stream.
    next: Seq,
    next_position: u64,
    attached_end: Seq,
}

/// A seq's place within a quantum.
#[derive(Clone, Copy, Debug)]
struct Place {
    quantum: usize,
    packet: u32,
}

impl Places {
    pub(crate) fn new(
        pool: Pool,
        first_seq: Seq,
        window: u32,
        quantum_packets: u32,
        payload_bytes: usize,
    ) -> Self {
        let len = window.div_ceil(quantum_packets) + 1;
        Self {
            ring: (0..len).map(|_| None).collect(),
            pool,
            quantum_packets,
            payload_bytes,
            next: first_seq,
            next_position: 0,
            attached_end: first_seq,
        }
    }

    /// Lends free quanta to seqs up to `promise_end` and returns the end of what is lent.
    pub(crate) fn attach(&mut self, promise_end: Seq) -> Seq {
        while self.attached_end.before(promise_end) {
            let quantum = self.place(self.attached_end).quantum;
            if self.ring[quantum].is_some() {
                break;
            }
            let Some(mut fresh) = self.pool.take() else { break };
            fresh.set_len(self.quantum_packets as usize * self.payload_bytes);
            self.ring[quantum] = Some(fresh);
            self.attached_end += self.quantum_packets;
        }
        self.attached_end
    }

    /// Whether a quantum more could be lent if one were free.
    pub(crate) fn lacks_quanta(&self, promise_end: Seq) -> bool {
        self.attached_end.before(promise_end)
            && self.ring[self.place(self.attached_end).quantum].is_none()
    }

    /// Puts a payload in its place; a short one is followed by zeros.
    pub(crate) fn store(&mut self, seq: Seq, payload: &[u8]) {
        let place = self.place(seq);
        let offset = place.packet as usize * self.payload_bytes;
        let quantum = self.ring[place.quantum].as_mut().expect("only granted seqs are stored");
        let place = &mut quantum.data_mut()[offset..offset + self.payload_bytes];
        let (filled, rest) = place.split_at_mut(payload.len());
        filled.copy_from_slice(payload);
        rest.fill(0);
    }

    /// The payload of the lowest undelivered seq, which was stored.
    pub(crate) fn next_payload(&self) -> &[u8] {
        let place = self.place(self.next);
        let offset = place.packet as usize * self.payload_bytes;
        let quantum = self.ring[place.quantum].as_ref().expect("only granted seqs are stored");
        &quantum.data()[offset..offset + self.payload_bytes]
    }

    pub(crate) const fn quantum_packets(&self) -> u32 {
        self.quantum_packets
    }

    /// Where the payload of the lowest undelivered seq starts in its quantum, in bytes.
    pub(crate) fn next_offset(&self) -> usize {
        self.place(self.next).packet as usize * self.payload_bytes
    }

    /// Moves past the lowest undelivered seq; gives up the quantum when it was its last.
    pub(crate) fn advance(&mut self) -> Option<Quantum> {
        let place = self.place(self.next);
        self.next += 1;
        self.next_position += 1;
        let is_last = place.packet + 1 == self.quantum_packets;
        is_last.then(|| self.ring[place.quantum].take().expect("it was lent"))
    }

    /// Gives up the quantum under delivery before it is full, in exchange for a free one for the
    /// rest of its seqs. `None` when delivery stands between two quanta or no quantum is free.
    pub(crate) fn exchange(&mut self) -> Option<Quantum> {
        let place = self.place(self.next);
        if place.packet == 0 {
            return None;
        }
        let mut fresh = self.pool.take()?;
        fresh.set_len(self.quantum_packets as usize * self.payload_bytes);
        self.ring[place.quantum].replace(fresh)
    }

    /// Gives up the quantum under delivery for good, at the end of the stream.
    pub(crate) fn take_last(&mut self) -> Option<Quantum> {
        let place = self.place(self.next);
        if place.packet == 0 { None } else { self.ring[place.quantum].take() }
    }

    fn place(&self, seq: Seq) -> Place {
        let ahead = u64::from(seq - self.next);
        let position = self.next_position + ahead;
        let packets = u64::from(self.quantum_packets);
        Place {
            quantum: (position / packets % self.ring.len() as u64) as usize,
            packet: (position % packets) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use samplewire_circuit::PoolConfig;

    use super::*;

    #[test]
    fn quanta_go_round_across_the_seq_wrap() {
        let pool = Pool::new(PoolConfig::new(4, 4 * 8)).unwrap();
        let first = Seq(u32::MAX - 10);
        let mut places = Places::new(pool.clone(), first, 8, 4, 8);
        for round in 0..40u8 {
            let seq = first + u32::from(round);
            assert!(seq.before(places.attach(seq + 8)));
            places.store(seq, &[round; 8]);
            assert_eq!(places.next_payload(), [round; 8]);
            let full = places.advance();
            assert_eq!(full.is_some(), round % 4 == 3);
            if let Some(quantum) = full {
                let first = round - 3;
                let expected: Vec<u8> = (first..=round).flat_map(|byte| [byte; 8]).collect();
                assert_eq!(quantum.data(), expected);
            }
        }
    }

    #[test]
    fn credit_is_free_quanta() {
        let pool = Pool::new(PoolConfig::new(3, 4 * 8)).unwrap();
        let mut places = Places::new(pool.clone(), Seq(0), 16, 4, 8);
        let held = pool.take();
        assert_eq!(places.attach(Seq(16)), Seq(8), "two quanta were free");
        assert!(places.lacks_quanta(Seq(16)));
        drop(held);
        assert_eq!(places.attach(Seq(16)), Seq(12));
    }

    #[test]
    fn half_full_quantum_is_exchanged_for_a_free_one() {
        let pool = Pool::new(PoolConfig::new(2, 2 * 8)).unwrap();
        let mut places = Places::new(pool, Seq(0), 2, 2, 8);
        places.attach(Seq(2));
        assert!(places.exchange().is_none(), "nothing was delivered of it");
        places.store(Seq(0), &[1; 8]);
        assert!(places.advance().is_none());
        let half = places.exchange().expect("one was free");
        assert_eq!(half.data()[..8], [1; 8]);
        places.store(Seq(1), &[2; 8]);
        assert_eq!(places.advance().expect("the last of its quantum").data()[8..], [2; 8]);
    }
}
