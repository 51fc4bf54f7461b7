//! Where payloads are stored: quanta along the window, each for a run of seqs.
//!
//! A quantum is reserved for the window when credit for its seqs is granted. It is assigned to a
//! run of seqs when the first of their packets arrives. The most recently freed quantum is assigned
//! first, because its memory may still be in a cache. While few packets are in flight, few quanta
//! circulate, however large the window is.

use samplewire_circuit::{Pool, Quantum};
use samplewire_proto::Seq;

/// The quanta reserved for seqs `[next, attached_end)`.
#[derive(Debug)]
pub(crate) struct PayloadRing {
    /// The quanta that are assigned to a run of seqs.
    ring: Box<[Option<Laid>]>,
    /// The unassigned quanta, one for each run of seqs without any; the last is assigned first.
    spare: Vec<Quantum>,
    pool: Pool,
    quantum_packets: u32,
    payload_bytes: usize,
    /// The lowest undelivered seq, and its distance from the first packet of the stream.
    next: Seq,
    next_position: u64,
    attached_end: Seq,
}

/// A quantum that is assigned to a run of seqs.
#[derive(Debug)]
struct Laid {
    quantum: Quantum,
    /// The end of the stored packets in it.
    stored_end: u32,
}

/// The position of delivery after a step.
#[derive(Debug)]
pub(crate) enum Step {
    /// Within a run of seqs that share a quantum.
    Within,
    /// At the end of a run, with its quantum if any of its packets came.
    Past(Option<Quantum>),
}

/// A seq's position within a quantum.
#[derive(Clone, Copy, Debug)]
struct Place {
    quantum: usize,
    packet: u32,
}

impl PayloadRing {
    pub(crate) fn new(
        pool: Pool,
        first_seq: Seq,
        window: u32,
        quantum_packets: u32,
        payload_bytes: usize,
    ) -> Self {
        let len = window.div_ceil(quantum_packets) as usize + 1;
        Self {
            ring: (0..len).map(|_| None).collect(),
            spare: Vec::with_capacity(len),
            pool,
            quantum_packets,
            payload_bytes,
            next: first_seq,
            next_position: 0,
            attached_end: first_seq,
        }
    }

    /// Reserves free quanta for seqs up to `promise_end`; returns the end of the reserved seqs.
    pub(crate) fn attach(&mut self, promise_end: Seq) -> Seq {
        while self.needs_quanta(promise_end) {
            let Some(fresh) = self.pool.take() else { break };
            self.reserve(fresh);
            self.attached_end += self.quantum_packets;
        }
        self.attached_end
    }

    /// Whether the window could reserve another quantum if one were free.
    pub(crate) fn needs_quanta(&self, promise_end: Seq) -> bool {
        let runs = |position: u64| position / u64::from(self.quantum_packets);
        let reserved = runs(self.position(self.attached_end)) - runs(self.next_position);
        self.attached_end.before(promise_end) && reserved < self.ring.len() as u64
    }

    /// Frees the quanta that are reserved and not assigned: nothing more will be stored.
    pub(crate) fn release_spare(&mut self) {
        self.spare.clear();
    }

    fn reserve(&mut self, mut quantum: Quantum) {
        quantum.set_len(self.quantum_packets as usize * self.payload_bytes);
        self.spare.push(quantum);
    }

    /// Stores a payload; pads a short one with zeros.
    pub(crate) fn store(&mut self, seq: Seq, payload: &[u8]) {
        let (filled, rest) = self.lay(seq).split_at_mut(payload.len());
        filled.copy_from_slice(payload);
        rest.fill(0);
    }

    /// The place of the payload of a granted seq, of a quantum that is assigned if it was not yet.
    #[expect(clippy::inline_always, reason = "each packet of DATA is stored here")]
    #[inline(always)]
    pub(crate) fn lay(&mut self, seq: Seq) -> &mut [u8] {
        let place = self.place(seq);
        let offset = place.packet as usize * self.payload_bytes;
        let spare = &mut self.spare;
        let laid = self.ring[place.quantum].get_or_insert_with(|| {
            let quantum = spare.pop().expect("only granted seqs are stored");
            Laid { quantum, stored_end: 0 }
        });
        laid.stored_end = laid.stored_end.max(place.packet + 1);
        &mut laid.quantum.data_mut()[offset..offset + self.payload_bytes]
    }

    /// Stores a part of a payload, from an offset on: what lies beyond the payload is left out.
    pub(crate) fn store_part(&mut self, seq: Seq, offset: usize, bytes: &[u8]) {
        let payload_bytes = self.payload_bytes;
        let place = self.lay(seq);
        if offset < payload_bytes {
            let len = bytes.len().min(payload_bytes - offset);
            place[offset..][..len].copy_from_slice(&bytes[..len]);
        }
    }

    /// The payload of an undelivered seq, if any of it was stored.
    pub(crate) fn payload(&self, seq: Seq) -> Option<&[u8]> {
        let place = self.place(seq);
        let offset = place.packet as usize * self.payload_bytes;
        let laid = self.ring[place.quantum].as_ref()?;
        Some(&laid.quantum.data()[offset..offset + self.payload_bytes])
    }

    /// The stored payload of the lowest undelivered seq.
    pub(crate) fn next_payload(&self) -> &[u8] {
        self.payload(self.next).expect("it was stored")
    }

    /// Quanta that span the window.
    pub(crate) fn quanta(&self) -> usize {
        self.ring.len()
    }

    pub(crate) const fn quantum_packets(&self) -> u32 {
        self.quantum_packets
    }

    /// Packets from the lowest undelivered seq to the end of its quantum.
    pub(crate) fn missing(&self) -> u32 {
        self.quantum_packets - self.place(self.next).packet
    }

    /// The offset in bytes of the lowest undelivered seq's payload in its quantum.
    pub(crate) fn next_offset(&self) -> usize {
        self.place(self.next).packet as usize * self.payload_bytes
    }

    /// Moves past the lowest undelivered seq.
    pub(crate) fn advance(&mut self) -> Step {
        let place = self.place(self.next);
        self.next += 1;
        self.next_position += 1;
        if place.packet + 1 < self.quantum_packets {
            return Step::Within;
        }
        let quantum = self.take(place);
        if quantum.is_none() {
            // None of its packets came, so its reserved quantum is free again.
            drop(self.spare.pop());
        }
        Step::Past(quantum)
    }

    /// Takes the quantum under delivery before it is full, and replaces it by a free one for the
    /// rest of its seqs. Stays within it if no quantum is free, or if it holds packets that wait
    /// for an earlier one.
    pub(crate) fn exchange(&mut self) -> Step {
        let place = self.place(self.next);
        let Some(laid) = self.ring[place.quantum].as_ref().filter(|_| place.packet > 0) else {
            return Step::Past(None);
        };
        if laid.stored_end > place.packet {
            return Step::Within;
        }
        let Some(fresh) = self.pool.take() else { return Step::Within };
        self.reserve(fresh);
        Step::Past(self.take(place))
    }

    /// Takes the quantum under delivery at the end of the stream.
    pub(crate) fn take_last(&mut self) -> Option<Quantum> {
        let place = self.place(self.next);
        if place.packet == 0 { None } else { self.take(place) }
    }

    fn take(&mut self, place: Place) -> Option<Quantum> {
        self.ring[place.quantum].take().map(|laid| laid.quantum)
    }

    fn place(&self, seq: Seq) -> Place {
        let (position, packets) = (self.position(seq), u64::from(self.quantum_packets));
        Place {
            quantum: (position / packets % self.ring.len() as u64) as usize,
            packet: (position % packets) as u32,
        }
    }

    /// The distance of an undelivered seq from the first packet of the stream.
    fn position(&self, seq: Seq) -> u64 {
        self.next_position + u64::from(seq - self.next)
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
        let mut payloads = PayloadRing::new(pool.clone(), first, 8, 4, 8);
        for round in 0..40u8 {
            let seq = first + u32::from(round);
            assert!(seq.before(payloads.attach(seq + 8)));
            payloads.store(seq, &[round; 8]);
            assert_eq!(payloads.next_payload(), [round; 8]);
            let step = payloads.advance();
            assert_eq!(matches!(step, Step::Past(_)), round % 4 == 3);
            if let Step::Past(quantum) = step {
                let quantum = quantum.expect("its packets came");
                let first = round - 3;
                let expected: Vec<u8> = (first..=round).flat_map(|byte| [byte; 8]).collect();
                assert_eq!(quantum.data(), expected);
            }
        }
    }

    #[test]
    fn credit_is_free_quanta() {
        let pool = Pool::new(PoolConfig::new(3, 4 * 8)).unwrap();
        let mut payloads = PayloadRing::new(pool.clone(), Seq(0), 16, 4, 8);
        let held = pool.take();
        assert_eq!(payloads.attach(Seq(16)), Seq(8), "two quanta were free");
        assert!(payloads.needs_quanta(Seq(16)));
        drop(held);
        assert_eq!(payloads.attach(Seq(16)), Seq(12));
    }

    #[test]
    fn short_payload_is_followed_by_zeros_and_not_by_what_lay_there() {
        let pool = Pool::new(PoolConfig::new(1, 8)).unwrap();
        let mut payloads = PayloadRing::new(pool, Seq(0), 1, 1, 8);
        for (seq, len_bytes) in [8, 3, 8, 0, 8, 7].into_iter().enumerate() {
            let seq = Seq(seq as u32);
            payloads.attach(seq + 1);
            payloads.store(seq, &[0xee; 8][..len_bytes]);
            let mut expected = [0; 8];
            expected[..len_bytes].fill(0xee);
            assert_eq!(payloads.next_payload(), expected);
            drop(payloads.advance());
        }
    }

    #[test]
    fn half_full_quantum_is_exchanged_for_a_free_one() {
        let pool = Pool::new(PoolConfig::new(2, 2 * 8)).unwrap();
        let mut payloads = PayloadRing::new(pool, Seq(0), 2, 2, 8);
        payloads.attach(Seq(2));
        assert!(matches!(payloads.exchange(), Step::Past(None)), "nothing was delivered of it");
        payloads.store(Seq(0), &[1; 8]);
        assert!(matches!(payloads.advance(), Step::Within));
        let Step::Past(Some(half)) = payloads.exchange() else { panic!("one was free") };
        assert_eq!(half.data()[..8], [1; 8]);
        payloads.store(Seq(1), &[2; 8]);
        let Step::Past(Some(rest)) = payloads.advance() else { panic!("the last of its quantum") };
        assert_eq!(rest.data()[8..], [2; 8]);
    }

    #[test]
    fn quantum_with_packets_that_wait_for_one_before_them_is_kept() {
        let pool = Pool::new(PoolConfig::new(2, 3 * 8)).unwrap();
        let mut payloads = PayloadRing::new(pool, Seq(0), 3, 3, 8);
        payloads.attach(Seq(3));
        payloads.store(Seq(0), &[1; 8]);
        payloads.store(Seq(2), &[3; 8]);
        assert!(matches!(payloads.advance(), Step::Within));
        assert!(matches!(payloads.exchange(), Step::Within), "packet 2 lies in it");
        payloads.store(Seq(1), &[2; 8]);
        assert!(matches!(payloads.advance(), Step::Within));
        assert_eq!(payloads.next_payload(), [3; 8]);
        let Step::Past(Some(all)) = payloads.advance() else { panic!("the last of its quantum") };
        assert_eq!(all.data(), [[1; 8], [2; 8], [3; 8]].concat());
    }

    #[test]
    fn what_is_lost_whole_takes_no_quantum() {
        let pool = Pool::new(PoolConfig::new(3, 2 * 8)).unwrap();
        let mut payloads = PayloadRing::new(pool.clone(), Seq(0), 4, 2, 8);
        assert_eq!(payloads.attach(Seq(4)), Seq(4));
        assert_eq!(pool.free(), 1);
        assert!(matches!(payloads.advance(), Step::Within));
        assert!(matches!(payloads.exchange(), Step::Past(None)), "nothing lies under delivery");
        assert!(matches!(payloads.advance(), Step::Past(None)));
        assert_eq!(pool.free(), 2);
        assert_eq!(payloads.attach(Seq(6)), Seq(6));
        payloads.store(Seq(5), &[5; 8]);
        payloads.store(Seq(2), &[2; 8]);
        assert_eq!(payloads.attach(Seq(8)), Seq(8), "one more may be reserved");
        payloads.advance();
        assert!(
            matches!(payloads.advance(), Step::Past(Some(quantum)) if quantum.data()[..8] == [2; 8])
        );
    }

    #[test]
    fn quantum_that_came_back_last_is_laid_first() {
        let pool = Pool::new(PoolConfig::new(12, 8)).unwrap();
        let mut payloads = PayloadRing::new(pool, Seq(0), 10, 1, 8);
        let mut addresses = std::collections::HashSet::new();
        for round in 0..100 {
            let seq = Seq(round);
            payloads.attach(seq + 10);
            payloads.store(seq, &[0; 8]);
            let Step::Past(Some(quantum)) = payloads.advance() else { panic!("it came") };
            addresses.insert(quantum.data().as_ptr() as usize);
        }
        assert!(addresses.len() <= 2, "{} quanta went round", addresses.len());
    }
}
