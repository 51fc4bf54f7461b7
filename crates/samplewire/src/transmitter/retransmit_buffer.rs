//! Quanta in the window: filled by the program, held until the receiver has their packets.

use std::collections::VecDeque;

use samplewire_circuit::Quantum;
use samplewire_proto::Seq;

/// Where the payload of each seq of the window lies.
#[derive(Debug)]
pub(crate) struct RetransmitBuffer {
    quanta: Box<[Option<Quantum>]>,
    /// By seq modulo their number, a power of two.
    places: Box<[Place]>,
    /// Quanta in use, oldest first, each with the seq after its last packet.
    order: VecDeque<(u32, Seq)>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    quantum: u32,
    offset_bytes: u32,
}

impl RetransmitBuffer {
    pub(super) fn new(window: u32, quanta: usize) -> Self {
        Self {
            quanta: (0..quanta).map(|_| None).collect(),
            places: vec![Place::default(); (window as usize).next_power_of_two()].into(),
            order: VecDeque::with_capacity(quanta),
            free: (0..quanta as u32).rev().collect(),
        }
    }

    /// Bytes of the tables.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.places) + self.quanta.len() * size_of::<(Option<Quantum>, u32, u64)>()
    }

    /// Takes a quantum whose packets are about to be pushed.
    pub(super) fn insert(&mut self, quantum: Quantum) -> u32 {
        let id = self.free.pop().expect("there are no more quanta than places for them");
        self.quanta[id as usize] = Some(quantum);
        id
    }

    /// Says where the payload of `seq` lies.
    pub(super) fn set_place(&mut self, seq: Seq, quantum: u32, offset_bytes: usize) {
        let position = seq.0 as usize & (self.places.len() - 1);
        self.places[position] = Place { quantum, offset_bytes: offset_bytes as u32 };
    }

    /// All packets of a quantum are pushed, the last before `end`.
    pub(super) fn close(&mut self, quantum: u32, end: Seq) {
        self.order.push_back((quantum, end));
    }

    /// The payload of a seq.
    pub(super) fn payload(&self, seq: Seq, len_bytes: usize) -> &[u8] {
        let place = self.places[seq.0 as usize & (self.places.len() - 1)];
        let quantum = self.quanta[place.quantum as usize].as_ref().expect("a held seq has one");
        &quantum.data()[place.offset_bytes as usize..][..len_bytes]
    }

    pub(super) fn quantum_mut(&mut self, id: u32) -> &mut Quantum {
        self.quanta[id as usize].as_mut().expect("it was inserted")
    }

    /// Gives back every quantum whose packets lie before `released`; says whether any was.
    pub(super) fn release(&mut self, released: Seq) -> bool {
        let len_before = self.order.len();
        while let Some(&(id, end)) = self.order.front()
            && !released.before(end)
        {
            self.order.pop_front();
            self.quanta[id as usize] = None;
            self.free.push(id);
        }
        self.order.len() != len_before
    }

    /// Gives back all, at the end of a session.
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.free.clear();
        self.free.extend((0..self.quanta.len() as u32).rev());
        self.quanta.fill_with(|| None);
    }
}

#[cfg(test)]
mod tests {
    use samplewire_circuit::{Pool, PoolConfig};

    use super::*;

    #[test]
    fn quantum_returns_when_its_last_packet_is_released() {
        let pool = Pool::new(PoolConfig::new(2, 16)).unwrap();
        let mut held = RetransmitBuffer::new(4, 2);
        let first = Seq(u32::MAX);
        let mut quantum = pool.take().unwrap();
        quantum.set_len(16);
        quantum.data_mut()[8..].fill(7);
        let id = held.insert(quantum);
        held.set_place(first, id, 0);
        held.set_place(first + 1, id, 8);
        held.close(id, first + 2);
        assert_eq!(held.payload(first + 1, 8), [7; 8]);
        assert!(!held.release(first + 1));
        assert_eq!(pool.free(), 1);
        assert!(held.release(first + 2));
        assert_eq!(pool.free(), 2);
    }
}
